/* test_gemm.c - a product behind TSH_HINT_DOT has the bits of the plain form,
 * whatever its shape, strides, axes and tail. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "rig.h"

enum { DENSE, TURNED, GAPS, REVERSED, MIRRORED, LAYOUTS };

typedef struct {
  int dtype;
  int64_t batch, m, n, k;
  int layout_a, layout_b, layout_c, tail;
} shape;

/* Strides of a matrix [rows][columns] over two axes of the launch. */
static void matrix(rig *r, int arg, int layout, int row_axis, int column_axis,
                   int64_t rows, int64_t columns) {
  int64_t *s = r->stride[arg];
  s[row_axis] = columns, s[column_axis] = 1;
  if (layout == TURNED) s[row_axis] = 1, s[column_axis] = rows;
  if (layout == GAPS) s[row_axis] = 2 * columns + 1, s[column_axis] = 2;
  if (layout == REVERSED) {
    s[row_axis] = -columns;
    r->offset[arg] = (rows - 1) * columns;
  }
  if (layout == MIRRORED) {
    s[column_axis] = -1;
    r->offset[arg] = columns - 1;
  }
  s[0] = layout == GAPS ? 2 * rows * columns + rows : rows * columns;
}

/* bias, relu, and a second output, as in a layer; or only the product. */
static void add_tail(rig *r, const shape *s, int dot, uint32_t *seed) {
  int v = dot;
  int c = rig_arg(r, s->dtype);
  matrix(r, c, s->layout_c, 1, 2, s->m, s->n);
  if (s->tail) {
    int bias = c, second, b;
    r->stride[bias][0] = r->stride[bias][1] = 0;
    r->stride[bias][2] = 1;
    r->offset[bias] = 0;
    rig_image(r, bias, seed);
    c = rig_arg(r, s->dtype);
    second = rig_arg(r, TSH_bool);
    matrix(r, c, s->layout_c, 1, 2, s->m, s->n);
    matrix(r, second, DENSE, 1, 2, s->m, s->n);
    rig_image(r, second, seed);
    b = rig_inst(r, TSH_OP_LOAD, s->dtype, 0, 0, 0, (uint64_t)bias, TSH_ROW);
    v = rig_inst(r, TSH_OP_add, s->dtype, v, b, 0, 0, 0);
    b = rig_inst(r, TSH_OP_gt, TSH_bool, v, dot, 0, 0, 0);
    v = rig_inst(r, TSH_OP_relu, s->dtype, v, 0, 0, 0, 0);
    rig_inst(r, TSH_OP_STORE, 0, b, 0, 0, (uint64_t)second, TSH_ROW);
  }
  rig_image(r, c, seed);
  rig_inst(r, TSH_OP_STORE, 0, v, 0, 0, (uint64_t)c, TSH_ROW);
}

/* Does an image hold such a matrix, with gaps? */
static int fits(const shape *s, int64_t rows, int64_t columns) {
  return s->batch * (2 * rows * columns + rows) *
             (int64_t)kit_dtype_bytes(s->dtype) <=
         1 << 16;
}

static void product(rig *r, const shape *s, uint32_t *seed) {
  rig_init(r, 4, 1);
  if (!fits(s, s->m, s->k) || !fits(s, s->k, s->n) || !fits(s, s->m, s->n))
    r->bytes = RIG_BYTES;
  r->k.flags = TSH_HINT_DOT;
  r->ext[0] = s->batch, r->ext[1] = s->m, r->ext[2] = s->n, r->ext[3] = s->k;
  int a = rig_arg(r, s->dtype), b = rig_arg(r, s->dtype);
  for (int i = a; i <= b; i++)
    if (s->k > 60 || rig_below(seed, 2))
      rig_image_tame(r, i, seed);
    else
      rig_image(r, i, seed);
  matrix(r, a, s->layout_a, 1, 3, s->m, s->k);
  matrix(r, b, s->layout_b, 3, 2, s->k, s->n);
  int x = rig_inst(r, TSH_OP_LOAD, s->dtype, 0, 0, 0, (uint64_t)a, 0);
  int y = rig_inst(r, TSH_OP_LOAD, s->dtype, 0, 0, 0, (uint64_t)b, 0);
  int dot = rig_inst(r, TSH_OP_dot, s->dtype, x, y, 0, 0, 0);
  add_tail(r, s, dot, seed);
}

static void same_as_plain(const rig *r, const char *what) {
  static const rig_way way[] = {{"base", CPU_FORCE_PLAIN | CPU_FORCE_ROWS},
                                {"base", 0},
                                {"v3", 0},
                                {"v4", 0}};
  enum { WAYS = sizeof way / sizeof *way };
  static uint8_t want[RIG_BYTES], got[RIG_BYTES];
  int64_t at, want_at;
  for (int arg = 2; arg < r->k.narg; arg++) {
    tsh_status rc = rig_run(r, way[0], arg, want, &want_at);
    for (int i = 1; i < WAYS; i++) {
      cr_assert_eq(rig_run(r, way[i], arg, got, &at), rc);
      cr_expect_eq(at, want_at, "%s: way %d, at %d, not %d", what, i, (int)at,
                   (int)want_at);
      cr_expect(memcmp(want, got, RIG_BYTES) == 0, "%s: way %d, argument %d",
                what, i, arg);
    }
  }
}

static void check(const shape *s, uint32_t *seed) {
  char what[128];
  rig r;
  product(&r, s, seed);
  snprintf(what, sizeof what, "%s %dx%dx%dx%d layouts %d %d %d tail %d",
           kit_dtype_name(s->dtype), (int)s->batch, (int)s->m, (int)s->n,
           (int)s->k, s->layout_a, s->layout_b, s->layout_c, s->tail);
  same_as_plain(&r, what);
  rig_fini(&r);
}

Test(gemm, every_shape_and_layout_has_the_bits_of_the_plain_form) {
  static const int64_t size[] = {1, 2, 3, 5, 6, 7, 8, 15, 16, 17, 31, 33, 50};
  uint32_t seed = 99;
  for (int i = 0; i < 700; i++) {
    shape s = {.dtype = rig_below(&seed, 3) ? TSH_f32 : TSH_f64};
    s.batch = rig_below(&seed, 3) ? 1 : 2;
    s.m = size[rig_below(&seed, 13)];
    s.n = size[rig_below(&seed, 13)];
    s.k = rig_below(&seed, 20) ? size[rig_below(&seed, 11)] : 0;
    s.layout_a = rig_below(&seed, LAYOUTS);
    s.layout_b = rig_below(&seed, LAYOUTS);
    s.layout_c = rig_below(&seed, LAYOUTS);
    s.tail = rig_below(&seed, 2);
    if (!fits(&s, s.m, s.k) || !fits(&s, s.k, s.n) || !fits(&s, s.m, s.n))
      continue;
    check(&s, &seed);
  }
}

/* Tiles that are cut at every row and column. */
Test(gemm, every_edge_has_the_bits_of_the_plain_form) {
  uint32_t seed = 95;
  for (int m = 1; m <= 40; m++)
    for (int n = 1 + m % 2; n <= 40; n += 2) {
      shape s = {.dtype = rig_below(&seed, 2) ? TSH_f32 : TSH_f64, .batch = 1};
      s.m = m, s.n = n, s.k = 1 + rig_below(&seed, 40);
      s.layout_a = rig_below(&seed, LAYOUTS);
      s.layout_b = rig_below(&seed, LAYOUTS);
      s.layout_c = rig_below(&seed, LAYOUTS);
      s.tail = rig_below(&seed, 4) == 0;
      check(&s, &seed);
    }
}

/* Beyond one block of rows, columns and depth. */
Test(gemm, blocks_meet_without_a_seam) {
  static const shape big[] = {
      {TSH_f32, 1, 200, 7, 15, 0, 0, 0, 1},
      {TSH_f32, 1, 3, 700, 9, 0, 0, 0, 1},
      {TSH_f32, 1, 5, 4, 2100, 0, 1, 0, 0},
      {TSH_f32, 1, 7, 3, 2100, 1, 0, 1, 0},
      {TSH_f64, 1, 110, 9, 40, 0, 0, 0, 1},
      {TSH_f64, 1, 4, 300, 11, 0, 1, 1, 1},
      {TSH_f64, 1, 6, 9, 600, 0, 0, 0, 0},
      {TSH_f32, 1, 1, 3000, 2, 0, 0, 0, 1},
      {TSH_f32, 1, 3000, 1, 2, 0, 0, 0, 1},
      {TSH_f32, 3, 100, 17, 30, 0, 0, 0, 1},
      /* More than a layer of depth; rows packed, columns kept packed. */
      {TSH_f32, 1, 20, 30, 1300, DENSE, DENSE, DENSE, 0},
      {TSH_f32, 1, 20, 30, 1300, GAPS, TURNED, TURNED, 1},
      {TSH_f64, 1, 15, 33, 530, TURNED, TURNED, DENSE, 0},
      {TSH_f32, 1, 400, 100, 60, DENSE, GAPS, DENSE, 0},
      {TSH_f32, 1, 400, 100, 60, TURNED, TURNED, DENSE, 1},
      {TSH_f64, 1, 260, 40, 25, REVERSED, GAPS, GAPS, 0},
      {TSH_f32, 2, 1, 40, 100, DENSE, TURNED, DENSE, 0},
      {TSH_f64, 1, 4, 40, 105, DENSE, TURNED, DENSE, 1},
      {TSH_f32, 1, 90, 3, 131, DENSE, TURNED, TURNED, 0},
      {TSH_f32, 1, 200, 300, 100, DENSE, DENSE, DENSE, 0},
  };
  uint32_t seed = 98;
  for (size_t i = 0; i < sizeof big / sizeof *big; i++) check(&big[i], &seed);
}

/* A position that the tail refuses is told by its number in the launch. */
Test(gemm, a_bad_position_has_its_number) {
  static const int sizes[3][2] = {{5, 20}, {20, 5}, {5, 700}};
  for (int i = 0; i < 3; i++) {
    rig r;
    uint32_t seed = 96;
    int m = sizes[i][0], n = sizes[i][1], k = 3;
    rig_init(&r, 3, 1);
    r.k.flags = TSH_HINT_DOT;
    r.ext[0] = m, r.ext[1] = n, r.ext[2] = k;
    int x = rig_arg(&r, TSH_f32), y = rig_arg(&r, TSH_f32);
    int p = rig_arg(&r, TSH_i32), out = rig_arg(&r, TSH_f32);
    for (int a = x; a <= out; a++) rig_image_tame(&r, a, &seed);
    int32_t *at = (int32_t *)r.image[p];
    for (int j = 0; j < m * n; j++) at[j] = 1 + j % 4;
    at[3 * n + 2] = 5;
    at[3 * n + 4] = 0;
    r.stride[x][0] = k, r.stride[x][2] = 1;
    r.stride[y][1] = 1, r.stride[y][2] = n;
    r.stride[p][0] = r.stride[out][0] = n;
    r.stride[p][1] = r.stride[out][1] = 1;
    int a = rig_inst(&r, TSH_OP_LOAD, TSH_f32, 0, 0, 0, (uint64_t)x, 0);
    int b = rig_inst(&r, TSH_OP_LOAD, TSH_f32, 0, 0, 0, (uint64_t)y, 0);
    int v = rig_inst(&r, TSH_OP_dot, TSH_f32, a, b, 0, 0, 0);
    a = rig_inst(&r, TSH_OP_LOAD, TSH_i32, 0, 0, 0, (uint64_t)p, TSH_ROW);
    b = rig_inst(&r, TSH_OP_CONST, TSH_i32, 0, 0, 0, 4, 0);
    a = rig_inst(&r, TSH_OP_index, TSH_i32, a, b, 0, 0, 0);
    a = rig_inst(&r, TSH_OP_cast, TSH_f32, a, 0, 0, 0, 0);
    v = rig_inst(&r, TSH_OP_mul, TSH_f32, v, a, 0, 0, 0);
    rig_inst(&r, TSH_OP_STORE, 0, v, 0, 0, (uint64_t)out, TSH_ROW);
    same_as_plain(&r, "index");
    static uint8_t bytes[RIG_BYTES];
    int64_t bad;
    cr_expect_eq(rig_run(&r, (rig_way){"v4", 0}, out, bytes, &bad), TSH_EINDEX);
    cr_expect_eq(bad, (3 * n + 2) * k);
    rig_fini(&r);
  }
}

/* A convolution: rows, columns and depth have several axes, and the windows
 * overlap. x [2][9][11] over 3x3, 4 filters. */
Test(gemm, a_convolution_has_the_bits_of_the_plain_form) {
  for (int order = 0; order < 2; order++) {
    rig r;
    uint32_t seed = 97;
    int64_t ext[7] = {2, 4, 7, 9, 3, 3, 1};
    rig_init(&r, 6, 2);
    r.k.flags = TSH_HINT_DOT;
    memcpy(r.ext, ext, 6 * sizeof *ext);
    int x = rig_arg(&r, TSH_f32), w = rig_arg(&r, TSH_f32);
    int y = rig_arg(&r, TSH_f32);
    for (int i = 0; i < 3; i++) rig_image(&r, i, &seed);
    int64_t sx[6] = {99, 0, 11, 1, 11, 1}, sw[6] = {0, 9, 0, 0, 3, 1};
    int64_t sy[6] = {4 * 63, 63, 9, 1, 0, 0};
    memcpy(r.stride[x], sx, sizeof sx);
    memcpy(r.stride[w], sw, sizeof sw);
    memcpy(r.stride[y], sy, sizeof sy);
    int a = rig_inst(&r, TSH_OP_LOAD, TSH_f32, 0, 0, 0, (uint64_t)x, 0);
    int b = rig_inst(&r, TSH_OP_LOAD, TSH_f32, 0, 0, 0, (uint64_t)w, 0);
    int d = rig_inst(&r, TSH_OP_dot, TSH_f32, order ? b : a, order ? a : b, 0,
                     0, 0);
    rig_inst(&r, TSH_OP_STORE, 0, d, 0, 0, (uint64_t)y, TSH_ROW);
    same_as_plain(&r, "convolution");
    rig_fini(&r);
  }
}

/* ---- passes of a convolution -------------------------------------------- */
typedef struct {
  int64_t n, c, o, h, w, ky, kx, step; /* of the output: h and w */
} layer;

/* Axes n o y x; c ky kx. flip: filters [c][o], turned by half. */
static void forward(rig *r, const layer *l, int flip) {
  int64_t wide = (l->w - 1) * l->step + l->kx;
  int64_t plane = ((l->h - 1) * l->step + l->ky) * wide, taps = l->ky * l->kx;
  int64_t ext[7] = {l->n, l->o, l->h, l->w, l->c, l->ky, l->kx};
  int64_t sx[7] = {l->c * plane, 0, wide * l->step, l->step, plane, wide, 1};
  int64_t sw[7] = {0, l->c * taps, 0, 0, taps, l->kx, 1};
  int64_t sy[7] = {l->o * l->h * l->w, l->h * l->w, l->w, 1, 0, 0, 0};
  if (flip) {
    sw[1] = taps, sw[4] = l->o * taps, sw[5] = -l->kx, sw[6] = -1;
    r->offset[1] = taps - 1;
  }
  memcpy(r->ext, ext, sizeof ext);
  memcpy(r->stride[0], sx, sizeof sx);
  memcpy(r->stride[1], sw, sizeof sw);
  memcpy(r->stride[2], sy, sizeof sy);
}

/* Axes o c ky kx; n y x. */
static void weights(rig *r, const layer *l) {
  int64_t wide = l->w + l->kx - 1, plane = (l->h + l->ky - 1) * wide;
  int64_t ext[7] = {l->o, l->c, l->ky, l->kx, l->n, l->h, l->w};
  int64_t sx[7] = {0, plane, wide, 1, l->c * plane, wide, 1};
  int64_t sg[7] = {l->h * l->w, 0, 0, 0, l->o * l->h * l->w, l->w, 1};
  int64_t sw[7] = {l->c * l->ky * l->kx, l->ky * l->kx, l->kx, 1, 0, 0, 0};
  memcpy(r->ext, ext, sizeof ext);
  memcpy(r->stride[0], sx, sizeof sx);
  memcpy(r->stride[1], sg, sizeof sg);
  memcpy(r->stride[2], sw, sizeof sw);
}

static void check_pass(const layer *l, int pass, int dtype, uint32_t *seed) {
  char what[96];
  rig r;
  rig_init(&r, 7, 3);
  r.bytes = RIG_BYTES;
  r.k.flags = TSH_HINT_DOT;
  for (int i = 0; i < 3; i++) rig_image_tame(&r, rig_arg(&r, dtype), seed);
  if (pass < 2)
    forward(&r, l, pass);
  else
    weights(&r, l);
  int a = rig_inst(&r, TSH_OP_LOAD, dtype, 0, 0, 0, 0, 0);
  int b = rig_inst(&r, TSH_OP_LOAD, dtype, 0, 0, 0, 1, 0);
  int swap = rig_below(seed, 2);
  int v = rig_inst(&r, TSH_OP_dot, dtype, swap ? b : a, swap ? a : b, 0, 0, 0);
  if (rig_below(seed, 3) == 0)
    v = rig_inst(&r, TSH_OP_relu, dtype, v, 0, 0, 0, 0);
  rig_inst(&r, TSH_OP_STORE, 0, v, 0, 0, 2, TSH_ROW);
  snprintf(what, sizeof what, "pass %d, n %d c %d o %d %dx%d by %dx%d step %d",
           pass, (int)l->n, (int)l->c, (int)l->o, (int)l->h, (int)l->w,
           (int)l->ky, (int)l->kx, (int)l->step);
  same_as_plain(&r, what);
  rig_fini(&r);
}

Test(gemm, every_pass_of_a_convolution_has_the_bits_of_the_plain_form) {
  uint32_t seed = 94;
  for (int i = 0; i < 90; i++) {
    int pass = i % 3;
    layer l = {.n = 1 + rig_below(&seed, 4), .c = 1 + rig_below(&seed, 6)};
    l.o = 1 + rig_below(&seed, 20);
    l.h = 1 + rig_below(&seed, 8), l.w = 1 + rig_below(&seed, 30);
    l.ky = 1 + rig_below(&seed, 3), l.kx = 1 + rig_below(&seed, 5);
    l.step = pass == 0 ? 1 + rig_below(&seed, 2) : 1;
    check_pass(&l, pass, i % 4 ? TSH_f32 : TSH_f64, &seed);
  }
}
