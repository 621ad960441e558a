/* update.c - t:set(index, v), t:add, t:mul, t:min, t:max(index, v): new
 * tensors that differ at an index. */
#include <math.h>
#include <string.h>
#include "index.h"

/* Pushes op(a, b). */
static plan_node *push_op(lua_State *L, int op, const plan_operand *a,
                          const plan_operand *b) {
  plan_operand in[2] = {*a, *b};
  plan_node **out = lt_tensor_new(L);
  tsh_err err;
  err.size = sizeof err;
  lt_check(L, plan_map(lt_of(L)->plan, op, in, 2, out, &err), &err);
  return *out;
}

static plan_operand tensor(plan_node *n) {
  plan_operand o = {.node = n, .kind = PLAN_TENSOR};
  return o;
}

static plan_operand whole(int64_t v) {
  plan_operand o = {.num.i = v, .kind = PLAN_INT};
  return o;
}

/* v in the dtype of x, which must hold it: never a silent narrowing. */
static plan_operand in_dtype(lua_State *L, plan_node *x, plan_operand v) {
  int dtype = plan_dtype_of(x);
  if (v.kind != PLAN_TENSOR) {
    lt_number_fit(L, &v, dtype);
    return v;
  }
  if (plan_dtype_of(v.node) == dtype) return v;
  if (plan_promote(dtype, plan_dtype_of(v.node)) != dtype) {
    char hint[40];
    snprintf(hint, sizeof hint, "v:cast(\"%s\")", plan_dtype_name(dtype));
    lt_fail(L, hint, "%s values do not fit %s without loss",
            plan_dtype_name(plan_dtype_of(v.node)), plan_dtype_name(dtype));
  }
  return tensor(lt_push_cast(L, v.node, dtype));
}

/* Pushes the one element of v without axes. */
static void push_one(lua_State *L, plan_node *v) {
  plan_node **out = lt_tensor_new(L);
  tsh_err err;
  err.size = sizeof err;
  lt_check(L,
           plan_reshape(lt_of(L)->plan, v, lt_shape_of(L, 0, NULL), out, &err),
           &err);
}

/* Pushes v in the shape of the place where it goes. */
static void push_fitted(lua_State *L, plan_node *v, int rank,
                        const int64_t *dim) {
  const plan_shape *has = plan_shape_of(v), *place = lt_shape_of(L, rank, dim);
  for (int i = 1; i <= rank && i <= (int)has->rank; i++) {
    int64_t extent = has->dim[(int)has->rank - i];
    if (extent == 1 || extent == dim[rank - i]) continue;
    rank = -1;
  }
  if (rank < 0 || (rank == 0 && has->rank > 0)) {
    const char *values, *to;
    lt_shape_push(L, has);
    values = luaL_tolstring(L, -1, NULL);
    lt_shape_push(L, place);
    to = luaL_tolstring(L, -1, NULL);
    lt_fail(L, NULL, "values %s do not broadcast to the place %s", values, to);
  }
  lt_push_expand(L, v, place);
}

/* Pushes x with the selected part replaced by v, which broadcasts to it. */
static void push_set(lua_State *L, plan_node *x, const lt_selection *s,
                     plan_operand v) {
  const plan_shape *shape = plan_shape_of(x);
  int64_t dim[PLAN_RANK];
  plan_node **out;
  tsh_err err;
  v = in_dtype(L, x, v);
  if (v.kind == PLAN_TENSOR && s->reshaped) {
    /* Its axes are those of x[index]; the planner's range keeps all axes. */
    if (plan_shape_of(v.node)->count == 1 && s->rank == 0) {
      push_one(L, v.node);
      v.node = lt_tensor_test(L, -1);
    }
    push_fitted(L, v.node, s->rank, s->dim);
    for (uint32_t i = 0; i < shape->rank; i++) dim[i] = s->range[i].count;
    lt_push_reshape(L, -1, lt_shape_of(L, (int)shape->rank, dim));
    v.node = lt_tensor_test(L, -1);
  }
  if (v.kind == PLAN_TENSOR && s->npick && !s->sliced) return; /* all of x */
  out = lt_tensor_new(L);
  err.size = sizeof err;
  lt_check(L, plan_set(lt_of(L)->plan, x, s->range, &v, out, &err), &err);
}

static plan_node *push_handle(lua_State *L, plan_node *x) {
  plan_node **out = lt_tensor_new(L);
  *out = plan_keep(x);
  return x;
}

/* Pushes a tensor of one number in the dtype of x. */
static plan_node *push_full(lua_State *L, plan_node *x, const plan_shape *s,
                            const plan_operand *v) {
  plan_node **out = lt_tensor_new(L);
  tsh_err err;
  err.size = sizeof err;
  lt_check(L,
           plan_full(lt_of(L)->plan, plan_dev_of(x), plan_dtype_of(x), s, v,
                     out, &err),
           &err);
  return *out;
}

/* ---- at a mask ----------------------------------------------------------- */
static plan_node *push_where(lua_State *L, plan_node *c, plan_operand x,
                             plan_operand y) {
  plan_operand in[3] = {tensor(c), x, y};
  plan_node **out = lt_tensor_new(L);
  tsh_err err;
  err.size = sizeof err;
  lt_check(L, plan_map(lt_of(L)->plan, TSH_OP_where, in, 3, out, &err), &err);
  return *out;
}

/* Does v fit every row that the mask names, however many they are? Then the
 * mask need not be counted. rest: axes of the part behind the mask's. */
static int is_each(const plan_operand *v, int axis, int rest) {
  const plan_shape *s;
  if (v->kind != PLAN_TENSOR) return 1;
  s = plan_shape_of(v->node);
  if (axis > 0) return s->rank == 0;
  return (int)s->rank <= rest || ((int)s->rank == rest + 1 && s->dim[0] == 1);
}

/* Pushes the part with op of it and v where the mask is true. */
static plan_node *push_masked(lua_State *L, int op, const lt_selection *s,
                              plan_node *part, plan_operand v) {
  const plan_shape *x = plan_shape_of(part);
  const lt_picker *p = &s->pick[0];
  int64_t dim[PLAN_RANK];
  plan_operand old = tensor(part);
  plan_node *mask;
  for (int i = 0; i < (int)x->rank; i++) dim[i] = i == p->axis ? p->extent : 1;
  if (v.kind == PLAN_TENSOR) {
    int64_t all[PLAN_RANK];
    memcpy(all, x->dim, sizeof *all * x->rank);
    all[p->axis] = 1;
    push_fitted(L, v.node, (int)x->rank, all);
    v.node = lt_tensor_test(L, -1);
  }
  push_handle(L, p->at);
  lt_push_reshape(L, -1, lt_shape_of(L, (int)x->rank, dim));
  mask = lt_tensor_test(L, -1);
  if (op == TSH_OP_mul && v.kind == PLAN_REAL && !isfinite(v.num.f))
    v = tensor(push_full(L, part, lt_shape_of(L, 0, NULL), &v));
  if (op == TSH_OP_mul && v.kind == PLAN_TENSOR)
    /* Masks select: what v meets elsewhere has no part in its gradient. */
    v = tensor(push_where(L, mask, v, whole(1)));
  if (op) v = tensor(push_op(L, op, &old, &v));
  v = in_dtype(L, part, v);
  return push_where(L, mask, v, old);
}

/* ---- at positions -------------------------------------------------------- */
typedef struct {
  lt_picked p;    /* the part, its picked axes made one, and where */
  plan_node *at;  /* positions from 0, one axis */
  plan_operand v; /* number, or tensor shaped for them */
  int64_t n;      /* positions given */
} scatter;

/* Positions as one axis, and v with the axes of what is taken there. */
static void push_scatter(lua_State *L, const lt_selection *s, plan_node *part,
                         plan_operand v, scatter *c) {
  const plan_shape *x, *at;
  int64_t dim[2 * PLAN_RANK];
  int rank = 0, axis;
  lt_push_picked(L, s, part, &c->p);
  x = plan_shape_of(c->p.x);
  at = plan_shape_of(c->p.at);
  axis = c->p.axis;
  c->n = at->count;
  lt_push_reshape(L, -1, lt_shape_of(L, 1, &c->n));
  c->at = lt_tensor_test(L, -1);
  c->v = in_dtype(L, part, v);
  if (v.kind != PLAN_TENSOR) return;
  for (int i = 0; i < axis; i++) dim[rank++] = x->dim[i];
  for (uint32_t i = 0; i < at->rank; i++) dim[rank++] = at->dim[i];
  for (uint32_t i = (uint32_t)axis + 1; i < x->rank; i++)
    dim[rank++] = x->dim[i];
  push_fitted(L, c->v.node, rank, dim);
  for (uint32_t i = 0; i < x->rank; i++)
    dim[i] = (int)i == axis ? c->n : x->dim[i];
  lt_push_reshape(L, -1, lt_shape_of(L, (int)x->rank, dim));
  c->v.node = lt_tensor_test(L, -1);
}

/* A tensor of v's number, shaped for the positions. */
static void number_to_tensor(lua_State *L, scatter *c) {
  const plan_shape *x = plan_shape_of(c->p.x);
  int64_t dim[PLAN_RANK];
  if (c->v.kind == PLAN_TENSOR) return;
  for (uint32_t i = 0; i < x->rank; i++)
    dim[i] = (int)i == c->p.axis ? c->n : x->dim[i];
  c->v = tensor(push_full(L, c->p.x, lt_shape_of(L, (int)x->rank, dim), &c->v));
}

static plan_node *push_put(lua_State *L, int op, scatter *c) {
  plan_node **out;
  tsh_err err;
  number_to_tensor(L, c);
  out = lt_tensor_new(L);
  err.size = sizeof err;
  lt_check(L,
           plan_index_put(lt_of(L)->plan, op, c->p.x, c->at, c->v.node,
                          c->p.axis, out, &err),
           &err);
  return *out;
}

static int put_op(int op) {
  switch (op) {
  case TSH_OP_add:
    return TSH_OP_index_add;
  case TSH_OP_mul:
    return TSH_OP_index_mul;
  case TSH_OP_maximum:
    return TSH_OP_index_max;
  case TSH_OP_minimum:
    return TSH_OP_index_min;
  default:
    return TSH_OP_index_set;
  }
}

/* ---- the methods --------------------------------------------------------- */
/* Pushes the part with op (0: set) of it and v where the index picks. */
static plan_node *push_updated(lua_State *L, int op, const lt_selection *s,
                               plan_node *part, plan_operand v) {
  scatter c;
  int rest = s->rank - s->pick[0].axis - 1;
  if (op && plan_dtype_of(part) == TSH_bool)
    lt_fail(L, NULL, "there is no %s of bool; cast it, or use | & ^ ~",
            lt_op_name(op));
  if (s->npick == 1 && s->nmask && is_each(&v, s->pick[0].axis, rest))
    return push_masked(L, op, s, part, v);
  push_scatter(L, s, part, v, &c);
  return lt_push_unpicked(L, push_put(L, put_op(op), &c), &c.p, part);
}

/* op 0: set. */
static int update(lua_State *L, int op) {
  plan_node *x = lt_tensor_get(L, 1), *part;
  lt_selection s;
  plan_operand v, old;
  lt_most_args(L, 3);
  if (lua_gettop(L) < 3)
    return lt_fail(L, "t:set({1, {2,3}}, v)", "takes an index and a value");
  lt_select_parse(L, 2, x, &s);
  lt_arg_operand(L, 3, &v);
  luaL_checkstack(L, 40 + 4 * s.npick, NULL);
  lt_begin(L);
  if (op != 0 || s.npick) part = lt_push_selected(L, 1, &s);
  if (s.npick) {
    v = tensor(push_updated(L, op, &s, part, v));
  } else if (op) {
    old = tensor(part);
    v = tensor(push_op(L, op, &old, &v));
  }
  push_set(L, x, &s, v);
  return lt_done(L, 1);
}

static int update_set(lua_State *L) { return update(L, 0); }
int lt_update_add(lua_State *L) { return update(L, TSH_OP_add); }
int lt_update_mul(lua_State *L) { return update(L, TSH_OP_mul); }
int lt_update_max(lua_State *L) { return update(L, TSH_OP_maximum); }
int lt_update_min(lua_State *L) { return update(L, TSH_OP_minimum); }

static int update_add_at(lua_State *L) {
  lt_tensor_get(L, 2);
  return update(L, TSH_OP_add);
}

const lt_function lt_update_functions[] = {
    {"set", "t, index, v", "",
     "t with t[index] replaced by v, a new tensor: t = t:set(i, v). v "
     "broadcasts. Of equal positions of an integer tensor the last wins; a "
     "bool "
     "tensor stands for the places where it is true. A chain of set on one "
     "value copies once at most.",
     update_set, NULL, NULL, LT_METHOD},
    {"add_at", "t, at, v", "",
     "t with v added at the positions of an integer tensor; equal positions "
     "add up. t:add(index, v) takes any index; t:mul, t:min and t:max(index, "
     "v) are its kin.",
     update_add_at, NULL, NULL, LT_METHOD},
    {NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0}};
