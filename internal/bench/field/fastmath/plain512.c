//go:build yardstick && cgo && amd64 && linux

// It stays within what -march=native has: elsewhere than on AVX-512 it is plain.c.
#pragma GCC target("prefer-vector-width=512")
#define SUFFIX 512
#include "plain.h"
