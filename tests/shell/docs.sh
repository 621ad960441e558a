#!/bin/bash
# The sessions shown in docs/*.md are true: every block that begins with
# ```tsh is typed anew, and what comes must be what stands there.
set -u
# shellcheck source=tests/shell/_tests.sh
. "$(dirname "$0")/_tests.sh"
root=$(cd "${TSH_SOURCE:-$(dirname "$0")/../..}" && pwd)
cd "$dir" || exit 1

for file in "$root"/README.md "$root"/docs/*.md; do
  rm -f block.*
  # block.N.in has the entries, block.N.want the rest.
  awk '
    /^```tsh$/ { n++; inside = 1; next }
    /^```$/ { inside = 0; next }
    inside && /^(tsh|\.\.)> / { print > ("block." n ".in") }
    inside && !/^(tsh|\.\.)> / { print > ("block." n ".want") }' "$file"
  for input in block.*.in; do
    if [ ! -e "$input" ]; then continue; fi
    touch "${input%in}want"
    "$TSH" <"$input" >got 2>&1
    if difference=$(diff "${input%in}want" got); then
      pass
    else
      fail "${file##*/}, ${input%.in}: $(head -1 "$input")" "$difference"
    fi
  done
done

finish
