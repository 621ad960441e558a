/* create.c - tensors from nothing: zeros ones full arange eye rand randn and
 * their _like forms; seed. */
#include <math.h>
#include <sys/random.h>
#include <time.h>
#include "priv.h"

#define NEW_OPTIONS  "dtype device"
#define LIKE_OPTIONS "dtype device"

typedef struct {
  const plan_shape *shape;
  int dtype;
  dev *device;
} spec;

/* Takes trailing options, a table with names or a dtype word, off the
 * arguments; last is the last one that is left. */
static int trailing(lua_State *L, int first, spec *s) {
  int last = lua_gettop(L);
  s->device = lt_of(L)->device;
  while (last > first && lua_isnil(L, last)) last--;
  if (last >= first && lua_type(L, last) == LUA_TSTRING) {
    s->dtype = lt_arg_dtype(L, last);
    return last - 1;
  }
  if (last >= first && lt_is_options(L, last)) {
    lt_arg_options(L, last, NEW_OPTIONS);
    s->dtype = lt_option_dtype(L, last, s->dtype);
    s->device = lt_option_device(L, last, s->device);
    return last - 1;
  }
  return last;
}

/* zeros(2,3), zeros{2,3}, zeros(2,3,{dtype=}), zeros(), all from `first` on. */
static void parse(lua_State *L, int first, spec *s) {
  int64_t dim[PLAN_RANK];
  int last = trailing(L, first, s);
  s->shape = lt_shape_of(L, lt_arg_sizes(L, first, last, 0, dim), dim);
}

static int fill(lua_State *L, const spec *s, const plan_operand *value) {
  lt *l = lt_begin(L);
  plan_node **out = lt_tensor_new(L);
  tsh_err err;
  err.size = sizeof err;
  lt_check(L,
           plan_full(l->plan, s->device, s->dtype, s->shape, value, out, &err),
           &err);
  return lt_done(L, 1);
}

/* A number of u64 from 2^63 on, which no operand of an op can be. */
static int fill_large(lua_State *L, const spec *s, uint64_t value) {
  lt *l = lt_begin(L);
  plan_node **out = lt_tensor_new(L), **one;
  tsh_err err;
  err.size = sizeof err;
  one = lt_tensor_new(L);
  lt_check(L,
           plan_data(l->plan, s->device, TSH_u64, lt_shape_of(L, 0, NULL),
                     &value, one, &err),
           &err);
  lt_check(L, plan_expand(l->plan, *one, s->shape, out, &err), &err);
  lua_pop(L, 1);
  return lt_done(L, 1);
}

static int fill_value(lua_State *L, const spec *s, const plan_operand *value,
                      int was_real) {
  if (s->dtype == TSH_u64 && was_real && value->num.u >> 63)
    return fill_large(L, s, value->num.u);
  return fill(L, s, value);
}

/* 0 and 1 as the dtype has them. */
static int fill_digit(lua_State *L, const spec *s, int digit) {
  plan_operand v = {.kind = PLAN_INT, .num.i = digit};
  if (s->dtype == TSH_bool) v.kind = PLAN_BOOL;
  return fill(L, s, &v);
}

static int digits(lua_State *L, int digit) {
  spec s = {.dtype = TSH_f32};
  parse(L, 1, &s);
  return fill_digit(L, &s, digit);
}

static int create_zeros(lua_State *L) { return digits(L, 0); }
static int create_ones(lua_State *L) { return digits(L, 1); }

/* The value keeps its meaning: a float asked for as an integer must be whole.
 * Was it a float? */
static int arg_value(lua_State *L, int i, int dtype, plan_operand *v) {
  int is_real;
  lt_arg_operand(L, i, v);
  is_real = v->kind == PLAN_REAL;
  if (v->kind == PLAN_TENSOR)
    lt_fail(L, "expand(x, shape) repeats a tensor",
            "the value must be a number, got a tensor");
  if (dtype) lt_number_fit(L, v, dtype);
  return is_real;
}

static int create_full(lua_State *L) {
  spec s = {0};
  plan_operand v;
  int64_t dim[PLAN_RANK];
  int last = trailing(L, 3, &s), is_real;
  if (lua_gettop(L) < 2)
    return lt_fail(L, "full({2,3}, 1.5)", "a shape and a value are needed");
  if (last > 2)
    return lt_fail(L, "full({2,3}, 1.5)",
                   "the shape of more than one axis is "
                   "a table");
  s.shape = lt_shape_of(L, lt_arg_sizes(L, 1, 1, 0, dim), dim);
  is_real = arg_value(L, 2, s.dtype, &v);
  return fill_value(L, &s, &v, is_real);
}

/* ---- _like -------------------------------------------------------------- */
static void like(lua_State *L, int options, spec *s) {
  plan_node *x = lt_tensor_get(L, 1);
  lt_most_args(L, options);
  s->shape = plan_shape_of(x);
  s->dtype = plan_dtype_of(x);
  s->device = plan_dev_of(x);
  if (lua_type(L, options) == LUA_TSTRING) {
    s->dtype = lt_arg_dtype(L, options);
  } else if (lt_arg_options(L, options, LIKE_OPTIONS)) {
    s->dtype = lt_option_dtype(L, options, s->dtype);
    s->device = lt_option_device(L, options, s->device);
  }
}

static int create_zeros_like(lua_State *L) {
  spec s;
  like(L, 2, &s);
  return fill_digit(L, &s, 0);
}

static int create_ones_like(lua_State *L) {
  spec s;
  like(L, 2, &s);
  return fill_digit(L, &s, 1);
}

static int create_full_like(lua_State *L) {
  spec s;
  plan_operand v;
  int is_real;
  like(L, 3, &s);
  is_real = arg_value(L, 2, s.dtype, &v);
  return fill_value(L, &s, &v, is_real);
}

/* ---- arange ------------------------------------------------------------- */
static double as_real(const plan_operand *v) {
  return v->kind == PLAN_INT ? (double)v->num.i : v->num.f;
}

/* A whole end of a range of integers is one of them: 1e18 is exact. */
static void make_whole(plan_operand *v) {
  if (v->kind != PLAN_REAL || v->num.f != rint(v->num.f)) return;
  if (fabs(v->num.f) >= 0x1p63) return;
  v->num.i = (int64_t)v->num.f;
  v->kind = PLAN_INT;
}

static int64_t whole_steps(int64_t a, int64_t b, int64_t step) {
  uint64_t span;
  if (step > 0 ? b < a : b > a) return 0;
  span = step > 0 ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b;
  span /= step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
  return span >= INT64_MAX ? INT64_MAX : (int64_t)span + 1;
}

/* 0.1 * 3 is above 0.3: a hair of the span still counts as the end, but less
 * than a step. */
static int64_t real_steps(lua_State *L, double a, double b, double step) {
  double n = (b - a) / step;
  n = floor(n + fmin(fabs(n) * 4e-16 + 1e-12, 1e-3));
  if (n != n || fabs(n) > 0x1p62)
    lt_fail(L, NULL, "from %f to %f by %f is no number of steps", lt_shown(a),
            lt_shown(b), lt_shown(step));
  return n < 0 ? 0 : (int64_t)n + 1;
}

/* Elements of first, first+step ... last, the end included, as Lua's for. */
static int64_t steps_between(lua_State *L, const plan_operand *a,
                             plan_operand *b, const plan_operand *step) {
  if (as_real(step) == 0) lt_fail(L, NULL, "the step is 0");
  if (a->kind == PLAN_INT && step->kind == PLAN_INT) make_whole(b);
  if (a->kind == PLAN_INT && step->kind == PLAN_INT && b->kind == PLAN_INT)
    return whole_steps(a->num.i, b->num.i, step->num.i);
  return real_steps(L, as_real(a), as_real(b), as_real(step));
}

/* The first and the last of n > 0 integers must be numbers of the dtype. */
static void ends_fit(lua_State *L, plan_operand a, int64_t step, int64_t n,
                     int dtype) {
  int kind = plan_dtype_kind(dtype);
  if (kind != TSH_KIND_INT && kind != TSH_KIND_UINT) return;
  lt_number_fit(L, &a, dtype);
  a.num.u += (uint64_t)(n - 1) * (uint64_t)step;
  lt_number_fit(L, &a, dtype);
}

static void arg_number(lua_State *L, int i, plan_operand *v) {
  if (lua_type(L, i) != LUA_TNUMBER)
    lt_fail(L, NULL, "argument %d must be a number, got %s", i,
            lt_type_name(L, i));
  lt_arg_operand(L, i, v);
}

static int create_arange(lua_State *L) {
  plan_operand a = {.kind = PLAN_INT, .num.i = 1}, b, step = a;
  spec s = {0};
  int last = trailing(L, 1, &s);
  int64_t n;
  plan_node **out;
  tsh_err err;
  lt *l;
  if (last < 1 || last > 3)
    return lt_fail(L,
                   "arange(n), arange(first, last), arange(first, last, "
                   "step)",
                   "takes one to three numbers");
  arg_number(L, last == 1 ? 1 : 2, &b);
  if (last > 1) arg_number(L, 1, &a);
  if (last > 2) arg_number(L, 3, &step);
  n = steps_between(L, &a, &b, &step);
  lt_shape_of(L, 1, &n);
  if (n > 0 && s.dtype && a.kind == PLAN_INT && step.kind == PLAN_INT)
    ends_fit(L, a, step.num.i, n, s.dtype);
  if (n <= 1 && step.kind == PLAN_INT) step.num.i = 1; /* it is not taken */
  l = lt_begin(L);
  out = lt_tensor_new(L);
  err.size = sizeof err;
  lt_check(L, plan_arange(l->plan, s.device, s.dtype, &a, &step, n, out, &err),
           &err);
  return lt_done(L, 1);
}

/* linspace(first, last, n): computed as first + i * step in double. */
static int create_linspace(lua_State *L) {
  spec s = {0};
  plan_operand a, b, step = {.kind = PLAN_REAL};
  int last = trailing(L, 1, &s);
  int64_t n;
  plan_node **out;
  tsh_err err;
  lt *l;
  if (last != 3)
    return lt_fail(L, NULL, "takes first, last and the number of elements");
  arg_number(L, 1, &a);
  arg_number(L, 2, &b);
  n = lt_arg_whole(L, 3, "the number of elements");
  if (n < 0) return lt_fail(L, NULL, "a size cannot be %I", n);
  if (s.dtype && plan_dtype_kind(s.dtype) != TSH_KIND_FLOAT)
    return lt_fail(L, NULL, "its numbers are floats, not %s",
                   plan_dtype_name(s.dtype));
  a.num.f = lua_tonumber(L, 1);
  a.kind = PLAN_REAL;
  if (n > 1) step.num.f = (lua_tonumber(L, 2) - a.num.f) / (double)(n - 1);
  l = lt_begin(L);
  out = lt_tensor_new(L);
  err.size = sizeof err;
  lt_check(L, plan_arange(l->plan, s.device, s.dtype, &a, &step, n, out, &err),
           &err);
  return lt_done(L, 1);
}

/* ---- eye: one where the row is the column ------------------------------- */
static int create_eye(lua_State *L) {
  spec s = {.dtype = TSH_f32};
  int last = trailing(L, 1, &s);
  int64_t n, m, row[2] = {0, 1}, column[2] = {1, 0};
  plan_operand in[2] = {{.kind = PLAN_TENSOR}, {.kind = PLAN_TENSOR}};
  plan_node **out, **at;
  tsh_err err;
  lt *l;
  if (last < 1 || last > 2) return lt_fail(L, NULL, "takes one or two sizes");
  n = m = lt_arg_whole(L, 1, "a size");
  if (last == 2) m = lt_arg_whole(L, 2, "a size");
  if (n < 0 || m < 0) return lt_fail(L, NULL, "a size cannot be below 0");
  row[0] = n;
  column[1] = m;
  l = lt_begin(L);
  err.size = sizeof err;
  at = lt_tensor_new(L);
  lt_check(
      L,
      plan_iota(l->plan, s.device, TSH_i64, lt_shape_of(L, 2, row), at, &err),
      &err);
  in[0].node = *at;
  at = lt_tensor_new(L);
  lt_check(L,
           plan_iota(l->plan, s.device, TSH_i64, lt_shape_of(L, 2, column), at,
                     &err),
           &err);
  in[1].node = *at;
  out = lt_tensor_new(L);
  lt_check(L, plan_map(l->plan, TSH_OP_eq, in, 2, out, &err), &err);
  lt_push_cast(L, *out, s.dtype);
  return lt_done(L, 1);
}

/* ---- random numbers ----------------------------------------------------- */
int lt_push_draw(lua_State *L, lt_drawer draw, dev *d, int dtype,
                 const plan_shape *shape, plan_rng *rng) {
  lt *l = lt_begin(L);
  plan_node **out = lt_tensor_new(L);
  tsh_err err;
  err.size = sizeof err;
  lt_check(L, draw(l->plan, d, dtype, shape, rng, out, &err), &err);
  return lt_done(L, 1);
}

static int draw(lua_State *L, lt_drawer how) {
  spec s = {.dtype = TSH_f32};
  parse(L, 1, &s);
  return lt_push_draw(L, how, s.device, s.dtype, s.shape, &lt_of(L)->rng);
}

static int create_rand(lua_State *L) { return draw(L, plan_rand); }
static int create_randn(lua_State *L) { return draw(L, plan_randn); }

void lt_seed_by_clock(lt *l) {
  uint64_t key;
  if (getrandom(&key, sizeof key, GRND_NONBLOCK) != (ssize_t)sizeof key) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    key = (uint64_t)now.tv_sec * UINT64_C(1000000007) + (uint64_t)now.tv_nsec;
  }
  l->rng.key = key;
  l->rng.base = 0;
}

static int create_seed(lua_State *L) {
  lt *l = lt_of(L);
  lt_most_args(L, 1);
  if (lua_isnoneornil(L, 1)) {
    lt_seed_by_clock(l);
  } else {
    l->rng.key = (uint64_t)lt_arg_whole(L, 1, "a seed");
    l->rng.base = 0;
  }
  return 0;
}

#define SIZES "Sizes are numbers or one table; {dtype=, device=} comes last. "
const lt_function lt_create_functions[] = {
    {"zeros", "sizes", NEW_OPTIONS, SIZES "Zeros, f32 unless dtype= says else.",
     create_zeros, NULL, NULL, LT_GLOBAL},
    {"ones", "sizes", NEW_OPTIONS, SIZES "Ones, f32 unless dtype= says else.",
     create_ones, NULL, NULL, LT_GLOBAL},
    {"full", "shape, value", NEW_OPTIONS,
     "Every element one value. shape is a table, or a number for one axis. "
     "Whole numbers give i64, floats f32, booleans bool, unless dtype= says "
     "else.",
     create_full, NULL, NULL, LT_GLOBAL},
    {"zeros_like", "x", LIKE_OPTIONS,
     "Zeros with the shape, dtype and device of x.", create_zeros_like, NULL,
     NULL, LT_GLOBAL},
    {"ones_like", "x", LIKE_OPTIONS,
     "Ones with the shape, dtype and device of x.", create_ones_like, NULL,
     NULL, LT_GLOBAL},
    {"full_like", "x, value", LIKE_OPTIONS,
     "One value with the shape, dtype and device of x.", create_full_like, NULL,
     NULL, LT_GLOBAL},
    {"arange", "first, last, step", NEW_OPTIONS,
     "arange(n): 1, 2 ... n. arange(first, last, step): the end is included, "
     "as in Lua's for. Whole numbers give i64, floats f32.",
     create_arange, NULL, NULL, LT_GLOBAL},
    {"linspace", "first, last, n", NEW_OPTIONS,
     "n numbers from first to last in equal steps, both included.",
     create_linspace, NULL, NULL, LT_GLOBAL},
    {"eye", "n, m", NEW_OPTIONS,
     "n rows and m columns (n without m), one on the diagonal, else zero.",
     create_eye, NULL, NULL, LT_GLOBAL},
    {"rand", "sizes", NEW_OPTIONS, SIZES "Uniform random numbers, 0 <= x < 1.",
     create_rand, NULL, NULL, LT_GLOBAL},
    {"randn", "sizes", NEW_OPTIONS,
     SIZES "Random numbers of the standard "
           "normal distribution.",
     create_randn, NULL, NULL, LT_GLOBAL},
    {"seed", "n", "",
     "Begins the random numbers of rand and randn anew: the same n gives the "
     "same numbers on every device. Without seed, and after seed(), they "
     "differ from run to run.",
     create_seed, NULL, NULL, LT_GLOBAL},
    {NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0}};
