#!/bin/bash
# A check that cannot fail checks nothing: each detector of scripts/dev meets
# the fault that it exists for, and the same tree without it.
set -euo pipefail
root=$(cd "${TSH_SOURCE:-$(dirname "$0")/../..}" && pwd)
dev=$root/scripts/dev
# shellcheck source=scripts/dev/tally.sh
. "$dev/tally.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

quiet() { "$@" >"$work/out" 2>&1; }

# accepts COMMAND..., refuses TEXT COMMAND...: TEXT is in what it prints.
accepts() { quiet "$@" || { cat "$work/out" && return 1; }; }
refuses() {
  local text=$1 rc=0
  shift
  quiet "$@" || rc=$?
  if [ $rc = 77 ]; then return 77; fi
  if [ $rc = 0 ] || ! grep -q -e "$text" "$work/out"; then
    echo "status $rc, \"$text\" expected in:" && cat "$work/out"
    return 1
  fi
}

# ---- layers -----------------------------------------------------------------
tree=$work/tree
clean_tree() {
  rm -rf "$tree"
  mkdir -p "$tree"/{shell,lang/{bind,file,plan,lib},tests/conform} \
    "$tree"/plugins/{host,kit,cpu,example}
  touch "$tree/lang/plan/priv.h"
  printf '#include "lt.h"\n#include <stdio.h>\n' >"$tree/shell/main.c"
  printf '#include "plan.h"\n#include "file.h"\n#include <lua.h>\n' \
    >"$tree/lang/bind/ops.c"
  printf '#include "plan.h"\n' >"$tree/lang/file/csv.c"
  printf '#include "dev.h"\n#include "tsh_plugin.h"\n#include "priv.h"\n' \
    >"$tree/lang/plan/graph.c"
  printf '#include "tsh_plugin.h"\n#include "paths.h"\n' \
    >"$tree/plugins/host/find.c"
  printf '#include "tsh_plugin.h"\n' >"$tree/plugins/kit/kit.c"
  printf '#include "kit_math.h"\n' >"$tree/plugins/cpu/pool.c"
  printf '#include "kit.h"\n' >"$tree/plugins/example/example.c"
  printf '#include <stdint.h>\n' >"$tree/plugins/tsh_plugin.h"
  printf '#include "tsh_plugin.h"\n' >"$tree/tests/conform/main.c"
  printf '%s\n' 'for k in pairs(t) do n = n + 1 end -- order-free' \
    'for i in ipairs(t) do end' >"$tree/lang/lib/nn.lua"
}

# upward FILE LINE: the tree with LINE in FILE is refused.
upward() {
  clean_tree
  echo "$2" >>"$tree/$1"
  step "layers: $1 with $2" \
    refuses "$1:$(wc -l <"$tree/$1"):" "$dev/check-layers.sh" "$tree"
}

clean_tree
step "layers: a clean tree" accepts "$dev/check-layers.sh" "$tree"
upward shell/main.c '#include "plan.h"'
upward shell/main.c '#include "tsh_plugin.h"'
upward shell/main.c '#include <lua.h>'
upward shell/main.c ' #  include "../lang/bind/lt.h"'
upward lang/bind/ops.c '#include "dev.h"'
upward lang/file/csv.c '#include "lt.h"'
upward lang/plan/graph.c '#include "file.h"'
upward lang/plan/graph.c '#include <lauxlib.h>'
upward plugins/host/find.c '#include "plan.h"'
upward plugins/host/find.c '#include "kit.h"'
upward plugins/kit/kit.c '#include "dev.h"'
upward plugins/cpu/pool.c '#include "dev.h"'
upward plugins/example/example.c '#include "cpu.h"'
upward plugins/tsh_plugin.h '#include "kit.h"'
upward tests/conform/main.c '#include "kit.h"'
upward lang/lib/nn.lua 'for k in pairs(t) do end'
upward lang/lib/nn.lua 'for k, v in next, t do end'

echo 'tsh_SOURCES = shell/main.c' >"$tree/Makefile.am"
rm -r "$tree"/{lang,plugins,tests}
step "sources: all are named" accepts "$dev/check-sources.sh" "$tree"
touch "$tree/shell/main.h" "$tree/shell/ain.c"
step "sources: a header" refuses main.h "$dev/check-sources.sh" "$tree"
step "sources: part of a name" refuses /ain.c "$dev/check-sources.sh" "$tree"

# ---- format, header, scripts, sizes -----------------------------------------
mkdir "$work/c"
echo 'int f(void);' >"$work/c/a.h"
if command -v clang-format-14 >/dev/null; then
  step "format: a clean file" accepts "$dev/check-format.sh" "$work/c"
fi
echo 'int   f( void ) ;' >"$work/c/b.h"
step "format: blanks" refuses b.h "$dev/check-format.sh" "$work/c"

step "header: a clean one" accepts "$dev/check-header.sh" "$work/c/a.h"
# header FAULT LINE: refused by at least one language.
header() {
  echo "$2" >"$work/h.h"
  step "header: $1" refuses FAILED "$dev/check-header.sh" "$work/h.h"
}
header "not C99" '_Static_assert(1, "");'
header "not C++" 'struct x { int class; };'
header "not alone" 'uint32_t f(void);'
header "an extension" 'struct x { int n; struct { int m[0]; } s; };'

mkdir -p "$work/s"/{.ci,scripts/dev,tests}
touch "$work/s/scripts/dev/tally.sh"
# shellcheck disable=SC2016 # the fault itself
printf '#!/bin/bash\nrm $1\n' >"$work/s/scripts/a"
step "scripts: no quotes" refuses SC2086 "$dev/check-scripts.sh" "$work/s"

# ---- embed ------------------------------------------------------------------
# Every byte value, no newline at the end, an empty file, a dash in a name.
embed() {
  local cc
  cc=$(command -v gcc || command -v cc) || return 77
  printf '%b' "$(printf '\\%04o' {0..255})" >"$work/all.lua"
  : >"$work/no-thing.lua"
  {
    printf '#include <stdio.h>\n#include <string.h>\n'
    "$dev/embed.sh" "$work/all.lua" "$work/no-thing.lua"
    cat <<'END'
int main(void) {
  fwrite(embedded[0].bytes, 1, embedded[0].size, stdout);
  return strcmp(embedded[0].name, "all") || embedded[1].size ||
         strcmp(embedded[1].name, "no-thing") || embedded[2].name;
}
END
  } >"$work/embed.c"
  "$cc" -Wall -Wextra -Werror -o "$work/embed" "$work/embed.c"
  "$work/embed" >"$work/embed.out" && cmp "$work/embed.out" "$work/all.lua"
}
step "embed: byte for byte" embed

# ---- run-tests --------------------------------------------------------------
# A build folder whose programs are scripts. runs TEXT PROGRAM: the driver
# fails and says TEXT when the Criterion program is PROGRAM.
fake_build() {
  local b=$work/build t=$work/source
  rm -rf "$b" "$t"
  mkdir -p "$b"/{tests/{conform,tsan},plugins/cpu/.libs} "$t"/tests/{lua,shell}
  touch "$b/plugins/cpu/.libs/cpu.so" "$t/tests/lua/a.lua"
  echo 'echo "1 passed, 0 failed"' >"$t/tests/shell/a.sh"
  for p in tsh tests/{fuzz-graph,conform/tsh-conform,tsan/a.t}; do
    printf '#!/bin/bash\necho "1 passed, 0 failed"\n' >"$b/$p"
  done
  printf '#!/bin/bash\n%s\n' "$1" >"$b/tests/a.t"
  chmod +x "$b/tsh" "$b"/tests/{a.t,fuzz-graph,conform/tsh-conform,tsan/a.t}
}
synthesis() {
  echo "echo '[====] Synthesis: Tested: $1 | Passing: $2 | Failing: $3 |" \
    "Crashing: $4 '"
}
drive() { TEST_ROOT=$work/source "$dev/run-tests.sh" "$work/build"; }
runs() {
  fake_build "$2"
  step "run-tests: $1" refuses "$1" drive
}

good=$(synthesis 3 3 0 0)
fake_build "$good"
step "run-tests: all good" accepts drive
step "run-tests: the sum" grep -qx '10 passed, 0 failed' "$work/out"
runs '8 passed, 3 failed' "$(synthesis 4 1 3 1); exit 1"
runs 'no test ran' "$(synthesis 0 0 0 0)"
runs 'no test ran' 'echo hello'
runs 'exit status 3' "$good; exit 3"
runs 'in spite of failures' "$(synthesis 3 2 1 0)"
# shellcheck disable=SC2016 # for the program, not for here
log='f=${ASAN_OPTIONS#*log_path=}; echo "a leak" >"${f%%:*}.7"'
runs 'sanitizer report' "$log; $good"
fake_build "${log/a leak/WARNING: AddressSanitizer failed to allocate}; $good"
step "run-tests: no memory is no fault" accepts drive
fake_build "${log/a leak/==7==Running thread 8 was not suspended. False leaks are possible.}; $good"
step "run-tests: a thread that ends is no leak" accepts drive
fake_build "$good"
rm "$work/build/tests/a.t"
step "run-tests: no program" refuses 'no test ran' drive
fake_build "$good"
rm "$work/source/tests/lua/a.lua"
step "run-tests: no Lua file" refuses 'no test ran' drive

# ---- setup ------------------------------------------------------------------
step "setup: no apt" refuses liblua5.4-dev \
  env PATH="$work" "$BASH" "$root/scripts/setup" --test

closing_line
[ "$failed" = 0 ]
