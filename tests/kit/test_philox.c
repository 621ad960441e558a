/* Philox4x32-10 against the published vectors of Random123. */
#include <criterion/criterion.h>

#include "kit_math.h"

Test(philox, gives_the_published_blocks) {
  static const struct {
    uint32_t ctr[4], key[2], out[4];
  } t[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (int i = 0; i < 3; i++) {
    uint32_t c[4];
    memcpy(c, t[i].ctr, sizeof c);
    kit_philox_block(c, t[i].key[0], t[i].key[1]);
    cr_expect_arr_eq(c, t[i].out, sizeof c, "vector %d", i);
  }
}

Test(philox, word_j_is_word_j_mod_4_of_counter_base_plus_j_over_4) {
  static const uint32_t first[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c,
                                    0x9b00dbd8};
  const uint64_t key = 0x299f31d0a4093822,
                 bases[] = {0, 5, UINT64_MAX - 1, 0xffffffff};
  for (uint32_t j = 0; j < 4; j++) cr_expect_eq(kit_philox(j, 0, 0), first[j]);
  for (int i = 0; i < 4; i++)
    for (uint64_t j = 0; j < 20; j++) {
      uint64_t at = bases[i] + j / 4; /* wraps */
      uint32_t c[4] = {(uint32_t)at, (uint32_t)(at >> 32), 0, 0};
      kit_philox_block(c, 0xa4093822, 0x299f31d0);
      cr_expect_eq(kit_philox(j, key, bases[i]), c[j % 4]);
      cr_expect_eq(kit_random((int64_t)j, (int64_t)key, (int64_t)bases[i]),
                   (int64_t)c[j % 4]);
    }
}

Test(philox, word_before_the_first_is_of_the_block_before) {
  const uint64_t key = 0x299f31d0a4093822, bases[] = {0, 5, UINT64_C(1) << 40};
  const int64_t mid = INT64_MIN / 4;
  for (int i = 0; i < 3; i++)
    for (int64_t j = 1; j <= 20; j++) {
      const int64_t back = (j + 3) / 4; /* blocks */
      const uint32_t word =
          kit_philox(4 * back - j, key, bases[i] - (uint64_t)back); /* wraps */
      cr_expect_eq(kit_philox(-j, key, bases[i]), word, "word -%d", (int)j);
      cr_expect_eq(kit_random(-j, (int64_t)key, (int64_t)bases[i]), word);
    }
  cr_expect_eq(kit_philox(INT64_MIN, key, 9),
               kit_philox(0, key, 9 + (uint64_t)mid));
}
