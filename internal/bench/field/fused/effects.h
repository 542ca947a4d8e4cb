// The effects of the yardstick, as the texts in effects_test.go have them.
#pragma once
#include <stddef.h>

typedef struct {
	float x, y, z;  // the centre
	float strength;
	float size;     // of an explosion and an updraft: the radius squared; of a whirl: -1/radius
	float waves;    // turns a metre, of a whirl and a wind
} effect;

// Counts in the sum of sixteen. A single effect is the first of its kind.
enum { explosions = 8, whirls = 4, winds = 2, updrafts = 2 };

typedef struct {
	float time;
	effect explosion[explosions];
	effect whirl[whirls];
	effect wind[winds];
	effect updraft[updrafts];
} scene;

typedef struct {
	const float *restrict x, *restrict y, *restrict z;
	float *restrict out_x, *restrict out_y, *restrict out_z;
	size_t n;
} planes;

enum { what_explosion, what_whirl, what_sixteen };
