#!/bin/bash
# Lists functions over 60 lines and files over 600: a report, not a judgement.
set -euo pipefail
cd "${1:-$(dirname "$0")/../..}"
mapfile -t files <<<"$(find shell lang plugins tests -name '*.[ch]' -type f)"

wc -l "${files[@]}" | awk '$2 != "total" && $1 > 600 { print $2 ": " $1 " lines" }'
if ctags --version 2>/dev/null | grep -q Universal; then
  ctags -x --languages=C --kinds-C=f --fields=+e --_xformat='%F %n %{end} %N' \
    "${files[@]}" | awk '$3 - $2 >= 60 {
      print $1 ":" $2 ": " $4 ", " $3 - $2 + 1 " lines" }'
else
  echo "check-sizes: functions are measured only with universal-ctags" >&2
fi
