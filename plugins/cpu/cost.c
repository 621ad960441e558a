/* cost.c - what a launch takes, and into how many parts it is cut. The estimate
 * is of one thread and of data in the caches: rather too low than too high. */
#include "lower.h"

/* ---- of a point --------------------------------------------------------- */
#define STEP_NS  0.04  /* of an op that costs 1, on four bytes */
#define BYTE_NS  0.012 /* of a LOAD or STORE */
#define FOLD_NS  0.06  /* of a FOLD on four bytes */
#define CHAIN_NS 0.5   /* of dot: each step waits for the one before */

static double inst_ns(const cpu_lowering *l, uint32_t i) {
  const tsh_inst *in = cpu_inst(l, i);
  int stores = in->op == TSH_OP_STORE;
  int type = stores ? l->v[in->a].dtype : l->v[i].compute;
  double bytes = kit_dtype_bytes(type ? type : l->v[i].dtype);
  if (stores || cpu_is_port(in->op)) return BYTE_NS * bytes;
  if (in->op == TSH_OP_dot) return CHAIN_NS;
  if (cpu_is_class(in->op, KIT_FOLD)) return FOLD_NS * bytes / 4;
  return STEP_NS * bytes / 4 * cpu_op_cost(in->op, l->v[i].compute);
}

double cpu_point_ns(const cpu_lowering *l) {
  double ns = 0;
  for (uint32_t p = 0; p < l->nphase; p++)
    for (uint32_t i = 0; i < l->n; i++)
      if (l->member[(size_t)p * l->n + i]) ns += inst_ns(l, i);
  return ns;
}

/* ---- parts -------------------------------------------------------------- */
enum {
  SHARES = 8,  /* parts for each worker: the slow take fewer */
  TINY = 7,    /* points of a part when all is shared, for tests */
  GRAIN = 2000 /* ns of the smallest part, where a part costs nothing to take */
};

int cpu_threads(cpu_run *run, double ns) {
  if (cpu_team_size(run->team) < 2) return 1;
  if (!(run->force & CPU_FORCE_SHARE) && !cpu_team_worth(run->team, ns))
    return 1;
  return cpu_run_peers(run);
}

int64_t cpu_cut(const cpu_run *run, double ns, int threads, int64_t points,
                int64_t unit, int64_t *piece) {
  if ((run->force & CPU_FORCE_SHARE) && unit > TINY) unit = TINY;
  double grain = GRAIN + 5 * cpu_team_lag(run->team);
  int64_t units = (points + unit - 1) / unit, parts = (int64_t)(ns / grain);
  if (parts > SHARES * threads) parts = SHARES * threads;
  if (parts > threads) parts -= parts % threads;
  if (parts < 2) parts = 2;
  if (parts > units || (run->force & CPU_FORCE_SHARE)) parts = units;
  if (parts < 1) parts = 1;
  *piece = (units + parts - 1) / parts * unit;
  return (points + *piece - 1) / *piece;
}

int64_t cpu_parts(cpu_run *run, double ns, int64_t points, int64_t unit,
                  int64_t *piece) {
  *piece = points;
  if (points <= unit && !(run->force & CPU_FORCE_SHARE)) return 1;
  int threads = cpu_threads(run, ns);
  return threads < 2 ? 1 : cpu_cut(run, ns, threads, points, unit, piece);
}
