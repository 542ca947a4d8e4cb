// Eight lanes, AVX2 and FMA.
#define SUFFIX 256
#define WIDTH 8
typedef __m256 lanes;

INLINE lanes set(float f) { return _mm256_set1_ps(f); }
INLINE lanes add(lanes a, lanes b) { return _mm256_add_ps(a, b); }
INLINE lanes sub(lanes a, lanes b) { return _mm256_sub_ps(a, b); }
INLINE lanes mul(lanes a, lanes b) { return _mm256_mul_ps(a, b); }
INLINE lanes mad(lanes a, lanes b, lanes c) { return _mm256_fmadd_ps(a, b, c); }
INLINE lanes nmad(lanes a, lanes b, lanes c) { return _mm256_fnmadd_ps(a, b, c); }
INLINE lanes min(lanes a, lanes b) { return _mm256_min_ps(a, b); }
INLINE lanes max(lanes a, lanes b) { return _mm256_max_ps(a, b); }
INLINE lanes root(lanes a) { return _mm256_sqrt_ps(a); }
INLINE lanes bits_and(lanes a, lanes b) { return _mm256_and_ps(a, b); }
INLINE lanes bits_xor(lanes a, lanes b) { return _mm256_xor_ps(a, b); }
INLINE lanes less(lanes a, lanes b, lanes then) { return _mm256_and_ps(_mm256_cmp_ps(a, b, _CMP_LT_OQ), then); }
INLINE lanes seed(lanes a) {
	return _mm256_castsi256_ps(_mm256_sub_epi32(_mm256_set1_epi32(0x5f370000), _mm256_srli_epi32(_mm256_castps_si256(a), 1)));
}

typedef __m256i part;
INLINE part first(size_t n) {
	return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
INLINE lanes load(const float *p) { return _mm256_loadu_ps(p); }
INLINE void store(float *p, lanes a) { _mm256_storeu_ps(p, a); }
INLINE lanes load_part(part m, const float *p) { return _mm256_maskload_ps(p, m); }
INLINE void store_part(float *p, part m, lanes a) { _mm256_maskstore_ps(p, m, a); }
