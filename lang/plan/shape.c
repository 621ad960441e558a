/* shape.c - shapes, layouts and dtypes: interning, broadcasting, promotion. */
#include <limits.h>
#include "priv.h"

/* ---- dtypes ------------------------------------------------------------- */
#define DTYPE_X(id, name, type, bytes, kind) [id] = {#name, bytes, kind},
static const struct {
  const char *name;
  uint8_t bytes, kind;
} dtypes[TSH_NDTYPE] = {TSH_DTYPES(DTYPE_X)};
#undef DTYPE_X

const char *plan_dtype_name(int dtype) {
  const char *name =
      dtype > 0 && dtype < TSH_NDTYPE ? dtypes[dtype].name : NULL;
  return name ? name : "?";
}

int plan_dtype_find(const char *name) {
  for (int i = 1; i < TSH_NDTYPE; i++)
    if (dtypes[i].name && strcmp(dtypes[i].name, name) == 0) return i;
  return 0;
}

uint32_t plan_dtype_bytes(int dtype) {
  return dtype > 0 && dtype < TSH_NDTYPE ? dtypes[dtype].bytes : 0;
}

int plan_dtype_kind(int dtype) {
  return dtype > 0 && dtype < TSH_NDTYPE ? dtypes[dtype].kind : 0;
}

/* Signed beside unsigned: the signed type that holds both, f64 beyond. */
static int promote_ints(int a, int b) {
  int ka = plan_dtype_kind(a), kb = plan_dtype_kind(b);
  uint32_t ba = plan_dtype_bytes(a), bb = plan_dtype_bytes(b);
  if (ka == kb) return ba >= bb ? a : b;
  if (ka == TSH_KIND_UINT) return promote_ints(b, a);
  if (ba > bb) return a;
  return bb == 1 ? TSH_i16 : bb == 2 ? TSH_i32 : bb == 4 ? TSH_i64 : TSH_f64;
}

static int promote_floats(int a, int b) {
  if (a != b && plan_dtype_bytes(a) == 2 && plan_dtype_bytes(b) == 2)
    return TSH_f32; /* f16 beside bf16 */
  return plan_dtype_bytes(a) >= plan_dtype_bytes(b) ? a : b;
}

int plan_promote(int a, int b) {
  int ka = plan_dtype_kind(a), kb = plan_dtype_kind(b);
  if (!ka || !kb) return 0;
  if (a == b) return a;
  if (ka == TSH_KIND_COMPLEX || kb == TSH_KIND_COMPLEX) return TSH_c64;
  if (ka == TSH_KIND_FLOAT && kb == TSH_KIND_FLOAT) return promote_floats(a, b);
  if (ka == TSH_KIND_FLOAT) return a;
  if (kb == TSH_KIND_FLOAT) return b;
  if (ka == TSH_KIND_BOOL) return b;
  if (kb == TSH_KIND_BOOL) return a;
  return promote_ints(a, b);
}

/* ---- interning: open addressing, keyed by contents ---------------------- */
static uint64_t hash_dims(int rank, const int64_t *dim) {
  uint64_t h = (uint64_t)rank + 1;
  for (int i = 0; i < rank; i++)
    h = (h ^ (uint64_t)dim[i]) * UINT64_C(0x9e3779b97f4a7c15);
  return h ^ (h >> 29);
}

static int same_dims(int rank, const int64_t *a, uint32_t rank_b,
                     const int64_t *b) {
  return (uint32_t)rank == rank_b &&
         (rank == 0 || memcmp(a, b, sizeof *a * (size_t)rank) == 0);
}

/* Elements of a shape, or -1 when there are more than 2^62. */
static int64_t count_of(int rank, const int64_t *dim) {
  int64_t count = 1;
  int empty = 0;
  for (int i = 0; i < rank; i++) {
    if (dim[i] < 0) return -1;
    if (dim[i] == 0) empty = 1;
  }
  for (int i = 0; i < rank && !empty; i++) {
    /* Divide, do not multiply: a product of user-typed extents may wrap. */
    if (count > (INT64_MAX / 2) / dim[i]) return -1;
    count *= dim[i];
  }
  return empty ? 0 : count;
}

static int rehash_shapes(plan *p, uint32_t cap) {
  plan_shape **table = plan_alloc(sizeof *table * cap);
  if (!table) return 0;
  for (uint32_t i = 0; i < p->shape_cap; i++) {
    plan_shape *s = p->shape_table[i];
    if (!s) continue;
    uint64_t h = hash_dims((int)s->rank, s->dim);
    while (table[h & (cap - 1)]) h++;
    table[h & (cap - 1)] = s;
  }
  plan_release(p->shape_table);
  p->shape_table = table;
  p->shape_cap = cap;
  return 1;
}

static const char *dims_text(int rank, const int64_t *dim, char *text,
                             size_t size) {
  size_t at = 0;
  text[0] = 0;
  for (int i = 0; i < rank && at < size; i++)
    at += (size_t)snprintf(text + at, size - at, "%s%lld", i ? "," : "",
                           (long long)dim[i]);
  return text;
}

static const plan_shape *shape_add(plan *p, int rank, const int64_t *dim,
                                   int64_t count, uint64_t h, tsh_err *err) {
  plan_shape *s = plan_alloc(sizeof *s);
  if (!s) {
    plan_nomem(err, "a shape");
    return NULL;
  }
  s->id = ++p->nshape;
  s->rank = (uint32_t)rank;
  s->count = count;
  if (rank) memcpy(s->dim, dim, sizeof *dim * (size_t)rank);
  while (p->shape_table[h & (p->shape_cap - 1)]) h++;
  p->shape_table[h & (p->shape_cap - 1)] = s;
  return s;
}

const plan_shape *plan_shape_get(plan *p, int rank, const int64_t *dim,
                                 tsh_err *err) {
  char text[200];
  int64_t count;
  uint64_t h;
  if (rank < 0 || rank > PLAN_RANK) {
    dev_fail(err, TSH_EINVAL, "a tensor has at most %d axes, not %d", PLAN_RANK,
             rank);
    return NULL;
  }
  h = hash_dims(rank, dim);
  for (uint64_t i = h; p->shape_cap; i++) {
    plan_shape *s = p->shape_table[i & (p->shape_cap - 1)];
    if (!s) break;
    if (same_dims(rank, dim, s->rank, s->dim)) return s;
  }
  count = count_of(rank, dim);
  if (count < 0) {
    dev_fail(err, TSH_EINVAL,
             "no shape [%s]: extents are 0 or more, at most "
             "2^62 elements",
             dims_text(rank, dim, text, sizeof text));
    return NULL;
  }
  if (2 * p->nshape >= p->shape_cap &&
      !rehash_shapes(p, p->shape_cap ? 2 * p->shape_cap : 64)) {
    plan_nomem(err, "a shape");
    return NULL;
  }
  return shape_add(p, rank, dim, count, h, err);
}

const plan_layout *layout_get(plan *p, int rank, const int64_t *stride) {
  plan_layout *l;
  /* Layouts are few (one per kind of view a script makes): a linear look-up
   * from the newest finds the usual one at once. */
  for (uint32_t i = p->nlayout; i-- > 0;)
    if (same_dims(rank, stride, p->layout_table[i]->rank,
                  p->layout_table[i]->stride))
      return p->layout_table[i];
  if (!PLAN_GROW(p->layout_table, p->layout_cap, p->nlayout + 1)) return NULL;
  if (!(l = plan_alloc(sizeof *l))) return NULL;
  l->id = p->nlayout + 1;
  l->rank = (uint32_t)rank;
  if (rank) memcpy(l->stride, stride, sizeof *stride * (size_t)rank);
  p->layout_table[p->nlayout++] = l;
  return l;
}

/* ---- helpers on shapes -------------------------------------------------- */
void shape_strides(const plan_shape *s, int64_t *stride) {
  int64_t step = 1;
  for (uint32_t i = s->rank; i-- > 0;) {
    stride[i] = step;
    step *= s->dim[i] > 0 ? s->dim[i] : 1;
  }
}

char *shape_text(const plan_shape *s, char *text, size_t size) {
  char dims[200];
  snprintf(text, size, "[%s]",
           dims_text((int)s->rank, s->dim, dims, sizeof dims));
  return text;
}

uint64_t shape_bytes(const plan_shape *s, int dtype) {
  uint64_t count = (uint64_t)s->count; /* an element has at most 16 bytes */
  return count > UINT64_MAX >> 5 ? UINT64_MAX : count * plan_dtype_bytes(dtype);
}

const plan_shape *shape_broadcast(plan *p, const char *what,
                                  const plan_shape *a, const plan_shape *b,
                                  tsh_err *err) {
  int rank = (int)(a->rank > b->rank ? a->rank : b->rank);
  int64_t dim[PLAN_RANK];
  char ta[200], tb[200];
  if (a == b) return a;
  for (int i = 1; i <= rank; i++) {
    int64_t da = (uint32_t)i <= a->rank ? a->dim[a->rank - (uint32_t)i] : 1;
    int64_t db = (uint32_t)i <= b->rank ? b->dim[b->rank - (uint32_t)i] : 1;
    if (da != db && da != 1 && db != 1) {
      dev_fail(err, TSH_EINVAL,
               "%s: shapes %s and %s do not broadcast: %lld and %lld along "
               "axis %d from the end",
               what, shape_text(a, ta, sizeof ta), shape_text(b, tb, sizeof tb),
               (long long)da, (long long)db, i);
      return NULL;
    }
    dim[rank - i] = da == 1 ? db : da;
  }
  return plan_shape_get(p, rank, dim, err);
}
