/* index.c - models in several files: a JSON object whose "weight_map" says in
 * which safetensors file each tensor lies. The pairs become the notes. */
#include <stdlib.h>
#include <string.h>
#include "json.h"
#include "safetensors.h"

#define TRY(call)                                                              \
  do {                                                                         \
    if ((rc = (call)) != TSH_OK) goto out;                                     \
  } while (0)

/* A file beside the index, and no path that leads elsewhere. */
static int is_plain(const char *name) {
  return *name && *name != '.' && !strchr(name, '/');
}

static tsh_status take_map(json *j, file *f, tsh_err *err) {
  int more = 1;
  tsh_status rc;
  TRY(json_expect(j, '{', err));
  if (json_next(j, '}')) return TSH_OK;
  while (more) {
    const char *name, *shard;
    size_t nname, nshard;
    TRY(json_key(j, &name, &nname, err));
    TRY(json_text(j, &shard, &nshard, err));
    if (!is_plain(shard))
      return json_fail(j, "a file is named that is not in this folder", err);
    TRY(file_add_note(f, name, nname, shard, nshard, err));
    TRY(json_comma(j, '}', &more, err));
  }
  if (file_sort_notes(f)) return json_fail(j, "two tensors have one name", err);
out:
  return rc;
}

static tsh_status parse(json *j, file *f, tsh_err *err) {
  tsh_status rc;
  int more = 1, seen = 0;
  TRY(json_check(j, err));
  TRY(json_expect(j, '{', err));
  if (json_next(j, '}')) more = 0;
  while (more) {
    const char *key;
    size_t n;
    TRY(json_key(j, &key, &n, err));
    if (strcmp(key, "weight_map") != 0)
      TRY(json_skip(j, 0, err));
    else if (seen++)
      return json_fail(j, "weight_map is there twice", err);
    else
      TRY(take_map(j, f, err));
    TRY(json_comma(j, '}', &more, err));
  }
  TRY(json_end(j, err));
  if (!seen)
    return stream_fail(&f->s, err,
                       "no index of safetensors files: weight_map "
                       "is missing");
out:
  return rc;
}

tsh_status file_index_open(file *f, tsh_err *err) {
  char *text;
  tsh_status rc;
  if (f->s.size > SAFE_HEADER)
    return stream_fail(&f->s, err, "an index has at most %d bytes",
                       SAFE_HEADER);
  text = malloc((size_t)f->s.size + 1);
  if (!text)
    return dev_fail(err, TSH_ENOMEM, "%.400s: no memory for its text",
                    f->s.path);
  rc = stream_read(&f->s, 0, text, f->s.size, err);
  if (rc == TSH_OK) {
    json j = {&f->s, text, text, text + f->s.size, 0, 0};
    rc = parse(&j, f, err);
  }
  free(text);
  return rc;
}
