/* test_ways.c - random programs give equal bits on every instruction set and
 * in every way of walking. */
#include <criterion/criterion.h>
#include <string.h>

#include "rig.h"

enum { PROGRAMS = 1200 };

static int first_output(const rig *r) {
  return r->k.narg -
         (int)kit_outputs(&(tsh_kernel){.ninst = r->k.ninst,
                                        .narg = r->k.narg,
                                        .inst = r->inst,
                                        .inst_size = sizeof *r->inst});
}

static void same_in_all_ways(uint32_t seed, int fold, const rig_way *way,
                             int nway) {
  static uint8_t want[RIG_BYTES], got[RIG_BYTES];
  rig r;
  rig_program(&r, seed, fold);
  for (int arg = first_output(&r); arg < r.k.narg; arg++) {
    int64_t at, first_at;
    tsh_status first = rig_run(&r, way[0], arg, want, &first_at);
    cr_assert(first == TSH_OK, "seed %u: status %d", seed, first);
    for (int i = 1; i < nway; i++) {
      tsh_status rc = rig_run(&r, way[i], arg, got, &at);
      cr_assert_eq(rc, first, "seed %u, way %d: %d", seed, i, rc);
      cr_expect(memcmp(want, got, RIG_BYTES) == 0,
                "seed %u, fold %d: way %d (%s, force %x) differs "
                "in argument %d",
                seed, fold, i, way[i].isa, way[i].force, arg);
    }
  }
  rig_fini(&r);
}

Test(ways, maps_have_the_same_bits_on_every_instruction_set) {
  static const rig_way way[] = {
      {"base", 0},
      {"v3", 0},
      {"v4", 0},
      {"v3", RIG_THREADS(2)},
      {"base", RIG_THREADS(3)},
      {"v3", RIG_THREADS(7)},
  };
  for (uint32_t seed = 1; seed <= PROGRAMS; seed++)
    same_in_all_ways(seed, 0, way, sizeof way / sizeof *way);
}

Test(ways, folds_have_the_same_bits_in_all_ways) {
  static const rig_way way[] = {
      {"base", CPU_FORCE_ROWS | CPU_FORCE_PLAIN},
      {"v3", CPU_FORCE_ROWS | CPU_FORCE_PLAIN},
      {"v3", CPU_FORCE_ROWS},
      {"v3", CPU_FORCE_COLS},
      {"base", CPU_FORCE_COLS},
      {"v3", 0},
      {"v3", RIG_THREADS(2) | CPU_FORCE_ROWS},
      {"base", RIG_THREADS(3) | CPU_FORCE_COLS},
      {"v3", RIG_THREADS(3) | CPU_FORCE_ROWS | CPU_FORCE_PLAIN},
      {"v3", RIG_THREADS(7)},
      {"v4", CPU_FORCE_ROWS},
      {"v4", CPU_FORCE_COLS | CPU_FORCE_PLAIN},
      {"v4", 0},
  };
  for (uint32_t seed = 1; seed <= PROGRAMS; seed++)
    same_in_all_ways(seed, 1, way, sizeof way / sizeof *way);
}

/* An output over an input gives what it gives elsewhere. */
Test(ways, an_output_may_overwrite_its_input) {
  static uint8_t want[RIG_BYTES], got[RIG_BYTES];
  int met = 0;
  for (uint32_t seed = 1; seed <= PROGRAMS; seed++) {
    rig r;
    int64_t at;
    rig_program(&r, seed, 0);
    for (int arg = first_output(&r); arg < r.k.narg; arg++) {
      int in = r.alias[arg];
      if (in < 0) continue;
      met++;
      cr_assert_eq(rig_run(&r, (rig_way){"v3", 0}, arg, got, &at), TSH_OK);
      r.alias[arg] = -1;
      memcpy(r.image[arg], r.image[in], r.bytes);
      cr_assert_eq(rig_run(&r, (rig_way){"v3", 0}, arg, want, &at), TSH_OK);
      r.alias[arg] = in;
      cr_expect(memcmp(want, got, RIG_BYTES) == 0, "seed %u", seed);
    }
    rig_fini(&r);
  }
  cr_expect(met > 50, "only %d programs overwrite", met);
}
