#!/bin/bash
# Is every source file named in Makefile.am, so that it is built, watched for
# changes and part of the tarball? check-sources.sh [ROOT]
set -euo pipefail
cd "${1:-$(dirname "$0")/../..}"
shopt -s nullglob
bad=0

for f in {shell,lang/*,plugins,plugins/*,tests/*}/*.{c,h,lua} scripts/*.lua; do
  case $f in tests/lua/* | tests/golden/*) continue ;; esac
  if ! grep -qE "(^|[ =])$f( |\$)" Makefile.am tests/*/*.am; then
    echo "$f is not named in Makefile.am"
    bad=1
  fi
done
exit $bad
