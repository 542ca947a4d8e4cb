// The effects on the lanes of lanes512.h or lanes256.h: field's arithmetic (arith.go), the
// same operations in the same order, with all intermediate results in registers.

typedef struct { lanes x, y, z; } vector;

#define JOIN2(a, b) a##_##b
#define JOIN(a, b) JOIN2(a, b)

static const union { unsigned bits; float f; } magnitude = {0x7fffffffu}, sign = {0x80000000u};

INLINE lanes absolute(lanes a) { return bits_and(a, set(magnitude.f)); }

INLINE lanes rsqrt(lanes a) {
	lanes x = max(a, set(1e-12f)), h = mul(x, set(0.5023863f)), y = seed(x);
	y = mul(y, nmad(h, mul(y, y), set(1.5016537f)));
	return mul(y, nmad(h, mul(y, y), set(1.5023831f)));
}

INLINE lanes sine(lanes turns) {
	lanes integer = set(12582912.0f), quarter = set(0.25f);
	lanes q = sub(turns, sub(add(turns, integer), integer));
	lanes v = max(set(0), sub(quarter, absolute(sub(absolute(q), quarter)))), w = mul(v, v);
	lanes p = mad(set(39.53671f), w, set(-76.54978f));
	p = mad(p, w, set(81.601006f));
	p = mad(p, w, set(-41.341656f));
	p = mad(p, w, set(6.283185f));
	return bits_xor(mul(p, v), bits_and(q, set(sign.f)));
}

INLINE lanes smooth(lanes a) {
	lanes s = min(max(a, set(0)), set(1));
	return mul(mul(s, s), nmad(s, set(2), set(3)));
}

INLINE void add_explosion(const effect *e, vector p, vector *out) {
	lanes x = sub(p.x, set(e->x)), y = sub(p.y, set(e->y)), z = sub(p.z, set(e->z));
	lanes square = mad(z, z, mad(y, y, mul(x, x)));
	lanes s = less(square, set(e->size), mul(rsqrt(square), set(e->strength)));
	out->x = mad(x, s, out->x);
	out->y = mad(y, s, out->y);
	out->z = mad(z, s, out->z);
}

INLINE void add_whirl(const effect *e, lanes time, vector p, vector *out) {
	lanes x = sub(p.x, set(e->x)), z = sub(p.z, set(e->z));
	lanes square = mad(z, z, mul(x, x)), r = root(square);
	lanes fade = smooth(mad(r, set(e->size), set(1)));
	lanes turn = sine(mad(r, set(e->waves), time));
	lanes s = mul(mul(rsqrt(square), mul(fade, turn)), set(e->strength));
	out->x = mad(z, s, out->x);
	out->z = nmad(x, s, out->z);
}

INLINE void add_wind(const effect *e, lanes time, vector p, vector *out) {
	lanes wave = sine(mad(p.x, set(e->waves), time));
	out->x = mad(wave, set(e->strength), out->x);
	out->z = mad(wave, set(e->z), out->z);
}

INLINE void add_updraft(const effect *e, vector p, vector *out) {
	lanes x = sub(p.x, set(e->x)), z = sub(p.z, set(e->z));
	lanes square = mad(z, z, mul(x, x));
	out->y = add(out->y, less(square, set(e->size), set(e->strength)));
}

INLINE void add_sixteen(const scene *s, lanes time, vector p, vector *out) {
#pragma GCC unroll 8
	for (int i = 0; i < explosions; i++)
		add_explosion(&s->explosion[i], p, out);
#pragma GCC unroll 8
	for (int i = 0; i < whirls; i++)
		add_whirl(&s->whirl[i], time, p, out);
#pragma GCC unroll 8
	for (int i = 0; i < winds; i++)
		add_wind(&s->wind[i], time, p, out);
#pragma GCC unroll 8
	for (int i = 0; i < updrafts; i++)
		add_updraft(&s->updraft[i], p, out);
}

// OVER defines a function that evaluates an effect: whole vectors, then a partial one.
#define OVER(name, effect)                                                            \
	static void name(const planes *a, const scene *s) {                               \
		lanes time = set(s->time - floorf(s->time)); /* sine counts turns */          \
		size_t i = 0;                                                                 \
		(void)time;                                                                   \
		for (; i + WIDTH <= a->n; i += WIDTH) {                                       \
			vector p = {load(a->x + i), load(a->y + i), load(a->z + i)};              \
			vector out = {load(a->out_x + i), load(a->out_y + i), load(a->out_z + i)}; \
			effect;                                                                   \
			store(a->out_x + i, out.x);                                               \
			store(a->out_y + i, out.y);                                               \
			store(a->out_z + i, out.z);                                               \
		}                                                                             \
		if (i < a->n) {                                                               \
			part m = first(a->n - i);                                                 \
			vector p = {load_part(m, a->x + i), load_part(m, a->y + i), load_part(m, a->z + i)}; \
			vector out = {load_part(m, a->out_x + i), load_part(m, a->out_y + i), load_part(m, a->out_z + i)}; \
			effect;                                                                   \
			store_part(a->out_x + i, m, out.x);                                       \
			store_part(a->out_y + i, m, out.y);                                       \
			store_part(a->out_z + i, m, out.z);                                       \
		}                                                                             \
	}

OVER(explosion, add_explosion(&s->explosion[0], p, &out))
OVER(whirl, add_whirl(&s->whirl[0], time, p, &out))
OVER(sixteen, add_sixteen(s, time, p, &out))

void JOIN(fused, SUFFIX)(const planes *a, const scene *s, int id, int times) {
	for (; times > 0; times--) {
		switch (id) {
		case effect_explosion: explosion(a, s); break;
		case effect_whirl: whirl(a, s); break;
		case effect_sixteen: sixteen(a, s); break;
		}
	}
}
