#!/bin/bash
# tsh check: a script runs on shapes only. What is wrong has file, line and
# column; nothing is computed; values that nobody knows end it truthfully.
set -u
# shellcheck source=tests/shell/_tests.sh
. "$(dirname "$0")/_tests.sh"
root=$(cd "${TSH_SOURCE:-$(dirname "$0")/../..}" && pwd)
cd "$dir" || exit 1

# script NAME: its text comes from stdin.
script() { cat >"$dir/$1"; }
check() { run "$TSH" --no-plugins check "$@"; }
# The same with what the script prints.
shown() { run "$TSH" --no-plugins -v check "$@"; }
first() { printf '%s\n' "${err%%$'\n'*}"; }
# number KEY: of the report in the JSON of the last run.
number() { sed -n "s/^ *\"$1\": \([0-9]*\),*$/\1/p" <<<"$out"; }

# ---- faults that were planted ------------------------------------------------
script loop.lua <<'END'
local x = rand(64, 784)
local w1, w2 = randn(784, 128), randn(100, 10)
for step = 1, 5 do
  local h = relu(x:matmul(w1))
  local p = h:matmul(w2)
  w1 = w1 - p:mean():item()
end
END
check loop.lua
is 'an inner size that is wrong' "$rc" 1
is 'has line and column' "$(first)" \
  'loop.lua:5:15: error: matmul: inner sizes differ: 128 and 100'
has 'with both shapes' "$err" 'a: f32[64,128]   b: f32[100,10]'
has 'and a caret' "$err" "$(printf '  5 |   local p = h:matmul(w2)\n    |               ^')"
has 'the report counts it' "$out" 'loop.lua on cpu: 1 error'

script labels.lua <<'END'
local y = ones(16)
local x = randn(16, 3)
print(cross_entropy(x, y))
END
check labels.lua
is 'labels of a wrong dtype' "$rc $(first)" \
  '1 labels.lua:3:7: error: cross_entropy: labels must be integers, got f32'

echo 'local x = rand(3):to("npu:3")' >device.lua
check device.lua
is 'a device that is not there' "$rc" 3
has 'is an error of its line' "$err" \
  "device.lua:1:19: error: to: unknown device 'npu:3'"
check -d cuda:0 loop.lua
is 'nor may it be the default' "$rc" 3

printf 'local x = rand(3)\n  print(flor(x))\n' >name.lua
check name.lua
is 'a name that nobody defined' "$rc $(first)" \
  "1 name.lua:2:9: error: attempt to call a nil value (global 'flor')"
has 'gets a guess' "$err" "hint: did you mean 'floor'?"

echo 'x = = 3' >syntax.lua
check syntax.lua
is 'bad syntax' "$rc $(first)" \
  "1 syntax.lua:1: error: unexpected symbol near '='"

script again.lua <<'END'
local x = rand(3)
local n = x:argmax():item()
local ok, why = pcall(function()
  return x:matmul(rand(4, n))
end)
if not ok then error(why) end
END
check again.lua
is 'an error that was caught and raised again' "$rc $(first)" \
  '1 again.lua:4:12: error: matmul: inner sizes differ: 3 and 4'
has 'may come of a value' "$err" \
  'note: again.lua:2: from here on it asks for values, which check does not'

# ---- nothing is computed -------------------------------------------------------
script huge.lua <<'END'
local x = rand(200000, 200000)
print((x + 1):matmul(x):sum())
assert(x:sum():item() ~= 0)
print(x)
END
check huge.lua
is 'what no machine could hold' "$rc$err/${out%%$'\n'*}" '0/huge.lua on cpu: no error found on shapes'
has 'its output is not shown' "$out" 'its output    not shown; tsh -v check shows it'
shown huge.lua
is 'but when it is asked for' "$(head -3 <<<"$out")" "$(printf '%s\n' 'f32[]' \
  'f32[200000,200000]' 'huge.lua on cpu: no error found on shapes')"
lacks 'nor named then' "$out" 'its output'
check huge.lua
# x, x + 1 and the product, 200000^2 of 4 bytes each: more than any memory.
has 'and how much that is' "$out" 'peak memory   480 GB, more than the'
# 2 n^3 flops of the product are 16 P.
has 'and its cost' "$out" 'flop          16 P'

script count.lua <<'END'
local w = ones(100, 100)
for _ = 1, 50 do w = w:matmul(w) / 100 tsh.wait(w) end
local c = tsh.counters()
write("count.csv", w)
io.open("count.txt", "w"):write("x"):close()
print(c.kernels, c.programs, c.flushes)
END
shown count.lua
has 'no launch, no kernel compiled, every plan made' "$out" \
  "$(printf '0\t0\t50')"
# Each step is one product in one launch: ones, product and w are 40000 bytes;
# what is read is w, once.
has 'the launches are counted' "$out" 'launches      50 '
is 'and no file is written' "$(ls count.*)" 'count.lua'
run "$TSH" --no-plugins run count.lua
has 'a run has as many' "$out" "$(printf '50\t')"
rm count.csv count.txt

# Peak memory is that of a run, to the byte, where garbage goes at once.
script peak.lua <<'END'
local x = tensor { { 1.0, 2.0 }, { 3.0, 4.0 } }:expand(2, 2) + zeros(300, 2, 2)
for i = 1, 9 do
  x = softmax(x * i)
  tsh.wait(x)
  collectgarbage()
end
local y = x:transpose(1, 3) + 1
tsh.wait(y)
if arg[1] then print(tsh.counters().bytes_peak) end
END
run "$TSH" --no-plugins run peak.lua print
peak=$out
check --json peak.lua
is 'peak memory as the run has it' "$(number bytes_peak)" "$peak"

# ---- values that nobody knows ---------------------------------------------------
script value.lua <<'END'
local x = rand(3)
local s = x:sum():item()
print(s, x:argmax():item(), x:any():item(), x[x:gt(0.5)], nonzero(x))
print(tensor { { 1, 2 }, { 3, 4 } }.T)
if not (s > 0) then
  error("the sum is " .. s)
end
END
check value.lua
is 'an error of its own after that' "$rc $err" \
  '0 note: value.lua:6: stops here: it asks for values, which check does not compute'
lacks 'what it got, which is no answer' "$out" nan
shown value.lua
has 'what it got' "$out" "$(printf 'nan\t1\tfalse\tf32[3]\ti64[3,1]')"
has 'data are known' "$out" "$(printf 'i64[2,2]\n[[1, 3],\n [2, 4]]')"
has 'it says so' "$out" 'no error found on shapes, not checked to its end'
script data.lua <<'END'
local x = tensor { 1, 3, 3 }
local n = bincount(x)
print(n, repeat_interleave(x, tensor { 1, 2, 4 }), x[x:gt(1)]:sum())
print(histogram(rand(9), 4), multinomial(rand(5), 3))
print(gradcheck(function(t) return sum(tanh(t)) end, randn(3):f64()))
END
check data.lua
is 'shapes that depend on data' "$rc $err" '0 '
shown data.lua
has 'are those of the data' "$out" "$(printf 'i64[3]\ti64[7]\ti64[]')"
echo 'assert(1 > 2, "one")' >own.lua
check own.lua
is 'one before that is an error' "$rc $(first)" '1 own.lua:1: error: one'

script wait.lua <<'END'
local x = rand(3)
while true do
  x = x + 1
  pcall(function() if x:sum():item() > 100 then error("enough") end end)
end
END
check wait.lua
is 'a loop that waits for a value ends' "$rc" 0
has 'and says where' "$err" 'note: wait.lua:4: stops here: it has asked for'
script long.lua <<'END'
local x = rand(3)
while true do
  x = x + 1
end
END
check --ops 5000 long.lua
is 'one that waits for nothing ends' "$rc" 0
has 'after as many ops as are allowed' "$err" 'stops here: it has recorded '
check --ops none long.lua
is 'of which there is a number' "$rc" 2

printf 'write("o.npy", rand(3))\nlocal x = read("o.npy")\n' >reads.lua
check reads.lua
is 'what was not written is not read' "$rc $err" \
  '0 note: reads.lua:2: stops here: it reads o.npy, which check has not written'
echo 'os.execute("touch made")' >starts.lua
check starts.lua
has 'no program is started' "$err" 'starts.lua:1: stops here: os.execute'
is 'indeed' "$(ls made 2>/dev/null)" ''
echo 'os.exit(3)' >leaves.lua
check leaves.lua
is 'leaving with a code is an error' "$rc $(first)" \
  '1 leaves.lua:1: error: the script leaves by os.exit(3)'
echo 'rand(3) os.exit()' >ends.lua
check ends.lua
is 'leaving without is none' "$rc" 0

echo 'while true do end' >forever.lua
"$TSH" check forever.lua >"$dir/out" 2>&1 &
pid=$!
sleep 1
kill -INT "$pid"
rc=0
wait "$pid" || rc=$?
is 'Ctrl-C' "$rc" 130
has 'is told' "$(cat "$dir/out")" 'note: forever.lua:1: interrupted'

# ---- JSON, usage, sessions -------------------------------------------------------
check --json loop.lua
is 'JSON of an error' "$rc" 1
python=$(command -v python3 || true)
if [ -n "$python" ]; then
  is 'JSON has the place' "$("$python" -c 'import json, sys
d = json.load(sys.stdin)
e = d["diagnostics"][0]
print(e["severity"], e["file"], e["line"], e["column"], d["report"]["launches"],
      d["complete"])' <<<"$out")" 'error loop.lua 5 15 0 False'
fi
check --json value.lua
lacks 'JSON and nothing else' "$out" 'i64[2,2]'
run "$TSH" --json -p 1
is '--json is of words' "$rc" 2
check
is 'it needs a file' "$rc" 2
check nothing.lua
is 'that is there' "$rc" 2
echo 'print(arg[1], ...)' >args.lua
shown args.lua a b
has 'arguments' "$out" "$(printf 'a\ta\tb')"

run "$TSH" -q <<'END'
x = rand(3, 4)
before = tsh.counters().kernels
:check softmax(x:matmul(x.T))
:check args.lua one
tsh.counters().kernels - before
x:sum():item() > 0
END
is 'in a session' "$rc" 0
has 'of an expression' "$out" 'f32[3,3]  cpu  36 B'
has 'of a file' "$out" 'args.lua on cpu: no error found on shapes'
has 'nothing ran, and values are known' "$out" "$(printf '0\ntrue')"
run "$TSH" -q <<<'return pcall(tsh.check, function() return rand(3):sum():item() end)'
has 'a value that is asked for is an error' "$out" 'only shapes are looked at'
run "$TSH" -q <<<':check rand(3, 4):matmul(rand(3, 4))'
is 'shapes that do not fit' "$rc" 1
has 'are shown' "$err" $'check:1: rand(3, 4):matmul(rand(3, 4))\n                      ^'
{
  printf 'local x = "%03000d" ' 1
  echo 'return rand(3) + rand(4)'
} >long.lua
check long.lua
is 'what lies far to the right has no wrong column' "$(first)" \
  'long.lua:1: error: add: shapes [3] and [4] do not broadcast: 3 and 4 along axis 1 from the end'

# ---- what a script does to get out ------------------------------------------------
script numbers.lua <<'END'
local f = io.open(5, "w") f:write("x") f:close()
local name = os.tmpname()
tsh.bench{"1 + 1", save = "kept", time = 0, warmup = 0}
END
export TMPDIR=$dir XDG_STATE_HOME=$dir/state
before=$(ls -d /tmp/lua_* 2>/dev/null)
check numbers.lua
is 'files by number, of os.tmpname and of tsh.bench' "$rc" 0
is 'are not made' "$(ls -d 5 state /tmp/lua_* 2>/dev/null)" "$before"
unset XDG_STATE_HOME
script bye.lua <<'END'
kept = setmetatable({}, {__gc = function() print("late") end})
local y = setmetatable({}, {__gc = function() print("early") end})
error("no text: \xff\0")
END
check --json bye.lua
is 'an error of bytes' "$rc" 1
lacks 'nothing is printed but the JSON' "$out" late
lacks 'by no finalizer' "$out" early
has 'which is UTF-8' "$out" "no text: $(printf '\xef\xbf\xbd')\\u0000"
if [ -e /dev/full ]; then
  run bash -c '"$0" check --json bye.lua >/dev/full' "$TSH"
  refuses 'JSON that is lost' 1 'stdout could not be written: No space left'
fi
mkdir -p 'two words'
echo 'print(...)' >'two words/a b.lua'
run "$TSH" -q -v <<<':check "two words/a b.lua" "c d"'
is 'a name with blanks' "$rc/${out%%$'\n'*}" '0/c d'

run "$TSH" -q <<'END'
print(pcall(tsh.check, 3))
print(pcall(tsh.time))
print(pcall(tsh.check, function() tsh.check(function() end) return rand(2):table() end))
coroutine.wrap(function() print(pcall(tsh.check, coroutine.yield)) end)()
tsh.check(function() return 1, rand(2) end)
rand(3):sum():item() > 0
END
is 'tsh.check' "$rc" 0
has 'takes a function' "$out" 'tsh.check: takes a function, got a number'
has 'as tsh.time' "$out" 'tsh.time: takes a function, got nil'
is 'inside another, and in a coroutine' "$(grep -c 'only shapes are\|yield across' <<<"$out")" 2
has 'all results are told' "$out" '{"a number", "f32[2]  cpu  8 B  (1 launch if run)"}'
is 'afterwards values are computed' "${out##*$'\n'}" true

# ---- the scripts that come with it -------------------------------------------------
for s in xor linear_regression kmeans resume train_digits bench_softmax \
  bench_record; do
  check --json "$root/scripts/$s.lua"
  is "$s.lua has no error" "$rc" 0
  lacks "$s.lua" "$out" '"severity": "error"'
done
pictures=/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz
if [ -e "$pictures" ]; then
  check --json "$root/scripts/train_fashion.lua"
  is 'clothes have no error' "$rc" 0
  # 3 epochs of 600 steps, each of several launches; the data set and its
  # intermediate results on the whole test set stay below 100 MB.
  is 'all of it is checked' "$(($(number launches) > 5400))" 1
fi

finish
