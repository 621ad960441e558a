#!/bin/bash
# Progress of loops: a bar on a terminal, one line elsewhere, on stderr.
set -u
# shellcheck source=tests/shell/_tests.sh
. "$(dirname "$0")/_tests.sh"
cd "$dir" || exit 1

cat >loop.lua <<'END'
local x = zeros(400, 2)
local n, bar = 0, progress(data.batches(x, nil, 40), "epoch 1")
for xb in bar do
  bar.loss = tensor(0.25)
  local t = os.clock()
  while os.clock() - t < tonumber(arg[1]) do end
  n = n + 1
  if arg[2] and n == 8 then print("in the middle") end
end
END

# ---- no terminal: stdout is as if there were no progress ---------------------
run "$TSH" run loop.lua 0
is 'stdout is left alone' "$rc:$out" 0:
has 'one line' "$err" 'epoch 1: 400 examples in '
has 'with what is shown' "$err" ', loss 0.25'
is 'no more than one' "$(wc -l <"$dir/err")" 1
lacks 'no control characters' "$err" $'\r'
run "$TSH" -q run loop.lua 0
is 'quiet' "$rc:$out:$err" 0::
run "$TSH" -e 'for i in progress(9) do if i == 3 then break end end'
is 'a loop that was left is not told' "$rc:$err" 0:
run "$TSH" -e 'for i in progress(9) do error("mine") end'
lacks 'nor one that failed' "$err" 'steps in'

# ---- a terminal --------------------------------------------------------------
if ! command -v script >/dev/null; then
  echo "progress: no script(1) here, the bar is not tested" >&2
  finish
  exit
fi
# screen WIDTH ARGUMENTS...: what the loop draws, a line per drawing
screen() {
  local width=$1
  shift
  env TERM="${term-xterm}" TSH="$TSH" script -qfec \
    "stty cols $width; $TSH run loop.lua $*" /dev/null </dev/null 2>&1 |
    tr '\r' '\n'
}
out=$(screen 80 0.18)
has 'the bar: part, rate, time left, what is shown' "$out" '%  '
has 'in examples' "$out" ' examples/s  0:0'
has 'time left' "$out" ' left  loss 0.25'
has 'filled' "$out" '━━━━━'
has 'the end is told' "$out" 'epoch 1: 400 examples in '
is 'nothing before a second' "$(screen 80 0.01 | grep -c examples)" 0
out=$(screen 30 0.18)
long=$(grep -o '^epoch 1 *[0-9]*%.*' <<<"$out" | sed $'s/\033.*//' |
  awk 'length > 29' | wc -l)
is 'a narrow window is not overrun' "$long" 0
has 'but used' "$out" '%'
out=$(term=dumb screen 80 0.18)
lacks 'a dumb terminal gets no bar' "$out" ' left'
out=$(screen 80 0.18 x)
has 'print takes the bar away first' "$out" $'\033[Kin the middle'

finish
