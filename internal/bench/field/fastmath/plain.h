// The effects, for gcc to vectorise. Included by plain.c and plain512.c.
#include <math.h>
#include "../fused/effects.h"

#define JOIN2(a, b) a##_##b
#define JOIN(a, b) JOIN2(a, b)
#define INLINE static inline __attribute__((always_inline))

typedef struct { float x, y, z; } vector;

INLINE float sine(float turns) {
	float q = turns - rintf(turns), v = 0.25f - fabsf(fabsf(q) - 0.25f), w = v * v;
	float p = 39.53671f;
	p = p * w - 76.54978f;
	p = p * w + 81.601006f;
	p = p * w - 41.341656f;
	p = p * w + 6.283185f;
	return copysignf(p * v, q);
}

INLINE float smooth(float s) {
	s = s < 0 ? 0 : s;
	s = s > 1 ? 1 : s;
	return s * s * (3 - 2 * s);
}

INLINE float inverse_root(float a) { return 1 / sqrtf(a < 1e-12f ? 1e-12f : a); }

INLINE vector add_explosion(effect e, vector p, vector out) {
	float x = p.x - e.x, y = p.y - e.y, z = p.z - e.z, square = x * x + y * y + z * z;
	float s = square < e.size ? e.strength * inverse_root(square) : 0;
	return (vector){out.x + x * s, out.y + y * s, out.z + z * s};
}

INLINE vector add_whirl(effect e, float time, vector p, vector out) {
	float x = p.x - e.x, z = p.z - e.z, square = x * x + z * z, r = sqrtf(square);
	float s = smooth(r * e.size + 1) * sine(r * e.waves + time) * e.strength * inverse_root(square);
	return (vector){out.x + z * s, out.y, out.z - x * s};
}

INLINE vector add_wind(effect e, float time, vector p, vector out) {
	float wave = sine(p.x * e.waves + time);
	return (vector){out.x + wave * e.strength, out.y, out.z + wave * e.z};
}

INLINE vector add_updraft(effect e, vector p, vector out) {
	float x = p.x - e.x, z = p.z - e.z;
	return (vector){out.x, out.y + (x * x + z * z < e.size ? e.strength : 0), out.z};
}

INLINE vector add_sixteen(const scene *s, vector p, vector out) {
#pragma GCC unroll 8
	for (int i = 0; i < explosions; i++)
		out = add_explosion(s->explosion[i], p, out);
#pragma GCC unroll 8
	for (int i = 0; i < whirls; i++)
		out = add_whirl(s->whirl[i], s->time, p, out);
#pragma GCC unroll 8
	for (int i = 0; i < winds; i++)
		out = add_wind(s->wind[i], s->time, p, out);
#pragma GCC unroll 8
	for (int i = 0; i < updrafts; i++)
		out = add_updraft(s->updraft[i], p, out);
	return out;
}

#define OVER(name, effect)                                                                    \
	static void name(const float *restrict px, const float *restrict py, const float *restrict pz, \
		float *restrict qx, float *restrict qy, float *restrict qz, size_t n, const scene *from) { \
		const scene s = *from;                                                                \
		for (size_t i = 0; i < n; i++) {                                                      \
			vector p = {px[i], py[i], pz[i]}, out = {qx[i], qy[i], qz[i]};                    \
			out = effect;                                                                     \
			qx[i] = out.x;                                                                    \
			qy[i] = out.y;                                                                    \
			qz[i] = out.z;                                                                    \
		}                                                                                     \
	}

OVER(explosion, add_explosion(s.explosion[0], p, out))
OVER(whirl, add_whirl(s.whirl[0], s.time, p, out))
OVER(sixteen, add_sixteen(&s, p, out))

void JOIN(plain, SUFFIX)(const planes *a, const scene *s, int id, int times) {
	for (; times > 0; times--) {
		switch (id) {
		case effect_explosion: explosion(a->x, a->y, a->z, a->out_x, a->out_y, a->out_z, a->n, s); break;
		case effect_whirl: whirl(a->x, a->y, a->z, a->out_x, a->out_y, a->out_z, a->n, s); break;
		case effect_sixteen: sixteen(a->x, a->y, a->z, a->out_x, a->out_y, a->out_z, a->n, s); break;
		}
	}
}
