/* cmd.c - the commands of a session, which begin with a colon. One table
 * drives the parser, the help and its guesses. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "shell.h"

typedef struct {
  lt *l;
  const char *rest; /* what follows the command's name */
  int quit;         /* SH_GO_ON, or the code to leave with */
  const sh_place *place;
  char *entry; /* what is to be run next, owned; or NULL */
} call;

/* What :help NAME adds to the one line of the table. */
static const struct {
  const char *name, *text;
} details[] = {
    {"bench",
     "  95 % is the interval of the median over twenty turns, each with its "
     "inputs at\n"
     "  another place in memory. Outliers (far beyond the quartiles) count in "
     "the\n"
     "  average, but not in the deviation. A narrow window shows fewer "
     "columns, -x\n"
     "  adds details. --input \"x=EXPR\" may have "
     "blanks.\n"
     "  In Lua: tsh.bench{\"softmax(x)\", time=1}\n"
     "  Outside: tsh bench FILE, a script that sets globals and ends with what "
     "is\n"
     "  measured, return {\"softmax(x)\", \"exp(x)\"}.\n"
     "  Example: :bench --input x=rand(4) --input x=rand(100000) softmax(x)\n"},
    {"plan", "    --run        runs it, and tells the time of each launch\n"
             "    --source     also the program of each kernel\n"
             "    --dot FILE   writes the graph for Graphviz\n"
             "  In Lua: tsh.plan(x), tsh.plan(x, {run=true, source=true})\n"
             "  Example: :plan softmax(rand(1000))\n"},
    {"type",
     "  In Lua: tsh.type(x)\n  Example: :type rand(1000, 1000):sum(1)\n"},
    {"time", "  In Lua: tsh.time(function() return sum(x) end)\n"
             "  Example: :time rand(1000, 1000):sum()\n"},
    {"who", "  PATTERN is one of string.find.\n  In Lua: tsh.who(\"^x\")\n"},
    {"mem", "  trim gives cached memory back first, --all lists every tensor.\n"
            "  In Lua: tsh.mem()\n"},
    {"apropos", "  In Lua: tsh.apropos(\"norm\")\n"},
    {"device", "  In Lua: tsh.device(\"cpu\")\n"},
    {"devices", "  In Lua: tsh.devices()\n"},
    {"check",
     "  A script runs in a state of its own, on shapes only: files are read,\n"
     "  and nothing is computed, written or started. What it prints is shown\n"
     "  by tsh -v check only, tensors as their header. Where the script asks\n"
     "  for a value it gets nan, 1 or false, and of a mask all positions.\n"
     "  The first error ends it, as it ends a script. It also ends, with a\n"
     "  note, at an error or assert of the script's own that comes after\n"
     "  such a value, and after 2000000 ops (a value counts as 100 of them).\n"
     "  What lies in the values, as labels beyond the classes, is not\n"
     "  checked.\n"
     "  Of an expression it tells dtype, shape, device and bytes.\n"
     "  In Lua: tsh.check(function() return softmax(x) end)\n"
     "  Example: :check train.lua\n"},
    {"load", "  Its globals stay. In Lua: dofile(\"FILE\")\n"},
    {"full", "  On a terminal $PAGER shows it.\n"
             "  Example: :full arange(2000):view(100, 20)\n"},
    {"stats",
     "  min, mean, max, std and median are those of the finite elements. A "
     "matrix\n"
     "  of 2 to 20 columns has a row for each, as describe() of others; names "
     "behind\n"
     "  it, as read gives them, are shown.\n"
     "  In Lua: tsh.stats(x), tsh.stats(x, names)\n"
     "  Example: :stats randn(1000)\n"
     "  Example: :stats read(\"table.csv\")\n"},
    {"set", "  Values: numbers, auto, on, off.\n"
            "  In Lua: tsh.set(\"print.precision\", 6), tsh.set()\n"
            "  Example: :set print.precision 6\n"},
    {"unset", "  In Lua: tsh.set(\"print.precision\")\n"
              "  Example: :unset print.precision\n"},
    {"run", "  A new tsh with the options of this one runs it.\n"
            "  Example: :run train.lua --epochs 3\n"},
    {"edit",
     "  With $VISUAL, $EDITOR or vi. Alone: the last entry; N: that of\n"
     "  :history. What you save is run; unchanged, nothing is.\n"},
    {"paste", "  Prompts in front of the lines are taken off.\n"},
    {"save",
     "  FILE alone: a script of all entries that succeeded, for tsh run.\n"
     "  With NAMES of globals: their tensors; the ending of FILE, .npz or\n"
     "  .safetensors for example, is the format.\n"
     "  In Lua: write(\"m.npz\", {w=w, b=b})\n"
     "  Example: :save model.safetensors w b\n"},
    {"shell", "  :!CMD too. Another status than 0 is shown.\n"
              "  Example: !ls -l\n"},
    {"history",
     "  N: the last N entries (30). /TEXT/: those that contain it.\n"},
};

typedef struct {
  const char *name;
  char letter;
  int kind; /* of argument: what completion offers */
  const char *arguments, *help;
  int (*run)(call *c); /* an LT code */
} command;

#define SH_X(name, ...) static int run_##name(call *c);
SH_CMDS(SH_X)
#undef SH_X

static const command commands[] = {
#define SH_X(name, letter, kind, arguments, help)                              \
  {#name, letter, kind, arguments, help, run_##name},
    SH_CMDS(SH_X)
#undef SH_X
};
enum { NCOMMANDS = sizeof commands / sizeof *commands };

/* ---- finding one --------------------------------------------------------- */

/* By its letter, its name, or the beginning of a name that no other has. */
static const command *find(const char *typed) {
  const command *found = NULL;
  size_t length = strlen(typed);
  int n = 0;
  for (int i = 0; i < NCOMMANDS; i++) {
    const command *x = &commands[i];
    if ((length == 1 && *typed == x->letter) || strcmp(x->name, typed) == 0)
      return x;
    if (length && strncmp(x->name, typed, length) == 0) {
      found = x;
      n++;
    }
  }
  return n == 1 ? found : NULL;
}

static void complain(const char *typed) {
  const char *names[NCOMMANDS + 1], *near;
  char text[120] = "";
  size_t length = strlen(typed), used = 0;
  for (int i = 0; i < NCOMMANDS; i++) {
    names[i] = commands[i].name;
    if (length && strncmp(names[i], typed, length) == 0)
      used += (size_t)snprintf(text + used, sizeof text - used, "%s:%s",
                               used ? " or " : "", names[i]);
  }
  names[NCOMMANDS] = NULL;
  near = sh_near(typed, names);
  if (used)
    fprintf(stderr, "error: ':%s' may be %s\n", typed, text);
  else if (near)
    fprintf(stderr,
            "error: unknown command ':%s' - did you mean :%s? (:help "
            "lists all)\n",
            typed, near);
  else
    fprintf(stderr, "error: unknown command ':%s' (:help lists all)\n", typed);
}

/* ---- completion ---------------------------------------------------------- */

static const command *command_of(const char *line) {
  char name[32];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(line + 1, " \t"), line + 1);
  return find(name);
}

int sh_is_command(const char *line) {
  return *line && strchr(":?!", *line) != NULL;
}

int sh_command_wants_file(const char *line, int start) {
  const command *x = line[0] == ':' && start > 1 ? command_of(line) : NULL;
  if (line[0] == '!' || (line[0] == ':' && line[1] == '!')) return start > 0;
  return x && x->kind == SH_PATH;
}

void sh_command_complete(lt *l, const char *line, int start, const char *word,
                         lt_completed each, void *ud) {
  const command *x = start > 0 ? command_of(line) : NULL;
  int names = start == 0 || (x && strcmp(x->name, "help") == 0);
  for (int i = 0; i < NCOMMANDS && names; i++) {
    char text[40];
    snprintf(text, sizeof text, start ? "%s" : ":%s ", commands[i].name);
    if (strncmp(text, word, strlen(word)) == 0) each(ud, text, 0);
  }
  for (size_t i = 0; x && x->kind == SH_NAME && lt_topic_name(i); i++)
    if (strncmp(lt_topic_name(i), word, strlen(word)) == 0)
      each(ud, lt_topic_name(i), 0);
  for (size_t i = 0; x && x->kind == SH_SETTING && lt_setting_name(i); i++)
    if (strncmp(lt_setting_name(i), word, strlen(word)) == 0)
      each(ud, lt_setting_name(i), 0);
  if (x && (x->kind == SH_EXPR || x->kind == SH_NAME))
    lt_complete(l, word, each, ud);
}

/* ---- help ---------------------------------------------------------------- */

const char *const *sh_command_texts(void) {
  static const char *const texts[] = {
#define SH_X(name, letter, kind, arguments, help) ":" #name, help,
      SH_CMDS(SH_X)
#undef SH_X
          NULL};
  return texts;
}

static void list_topics(FILE *out) {
  FILE *sheet;
  char *text = NULL;
  size_t size;
  if (!(sheet = open_memstream(&text, &size))) return;
  fputs("  Topics, of :help TOPIC:", sheet);
  for (size_t i = 0; lt_topic_name(i); i++)
    fprintf(sheet, " %s", lt_topic_name(i));
  fputs("\n", sheet);
  if (fclose(sheet) == 0) lt_fold(text, 2, out);
  free(text);
}

static void list_commands(FILE *out) {
  char line[200];
  for (int i = 0; i < NCOMMANDS; i++) {
    snprintf(line, sizeof line, "  :%-8s %-20s %s\n", commands[i].name,
             commands[i].arguments, commands[i].help);
    lt_fold(line, 33, out);
  }
  lt_fold(
      "\n"
      "  Anything else is Lua. An expression prints its values, ';' at the\n"
      "  end mutes them. _ is the last value, out[n] that of entry n.\n"
      "  An entry that is not complete goes on in the next line; two empty\n"
      "  lines or Ctrl-C end it. Commands may be shortened.\n",
      2, out);
  list_topics(out);
}

/* What there is on a topic; LT_ERROR when nothing is. */
static int write_topic(lt *l, const char *topic, FILE *out) {
  const command *x = find(topic + (*topic == ':'));
  /* A function of the same name is what `tsh help plan` may also mean. */
  if (x && (*topic == ':' || strcmp(x->name, topic) == 0)) {
    fprintf(out, ":%s %s\n  %s\n", x->name, x->arguments, x->help);
    if (strcmp(x->name, "bench") == 0) {
      fputs("  Every expression runs until its tensors are computed, again and "
            "again.\n",
            out);
      sh_bench_options(out);
    }
    for (size_t i = 0; i < sizeof details / sizeof *details; i++)
      if (strcmp(details[i].name, x->name) == 0) fputs(details[i].text, out);
    if (*topic != ':') lt_doc(l, topic, out);
    return LT_OK;
  }
  return lt_doc(l, topic, out);
}

/* It writes no files, whatever is typed into it. */
#define PAGE                                                                   \
  "LESSSECURE=1 LESSHISTFILE=- less -FRX '-Psq leaves, blank shows more'"

/* Through the user's pager; without one, as it is. */
static void page(const char *text, size_t size) {
  const char *pager = getenv("PAGER");
  FILE *pipe;
  fflush(stdout);
  sh_signals_keep_pipe(1);
  pipe = popen(pager && *pager ? pager : PAGE, "w");
  if (pipe) fwrite(text, 1, size, pipe); /* who has seen enough closes it */
  if (!pipe || pclose(pipe) == 127 << 8) fwrite(text, 1, size, stdout);
  sh_signals_keep_pipe(0);
}

static int rows_of(const char *text, size_t size) {
  int rows = 0;
  for (size_t i = 0; i < size; i++) rows += text[i] == '\n';
  return rows;
}

/* Folded; what is of the guide page by page when a terminal has fewer lines. */
static void show(const char *topic, const char *text, FILE *out) {
  int rows = lt_is_topic(topic) ? lt_line_rows(out) : 0;
  char *folded = NULL;
  size_t size = 0;
  FILE *sheet = rows ? open_memstream(&folded, &size) : NULL;
  if (sheet) {
    lt_fold_for(text, -1, out, sheet);
    if (fclose(sheet) != 0) size = 0;
  }
  if (size && rows_of(folded, size) >= rows)
    page(folded, size);
  else
    lt_fold(text, -1, out);
  free(folded);
}

/* Of several words the first that there is help on. Those that join them are
 * none. */
static int write_topics(lt *l, const char *topic, char *shown, size_t size,
                        FILE *out) {
  static const char joining[] =
      " how to of in on a an the and or for with do i my is what ";
  char word[60], spaced[64];
  snprintf(shown, size, "%s", topic);
  if (write_topic(l, topic, out) == LT_OK) return LT_OK;
  if (!strchr(topic, ' ')) return LT_ERROR;
  for (const char *at = topic; *at; at += strspn(at, " ")) {
    size_t n = strcspn(at, " ");
    snprintf(word, sizeof word, "%.*s", (int)n, at);
    snprintf(spaced, sizeof spaced, " %s ", word);
    at += n;
    snprintf(shown, size, "%s", word);
    if (!strstr(joining, spaced) && write_topic(l, word, out) == LT_OK)
      return LT_OK;
  }
  return LT_ERROR;
}

int sh_help_known(lt *l, const char *topic, FILE *out) {
  char *text = NULL, shown[200];
  size_t size = 0;
  FILE *sheet = open_memstream(&text, &size);
  int rc;
  if (!sheet) return LT_NOMEM;
  rc = write_topics(l, topic, shown, sizeof shown, sheet);
  if (fclose(sheet) != 0) rc = LT_NOMEM;
  if (rc == LT_OK) show(shown, text, out);
  free(text);
  return rc;
}

int sh_help(lt *l, const char *topic, FILE *out, FILE *err) {
  int rc;
  if (!topic || !*topic) {
    list_commands(out);
    return LT_OK;
  }
  rc = sh_help_known(l, topic, out);
  if (rc != LT_ERROR) return rc;
  sh_run_begin(l, 0);
  rc = lt_command(l, "nothing_on", topic, err);
  sh_run_end();
  return rc;
}

/* ---- the commands -------------------------------------------------------- */

static int run_help(call *c) { return sh_help(c->l, c->rest, stdout, stderr); }

static int run_doc(call *c) {
  if (*c->rest) return sh_help(c->l, c->rest, stdout, stderr);
  fputs("error: :doc needs a name\n", stderr);
  return LT_USAGE;
}

/* Commands that are made of Lua. */
static int run_lua(call *c, const char *name) {
  int rc;
  sh_run_begin(c->l, 0);
  rc = lt_command(c->l, name, c->rest, stderr);
  sh_run_end();
  return rc;
}

static int run_full(call *c) {
  char *text = NULL;
  size_t size = 0;
  FILE *out;
  int rc;
  if (!*c->rest) {
    fputs("error: :full needs an expression\n", stderr);
    return LT_USAGE;
  }
  out = open_memstream(&text, &size);
  if (!out) return LT_NOMEM;
  sh_run_begin(c->l, 0);
  rc = lt_full(c->l, c->rest, out, stderr);
  sh_run_end();
  if (fclose(out) != 0) rc = LT_NOMEM;
  if (rc == LT_OK && isatty(STDOUT_FILENO))
    page(text, size);
  else if (rc == LT_OK)
    fwrite(text, 1, size, stdout);
  free(text);
  return rc;
}

static int run_apropos(call *c) { return run_lua(c, "apropos"); }
static int run_type(call *c) { return run_lua(c, "type"); }
static int run_plan(call *c) { return run_lua(c, "plan"); }
static int run_bench(call *c) { return run_lua(c, "bench"); }
static int run_time(call *c) { return run_lua(c, "time"); }
static int run_who(call *c) { return run_lua(c, "who"); }
static int run_mem(call *c) { return run_lua(c, "mem"); }
static int run_load(call *c) { return run_lua(c, "load"); }
/* A script is checked in a state of its own, which keeps it apart from the
 * values of this one. */
static int check_file(call *c, char **word, int n) {
  lt_options options = c->place->args->lt;
  char text[1200];
  lt *own;
  int rc;
  options.check = SH_CHECK_OPS;
  options.device = lt_device(c->l);
  rc = lt_open(&options, &own, text, sizeof text);
  if (rc != LT_OK) {
    fprintf(stderr, "error: %s\n", text);
    return rc;
  }
  sh_run_begin(own, 0);
  rc = lt_check_script(own, word[0], n - 1, word + 1, 0, stderr);
  sh_run_end();
  lt_close(own);
  return rc;
}

static int is_script(const char *word) {
  size_t length = strlen(word);
  return access(word, F_OK) == 0 ||
         (length > 4 && strcmp(word + length - 4, ".lua") == 0);
}

static int run_check(call *c) {
  int n, rc;
  char **word = sh_words(c->rest, 0, &n);
  if (!word) return LT_NOMEM;
  rc = n && is_script(word[0]) ? check_file(c, word, n) : run_lua(c, "check");
  sh_words_free(word, 0);
  return rc;
}
static int run_stats(call *c) { return run_lua(c, "stats"); }
static int run_set(call *c) { return run_lua(c, "set"); }
static int run_unset(call *c) { return run_lua(c, "unset"); }

static int run_device(call *c) {
  char text[1200];
  int rc = LT_OK;
  if (*c->rest) rc = lt_set_device(c->l, c->rest, text, sizeof text);
  if (rc == LT_OK && !*c->rest) puts(lt_device(c->l));
  if (rc != LT_OK) fprintf(stderr, "error: %s\n", text);
  return rc;
}

static int run_run(call *c) { return sh_run_file(c->place->args, c->rest); }
static int run_edit(call *c) { return sh_edit(c->place, c->rest, &c->entry); }
static int run_paste(call *c) { return sh_paste(c->place, &c->entry); }
static int run_cd(call *c) { return sh_cd(c->rest); }
static int run_shell(call *c) { return sh_shell(c->rest); }

/* Names behind the file mean tensors, which are Lua's to write. */
static int run_save(call *c) {
  int n, rc = LT_USAGE;
  char **word = sh_words(c->rest, 0, &n);
  if (!word) return LT_NOMEM;
  if (n == 0)
    fputs("error: :save needs a file\n", stderr);
  else if (n == 1)
    rc = sh_done_save(c->place->done, word[0]);
  else
    rc = run_lua(c, "save");
  sh_words_free(word, 0);
  return rc;
}

static int run_clear(call *c) {
  (void)c;
  return sh_clear();
}

static int run_version(call *c) {
  (void)c;
  sh_version(stdout);
  return LT_OK;
}

/* Entries of several lines are shown with their lines. */
static void list_history(const sh_history *h, size_t first, const char *part) {
  for (size_t i = first; i < sh_history_count(h); i++) {
    const char *text = sh_history_at(h, i);
    if (part && !strstr(text, part)) continue;
    printf("%5zu  ", i + 1);
    for (; *text; text++)
      if (*text == '\n')
        fputs("\n       ", stdout);
      else
        fputc(*text, stdout);
    fputc('\n', stdout);
  }
}

static int run_history(call *c) {
  sh_history *h = c->place->history;
  size_t n = sh_history_count(h), length = strlen(c->rest);
  char part[256], *end;
  long last = strtol(c->rest, &end, 10);
  if (strcmp(c->rest, "sync") == 0) {
    sh_history_sync(h);
    return LT_OK;
  }
  if (length > 1 && c->rest[0] == '/' && c->rest[length - 1] == '/') {
    snprintf(part, sizeof part, "%.*s", (int)length - 2, c->rest + 1);
    list_history(h, 0, part);
    return LT_OK;
  }
  if (*end || last < 0) {
    fprintf(stderr, "error: :history takes N, /TEXT/ or sync, not '%s'\n",
            c->rest);
    return LT_USAGE;
  }
  if (!*c->rest) last = 30;
  list_history(h, n > (size_t)last ? n - (size_t)last : 0, NULL);
  return LT_OK;
}

/* The Lua state is made anew; plugins are looked for again. */
static int run_reset(call *c) {
  lt *fresh;
  char text[1200];
  int rc = lt_open(&c->place->args->lt, &fresh, text, sizeof text);
  if (rc != LT_OK) {
    fprintf(stderr, "error: %s\n", text);
    return rc;
  }
  lt_close(*c->place->l);
  *c->place->l = fresh;
  return LT_OK;
}

static int run_devices(call *c) { return lt_devices(c->l, stdout); }

static int run_plugins(call *c) {
  /* The list always says why, so -v changes nothing yet. */
  if (!*c->rest || strcmp(c->rest, "-v") == 0) return lt_plugins(c->l, stdout);
  fprintf(stderr, "error: :plugins takes -v only, not '%s'\n", c->rest);
  return LT_USAGE;
}

static int run_quit(call *c) {
  char *end;
  long code = strtol(c->rest, &end, 10);
  if (*end || code < 0 || code > 255) {
    fprintf(stderr, "error: :quit takes a code from 0 to 255, not '%s'\n",
            c->rest);
    return LT_USAGE;
  }
  c->quit = (int)code;
  return LT_OK;
}

/* ":name rest", "?rest", "!rest" or ":!rest"; line is ours to change. */
static int run_line(const sh_place *place, char *line, int *failed,
                    char **entry) {
  size_t length = strlen(line);
  call c = {*place->l, line + 1, SH_GO_ON, place, NULL};
  char name[32];
  const command *x;
  while (length && isspace((unsigned char)line[length - 1]))
    line[--length] = '\0';
  if (*line == '?') {
    c.rest += *c.rest == '?'; /* IPython's ??name */
    snprintf(name, sizeof name, "%s", *c.rest ? "doc" : "help");
  } else if (*line == '!' || line[1] == '!') {
    snprintf(name, sizeof name, "shell");
    c.rest += *line == ':';
  } else {
    length = strcspn(c.rest, " \t");
    snprintf(name, sizeof name, "%.*s", (int)length, c.rest);
    c.rest += length;
  }
  c.rest += strspn(c.rest, " \t");
  x = find(name);
  if (!x) complain(name);
  *failed = !x || x->run(&c) != LT_OK;
  if (!*failed) sh_done_command(place->done, x->name, c.rest);
  *entry = c.entry;
  return c.quit;
}

int sh_command(const sh_place *place, const char *line, int *failed,
               char **entry) {
  char *copy = strdup(line);
  int rc = SH_GO_ON;
  *failed = 1;
  *entry = NULL;
  if (copy) rc = run_line(place, copy, failed, entry);
  free(copy);
  return rc;
}
