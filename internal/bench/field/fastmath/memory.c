//go:build yardstick && cgo && amd64 && linux

#include <string.h>
#include "../fused/effects.h"

// copy_planes copies three planes, times times.
void copy_planes(const planes *a, int times) {
	for (; times > 0; times--) {
		memcpy(a->out_x, a->x, a->n * sizeof(float));
		memcpy(a->out_y, a->y, a->n * sizeof(float));
		memcpy(a->out_z, a->z, a->n * sizeof(float));
	}
}

static void accumulate(float *restrict to, const float *restrict from, size_t n) {
	for (size_t i = 0; i < n; i++)
		to[i] += from[i];
}

// add_planes costs only the memory traffic of an effect.
void add_planes(const planes *a, int times) {
	for (; times > 0; times--) {
		accumulate(a->out_x, a->x, a->n);
		accumulate(a->out_y, a->y, a->n);
		accumulate(a->out_z, a->z, a->n);
	}
}
