/* pages.c - what other programs read of our tables: the completions of three
 * shells, and the manual page tsh(1). */
#include <string.h>
#include "shell.h"

typedef struct {
  char letter;
  const char *word, *argument, *help;
} option;

static const option options[] = {
#define SH_X(id, letter, word, argument, help) {letter, word, argument, help},
    SH_OPTIONS(SH_X)
#undef SH_X
};

static const struct {
  const char *name, *arguments, *help;
} words[] =
    {
#define SH_X(id, arguments, help) {#id, arguments, help},
        SH_WORDS(SH_X)
#undef SH_X
},
  commands[] = {
#define SH_X(name, letter, kind, arguments, help) {#name, arguments, help},
      SH_CMDS(SH_X)
#undef SH_X
};
static const option bench[] = {
#define SH_X(word, letter, argument, kind, help) {letter, word, argument, help},
    LT_BENCH_OPTIONS(SH_X)
#undef SH_X
};
#define COUNT(list) (sizeof(list) / sizeof *(list))

/* ---- completions --------------------------------------------------------- */
/* Writes text with every quote doubled by the shell's rule. */
static void quoted(const char *text, FILE *out) {
  for (; *text; text++)
    if (*text == '\'')
      fputs("'\\''", out);
    else
      fputc(*text, out);
}

static void list_words(FILE *out) {
  for (size_t i = 0; i < COUNT(words); i++)
    fprintf(out, "%s%s", i ? " " : "", words[i].name);
}

static void list_options(const option *list, size_t n, FILE *out) {
  for (size_t i = 0; i < n; i++) {
    if (list[i].letter) fprintf(out, " -%c", list[i].letter);
    if (list[i].word) fprintf(out, " --%s", list[i].word);
  }
}

static void bash(FILE *out) {
  fputs("# bash completion for tsh, by `tsh completions bash`\n"
        "_tsh() {\n"
        "  local word=${COMP_WORDS[COMP_CWORD]}\n"
        "  if [[ $word == -* && ${COMP_WORDS[1]} == bench ]]; then\n"
        "    mapfile -t COMPREPLY < <(compgen -W '-e",
        out);
  list_options(bench, COUNT(bench), out);
  fputs("' -- \"$word\")\n"
        "  elif [[ $word == -* ]]; then\n"
        "    mapfile -t COMPREPLY < <(compgen -W '",
        out);
  list_options(options, COUNT(options), out);
  fputs("' -- \"$word\")\n"
        "  elif [ \"$COMP_CWORD\" = 1 ]; then\n"
        "    mapfile -t COMPREPLY < <(compgen -W '",
        out);
  list_words(out);
  fputs("' -- \"$word\"; compgen -f -- \"$word\")\n"
        "  else\n"
        "    mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
        "  fi\n"
        "}\n"
        "complete -o filenames -F _tsh tsh\n",
        out);
}

static void zsh_options(const option *list, size_t n, FILE *out) {
  for (size_t i = 0; i < n; i++) {
    const option *o = &list[i];
    for (int form = 0; form < 2; form++) {
      if (form ? !o->word : !o->letter) continue;
      if (form)
        fprintf(out, "  '--%s[", o->word);
      else
        fprintf(out, "  '-%c[", o->letter);
      quoted(o->help, out);
      fprintf(out, "]%s%s' \\\n", o->argument ? ":" : "",
              o->argument ? o->argument : "");
    }
  }
}

static void zsh(FILE *out) {
  fputs("#compdef tsh\n"
        "# zsh completion for tsh, by `tsh completions zsh`\n"
        "local -a first=(\n",
        out);
  for (size_t i = 0; i < COUNT(words); i++) {
    fprintf(out, "  '%s:", words[i].name);
    quoted(words[i].help, out);
    fputs("'\n", out);
  }
  fputs(")\nif [[ $words[2] == bench ]]; then\n_arguments \\\n", out);
  zsh_options(bench, COUNT(bench), out);
  fputs("  '*:file:_files'\nelse\n_arguments \\\n", out);
  zsh_options(options, COUNT(options), out);
  fputs("  '1: :{_describe word first -- ; _files}' '*:file:_files'\n"
        "fi\n",
        out);
}

static void fish_options(const char *begin, const option *list, size_t n,
                         FILE *out) {
  for (size_t i = 0; i < n; i++) {
    const option *o = &list[i];
    fputs(begin, out);
    if (o->letter) fprintf(out, " -s %c", o->letter);
    if (o->word) fprintf(out, " -l %s", o->word);
    fputs(o->argument ? " -r -d '" : " -d '", out);
    quoted(o->help, out);
    fputs("'\n", out);
  }
}

static void fish(FILE *out) {
  fputs("# fish completion for tsh, by `tsh completions fish`\n", out);
  for (size_t i = 0; i < COUNT(words); i++) {
    fprintf(out, "complete -c tsh -n __fish_is_first_arg -a %s -d '",
            words[i].name);
    quoted(words[i].help, out);
    fputs("'\n", out);
  }
  fish_options("complete -c tsh", options, COUNT(options), out);
  fish_options("complete -c tsh -n '__fish_seen_subcommand_from bench'", bench,
               COUNT(bench), out);
}

/* ---- the manual -----------------------------------------------------------
 */
/* A minus that is no hyphen, and no line that begins like a request. */
static void roff(const char *text, FILE *out) {
  if (*text == '.' || *text == '\'') fputs("\\&", out);
  for (; *text; text++) {
    if (*text == '-' || *text == '\\') fputc('\\', out);
    fputc(*text, out);
  }
}

static void man_options(const option *list, size_t n, FILE *out) {
  for (size_t i = 0; i < n; i++) {
    const option *o = &list[i];
    fputs(".TP\n\\fB", out);
    if (o->letter) fprintf(out, "\\-%c", o->letter);
    if (o->letter && o->word) fputs("\\fR, \\fB", out);
    if (o->word) {
      fputs("\\-\\-", out);
      roff(o->word, out);
    }
    fputs("\\fR", out);
    if (o->argument) fprintf(out, " \\fI%s\\fR", o->argument);
    fputc('\n', out);
    roff(o->help, out);
    fputc('\n', out);
  }
}

static void man_entry(const char *mark, const char *name, const char *arguments,
                      const char *help, FILE *out) {
  fprintf(out, ".TP\n\\fB%s%s\\fR ", mark, name);
  roff(arguments, out);
  fputc('\n', out);
  roff(help, out);
  fputc('\n', out);
}

static void man_topics(FILE *out) {
  fputs(".SH TOPICS\n"
        "\\fBtsh help\\fR \\fITOPIC\\fR, or \\fB:help\\fR "
        "\\fITOPIC\\fR in a session, shows a section of the guide:",
        out);
  for (size_t i = 0; lt_topic_name(i); i++)
    fprintf(out, "%s%s", i ? ", " : " ", lt_topic_name(i));
  fputs(" (which lists them). Words of it, as slicing or csv, lead there.\n",
        out);
}

static void man(FILE *out) {
  fputs(".\\\" by `tsh completions man`; do not edit\n"
        ".TH TSH 1 \"\" \"tsh " TSH_VERSION "\" \"User Commands\"\n"
        ".SH NAME\ntsh \\- a tensor shell\n"
        ".SH SYNOPSIS\n"
        ".B tsh\n[\\fIOPTIONS\\fR]\n.br\n"
        ".B tsh\n[\\fIOPTIONS\\fR] [\\fBrun\\fR] \\fIFILE\\fR [\\fIARGS\\fR]\n"
        ".br\n.B tsh\n[\\fIOPTIONS\\fR] \\fB\\-e\\fR \\fICODE\\fR | "
        "\\fB\\-p\\fR \\fIEXPR\\fR\n"
        ".SH DESCRIPTION\n"
        "tsh is Lua 5.4 with tensors. Expressions are recorded, fused into few "
        "kernels and run by device plugins when their values are asked for. "
        "Without a file it is a session; what is typed there is Lua, or a "
        "command that begins with a colon.\n"
        ".SH OPTIONS\n",
        out);
  man_options(options, COUNT(options), out);
  fputs(".SH WORDS\n", out);
  for (size_t i = 0; i < COUNT(words); i++)
    man_entry("", words[i].name, words[i].arguments, words[i].help, out);
  fputs(".SH OPTIONS OF BENCH\n"
        "Of \\fBtsh bench\\fR, and of \\fB:bench\\fR in a session. With "
        "\\fB\\-\\-fail\\-over\\fR the exit status is 1 when a row "
        "regressed by more.\n",
        out);
  man_options(bench, COUNT(bench), out);
  fputs(".SH COMMANDS OF A SESSION\n"
        "They may be shortened as long as they are unique.\n",
        out);
  for (size_t i = 0; i < COUNT(commands); i++)
    man_entry(":", commands[i].name, commands[i].arguments, commands[i].help,
              out);
  man_topics(out);
  fputs(".SH ENVIRONMENT\n"
        ".TP\n\\fBTSH_DEVICE\\fR\nthe default device\n"
        ".TP\n\\fBTSH_PLUGIN_PATH\\fR\nfolders with plugins, a colon between\n"
        ".TP\n\\fBTSH_THREADS\\fR\nthreads of the cpu\n"
        ".TP\n\\fBTSH_MEM_LIMIT\\fR\nbytes of tensors on the cpu at most, "
        "512M or 2G for example\n"
        ".TP\n\\fBTSH_LOG\\fR\na file, or stderr, that is told what \\-v "
        "tells\n"
        ".TP\n\\fBTSH_INIT\\fR\nread before a session; else "
        "~/.config/tsh/init.lua\n"
        ".TP\n\\fBTSH_HISTORY\\fR\nwhere entries are kept, or off; else "
        "~/.local/state/tsh/history\n"
        ".TP\n\\fBVISUAL\\fR, \\fBEDITOR\\fR, \\fBPAGER\\fR, \\fBNO_COLOR\\fR, "
        "\\fBCLICOLOR_FORCE\\fR, \\fBTERM\\fR, \\fBXDG_*\\fR\nas everywhere\n"
        "An option comes before the environment, that before the init file.\n"
        ".SH FILES\n"
        ".TP\n\\fIshare/tsh/examples\\fR\nscripts to learn from, beside the "
        "folder bin in which tsh is installed: regression, k-means, training "
        "with batches, resuming\n"
        ".TP\n\\fIshare/tsh/plugin\\fR\nwhat a device plugin is made from\n"
        ".SH EXIT STATUS\n"
        "0 good; 1 an error, or output that could not be written; 2 wrong "
        "usage; 3 a device or plugin that is not available; 4 out of memory; "
        "130 interrupted; n by os.exit(n).\n"
        ".SH SEE ALSO\nlua5.4(1)\n",
        out);
}

int sh_pages(const char *kind, FILE *out) {
  static const struct {
    const char *name;
    void (*write)(FILE *out);
  } kinds[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}, {"man", man}};
  for (size_t i = 0; i < COUNT(kinds); i++)
    if (strcmp(kinds[i].name, kind) == 0) {
      kinds[i].write(out);
      return LT_OK;
    }
  return sh_usage("completions needs bash, zsh, fish or man");
}
