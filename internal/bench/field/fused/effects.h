// The effects of the benchmark, as in the texts of effects_test.go.
#pragma once
#include <math.h>
#include <stddef.h>

typedef struct {
	float x, y, z;  // centre
	float strength;
	float size;     // explosion and updraft: radius squared; whirl: -1/radius
	float waves;    // whirl and wind: turns per metre
} effect;

// Number of effects of each kind in the sum of sixteen. A single effect is the first.
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

enum { effect_explosion, effect_whirl, effect_sixteen };
