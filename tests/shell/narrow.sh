#!/bin/bash
# Windows of few columns, letters of two columns and of none: nothing that is
# printed runs over the edge where it could be helped, and the caret stands
# below its place.
set -u
# shellcheck source=tests/shell/_tests.sh
. "$(dirname "$0")/_tests.sh"
# shellcheck source=tests/shell/_mux.sh
. "$(dirname "$0")/_mux.sh"
cd "$dir" || exit 1

# ---- no terminal: lines are whole ----------------------------------------------
printf 'local s = "日本語é🎉"; local y = matmul(rand(2,3), rand(2,3))\n' >日本.lua
run "$TSH" run 日本.lua
is 'the caret counts columns' "$(sed -n 3,4p "$dir/err")" \
  $'  1 | local s = "日本語é🎉"; local y = matmul(rand(2,3), rand(2,3))
    |                                  ^'
printf '\tlocal long = "%s" .. "", matmul(rand(2,3), rand(2,3)), "%s"\n' \
  "$(printf 'é%.0s' {1..300})" "$(printf 'x%.0s' {1..300})" >long.lua
run "$TSH" run long.lua
line=$(sed -n 3p "$dir/err")
caret=$(sed -n 4p "$dir/err")
has 'of a long line the part with the caret is shown' "$line" 'matmul(rand(2,3), '
has 'the rest is dots' "$line" '...'
is 'it is not long' "$((${#line} < 180))" 1
is 'the caret stands below' "${line:$((${#caret} - 1)):6}" matmul
run "$TSH" -p '{["日本"] = "日本語", x = {y = "é"}}'
gives 'a table of wide text' 0 '{x = {y = "é"}, ["日本"] = "日本語"}'
run "$TSH" -e '日本 = 1'
refuses 'a name of wide letters' 1 "near '<\\230>'"

mux_or_finish

# What does not fit into the window of what was printed, once the screen ends in
# a prompt; what was typed does not count.
lines_of() { # all lines that stand behind the entry $1, as they were written
  mux capture-pane -t "$name" -p -J -S -500 | awk -v from="tsh> $1" '
    index($0, from) == 1 {on = 1; next} on && NF {sub(/ +$/, ""); print}' |
    grep -v '^tsh>'
}
too_long() { lines_of "$1" | awk -v most="$columns" 'length > most'; }

# ---- 20 columns -----------------------------------------------------------------
columns=20
open "$TSH"
expect_part 'the banner is folded' $'\n  5.4.'
# clean NAME ENTRY: its output stays within the window
clean() {
  clear
  enter "$2"
  shows $'\ntsh>'
  if [ -z "$(lines_of "$2")" ]; then
    fail "$1" 'nothing was printed' "$(screen)"
  else
    is "$1" "$(too_long "$2")" ''
  fi
}
for x in 'randn(3,4)' 'rand(100,100)' 'arange(5)' 'zeros(2,2,2)-1e9' 'rand(60)' \
  'zeros(1,2,1,2,1,1,1)' 'arange(9)==2' '2^60-arange(3)' 'rand(3,1)*1e-8' \
  'arange(2)*(1<<62)' ':devices' ':mem' ':set' ':help' \
  ':unset' 'nosuch.field' 'zeros(2)+ones(3)'; do
  clean "$x" "$x"
done
clear
enter 'tensor{-1.25e9, 3}'
expect 'as many columns as fit' $'f32[2]\n[-1.2500e+09, ...]\n2 elements, 8 B\ntsh>'
clear
enter 'ones(1,1,2)*-1e9'
expect 'else fewer digits' $'f32[1,1,2]\n[[[-1.00e+09, ...]]]\n2 elements, 8 B\ntsh>'
clear
enter 'a = tensor{1<<62}'
enter 'a'
expect 'else dots' $'i64[1] [...]\n1 element, 8 B\ntsh>'
clear
enter '{x=ones(3), n=1, m=2}'
expect 'a tensor in a table is its header' $'{\n  m = 2,\n  n = 1,\n  x = f32[3]\n}\ntsh>'
clear
enter 'ones(2)+ones(3)'
expect_part 'the source line below its place' $']:1:\n  ones(2)+ones(3)\n'
expect_part 'with the caret' $'\n         ^\n'
clear
enter 'b=ones(2);c=b+ones(3)'
expect_part 'the part of it around the caret' $'\n  ...2);c=b+ones(3)\n           ^\n'
clear
enter 'long_name_of_one = rand(3)'
enter 'x = rand(1000); #x'
expect 'two names' $'\n1000\ntsh>'
clear
enter ':who'
expect 'a table goes on below' $'x\n    f32   [1000]\n    cpu     4.0 kB\ntsh>'
clean 'plan' ':plan exp(x)'
clear
enter ':plan softmax(x)'
expect_part 'plan goes on below' $'\n    writes   flop\n    from\n'
enter ':bench --time 0.02 --warmup 0 exp(x)'
expect_part 'bench' 'Name'
enter ':plugins'
expect_part 'plugins' 'SCHEME'
enter '6*7'
expect 'the session is alive' $'\n42\ntsh>'
key C-d
expect 'and ends well' 'status 0'

# ---- smaller than anybody's ---------------------------------------------------------
columns=80 rows=1
open
enter '1+1'
enter 'rand(100,100)'
expect_part 'a window of one row' '10,000 elements'
enter ':help'
enter '6*7'
expect 'still answers' $'\n42\ntsh>'
key C-d
columns=5 rows=3
open "$TSH -q"
enter 'rand(3,3)'
enter ':who'
enter 'nosuch()'
enter '6*7'
expect 'a window of five columns' $'\n42\ntsh>'
key C-d
columns=80 rows=24

# ---- the size changes -------------------------------------------------------------
open "$TSH"
text 'y = "日本語 abcdefghijklmnopqrstuvwxyz 0123456789 ABCDEFGHIJKLMNOPQRSTUVWXYZ end"'
holds ' end"'
for w in 40 20 80; do
  resize $w
  sleep 0.2
done
key Left Left BSpace Enter
enter '#y, y:sub(-9)'
expect 'an entry outlives three sizes' $'\n77  UVWXYZ ed\ntsh>'
cat >bar.lua <<'END'
for i in progress(35, "日本語") do
  local t = os.clock()
  while os.clock() - t < 0.1 do end
end
END
clear
enter ':load bar.lua'
expect_part 'a bar' '━━━'
for w in 40 20 80; do
  resize $w
  sleep 0.3
done
expect 'a bar outlives them too' $'s)\ntsh>'
is 'and is taken away' "$(screen | tail -3 | grep -c ' left')" 0
resize 20
clear
enter ':load bar.lua'
expect_part 'a bar in 20 columns' '%'
is 'does not wrap' "$(screen | grep -c '^ .*left')" 0
key C-c
expect_part 'Ctrl-C' interrupted
resize 80

# ---- letters of two columns and of none ----------------------------------------------
clear
enter 's = "日本語 🎉 é"; t = ones(2) + ones(3)'
expect_part 'the caret below a wide line' $'日本語 🎉 é"; t = ones(2) + ones(3)
                                          ^'
clear
enter ':load 日本.lua'
expect_part 'a file of a wide name' $'日本.lua:1: local s = "日本語é🎉"; local y = matmul(rand(2,3), rand(2,3))
                                               ^'
clear
text $'w = "ae\u0301"'
key Left BSpace Enter
enter 'w'
expect 'a letter goes with its accent' $'\na\ntsh>'
key C-d

# ---- the help of the command line -------------------------------------------------
columns=60
open "$TSH --help; $TSH -q"
all=$(mux capture-pane -t "$name" -p -J -S -500)
has 'tsh --help' "$all" 'usage: tsh [OPTIONS]'
is 'is folded' "$(awk 'length > 60' <<<"$all")" ''
finish
