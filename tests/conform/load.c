/* load.c - what can be known before anything runs: the query function, the
 * table, props, and whether the mandatory set is there. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cf.h"

/* ---- the table ---------------------------------------------------------- */
static void run_query(cf *t) {
  static const uint32_t versions[][2] = {
      {0, 0}, {0, 1}, {0, 999}, {1, 0}, {7, 7}, {UINT32_MAX, UINT32_MAX}};
  if (!cf_begin(t, "load/query")) return;
  for (unsigned i = 0; i < sizeof versions / sizeof *versions; i++) {
    const tsh_plugin *p = t->query(versions[i][0], versions[i][1]);
    cf_check(t, p && p == t->query(TSH_ABI_MAJOR, TSH_ABI_MINOR),
             "query(%u, %u) gives another table", versions[i][0],
             versions[i][1]);
  }
  cf_end(t);
}

static void run_symbols(cf *t) {
  char other[128];
  int n;
  if (!cf_begin(t, "load/symbols")) return;
  n = cf_symbols(t->path, other, sizeof other);
  if (n >= 0) /* of another format nothing is known */
    cf_check(t, n == 1 && !*other,
             "exports %d symbols, %s%samong them; tsh_plugin_query alone may "
             "be: compile with -fvisibility=hidden",
             n, other, *other ? " " : "");
  cf_end(t);
}

static void run_table(cf *t) {
  const tsh_plugin *p = t->p;
  if (!cf_begin(t, "load/table")) return;
  cf_check(t, p->size >= offsetof(tsh_plugin, host_ptr),
           "size %u is below the mandatory entries", p->size);
  cf_check(t, p->size % 8 == 0, "size %u is no multiple of 8", p->size);
  cf_check(t, p->major == TSH_ABI_MAJOR, "major %u", p->major);
  cf_check(t, p->name && *p->name, "no name");
  cf_check(t, p->version && *p->version, "no version");
#define CF_X(entry) cf_check(t, p->entry != NULL, #entry " is NULL");
  CF_X(count)
  CF_X(props)
  CF_X(open)
  CF_X(close)
  CF_X(alloc)
  CF_X(free)
  CF_X(copy)
  CF_X(compile)
  CF_X(drop)
  CF_X(submit)
  CF_X(wait)
#undef CF_X
  cf_end(t);
}

/* ---- count and props ---------------------------------------------------- */
static void run_cheap(cf *t) {
  tsh_err err;
  tsh_props props;
  uint32_t n;
  int64_t best = INT64_MAX; /* the machine may be busy with others */
  if (!cf_begin(t, "load/cheap")) return;
  cf_err_init(&err);
  n = t->p->count(&err);
  for (int i = 0; i < 50; i++) {
    int64_t start = cf_now(), ns;
    memset(&props, 0x5a, sizeof props);
    props.size = sizeof props;
    cf_err_init(&err);
    cf_check(t, t->p->count(&err) == n, "count changes");
    cf_check(t, t->p->props(t->index, &props, &err) == TSH_OK, "props: %s",
             err.text);
    cf_check(t,
             strcmp(props.name, t->props.name) == 0 &&
                 props.op_types == t->props.op_types &&
                 props.storage == t->props.storage &&
                 memcmp(props.uuid, t->props.uuid, 16) == 0,
             "props change");
    ns = cf_now() - start;
    if (ns < best) best = ns;
  }
  cf_check(t, best < 5 * CF_MS, "count and props take %lld us",
           (long long)(best / 1000));
  cf_end(t);
}

/* query, count and props from another thread, while the device is open. */
static void *ask(void *arg) {
  cf *t = arg;
  tsh_props props = {.size = sizeof props};
  tsh_err err;
  cf_err_init(&err);
  if (t->query(TSH_ABI_MAJOR, TSH_ABI_MINOR) == NULL) return NULL;
  if (t->p->count(&err) <= t->index) return NULL;
  return t->p->props(t->index, &props, &err) == TSH_OK ? t : NULL;
}

static void run_thread(cf *t) {
  pthread_t thread;
  void *answer = NULL;
  if (!cf_begin(t, "load/thread")) return;
  if (pthread_create(&thread, NULL, ask, t) == 0) {
    pthread_join(thread, &answer);
    cf_check(t, answer != NULL, "count or props fail on another thread");
  }
  cf_end(t);
}

static void run_absent(cf *t) {
  tsh_err err;
  tsh_props props = {.size = sizeof props};
  tsh_host host = {.size = sizeof host, .cancel = &t->cancel};
  tsh_dev *dev = NULL;
  uint32_t n;
  if (!cf_begin(t, "load/absent")) return;
  cf_err_init(&err);
  n = t->p->count(&err);
  cf_err_init(&err);
  cf_check_err(t, "props of a device too many", t->p->props(n, &props, &err),
               &err);
  cf_err_init(&err);
  cf_check_err(t, "open of a device too many",
               t->p->open(UINT32_MAX, &host, &dev, &err), &err);
  cf_end(t);
}

static void run_props(cf *t) {
  const tsh_props *p = &t->props;
  if (!cf_begin(t, "load/props")) return;
  cf_check(t, p->kind >= TSH_CPU && p->kind <= TSH_REMOTE, "kind %u", p->kind);
  cf_check(t, *p->name && strnlen(p->name, sizeof p->name) < sizeof p->name,
           "no name");
  cf_check(t, p->align >= 64 && (p->align & (p->align - 1)) == 0, "align %u",
           p->align);
  cf_check(t, p->max_rank >= 8 && p->max_rank <= TSH_MAX_RANK, "max_rank %u",
           p->max_rank);
  cf_check(t, p->max_args >= 4, "max_args %u", p->max_args);
  cf_check(t, p->max_insts >= 8, "max_insts %u", p->max_insts);
  cf_check(t, p->max_phases >= 1, "max_phases %u", p->max_phases);
  cf_check(t, p->max_loop >= 1 << 20, "max_loop %llu",
           (unsigned long long)p->max_loop);
  cf_check(t, p->max_alloc >= 1 << 20, "max_alloc %llu",
           (unsigned long long)p->max_alloc);
  cf_check(t, p->nops > 0 && p->op_types, "no op_types");
  cf_check(t, p->compile_us >= 0 && p->launch_us >= 0,
           "negative compile_us or launch_us");
  for (int i = 0; i < 32; i++)
    if (p->storage & TSH_BIT(i))
      cf_check(t, cf_kind(i) != 0, "storage has dtype %d", i);
  for (int i = 0; i < cf_nrows; i++) {
    const cf_row *row = &cf_rows[i];
    uint32_t bits = (uint32_t)row->id < p->nops ? p->op_types[row->id] : 0;
    cf_check(t, !(bits & ~row->takes) || row->class_ == CF_MOVE,
             "op_types of %s has dtypes 0x%x without a meaning", row->name,
             bits & ~row->takes);
  }
  cf_end(t);
}

/* A host of an older version passes a smaller struct. */
static void run_short_props(cf *t) {
  static const uint32_t sizes[3] = {offsetof(tsh_props, uuid),
                                    offsetof(tsh_props, max_loop),
                                    offsetof(tsh_props, compile_us)};
  if (!cf_begin(t, "load/short-props")) return;
  for (int i = 0; i < 3; i++) {
    uint8_t room[sizeof(tsh_props)];
    tsh_props *p = (tsh_props *)malloc(sizeof room);
    tsh_err err;
    uint32_t at = sizes[i];
    if (!p) break;
    memset(p, 0x5a, sizeof *p);
    p->size = sizes[i];
    cf_err_init(&err);
    cf_check(t, t->p->props(t->index, p, &err) == TSH_OK, "props: %s",
             err.text);
    memcpy(room, p, sizeof room);
    while (at < sizeof room && room[at] == 0x5a) at++;
    cf_check(t, at == sizeof room, "size %u, byte %u was written", sizes[i],
             at);
    free(p);
  }
  cf_end(t);
}

/* ---- the mandatory set -------------------------------------------------- */
/* The whole form for f32, i32 and bool; of i64 what positions need. */
static int is_mandatory(const cf_row *row, int dtype) {
  if (row->class_ != CF_MAP && row->class_ != CF_FOLD) return 0;
  if (!(row->takes & TSH_BIT(dtype)) || !cf_judged(row->id, dtype)) return 0;
  if (dtype != TSH_i64) return 1;
  return row->id == TSH_OP_add || row->id == TSH_OP_mul ||
         row->id == TSH_OP_shl || row->id == TSH_OP_shr ||
         row->id == TSH_OP_cast ||
         (row->id >= TSH_OP_eq && row->id <= TSH_OP_ge);
}

static void run_mandatory(cf *t) {
  static const int dtypes[4] = {TSH_f32, TSH_i32, TSH_bool, TSH_i64};
  if (!cf_begin(t, "load/mandatory")) return;
  for (int d = 0; d < 4; d++) {
    cf_check(t, cf_stores(t, dtypes[d]), "%s cannot be stored",
             cf_dtype_name(dtypes[d]));
    for (int i = 0; i < cf_nrows; i++)
      if (is_mandatory(&cf_rows[i], dtypes[d]))
        cf_check(t, cf_has(t, cf_rows[i].id, dtypes[d]), "no %s of %s",
                 cf_rows[i].name, cf_dtype_name(dtypes[d]));
  }
  cf_end(t);
}

void cf_test_load(cf *t) {
  run_query(t);
  run_symbols(t);
  run_table(t);
  run_cheap(t);
  run_thread(t);
  run_absent(t);
  run_props(t);
  run_short_props(t);
  run_mandatory(t);
}
