//go:build yardstick && cgo && amd64 && linux

#pragma GCC target("avx512f,avx512dq,avx512vl,avx2,fma")
#include <immintrin.h>
#include "effects.h"
#define INLINE static inline __attribute__((always_inline))
#include "lanes512.h"
#include "body.h"
