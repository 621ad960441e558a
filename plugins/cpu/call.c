/* call.c - CALL ops: what is checked when one is compiled, which function runs
 * it, and its epilogue. */
#include <string.h>

#include "call.h"

/* ---- the table ---------------------------------------------------------- */
typedef struct {
  tsh_status (*run)(const cpu_call *c);
  int nin, nattr;
  int at; /* argument that holds positions, or 0 */
} call_row;

/* clang-format off */
static const call_row *row_of(int op) {
  static const call_row rows[TSH_NOPS] = {
    [TSH_OP_take]        = {cpu_take,        2, 1, 1},
    [TSH_OP_index_add]   = {cpu_index_add,   3, 1, 1},
    [TSH_OP_gather]      = {cpu_gather_at,   2, 1, 1},
    [TSH_OP_scatter_add] = {cpu_scatter_add, 3, 1, 1},
    [TSH_OP_sort]        = {cpu_sort,        1, 2, 0},
    [TSH_OP_argsort]     = {cpu_argsort,     1, 2, 0},
    [TSH_OP_argtopk]     = {cpu_argtopk,     1, 3, 0},
    [TSH_OP_cumsum]      = {cpu_scan,        1, 1, 0},
    [TSH_OP_cumprod]     = {cpu_scan,        1, 1, 0},
    [TSH_OP_nonzero]     = {cpu_nonzero,     1, 0, 0},
    [TSH_OP_index_set]   = {cpu_index_put,   3, 1, 1},
    [TSH_OP_index_mul]   = {cpu_index_put,   3, 1, 1},
    [TSH_OP_index_max]   = {cpu_index_put,   3, 1, 1},
    [TSH_OP_index_min]   = {cpu_index_put,   3, 1, 1},
  };
  return op < TSH_NOPS && rows[op].run ? &rows[op] : NULL;
}
/* clang-format on */

/* ---- what is compiled --------------------------------------------------- */
static tsh_status check_dtypes(const tsh_kernel *k, const call_row *row,
                               tsh_err *err) {
  int x = k->arg_dtype[0], out = k->arg_dtype[k->narg - 1];
  int gives = kit_op_get(k->op)->gives == KIT_TO ? TSH_i64 : x;
  if (out != gives || (row->nin == 3 && k->arg_dtype[2] != x))
    return kit_fail(err, TSH_EINVAL, "%s of %s gives %s", kit_op_name(k->op),
                    kit_dtype_name(x), kit_dtype_name(out));
  if (!(cpu_op_types[k->op] & TSH_BIT(x)) || !cpu_put_has(k->op, x))
    return kit_fail(err, TSH_EUNSUPPORTED, "no %s of %s", kit_op_name(k->op),
                    kit_dtype_name(x));
  if (row->at && k->arg_dtype[row->at] != TSH_i32 &&
      k->arg_dtype[row->at] != TSH_i64)
    return kit_fail(err, TSH_EINVAL, "positions are i32 or i64, not %s",
                    kit_dtype_name(k->arg_dtype[row->at]));
  return TSH_OK;
}

/* Do the ranks of the arguments fit each other? */
static int ranks_fit(const tsh_kernel *k, const call_row *row) {
  const uint8_t *rank = k->arg_rank;
  int out = rank[k->narg - 1];
  switch (k->op) {
  case TSH_OP_take:
    return out == rank[0] - 1 + rank[1];
  case TSH_OP_index_add:
  case TSH_OP_index_set:
  case TSH_OP_index_mul:
  case TSH_OP_index_max:
  case TSH_OP_index_min:
    return out == rank[0] && rank[2] == rank[0] - 1 + rank[1];
  case TSH_OP_nonzero:
    return out == 1;
  default:
    for (int i = 1; i < row->nin; i++)
      if (rank[i] != rank[0]) return 0;
    return out == rank[0];
  }
}

static int ranks_small(const tsh_kernel *k) {
  for (uint32_t i = 0; i < k->narg; i++)
    if (k->arg_rank[i] > TSH_MAX_RANK) return 0;
  return 1;
}

tsh_status cpu_call_check(const tsh_kernel *k, tsh_err *err) {
  const call_row *row = row_of(k->op);
  if (!row) return kit_fail(err, TSH_EUNSUPPORTED, "no call of op %u", k->op);
  if (k->narg <= row->nin || k->nattr < row->nattr)
    return kit_fail(err, TSH_EINVAL, "%s with %u arguments, %u attributes",
                    kit_op_name(k->op), k->narg, k->nattr);
  if (row->nattr && (k->attr[0] < 0 || k->attr[0] >= k->arg_rank[0]))
    return kit_fail(err, TSH_EINVAL, "%s along axis %lld of rank %u",
                    kit_op_name(k->op), (long long)k->attr[0], k->arg_rank[0]);
  if (!ranks_fit(k, row) || !ranks_small(k))
    return kit_fail(err, TSH_EINVAL,
                    "%s: argument 0 of rank %u, the next of rank %u, the last "
                    "of rank %u",
                    kit_op_name(k->op), k->arg_rank[0], k->arg_rank[1],
                    k->arg_rank[k->narg - 1]);
  return check_dtypes(k, row, err);
}

/* ---- arguments and memory ----------------------------------------------- */
char *call_base(const cpu_call *c, int i) {
  const tsh_view *v = call_view(c, i);
  return v->buf->mem + v->offset * call_bytes(c, i);
}

tsh_status call_room(const cpu_call *c, uint64_t bytes, tsh_buf **out) {
  return cpu_pool_take(&c->dev->pool, bytes ? bytes : 1, out, NULL);
}

void call_room_free(const cpu_call *c, tsh_buf *room) {
  cpu_pool_give(&c->dev->pool, room);
}

/* ---- lines -------------------------------------------------------------- */
void call_lines_init(call_lines *w, int rank, const int64_t *extent, int axis) {
  memset(w, 0, sizeof *w);
  for (int k = 0; k < rank; k++)
    if (k != axis) w->ext[w->rank++] = extent[k];
}

void call_lines_add(call_lines *w, const int64_t *stride, int axis, int not ) {
  int64_t *to = w->stride[w->narg++];
  for (int k = 0, i = 0; i < w->rank; k++)
    if (k != axis) to[i++] = k == not ? 0 : stride[k];
}

int call_lines_next(call_lines *w) {
  for (int k = w->rank; k-- > 0;) {
    int more = ++w->idx[k] < w->ext[k];
    for (int i = 0; i < w->narg; i++)
      w->at[i] += more ? w->stride[i][k] : -w->stride[i][k] * (w->ext[k] - 1);
    if (more) return 1;
    w->idx[k] = 0;
  }
  return 0;
}

/* ---- running ------------------------------------------------------------ */
tsh_status cpu_call_run(tsh_dev *dev, const tsh_prog *prog,
                        const tsh_launch *launch) {
  const call_row *row = row_of(prog->op);
  cpu_call c = {dev, &dev->run, prog, launch, dev->isa, row->nin};
  tsh_status rc = row->run(&c);
  if (rc != TSH_OK || !prog->code.memory) return rc;
  tsh_launch epilogue = *launch;
  epilogue.extent = launch->arg[prog->narg - 1].extent;
  return dev->isa->program(&dev->run, prog, &epilogue);
}
