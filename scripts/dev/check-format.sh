#!/bin/bash
# Are the C files laid out as clang-format lays them out?
# check-format.sh [--fix] [ROOT]; status 77 where clang-format is missing.
set -euo pipefail
style=$(cd "$(dirname "$0")" && pwd)/clang-format
fix=''
if [ "${1-}" = --fix ]; then fix=1 && shift; fi
cd "${1:-$(dirname "$0")/../..}"

# Another major version breaks lines in other places, so no other will do.
tool=clang-format-14
if ! command -v $tool >/dev/null; then
  echo "check-format: no $tool here, skipped" >&2
  exit 77
fi

# What git tracks or would track; without git all but what was built. In a
# container the clone may belong to another user, which git refuses at first.
files() {
  git -c safe.directory='*' ls-files -co --exclude-standard -- '*.c' '*.h' \
    2>/dev/null || find . -name '*.[ch]' -type f -not -path './build*'
}
list=()
while read -r f; do
  if [ -e "$f" ]; then list+=("$f"); fi
done <<<"$(files)"
if [ ${#list[@]} = 0 ]; then
  echo "check-format: no C file found" >&2
  exit 1
fi
if [ -n "$fix" ]; then
  $tool --style=file:"$style" -i "${list[@]}"
  exit
fi
bad=$($tool --style=file:"$style" --dry-run "${list[@]}" 2>&1 |
  sed -n 's/^\([^ :]*\):[0-9].*clang-format-violations.*/\1/p' | sort -u)
if [ -n "$bad" ]; then
  echo "not laid out as clang-format has it; run check-format.sh --fix:"
  echo "$bad"
  exit 1
fi
