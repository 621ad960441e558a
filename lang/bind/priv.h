/* priv.h - inside the room: what the files of lang/bind share. Nobody else
 * includes it but tests/bind.
 *
 * Rule of the room: lua_error jumps over C frames, so it is called only while
 * nothing is held. A node is never in a C variable while Lua may raise: push
 * an empty handle first (lt_tensor_new) and let the planner fill it.
 */
#ifndef LT_PRIV_H
#define LT_PRIV_H

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include "lt.h"
#include "plan.h"

/* ---- the Lua allocator (alloc.c) ---------------------------------------- */
#define LT_CLASSES 32 /* blocks of 16, 32 ... 512 bytes have free lists */

typedef struct lt_block lt_block; /* a free block, or a dead handle's */
typedef struct lt_chunk lt_chunk;
typedef struct {
  lt_block *free[LT_CLASSES];
  char *at[LT_CLASSES], *end[LT_CLASSES]; /* rest of a class's newest chunk */
  lt_chunk *chunks;
  lt_block *dead;      /* handles that Lua freed, nodes not yet dropped */
  uint64_t secret;     /* magic of a handle = secret ^ its own address */
  size_t handle_block; /* size of the block that holds a handle; 0 at first */
  size_t last;         /* size of the last block asked for */
  size_t bytes;        /* that Lua holds now */
  long fuse;           /* 0: off; n: the n-th and later allocations fail */
  uint32_t protos;     /* functions compiled: empties the cache of sites */
} lt_heap;

void lt_heap_init(lt_heap *h);
void lt_heap_fini(lt_heap *h); /* after lua_close */
void *lt_heap_alloc(void *heap, void *ptr, size_t osize, size_t nsize);
/* The node of a dead handle (moved to the caller), or NULL: no more. */
plan_node *lt_heap_take(lt_heap *h);
/* Calls visit for every live handle that has a node (found by its magic). */
void lt_heap_visit(lt_heap *h, void (*visit)(void *ud, plan_node *n), void *ud);

typedef struct lt_sites lt_sites;     /* site.c */
typedef struct lt_sources lt_sources; /* source.c */

/* ---- the state -------------------------------------------------------------
 */
enum { LT_POLICY_AUTO, LT_POLICY_WARN, LT_POLICY_ERROR };
enum { LT_DEVICES = 16 };

struct lt {
  lua_State *L; /* the main thread */
  plan *plan;
  dev_set *devices;
  dev *device; /* where creation functions put tensors */
  lt_heap heap;
  lt_sites *sites;
  lt_sources *sources;
  int metatable, methods, own; /* registry: of tensors; their methods by name;
                                  all that is ours by name */
  tsh_status raised;           /* see lt_status_of */
  plan_rng rng;          /* of rand, randn; lib draws carry their own keys */
  int policy;            /* when operands lie on two devices */
  dev *seen[LT_DEVICES]; /* devices that were named, by dev_id */
  /* Counted by gc.c. */
  uint64_t young_at;   /* bytes_allocated at the last forced young one */
  uint64_t full_above; /* bytes_live that calls for a full one */
  uint64_t full_left;  /* bytes_live after the last full one */
  uint64_t cycles, cycles_ours; /* collections in all; at the last of ours */
  uint32_t full_next, full_run; /* full ones to come; of the last such run */
  uint32_t young_run;           /* young ones since */
  uint32_t settle;              /* of them, until live bytes have settled, */
  uint64_t settled;             /* at this number */
  uint64_t full_found;          /* bytes, by the one before that run */
  /* Set by the signal handler: see lt_interrupt. */
  lua_State *volatile running; /* the thread that runs now */
  volatile sig_atomic_t interrupted;
  lua_CFunction format;  /* Lua's own string.format */
  int quiet;             /* no progress */
  int verbose;           /* the whole stack of errors */
  int color;             /* LT_COLOR_ */
  unsigned threads;      /* that compute at once; 0: one per processor */
  struct lt_tape *tapes; /* the open ones */
  int watching;          /* of these, whose function still runs */
  struct {
    uint32_t saves, passes;
  } rule[TSH_NOPS]; /* of gradients: see lt_walk_set_rule */
  struct {
    int drawn;           /* the terminal's last line is ours */
    int64_t begun, seen; /* of a load: ms */
  } bar;
  struct {
    int on;                        /* tsh check runs: see shapes.c */
    uint64_t limit, asked;         /* ops at most; values not computed */
    uint32_t asked_at, stopped_at; /* sites; asked_at: of the first one
                                      that is no float, which nan would be */
    char why[160];                 /* it stopped, or "" */
  } shapes;
  void *session; /* lt.c's own: entry number, print settings ... */
};

/* The lt of a state (kept in the extra space of every thread). */
#define lt_of(L) (*(lt **)lua_getextraspace(L))

/* For lt_open and lt_close. plan, devices and device are set by the caller
 * before. Makes the Lua state with all libraries and calls lt_open_core under
 * protection. 0, or LT_NOMEM, LT_ERROR with the reason in text. */
int lt_state_open(lt *l, char *text, size_t size);
/* Closes the state, drops every node; the caller then frees plan, devices. */
void lt_state_close(lt *l);
/* Registers tensors, functions, tsh, tsh.core, the library loader. */
int lt_open_core(lua_State *L);

/* ---- tensors (tensor.c) ----------------------------------------------------
 */
typedef struct {
  uint64_t magic;
  plan_node *node; /* owned; NULL until the planner has filled it */
} lt_tensor;

/* The node at index i (borrowed from the handle), or NULL: no tensor. Instead
 * of comparing metatables it looks at the magic word, which no other userdata
 * can have; alloc.c sees to it that the word may be read. */
static inline plan_node *lt_tensor_test(lua_State *L, int i) {
  const lt_tensor *t;
  if (lua_type(L, i) != LUA_TUSERDATA) return NULL;
  t = lua_touserdata(L, i);
  return t->magic == (lt_of(L)->heap.secret ^ (uintptr_t)t) ? t->node : NULL;
}
/* The same; raises "NAME: argument i must be a tensor, got ..." */
plan_node *lt_tensor_get(lua_State *L, int i);
/* Pushes an empty handle and gives the place for an owned node:
 *   plan_node **out = lt_tensor_new(L);
 *   lt_check(L, plan_reshape(p, x, shape, out, &err), &err); */
plan_node **lt_tensor_new(lua_State *L);
/* Pushes the read-only proxy of a shape. */
void lt_shape_push(lua_State *L, const plan_shape *s);
/* The heap has grown for good (a library file was loaded): measured anew, so
 * that Lua does not make a full collection in the middle of somebody's loop,
 * which would age that loop's handles. */
void lt_gc_settle(lua_State *L);
/* Dead handles' nodes are dropped. Done by lt_begin and lt_demand. */
void lt_drain(lt *l);

/* ---- recording ------------------------------------------------------------
 * A function that records begins with lt_begin and returns lt_done(L, n). */
lt *lt_begin(lua_State *L); /* drains, tells plan_at the user's line */
int lt_done(lua_State *L, int nresults); /* cuts the trace where it is due */

/* ---- demanding, and the policy of collections (gc.c) ----------------------
 * plan_demand with the garbage collected before where the planner wants it and
 * after TSH_ENOMEM. May run user finalizers, so nodes must be held by handles
 * on the stack or by plan_keep. flags: PLAN_ONLY or 0. Never raises. */
tsh_status lt_demand(lua_State *L, plan_node *const *nodes, int n, int flags,
                     tsh_err *err);
/* lt_demand of one node, then plan_read. */
tsh_status lt_read(lua_State *L, plan_node *n, void *host, tsh_err *err);
/* Two full collections, then caches are given back (:gc, :mem trim). */
void lt_collect(lua_State *L);
void lt_gc_start(lua_State *L);

/* ---- errors (err.c) --------------------------------------------------------
 * Error values are strings:
 *   in[12]:1: matmul: inner sizes differ: 3 and 2
 *     a: f32[2,3]   b: f32[2,3]
 *     in[12]:1: y = matmul(a, b)
 *                   ^
 *     hint: b.T is f32[3,2]
 * First line: place of the user's line, what, why. Then, each indented by two:
 * facts; the place again with the source line, and the caret line; the hint.
 * Facts, place and hint may be missing. Lua's own errors have one line of
 * Lua's form. A place is the chunk's short name and a line, "train.lua:42". */
int lt_raise(lua_State *L, const tsh_err *err, const char *hint, ...)
    __attribute__((format(printf, 3, 4))); /* hint NULL: none */
/* Raises unless status is TSH_OK. */
void lt_check(lua_State *L, tsh_status status, const tsh_err *err);
/* The error of lt_demand or lt_read: names the line that recorded the op. */
int lt_raise_demand(lua_State *L, const tsh_err *err);
/* Raises a message of our own; the name of the running function is put in
 * front. Like lua_pushfstring: %s %d %I (lua_Integer) %f %p %%. */
int lt_fail(lua_State *L, const char *hint, const char *format, ...);
/* What lt_raise was last given, when the value at index is that error; else 0
 * (TSH_ENOMEM: exit 4, TSH_ECANCELLED: interrupted, TSH_ENODEV: exit 3). */
tsh_status lt_status_of(lua_State *L, int index);
void lt_push_raised(lua_State *L); /* the text of that error, or nil */
/* The nearest of a NULL-ended list within a small edit distance, or NULL. */
const char *lt_nearest(const char *word, const char *const *names);

/* The same, but what other libraries call one of them (dim, keepdims) is that
 * one. */
const char *lt_nearest_option(const char *word, const char *const *names);

/* ---- what others call it (synonyms.c) --------------------------------------
 * The hint for a name that does not exist here; 0: nothing is known of it. */
int lt_synonym(const char *name, char *hint, size_t size);
/* np, torch; and what a name is that stands behind one of them. */
int lt_foreign_module(const char *name);
int lt_member_synonym(const char *name, char *hint, size_t size);
/* The i-th such name and its hint, or NULL past the last. */
const char *lt_synonym_at(size_t i, char *hint, size_t size);
/* Which of the NULL-ended list of options is meant, or NULL. */
const char *lt_option_synonym(const char *name, const char *const *known);
int lt_same_letters(const char *a, const char *b); /* Conv2d and conv_2d */

/* ---- sites and sources (site.c) --------------------------------------------
 */
int lt_sites_open(lua_State *L); /* self-check; 0 no memory */
void lt_sites_close(lt *l);
/* The user's line that runs now, as a small number; 0 unknown. Frames of the
 * embedded library and C functions are passed over. */
uint32_t lt_site(lua_State *L);
/* "train.lua:42"; "?" for 0. Returns text. */
char *lt_site_text(lt *l, uint32_t site, char *text, size_t size);
/* The source line of a site without its line end; 0 when not to be had. */
int lt_site_source(lt *l, uint32_t site, char *text, size_t size);
/* Keeps the text of a chunk whose name is no file, "=in[3]": its lines can
 * then be shown. Chunks of files are read again when an error needs them. */
void lt_source_add(lt *l, const char *chunk, const char *text, size_t size);
/* The same by chunk name as in lua_Debug.source. */
int lt_source_line(lt *l, const char *chunk, int line, char *text, size_t size);
/* All of it, owned; NULL when it is not known, or large. */
char *lt_source_text(lt *l, const char *chunk);
/* Is this lua_Debug.source a file of the embedded library? */
int lt_source_is_library(const char *chunk);

/* ---- interrupts (interrupt.c; lt_interrupt of lt.h is defined there) ------
 * lt_interrupt sets l->interrupted, the cancel word and a hook on the
 * running thread. Until lt_interrupt_end every Lua instruction raises
 * "interrupted", so pcall cannot swallow it. */
void lt_interrupt_open(lua_State *L); /* wraps coroutine.resume, wrap, close */
/* After the stack has unwound to the caller of lt_run, lt_do, lt_eval: clears
 * everything, then calls what on_interrupt(fn) registered when run is set.
 * Returns 1 when there had been an interrupt. */
int lt_interrupt_end(lt *l, int run);

/* ---- functions (table.c) -------------------------------------------------
 * Every public function of C: what docs.c, completion and errors read. */
enum { LT_GLOBAL = 1, LT_METHOD = 2, LT_FIELD = 4 };

typedef struct {
  const char *name;
  const char *args;     /* "x, axis": names of the arguments */
  const char *options;  /* "axis keep dtype", or "" */
  const char *doc;      /* sentences: meaning, shapes, errors */
  lua_CFunction call;   /* as a global; NULL for a LT_FIELD */
  lua_CFunction method; /* when it differs from call, else NULL */
  const char *alias;    /* the name this one stands for, or NULL */
  int kind;             /* LT_GLOBAL | LT_METHOD, or LT_FIELD */
} lt_function;

/* The i-th function, or NULL past the last; aliases are entries of their
 * own. In no particular order. */
const lt_function *lt_function_at(size_t i);
const lt_function *lt_function_find(const char *name);
/* "code --> what it prints" for a function that is no alias, or NULL. */
const char *lt_example(const char *name); /* examples.c */
/* ---- the embedded library (lib.c) -----------------------------------------
 */
/* Chunk names of its files begin with this. */
#define LT_LIBRARY "=tsh:"
/* The i-th file: its name ("nn") and text, not ended by 0; 0 past the last. */
int lt_library_at(size_t i, const char **name, const char **text, size_t *size);
void lt_library_open(lua_State *L);

/* ---- written beside this room's core (print.c) -----------------------------
 */
/* Metamethod __tostring: the printed form of the tensor at 1, as a string. */
int lt_tostring(lua_State *L);
int lt_repr(lua_State *L); /* method: Lua text that makes the tensor again */

/* ======== below: shared by the core's own files ============================
 */

extern const lt_function lt_map_functions[], lt_fold_functions[],
    lt_create_functions[], lt_fromlua_functions[], lt_tolua_functions[],
    lt_shape_functions[], lt_index_functions[], lt_update_functions[],
    lt_call_functions[], lt_join_functions[],
    lt_cast_functions[]; /* each ends with a NULL name */

/* tensor.c */
const char *lt_type_name(lua_State *L, int i); /* "a tensor", "nil" */
void lt_tensor_open(lua_State *L);

/* site.c, source.c: on or off, for tests and benches; was it? */
int lt_sites_fast(lt *l, int fast);
int lt_sources_open(lt *l);
void lt_sources_close(lt *l);
uint32_t lt_source_number(lt *l, const char *name, size_t size);
const char *lt_source_name(lt *l, uint32_t number);
const char *lt_source_short(lt *l, uint32_t number);

/* err.c */
void lt_stop_point(lua_State *L); /* in long loops of C: raises when it must */
void lt_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Raises a complete sentence, "name: why", at the user's line. word: what the
 * caret points at, NULL: that name. */
int lt_fail_text(lua_State *L, const char *word, const char *why,
                 const char *hint);
/* Raises err as the error of a function of the library: "name: " in front. */
int lt_raise_as(lua_State *L, const char *name, const tsh_err *err,
                const char *hint);

/* caller.c */
const lt_function *lt_function_of(lua_CFunction c); /* NULL: none of ours */
/* The public function on the user's line that runs, as "stack", "nn.init" or,
 * for an alias, as it was typed; 0: none. */
int lt_called(lua_State *L, char *name, size_t size);

/* gc.c */
int lt_gc_balance(lua_State *L); /* what device bytes call for; did it? */
int lt_gc_between(lua_State *L); /* of tsh.core: an epoch begins */
void lt_push_biggest(lua_State *L, const char **fact);

/* args.c */
int lt_is_whole(lua_State *L, int i, int64_t *out);
/* For a text: nan has no sign, but printf shows one. */
static inline double lt_shown(double v) { return v != v ? fabs(v) : v; }
/* The string at i as a name; raises when a zero byte would cut it. */
const char *lt_arg_word(lua_State *L, int i);
int64_t lt_arg_whole(lua_State *L, int i, const char *what);
void lt_arg_operand(lua_State *L, int i, plan_operand *out);
int lt_axis(lua_State *L, int64_t axis, int rank); /* from 1 or -1 to from 0 */
int lt_arg_axis(lua_State *L, int i, int rank);
uint32_t lt_arg_axes(lua_State *L, int i, int rank); /* bits; nil: all */
/* Sizes in arguments first..last, or in one table; wild: -1 is allowed. */
int lt_arg_sizes(lua_State *L, int first, int last, int wild, int64_t *dim);
const plan_shape *lt_shape_of(lua_State *L, int rank, const int64_t *dim);
int lt_arg_dtype(lua_State *L, int i);
dev *lt_arg_device(lua_State *L, int i);
void lt_device_seen(lt *l, dev *d);
/* Is there a table of options at i? Unknown names raise. */
int lt_arg_options(lua_State *L, int i, const char *allowed);
int lt_is_options(lua_State *L, int i); /* a table with names, no list */
int lt_option(lua_State *L, int i, const char *name); /* pushed; its type */
int lt_option_flag(lua_State *L, int i, const char *name);
double lt_option_real(lua_State *L, int i, const char *name, double none);
/* The hint for the name of a column that stands in the place of an axis. */
#define LT_COLUMNS                                                             \
  "columns have numbers: x, names = read(path), c = x[{{}, names.price}]; "    \
  "x[c:argsort()] are the rows in its order"
int lt_option_dtype(lua_State *L, int i, int none);
dev *lt_option_device(lua_State *L, int i, dev *none);
void lt_most_args(lua_State *L, int most);
int lt_distance(const char *a, const char *b);
/* The same, but at least LT_FAR for what nobody would mistake for the other:
 * short names differ by one letter, and in the first one hardly any. */
enum { LT_FAR = 100 };
int lt_slip(const char *typed, const char *name);

/* map.c, number.c */
int lt_push_map(lua_State *L, int op, int n, int a, int b, int c);
int lt_number_map(lua_State *L, int op, int n); /* of 1..n; pushed */
int lt_is_hidden_map(const char *name);
void lt_map_metamethods(lua_State *L);

/* shape.c, join.c, cast.c: results are pushed */
void lt_push_reshape(lua_State *L, int i, const plan_shape *s);
plan_node *lt_push_cast(lua_State *L, plan_node *x, int dtype);
plan_node *lt_push_to(lua_State *L, plan_node *x, dev *d);
plan_node *lt_push_slice(lua_State *L, plan_node *x, const plan_range *range);
plan_node *lt_push_expand(lua_State *L, plan_node *x, const plan_shape *s);
plan_node *lt_push_permute(lua_State *L, plan_node *x, const uint8_t *order);
int lt_push_reversed(lua_State *L, plan_node *x);
void lt_push_stack(lua_State *L, int table, int64_t n);
void lt_push_cat(lua_State *L, int table, int64_t n, int axis);

/* index.c, update.c */
int lt_index(lua_State *L);
void lt_push_row(lua_State *L, plan_node *x, int64_t i);
int lt_update_add(lua_State *L);
int lt_update_mul(lua_State *L);
int lt_update_max(lua_State *L);
int lt_update_min(lua_State *L);

/* convert.c, fromlua.c */
void lt_push_cell(lua_State *L, int dtype, const void *cells, int64_t i);
void lt_put_cell(int dtype, void *cells, int64_t i, const plan_operand *v);
int lt_number_as(plan_operand *v, int dtype); /* 0: it does not fit */
void lt_number_fit(lua_State *L, plan_operand *v, int dtype); /* raises */
int lt_create_tensor(lua_State *L);
tsh_status lt_push_data(lua_State *L, dev *d, int dtype, const plan_shape *s,
                        const void *cells, tsh_err *err);

/* create.c */
typedef tsh_status (*lt_drawer)(plan *, dev *, int, const plan_shape *,
                                plan_rng *, plan_node **, tsh_err *);
int lt_push_draw(lua_State *L, lt_drawer draw, dev *d, int dtype,
                 const plan_shape *shape, plan_rng *rng);
void lt_seed_by_clock(lt *l);

/* proxy.c */
const plan_shape *lt_shape_test(lua_State *L, int i);
void lt_shape_table(lua_State *L, int i); /* pushes a plain list */
void lt_shape_open(lua_State *L);

/* shapes.c. All but the first do nothing unless tsh check runs. */
extern const luaL_Reg lt_shapes_functions[];          /* of tsh.core */
int lt_shapes_hides(const lt *l, const plan_node *n); /* is n not computed? */
/* The script asks for the value of n; NULL: for one that no check has. */
void lt_shapes_asked(lua_State *L, const plan_node *n);
void lt_shapes_count(lua_State *L); /* stops after so many ops */
void lt_shapes_write(lua_State *L, const char *path); /* it would write path */
void lt_shapes_read(lua_State *L, const char *path);  /* which is not there */
void lt_shapes_stop(lua_State *L, const char *why);   /* raises */

/* table.c */
void lt_functions_open(lua_State *L, int globals, int methods, int own);
int lt_functions_list(lua_State *L); /* pushes the table as Lua tables */

/* bench.c, inspect.c, docs.c: of tsh.core */
extern const luaL_Reg lt_bench_functions[], lt_inspect_functions[];
int lt_documented(lua_State *L);
/* tree.c, keys.c: of tsh.core */
int lt_sorted_keys(lua_State *L);
int lt_tree_gather(lua_State *L);
int lt_tree_build(lua_State *L);
int lt_is_like(lua_State *L);
int lt_alike(const plan_node *a, const plan_node *b);
int lt_has_half(lua_State *L);
int lt_sizes(lua_State *L);
int lt_has_sizes(lua_State *L);
/* progress.c */
extern const luaL_Reg lt_bar_functions[]; /* of tsh.core */
void lt_bar_clear(lt *l);                 /* before anything is printed */
/* A load: lt_load_at, called now and then, shows how many bytes of how many
 * (0: unknown) are there once it takes longer than a second. lt_bar_clear at
 * the end. */
void lt_load_begin(lt *l);
void lt_load_at(lt *l, const char *path, uint64_t done, uint64_t total);

/* tsh.c, core.c, tape.c, csv.c, file.c, write.c, lib.c */
int lt_tsh_ops(lua_State *L);
int lt_op_find(const char *name); /* 0: there is none */
const char *lt_op_name(int op);
int lt_read_csv(lua_State *L);
int lt_survey_csv(lua_State *L);
int lt_read_json(lua_State *L);
int lt_file_open(lua_State *L);
int lt_file_close(lua_State *L);
int lt_file_entries(lua_State *L);
int lt_file_notes(lua_State *L);
int lt_file_take(lua_State *L);
int lt_file_write(lua_State *L);
extern const luaL_Reg lt_feed_functions[];     /* feed.c: of tsh.core */
struct file *lt_file_get(lua_State *L, int i); /* that is open */
int lt_open_tsh(lua_State *L);
int lt_open_tsh_core(lua_State *L);
extern const luaL_Reg lt_core_calls[]; /* core_call.c */
extern const luaL_Reg lt_core_back[];  /* core_back.c */
int lt_tape_open(lua_State *L);
int lt_tape_close(lua_State *L);
int lt_tape_stop(lua_State *L);
int lt_tape_watching(lua_State *L);
int lt_tape_customs(lua_State *L);
/* Closes what a thread has left open, NULL: all. Never raises. */
void lt_tapes_close(lua_State *L, lua_State *owner);
typedef struct lt_tape lt_tape;
lt_tape *lt_tape_get(lua_State *L, int i);
uint32_t lt_tape_first(const lt_tape *t); /* record */
int lt_tape_is_open(const lt_tape *t);
/* walk.c */
int lt_walk_set_rule(lua_State *L);
int lt_walk_new(lua_State *L);
int lt_walk_back(lua_State *L);
int lt_walk_give(lua_State *L);
/* The i-th name that the library provides, n bytes, or NULL past the last. */
const char *lt_library_name_at(size_t i, size_t *n, int *method);
/* Pushes the table that a file of the library returns. */
void lt_push_library(lua_State *L, const char *file);
/* Pushes a method that the library provides; 0: there is none. */
int lt_library_method(lua_State *L, const char *name);
/* "nn.linear" for Linear: the name in a module of ours, whatever its case and
 * its underscores. 0: none. */
int lt_library_member(const char *name, char *text, size_t size);
/* The nearest name that the library provides, if closer than least. */
const char *lt_library_nearest(const char *name, int *least);

#endif
