#!/bin/bash
# Runs every test of one build folder: run-tests.sh BUILD [--asan]
#
# Finds: BUILD/tests/*.t (Criterion), BUILD/tests/tsan/*.t, tests/lua/*.lua (run
# by tsh), tests/shell/*.sh, tsh-conform on each plugin and on faults planted
# into one (--selftest), the graph fuzzer. Names that begin with _ are helpers of
# the tests. --asan: a slow build, so fewer graphs, and no planted faults.
# Tests read TSH (the program), TSH_BUILD, TSH_SOURCE and TSH_CONFORM.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=${TEST_ROOT:-$(cd "$here/../.." && pwd)}
build=$(cd "$1" && pwd)
SUITE_LIMIT=300
graphs=10000
if [ "${2-}" = --asan ]; then graphs=500; fi
logs=$build/test-logs
mkdir -p "$logs"
# shellcheck source=scripts/dev/tally.sh
. "$here/tally.sh"

export TSH=$build/tsh TSH_BUILD=$build TSH_SOURCE=$root
export TSH_CONFORM=$build/tests/conform/tsh-conform
export LC_ALL=C.UTF-8
export TSH_TEST_PLUGINS=$build/tests/fault/.libs
# What the user who runs the tests has set or installed must not matter.
unset TSH_DEVICE TSH_THREADS TSH_PLUGIN_PATH TSH_MEM_LIMIT TSH_LOG
export XDG_DATA_HOME=$logs/data

# each KIND PATTERN COMMAND...: a suite per file; a kind without files fails.
each() {
  local kind=$1 pattern=$2 f found=0
  shift 2
  for f in $pattern; do
    if [ ! -e "$f" ] || [[ ${f##*/} = _* ]]; then continue; fi
    found=1
    suite "$kind/${f##*/}" "$@" "$f"
  done
  if [ $found = 0 ]; then suite "$kind" echo "no $pattern"; fi
}

cd "$logs"
each unit "$build/tests/*.t" env
each threads "$build/tests/tsan/*.t" env
each lua "$root/tests/lua/*.lua" \
  env "TSH_PLUGIN_PATH=$build/plugins/example/.libs" "$TSH" run
each shell "$root/tests/shell/*.sh" bash
each conform "$build/plugins/*/.libs/*.so" "$TSH_CONFORM"
# Only what is fast: its cases wait for jobs of many milliseconds.
if [ "${2-}" != --asan ]; then
  suite conform/selftest "$TSH_CONFORM" --selftest \
    "$build/plugins/cpu/.libs/cpu.so"
fi
suite fuzz/graphs "$build/tests/fuzz-graph" --graphs "$graphs" \
  --plugins "$build/plugins/example/.libs" --devices example,opaque
TSH_SHARE_ALL=1 suite fuzz/threads "$build/tests/fuzz-graph" --threads 3 \
  --graphs $((graphs / 4)) --seed 1000000 \
  --plugins "$build/plugins/example/.libs" --devices example

closing_line
[ "$failed" = 0 ]
