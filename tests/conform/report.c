/* report.c - groups, cases and what is printed of them; the watch that turns
 * a crash or a hang of the plugin into a report. */
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cf.h"

enum { SHOWN = 4, PATIENCE = 300 }; /* lines per group; seconds per group */

int64_t cf_now(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

void cf_sleep(int64_t ns) {
  struct timespec ts = {ns / 1000000000, ns % 1000000000};
  nanosleep(&ts, NULL);
}

void cf_err_init(tsh_err *err) {
  memset(err, 0, sizeof *err);
  err->size = sizeof *err;
  err->launch = TSH_NO_LAUNCH;
  err->at = -1;
}

int cf_begin(cf *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(t->group, sizeof t->group, format, args);
  va_end(args);
  if (t->only && !strstr(t->group, t->only)) return 0;
  if (t->list) {
    puts(t->group);
    return 0;
  }
  t->at_failed = t->failed;
  t->shown = 0;
  alarm(PATIENCE);
  return 1;
}

void cf_end(cf *t) {
  alarm(0);
  if (t->verbose && !t->quiet)
    printf("%s  %s\n", t->failed == t->at_failed ? "ok" : "FAIL", t->group);
}

void cf_pass(cf *t) { t->passed++; }

static void fail(cf *t, const char *format, va_list args) {
  t->failed++;
  if (t->quiet || ++t->shown > SHOWN) return;
  printf("FAIL  %s: ", t->group);
  vprintf(format, args);
  puts(t->shown == SHOWN ? " (the last shown of this group)" : "");
  fflush(stdout);
}

void cf_fail(cf *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fail(t, format, args);
  va_end(args);
}

int cf_check(cf *t, int good, const char *format, ...) {
  va_list args;
  if (good) {
    t->passed++;
    return 1;
  }
  va_start(args, format);
  fail(t, format, args);
  va_end(args);
  return 0;
}

void cf_check_err(cf *t, const char *what, tsh_status rc, const tsh_err *err) {
  size_t n = strnlen(err->text, sizeof err->text);
  if (!cf_check(t, rc != TSH_OK, "%s: accepted", what)) return;
  cf_check(t, err->code == rc, "%s: returned %s, err.code %s", what,
           cf_status_name(rc), cf_status_name(err->code));
  cf_check(t,
           n > 0 && n < sizeof err->text && err->text[n - 1] != '.' &&
               !memchr(err->text, '\n', n),
           "%s: err.text is no sentence: \"%.80s\"", what, err->text);
}

/* ---- the watch ---------------------------------------------------------- */
static cf *watched;

/* The process is lost already, so stdio's risk is worth the last line. */
static void on_signal(int number) {
  signal(number, SIG_DFL);
  fflush(stdout);
  printf("FAIL  %s: %s\n", watched->group,
         number == SIGALRM ? "the plugin hangs" : "the plugin crashed");
  printf("%" PRIu64 " passed, %" PRIu64 " failed\n", watched->passed,
         watched->failed + 1);
  fflush(stdout);
  _exit(1);
}

void cf_watch(cf *t) {
  static const int signals[] = {
    SIGALRM,
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    SIGSEGV,
    SIGBUS,
    SIGFPE,
    SIGILL,
    SIGABRT
#endif
  };
  watched = t;
  for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
    signal(signals[i], on_signal);
}
