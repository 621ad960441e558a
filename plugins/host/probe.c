/* probe.c - would this process survive the file? A plugin that is not there in
 * memory yet is opened in a child first, which asks it for its table and tells
 * what became of that. So one that crashes, ends the process or never comes
 * back is refused, with the reason, and nothing of it has run here. */
#define _GNU_SOURCE
#include "set.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* To read a large library from a slow disk may take its time; a query not. */
enum { OPENING_S = 10, QUERY_S = 2 };

/* What the child has told so far. */
typedef struct {
  char text[DEV_TEXT + 8]; /* a byte for each step, then the verdict */
  size_t size;
} report;

/* ---- in the child -------------------------------------------------------- */
/* What the plugin prints, or a buffer of ours that it flushes, goes nowhere;
 * nothing of ours stays open but the way back, and a crash is a plain one. */
static void withdraw(int *out) {
  static const int fatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
  const struct rlimit none = {0, 0};
  int null;
  *out = fcntl(*out, F_DUPFD, 3); /* where stdin was closed it may be that */
  null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3 && null >= 0; fd++) dup2(null, fd);
  if (*out != 3) *out = dup2(*out, 3);
#ifdef CLOSE_RANGE_UNSHARE
  close_range(4, ~0U, 0);
#endif
  for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
    signal(fatal[i], SIG_DFL);
  setrlimit(RLIMIT_CORE, &none);
}

static void child(dev_plugin *p, int out) {
  char text[DEV_TEXT + 2];
  withdraw(&out);
  dev_load_here(p, out);
  snprintf(text, sizeof text, "%c%s", DEV_STEP_DONE,
           p->state == DEV_LOADED ? "" : p->reason);
  if (write(out, text, strlen(text) + 1) < 0) _exit(1);
  _exit(0);
}

void dev_step(int out, char step) {
  while (out >= 0 && write(out, &step, 1) < 0 && errno == EINTR) continue;
}

/* ---- in the parent ------------------------------------------------------- */
static int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int is_complete(const report *r) {
  const char *done = memchr(r->text, DEV_STEP_DONE, r->size);
  return done && memchr(done, '\0', r->size - (size_t)(done - r->text));
}

static int limit_s(const report *r) {
  return memchr(r->text, DEV_STEP_OPENED, r->size) ? QUERY_S : OPENING_S;
}

/* Until it has told all, is gone, or a step takes too long: 0 then. */
static int listen_to(int in, report *r) {
  int64_t begin = now_ms();
  struct pollfd wait = {.fd = in, .events = POLLIN};
  while (!is_complete(r)) {
    int64_t left = begin + limit_s(r) * INT64_C(1000) - now_ms();
    ssize_t n;
    int got = left > 0 ? poll(&wait, 1, (int)left) : 0;
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return 0;
    n = read(in, r->text + r->size, sizeof r->text - r->size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return 1;
    r->size += (size_t)n;
    begin = now_ms();
  }
  return 1;
}

static const char *doing(const report *r) {
  if (memchr(r->text, DEV_STEP_ASKED, r->size)) return "reading its table";
  if (memchr(r->text, DEV_STEP_OPENED, r->size)) return "its query";
  return "opening it";
}

static void refuse_dead(dev_plugin *p, const report *r, int known, int status) {
  if (known && WIFSIGNALED(status))
    dev_refuse(p, "%s crashed (signal %d, %s)", doing(r), WTERMSIG(status),
               strsignal(WTERMSIG(status)));
  else if (known)
    dev_refuse(p, "%s ended the process (exit code %d)", doing(r),
               WEXITSTATUS(status));
  else
    dev_refuse(p, "%s ended the process", doing(r));
}

static void judge(dev_plugin *p, pid_t pid, int in) {
  report r = {0};
  int in_time = listen_to(in, &r), status = 0;
  int told = is_complete(&r);
  pid_t got;
  if (!told && !in_time) kill(pid, SIGKILL);
  while ((got = waitpid(pid, &status, 0)) < 0 && errno == EINTR) continue;
  if (told) {
    const char *text = (char *)memchr(r.text, DEV_STEP_DONE, r.size) + 1;
    if (*text) dev_refuse(p, "%s", text);
  } else if (!in_time) {
    dev_refuse(p, "%s takes longer than %d s", doing(&r), limit_s(&r));
  } else {
    refuse_dead(p, &r, got == pid, status);
  }
}

/* A file that was opened before in this process has shown what it does. */
static int is_open(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (library) dlclose(library);
  return library != NULL;
}

/* Without a process to spare the file is opened as it is. */
void dev_probe_file(dev_plugin *p) {
  int ends[2];
  pid_t pid;
  if (is_open(p->path) || pipe2(ends, O_CLOEXEC) != 0) return;
  pid = fork();
  if (pid == 0) child(p, ends[1]);
  close(ends[1]);
  if (pid > 0) judge(p, pid, ends[0]);
  close(ends[0]);
}
