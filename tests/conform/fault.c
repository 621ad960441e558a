/* fault.c - the plugin's table with one fault planted: what a broken plugin
 * would do, so that the tests can be tested. Submits and waits in one, gives
 * its own tickets, and then spoils what the real plugin has done. */
#include <stdlib.h>
#include <string.h>

#include "cf.h"

/* What has to be known of a program: its first STORE, or its CALL op and the
 * argument that this writes. */
typedef struct note {
  struct note *next;
  tsh_prog *prog;
  uint32_t arg;
  int rank, dtype, stores, sums; /* rank of the space; sums: has a FOLD sum */
  int call;                      /* 0: none */
} note;

static struct {
  const tsh_plugin *real;
  tsh_plugin table;
  int fault;
  uint32_t calls;
  uint64_t call_launches;
  uint64_t tickets;
  tsh_err kept; /* an error to be reported by wait */
  int keeps;    /* how often */
  uint64_t kept_ticket;
  note *notes;
  uint32_t op_types[TSH_NOPS];
  uint32_t word;    /* a cancel word that nobody sets */
  uint32_t *cancel; /* the one that the tests set */
} f;

#define PLANTED(name) (f.fault == CF_FAULT_##name)

/* ---- kernels ------------------------------------------------------------ */
static const tsh_inst *inst_at(const tsh_kernel *k, int i) {
  return (const tsh_inst *)(const void *)((const uint8_t *)k->inst +
                                          (size_t)i * k->inst_size);
}

static void take_note(const tsh_kernel *k, tsh_prog *prog) {
  note *n = calloc(1, sizeof *n);
  if (!n) return;
  n->prog = prog;
  n->next = f.notes;
  n->rank = k->rank;
  f.notes = n;
  n->call = k->op;
  if (n->call && k->narg) {
    n->arg = k->narg - 1u;
    n->dtype = k->arg_dtype[n->arg];
    n->stores = 1;
  }
  for (int i = k->ninst - 1; i >= 0; i--) {
    const tsh_inst *in = inst_at(k, i);
    n->sums |= in->op == TSH_OP_sum;
    if (in->op != TSH_OP_STORE || in->imm >= k->narg) continue;
    n->arg = (uint32_t)in->imm;
    n->dtype = k->arg_dtype[in->imm];
    n->stores = 1;
  }
}

static const note *note_of(const tsh_prog *prog) {
  const note *n = f.notes;
  while (n && n->prog != prog) n = n->next;
  return n;
}

/* Something that compiles, in place of what must not. */
static tsh_status compile_any(tsh_dev *dev, tsh_prog **out, tsh_err *err) {
  cf_kern k;
  cf_kern_init(&k, 1, 0);
  cf_arg(&k, TSH_f32, TSH_STRIDED);
  cf_store(&k, cf_const(&k, TSH_f32, 0), 0, 0);
  k.k.inst = k.inst;
  k.k.arg_dtype = k.dtype;
  k.k.arg_class = k.class_;
  k.k.arg_rank = k.rank;
  k.k.attr = k.attr;
  return f.real->compile(dev, &k.k, out, err);
}

static tsh_status fault_compile(tsh_dev *dev, const tsh_kernel *k,
                                tsh_prog **out, tsh_err *err) {
  tsh_status rc = f.real->compile(dev, k, out, err);
  if (rc == TSH_OK) take_note(k, *out);
  if (rc != TSH_OK && PLANTED(malformed_is_accepted))
    return compile_any(dev, out, err);
  return rc;
}

static void fault_drop(tsh_dev *dev, tsh_prog *prog) {
  for (note **n = &f.notes; *n; n = &(*n)->next)
    if ((*n)->prog == prog) {
      note *gone = *n;
      *n = gone->next;
      free(gone);
      break;
    }
  f.real->drop(dev, prog);
}

/* ---- spoiling memory ---------------------------------------------------- */
/* Copies the element of a launch's first output, `beside` elements off, to or
 * from v. 0 where there is none. */
static int element(tsh_dev *dev, const tsh_launch *l, int64_t beside,
                   uint8_t v[8], int write) {
  const note *n = note_of(l->prog);
  const tsh_view *view;
  tsh_copy c = {.size = sizeof c};
  tsh_err err = {.size = sizeof err};
  if (!n || !n->stores) return 0;
  view = &l->arg[n->arg];
  if (view->offset + beside < 0) return 0;
  c.bytes = cf_bytes(n->dtype);
  c.host = v;
  *(write ? &c.dst : &c.src) = view->buf;
  *(write ? &c.dst_at : &c.src_at) =
      (uint64_t)(view->offset + beside) * c.bytes;
  return f.real->copy(dev, &c, &err) == TSH_OK;
}

static void flip(tsh_dev *dev, const tsh_launch *l, int64_t beside) {
  uint8_t v[8];
  if (!element(dev, l, beside, v, 0)) return;
  v[0] ^= 1;
  element(dev, l, beside, v, 1);
}

static int has_empty_fold(const tsh_launch *l) {
  const note *n = note_of(l->prog);
  return n && l->extent && l->extent[n->rank - 1] == 0;
}

static void swap(tsh_dev *dev, const tsh_launch *l) {
  uint8_t a[8], b[8];
  if (!element(dev, l, 0, a, 0) || !element(dev, l, 1, b, 0)) return;
  element(dev, l, 0, b, 1);
  element(dev, l, 1, a, 1);
}

/* Of a scan the first element that has a block of 16 before it. */
static void spoil_call(tsh_dev *dev, const tsh_launch *l, int op) {
  f.call_launches++;
  int is_scan = op == TSH_OP_cumsum || op == TSH_OP_cumprod;
  int is_order = op == TSH_OP_sort || op == TSH_OP_argsort ||
                 op == TSH_OP_argtopk || op == TSH_OP_nonzero;
  if (PLANTED(call_is_one_bit_off)) flip(dev, l, 0);
  if (PLANTED(call_writes_beside)) flip(dev, l, -1);
  if (PLANTED(order_is_swapped) && is_order) swap(dev, l);
  if (PLANTED(scan_loses_its_carry) && is_scan) flip(dev, l, 16);
}

static void spoil_result(tsh_dev *dev, const tsh_launch *l) {
  const note *n = note_of(l->prog);
  if (PLANTED(one_ulp_off)) flip(dev, l, 0);
  if (PLANTED(lanes_are_swapped) && n && n->sums) flip(dev, l, 0);
  if (PLANTED(empty_fold_is_not_the_start) && has_empty_fold(l))
    flip(dev, l, 0);
  if (PLANTED(writes_beside_the_view)) flip(dev, l, -1);
  if (n && n->call) spoil_call(dev, l, n->call);
}

/* ---- the queue ---------------------------------------------------------- */
static const tsh_launch *launch_at(const tsh_batch *b, uint32_t i) {
  return (const tsh_launch *)(const void *)((const uint8_t *)b->launch +
                                            (size_t)i * b->launch_size);
}

/* Submits and waits. */
static tsh_status finish(tsh_dev *dev, const tsh_batch *b, tsh_err *err) {
  uint64_t ticket;
  tsh_status rc = f.real->submit(dev, b, &ticket, err);
  if (rc != TSH_OK) return rc;
  do rc = f.real->wait(dev, ticket, 50 * CF_MS, err);
  while (rc == TSH_EPENDING);
  return rc;
}

static void begin_updates(tsh_dev *dev, const tsh_batch *b) {
  uint32_t set = __atomic_exchange_n(f.cancel, 0, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < b->nlaunch; i++) {
    tsh_launch l = *launch_at(b, i);
    tsh_batch one = {.size = sizeof one,
                     .nlaunch = 1,
                     .launch_size = sizeof l,
                     .launch = &l};
    tsh_err err = {.size = sizeof err};
    if (!(l.flags & TSH_LAUNCH_UPDATE)) continue;
    l.size = sizeof l;
    l.flags = 0;
    l.nafter = 0;
    finish(dev, &one, &err);
  }
  __atomic_store_n(f.cancel, set, __ATOMIC_RELAXED);
}

static void spoil_error(tsh_dev *dev, const tsh_batch *b, tsh_err *err) {
  if (PLANTED(wrong_launch_in_error)) err->launch++;
  if (PLANTED(wrong_element_in_error)) err->at++;
  if (PLANTED(bad_position_is_misnamed)) err->at++;
  if (PLANTED(update_begins_after_error)) begin_updates(dev, b);
  if (err->code == TSH_ECANCELLED && PLANTED(cancel_is_slow))
    cf_sleep(400 * CF_MS);
  if (err->code == TSH_ECANCELLED && PLANTED(stop_claims_too_much)) {
    flip(dev, launch_at(b, 0), 0);
    err->launch = 1;
  }
}

static tsh_status keep_error(tsh_err *err, uint64_t ticket) {
  f.kept = *err;
  f.kept_ticket = ticket;
  f.kept.ticket = ticket + (PLANTED(wrong_ticket_in_error) ? 1 : 0);
  f.keeps = PLANTED(error_is_reported_twice) ? 2 : 1;
  return TSH_OK;
}

static tsh_status fault_submit(tsh_dev *dev, const tsh_batch *b,
                               uint64_t *ticket, tsh_err *err) {
  const tsh_launch *last = launch_at(b, b->nlaunch - 1);
  uint8_t old[8];
  int has_old = PLANTED(store_is_skipped) && element(dev, last, 0, old, 0);
  tsh_status rc = finish(dev, b, err);
  *ticket = ++f.tickets;
  if (PLANTED(ticket_does_not_grow) && f.tickets % 3 == 0) *ticket -= 1;
  if (rc == TSH_OK) {
    if (has_old) element(dev, last, 0, old, 1);
    for (uint32_t i = 0; i < b->nlaunch; i++)
      spoil_result(dev, launch_at(b, i));
    return rc;
  }
  err->ticket = 0;
  spoil_error(dev, b, err);
  if (PLANTED(error_is_forgotten)) return TSH_OK;
  if (PLANTED(bad_position_is_missed) && rc == TSH_EINDEX) return TSH_OK;
  if (PLANTED(wrong_ticket_in_error) || PLANTED(error_is_reported_twice))
    return keep_error(err, *ticket);
  return rc;
}

static tsh_status fault_wait(tsh_dev *dev, uint64_t ticket, uint64_t timeout,
                             tsh_err *err) {
  (void)dev;
  (void)timeout;
  if (!f.keeps || ticket < f.kept_ticket) return TSH_OK;
  f.keeps--;
  *err = f.kept;
  return f.kept.code;
}

/* ---- the other entries -------------------------------------------------- */
static tsh_status fault_props(uint32_t index, tsh_props *out, tsh_err *err) {
  tsh_status rc = f.real->props(index, out, err);
  if (rc != TSH_OK || out->size < sizeof *out) return rc;
  if (PLANTED(props_change) && f.calls++ & 1) out->storage ^= TSH_BIT(TSH_f32);
  if (PLANTED(mandatory_op_is_missing)) {
    uint32_t n = out->nops < TSH_NOPS ? out->nops : TSH_NOPS;
    memcpy(f.op_types, out->op_types, n * sizeof *f.op_types);
    f.op_types[TSH_OP_tanh] &= ~TSH_BIT(TSH_f32);
    out->op_types = f.op_types;
    out->nops = n;
  }
  return rc;
}

static tsh_status fault_open(uint32_t index, const tsh_host *host,
                             tsh_dev **out, tsh_err *err) {
  static tsh_host deaf;
  deaf = (tsh_host){.size = sizeof deaf, .cancel = &f.word};
  f.cancel = (uint32_t *)(uintptr_t)host->cancel;
  return f.real->open(index, PLANTED(cancel_is_ignored) ? &deaf : host, out,
                      err);
}

static tsh_status fault_alloc(tsh_dev *dev, uint64_t bytes, tsh_buf **out,
                              tsh_err *err) {
  tsh_status rc;
  uint32_t size = err->size;
  int huge = bytes > UINT64_C(1) << 40;
  if (huge && PLANTED(huge_alloc_is_accepted)) bytes = 64;
  rc = f.real->alloc(dev, bytes, out, err);
  if (rc == TSH_OK) return rc;
  if (PLANTED(err_code_is_not_set)) err->code = 0;
  /* The tests' own tsh_err is whole, whatever its size says. */
  if (PLANTED(err_is_written_beyond_size))
    memset((uint8_t *)err + size, 0, sizeof *err - size);
  return rc;
}

static tsh_status fault_copy(tsh_dev *dev, const tsh_copy *copy, tsh_err *err) {
  tsh_copy c = *copy;
  c.size = sizeof c;
  if (PLANTED(copy_loses_the_last_byte) && c.bytes > 1) c.bytes--;
  return f.real->copy(dev, &c, err);
}

int cf_fault_saw_call(void) { return f.call_launches > 0; }

const tsh_plugin *cf_fault_query(uint32_t major, uint32_t minor) {
  if (PLANTED(query_refuses_versions) &&
      (major != TSH_ABI_MAJOR || minor > TSH_ABI_MINOR))
    return NULL;
  return &f.table;
}

const tsh_plugin *cf_fault_table(const tsh_plugin *real, int fault) {
  memset(&f.table, 0, sizeof f.table);
  memcpy(&f.table, real, offsetof(tsh_plugin, host_ptr));
  f.table.size = offsetof(tsh_plugin, host_ptr);
  f.real = real;
  f.fault = fault;
  f.keeps = 0;
  f.tickets = 0;
  f.call_launches = 0;
  f.table.props = fault_props;
  f.table.open = fault_open;
  f.table.alloc = fault_alloc;
  f.table.copy = fault_copy;
  f.table.compile = fault_compile;
  f.table.drop = fault_drop;
  f.table.submit = fault_submit;
  f.table.wait = fault_wait;
  return &f.table;
}
