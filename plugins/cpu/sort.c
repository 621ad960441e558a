/* sort.c - the CALL ops sort, argsort and argtopk: the elements of a line
 * become keys that are in order as unsigned integers. */
#include <string.h>

#include "call.h"

typedef struct {
  uint64_t key;
  int64_t at;
} pair;

/* ---- keys --------------------------------------------------------------- */
#define KEY_F(U, S, bits, least_nan)                                           \
  U b = bits, sign = (U)1 << (8 * sizeof(U) - 1);                              \
  if ((b & (U)~sign) >= (least_nan)) return (U) ~(U)0;                         \
  if (b == sign) b = 0;                                                        \
  return b & sign ? (U)~b : (U)(b | sign)

static uint32_t key_f32(const void *x) {
  uint32_t bits;
  memcpy(&bits, x, sizeof bits);
  KEY_F(uint32_t, int32_t, bits, UINT32_C(0x7f800001));
}

static uint64_t key_f64(const void *x) {
  uint64_t bits;
  memcpy(&bits, x, sizeof bits);
  KEY_F(uint64_t, int64_t, bits, UINT64_C(0x7ff0000000000001));
}

static uint64_t key_of(int dtype, const void *x) {
  switch (dtype) {
  case TSH_f32:
    return key_f32(x);
  case TSH_f64:
    return key_f64(x);
  case TSH_i32:
    return *(const uint32_t *)x ^ UINT32_C(1) << 31;
  case TSH_i64:
    return *(const uint64_t *)x ^ UINT64_C(1) << 63;
  default:
    return *(const uint8_t *)x;
  }
}

/* ---- radix -------------------------------------------------------------- */
enum { RADIX = 256 };

/* Sorts n pairs, using as many in `other`. Returns where they are then. */
static pair *radix(const cpu_call *c, pair *p, pair *other, int64_t n) {
  for (int shift = 0; shift < 64; shift += 8) {
    int64_t start[RADIX] = {0}, sum = 0;
    pair *swap = p;
    for (int64_t i = 0; i < n; i++) start[p[i].key >> shift & (RADIX - 1)]++;
    if (start[p[0].key >> shift & (RADIX - 1)] == n) continue;
    for (int k = 0; k < RADIX; k++) {
      int64_t count = start[k];
      start[k] = sum;
      sum += count;
    }
    for (int64_t i = 0; i < n; i++)
      other[start[p[i].key >> shift & (RADIX - 1)]++] = p[i];
    p = other;
    other = swap;
    if (cpu_cancelled(c->run)) return NULL;
  }
  return p;
}

/* ---- lines -------------------------------------------------------------- */
typedef struct {
  const char *x;
  char *out;
  int64_t n, k, dx, dout; /* k results */
  int dtype, down, values;
  int64_t bytes;
} line;

static tsh_status sort_line(const cpu_call *c, const line *l, pair *room) {
  pair *p;
  for (int64_t i = 0; i < l->n; i++) {
    uint64_t key = key_of(l->dtype, l->x + i * l->dx * l->bytes);
    room[i].key = l->down ? ~key : key;
    room[i].at = i;
  }
  if (!(p = radix(c, room, room + l->n, l->n))) return TSH_ECANCELLED;
  for (int64_t i = 0; i < l->k; i++) {
    if (l->values)
      memcpy(l->out + i * l->dout * l->bytes, l->x + p[i].at * l->dx * l->bytes,
             (size_t)l->bytes);
    else
      ((int64_t *)l->out)[i * l->dout] = p[i].at;
  }
  return TSH_OK;
}

static tsh_status each_line(const cpu_call *c, int values, int down) {
  const tsh_view *x = call_view(c, 0), *out = call_view(c, 1);
  int axis = (int)c->prog->attr[0];
  const char *from = call_base(c, 0);
  char *to = call_base(c, 1);
  int64_t bytes = call_bytes(c, 1);
  line l = {.n = x->extent[axis],
            .k = out->extent[axis],
            .down = down,
            .dx = x->stride[axis],
            .dout = out->stride[axis],
            .values = values,
            .dtype = call_dtype(c, 0),
            .bytes = call_bytes(c, 0)};
  tsh_buf *room;
  tsh_status rc = call_room(c, 2 * sizeof(pair) * (uint64_t)l.n, &room);
  call_lines w;
  if (rc != TSH_OK) return rc;
  call_lines_init(&w, call_rank(c, 0), x->extent, axis);
  call_lines_add(&w, x->stride, axis, -1);
  call_lines_add(&w, out->stride, axis, -1);
  do {
    l.x = from + w.at[0] * l.bytes;
    l.out = to + w.at[1] * bytes;
    rc = sort_line(c, &l, (pair *)(void *)room->mem);
  } while (rc == TSH_OK && call_lines_next(&w));
  call_room_free(c, room);
  return rc;
}

tsh_status cpu_sort(const cpu_call *c) {
  return each_line(c, 1, c->prog->attr[1] != 0);
}

tsh_status cpu_argsort(const cpu_call *c) {
  return each_line(c, 0, c->prog->attr[1] != 0);
}

tsh_status cpu_argtopk(const cpu_call *c) {
  return each_line(c, 0, c->prog->attr[2] != 0);
}
