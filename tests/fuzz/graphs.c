/* graphs.c - see graphs.h. Every choice comes from the seed and from shapes
 * and dtypes, never from values or the device, so that a replay on another
 * planner records the same graph. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graphs.h"
#include "parts.h"
#include "player.h"

#define MAX_ELEMENTS 4096

enum {
  VIEWS = 1,
  SET = 2,
  CAT = 4,
  PAD = 8,
  MATMUL = 16,
  FOLDS = 32,
  NAN_ = 64,
  IN_PLACE = 128
};

uint32_t play_draw(player *g, uint32_t n) {
  uint64_t z = g->state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (uint32_t)((z ^ (z >> 31)) >> 33) % n;
}

plan_node *play_pick(player *g) { return g->x[play_draw(g, (uint32_t)g->n)]; }

/* u64 beside a signed integer is f64, which some devices have not: sums of
 * unsigned integers go on as i64. */
static plan_node *without_u64(player *g, plan_node *x) {
  plan_node *y = NULL;
  if (!x || plan_dtype_of(x) != TSH_u64) return x;
  plan_cast(g->p, x, TSH_i64, &y, &g->err);
  plan_drop(g->p, x);
  return y;
}

/* Takes the new value into the set, over an old one when it is full. */
static void take(player *g, plan_node *x) {
  if (!(x = without_u64(g, x))) return;
  if (g->n < ALIVE) {
    g->x[g->n++] = x;
    return;
  }
  int i = (int)play_draw(g, ALIVE);
  plan_drop(g->p, g->x[i]);
  g->x[i] = x;
}

static const plan_shape *random_shape(player *g) {
  static const int64_t extents[] = {1, 2, 3, 4, 5, 7, 8, 16, 33};
  int64_t dim[4], count = 1;
  int rank = (int)play_draw(g, 4);
  for (int i = 0; i < rank; i++) {
    dim[i] = extents[play_draw(g, 9)];
    if (count * dim[i] > MAX_ELEMENTS) dim[i] = 1;
    count *= dim[i];
  }
  if (rank && play_draw(g, 40) == 0) dim[play_draw(g, (uint32_t)rank)] = 0;
  return plan_shape_get(g->p, rank, dim, NULL);
}

/* ---- leaves ------------------------------------------------------------- */
static float random_float(player *g) {
  static const float odd[] = {0.0f,   -0.0f, INFINITY, -INFINITY, NAN,
                              1e-40f, 3e38f, -1.0f,    0.5f,      2.0f};
  if (play_draw(g, 24) == 0) {
    uint32_t i = play_draw(g, 10);
    if (i == 4) g->used |= NAN_;
    return odd[i];
  }
  return ((float)play_draw(g, 2001) - 1000.0f) / 128.0f;
}

static void fill_element(player *g, void *at, int dtype) {
  static const int64_t edge[] = {0, -1, INT64_MAX, INT64_MIN, 63, 31};
  int64_t v =
      play_draw(g, 16) ? (int64_t)play_draw(g, 41) - 20 : edge[play_draw(g, 6)];
  if (dtype == TSH_f32) {
    *(float *)at = random_float(g);
    return;
  }
  if (dtype == TSH_bool) {
    *(uint8_t *)at = (uint8_t)play_draw(g, 2);
    return;
  }
  if (plan_is_half(dtype)) {
    *(uint16_t *)at = plan_half_of(dtype, (double)random_float(g));
    return;
  }
  switch (plan_dtype_bytes(dtype)) {
  case 1:
    *(int8_t *)at = (int8_t)v;
    break;
  case 2:
    *(int16_t *)at = (int16_t)v;
    break;
  case 4:
    *(int32_t *)at = (int32_t)v;
    break;
  default:
    *(int64_t *)at = v;
  }
}

/* Of leaves, draws and casts; f32 and what bool and positions need most often.
 * No f64: some devices have none. */
static const int dtypes[] = {
    TSH_f32, TSH_f32,  TSH_f32,  TSH_f32, TSH_f32,  TSH_i32, TSH_i64,
    TSH_i64, TSH_bool, TSH_bool, TSH_f16, TSH_bf16, TSH_f16, TSH_bf16,
    TSH_i8,  TSH_u8,   TSH_i16,  TSH_u8,  TSH_u16,  TSH_u32, TSH_u64};
enum { NDTYPE = sizeof dtypes / sizeof *dtypes };

int play_dtype(player *g) { return dtypes[play_draw(g, NDTYPE)]; }

static plan_node *leaf(player *g) {
  int dtype = play_dtype(g);
  const plan_shape *s = random_shape(g);
  uint32_t each = plan_dtype_bytes(dtype);
  char *host = malloc((size_t)s->count * each + 1);
  plan_node *x = NULL;
  for (int64_t i = 0; i < s->count; i++)
    fill_element(g, host + (size_t)i * each, dtype);
  plan_data(g->p, g->d, dtype, s, host, &x, &g->err);
  free(host);
  return x;
}

static plan_node *creation(player *g) {
  static const int floats[] = {TSH_f32, TSH_f32, TSH_f16, TSH_bf16};
  int dtype = floats[play_draw(g, 4)];
  plan_operand v = {.kind = PLAN_REAL};
  plan_node *x = NULL;
  switch (play_draw(g, 4)) {
  case 0:
    v.num.f = random_float(g);
    plan_full(g->p, g->d, dtype, random_shape(g), &v, &x, &g->err);
    break;
  case 1:
    plan_iota(g->p, g->d, TSH_i64, random_shape(g), &x, &g->err);
    break;
  case 2:
    plan_rand(g->p, g->d, dtype, random_shape(g), &g->rng, &x, &g->err);
    break;
  default:
    plan_randn(g->p, g->d, dtype, random_shape(g), &g->rng, &x, &g->err);
  }
  return x;
}

/* ---- ops ---------------------------------------------------------------- */
static plan_operand tensor(plan_node *x) {
  plan_operand o = {.node = x, .kind = PLAN_TENSOR};
  return o;
}

static plan_operand number(player *g, plan_node *beside) {
  plan_operand o = {.kind = PLAN_INT};
  int is_float = plan_dtype_kind(plan_dtype_of(beside)) == TSH_KIND_FLOAT;
  if (is_float && play_draw(g, 2)) {
    o.kind = PLAN_REAL;
    o.num.f = random_float(g);
  } else {
    o.num.i = (int64_t)play_draw(g, 9) - 4;
  }
  return o;
}

/* y with a shape that broadcasts against x: y itself, or x's own mate. */
static plan_node *mate(player *g, plan_node *x) {
  for (int i = 0; i < 4; i++) {
    plan_node *y = play_pick(g);
    const plan_shape *a = plan_shape_of(x), *b = plan_shape_of(y);
    uint32_t ok = 1;
    int64_t count = 1;
    for (uint32_t k = 1; k <= a->rank || k <= b->rank; k++) {
      int64_t da = k <= a->rank ? a->dim[a->rank - k] : 1;
      int64_t db = k <= b->rank ? b->dim[b->rank - k] : 1;
      ok &= da == db || da == 1 || db == 1;
      count *= da > db ? da : db;
    }
    if (ok && count <= 4 * MAX_ELEMENTS) return y;
  }
  return x;
}

static plan_node *map1(player *g) {
  static const int ops[] = {
      TSH_OP_neg,         TSH_OP_abs,   TSH_OP_sign,    TSH_OP_floor,
      TSH_OP_round,       TSH_OP_sqrt,  TSH_OP_square,  TSH_OP_relu,
      TSH_OP_exp,         TSH_OP_log,   TSH_OP_sin,     TSH_OP_tanh,
      TSH_OP_erf,         TSH_OP_isnan, TSH_OP_sigmoid, TSH_OP_cos,
      TSH_OP_log1p,       TSH_OP_expm1, TSH_OP_bitnot,  TSH_OP_reciprocal,
      TSH_OP_logical_not, TSH_OP_trunc, TSH_OP_isfinite};
  plan_operand in = tensor(play_pick(g));
  plan_node *x = NULL;
  plan_map(g->p, ops[play_draw(g, sizeof ops / sizeof *ops)], &in, 1, &x,
           &g->err);
  return x;
}

static plan_node *map2(player *g) {
  static const int ops[] = {
      TSH_OP_add,      TSH_OP_sub,      TSH_OP_mul,     TSH_OP_div,
      TSH_OP_floordiv, TSH_OP_mod,      TSH_OP_maximum, TSH_OP_minimum,
      TSH_OP_eq,       TSH_OP_ne,       TSH_OP_lt,      TSH_OP_le,
      TSH_OP_gt,       TSH_OP_ge,       TSH_OP_bitand,  TSH_OP_bitor,
      TSH_OP_bitxor,   TSH_OP_shl,      TSH_OP_shr,     TSH_OP_logical_and,
      TSH_OP_pow,      TSH_OP_copysign, TSH_OP_add,     TSH_OP_mul,
      TSH_OP_sub,      TSH_OP_fmod};
  int op = ops[play_draw(g, sizeof ops / sizeof *ops)];
  plan_node *a = play_pick(g), *x = NULL;
  plan_operand in[2] = {tensor(a), tensor(NULL)};
  in[1] = play_draw(g, 3) ? tensor(mate(g, a)) : number(g, a);
  if (play_draw(g, 8) == 0) {
    plan_operand t = in[0];
    in[0] = in[1];
    in[1] = t;
  }
  plan_map(g->p, op, in, 2, &x, &g->err);
  return x;
}

static plan_node *map3(player *g) {
  plan_node *a = play_pick(g), *b = mate(g, a), *c = NULL, *x = NULL;
  plan_operand cmp[2] = {tensor(a), tensor(b)}, in[3];
  if (plan_map(g->p, TSH_OP_lt, cmp, 2, &c, &g->err) != TSH_OK) return NULL;
  in[0] = tensor(c);
  in[1] = tensor(a);
  in[2] = play_draw(g, 2) ? tensor(b) : number(g, a);
  plan_map(g->p, TSH_OP_where, in, 3, &x, &g->err);
  plan_drop(g->p, c);
  return x;
}

static plan_node *cast(player *g) {
  plan_node *x = NULL;
  plan_cast(g->p, play_pick(g), play_dtype(g), &x, &g->err);
  return x;
}

static plan_node *fold(player *g) {
  static const int ops[] = {TSH_OP_sum, TSH_OP_max, TSH_OP_min, TSH_OP_prod,
                            TSH_OP_any, TSH_OP_all, TSH_OP_sum, TSH_OP_max};
  plan_node *a = play_pick(g), *x = NULL;
  uint32_t rank = plan_shape_of(a)->rank, keep = play_draw(g, 2);
  uint32_t axes = play_draw(g, 4) ? 1u << play_draw(g, rank ? rank : 1) : 0xff;
  g->used |= FOLDS;
  switch (play_draw(g, 12)) {
  case 0:
    plan_mean(g->p, a, axes, (int)keep, &x, &g->err);
    break;
  case 1:
    plan_var(g->p, a, axes, (int)keep, 1, &x, &g->err);
    break;
  case 2:
  case 3:
    if (rank) plan_softmax(g->p, a, (int)play_draw(g, rank), &x, &g->err);
    break;
  case 4:
    if (rank) plan_log_softmax(g->p, a, (int)play_draw(g, rank), &x, &g->err);
    break;
  case 5:
    plan_argfold(g->p, play_draw(g, 2) ? TSH_OP_argmax : TSH_OP_argmin, a,
                 rank && play_draw(g, 3) ? (int)play_draw(g, rank) : -1,
                 (int)keep, &x, &g->err);
    break;
  default:
    plan_fold(g->p, ops[play_draw(g, 8)], a, axes, (int)keep, &x, &g->err);
  }
  return x;
}

static plan_node *normalise(player *g) { /* x - mean over sqrt(var) */
  plan_node *a = play_pick(g), *m = NULL, *v = NULL, *d = NULL, *x = NULL;
  uint32_t rank = plan_shape_of(a)->rank;
  plan_operand in[2];
  if (!rank) return NULL;
  g->used |= FOLDS;
  plan_mean(g->p, a, 1u << (rank - 1), 1, &m, &g->err);
  plan_var(g->p, a, 1u << (rank - 1), 1, 0, &v, &g->err);
  in[0] = tensor(a);
  in[1] = tensor(m);
  if (m && v && plan_map(g->p, TSH_OP_sub, in, 2, &d, &g->err) == TSH_OK) {
    in[0] = tensor(d);
    in[1] = tensor(v);
    plan_map(g->p, TSH_OP_mul, in, 2, &x, &g->err);
  }
  plan_drop(g->p, m);
  plan_drop(g->p, v);
  plan_drop(g->p, d);
  return x;
}

/* ---- moves -------------------------------------------------------------- */
static void random_ranges(player *g, const plan_shape *s, plan_range *r) {
  for (uint32_t i = 0; i < s->rank; i++) {
    int64_t n = s->dim[i];
    r[i].start = n ? (int64_t)play_draw(g, (uint32_t)n) : 0;
    r[i].step = n && play_draw(g, 4) == 0 ? (play_draw(g, 2) ? 2 : -1) : 1;
    int64_t room =
        r[i].step > 0 ? (n - 1 - r[i].start) / r[i].step + 1 : r[i].start + 1;
    if (n && play_draw(g, 3) == 0) {
      r[i].start = 0;
      r[i].step = 1;
      room = n;
    }
    r[i].count = n ? 1 + (int64_t)play_draw(g, (uint32_t)room) : 0;
    if (n && play_draw(g, 2)) r[i].count = room;
  }
}

static plan_node *reshape(player *g, plan_node *a) {
  const plan_shape *s = plan_shape_of(a), *t;
  int64_t dim[4], left = s->count;
  plan_node *x = NULL;
  int rank = 0;
  if (!left) return NULL;
  while (rank < 3 && left > 1) {
    int64_t f = 1;
    for (int64_t k = 2; k <= left && k < 40; k++)
      if (left % k == 0 && play_draw(g, 2)) {
        f = k;
        break;
      }
    dim[rank++] = f;
    left /= f;
  }
  dim[rank++] = left;
  if ((t = plan_shape_get(g->p, rank, dim, &g->err)))
    plan_reshape(g->p, a, t, &x, &g->err);
  return x;
}

static plan_node *permute(player *g, plan_node *a) {
  uint32_t rank = plan_shape_of(a)->rank;
  uint8_t order[PLAN_RANK];
  plan_node *x = NULL;
  for (uint32_t i = 0; i < rank; i++) order[i] = (uint8_t)i;
  for (uint32_t i = rank; i > 1; i--) {
    uint32_t j = play_draw(g, i);
    uint8_t t = order[i - 1];
    order[i - 1] = order[j];
    order[j] = t;
  }
  plan_permute(g->p, a, order, &x, &g->err);
  return x;
}

static plan_node *expand(player *g, plan_node *a) {
  const plan_shape *s = plan_shape_of(a), *t;
  int64_t dim[PLAN_RANK], count = 1;
  plan_node *x = NULL;
  int lead = s->rank < 3 && play_draw(g, 2);
  if (lead) dim[0] = 1 + (int64_t)play_draw(g, 3);
  for (uint32_t i = 0; i < s->rank; i++)
    dim[i + (uint32_t)lead] =
        s->dim[i] == 1 ? 1 + (int64_t)play_draw(g, 5) : s->dim[i];
  for (uint32_t i = 0; i < s->rank + (uint32_t)lead; i++) count *= dim[i];
  if (count > 4 * MAX_ELEMENTS) return NULL;
  t = plan_shape_get(g->p, (int)s->rank + lead, dim, &g->err);
  plan_expand(g->p, a, t, &x, &g->err);
  return x;
}

/* Windows along an axis; some do not fit, which gives NULL. */
static plan_node *windows(player *g, plan_node *a, int axis) {
  const plan_shape *s = plan_shape_of(a);
  plan_window w = {.size = 1 + play_draw(g, 4)};
  plan_node *x = NULL;
  w.stride = 1 + play_draw(g, 3);
  w.dilation = 1 + play_draw(g, 2);
  if (axis < 0 || s->rank > 5 || s->count > MAX_ELEMENTS) return NULL;
  plan_windows(g->p, a, axis, &w, &x, &g->err);
  return x;
}

static plan_node *custom(player *g, plan_node *a) {
  plan_node *in[3] = {a, play_pick(g), play_pick(g)}, *x = NULL;
  plan_custom(g->p, in, 1 + (int)play_draw(g, 3), &x, &g->err);
  return x;
}

static plan_node *view(player *g) {
  plan_node *a = play_pick(g), *x = NULL;
  plan_range r[PLAN_RANK];
  g->used |= VIEWS;
  switch (play_draw(g, 7)) {
  case 0:
    return reshape(g, a);
  case 1:
    return permute(g, a);
  case 5:
    return windows(
        g, a, (int)play_draw(g, 3) % ((int)plan_shape_of(a)->rank + 1) - 1);
  case 6:
    return custom(g, a);
  case 2:
    return expand(g, a);
  case 3:
    plan_detach(g->p, a, &x, &g->err);
    return x;
  default:
    random_ranges(g, plan_shape_of(a), r);
    plan_slice(g->p, a, r, &x, &g->err);
    return x;
  }
}

static plan_node *pad(player *g) {
  plan_node *a = play_pick(g), *x = NULL;
  int64_t before[PLAN_RANK], after[PLAN_RANK];
  plan_operand v = number(g, a);
  if (plan_dtype_of(a) == TSH_bool) v.kind = PLAN_BOOL, v.num.i = 1;
  if (plan_shape_of(a)->count > MAX_ELEMENTS / 4) return NULL;
  for (uint32_t i = 0; i < plan_shape_of(a)->rank; i++) {
    before[i] = play_draw(g, 3);
    after[i] = play_draw(g, 3);
  }
  g->used |= PAD;
  plan_pad(g->p, a, before, after, &v, &x, &g->err);
  return x;
}

static plan_node *cat(player *g) {
  plan_node *a = play_pick(g), *part[3], *x = NULL;
  uint32_t rank = plan_shape_of(a)->rank;
  int n = 2 + (int)play_draw(g, 2);
  if (!rank || plan_shape_of(a)->count > MAX_ELEMENTS / 2) return NULL;
  g->used |= CAT;
  for (int i = 0; i < n; i++) {
    plan_node *b = play_pick(g);
    part[i] = plan_shape_of(b) == plan_shape_of(a) ? b : a;
  }
  plan_cat(g->p, part, n, (int)play_draw(g, rank), &x, &g->err);
  return x;
}

static plan_node *set(player *g) {
  plan_node *a = play_pick(g), *v = NULL, *x = NULL;
  plan_range r[PLAN_RANK];
  plan_operand part;
  random_ranges(g, plan_shape_of(a), r);
  g->used |= SET;
  if (play_draw(g, 2)) { /* a moved part of itself */
    plan_range from[PLAN_RANK];
    for (uint32_t i = 0; i < plan_shape_of(a)->rank; i++) {
      from[i] = r[i];
      if (r[i].step == 1 && r[i].start > 0) from[i].start--;
    }
    plan_slice(g->p, a, from, &v, &g->err);
  }
  part = v ? tensor(v) : number(g, a);
  if (!v && plan_dtype_of(a) == TSH_bool) part.kind = PLAN_BOOL, part.num.i = 1;
  plan_set(g->p, a, r, &part, &x, &g->err);
  plan_drop(g->p, v);
  return x;
}

/* ---- products ----------------------------------------------------------- */
static plan_node *matmul(player *g) {
  plan_node *a = play_pick(g), *b = NULL, *c = NULL, *x = NULL;
  uint32_t rank = plan_shape_of(a)->rank;
  uint8_t order[PLAN_RANK];
  if (rank < 2 || plan_dtype_of(a) == TSH_bool ||
      plan_shape_of(a)->count > MAX_ELEMENTS)
    return NULL;
  for (uint32_t i = 0; i < rank; i++) order[i] = (uint8_t)i;
  order[rank - 2] = (uint8_t)(rank - 1);
  order[rank - 1] = (uint8_t)(rank - 2);
  g->used |= MATMUL;
  plan_permute(g->p, a, order, &b, &g->err);
  if (play_draw(g, 2))
    plan_matmul(g->p, a, b, &x, &g->err);
  else
    plan_matmul(g->p, b, a, &x, &g->err);
  if (x && play_draw(g, 2)) { /* an epilogue */
    plan_operand in = tensor(x);
    plan_map(g->p, TSH_OP_relu, &in, 1, &c, &g->err);
    plan_drop(g->p, x);
    x = c;
  }
  plan_drop(g->p, b);
  return x;
}

/* Three rows of weights by windows of the last axis: what a convolution is. */
static plan_node *convolve(player *g) {
  plan_node *a = play_pick(g), *w, *x = NULL;
  float weights[12];
  w = windows(g, a, (int)plan_shape_of(a)->rank - 1);
  if (!w) return NULL;
  for (int i = 0; i < 12; i++) weights[i] = random_float(g);
  g->used |= MATMUL;
  x = parts_convolve(g->p, g->d, w, weights, &g->err);
  plan_drop(g->p, w);
  return x;
}

static plan_node *quilt(player *g) {
  plan_node *a = play_pick(g);
  uint32_t rank = plan_shape_of(a)->rank;
  if (!rank || rank > 4 || plan_shape_of(a)->count > MAX_ELEMENTS / 4)
    return NULL;
  g->used |= CAT;
  return parts_quilt(g->p, a, (int)play_draw(g, rank), &g->err);
}

/* w = w - 0.25 * g: the old w is dropped, so its buffer may be taken. */
static plan_node *step(player *g) {
  int i = (int)play_draw(g, (uint32_t)g->n);
  plan_node *w = g->x[i], *t = NULL, *x = NULL;
  plan_operand in[2] = {tensor(mate(g, w)), {.kind = PLAN_REAL, .num.f = 0.25}};
  if (plan_map(g->p, TSH_OP_mul, in, 2, &t, &g->err) != TSH_OK) return NULL;
  in[0] = tensor(w);
  in[1] = tensor(t);
  plan_map(g->p, TSH_OP_sub, in, 2, &x, &g->err);
  plan_drop(g->p, t);
  if (!x) return NULL;
  g->used |= IN_PLACE;
  plan_drop(g->p, w);
  g->x[i] = x;
  return NULL;
}

static plan_node *record(player *g) {
  switch (play_draw(g, 28)) {
  case 0:
    return leaf(g);
  case 1:
    return creation(g);
  case 2:
  case 3:
  case 4:
    return map1(g);
  case 5:
  case 6:
  case 7:
  case 8:
  case 9:
    return map2(g);
  case 10:
    return map3(g);
  case 11:
    return cast(g);
  case 12:
  case 13:
  case 14:
    return fold(g);
  case 15:
    return normalise(g);
  case 16:
  case 17:
    return view(g);
  case 18:
    return pad(g);
  case 19:
    return cat(g);
  case 20:
    return set(g);
  case 21:
    return matmul(g);
  case 22:
    return play_positions(g);
  case 23:
    return convolve(g);
  case 24:
    return quilt(g);
  case 25:
  case 26:
    return play_order(g);
  default:
    return step(g);
  }
}

/* ---- playing ------------------------------------------------------------ */
static int demand(player *g, int exact) {
  plan_node *x = play_pick(g);
  tsh_err err = {.size = sizeof err};
  tsh_status rc = plan_demand(g->p, &x, 1, exact ? PLAN_EXACT : 0, &err);
  if (rc == TSH_OK || rc == TSH_EINDEX) return 1;
  g->err = err;
  return 0;
}

static int read_result(player *g, plan_node *x, graph_result *r) {
  tsh_err err = {.size = sizeof err};
  tsh_status rc;
  r->dtype = plan_dtype_of(x);
  r->count = (size_t)plan_shape_of(x)->count;
  r->data = calloc(r->count + 1, plan_dtype_bytes(r->dtype));
  plan_describe(x, r->what, sizeof r->what);
  rc = plan_read(g->p, x, r->data, PLAN_EXACT, &err);
  r->failed = rc == TSH_EINDEX;
  if (rc == TSH_OK || r->failed) return 1;
  g->err = err;
  return 0;
}

static void count(const player *g, graph_stats *s) {
  s->views += (g->used & VIEWS) != 0;
  s->set += (g->used & SET) != 0;
  s->cat += (g->used & CAT) != 0;
  s->pad += (g->used & PAD) != 0;
  s->matmul += (g->used & MATMUL) != 0;
  s->folds += (g->used & FOLDS) != 0;
  s->nan += (g->used & NAN_) != 0;
  s->in_place += (g->used & IN_PLACE) != 0;
}

/* FUZZ_TRACE=1 lists what is recorded and read, to find a failing op. */
static void show(const char *what, plan_node *x) {
  char text[240];
  plan_record r;
  if (!getenv("FUZZ_TRACE") || !x) return;
  plan_record_of(x, &r);
  fprintf(stderr, "%s op %d %s n %d", what, r.op,
          plan_describe(x, text, sizeof text), r.n);
  for (int i = 0; i < r.n && i < 3; i++)
    fprintf(stderr, " %s",
            r.in[i].kind == PLAN_TENSOR
                ? plan_describe(r.in[i].node, text, sizeof text)
                : "number");
  fprintf(stderr, "\n");
}

int graph_play(unsigned long seed, int ops, plan *p, dev *d, graph_run *run,
               graph_stats *stats) {
  player g = {.state = seed * 77 + 5, .p = p, .d = d, .rng.key = seed};
  int ok = 1;
  g.err.size = sizeof g.err;
  for (int i = 0; i < 3; i++) take(&g, leaf(&g));
  for (int i = 0; i < ops && ok; i++) {
    plan_node *x = record(&g);
    show("record", x);
    take(&g, x);
    if (play_draw(&g, 16) == 0) ok = demand(&g, play_draw(&g, 4) != 0);
  }
  for (int i = 0; i < g.n && ok; i++) {
    if (play_draw(&g, 3) == 0) continue; /* dead at the end */
    show("read", g.x[i]);
    ok = read_result(&g, g.x[i], &run->result[run->n]);
    run->n++;
  }
  if (!ok) snprintf(run->error, sizeof run->error, "%s", g.err.text);
  for (int i = 0; i < g.n; i++) plan_drop(p, g.x[i]);
  if (stats) count(&g, stats);
  return ok;
}

void graph_run_free(graph_run *run) {
  for (int i = 0; i < run->n; i++) free(run->result[i].data);
  run->n = 0;
}
