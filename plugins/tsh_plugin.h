/* tsh_plugin.h - the device plugin ABI of tsh and its op table, version 0.x.
 *
 * This is the only file a plugin needs. It includes nothing of tsh, compiles
 * as C99, C11 and C++17, and may be copied. A plugin is a shared library that
 * exports exactly one symbol, tsh_plugin_query. Its file stem is its device
 * scheme: npu.so gives npu:0, npu:1, ...
 *
 * Words used below. borrowed: valid during the call only. owned: the caller
 * frees it with the named entry. All offsets, extents and strides are counted
 * in elements, all sizes in bytes, all times in nanoseconds unless the name
 * says otherwise.
 *
 * The ABI is 0.x until an asynchronous device has passed the whole operator
 * library; a major version of 0 may change in every minor. The first eight
 * bytes of tsh_plugin (size, major, minor) never change.
 */
#ifndef TSH_PLUGIN_H
#define TSH_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TSH_ABI_MAJOR 0
#define TSH_ABI_MINOR 2

#define TSH_MAX_RANK 12 /* axes of one kernel; a device may declare 8 to 12 */

/* ---- dtypes -------------------------------------------------------------
 * X(id, name, C storage type, bytes, kind). Ids are never reused.
 * Reserved: 15 c128, 16-19 f8, 20 i4, 21 u4. bool is one byte, 0 or 1. */
#define TSH_DTYPES(X)                                                          \
  X(1, bool, uint8_t, 1, TSH_KIND_BOOL)                                        \
  X(2, i8, int8_t, 1, TSH_KIND_INT)                                            \
  X(3, i16, int16_t, 2, TSH_KIND_INT)                                          \
  X(4, i32, int32_t, 4, TSH_KIND_INT)                                          \
  X(5, i64, int64_t, 8, TSH_KIND_INT)                                          \
  X(6, u8, uint8_t, 1, TSH_KIND_UINT)                                          \
  X(7, u16, uint16_t, 2, TSH_KIND_UINT)                                        \
  X(8, u32, uint32_t, 4, TSH_KIND_UINT)                                        \
  X(9, u64, uint64_t, 8, TSH_KIND_UINT)                                        \
  X(10, f16, uint16_t, 2, TSH_KIND_FLOAT)                                      \
  X(11, bf16, uint16_t, 2, TSH_KIND_FLOAT)                                     \
  X(12, f32, float, 4, TSH_KIND_FLOAT)                                         \
  X(13, f64, double, 8, TSH_KIND_FLOAT)                                        \
  X(14, c64, tsh_c64, 8, TSH_KIND_COMPLEX)

typedef struct {
  float re, im;
} tsh_c64;

enum {
  TSH_KIND_BOOL = 1,
  TSH_KIND_INT,
  TSH_KIND_UINT,
  TSH_KIND_FLOAT,
  TSH_KIND_COMPLEX
};

#define TSH_X(id, name, type, bytes, kind) TSH_##name = id,
enum { TSH_DTYPES(TSH_X) TSH_NDTYPE = 32 };
#undef TSH_X

#define TSH_BIT(dtype) (UINT32_C(1) << (dtype))

/* ---- the op table -------------------------------------------------------
 * X(id, name, class, arity, takes, gives, start, fexpr, iexpr, doc)
 *
 * class  MAP   one value per point from `arity` operands
 *        FOLD  a full value (one per point) to a row value (one per outer
 *              point): the start value, then (fexpr|iexpr) with a = the
 *              accumulator and b = the next element; order: see below
 *        MOVE  layout and creation: recorded by the host, never compiled;
 *              reaches a plugin as views, INDEX and sub-view STOREs
 *        CALL  what is not the kernel form: compiled with attributes
 * takes  compute dtypes that have a meaning: F floats, I integers, B bool
 * gives  SAME the compute dtype | BOOL | TO the instruction's dtype, of a CALL
 *        the output's | SECOND the dtype of the second operand
 * start  FOLD only: ZERO ONE LOWEST HIGHEST, or NONE where an empty fold has
 *        no value (the host refuses it)
 * fexpr  meaning for floats; iexpr: meaning for integers and bool. `a b c`
 *        are operands in the compute dtype, `T` is that C type. Integer
 *        expressions wrap (compile with -fwrapv); on bool the lowest bit of
 *        the result counts. Every result is rounded to its dtype before it is
 *        used again; nothing may be contracted. Names beginning with tsh_ are
 *        functions the includer supplies (plugins/kit has them for f32).
 *
 * Ids are fixed, never reused, and their meaning never changes.
 *
 * Numbers. x // 0 and x / 0 of integers are all ones, x % 0 is x, the lowest
 * integer // -1 is itself: never a trap. Shifts by the width or more give 0
 * (the sign for >>). Float to integer saturates, NaN gives 0. max, min: NaN
 * wins, +0 beats -0 for max and -0 beats +0 for min. + - * / sqrt fma and
 * conversions are correctly rounded. Anything to bool is x != 0 (nan is true).
 * tsh_mod(a, b) is fmod(a, b), plus b when that is not zero and has the other
 * sign; a zero result has the sign of b. tsh_ipow wraps; with a negative
 * exponent it is 1 for base 1, 1 or -1 for base -1, else 0.
 *
 * Integers wrap at their width in every op and every fold. Halves: a MAP op of
 * f16 or bf16 widens its operands to f32, computes fexpr there (T is float) and
 * rounds the result once to its dtype: to nearest even, too large is infinite,
 * small values stay denormal. So a value does not change when it is stored.
 * Conversions to a half round once, also those of f64 and of long integers; a
 * SCALAR of a half is its double rounded once. FOLD sum, prod, dot and CALL
 * index_add, scatter_add, cumsum, cumprod of halves do not exist: the host
 * converts to f32, folds, and converts the result back. max, min, argmax,
 * argmin and the sorts of halves do.
 *
 * Fold order is the row-major order of the folded axes. Float sum and prod:
 * element i of a block of 4,096 goes to lane i mod 16 (lanes begin at the start
 * value), and lanes are combined as l + (l+8), then +4, +2, +1. The blocks are
 * combined in pairs as they are complete, like a binary counter: two values of
 * one level make one of the next, earlier + later; at the end what is left is
 * combined from the last to the first, earlier + later. So the error grows with
 * the logarithm of the number of blocks. dot is acc = fma(a, b, acc),
 * one chain over the folded elements in order. argmax(v, i), argmin(v, i)
 * give i's dtype: NaN wins, then the larger (smaller) v, then the smaller i.
 * All other folds are free of order; +0 and -0 are equal for argmax, argmin.
 *
 * index(y, n) converts a 1-based position to 0-based: y in 1..n gives y-1, y
 * in -n..-1 gives y+n, anything else is TSH_EINDEX with the number of the
 * first such element in tsh_err.at, and the value 0. It is the only MAP op
 * that can fail.
 * random(j, key, base), all i64: word j, as 0..2^32-1, is word (j & 3) of
 * Philox4x32-10 with counter base + (j >> 2) (64 bits, low word first, upper
 * two words zero) and the key's 64 bits.
 */
/* -1 of a signed type; no value of an unsigned one. */
#define TSH_IS_M1(b) ((T)-1 < 0 && (b) == (T)-1)

/* clang-format off */
#define TSH_OPS(X) \
  TSH_OPS_MAP1(X) TSH_OPS_MAP2(X) TSH_OPS_MAP3(X) TSH_OPS_FOLD(X) \
  TSH_OPS_MOVE(X) TSH_OPS_CALL(X)

#define TSH_OPS_MAP1(X) \
  X(16, neg,         MAP, 1, FI,  SAME, NONE, -a,                         -a,                     "minus x") \
  X(17, abs,         MAP, 1, FI,  SAME, NONE, fabs(a),                    a < 0 ? -a : a,         "absolute value") \
  X(18, sign,        MAP, 1, FI,  SAME, NONE, (T)((a > 0) - (a < 0)),     (T)((a > 0) - (a < 0)), "-1, 0 or 1; 0 for nan") \
  X(19, floor,       MAP, 1, FI,  SAME, NONE, floor(a),                   a,                      "largest whole number not above x") \
  X(20, ceil,        MAP, 1, FI,  SAME, NONE, ceil(a),                    a,                      "smallest whole number not below x") \
  X(21, trunc,       MAP, 1, FI,  SAME, NONE, trunc(a),                   a,                      "x without its fraction") \
  X(22, round,       MAP, 1, FI,  SAME, NONE, rint(a),                    a,                      "nearest whole number, halves to even") \
  X(23, frac,        MAP, 1, F,   SAME, NONE, a - trunc(a),               a,                      "fraction of x, with its sign") \
  X(24, sqrt,        MAP, 1, F,   SAME, NONE, sqrt(a),                    a,                      "square root") \
  X(25, rsqrt,       MAP, 1, F,   SAME, NONE, 1 / sqrt(a),                a,                      "1 / square root, both rounded") \
  X(26, square,      MAP, 1, FI,  SAME, NONE, a * a,                      a * a,                  "x * x") \
  X(27, reciprocal,  MAP, 1, F,   SAME, NONE, 1 / a,                      a,                      "1 / x") \
  X(28, isnan,       MAP, 1, FIB, BOOL, NONE, a != a,                     0,                      "true where x is nan") \
  X(29, isinf,       MAP, 1, FIB, BOOL, NONE, fabs(a) == (T)INFINITY,     0,                      "true where x is infinite") \
  X(30, isfinite,    MAP, 1, FIB, BOOL, NONE, fabs(a) < (T)INFINITY,      1,                      "true where x is neither nan nor infinite") \
  X(31, bitnot,      MAP, 1, IB,  SAME, NONE, a,                          ~a,                     "every bit turned; not of a bool") \
  X(32, logical_not, MAP, 1, FIB, BOOL, NONE, a == 0,                     a == 0,                 "true where x is zero or false") \
  X(33, relu,        MAP, 1, FI,  SAME, NONE, a > 0 || a != a ? a : (T)0, a > 0 ? a : 0,          "x where x > 0, else 0; nan stays") \
  X(34, exp,         MAP, 1, F,   SAME, NONE, tsh_exp(a),                 a,                      "e to the x") \
  X(35, expm1,       MAP, 1, F,   SAME, NONE, tsh_expm1(a),               a,                      "e to the x, minus 1, exact near 0") \
  X(36, log,         MAP, 1, F,   SAME, NONE, tsh_log(a),                 a,                      "natural logarithm") \
  X(37, log1p,       MAP, 1, F,   SAME, NONE, tsh_log1p(a),               a,                      "logarithm of 1 + x, exact near 0") \
  X(38, sin,         MAP, 1, F,   SAME, NONE, tsh_sin(a),                 a,                      "sine, x in radians") \
  X(39, cos,         MAP, 1, F,   SAME, NONE, tsh_cos(a),                 a,                      "cosine, x in radians") \
  X(40, tanh,        MAP, 1, F,   SAME, NONE, tsh_tanh(a),                a,                      "hyperbolic tangent") \
  X(41, sigmoid,     MAP, 1, F,   SAME, NONE, tsh_sigmoid(a),             a,                      "1 / (1 + e to the -x)") \
  X(42, erf,         MAP, 1, F,   SAME, NONE, tsh_erf(a),                 a,                      "error function") \
  X(43, cast,        MAP, 1, FIB, TO,   NONE, a,                          a,                      "x in another dtype") \
  X(44, copy,        MAP, 1, FIB, SAME, NONE, a,                          a,                      "x itself, written out")

#define TSH_OPS_MAP2(X) \
  X(48, add,         MAP, 2, FI,  SAME, NONE, a + b,                      a + b,                  "x + y") \
  X(49, sub,         MAP, 2, FI,  SAME, NONE, a - b,                      a - b,                  "x - y") \
  X(50, mul,         MAP, 2, FI,  SAME, NONE, a * b,                      a * b,                  "x * y") \
  X(51, div,         MAP, 2, FI,  SAME, NONE, a / b,                      b == 0 ? (T)-1 : TSH_IS_M1(b) ? (T)(0 - a) : (T)(a / b), "x / y; of integers cut towards 0") \
  X(52, floordiv,    MAP, 2, FI,  SAME, NONE, floor(a / b),               b == 0 ? (T)-1 : TSH_IS_M1(b) ? (T)(0 - a) : (T)(a / b - (a % b != 0 && (a ^ b) < 0)), "x // y, rounded down") \
  X(53, mod,         MAP, 2, FI,  SAME, NONE, tsh_mod(a, b),              b == 0 ? a : TSH_IS_M1(b) ? (T)0 : (T)(a % b + (a % b != 0 && (a ^ b) < 0 ? b : 0)), "x % y, with the sign of y") \
  X(54, fmod,        MAP, 2, FI,  SAME, NONE, fmod(a, b),                 b == 0 ? a : TSH_IS_M1(b) ? (T)0 : (T)(a % b), "remainder with the sign of x") \
  X(55, pow,         MAP, 2, FI,  SAME, NONE, tsh_pow(a, b),              tsh_ipow(a, b),         "x to the y; integers stay exact and wrap") \
  X(56, maximum,     MAP, 2, FIB, SAME, NONE, a > b || a != a || (a == b && !signbit(a)) ? a : b, a > b ? a : b, "the larger; nan wins") \
  X(57, minimum,     MAP, 2, FIB, SAME, NONE, a < b || a != a || (a == b && signbit(a)) ? a : b,  a < b ? a : b, "the smaller; nan wins") \
  X(58, eq,          MAP, 2, FIB, BOOL, NONE, a == b,                     a == b,                 "true where x equals y") \
  X(59, ne,          MAP, 2, FIB, BOOL, NONE, a != b,                     a != b,                 "true where x differs from y") \
  X(60, lt,          MAP, 2, FIB, BOOL, NONE, a < b,                      a < b,                  "true where x is below y") \
  X(61, le,          MAP, 2, FIB, BOOL, NONE, a <= b,                     a <= b,                 "true where x is not above y") \
  X(62, gt,          MAP, 2, FIB, BOOL, NONE, a > b,                      a > b,                  "true where x is above y") \
  X(63, ge,          MAP, 2, FIB, BOOL, NONE, a >= b,                     a >= b,                 "true where x is not below y") \
  X(64, bitand,      MAP, 2, IB,  SAME, NONE, a,                          a & b,                  "bits set in both; and of bools") \
  X(65, bitor,       MAP, 2, IB,  SAME, NONE, a,                          a | b,                  "bits set in one or both; or of bools") \
  X(66, bitxor,      MAP, 2, IB,  SAME, NONE, a,                          a ^ b,                  "bits set in one only; xor of bools") \
  X(67, shl,         MAP, 2, I,   SAME, NONE, a,                          (uint64_t)b >= 8 * sizeof(T) ? (T)0 : (T)((uint64_t)a << (b & (T)(8 * sizeof(T) - 1))), "bits moved up by y; 0 when y is the width or more") \
  X(68, shr,         MAP, 2, I,   SAME, NONE, a,                          (uint64_t)b >= 8 * sizeof(T) ? (T)(a < 0 ? -1 : 0) : (T)(a >> (b & (T)(8 * sizeof(T) - 1))), "bits moved down by y, the sign kept") \
  X(69, logical_and, MAP, 2, FIB, BOOL, NONE, a != 0 && b != 0,           (a != 0) & (b != 0),    "true where both are not zero") \
  X(70, logical_or,  MAP, 2, FIB, BOOL, NONE, a != 0 || b != 0,           (a != 0) | (b != 0),    "true where one is not zero") \
  X(71, logical_xor, MAP, 2, FIB, BOOL, NONE, (a != 0) != (b != 0),       (a != 0) ^ (b != 0),    "true where exactly one is not zero") \
  X(72, copysign,    MAP, 2, F,   SAME, NONE, copysign(a, b != b ? (T)0 : b), a,                  "x with the sign of y; plus for nan") \
  X(73, index,       MAP, 2, I,   SAME, NONE, a,                          tsh_index(a, b),        "1-based position of n to 0-based, checked")

#define TSH_OPS_MAP3(X) \
  X(80, where,       MAP, 3, FIB, SAME, NONE, a ? b : c,                  a ? b : c,              "x where the condition holds, else y") \
  X(81, fma,         MAP, 3, F,   SAME, NONE, fma(a, b, c),               a,                      "x * y + z, rounded once") \
  X(82, lerp,        MAP, 3, F,   SAME, NONE, a + c * (b - a),            a,                      "from x to y by the weight w") \
  X(83, addcmul,     MAP, 3, F,   SAME, NONE, a + b * c,                  a,                      "x + y * z, both rounded") \
  X(84, addcdiv,     MAP, 3, F,   SAME, NONE, a + b / c,                  a,                      "x + y / z, both rounded") \
  X(85, random,      MAP, 3, I,   SAME, NONE, a,                          tsh_random(a, b, c),    "random word of a counter")

#define TSH_OPS_FOLD(X) \
  X(128, sum,        FOLD, 1, FI,  SAME,   ZERO,    a + b,  a + b,         "sum") \
  X(129, prod,       FOLD, 1, FI,  SAME,   ONE,     a * b,  a * b,         "product") \
  X(130, max,        FOLD, 1, FIB, SAME,   LOWEST,  a > b || a != a || (a == b && !signbit(a)) ? a : b, a > b ? a : b, "largest; nan wins") \
  X(131, min,        FOLD, 1, FIB, SAME,   HIGHEST, a < b || a != a || (a == b && signbit(a)) ? a : b,  a < b ? a : b, "smallest; nan wins") \
  X(132, any,        FOLD, 1, B,   SAME,   ZERO,    a,      a | b,         "true when one is true") \
  X(133, all,        FOLD, 1, B,   SAME,   ONE,     a,      a & b,         "true when all are true") \
  X(134, dot,        FOLD, 2, FI,  SAME,   ZERO,    fma(a, b, acc), a * b + acc, "sum of products, each step one fma") \
  X(135, argmax,     FOLD, 2, FIB, SECOND, NONE,    a,      a,             "position of the largest") \
  X(136, argmin,     FOLD, 2, FIB, SECOND, NONE,    a,      a,             "position of the smallest")

#define TSH_OPS_MOVE(X) \
  X(160, full,       MOVE, 0, FIB, SAME, NONE, a, a, "every element one value") \
  X(161, iota,       MOVE, 0, I,   SAME, NONE, a, a, "0, 1, 2, ... in row-major order") \
  X(162, reshape,    MOVE, 1, FIB, SAME, NONE, a, a, "the same elements in another shape") \
  X(163, permute,    MOVE, 1, FIB, SAME, NONE, a, a, "axes in another order") \
  X(164, expand,     MOVE, 1, FIB, SAME, NONE, a, a, "axes of extent 1 repeated") \
  X(165, slice,      MOVE, 1, FIB, SAME, NONE, a, a, "a range of each axis") \
  X(166, pad,        MOVE, 1, FIB, SAME, NONE, a, a, "a border of one value") \
  X(167, cat,        MOVE, 1, FIB, SAME, NONE, a, a, "tensors joined along an axis") \
  X(168, set,        MOVE, 2, FIB, SAME, NONE, a, b, "x with a range overwritten by y") \
  X(169, detach,     MOVE, 1, FIB, SAME, NONE, a, a, "x as a constant for gradients") \
  X(170, to,         MOVE, 1, FIB, SAME, NONE, a, a, "x on another device") \
  X(171, windows,    MOVE, 1, FIB, SAME, NONE, a, a, "windows along an axis, as a new last axis") \
  X(172, custom,     MOVE, 1, FIB, SAME, NONE, a, a, "x, with a gradient of its own")

#define TSH_OPS_CALL(X) \
  X(192, take,       CALL, 2, FIB, SAME, NONE, a, a, "elements at positions along an axis; attr: axis") \
  X(193, index_add,  CALL, 3, FI,  SAME, NONE, a, a, "x with z added at positions y along an axis; attr: axis") \
  X(194, gather,     CALL, 2, FIB, SAME, NONE, a, a, "for each position y the element of x there along an axis; attr: axis") \
  X(195, scatter_add, CALL, 3, FI, SAME, NONE, a, a, "x with each element of z added at its position y along an axis; attr: axis") \
  X(196, sort,       CALL, 1, FIB, SAME, NONE, a, a, "elements in order along an axis; attr: axis, descending") \
  X(197, argsort,    CALL, 1, FIB, TO,   NONE, a, a, "positions that sort an axis; attr: axis, descending") \
  X(198, argtopk,    CALL, 1, FIB, TO,   NONE, a, a, "positions of the k largest or smallest along an axis; attr: axis, k, largest") \
  X(199, cumsum,     CALL, 1, FI,  SAME, NONE, a + b, a + b, "sum of the elements up to each one along an axis; attr: axis") \
  X(200, cumprod,    CALL, 1, FI,  SAME, NONE, a * b, a * b, "product of the elements up to each one along an axis; attr: axis") \
  X(201, nonzero,    CALL, 1, B,   TO,   NONE, a, a, "row-major positions of the true elements") \
  X(202, index_set,  CALL, 3, FIB, SAME, NONE, b, b, "x with z at positions y along an axis, the last of equal ones; attr: axis") \
  X(203, index_mul,  CALL, 3, FI,  SAME, NONE, a * b, a * b, "x multiplied with z at positions y along an axis; attr: axis") \
  X(204, index_max,  CALL, 3, FI,  SAME, NONE, a, a, "x with the larger of it and z at positions y along an axis; attr: axis") \
  X(205, index_min,  CALL, 3, FI,  SAME, NONE, a, a, "x with the smaller of it and z at positions y along an axis; attr: axis")
/* clang-format on */

/* Instruction ids that are no ops of the table. */
enum {
  TSH_OP_PROGRAM = 0, /* tsh_kernel.op of a program */
  TSH_OP_LOAD = 1,    /* imm = argument: the element at its view */
  TSH_OP_INDEX = 2,   /* imm = argument: offset + sum(index*stride), i32/i64 */
  TSH_OP_SCALAR = 3,  /* imm = slot of tsh_launch.scalar */
  TSH_OP_CONST = 4,   /* imm = bits of the value in its dtype, low end */
  TSH_OP_STORE = 5    /* a = value, imm = argument */
};

#define TSH_X(id, name, ...) TSH_OP_##name = id,
enum { TSH_OPS(TSH_X) TSH_NOPS = 256 };
#undef TSH_X

/* ---- status and errors -------------------------------------------------- */
#define TSH_STATUSES(X)                                                        \
  X(0, OK, "good")                                                             \
  X(1, EINVAL, "a malformed request")                                          \
  X(2, ENOMEM, "out of memory")                                                \
  X(3, EINDEX, "an index out of range in the data")                            \
  X(4, ECANCELLED, "interrupted")                                              \
  X(5, EDEVICE, "the device failed or was lost")                               \
  X(6, EUNSUPPORTED, "the device does not have this op, dtype or entry")       \
  X(7, ENODEV, "no such device")                                               \
  X(8, EPENDING, "not finished yet")                                           \
  X(9, EIO, "a file could not be read or written")

#define TSH_X(id, name, text) TSH_##name = id,
enum { TSH_STATUSES(TSH_X) TSH_NSTATUS };
#undef TSH_X
typedef int32_t tsh_status; /* 0 is good; else the tsh_err says why */

#define TSH_NO_LAUNCH UINT32_MAX

/* Filled by whoever fails; the caller sets size. text is one sentence without
 * a full stop, with the numbers in it. */
typedef struct {
  uint32_t size;
  tsh_status code;
  uint32_t launch; /* index in its batch of the failing launch, or NO_LAUNCH */
  uint32_t pad;
  uint64_t ticket; /* batch that failed, when found later by wait; else 0 */
  int64_t at;      /* number of the bad element for EINDEX, row-major over the
                      launch's index space; -1 none */
  char text[1024];
} tsh_err;

/* ---- the kernel form ---------------------------------------------------- */
/* A program is straight-line SSA over one index space of `rank` axes, the last
 * `nfold` of them folded. Value number = instruction number. A value is
 *   uniform  CONST, SCALAR
 *   row      one per outer point: FOLD results, LOAD and INDEX with TSH_ROW,
 *            MAP of row and uniform operands
 *   full     one per point: LOAD and INDEX without TSH_ROW, MAP with a full
 *            operand
 * With nfold 0 every LOAD is full, TSH_ROW has no meaning and there is no FOLD.
 * The operands of a FOLD are broadcast to full. A row value that depends on a
 * FOLD and is used beside full values starts a new phase: another pass over the
 * folded axes. Any number of FOLDs, STOREs and phases. A STORE with TSH_ROW
 * writes a row or uniform value once per outer point; without it one value per
 * point.
 *
 * imm of LOAD, INDEX, STORE = argument number; an INDEX argument is a view
 * whose buf is NULL. Inputs come first in the argument list, INDEX views among
 * them, outputs last. dtype is the result's; the compute dtype, which op_types
 * names, is the operand's: of `b` for where (a is bool), the source for cast,
 * of `a` for argmax and argmin. The three operands of random and the two of
 * index have one dtype. */
enum { TSH_ROW = 1 }; /* tsh_inst.flags */

typedef struct {
  uint16_t op;
  uint8_t dtype, flags;
  uint16_t a, b, c, pad[3];
  uint64_t imm;
} tsh_inst;

enum { /* tsh_kernel.flags: what a plugin may replace by a better kernel */
       TSH_HINT_DOT = 1,  /* one dot of two LOADs; all else is row or uniform */
       TSH_HINT_CONV = 2, /* beside DOT: an operand is windows that overlap */
       TSH_HINT_POOL = 4
};

enum { /* tsh_kernel.arg_class: what every launch of the kernel keeps */
       TSH_STRIDED = 0, /* any strides */
       TSH_DENSE = 1,   /* stride 1 along the last axis */
       TSH_SPLAT = 2    /* stride 0 along the last axis */
};

/* What is compiled. op 0: a program. Else a CALL op: nattr attributes, narg
 * arguments with their own ranks, inst = an epilogue over output 0 (ninst may
 * be 0), in which LOAD of output 0's argument means the element just computed;
 * rank is then the output's. attr counts axes from 0.
 * Scalars, offsets, extents and strides belong to the launch. hash covers all
 * but itself: equal hashes with equal bytes may share a program.
 *
 * CALL arguments, the attribute axis where the row says it:
 *   take         x, positions, out       out has the axes of the positions in
 *   index_add    x, positions, z, out    the place of axis; so has z
 *   index_set index_mul index_max index_min   as index_add
 *   gather       x, positions, out       all of x's rank; positions and out (z)
 *   scatter_add  x, positions, z, out    have equal extents, beside axis none
 *                                        larger than x's
 *   sort cumsum cumprod  x, out          of equal extents
 *   argsort      x, out                  out is i64, of equal extents
 *   argtopk      x, out                  out is i64, of extent k along axis
 *   nonzero      x, out                  out is i64 of rank 1
 * No argument is empty. Positions are i32 or i64, 0..n-1, checked in the
 * kernel; tsh_err.at is then the row-major number of the first bad position in
 * its own argument.
 *
 * index_add and its kin and scatter_add begin with x and combine in row-major
 * order of the positions; max and min as the MAP ops. Sorting is by <, stable
 * in both directions: what is equal keeps its order, -0 equals +0, every NaN is
 * larger than all else and equal to the others. argtopk gives the first k of
 * argsort, descending when `largest`. nonzero gives as many positions as out
 * has room for; when there are fewer the rest is 0. Integer scans wrap. A float
 * scan goes in blocks of 16 elements along axis, the last may be shorter: for d
 * = 1, 2, 4, 8 every element i >= d of the block becomes [i-d] + [i] (of the
 * values before that step); then the last result of the block before, if there
 * is one, is added in front: carry + [i]. cumprod the same with *. */
typedef struct {
  uint32_t size, flags;
  uint16_t op, rank, nfold, narg, nscalar, ninst, inst_size, nattr;
  const tsh_inst *inst;
  const uint8_t *arg_dtype, *arg_class, *arg_rank;
  const int64_t *attr;
  uint64_t hash;
} tsh_kernel;

typedef struct tsh_dev tsh_dev;   /* an open device; the plugin's */
typedef struct tsh_buf tsh_buf;   /* device memory; the plugin's */
typedef struct tsh_prog tsh_prog; /* a compiled kernel; the plugin's */

/* One argument of a launch. extent: NULL in a program (the launch's extents
 * hold), own extents for CALL. stride may be 0 (broadcast) or negative; inputs
 * may overlap themselves. Frozen. */
typedef struct {
  tsh_buf *buf;
  int64_t offset;
  const int64_t *extent, *stride;
} tsh_view;

/* The member is named by the dtype: f floats, i signed integers and bool,
 * u unsigned, c complex. Frozen. */
typedef union {
  double f;
  int64_t i;
  uint64_t u;
  float c[2];
} tsh_scalar;

enum { TSH_LAUNCH_UPDATE = 1 }; /* tsh_launch.flags, see submit */

typedef struct {
  uint32_t size, flags;
  tsh_prog *prog;
  const int64_t *extent;    /* rank of them; NULL for CALL */
  const tsh_view *arg;      /* narg */
  const tsh_scalar *scalar; /* nscalar */
  const uint32_t *after;    /* earlier launches of this batch it depends on */
  uint32_t nafter, tag;     /* tag: the host's own */
} tsh_launch;

/* Launches of one submit. Batches with the same non-zero key differ only in
 * buffers, offsets, extents and scalars. launch_size: step of the array. */
typedef struct {
  uint32_t size, nlaunch, launch_size, flags;
  uint64_t key;
  const tsh_launch *launch;
} tsh_batch;

/* ---- devices ------------------------------------------------------------ */
typedef struct {
  uint32_t size, kind; /* kind: TSH_CPU ... */
  char name[96];       /* "AMD EPYC, baseline" */
  uint8_t uuid[16];
  uint64_t memory; /* bytes in all; 0 unknown */
  uint32_t max_args, max_insts, max_rank, max_phases;
  uint64_t max_loop;        /* points of one launch */
  uint64_t max_phase_inner; /* folded points when there are several phases */
  uint64_t max_alloc;       /* bytes */
  uint32_t align;           /* bytes, at least 64 */
  uint32_t storage;         /* TSH_BIT of dtypes that may be stored */
  uint32_t nops, pad;
  const uint32_t *op_types; /* [nops], static: TSH_BIT of compute dtypes */
  double compile_us, launch_us;
} tsh_props;

enum { TSH_CPU = 1, TSH_GPU = 2, TSH_NPU = 3, TSH_REMOTE = 4 };

/* Given to open; outlives the device. cancel: read (relaxed) at least every
 * 20 ms of work; non-zero asks to stop. threads: how many may compute at once
 * on the host's processors, the caller among them; 0: the plugin chooses. */
typedef struct {
  uint32_t size, flags;
  const uint32_t *cancel;
  uint32_t threads, pad; /* since 0.2 */
} tsh_host;

/* A transfer. dst NULL: to host; src NULL: from host; both: on the device.
 * Offsets in bytes. */
typedef struct {
  uint32_t size, flags;
  tsh_buf *dst, *src;
  uint64_t dst_at, src_at, bytes;
  void *host;
} tsh_copy;

typedef struct {
  uint32_t size, flags;
  uint64_t used, cached, peak;
} tsh_memstat;

/* The table. All calls on one device come from one thread at a time; devices
 * may run at once. query, count and props are cheap and may come from any
 * thread. Worker threads block all signals. One in-order queue per device.
 *
 * count   devices that can be opened now. 0 is no error: err->text may hold
 *         one sentence why ("no driver: libcuda.so.1 not found").
 * alloc   bytes > 0, aligned to props.align, any content; owned, see free.
 *         More than the device can give is TSH_ENOMEM, never a crash.
 * free    queue-ordered: memory stays until work submitted before is done. So
 *         is drop of a program.
 * copy    ordered after all work submitted before; complete on return. An
 *         error of that work is reported by wait, not here.
 * compile kernel borrowed; *out owned, see drop. TSH_EUNSUPPORTED when an op
 *         or dtype is missing.
 * submit  batch borrowed; *ticket grows. Launches run as if in order; `after`
 *         names every earlier launch whose reads or writes overlap. May fail
 *         at once or later through wait.
 *         Data error (TSH_EINDEX): the bad launch leaves defined memory, every
 *         launch without TSH_LAUNCH_UPDATE completes, err->launch is the first
 *         bad one. Stop (cancelled, memory, device): launches before
 *         err->launch are complete, those from it on may be complete, partial
 *         or untouched; the host may submit them again.
 *         A launch with TSH_LAUNCH_UPDATE overwrites a buffer older than its
 *         batch and lists all earlier launches in `after`: it begins only when
 *         every one of them is complete without error, does not look at the
 *         cancel word inside and allocates nothing; so after any error an
 *         UPDATE launch beyond err->launch has not begun.
 * wait    until ticket is done; timeout in ns, 0 polls: TSH_EPENDING when not.
 *         An error is reported once, with err->ticket, for the first bad
 *         ticket up to this one; call again to go on.
 *
 * Within one launch outputs never overlap each other, nor an input unless it
 * is the identical view and all STOREs to it are in the last phase. View
 * offsets are element-aligned only. No launch has an empty outer space; an
 * empty fold gives the start value. A device has at least f32, i32, bool, and
 * i64 storage, add, mul, compare, shift, cast; random is i64 only.
 *
 * Optional entries are NULL, or lie beyond `size`: use TSH_HAS. */
typedef struct tsh_plugin {
  uint32_t size;
  uint16_t major, minor;
  const char *name, *version; /* static */
  uint32_t (*count)(tsh_err *err);
  tsh_status (*props)(uint32_t index, tsh_props *out, tsh_err *err);
  tsh_status (*open)(uint32_t index, const tsh_host *host, tsh_dev **out,
                     tsh_err *err);
  void (*close)(tsh_dev *dev);
  tsh_status (*alloc)(tsh_dev *dev, uint64_t bytes, tsh_buf **out,
                      tsh_err *err);
  void (*free)(tsh_dev *dev, tsh_buf *buf);
  tsh_status (*copy)(tsh_dev *dev, const tsh_copy *copy, tsh_err *err);
  tsh_status (*compile)(tsh_dev *dev, const tsh_kernel *kernel, tsh_prog **out,
                        tsh_err *err);
  void (*drop)(tsh_dev *dev, tsh_prog *prog);
  tsh_status (*submit)(tsh_dev *dev, const tsh_batch *batch, uint64_t *ticket,
                       tsh_err *err);
  tsh_status (*wait)(tsh_dev *dev, uint64_t ticket, uint64_t timeout_ns,
                     tsh_err *err);
  /* ---- optional from here ---- */
  /* Address of the buffer for the host, or NULL; valid until free. */
  void *(*host_ptr)(tsh_dev *dev, tsh_buf *buf);
  /* User kernels in a source language of the device. */
  tsh_status (*compile_source)(tsh_dev *dev, const char *language,
                               const char *source, const char *entry,
                               tsh_prog **out, tsh_err *err);
  tsh_status (*launch_grid)(tsh_dev *dev, tsh_prog *prog,
                            const uint32_t grid[3], const uint32_t block[3],
                            const tsh_view *arg, uint32_t narg,
                            uint64_t *ticket, tsh_err *err);
  /* kind: 1 pointer, 2 fd, 3 IPC handle, 4 DLPack */
  tsh_status (*import)(tsh_dev *dev, uint32_t kind, void *handle,
                       uint64_t bytes, tsh_buf **out, tsh_err *err);
  tsh_status (*export_)(tsh_dev *dev, tsh_buf *buf, uint32_t kind, void *out,
                        tsh_err *err);
  tsh_status (*copy_peer)(tsh_dev *dst_dev, tsh_buf *dst, uint64_t dst_at,
                          tsh_dev *src_dev, tsh_buf *src, uint64_t src_at,
                          uint64_t bytes, tsh_err *err);
  /* Device time of a finished ticket. */
  tsh_status (*elapsed)(tsh_dev *dev, uint64_t ticket, uint64_t *ns,
                        tsh_err *err);
  /* trim: give cached memory back first. */
  tsh_status (*memstat)(tsh_dev *dev, int trim, tsh_memstat *out, tsh_err *err);
  tsh_status (*reset)(tsh_dev *dev, tsh_err *err);
} tsh_plugin;

#define TSH_HAS(p, field)                                                      \
  ((p)->size >= offsetof(tsh_plugin, field) + sizeof((p)->field) &&            \
   (p)->field != NULL)

/* The one exported symbol. Always returns the plugin's table, whatever the
 * host's version: the host compares and refuses. The table is static. */
#if defined(_WIN32)
#define TSH_EXPORT __declspec(dllexport)
#else
#define TSH_EXPORT __attribute__((visibility("default")))
#endif
TSH_EXPORT const tsh_plugin *tsh_plugin_query(uint32_t host_major,
                                              uint32_t host_minor);

#ifdef __cplusplus
}
#endif
#endif
