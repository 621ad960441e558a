/* Errors: what a host of any version has room for, and nothing behind that. */
#include <criterion/criterion.h>

#include "kit.h"

#include <string.h>

enum { FILL = 0x5a, MORE = 64 }; /* a newer host knows MORE bytes */
static const char sentence[] = "asked 4 of 2";

typedef union {
  tsh_err err;
  unsigned char byte[sizeof(tsh_err) + MORE];
} room;

static void room_init(room *r, uint32_t size) {
  memset(r, FILL, sizeof *r);
  r->err.size = size;
}

static int untouched(const room *r, size_t from, size_t to) {
  while (from < to && r->byte[from] == FILL) from++;
  return from >= to;
}

#define END_OF(field) (offsetof(tsh_err, field) + sizeof((tsh_err *)0)->field)
#define EXPECT(field, want)                                                    \
  if (size >= END_OF(field)) cr_expect_eq(r.err.field, want, "size %u", size)

Test(errors, are_written_up_to_the_size_that_the_caller_has) {
  for (uint32_t size = 0; size <= sizeof(tsh_err) + MORE; size++) {
    room r;
    room_init(&r, size);
    cr_expect_eq(kit_fail(&r.err, TSH_EINVAL, "asked %d of %d", 4, 2),
                 TSH_EINVAL);
    cr_expect_eq(r.err.size, size);
    size_t from = size < END_OF(code) ? sizeof r.err.size : size;
    cr_expect(untouched(&r, from, sizeof r), "size %u", size);
    EXPECT(code, TSH_EINVAL);
    EXPECT(launch, TSH_NO_LAUNCH);
    EXPECT(ticket, 0);
    EXPECT(at, -1);
    if (size <= offsetof(tsh_err, text)) continue;
    size_t n = size - offsetof(tsh_err, text) - 1;
    if (n >= sizeof sentence) n = sizeof sentence - 1;
    cr_expect_eq(strlen(r.err.text), n, "size %u", size);
    cr_expect_eq(memcmp(r.err.text, sentence, n), 0, "size %u", size);
  }
}

Test(errors, say_where_up_to_the_size_that_the_caller_has) {
  for (uint32_t size = 0; size <= sizeof(tsh_err) + MORE; size++) {
    room r;
    room_init(&r, size);
    kit_where(&r.err, 3, 7, 11);
    EXPECT(launch, 3);
    EXPECT(ticket, 7);
    EXPECT(at, 11);
    size_t from = size < END_OF(launch) ? END_OF(code) : size;
    cr_expect(untouched(&r, from, sizeof r), "size %u", size);
    cr_expect(untouched(&r, sizeof r.err.size, END_OF(code)), "size %u", size);
  }
}

Test(errors, longer_than_their_text_are_cut) {
  room r;
  room_init(&r, sizeof r); /* longer than the text of this version, too */
  kit_fail(&r.err, TSH_EINVAL, "%2000d", 1);
  cr_expect_eq(strlen(r.err.text), sizeof r.err.text - 1);
  cr_expect(untouched(&r, sizeof r.err, sizeof r));
}

Test(errors, need_no_place) {
  cr_expect_eq(kit_fail(NULL, TSH_ENOMEM, "none"), TSH_ENOMEM);
  kit_where(NULL, 3, 7, 11);
}
