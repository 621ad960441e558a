#!/bin/bash
# Writes what stands in docs/ but comes out of the program: the manual, the
# completions, the list of ops and functions.
#
#   make-docs.sh            writes what has changed
#   make-docs.sh --check    writes nothing; 1 when something is not current
#
# TSH names the program, build/tsh by default.
set -euo pipefail
cd "$(dirname "$0")/../.."
tsh=${TSH:-build/tsh}
bad=0
unset TSH_DEVICE TSH_PLUGIN_PATH TSH_MEM_LIMIT TSH_LOG

# page FILE ARGUMENTS...: the file is what tsh prints.
page() {
  local file=$1 text
  shift
  text=$("$tsh" --no-plugins "$@")
  if [ -f "$file" ] && [ "$text" = "$(cat "$file")" ]; then return; fi
  if [ "$mode" = --check ]; then
    echo "$file is not what \`tsh $*\` prints: run scripts/dev/make-docs.sh"
    bad=1
  else
    mkdir -p "${file%/*}"
    echo "$text" >"$file"
    echo "$file"
  fi
}

mode=${1-}
page docs/tsh.1 completions man
page docs/completions/bash/tsh completions bash
page docs/completions/zsh/_tsh completions zsh
page docs/completions/fish/tsh.fish completions fish
page docs/OPS.md ops --markdown
exit $bad
