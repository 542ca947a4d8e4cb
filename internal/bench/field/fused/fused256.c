//go:build yardstick && cgo && amd64 && linux

#pragma GCC target("avx2,fma")
#include <immintrin.h>
#include "effects.h"
#define INLINE static inline __attribute__((always_inline))
#include "lanes256.h"
#include "body.h"
