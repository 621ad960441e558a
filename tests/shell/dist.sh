#!/bin/bash
# The tarball: every file that git tracks is in it, and no document names
# another version than configure.ac. Only a checkout can be compared.
set -u
# shellcheck source=tests/shell/_tests.sh
. "$(dirname "$0")/_tests.sh"
source=${TSH_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${TSH_BUILD:-$source/build}
if [ ! -e "$source/.git" ] || ! command -v git >/dev/null ||
  [ ! -f "$build/Makefile" ]; then
  echo "dist: no checkout with a build folder, nothing to compare" >&2
  pass
  finish
  exit
fi

# What a user of the tarball has no use for.
not_in_tarball='^\.gitignore$'

cd "$dir" || exit 1
git -c safe.directory="$source" -C "$source" ls-files |
  grep -vE "$not_in_tarball" | sort >tracked
is 'git knows files' "$(($(wc -l <tracked) > 400))" 1
MAKEFLAGS='' run make -s -C "$build" distdir distdir="$dir/tarball"
is 'make distdir' "$rc:$err" 0:
(cd tarball && find . -type f | sed 's,^\./,,' | sort) >packed
is 'no tracked file is missing' "$(comm -23 tracked packed)" ''
changed=''
while read -r f; do
  if [ -e "$source/$f" ]; then
    cmp -s "$source/$f" "tarball/$f" || changed="$changed $f"
  fi
done <tracked
is 'nor changed' "$changed" ''
lost=''
while read -r f; do
  if [ -x "$source/$f" ] && [ ! -x "tarball/$f" ]; then lost="$lost $f"; fi
done <tracked
is 'nor made unfit to be run' "$lost" ''

version=$(sed -n 's/^AC_INIT(\[tsh\], \[\(.*\)\])$/\1/p' "$source/configure.ac")
run "$TSH" --version
has 'the program has the version of configure.ac' "$out" "tsh $version,"
has 'and README.md' "$(cat "$source/README.md")" "Version $version."
has 'and the manual page' "$(cat "$source/docs/tsh.1")" "\"tsh $version\""

finish
