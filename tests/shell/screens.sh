#!/bin/bash
# What the screen shows, byte by byte: each file of screens/ is a session, whose
# entries are typed anew. A session ends at its first error.
set -u
# shellcheck source=tests/shell/_tests.sh
. "$(dirname "$0")/_tests.sh"
folder=$(cd "$(dirname "$0")/screens" && pwd)
cd "$dir" || exit 1

for file in "$folder"/*.txt; do
  grep -E '^(tsh|\.\.)> ' "$file" >entries
  grep -vE '^(tsh|\.\.)> ' "$file" >want
  "$TSH" <entries >got 2>&1
  if difference=$(diff want got); then
    pass
  else
    fail "${file##*/}" "$difference"
  fi
done
is 'there are some' "$((passed + failed > 15))" 1

finish
