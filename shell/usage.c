/* usage.c - what tsh --help, tsh help WORD and tsh bench --help print. */
#include <stdlib.h>
#include <string.h>
#include "shell.h"

static const struct {
  char letter;
  const char *word, *argument, *help;
} options[] = {
#define SH_X(id, letter, word, argument, help) {letter, word, argument, help},
    SH_OPTIONS(SH_X)
#undef SH_X
};
enum { NOPTIONS = sizeof options / sizeof *options };

static const struct {
  const char *name, *arguments, *help;
} words[] = {
#define SH_X(id, arguments, help) {#id, arguments, help},
    SH_WORDS(SH_X)
#undef SH_X
};
enum { NWORDS = sizeof words / sizeof *words };

static void print_option(char letter, const char *word, const char *argument,
                         const char *help, FILE *out) {
  char text[40], first[4] = "  ";
  if (letter) snprintf(first, sizeof first, "-%c", letter);
  snprintf(text, sizeof text, "%s%s%s%s%s%s", first,
           letter && word ? ", " : (letter ? "" : "  "), word ? "--" : "",
           word ? word : "", argument ? " " : "", argument ? argument : "");
  fprintf(out, "  %-22s  %s\n", text, help);
}

static void write_help(FILE *out) {
  fputs("usage: tsh [OPTIONS]                       a session\n"
        "       tsh [OPTIONS] [run] FILE [ARGS]     run a script\n"
        "       tsh [OPTIONS] -e CODE | -p EXPR     run or print\n\n",
        out);
  for (int i = 0; i < NWORDS; i++)
    fprintf(out, "  %-11s %-17s  %s\n", words[i].name, words[i].arguments,
            words[i].help);
  fputc('\n', out);
  for (int i = 0; i < NOPTIONS; i++) {
    print_option(options[i].letter, options[i].word, options[i].argument,
                 options[i].help, out);
  }
  fputs("  --                      what follows is no option\n\n"
        "environment: TSH_DEVICE, TSH_THREADS, TSH_MEM_LIMIT, TSH_INIT,\n"
        "             TSH_HISTORY (a file, or off), TSH_LOG (a file, or "
        "stderr),\n"
        "             TSH_PLUGIN_PATH (folders with ':' between)\n"
        "exit codes:  0 good, 1 error, 2 usage, 3 no such device,\n"
        "             4 out of memory, 130 interrupted\n"
        "help:        tsh help language lists the topics of the guide\n"
        "examples:    scripts in share/tsh/examples, beside the bin of tsh\n",
        out);
}

void sh_args_help(FILE *out) {
  char *text = NULL;
  size_t size = 0;
  FILE *sheet = open_memstream(&text, &size);
  if (sheet) write_help(sheet);
  if (sheet && fclose(sheet) == 0)
    lt_fold(text, -1, out);
  else
    write_help(out);
  free(text);
}

/* What `tsh help WORD` adds to the one line of the table. */
static const struct {
  const char *name, *text;
} details[] = {
    {"run",
     "  ARGS are arg[1], arg[2] ... and `...` of the script. Options of tsh\n"
     "  stand in front of FILE; -i opens a session afterwards.\n"
     "  `tsh FILE` is the same, so #!/usr/bin/env tsh works.\n"
     "  Example: tsh run train.lua --epochs 3\n"},
    {"check",
     "  What the script prints is not shown, as its numbers are none: tsh -v "
     "check\n"
     "  FILE shows it. More: :help check in a session.\n"
     "  Example: tsh check train.lua --epochs 3\n"},
    {"devices",
     "  --json: with name, kind, memory, description, and why one is not\n"
     "  available.\n"},
    {"plugins", "  --json: with scheme, state, version, path, reason.\n"},
    {"ls",
     "  Reads headers only: .npy .npz .safetensors .csv .json, IDX and the\n"
     "  index of a model in several files; - is stdin.\n"
     "  Example: tsh ls model.safetensors\n"},
    {"ops", "  --markdown writes docs/OPS.md, with the functions.\n"},
    {"doctor", "  Ends with 1 when a plugin was refused.\n"},
    {"plugin",
     "  What else stands there goes to tsh-conform: --device N, --only GROUP,\n"
     "  --list, --selftest, -v. Ends as it does: 0 when all cases pass.\n"
     "  Example: tsh plugin test build/npu.so\n"},
    {"completions", "  Example: tsh completions bash >>~/.bash_completion\n"},
    {"help",
     "  TOPIC is a word, a command of the session, a function, a method, or a\n"
     "  topic of the guide, as indexing or files: `tsh help language` lists "
     "them.\n"
     "  Example: tsh help softmax\n"},
};

void sh_bench_options(FILE *out) {
  static const struct {
    const char *word;
    char letter;
    const char *argument, *help;
  } rows[] = {
#define SH_X(word, letter, argument, kind, help) {word, letter, argument, help},
      LT_BENCH_OPTIONS(SH_X)
#undef SH_X
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[40], letter[5] = "";
    if (rows[i].letter)
      snprintf(letter, sizeof letter, "-%c, ", rows[i].letter);
    snprintf(text, sizeof text, "%s--%s %s", letter, rows[i].word,
             rows[i].argument ? rows[i].argument : "");
    fprintf(out, "    %-16s %s\n", text, rows[i].help);
  }
}

void sh_bench_help(FILE *out) {
  fputs("usage: tsh [OPTIONS] bench [OPTIONS] FILE | -e EXPR ...\n\n"
        "  FILE is a script of Lua, - standard input. It defines globals, and\n"
        "  ends with return {\"softmax(x)\", \"exp(x)\"}: expressions, or a "
        "table\n"
        "  as tsh.bench takes it. -e may be repeated.\n\n",
        out);
  sh_bench_options(out);
  fputs("\n"
        "  95 % is the interval of the median. With --vs the change has one, "
        "too;\n"
        "  regressed and improved mean that no change is outside of it. Both\n"
        "  have 1 % for the noise between two runs of a program.\n"
        "  exit codes: 1 when a row regressed by more than --fail-over says\n"
        "  Example: tsh -e 'x = rand(1000)' bench --vs main --fail-over 10% "
        "-e 'softmax(x)'\n",
        out);
}

int sh_word_help(const char *word, FILE *out) {
  int i = 0;
  while (i < NWORDS && strcmp(words[i].name, word) != 0) i++;
  if (i == NWORDS) return 0;
  if (SH_CODE + 1 + i == SH_WORD_bench) {
    sh_bench_help(out);
    return 1;
  }
  fprintf(out, "tsh %s%s%s\n  %s\n", word, *words[i].arguments ? " " : "",
          words[i].arguments, words[i].help);
  for (size_t k = 0; k < sizeof details / sizeof *details; k++)
    if (strcmp(details[k].name, word) == 0) fputs(details[k].text, out);
  return 1;
}
