/* test_overwrite.c - outputs that overwrite inputs through identical views:
 * nothing is read after it is gone. */
#include <criterion/criterion.h>
#include <string.h>

#include "rig.h"

enum { N = 1300 };

static void vector(rig *r) {
  rig_init(r, 1, 0);
  r->ext[0] = N;
}

static int argument(rig *r, int alias, uint32_t *seed) {
  int i = rig_arg(r, TSH_i32);
  r->stride[i][0] = 1;
  rig_image(r, i, seed);
  r->alias[i] = alias;
  return i;
}

static void fetch(const rig *r, int arg, int32_t *out) {
  static uint8_t bytes[RIG_BYTES];
  int64_t at;
  cr_assert_eq(rig_run(r, (rig_way){"v3", 0}, arg, bytes, &at), TSH_OK);
  memcpy(out, bytes, N * sizeof *out);
}

Test(overwrite, two_arguments_change_places) {
  rig r;
  uint32_t seed = 5;
  int32_t got[N];
  vector(&r);
  int x = argument(&r, -1, &seed), y = argument(&r, -1, &seed);
  int to_x = argument(&r, x, &seed), to_y = argument(&r, y, &seed);
  int a = rig_inst(&r, TSH_OP_LOAD, TSH_i32, 0, 0, 0, (uint64_t)x, 0);
  int b = rig_inst(&r, TSH_OP_LOAD, TSH_i32, 0, 0, 0, (uint64_t)y, 0);
  rig_inst(&r, TSH_OP_STORE, 0, b, 0, 0, (uint64_t)to_x, 0);
  rig_inst(&r, TSH_OP_STORE, 0, a, 0, 0, (uint64_t)to_y, 0);
  fetch(&r, to_x, got);
  cr_expect(memcmp(got, r.image[y], sizeof got) == 0);
  fetch(&r, to_y, got);
  cr_expect(memcmp(got, r.image[x], sizeof got) == 0);
  rig_fini(&r);
}

Test(overwrite, a_value_stored_over_its_operand_is_read_from_before) {
  rig r;
  uint32_t seed = 6;
  int32_t got[N];
  vector(&r);
  int x = argument(&r, -1, &seed);
  int to_x = argument(&r, x, &seed), other = argument(&r, -1, &seed);
  const int32_t *in = (const int32_t *)r.image[x];
  int a = rig_inst(&r, TSH_OP_LOAD, TSH_i32, 0, 0, 0, (uint64_t)x, 0);
  int s = rig_inst(&r, TSH_OP_add, TSH_i32, a, a, 0, 0, 0);
  int p = rig_inst(&r, TSH_OP_mul, TSH_i32, s, a, 0, 0, 0);
  rig_inst(&r, TSH_OP_STORE, 0, s, 0, 0, (uint64_t)to_x, 0);
  rig_inst(&r, TSH_OP_STORE, 0, p, 0, 0, (uint64_t)other, 0);
  fetch(&r, to_x, got);
  for (int i = 0; i < N; i++)
    cr_assert_eq((uint32_t)got[i], 2 * (uint32_t)in[i]);
  fetch(&r, other, got);
  for (int i = 0; i < N; i++)
    cr_assert_eq((uint32_t)got[i], 2 * (uint32_t)in[i] * (uint32_t)in[i]);
  rig_fini(&r);
}

/* softmax over its own input: the last phase still needs it. */
Test(overwrite, rows_may_be_normalized_in_place) {
  static const int64_t length[] = {7, 300, 512, 513, 3000};
  static uint8_t apart[RIG_BYTES], over[RIG_BYTES];
  for (int i = 0; i < 5; i++) {
    rig r;
    uint32_t seed = 7;
    int64_t at;
    rig_init(&r, 2, 1);
    r.ext[0] = 3, r.ext[1] = length[i];
    int x = rig_arg(&r, TSH_f32), y = rig_arg(&r, TSH_f32);
    rig_image(&r, x, &seed);
    rig_image(&r, y, &seed);
    memcpy(r.image[y], r.image[x], r.bytes);
    r.stride[x][0] = r.stride[y][0] = length[i];
    r.stride[x][1] = r.stride[y][1] = 1;
    int v = rig_inst(&r, TSH_OP_LOAD, TSH_f32, 0, 0, 0, (uint64_t)x, 0);
    int m = rig_inst(&r, TSH_OP_max, TSH_f32, v, 0, 0, 0, 0);
    int d = rig_inst(&r, TSH_OP_sub, TSH_f32, v, m, 0, 0, 0);
    int e = rig_inst(&r, TSH_OP_exp, TSH_f32, d, 0, 0, 0, 0);
    int s = rig_inst(&r, TSH_OP_sum, TSH_f32, e, 0, 0, 0, 0);
    int q = rig_inst(&r, TSH_OP_div, TSH_f32, e, s, 0, 0, 0);
    rig_inst(&r, TSH_OP_STORE, 0, q, 0, 0, (uint64_t)y, 0);
    cr_assert_eq(rig_run(&r, (rig_way){"v3", 0}, y, apart, &at), TSH_OK);
    r.alias[y] = x;
    cr_assert_eq(rig_run(&r, (rig_way){"v3", 0}, y, over, &at), TSH_OK);
    cr_expect(memcmp(apart, over, RIG_BYTES) == 0, "rows of %d",
              (int)length[i]);
    rig_fini(&r);
  }
}
