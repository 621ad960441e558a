/* test_fold.c - float sum and prod keep the order that the header promises, in
 * rows and in columns, whatever the length. */
#include <criterion/criterion.h>
#include <string.h>

#include "rig.h"

static float both(int op, float a, float b) {
  return op == TSH_OP_prod ? a * b : a + b;
}

/* One block: 16 lanes from the start value on, combined by halves. */
static float block(int op, const float *x, int64_t n) {
  float lane[16];
  for (int l = 0; l < 16; l++) lane[l] = op == TSH_OP_prod;
  for (int64_t i = 0; i < n; i++) lane[i % 16] = both(op, lane[i % 16], x[i]);
  for (int w = 8; w > 0; w /= 2)
    for (int l = 0; l < w; l++) lane[l] = both(op, lane[l], lane[l + w]);
  return lane[0];
}

/* The header's words: blocks of 4,096, two values of one level make one of the
 * next; what is left is combined from the last to the first. */
static float promised(int op, const float *x, int64_t n) {
  float value[64];
  int level[64], k = 0;
  for (int64_t at = 0; at < n || at == 0; at += 4096, k++) {
    value[k] = block(op, x + at, n - at < 4096 ? n - at : 4096);
    level[k] = 0;
    for (; k > 0 && level[k - 1] == level[k]; k--) {
      value[k - 1] = both(op, value[k - 1], value[k]);
      level[k - 1]++;
    }
  }
  for (k--; k > 0; k--) value[k - 1] = both(op, value[k - 1], value[k]);
  return value[0];
}

static void check(int op, int64_t n, uint32_t *seed) {
  static const rig_way way[] = {{"v3", CPU_FORCE_ROWS},
                                {"base", CPU_FORCE_ROWS},
                                {"v3", CPU_FORCE_COLS},
                                {"base", CPU_FORCE_COLS},
                                {"v3", 0},
                                {"v3", RIG_THREADS(2) | CPU_FORCE_ROWS},
                                {"base", RIG_THREADS(3) | CPU_FORCE_ROWS},
                                {"v3", RIG_THREADS(3) | CPU_FORCE_COLS},
                                {"v3", RIG_THREADS(7)}};
  static uint8_t got[RIG_BYTES];
  rig r;
  int64_t at;
  rig_init(&r, 2, 1);
  r.bytes = RIG_BYTES;
  r.ext[0] = 3, r.ext[1] = n;
  int x = rig_arg(&r, TSH_f32), y = rig_arg(&r, TSH_f32);
  rig_image_tame(&r, x, seed);
  rig_image_tame(&r, y, seed);
  float *in = (float *)r.image[x];
  for (int i = 0; i < RIG_BYTES / 4 && op == TSH_OP_prod; i++)
    in[i] = 1 + in[i] / 64;
  r.stride[x][0] = r.stride[x][1] = 1; /* rows that overlap */
  r.stride[y][0] = 1;
  int v = rig_inst(&r, TSH_OP_LOAD, TSH_f32, 0, 0, 0, (uint64_t)x, 0);
  v = rig_inst(&r, op, TSH_f32, v, 0, 0, 0, 0);
  rig_inst(&r, TSH_OP_STORE, 0, v, 0, 0, (uint64_t)y, TSH_ROW);
  for (int i = 0; i < 9; i++) {
    cr_assert_eq(rig_run(&r, way[i], y, got, &at), TSH_OK);
    for (int row = 0; row < 3; row++) {
      float want = promised(op, in + row, n);
      cr_expect(memcmp(&want, got + 4 * row, 4) == 0,
                "op %d, %d elements, way %d, row %d", op, (int)n, i, row);
    }
  }
  rig_fini(&r);
}

Test(fold, sum_and_prod_keep_the_promised_order) {
  static const int64_t length[] = {
      0,   1,    2,    15,   16,   17,   24,    25,    33,    511,  512,
      513, 1000, 4095, 4096, 4097, 8192, 12293, 28672, 32768, 50000};
  uint32_t seed = 11;
  for (int i = 0; i < 21; i++) {
    check(TSH_OP_sum, length[i], &seed);
    check(TSH_OP_prod, length[i], &seed);
  }
}
