#!/bin/bash
# Writes what is installed as the template of a plugin into a folder: the
# sources of plugins/example without what its second build, opaque, needs:
# template.sh FOLDER
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1"
cd "$1"

# plain FILE: without the lines for OPAQUE, and without its conditions.
plain() {
  awk '
    function open(kind, want) { depth++; is[depth] = kind; keep[depth] = want }
    function shown(  i, yes) {
      yes = 1
      for (i = 1; i <= depth; i++) yes = yes && keep[i]
      return yes
    }
    /^#if OPAQUE$/ { open("ours", 0); next }
    /^#if !OPAQUE$/ { open("ours", 1); next }
    /^#if/ { open("other", 1) }
    /^#else/ && is[depth] == "ours" { keep[depth] = !keep[depth]; next }
    /^#endif/ {
      kind = is[depth]
      depth--
      if (kind == "ours") next
    }
    shown()' "$1"
}

for name in direct.c example.c example.h ops.c program.c run.c; do
  plain "$root/plugins/example/$name" >"$name"
done
if grep -niE 'opaque|batch\.c' -- *.[ch]; then
  echo 'template.sh: these lines speak of what is not there' >&2
  exit 1
fi
cat "$root/plugins/template/Makefile" >Makefile
