//go:build yardstick && cgo && amd64 && linux

// Limited to what -march=native supports: without AVX-512 this equals plain.c.
#pragma GCC target("prefer-vector-width=512")
#define SUFFIX 512
#include "plain.h"
