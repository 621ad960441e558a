/* ops.c - what the cpu has: the op table as masks of compute dtypes, and the
 * choice of an instruction set. */
#include <stdlib.h>
#ifdef CPU_HAVE_V3
#include <cpuid.h>
#endif
#include <string.h>

#include "device.h"

#define BIT(name, ...) | TSH_BIT(TSH_##name)
#define HALF           (0u CPU_HALVES(BIT))
#define HAS_F          (HALF CPU_FLOATS(BIT))
#define HAS_I          (0u CPU_INTS(BIT))
#define HAS_B          TSH_BIT(TSH_bool)
#define HAS_FI         (HAS_F | HAS_I)
#define HAS_IB         (HAS_I | HAS_B)
#define HAS_FIB        (HAS_FI | HAS_B)

/* No sums and products of halves (see the header), random words are i64. */
#define ADDS(id)                                                               \
  ((id) == TSH_OP_sum || (id) == TSH_OP_prod || (id) == TSH_OP_dot ||          \
   (id) == TSH_OP_index_add || (id) == TSH_OP_scatter_add ||                   \
   (id) == TSH_OP_index_mul || (id) == TSH_OP_index_max ||                     \
   (id) == TSH_OP_index_min || (id) == TSH_OP_cumsum ||                        \
   (id) == TSH_OP_cumprod)
/* Of shorter integers scans are recorded as those of i64 and u64. */
#define SHORT                                                                  \
  (TSH_BIT(TSH_i8) | TSH_BIT(TSH_u8) | TSH_BIT(TSH_i16) | TSH_BIT(TSH_u16))
#define LACKS(id)                                                              \
  ((ADDS(id)                ? HALF                                             \
    : (id) == TSH_OP_random ? ~TSH_BIT(TSH_i64)                                \
                            : 0u) |                                            \
   ((id) == TSH_OP_cumsum || (id) == TSH_OP_cumprod ? SHORT : 0u))

/* MOVE ops never reach a plugin. */
const uint32_t cpu_op_types[TSH_NOPS] = {
#define CPU_X(id, name, class, arity, takes, ...)                              \
  [id] = HAS_##takes & ~LACKS(id),
    TSH_OPS_MAP1(CPU_X) TSH_OPS_MAP2(CPU_X) TSH_OPS_MAP3(CPU_X)
        TSH_OPS_FOLD(CPU_X) TSH_OPS_CALL(CPU_X)
#undef CPU_X
};

/* ---- instruction sets ---------------------------------------------------- */
/* What a compiler may use for each level; the last two also need an operating
 * system that saves the registers, which the builtin asks for. */
#ifdef CPU_HAVE_V3
/* clang's builtin does not know the name. */
static int has_f16c(void) {
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
}

static int has_v3(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("popcnt") && has_f16c();
}
#endif
#ifdef CPU_HAVE_V4
static int has_v4(void) {
  return has_v3() && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") &&
         __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
#endif

const cpu_isa *cpu_isa_get(const char *name) {
#ifdef CPU_HAVE_V4
  if (strcmp(name, "v4") == 0 && has_v4()) return &cpu_isa_v4;
#endif
#ifdef CPU_HAVE_V3
  if (strcmp(name, "v3") == 0 && has_v3()) return &cpu_isa_v3;
#endif
  return strcmp(name, "base") == 0 ? &cpu_isa_base : NULL;
}

const cpu_isa *cpu_isa_best(tsh_err *err) {
  static const char *const names[] = {"v4", "v3", "base"};
  const char *forced = getenv("TSH_ISA");
  const cpu_isa *isa = NULL;
  if (forced && *forced) {
    isa = cpu_isa_get(forced);
    if (isa) return isa;
    kit_fail(err, TSH_ENODEV, "TSH_ISA is %.20s, this machine runs base%s%s",
             forced, cpu_isa_get("v3") ? ", v3" : "",
             cpu_isa_get("v4") ? ", v4" : "");
    return NULL;
  }
  for (int i = 0; i < 3 && !isa; i++) isa = cpu_isa_get(names[i]);
  return isa;
}
