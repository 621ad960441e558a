#!/bin/bash
# A plugin author may copy the header into any C or C++ project, so it must
# compile alone, without a warning: check-header.sh [FILE]
set -euo pipefail
header=${1:-$(dirname "$0")/../../plugins/tsh_plugin.h}
# shellcheck source=scripts/dev/tally.sh
. "$(dirname "$0")/tally.sh"

try() {
  local cc=$1
  shift
  command -v "$cc" >/dev/null || return 77
  printf '#include "%s"\n' "$(realpath "$header")" |
    "$cc" "$@" -Wall -Wextra -Wpedantic -Werror -fsyntax-only -
}

# The compilers are sought also under the name Debian's version 14 has.
either() {
  if command -v "$1" >/dev/null; then echo "$1"; else echo "$2"; fi
}
clang=$(either clang clang-14)
clangxx=$(either clang++ clang++-14)

for std in c99 c11; do
  step "header/gcc-$std" try gcc -x c -std=$std
  step "header/clang-$std" try "$clang" -x c -std=$std
done
step header/gcc-c++17 try g++ -x c++ -std=c++17
step header/clang-c++17 try "$clangxx" -x c++ -std=c++17

closing_line
[ "$failed" = 0 ]
