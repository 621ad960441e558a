/* test_fuzz.c - fuzz_file.c for 20,000 changed copies of right files. The seed
 * is fixed; FUZZ_SEED and FUZZ_COUNT in the environment are others. */
#include <stdlib.h>
#include <string.h>
#include <criterion/criterion.h>
#include "rig.h"
#include "fuzz_file.c"

enum { SEEDS = 7, MOST = 4096 };
static struct {
  uint8_t bytes[MOST];
  size_t n;
} seed[SEEDS];

static uint64_t state = 1;

static uint32_t draw(uint32_t below) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(state >> 33) % below;
}

static void add(int i, const void *bytes, size_t n) {
  cr_assert_lt(n, MOST);
  memcpy(seed[i].bytes, bytes, n);
  seed[i].n = n;
}

static void write_seed(int i, int format, int packed, int64_t n) {
  static float cells[12];
  static const char *const note[] = {"a", "b"};
  file_item item[] = {{.name = "x", .dtype = TSH_f32, .rank = 2, .dim = {3, 4}},
                      {.name = "y", .dtype = TSH_bool},
                      {.name = "z", .dtype = TSH_i16, .rank = 1, .dim = {0}}};
  const void *list[] = {cells, cells, cells};
  file_content c = {.format = format,
                    .packed = packed,
                    .item = item,
                    .n = n,
                    .note = note,
                    .nnote = format == FILE_safetensors};
  size_t size = 0;
  char *bytes = rig_write(&c, list, &size);
  cr_assert(bytes, "%s", rig_err.text);
  add(i, bytes, size);
  free(bytes);
}

static void make_seeds(void) {
  static const char gz[] = "\x1f\x8b\x08\0\0\0\0\0\x02\x03\x63\x60\xe0\x60\x62"
                           "\x60\x60\0\x61\x66\x46\x26\xe6\x5f\xbf\xff\x03\0"
                           "\x19\x4c\x3a\x14\x12\0\0";
  static char fortran[] =
      "\x93NUMPY\3\0?\0\0\0{'descr': '>f2', 'fortran_order': True, 'shape':"
      " (2, 2), }12345678";
  fortran[8] = sizeof fortran - 1 - 8 - 12;
  add(0, "\0\0\x0c\2\0\0\0\1\0\0\0\2abcdefgh", 20);
  add(1, gz, sizeof gz);
  add(2, fortran, sizeof fortran - 1);
  write_seed(3, FILE_npy, 0, 1);
  write_seed(4, FILE_npz, 0, 3);
  write_seed(5, FILE_npz, 1, 3);
  write_seed(6, FILE_safetensors, 0, 3);
}

/* One change: bits, a byte of meaning, a piece away, twice, or to elsewhere. */
static size_t change(uint8_t *b, size_t n) {
  static const uint8_t edge[] = {0,   1,   0x7f, 0x80, 0xff, '{', '}',
                                 '[', ']', '"',  '-',  '9',  ',', ' '};
  size_t at, length, to;
  if (!n) return 0;
  at = draw((uint32_t)n);
  length = 1 + draw((uint32_t)(n - at < 16 ? n - at : 16));
  to = draw((uint32_t)(n - length + 1));
  switch (draw(6)) {
  case 0:
    b[at] ^= (uint8_t)(1 << draw(8));
    return n;
  case 1:
    b[at] = edge[draw(sizeof edge)];
    return n;
  case 2:
    memset(b + at, edge[draw(sizeof edge)], length);
    return n;
  case 3:
    memmove(b + at, b + at + length, n - at - length);
    return n - length;
  case 4:
    if (n + length >= MOST) return n;
    memmove(b + at + length, b + at, n - at);
    return n + length;
  default:
    memmove(b + to, b + at, length);
    return n;
  }
}

static long number(const char *name, long otherwise) {
  const char *text = getenv(name);
  return text ? atol(text) : otherwise;
}

Test(fuzz, changed_files_are_read_or_refused) {
  static uint8_t b[MOST];
  long count = number("FUZZ_COUNT", 20000);
  state = (uint64_t)number("FUZZ_SEED", 1);
  make_seeds();
  for (int i = 0; i < SEEDS; i++)
    cr_expect_eq(rig_read(seed[i].bytes, seed[i].n, FILE_UNKNOWN), TSH_OK,
                 "%d: %s", i, rig_err.text);
  rig_biggest = 0;
  for (long i = 0; i < count; i++) {
    int s = (int)draw(SEEDS);
    size_t n = seed[s].n;
    memcpy(b, seed[s].bytes, n);
    for (uint32_t k = 1 + draw(4); k; k--) n = change(b, n);
    LLVMFuzzerTestOneInput(b, n);
  }
  /* A buffer to inflate through, but nothing that a header asked for. */
  cr_expect_lt(rig_biggest, 100000);
}
