// Sixteen lanes, AVX-512.
#define SUFFIX 512
#define WIDTH 16
typedef __m512 lanes;

INLINE lanes set(float f) { return _mm512_set1_ps(f); }
INLINE lanes add(lanes a, lanes b) { return _mm512_add_ps(a, b); }
INLINE lanes sub(lanes a, lanes b) { return _mm512_sub_ps(a, b); }
INLINE lanes mul(lanes a, lanes b) { return _mm512_mul_ps(a, b); }
INLINE lanes mad(lanes a, lanes b, lanes c) { return _mm512_fmadd_ps(a, b, c); }
INLINE lanes nmad(lanes a, lanes b, lanes c) { return _mm512_fnmadd_ps(a, b, c); }
INLINE lanes min(lanes a, lanes b) { return _mm512_min_ps(a, b); }
INLINE lanes max(lanes a, lanes b) { return _mm512_max_ps(a, b); }
INLINE lanes root(lanes a) { return _mm512_sqrt_ps(a); }
INLINE lanes bits_and(lanes a, lanes b) { return _mm512_and_ps(a, b); }
INLINE lanes bits_xor(lanes a, lanes b) { return _mm512_xor_ps(a, b); }
INLINE lanes less(lanes a, lanes b, lanes then) { return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), then); }
INLINE lanes seed(lanes a) {
	return _mm512_castsi512_ps(_mm512_sub_epi32(_mm512_set1_epi32(0x5f370000), _mm512_srli_epi32(_mm512_castps_si512(a), 1)));
}

typedef __mmask16 part;
INLINE part first(size_t n) { return (part)((1u << n) - 1); }
INLINE lanes load(const float *p) { return _mm512_loadu_ps(p); }
INLINE void store(float *p, lanes a) { _mm512_storeu_ps(p, a); }
INLINE lanes load_part(part m, const float *p) { return _mm512_maskz_loadu_ps(m, p); }
INLINE void store_part(float *p, part m, lanes a) { _mm512_mask_storeu_ps(p, m, a); }
