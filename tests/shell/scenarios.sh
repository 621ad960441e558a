#!/bin/bash
# What a session must be able to do, from Ctrl-C in a matrix product to a file
# of garbage among the plugins.
set -u
# shellcheck source=tests/shell/_tests.sh
. "$(dirname "$0")/_tests.sh"
# shellcheck source=tests/shell/_mux.sh
. "$(dirname "$0")/_mux.sh"
cd "$dir" || exit 1
limit=200
case ${TSH_BUILD-} in *asan* | *coverage*) limit=1500 ;; esac

now() { echo $(($(date +%s%N) / 1000000)); }

# ---- without a terminal --------------------------------------------------------
printf '1+1\nerror("x")\n2\n' >input
run "$TSH" <input
is 'a pipe stops at the first error' "$rc/$out" '1/2'
has 'and says which' "$err" 'error: x'
lacks 'without escapes' "$out$err" $'\e'
run "$TSH" -e 'print(tensor{0/0}, 0/0)'
gives 'nan has no sign' 0 $'f32[1] [nan]\tnan'
if [ -e /dev/full ]; then
  rc=0
  "$TSH" -p 1 >/dev/full 2>err || rc=$?
  is 'a full disk' "$rc" 1
  has 'a full disk is told' "$(cat err)" 'error'
fi
run "$TSH" --nosuch
is 'an unknown option' "$rc" 2
run "$TSH" run no.lua
is 'no such script' "$rc" 2
run "$TSH" -d nope -e ''
is 'no such device' "$rc" 3
echo 'for i = 1, 1000000 do print(i) end' >big.lua
"$TSH" run big.lua 2>err | head -1 >first
is 'a closed pipe: one line' "$(cat first)" 1
is 'a closed pipe: no message' "$(cat err)" ''

mux_or_finish

# ---- Ctrl-C --------------------------------------------------------------------
# stopped NAME: Ctrl-C brings the prompt back in time. A busy machine may be
# late; the third time it is our fault.
stopped() {
  local start ms
  start=$(now)
  key C-c
  for _ in $(seq 400); do
    case $(screen) in *interrupted*'tsh>') break ;; esac
    sleep 0.02
  done
  ms=$(($(now) - start))
  if [ $ms -le $((limit + 100)) ]; then return 0; fi # 100: asking tmux
  late="$1: took $ms ms, $(screen | tail -5)"
  return 1
}
interrupts() {
  for _ in 1 2 3; do
    clear
    enter "$2"
    sleep 1
    if stopped "$1"; then
      pass
      return
    fi
  done
  fail "$late"
}

open
enter 'kept = 7; kept'
expect 'a variable' $'\n7\ntsh>'
interrupts 'an endless loop' 'while true do end'
enter 'kept'
expect 'variables are intact' $'\n7\ntsh>'
enter 'a = rand(6000, 6000); n = a:sum():item() print("made")'
expect_part 'a matrix' $'\nmade\n'
expect 'and the prompt after it' 'tsh>'
interrupts 'a matrix product' 'matmul(a, a):sum():item()'
interrupts 'a map of 10^8' 'for i = 1, 1000 do exp(sin(zeros(10000, 10000) + i)):sum():item() end'
interrupts 'a plan of 10^5 ops' \
  'while true do local y = ones(4) for i = 1, 100000 do y = y * 1.5 + a[{i % 6000 + 1, {1, 4}}] end y:sum():item() end'
enter 'kept, a.dtype'
expect 'variables are intact again' $'\n7  f32\ntsh>'

# ---- what is shown --------------------------------------------------------------
clear
enter 'randn(1000, 1000)'
expect 'a large tensor' $'1,000,000 elements, 4.0 MB\ntsh>'
is 'has few lines' "$(($(screen | wc -l) <= 11))" 1
is 'and none is too long' "$(screen | grep -c '.\{81\}')" 0
clear
enter 'function f(a, b)'
enter '  return matmul(a, b)'
enter 'end'
expect 'a function' $'\nend\ntsh>'
enter 'before = tsh.counters().kernels'
enter 'f(zeros(2, 3), zeros(2, 3))'
expect_part 'the message' 'error: matmul: inner sizes differ: 3 and 2'
expect_part 'both shapes' 'a: f32[2,3]   b: f32[2,3]'
expect_part 'the line in the function' ':2: return matmul(a, b)'
enter 'tsh.counters().kernels - before'
expect 'nothing was launched' $'\n0\ntsh>'
clear
enter 'tensor{0/0}, 0/0'
expect 'nan' $'\nf32[1] [nan]  nan\ntsh>'
enter ':full arange(1200):view(1200, 1)'
if command -v less >/dev/null; then
  expect_part 'full is shown page by page' '[   1],'
  key q
fi
expect 'and the prompt comes back' 'tsh>'
key C-d

# ---- colours ----------------------------------------------------------------------
open "env NO_COLOR=1 $TSH -q"
enter 'rand(100, 30)'
expect_part 'no colour' '3,000 elements, 12.0 kB'
mux capture-pane -e -t "$name" -p >coloured
is 'no attribute on the screen' "$(grep -c $'\e\[2m' coloured)" 0
key C-d
sessions=$((sessions + 1))
name=s$sessions
mux new-session -d -s "$name" -x 80 -y 24 "$TSH -q | cat -v; cat"
enter 'rand(100, 30)'
expect_part 'into a pipe' '3,000 elements, 12.0 kB'
lacks 'nothing but text' "$(screen)" '^['

# ---- commands, beside a file of garbage ---------------------------------------------
mkdir -p plugins
echo junk >plugins/junk.so
open "env TSH_PLUGIN_PATH=$dir/plugins $TSH -q"
enter ':bench --time 0.1 --warmup 0.01 --input x=rand(4) --input x=rand(100000) softmax(x)'
expect_part 'bench' 'Comparison:'
clear
enter ':benhc'
expect_part 'a guess' 'did you mean :bench'
enter 'x = rand(100000); before = tsh.counters().kernels'
enter ':plan softmax(x)'
expect_part 'plan' '1 launch'
enter ':type softmax(x)'
expect_part 'type' 'f32[100000]  cpu  400 kB  (1 launch if run)'
enter 'tsh.counters().kernels - before'
expect 'neither has run anything' $'\n0\ntsh>'
clear
enter ':help bench'
expect_part 'help on a command' '--warmup S'
clear
enter ':devices'
expect_part 'devices' '* cpu'
expect_part 'the garbage is listed' 'junk'
clear
enter ':plugins'
expect_part 'with a reason' 'junk.so'
enter '6*7'
expect 'the session is alive' $'\n42\ntsh>'
key C-d
expect 'and ends well' 'status 0'

# ---- reports of others ----------------------------------------------------------------
open
enter 's = "xΔxΔλ[1] x λ"'
expect 'an entry of two-byte letters' 'tsh>'
key C-r
text 'xΔ'
text 'x'
text ' '
key C-r
key C-c
enter 'print("alive", 6*7)'
expect_part 'a search over it' 'alive   42'
key C-r
text 'λ'
key Enter
enter '#s'
expect 'what was found has run' $'\n16\ntsh>'
key C-d
mkdir lib
: >lib/libcuda.so.1
echo junk >lib/libvulkan.so.1
ln -s /nonexistent lib/libnvrtc.so
LD_LIBRARY_PATH=$dir/lib run "$TSH" -p '1+1'
gives 'broken drivers cost nothing' 0 2
LD_LIBRARY_PATH=$dir/lib run "$TSH" devices
is 'and devices are listed' "$rc" 0
has 'with cpu' "$out" cpu
LD_LIBRARY_PATH=$dir/lib run "$TSH" -d cuda:0 -e ''
is 'an absent device' "$rc" 3
has 'is named' "$err" cuda

finish
