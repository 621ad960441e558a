/* gemm_vec.h - vectors of the matrix product for the C type T, float or double
 * (GEMM_F64), and the instruction set that is compiled. No guard, on purpose;
 * gemm_type.h undefines what it defines.
 *
 *   MR   rows of a tile: with two vectors of columns they fill the registers
 *   VEC  a vector; VMASK its first lanes, for the last columns
 *
 * Without fma there are no vectors: VEC is one element. */

#ifdef __AVX512F__
#define MR    14
#define VMASK FN(mask)
#ifdef GEMM_F64
#define VEC __m512d
typedef __mmask8 FN(mask);
#define VZERO            _mm512_setzero_pd()
#define VLOAD(p)         _mm512_loadu_pd(p)
#define VSTORE(p, v)     _mm512_storeu_pd(p, v)
#define VLOADM(m, p)     _mm512_maskz_loadu_pd(m, p)
#define VMERGE(v, m, p)  _mm512_mask_loadu_pd(v, m, p)
#define VSTOREM(m, p, v) _mm512_mask_storeu_pd(p, m, v)
#define VALL(p)          _mm512_set1_pd(p)
#define VFMA(a, b, c)    _mm512_fmadd_pd(a, b, c)
static inline VMASK FN(first_lanes)(int64_t n) {
  return (VMASK)(n >= 8 ? 0xff : (1 << n) - 1);
}
/* The square in r is turned: lane j of r[i] becomes lane i of r[j]. */
static inline void FN(turn)(VEC *r) {
  VEC t[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm512_unpacklo_pd(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_pd(r[i], r[i + 1]);
  }
  for (int i = 0; i < 2; i++) {
    VEC a = _mm512_shuffle_f64x2(t[i], t[i + 2], 0x88);
    VEC b = _mm512_shuffle_f64x2(t[i], t[i + 2], 0xdd);
    VEC c = _mm512_shuffle_f64x2(t[i + 4], t[i + 6], 0x88);
    VEC d = _mm512_shuffle_f64x2(t[i + 4], t[i + 6], 0xdd);
    r[i] = _mm512_shuffle_f64x2(a, c, 0x88);
    r[i + 4] = _mm512_shuffle_f64x2(a, c, 0xdd);
    r[i + 2] = _mm512_shuffle_f64x2(b, d, 0x88);
    r[i + 6] = _mm512_shuffle_f64x2(b, d, 0xdd);
  }
}
#else
#define VEC              __m512
typedef __mmask16 FN(mask);
#define VZERO            _mm512_setzero_ps()
#define VLOAD(p)         _mm512_loadu_ps(p)
#define VSTORE(p, v)     _mm512_storeu_ps(p, v)
#define VLOADM(m, p)     _mm512_maskz_loadu_ps(m, p)
#define VMERGE(v, m, p)  _mm512_mask_loadu_ps(v, m, p)
#define VSTOREM(m, p, v) _mm512_mask_storeu_ps(p, m, v)
#define VALL(p)          _mm512_set1_ps(p)
#define VFMA(a, b, c)    _mm512_fmadd_ps(a, b, c)
static inline VMASK FN(first_lanes)(int64_t n) {
  return (VMASK)(n >= 16 ? 0xffff : (1 << n) - 1);
}
/* The square in r is turned: lane j of r[i] becomes lane i of r[j]. */
static inline void FN(turn)(VEC *r) {
  VEC t[16];
  for (int i = 0; i < 16; i += 4) {
    VEC a = _mm512_unpacklo_ps(r[i], r[i + 1]);
    VEC b = _mm512_unpackhi_ps(r[i], r[i + 1]);
    VEC c = _mm512_unpacklo_ps(r[i + 2], r[i + 3]);
    VEC d = _mm512_unpackhi_ps(r[i + 2], r[i + 3]);
    t[i] = _mm512_shuffle_ps(a, c, 0x44);
    t[i + 1] = _mm512_shuffle_ps(a, c, 0xee);
    t[i + 2] = _mm512_shuffle_ps(b, d, 0x44);
    t[i + 3] = _mm512_shuffle_ps(b, d, 0xee);
  }
  for (int i = 0; i < 4; i++) {
    VEC a = _mm512_shuffle_f32x4(t[i], t[i + 4], 0x88);
    VEC b = _mm512_shuffle_f32x4(t[i], t[i + 4], 0xdd);
    VEC c = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0x88);
    VEC d = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0xdd);
    r[i] = _mm512_shuffle_f32x4(a, c, 0x88);
    r[i + 8] = _mm512_shuffle_f32x4(a, c, 0xdd);
    r[i + 4] = _mm512_shuffle_f32x4(b, d, 0x88);
    r[i + 12] = _mm512_shuffle_f32x4(b, d, 0xdd);
  }
}
#endif

#elif defined __FMA__
#define MR    6
#define VMASK __m256i
#ifdef GEMM_F64
#define VEC              __m256d
#define VZERO            _mm256_setzero_pd()
#define VLOAD(p)         _mm256_loadu_pd(p)
#define VSTORE(p, v)     _mm256_storeu_pd(p, v)
#define VLOADM(m, p)     _mm256_maskload_pd(p, m)
#define VMERGE(v, m, p)  _mm256_or_pd(v, _mm256_maskload_pd(p, m))
#define VSTOREM(m, p, v) _mm256_maskstore_pd(p, m, v)
#define VALL(p)          _mm256_set1_pd(p)
#define VFMA(a, b, c)    _mm256_fmadd_pd(a, b, c)
static inline VMASK FN(first_lanes)(int64_t n) {
  return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n),
                            _mm256_setr_epi64x(0, 1, 2, 3));
}
static inline void FN(turn)(VEC *r) {
  VEC a = _mm256_unpacklo_pd(r[0], r[1]), b = _mm256_unpackhi_pd(r[0], r[1]);
  VEC c = _mm256_unpacklo_pd(r[2], r[3]), d = _mm256_unpackhi_pd(r[2], r[3]);
  r[0] = _mm256_permute2f128_pd(a, c, 0x20);
  r[1] = _mm256_permute2f128_pd(b, d, 0x20);
  r[2] = _mm256_permute2f128_pd(a, c, 0x31);
  r[3] = _mm256_permute2f128_pd(b, d, 0x31);
}
#else
#define VEC              __m256
#define VZERO            _mm256_setzero_ps()
#define VLOAD(p)         _mm256_loadu_ps(p)
#define VSTORE(p, v)     _mm256_storeu_ps(p, v)
#define VLOADM(m, p)     _mm256_maskload_ps(p, m)
#define VMERGE(v, m, p)  _mm256_or_ps(v, _mm256_maskload_ps(p, m))
#define VSTOREM(m, p, v) _mm256_maskstore_ps(p, m, v)
#define VALL(p)          _mm256_set1_ps(p)
#define VFMA(a, b, c)    _mm256_fmadd_ps(a, b, c)
static inline VMASK FN(first_lanes)(int64_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n < 8 ? n : 8)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline void FN(turn)(VEC *r) {
  VEC t[8];
  for (int i = 0; i < 8; i += 4) {
    VEC a = _mm256_unpacklo_ps(r[i], r[i + 1]);
    VEC b = _mm256_unpackhi_ps(r[i], r[i + 1]);
    VEC c = _mm256_unpacklo_ps(r[i + 2], r[i + 3]);
    VEC d = _mm256_unpackhi_ps(r[i + 2], r[i + 3]);
    t[i] = _mm256_shuffle_ps(a, c, 0x44);
    t[i + 1] = _mm256_shuffle_ps(a, c, 0xee);
    t[i + 2] = _mm256_shuffle_ps(b, d, 0x44);
    t[i + 3] = _mm256_shuffle_ps(b, d, 0xee);
  }
  for (int i = 0; i < 4; i++) {
    r[i] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x20);
    r[i + 4] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x31);
  }
}
#endif

#else
#define MR  6
#define VEC T
#ifdef GEMM_F64
#define VFMA(a, b, c) (fma)(a, b, c)
#else
#define VFMA(a, b, c) fmaf(a, b, c)
#endif
#endif

#ifdef VZERO
/* Lanes from `at` on, before `end`. */
static inline VMASK FN(lanes)(int64_t at, int64_t end) {
#ifdef __AVX512F__
  return (VMASK)(FN(first_lanes)(end) & ~FN(first_lanes)(at));
#else
  return _mm256_andnot_si256(FN(first_lanes)(at), FN(first_lanes)(end));
#endif
}
#endif
