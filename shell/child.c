/* child.c - other programs: one is run and waited for, Ctrl-C goes to it alone.
 * Also where this program lies, and the conformance kit beside it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "shell.h"

extern char **environ;

/* ---- running one --------------------------------------------------------- */

/* What we ignore or catch the program finds as it usually is. */
static int spawn(pid_t *pid, char *const *argv, int no_input) {
  static const int usual[] = {SIGINT, SIGQUIT, SIGPIPE, SIGXFSZ, SIGTSTP};
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  sigset_t set;
  int why = posix_spawn_file_actions_init(&files);
  if (why) return why;
  if ((why = posix_spawnattr_init(&attributes)) != 0) {
    posix_spawn_file_actions_destroy(&files);
    return why;
  }
  sigemptyset(&set);
  for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
    sigaddset(&set, usual[i]);
  posix_spawnattr_setsigdefault(&attributes, &set);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  if (no_input)
    why = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null",
                                           O_RDONLY, 0);
  if (!why)
    why = posix_spawnp(pid, argv[0], &files, &attributes, argv, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return why;
}

int sh_child(char *const *argv) {
  struct sigaction ignore, was_int, was_quit;
  pid_t pid;
  int status = 0, why;
  fflush(stdout);
  memset(&ignore, 0, sizeof ignore);
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGINT, &ignore, &was_int);
  sigaction(SIGQUIT, &ignore, &was_quit);
  /* Off a terminal our input is the session, and none of the program's. */
  why = spawn(&pid, argv, !isatty(STDIN_FILENO));
  while (!why && waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) why = errno;
  sigaction(SIGINT, &was_int, NULL);
  sigaction(SIGQUIT, &was_quit, NULL);
  if (why) {
    fprintf(stderr, "error: cannot run %s: %s\n", argv[0], strerror(why));
    return LT_ERROR;
  }
  if (WIFSIGNALED(status))
    fprintf(stderr, "note: ended by signal %d (%s)\n", WTERMSIG(status),
            strsignal(WTERMSIG(status)));
  else if (WEXITSTATUS(status))
    fprintf(stderr, "note: exit status %d\n", WEXITSTATUS(status));
  return status ? LT_ERROR : LT_OK;
}

int sh_child_shell(const char *command, const char *argument) {
  char *argv[] = {"/bin/sh",
                  "-c",
                  (char *)(uintptr_t)command,
                  "tsh",
                  (char *)(uintptr_t)argument,
                  NULL};
  return sh_child(argv);
}

/* ---- this program -------------------------------------------------------- */

const char *sh_own_path(void) {
  static char path[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  if (n <= 0) return "tsh"; /* in the PATH, perhaps */
  path[n] = '\0';
  return path;
}

int sh_plugin_test(int argc, char **argv) {
  static const char name[] = "tsh-conform";
  const char *own = sh_own_path(), *slash = strrchr(own, '/');
  char beside[PATH_MAX + sizeof name], **child;
  child = calloc((size_t)argc + 2, sizeof *child);
  if (!child) return LT_NOMEM;
  child[0] = (char *)(uintptr_t)name;
  memcpy(child + 1, argv, (size_t)argc * sizeof *child);
  snprintf(beside, sizeof beside, "%.*s%s", slash ? (int)(slash - own) + 1 : 0,
           own, name);
  if (slash) execv(beside, child);
  execvp(name, child);
  fprintf(stderr,
          "error: cannot run %s: %s\n"
          "  hint: it is installed together with tsh; it was looked for as "
          "%s and in the PATH\n",
          name, strerror(errno), slash ? beside : name);
  free(child);
  return LT_NODEVICE;
}
