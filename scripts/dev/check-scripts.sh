#!/bin/bash
# Runs shellcheck over every shell script; status 77 where it is missing.
set -euo pipefail
cd "${1:-$(dirname "$0")/../..}"

if ! command -v shellcheck >/dev/null; then
  echo "check-scripts: no shellcheck here, skipped" >&2
  exit 77
fi
mapfile -t scripts <<<"$(grep -rlIE '^#!/bin/(ba)?sh' .ci scripts tests \
  --exclude-dir=autotools)"
shellcheck -x -S style "${scripts[@]}" scripts/dev/tally.sh
