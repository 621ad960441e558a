/* kit_seq.h - the f32 functions, each written once as a list of steps. A list
 * becomes C in kit_math.h and a table in kit_math.c (kit_seq_get), so native
 * code, generated text and emitted code compute the same bits.
 *
 * A list is a macro of three macros: S(op, name, operands...) is a step of
 * KIT_STEP_OPS, K(name, value) a float, W(name, bits) a word. The arguments are
 * x (pow: x, y); the last step, named z, is the result. Every name is given
 * once. Nothing branches: both sides are computed and one is selected. Integers
 * are 32-bit words that wrap.
 *
 * Polynomials are minimax fits made for these lists, rounded to f32 one
 * coefficient at a time, the rest fitted again. */
#ifndef KIT_SEQ_H
#define KIT_SEQ_H

#include <stdint.h>

/* X(op, type of the result, operands, meaning). float -> float is arithmetic,
 * correctly rounded; uint32_t are words, int is a truth value, 0 or 1. min and
 * max give b when either is nan. The selections are written with masks: from a
 * conditional, gcc would make branches again and leave the loop scalar. */
/* clang-format off */
#define KIT_STEP_OPS(X) \
  X(add,    float,    (float a, float b),             a + b) \
  X(sub,    float,    (float a, float b),             a - b) \
  X(mul,    float,    (float a, float b),             a * b) \
  X(div,    float,    (float a, float b),             a / b) \
  X(fma,    float,    (float a, float b, float c),    fmaf(a, b, c)) \
  X(neg,    float,    (float a),                      -a) \
  X(rint,   float,    (float a),                      rintf(a)) \
  X(min,    float,    (float a, float b),             kit_pick(a < b, a, b)) \
  X(max,    float,    (float a, float b),             kit_pick(a > b, a, b)) \
  X(sel,    float,    (int a, float b, float c),      kit_pick(a, b, c)) \
  X(lt,     int,      (float a, float b),             a < b) \
  X(eq,     int,      (float a, float b),             a == b) \
  X(both,   int,      (int a, int b),                 a & b) \
  X(either, int,      (int a, int b),                 a | b) \
  X(no,     int,      (int a),                        !a) \
  X(odd,    int,      (uint32_t a),                   (int)(a & 1)) \
  X(bits,   uint32_t, (float a),                      kit_bits(a)) \
  X(flt,    float,    (uint32_t a),                   kit_float(a)) \
  X(itof,   float,    (uint32_t a),                   (float)(int32_t)a) \
  X(iadd,   uint32_t, (uint32_t a, uint32_t b),       a + b) \
  X(isub,   uint32_t, (uint32_t a, uint32_t b),       a - b) \
  X(iand,   uint32_t, (uint32_t a, uint32_t b),       a & b) \
  X(ior,    uint32_t, (uint32_t a, uint32_t b),       a | b) \
  X(ixor,   uint32_t, (uint32_t a, uint32_t b),       a ^ b) \
  X(isel,   uint32_t, (int a, uint32_t b, uint32_t c), (b & -(uint32_t)a) | (c & ~-(uint32_t)a)) \
  X(shl,    uint32_t, (uint32_t a, uint32_t b),       a << b) \
  X(shr,    uint32_t, (uint32_t a, uint32_t b),       a >> b) \
  X(sra,    uint32_t, (uint32_t a, uint32_t b),       (uint32_t)((int32_t)a >> b))

/* clang-format on */

#define KIT_X(op, type, args, expr) KIT_STEP_##op,
enum { KIT_STEP_const, KIT_STEP_OPS(KIT_X) KIT_NSTEP };
#undef KIT_X

/* ---- as data ------------------------------------------------------------- */
/* Values are numbered: first the nargs arguments, then one per step. */
typedef struct {
  uint16_t op;     /* KIT_STEP_... */
  uint16_t arg[3]; /* values, each below the step's own number */
  union {          /* of KIT_STEP_const */
    float f;
    uint32_t u;
  } imm;
} kit_step;

typedef struct {
  const char *name; /* as in the op table */
  uint16_t op;      /* TSH_OP_exp ... */
  uint16_t nargs, nsteps, pad;
  const kit_step *step;     /* the last one is the result */
  float limit;              /* the list is right for |x| <= limit; 0: always */
  float (*beyond)(float x); /* for the rest */
} kit_seq;

const kit_seq *kit_seq_get(int op); /* NULL when op has no list */

/* clang-format off */
/* ---- shared pieces ------------------------------------------------------ */

/* |x| as ax, the sign bit of x as sx. */
#define KIT_ABS(S, K, W) \
  W(absmask, 0x7fffffff) S(bits, xb, x) S(iand, axb, xb, absmask) S(flt, ax, axb)
#define KIT_SIGN(S, K, W) \
  W(signmask, 0x80000000) S(iand, sx, xb, signmask)

/* z = zp, which is not negative, with the sign of x. */
#define KIT_JOIN_SIGN(S, K, W) \
  S(bits, yb, zp) S(ior, zb, yb, sx) S(flt, z, zb)

/* v = n ln 2 + r, |r| <= 0.347, n whole. Adding magic rounds to a whole number
 * and leaves it in the low bits, so nan needs no care. n * ln2h is exact. */
#define KIT_EXP_REDUCE(S, K, W) \
  K(log2e, 0x1.715476p+0f) K(magic, 0x1.8p+23f) W(magicbits, 0x4b400000) \
  K(ln2h, -0x1.62e4p-1f) K(ln2l, -0x1.7f7d1cp-20f) \
  S(fma, t, v, log2e, magic) S(sub, n, t, magic) \
  S(bits, tb, t) S(isub, ni, tb, magicbits) \
  S(fma, rh, n, ln2h, v) S(fma, r, n, ln2l, rh) S(mul, r2, r, r)

/* e^v = p * 2^ni */
#define KIT_EXP_CORE(S, K, W) \
  KIT_EXP_REDUCE(S, K, W) \
  K(e4, 0x1.6a411ep-10f) K(e3, 0x1.1239c0p-7f) K(e2, 0x1.5558bcp-5f) \
  K(e1, 0x1.555492p-3f) K(e0, 0x1.fffffcp-2f) K(one, 1.0f) \
  S(fma, eh3, e4, r, e3) S(fma, eh2, eh3, r, e2) S(fma, eh1, eh2, r, e1) S(fma, eh0, eh1, r, e0) \
  S(fma, em1, r2, eh0, r) S(add, p, one, em1)

/* s1 = 2^ni for ni in -126..127 */
#define KIT_SCALE1(S, K, W) \
  W(w23, 23) W(onebits, 0x3f800000) \
  S(shl, na, ni, w23) S(iadd, sa, na, onebits) S(flt, s1, sa)

/* s1 * s2 = 2^ni in two steps: p * s1 is exact and p * s1 * s2 is rounded once
 * also where it is denormal. */
#define KIT_SCALE2(S, K, W) \
  W(w1, 1) W(w23, 23) W(onebits, 0x3f800000) \
  S(sra, n1, ni, w1) S(isub, n2, ni, n1) \
  S(shl, na, n1, w23) S(iadd, sa, na, onebits) S(flt, s1, sa) \
  S(shl, nb, n2, w23) S(iadd, sb, nb, onebits) S(flt, s2, sb)

/* u = 2^n m, m in 2/3..4/3; f = m - 1. u is normal and positive. */
#define KIT_LOG_SPLIT(S, K, W, n, f) \
  W(twothird, 0x3f2aaaab) W(mantissa, 0x7fffff) W(w23, 23) K(one, 1.0f) \
  S(bits, ub, u) S(isub, uo, ub, twothird) S(sra, ni, uo, w23) S(itof, n, ni) \
  S(iand, um, uo, mantissa) S(iadd, mb, um, twothird) S(flt, m, mb) S(sub, f, m, one)

/* zp = n ln 2 + log(1 + f) */
#define KIT_LOG_CORE(S, K, W) \
  K(l8, -0x1.07ca6ep-3f) K(l7, 0x1.1e6c56p-3f) K(l6, -0x1.f3306ep-4f) \
  K(l5, 0x1.1ed582p-3f) K(l4, -0x1.559c74p-3f) K(l3, 0x1.99d04ep-3f) \
  K(l2, -0x1.fffefap-3f) K(l1, 0x1.555506p-2f) K(l0, -0.5f) \
  K(ln2h, 0x1.62e430p-1f) K(ln2l, -0x1.05c610p-29f) \
  S(mul, f2, f, f) S(mul, nl, n, ln2l) \
  S(fma, lh7, l8, f, l7) S(fma, lh6, lh7, f, l6) S(fma, lh5, lh6, f, l5) S(fma, lh4, lh5, f, l4) \
  S(fma, lh3, lh4, f, l3) S(fma, lh2, lh3, f, l2) S(fma, lh1, lh2, f, l1) \
  S(fma, lh0, lh1, f, l0) \
  S(fma, g, f2, lh0, nl) S(add, h, f, g) S(fma, zp, n, ln2h, h)

/* ax = q pi/2 + r for ax up to KIT_TRIG_MAX, pi/2 in three parts. */
#define KIT_TRIG_REDUCE(S, K, W, q) \
  K(twopi, 0x1.45f306p-1f) K(magic, 0x1.8p+23f) \
  K(pi0, -0x1.921fb6p+0f) K(pi1, 0x1.777a5cp-25f) K(pi2, 0x1.ee59dap-50f) \
  S(fma, t, ax, twopi, magic) S(sub, n, t, magic) S(bits, q, t) \
  S(fma, ra, n, pi0, ax) S(fma, rb, n, pi1, ra) S(fma, r, n, pi2, rb)

/* sn, cs = sine and cosine of r, |r| <= 0.7915 */
#define KIT_TRIG_CORE(S, K, W) \
  K(t3, 0x1.7b61f2p-19f) K(t2, -0x1.a056b0p-13f) K(t1, 0x1.111172p-7f) K(t0, -0x1.555556p-3f) \
  K(c2, 0x1.99e142p-16f) K(c1, -0x1.6c0c1ap-10f) K(c0, 0x1.55554ap-5f) K(mhalf, -0.5f) \
  K(one, 1.0f) \
  S(mul, r2, r, r) S(mul, r3, r2, r) \
  S(fma, th2, t3, r2, t2) S(fma, th1, th2, r2, t1) S(fma, th0, th1, r2, t0) \
  S(fma, sn, r3, th0, r) \
  S(fma, ch1, c2, r2, c1) S(fma, ch0, ch1, r2, c0) S(fma, ch, ch0, r2, mhalf) \
  S(fma, cs, ch, r2, one)

/* z = sine of q pi/2 + r, its sign turned by the bit sx. */
#define KIT_TRIG_JOIN(S, K, W) \
  W(w1, 1) W(w31, 31) \
  S(odd, iscos, q) S(sel, mag, iscos, cs, sn) \
  S(shr, qh, q, w1) S(shl, qs, qh, w31) S(ixor, sg, qs, sx) \
  S(bits, magb, mag) S(ixor, zb, magb, sg) S(flt, z, zb)

/* ---- the functions ------------------------------------------------------ */

#define KIT_SEQ_exp(S, K, W) \
  K(hi, 89.0f) K(lo, -104.0f) \
  S(min, vh, hi, x) S(max, v, lo, vh) \
  KIT_EXP_CORE(S, K, W) KIT_SCALE2(S, K, W) \
  S(mul, half, p, s1) S(mul, z, half, s2)

/* 2^n (e^r - 1) + (2^n - 1), at half size so that 2^128 is not needed. */
#define KIT_SEQ_expm1(S, K, W) \
  K(hi, 89.0f) K(lo, -20.0f) \
  W(absmask, 0x7fffffff) S(bits, xb, x) KIT_SIGN(S, K, W) \
  S(min, vh, hi, x) S(max, v, lo, vh) \
  KIT_EXP_REDUCE(S, K, W) \
  K(e5, 0x1.9e7cd6p-13f) K(e4, 0x1.6d3a7cp-10f) K(e3, 0x1.1112d4p-7f) \
  K(e2, 0x1.5554f8p-5f) K(e1, 0x1.555554p-3f) K(e0, 0.5f) K(two, 2.0f) \
  S(fma, eh4, e5, r, e4) S(fma, eh3, eh4, r, e3) S(fma, eh2, eh3, r, e2) S(fma, eh1, eh2, r, e1) \
  S(fma, eh0, eh1, r, e0) S(fma, em1, r2, eh0, r) \
  W(w23, 23) W(halfbits, 0x3f000000) \
  S(shl, na, ni, w23) S(iadd, sa, na, halfbits) S(flt, s, sa) S(sub, sm, s, e0) \
  S(fma, half, s, em1, sm) S(mul, yr, half, two) \
  S(bits, yrb, yr) S(iand, yab, yrb, absmask) S(flt, zp, yab) \
  KIT_JOIN_SIGN(S, K, W)

#define KIT_SEQ_log(S, K, W) \
  K(tiny, 0x1p-126f) K(up, 0x1p+24f) K(m24, -24.0f) \
  S(lt, small, x, tiny) S(mul, xu, x, up) S(sel, u, small, xu, x) \
  KIT_LOG_SPLIT(S, K, W, n0, f) \
  S(add, nd, n0, m24) S(sel, n, small, nd, n0) \
  KIT_LOG_CORE(S, K, W) \
  K(zero, 0.0f) K(inf, INFINITY) K(minf, -INFINITY) K(none, NAN) \
  S(lt, below, x, zero) S(eq, iszero, x, zero) \
  S(sel, o1, below, none, x) S(sel, o2, iszero, minf, o1) \
  S(lt, above, zero, x) S(lt, bounded, x, inf) S(both, plain, above, bounded) \
  S(sel, z, plain, zp, o2)

/* u = 1 + x rounded; what was lost, scaled like u, is added to f. */
#define KIT_SEQ_log1p(S, K, W) \
  K(unit, 1.0f) K(huge, 0x1p+25f) K(zero, 0.0f) W(onebits, 0x3f800000) \
  S(add, u, x, unit) S(sub, u1, u, unit) S(sub, lost, x, u1) \
  KIT_LOG_SPLIT(S, K, W, n, f0) \
  S(shl, ne, ni, w23) S(isub, rsb, onebits, ne) S(flt, rs, rsb) S(mul, fl0, lost, rs) \
  S(lt, few, u, huge) S(sel, fl, few, fl0, zero) S(add, f, f0, fl) \
  KIT_LOG_CORE(S, K, W) \
  K(inf, INFINITY) K(minf, -INFINITY) K(none, NAN) K(mone, -1.0f) \
  S(lt, below, x, mone) S(eq, isone, x, mone) \
  S(sel, o1, below, none, x) S(sel, o2, isone, minf, o1) \
  S(lt, above, mone, x) S(lt, bounded, x, inf) S(eq, iszero, x, zero) S(no, some, iszero) \
  S(both, p1, above, bounded) S(both, plain, p1, some) S(sel, z, plain, zp, o2)

#define KIT_SEQ_sin(S, K, W) \
  KIT_ABS(S, K, W) KIT_SIGN(S, K, W) KIT_TRIG_REDUCE(S, K, W, q) \
  KIT_TRIG_CORE(S, K, W) KIT_TRIG_JOIN(S, K, W)

#define KIT_SEQ_cos(S, K, W) \
  W(sx, 0) W(quarter, 1) KIT_ABS(S, K, W) \
  KIT_TRIG_REDUCE(S, K, W, q0) S(iadd, q, q0, quarter) \
  KIT_TRIG_CORE(S, K, W) KIT_TRIG_JOIN(S, K, W)

/* A polynomial up to 0.6, else 1 - 2 / (e^2x + 1). */
#define KIT_SEQ_tanh(S, K, W) \
  K(hi, 20.0f) K(part, 0.6f) K(mtwo, -2.0f) \
  KIT_ABS(S, K, W) KIT_SIGN(S, K, W) \
  S(add, twice, ax, ax) S(min, v, hi, twice) \
  KIT_EXP_CORE(S, K, W) KIT_SCALE1(S, K, W) \
  S(fma, den, p, s1, one) S(div, quo, mtwo, den) S(add, far, quo, one) \
  K(h4, -0x1.750ce4p-8f) K(h3, 0x1.51f8cep-6f) K(h2, -0x1.b835a4p-5f) \
  K(h1, 0x1.1106f6p-3f) K(h0, -0x1.555532p-2f) \
  S(mul, x2, ax, ax) S(mul, x3, x2, ax) \
  S(fma, hh3, h4, x2, h3) S(fma, hh2, hh3, x2, h2) S(fma, hh1, hh2, x2, h1) \
  S(fma, hh0, hh1, x2, h0) \
  S(fma, near, x3, hh0, ax) S(lt, isnear, ax, part) S(sel, zp, isnear, near, far) \
  KIT_JOIN_SIGN(S, K, W)

/* With e = e^-|x|: (x < 0 ? e : 1) / (1 + e). What 1 + e and the quotient lose
 * by rounding is put back. */
#define KIT_SEQ_sigmoid(S, K, W) \
  K(lo, -104.0f) K(zero, 0.0f) W(signmask, 0x80000000) \
  S(bits, xb, x) S(ior, nxb, xb, signmask) S(flt, nx, nxb) \
  S(max, v, lo, nx) \
  KIT_EXP_CORE(S, K, W) KIT_SCALE2(S, K, W) \
  S(mul, half, p, s1) S(mul, e, half, s2) \
  S(add, den, one, e) S(sub, den1, den, one) S(sub, lost, e, den1) \
  S(lt, below, x, zero) S(sel, num, below, e, one) \
  S(div, rec, one, den) S(mul, quo, num, rec) S(neg, mquo, quo) \
  S(fma, rem0, mquo, den, num) S(fma, rem, mquo, lost, rem0) S(fma, z, rem, rec, quo)

/* x + x P(x x) up to 0.92, else 1 - e^-Q(|x|); 1 from 4 on. */
#define KIT_SEQ_erf(S, K, W) \
  K(hi, 4.0f) K(part, 0.92f) \
  KIT_ABS(S, K, W) KIT_SIGN(S, K, W) \
  S(min, a, hi, ax) \
  K(g6, 0x1.9c1936p-13f) K(g5, -0x1.8f9c54p-9f) K(g4, 0x1.6c87bcp-6f) K(g3, -0x1.a9e49ap-4f) \
  K(g2, -0x1.4635dap-1f) K(g1, -0x1.20b166p+0f) K(g0, -0x1.8a8148p-13f) \
  S(fma, gh5, g6, a, g5) S(fma, gh4, gh5, a, g4) S(fma, gh3, gh4, a, g3) S(fma, gh2, gh3, a, g2) \
  S(fma, gh1, gh2, a, g1) S(fma, v, gh1, a, g0) \
  KIT_EXP_CORE(S, K, W) KIT_SCALE1(S, K, W) \
  S(neg, mp, p) S(fma, far, mp, s1, one) \
  K(h6, 0x1.4f3b84p-14f) K(h5, -0x1.a601e0p-11f) K(h4, 0x1.5449a0p-8f) K(h3, -0x1.b80116p-6f) \
  K(h2, 0x1.ce2d64p-4f) K(h1, -0x1.812740p-2f) K(h0, 0x1.06eba8p-3f) \
  S(mul, x2, ax, ax) \
  S(fma, hh5, h6, x2, h5) S(fma, hh4, hh5, x2, h4) S(fma, hh3, hh4, x2, h3) \
  S(fma, hh2, hh3, x2, h2) \
  S(fma, hh1, hh2, x2, h1) S(fma, hh0, hh1, x2, h0) S(fma, near, ax, hh0, ax) \
  S(lt, isnear, ax, part) S(sel, zp, isnear, near, far) \
  KIT_JOIN_SIGN(S, K, W)

/* ---- pow ---------------------------------------------------------------- */

/* log2 |x| = lg + lgl with 31 or more good bits: n + (2 / ln 2) atanh(s + sl),
 * s + sl = (m - 1) / (m + 1), m in sqrt(1/2)..sqrt(2). */
#define KIT_POW_LOG2(S, K, W) \
  K(tiny, 0x1p-126f) K(up, 0x1p+24f) K(m24, -24.0f) K(zero, 0.0f) K(one, 1.0f) \
  W(root, 0x3f3504f3) W(mantissa, 0x7fffff) W(w23, 23) \
  S(lt, small, ax, tiny) S(mul, axu, ax, up) S(sel, u, small, axu, ax) \
  S(bits, ub, u) S(isub, uo, ub, root) S(sra, ui, uo, w23) S(itof, n0, ui) \
  S(iand, um, uo, mantissa) S(iadd, mb, um, root) S(flt, m, mb) \
  S(sel, adjust, small, m24, zero) S(add, n, n0, adjust) \
  S(sub, f, m, one) S(add, d, m, one) S(sub, d1, d, one) S(sub, dl, m, d1) \
  S(div, rec, one, d) S(mul, s, f, rec) S(neg, ms, s) \
  S(fma, rem0, ms, d, f) S(fma, rem, ms, dl, rem0) S(mul, sl, rem, rec) \
  K(a3, 0x1.f137d4p-4f) K(a2, 0x1.23d3eap-3f) K(a1, 0x1.999c26p-3f) K(a0, 0x1.555554p-2f) \
  S(mul, s2, s, s) S(mul, s3, s2, s) \
  S(fma, ah2, a3, s2, a2) S(fma, ah1, ah2, s2, a1) S(fma, ah0, ah1, s2, a0) \
  S(fma, slg, sl, s2, sl) S(fma, w, s3, ah0, slg) S(add, at, s, w) S(sub, at1, at, s) \
  S(sub, atl, w, at1) \
  K(ch, 0x1.715476p+1f) K(cl, 0x1.4ae0c0p-25f) \
  S(mul, gh, at, ch) S(neg, mgh, gh) S(fma, gl0, at, ch, mgh) S(fma, gl1, at, cl, gl0) \
  S(fma, gl, atl, ch, gl1) \
  S(add, lg, n, gh) S(sub, lg1, lg, n) S(sub, lg2, gh, lg1) S(add, lgl, lg2, gl)

/* zp = 2^(y log2 |x|). y is cut to +-2^40 and the product to +-200: there the
 * result is 0, 1 or infinite anyway, and inf * 0 never arises. */
#define KIT_POW_EXP2(S, K, W) \
  K(yhi, 0x1p+40f) K(ylo, -0x1p+40f) K(phi, 200.0f) K(plo, -200.0f) K(magic, 0x1.8p+23f) \
  W(magicbits, 0x4b400000) \
  S(min, yc0, yhi, y) S(max, yc, ylo, yc0) \
  S(mul, ph0, yc, lg) S(neg, mph, ph0) S(fma, pl0, yc, lg, mph) S(fma, pl1, yc, lgl, pl0) \
  S(min, ph1, phi, ph0) S(max, ph, plo, ph1) S(eq, uncut, ph, ph0) S(sel, pl, uncut, pl1, zero) \
  S(add, t, ph, magic) S(sub, tn, t, magic) S(sub, g0, ph, tn) S(add, g, g0, pl) \
  S(bits, tb, t) S(isub, ni, tb, magicbits) \
  K(b5, 0x1.416d34p-13f) K(b4, 0x1.5f09aep-10f) K(b3, 0x1.3b2de0p-7f) K(b2, 0x1.c6af7ap-5f) \
  K(b1, 0x1.ebfbdcp-3f) K(b0, 0x1.62e430p-1f) W(w1, 1) W(onebits, 0x3f800000) \
  S(fma, bh4, b5, g, b4) S(fma, bh3, bh4, g, b3) S(fma, bh2, bh3, g, b2) S(fma, bh1, bh2, g, b1) \
  S(fma, bh0, bh1, g, b0) S(fma, p, bh0, g, one) \
  S(sra, n1, ni, w1) S(isub, n2, ni, n1) \
  S(shl, na, n1, w23) S(iadd, sa, na, onebits) S(flt, sc1, sa) \
  S(shl, nb, n2, w23) S(iadd, sb, nb, onebits) S(flt, sc2, sb) \
  S(mul, half, p, sc1) S(mul, zp, half, sc2)

/* The cases of IEEE 754: |x| = 0 or inf; the sign for odd y; nan for x < 0 and
 * y not whole; nan in; y = 0 and x = 1. */
#define KIT_SEQ_pow(S, K, W) \
  KIT_ABS(S, K, W) KIT_SIGN(S, K, W) KIT_POW_LOG2(S, K, W) KIT_POW_EXP2(S, K, W) \
  K(inf, INFINITY) K(none, NAN) K(onehalf, 0.5f) W(infbits, 0x7f800000) W(w0, 0) \
  S(eq, ax0, ax, zero) S(eq, axi, ax, inf) S(either, edge, ax0, axi) \
  S(isub, invb, infbits, axb) S(flt, inv, invb) S(lt, yneg, y, zero) S(sel, ends, yneg, inv, ax) \
  S(sel, z1, edge, ends, zp) \
  S(rint, yr, y) S(eq, whole, yr, y) S(mul, yh, y, onehalf) S(rint, yhr, yh) \
  S(eq, even, yhr, yh) \
  S(no, uneven, even) S(both, isodd, whole, uneven) S(isel, sg, isodd, sx, w0) \
  S(bits, z1b, z1) S(ior, z2b, z1b, sg) S(flt, z2, z2b) \
  S(lt, xneg, x, zero) S(no, part, whole) S(both, bad0, xneg, part) S(no, xfin, axi) \
  S(both, bad, bad0, xfin) S(sel, z3, bad, none, z2) \
  S(eq, xok, x, x) S(eq, yok, y, y) S(both, ok, xok, yok) S(add, xy, x, y) \
  S(sel, z4, ok, z3, xy) \
  S(eq, yzero, y, zero) S(eq, xone, x, one) S(either, isone, yzero, xone) S(sel, z, isone, one, z4)
/* clang-format on */

#endif
