#!/bin/bash
# Which room may include what: check-layers.sh [ROOT]
#
# The -I lists of Makefile.am are the first wall; this is the second, which
# also sees "../" paths and headers of outside libraries. Also: pairs() visits
# keys in another order in every process, so a line of lang/lib that uses it
# says `-- order-free`.
set -euo pipefail
cd "${1:-$(dirname "$0")/../..}"
bad=0

complain() {
  echo "$1"
  bad=1
}

# room FOLDER QUOTED [ANGLED]: besides its own files a room may include what
# matches "QUOTED" and, of headers that are not the C library's, <ANGLED>.
room() {
  local at=$1 quoted=$2 angled=${3:-none} f n line name
  for f in "$at"/*.[ch]; do
    [ -e "$f" ] || continue
    while IFS=: read -r n line && [ -n "$n" ]; do
      name=${line#*[\"<]} name=${name%%[\">]*}
      case $line in
      *\"*) # shellcheck disable=SC2254 # the pattern is meant as one
        case $name in
        */*) complain "$f:$n: a path in an include: $name" ;;
        $quoted) ;;
        *) [ -e "$at/$name" ] || complain "$f:$n: $at may not see $name" ;;
        esac ;;
      *) # shellcheck disable=SC2254
        case $name in
        $angled) ;;
        lua*.h | lauxlib.h | *tsh*.h | criterion/* | readline/*)
          complain "$f:$n: $at may not see $name" ;;
        esac ;;
      esac
    done <<<"$(grep -n '^[[:space:]]*#[[:space:]]*include' "$f")"
  done
}

shopt -s extglob
room shell 'lt.h' 'readline/*'
room lang/bind '@(plan.h|file.h|lua.h|lauxlib.h|lualib.h|embedded.inc|guide.inc)' \
  '@(lua|lauxlib|lualib).h'
room lang/file 'plan.h'
room lang/plan '@(dev|tsh_plugin).h'
room plugins/host '@(tsh_plugin|paths).h'
room plugins/kit 'tsh_plugin.h'
room plugins none
room tests/conform 'tsh_plugin.h'
for device in plugins/!(host|kit)/; do
  room "${device%/}" '@(tsh_plugin|kit*([a-z0-9_])).h'
done

while IFS= read -r line && [ -n "$line" ]; do
  complain "$line (pairs has no order: say -- order-free, or sort)"
done <<<"$(grep -nE '(^|[^[:alnum:]_.])((pairs|next)[[:space:]]*\(|in next)' \
  lang/lib/*.lua /dev/null 2>/dev/null |
  grep -vE -e '-- order-free' -e '^[^:]*:[0-9]*:[[:space:]]*--')"

exit $bad
