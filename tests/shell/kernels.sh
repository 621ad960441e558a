#!/bin/bash
# The machine code of the innermost loops of the matrix product: all that they
# add up stays in registers.
set -u
# shellcheck source=tests/shell/_tests.sh
. "$(dirname "$0")/_tests.sh"
: "${TSH_BUILD:=build}"

# Functions whose smallest loop with a multiply-add reaches the stack with
# vectors, and a last line "N loops".
stack_in_loops() {
  objdump -d --no-show-raw-insn "$1" | awk '
    function judge(  i, j, to, best, from) {
      best = 1e9
      for (i = 1; i <= n; i++) {
        if (!match(text[i], /^j[a-z]+ +[0-9a-f]+/)) continue
        split(text[i], word, " ")
        to = row[word[2]]
        if (!to || to > i || i - to >= best) continue
        for (j = to; j < i && text[j] !~ /^vfmadd/; j++);
        if (j < i) { best = i - to; from = to }
      }
      if (best == 1e9) return
      loops++
      for (j = from; j < from + best; j++)
        if (text[j] ~ /[yz]mm/ && text[j] ~ /\(%r[sb]p/) {
          print name ": " text[j]
          return
        }
    }
    /^[0-9a-f]+ <.*>:$/ {
      if (name ~ /^micro_/) judge()
      name = substr($2, 2, length($2) - 3); n = 0; delete row
      next
    }
    /^ +[0-9a-f]+:/ {
      n++; at = $1; sub(":", "", at); row[at] = n
      sub(/^ +[0-9a-f]+:[ \t]+/, ""); text[n] = $0
    }
    END { if (name ~ /^micro_/) judge(); print loops + 0 " loops" }'
}

for isa in v3 v4; do
  object=$TSH_BUILD/plugins/cpu/.libs/lib${isa}_la-gemm.o
  # Slow builds keep variables in memory on purpose.
  case $TSH_BUILD in *asan* | *coverage* | *debug*) continue ;; esac
  if [ ! -f "$object" ] || ! command -v objdump >/dev/null; then continue; fi
  found=$(stack_in_loops "$object")
  lacks "no vector of the tile of $isa lies on the stack" "$found" "%"
  # 6 or 14 heights, full, cut and slim tiles and offsets, float and double.
  case $isa in v3) want=60 ;; v4) want=140 ;; esac
  is "loops of $isa" "${found##*$'\n'}" "$want loops"
done
run "$TSH" --version
is "the program runs" "$rc" 0
TSH_ISA=v9 run "$TSH" -e 'print(1)'
is "an instruction set that is not there" "$rc" 3
has "what the machine has is said" "$err" "TSH_ISA is v9, this machine runs base"
for isa in base v3 v4; do
  case $isa in base) name=baseline ;; *) name=x86-64-$isa ;; esac
  TSH_ISA=$isa run "$TSH" devices
  case $rc in
  0) has "devices names $isa" "$out" "$name" ;;
  *) has "a refused $isa" "$err" "TSH_ISA is $isa, this machine runs" ;;
  esac
done
finish
