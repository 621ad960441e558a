/* space.c - the axes of a launch: joined where possible, and where each
 * argument lies along them. */
#include <string.h>

#include "cpu.h"

static int moves(const tsh_prog *prog, int arg, int full) {
  int bits = prog->arg[arg];
  return (bits & CPU_ARG_USED) && (!full || (bits & CPU_ARG_FULL));
}

/* May axis k of the launch be joined to the axis before it, at place `to`? */
static int joins(const cpu_run *run, const tsh_prog *prog,
                 const tsh_launch *launch, int k, int to, int full) {
  for (int i = 0; i < prog->narg; i++) {
    if (!moves(prog, i, full)) continue;
    if (run->place[i].stride[to] !=
        launch->arg[i].stride[k] * launch->extent[k])
      return 0;
  }
  return 1;
}

int cpu_space_axes(cpu_run *run, const tsh_prog *prog, const tsh_launch *launch,
                   uint32_t axes, int at, int full, cpu_space *space) {
  const int64_t *ext = launch->extent;
  int64_t lin[TSH_MAX_RANK], step = 1;
  int n = 0, before = -1; /* the launch's axis that became axis n - 1 */
  space->points = 1;
  for (int k = prog->rank; k-- > 0; step *= ext[k]) lin[k] = step;
  for (int k = 0; k < prog->rank; k++) {
    if (!(axes >> k & 1)) continue;
    space->points *= ext[k];
    if (ext[k] == 1) continue;
    if (n > 0 && lin[before] == lin[k] * ext[k] &&
        joins(run, prog, launch, k, at + n - 1, full))
      n--, space->ext[n] *= ext[k];
    else
      space->ext[n] = ext[k];
    space->lin[n] = lin[k];
    for (int i = 0; i < prog->narg; i++)
      run->place[i].stride[at + n] =
          moves(prog, i, full) ? launch->arg[i].stride[k] : 0;
    before = k;
    n++;
  }
  space->rank = n;
  return n;
}

void cpu_space_bases(cpu_run *run, const tsh_prog *prog,
                     const tsh_launch *launch) {
  for (int i = 0; i < prog->narg; i++) {
    const tsh_view *v = &launch->arg[i];
    if (!(prog->arg[i] & CPU_ARG_USED)) continue;
    run->place[i].start = v->offset;
    if (v->buf) run->place[i].base = v->buf->mem + v->offset * prog->bytes[i];
  }
}

static int kind_of(const cpu_space *space, const int64_t *stride) {
  int k = space->rank - 1, zero = 1, dense = 1;
  int64_t next = 1;
  if (k < 0) return CPU_LINEAR;
  for (; k >= 0; k--) {
    zero &= stride[k] == 0;
    dense &= stride[k] == next;
    next = stride[k] * space->ext[k];
  }
  return zero ? CPU_SPLAT : dense ? CPU_LINEAR : CPU_MIXED;
}

void cpu_space_kinds(cpu_run *run, const cpu_code *code, const cpu_space *space,
                     int row) {
  for (uint32_t i = 0; i < code->nport; i++)
    if (code->port[i].row == row)
      run->kind[i] =
          (uint8_t)kind_of(space, run->place[code->port[i].arg].stride);
}

void cpu_cursor_set(cpu_cursor *c, const cpu_space *space, int64_t p) {
  c->p = p;
  for (int k = space->rank; k-- > 0;) {
    if (p == 0) {
      c->idx[k] = 0;
      continue;
    }
    c->idx[k] = p % space->ext[k];
    p /= space->ext[k];
  }
}

void cpu_cursor_move(cpu_cursor *c, const cpu_space *space, int64_t n) {
  int k = space->rank - 1;
  c->p += n;
  if (k < 0) return;
  c->idx[k] += n;
  for (; k > 0 && c->idx[k] >= space->ext[k]; k--) {
    int64_t carry = c->idx[k] / space->ext[k];
    c->idx[k] -= carry * space->ext[k];
    c->idx[k - 1] += carry;
  }
}

int64_t cpu_space_number(const cpu_space *space, int64_t p) {
  cpu_cursor c;
  int64_t at = 0;
  cpu_cursor_set(&c, space, p);
  for (int k = 0; k < space->rank; k++) at += c.idx[k] * space->lin[k];
  return at;
}

void cpu_note_bad(cpu_run *run, int64_t at) {
  if (run->bad_at < 0 || at < run->bad_at) run->bad_at = at;
  run->bad_lane = -1;
}

/* Full arguments that need a gather when the last of n axes is the lanes'. */
static int gathers(const cpu_run *run, const tsh_prog *prog, int axis) {
  int count = 0;
  for (int i = 0; i < prog->narg && axis >= 0; i++) {
    int64_t stride = run->place[i].stride[axis];
    count += moves(prog, i, 1) && stride != 0 && stride != 1;
  }
  return count;
}

int cpu_prefer_cols(const cpu_run *run, const tsh_prog *prog,
                    const cpu_space *outer, const cpu_space *fold) {
  if (run->force & (CPU_FORCE_ROWS | CPU_FORCE_COLS))
    return (run->force & CPU_FORCE_COLS) != 0;
  if (outer->points < 8) return 0;
  if (fold->rank == 0 || prog->has_dot) return 1;
  int in_cols = gathers(run, prog, outer->rank - 1);
  int in_rows = gathers(run, prog, outer->rank + fold->rank - 1);
  if (in_cols != in_rows) return in_cols < in_rows;
  return fold->points < 32;
}
