/* ops.c - what the cpu has: the op table as masks of compute dtypes, and the
 * choice of an instruction set. */
#include <stdlib.h>
#include <string.h>

#include "device.h"

#define HAS_F   (TSH_BIT(TSH_f32) | TSH_BIT(TSH_f64))
#define HAS_I   (TSH_BIT(TSH_i32) | TSH_BIT(TSH_i64))
#define HAS_B   TSH_BIT(TSH_bool)
#define HAS_FI  (HAS_F | HAS_I)
#define HAS_IB  (HAS_I | HAS_B)
#define HAS_FIB (HAS_FI | HAS_B)

/* MOVE ops never reach a plugin. */
const uint32_t cpu_op_types[TSH_NOPS] = {
#define CPU_X(id, name, class, arity, takes, ...) [id] = HAS_##takes,
    TSH_OPS_MAP1(CPU_X) TSH_OPS_MAP2(CPU_X) TSH_OPS_MAP3(CPU_X)
        TSH_OPS_FOLD(CPU_X) TSH_OPS_CALL(CPU_X)
#undef CPU_X
};

#ifdef CPU_HAVE_V3
/* What a compiler may use for x86-64-v3. */
static int has_v3(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("popcnt");
}
#endif

const cpu_isa *cpu_isa_get(const char *name) {
#ifdef CPU_HAVE_V3
  if (strcmp(name, "v3") == 0 && has_v3()) return &cpu_isa_v3;
#endif
  return strcmp(name, "base") == 0 ? &cpu_isa_base : NULL;
}

const cpu_isa *cpu_isa_best(void) {
  const char *forced = getenv("TSH_ISA");
  const cpu_isa *isa = forced ? cpu_isa_get(forced) : NULL;
  if (!isa) isa = cpu_isa_get("v3");
  return isa ? isa : &cpu_isa_base;
}
