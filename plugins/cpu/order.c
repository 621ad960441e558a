/* order.c - the lines that are sorted. Lines that lie side by side are turned
 * into rows of a tile first, and their results back: else each cache line would
 * be read once for every line. */
#include "order.h"

enum {
  TILE = 16,        /* lines */
  LONGEST = 1 << 16 /* a line that is turned */
};

/* rows of n elements, `pitch` apart, to or from columns, `step` apart. */
#define TURN(T, name)                                                          \
  static void in_##name(void *rows, const void *x, int64_t n, int lines,       \
                        int64_t pitch, int64_t step) {                         \
    const T *s = x;                                                            \
    T *d = rows;                                                               \
    for (int64_t i = 0; i < n; i++)                                            \
      for (int k = 0; k < lines; k++) d[k * pitch + i] = s[i * step + k];      \
  }                                                                            \
  static void out_##name(void *x, const void *rows, int64_t n, int lines,      \
                         int64_t pitch, int64_t step) {                        \
    const T *s = rows;                                                         \
    T *d = x;                                                                  \
    for (int64_t i = 0; i < n; i++)                                            \
      for (int k = 0; k < lines; k++) d[i * step + k] = s[k * pitch + i];      \
  }
TURN(uint8_t, 1)
TURN(uint16_t, 2)
TURN(uint32_t, 4)
TURN(uint64_t, 8)

typedef void turn_fn(void *to, const void *from, int64_t n, int lines,
                     int64_t pitch, int64_t step);

static turn_fn *turn_of(int64_t bytes, int out) {
  static turn_fn *const fn[4][2] = {
      {in_1, out_1}, {in_2, out_2}, {in_4, out_4}, {in_8, out_8}};
  return fn[bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3][out];
}

typedef struct {
  const cpu_call *c;
  order_fn *fn;
  const void *job;
  int axis, last;
  int64_t n, k;         /* elements and results of a line */
  int64_t bytes, bout;  /* of one */
  int64_t pitch, prout; /* between the rows of a tile */
  int64_t room;         /* bytes of the job's */
  char *memory;
} work;

static void walk_init(const work *w, call_lines *lines, int axis,
                      const int64_t *extent) {
  call_lines_init(lines, call_rank(w->c, 0), extent, axis);
  call_lines_add(lines, call_view(w->c, 0)->stride, axis, -1);
  call_lines_add(lines, call_view(w->c, 1)->stride, axis, -1);
}

static tsh_status plain(const work *w) {
  const tsh_view *x = call_view(w->c, 0), *out = call_view(w->c, 1);
  order_line l = {.dx = x->stride[w->axis],
                  .dout = out->stride[w->axis],
                  .room = w->memory};
  const char *from = call_base(w->c, 0);
  char *to = call_base(w->c, 1);
  call_lines lines;
  walk_init(w, &lines, w->axis, x->extent);
  do {
    if (cpu_cancelled(w->c->run)) return TSH_ECANCELLED;
    l.x = from + lines.at[0] * w->bytes;
    l.out = to + lines.at[1] * w->bout;
    tsh_status rc = w->fn(w->c, w->job, &l);
    if (rc != TSH_OK) return rc;
  } while (call_lines_next(&lines));
  return TSH_OK;
}

/* `lines` lines side by side. */
static tsh_status tile(const work *w, const char *x, char *out, int lines) {
  char *rows = w->memory + w->room,
       *results = rows + TILE * w->pitch * w->bytes;
  order_line l = {.dx = 1, .dout = 1, .room = w->memory};
  turn_of(w->bytes, 0)(rows, x, w->n, lines, w->pitch,
                       call_view(w->c, 0)->stride[w->axis]);
  for (int k = 0; k < lines; k++) {
    if (cpu_cancelled(w->c->run)) return TSH_ECANCELLED;
    l.x = rows + k * w->pitch * w->bytes;
    l.out = results + k * w->prout * w->bout;
    tsh_status rc = w->fn(w->c, w->job, &l);
    if (rc != TSH_OK) return rc;
  }
  turn_of(w->bout, 1)(out, results, w->k, lines, w->prout,
                      call_view(w->c, 1)->stride[w->axis]);
  return TSH_OK;
}

static tsh_status tiles(const work *w) {
  const tsh_view *x = call_view(w->c, 0);
  const char *from = call_base(w->c, 0);
  char *to = call_base(w->c, 1);
  int64_t ext[TSH_MAX_RANK], wide = x->extent[w->last];
  call_lines lines;
  for (int k = 0; k <= w->last; k++) ext[k] = k == w->axis ? 1 : x->extent[k];
  walk_init(w, &lines, w->last, ext);
  do {
    for (int64_t i = 0; i < wide; i += TILE) {
      tsh_status rc = tile(w, from + (lines.at[0] + i) * w->bytes,
                           to + (lines.at[1] + i) * w->bout,
                           wide - i < TILE ? (int)(wide - i) : TILE);
      if (rc != TSH_OK) return rc;
    }
  } while (call_lines_next(&lines));
  return TSH_OK;
}

tsh_status order_each(const cpu_call *c, int64_t room, order_fn *fn,
                      const void *job) {
  const tsh_view *x = call_view(c, 0), *out = call_view(c, 1);
  work w = {.c = c,
            .fn = fn,
            .job = job,
            .axis = (int)c->prog->attr[0],
            .last = call_rank(c, 0) - 1,
            .bytes = call_bytes(c, 0),
            .bout = call_bytes(c, 1),
            .room = (room + 63) / 64 * 64};
  w.n = x->extent[w.axis];
  w.k = out->extent[w.axis];
  int turned = w.axis != w.last && x->stride[w.last] == 1 &&
               out->stride[w.last] == 1 && x->extent[w.last] >= TILE / 2 &&
               w.n > 1 && w.n <= LONGEST;
  uint64_t bytes = (uint64_t)w.room;
  tsh_buf *memory;
  w.pitch = (w.n + 7) / 8 * 8 + 24; /* rows in different cache sets */
  w.prout = (w.k + 7) / 8 * 8 + 24;
  if (turned)
    bytes += (uint64_t)(TILE * (w.pitch * w.bytes + w.prout * w.bout));
  tsh_status rc = call_room(c, bytes, &memory);
  if (rc != TSH_OK) return rc;
  w.memory = memory->mem;
  rc = turned ? tiles(&w) : plain(&w);
  call_room_free(c, memory);
  return rc;
}
