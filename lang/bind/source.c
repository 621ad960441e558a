/* source.c - chunk names and their texts: what stands on this line? */
#include <stdlib.h>
#include <string.h>
#include "priv.h"

/* Of chunks given as strings, in all; what comes later has no place. */
#define KEEP_BYTES (1u << 20)
#define KEEP_COUNT 1000

struct lt_sources {
  struct source {
    char *name; /* as in lua_Debug.source, perhaps cut short */
    char brief[LUA_IDSIZE];
    char *text;          /* from lt_source_add, or NULL */
    size_t size, length; /* of text, of name */
    uint64_t hash;
  } * at;
  uint32_t n, cap; /* at[0] is none */
  size_t kept, strings;
};

static uint64_t hash_of(const char *text, size_t size) {
  uint64_t h = size;
  /* The two ends tell long chunks apart well enough to begin with. */
  size_t step = size > 256 ? size / 128 : 1;
  for (size_t i = 0; i < size; i += step)
    h = (h ^ (unsigned char)text[i]) * UINT64_C(0x100000001B3);
  return h;
}

static struct source *add(struct lt_sources *s) {
  if (s->n >= s->cap) {
    uint32_t cap = s->cap ? 2 * s->cap : 16;
    struct source *bigger = realloc(s->at, cap * sizeof *bigger);
    if (!bigger) return NULL;
    s->at = bigger;
    s->cap = cap;
  }
  return memset(&s->at[s->n], 0, sizeof s->at[0]);
}

/* "@train.lua" is train.lua, "=in[3]" is in[3], else [string "first line"]. */
static void make_brief(struct source *x, const char *name, size_t size) {
  size_t room = sizeof x->brief, line = strcspn(name, "\n");
  if (*name == '=' || *name == '@') {
    snprintf(x->brief, room, "%s",
             size < room ? name + 1 : name + (size - room + 1));
  } else if (line < size || size > room - 16) {
    int most = (int)(line < room - 16 ? line : room - 16);
    snprintf(x->brief, room, "[string \"%.*s...\"]", most, name);
  } else {
    snprintf(x->brief, room, "[string \"%s\"]", name);
  }
}

uint32_t lt_source_number(lt *l, const char *name, size_t size) {
  struct lt_sources *s = l->sources;
  uint64_t h = hash_of(name, size);
  struct source *x;
  for (uint32_t i = s->n; i-- > 1;) {
    x = &s->at[i];
    if (x->hash == h && x->length == size && memcmp(x->name, name, size) == 0)
      return i;
  }
  if (*name != '=' && *name != '@') {
    if (s->kept + size > KEEP_BYTES || s->strings >= KEEP_COUNT) return 0;
    s->kept += size;
    s->strings++;
  }
  if (!(x = add(s)) || !(x->name = malloc(size + 1))) return 0;
  memcpy(x->name, name, size);
  x->name[size] = 0;
  x->length = size;
  x->hash = h;
  make_brief(x, name, size);
  return s->n++;
}

const char *lt_source_name(lt *l, uint32_t number) {
  return l->sources->at[number].name;
}

const char *lt_source_short(lt *l, uint32_t number) {
  return l->sources->at[number].brief;
}

int lt_source_is_library(const char *chunk) {
  return strncmp(chunk, LT_LIBRARY, sizeof LT_LIBRARY - 1) == 0;
}

void lt_source_add(lt *l, const char *chunk, const char *text, size_t size) {
  uint32_t n = lt_source_number(l, chunk, strlen(chunk));
  struct source *x = n ? &l->sources->at[n] : NULL;
  char *copy = x ? malloc(size + 1) : NULL;
  if (!copy) return; /* errors then show no source line */
  memcpy(copy, text, size);
  copy[size] = 0;
  free(x->text);
  x->text = copy;
  x->size = size;
}

/* ---- lines ------------------------------------------------------------------
 */
static int line_of_text(const char *at, size_t size, int line, char *out,
                        size_t room) {
  const char *end = at + size, *stop;
  size_t n;
  for (; line > 1 && at; line--) {
    at = memchr(at, '\n', (size_t)(end - at));
    if (at) at++;
  }
  if (!at || at > end) return 0;
  stop = memchr(at, '\n', (size_t)(end - at));
  n = (size_t)((stop ? stop : end) - at);
  if (n && at[n - 1] == '\r') n--;
  if (n >= room) n = room - 1;
  memcpy(out, at, n);
  out[n] = 0;
  return n > 0;
}

static int line_of_file(const char *path, int line, char *out, size_t room) {
  FILE *f = fopen(path, "r");
  int at = 1, c, found = 0;
  size_t n = 0;
  if (!f) return 0;
  while (at < line && (c = getc(f)) != EOF) at += c == '\n';
  if (at == line) {
    while ((c = getc(f)) != EOF && c != '\n')
      if (n + 1 < room && c != '\r') out[n++] = (char)c;
    out[n] = 0;
    found = n > 0;
  }
  fclose(f);
  return found;
}

static int line_of_library(const char *chunk, int line, char *out,
                           size_t room) {
  const char *name, *text, *file = chunk + sizeof LT_LIBRARY - 1;
  size_t size, n = strcspn(file, ".");
  for (size_t i = 0; lt_library_at(i, &name, &text, &size); i++)
    if (strlen(name) == n && strncmp(name, file, n) == 0)
      return line_of_text(text, size, line, out, room);
  return 0;
}

int lt_source_line(lt *l, const char *chunk, int line, char *text,
                   size_t size) {
  if (line < 1 || size == 0) return 0;
  if (*chunk == '@') return line_of_file(chunk + 1, line, text, size);
  if (lt_source_is_library(chunk))
    return line_of_library(chunk, line, text, size);
  if (*chunk != '=')
    return line_of_text(chunk, strlen(chunk), line, text, size);
  for (uint32_t i = l->sources->n; i-- > 1;) {
    const struct source *x = &l->sources->at[i];
    if (x->text && strcmp(x->name, chunk) == 0)
      return line_of_text(x->text, x->size, line, text, size);
  }
  return 0;
}

static char *text_of_file(const char *path) {
  char *text = malloc(KEEP_BYTES);
  FILE *f = text ? fopen(path, "r") : NULL;
  size_t n = f ? fread(text, 1, KEEP_BYTES, f) : KEEP_BYTES;
  if (f) fclose(f);
  if (n < KEEP_BYTES) {
    text[n] = 0;
    return text;
  }
  free(text);
  return NULL;
}

char *lt_source_text(lt *l, const char *chunk) {
  if (*chunk == '@') return text_of_file(chunk + 1);
  for (uint32_t i = l->sources->n; *chunk == '=' && i-- > 1;) {
    const struct source *x = &l->sources->at[i];
    if (x->text && strcmp(x->name, chunk) == 0)
      return x->size < KEEP_BYTES ? strdup(x->text) : NULL;
  }
  return NULL;
}

int lt_sources_open(lt *l) {
  l->sources = calloc(1, sizeof *l->sources);
  if (!l->sources || !add(l->sources)) return 0;
  l->sources->n = 1;
  return 1;
}

void lt_sources_close(lt *l) {
  if (!l->sources) return;
  for (uint32_t i = 1; i < l->sources->n; i++) {
    free(l->sources->at[i].name);
    free(l->sources->at[i].text);
  }
  free(l->sources->at);
  free(l->sources);
  l->sources = NULL;
}
