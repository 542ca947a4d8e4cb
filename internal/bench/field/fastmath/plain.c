//go:build yardstick && cgo && amd64 && linux

#define SUFFIX any
#include "plain.h"
