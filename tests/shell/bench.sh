#!/bin/bash
# Measuring: every option of :bench and `tsh bench`. Times are asked for nothing
# but their order where it is beyond doubt.
set -u
# shellcheck source=tests/shell/_tests.sh
. "$(dirname "$0")/_tests.sh"
# shellcheck source=tests/shell/_mux.sh
. "$(dirname "$0")/_mux.sh"
cd "$dir" || exit 1
unset XDG_STATE_HOME
kept=$HOME/.local/state/tsh/bench
short=(--time 0.02 --warmup 0.005)

bench() { run "$TSH" -q -e 'x = rand(1000)' bench "${short[@]}" "$@"; }
# colon LINE...: a session that reads the lines.
colon() { run "$TSH" -q < <(printf '%s\n' 'x = rand(1000);' "$@"); }
# json CODE: the value of an expression in r, what `tsh bench --json` wrote.
json() {
  value=$("$TSH" -e "r = require('tsh.json').json.decode(
    io.open('out.json'):read('a'))" -p "$1")
}

# ---- the table ----
bench -e 'softmax(x)'
is 'it ends well' "$rc" 0
has 'it has a head' "$out" 'softmax(x)   x: f32[1000]   sync, warm-up 0.005 s, 0.02 s each'
has 'and the columns' "$out" 'ips    average  deviation     median    95 %     99th %  kernels'
lacks 'one row has no comparison' "$out" 'Comparison:'
bench -e 'x + 1' -e 'softmax(x), exp(x)'
has 'rows are compared' "$out" 'Comparison:'
is 'one for each expression' "$(grep -cE '^(x \+ 1|softmax\(x\)|exp\(x\)) .*±' <<<"$out")" 3
LC_ALL=C bench -e 'x + 1'
has 'plain where the screen is no utf-8' "$out" '+-'
bench --unit ns -e 'softmax(x)'
is '--unit' "$(sed -n 3p <<<"$out" | grep -o ' ns' | wc -l)" 3
bench -x -e 'softmax(x)'
has '-x tells more' "$out" 'minimum    maximum  samples  outliers  allocated   moved  hits  misses'
bench --extended -e 'softmax(x)'
has 'its long name' "$out" 'outliers  allocated'

# ---- work, by counters ----
bench --json out.json -e 'softmax(x)'
has 'the table is there as well' "$out" 'kernels'
json '#r.rows, r.rows[1].work.kernels, r.rows[1].work.plan_hits, r.rows[1].work.plan_misses'
is 'a warm call' "$value" '1  1  1  0'
bench --cold --json out.json -e 'softmax(x)'
has 'cold says so' "$out" 'cold, plans made anew'
json 'r.rows[1].work.plan_hits, r.rows[1].work.plan_misses, r.rows[1].work.programs, r.rows[1].calls'
is 'a cold call plans and compiles' "$value" '0  1  1  1'
json 'r.options.cold, r.options.async'
is 'which is in the file' "$value" 'true  false'
bench --async --json out.json -e 'x + 1'
has 'async says so' "$out" 'recorded only'
json 'r.options.async, r.rows[1].calls * r.rows[1].work.ops <= 128'
is 'a sample never fills a trace' "$value" 'true  true'
bench --async --cold -e x
is 'what is recorded is never cold' "$rc" 1
has 'and that is said' "$err" 'which is never cold'

# ---- devices and inputs ----
bench --device cpu,nosuch -e 'x + 1'
is 'a device that is not there' "$rc" 3
bench --device cpu,cpu --json out.json -e 'x + rand(1000)'
json '#r.rows, r.rows[1].device, r.rows[2].device'
is 'each on each' "$value" '2  cpu  cpu'
bench --input 'y=rand(4)' --input y=zeros\(7,\ 2\) --json out.json -e 'exp(y)'
json 'r.rows[1].input, r.rows[2].input, r.rows[2].name'
is 'inputs are alternatives' "$value" 'y=f32[4]  y=f32[7,2]  y=f32[7,2]'
bench --input a=1 --input a=2 --input b=3 --json out.json -e 'x * a + b'
json '#r.rows, r.rows[2].input'
is 'of two names every choice' "$value" '2  a=2 b=3'
bench --input rand -e x
refuses 'an input has a name' 2 "--input needs NAME=EXPR, not 'rand'"

# ---- as JSON ----
bench --json - -e 'x + 1'
is 'stdout is JSON alone' "${out:0:1}" '{'
run "$TSH" --json bench "${short[@]}" -e 'ones(3) + 1'
has 'tsh --json bench: the same' "$out" '"machine"'
bench --json -e 'x + 1'
has '--json needs a file' "$err" "--json needs FILE"
bench --json - -e 'x + 1'
printf '%s\n' "$out" >out.json
json 'r.version == tsh.version, r.machine.cpu == tsh.devices()[1].description, r.machine.devices[1].name'
is 'who and where' "$value" 'true  true  cpu'
json 'r.date:match("^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%dZ$") ~= nil, r.unit, r.machine.threads >= 1'
is 'when, in what, by how many' "$value" 'true  seconds  true'
json 'r.rows[1].stats.low <= r.rows[1].stats.median and r.rows[1].stats.median <= r.rows[1].stats.high'
is 'the median lies in its interval' "$value" true
run "$TSH" -q --threads 3 bench "${short[@]}" --json out.json -e 'ones(3)'
json 'r.machine.threads'
is '--threads is told' "$value" 3
bench --json nosuch/out.json -e 'x + 1'
has 'a file that cannot be written' "$err" 'nosuch/out.json'

# ---- kept, compared, refused: the same name for little and for much work ----
run "$TSH" -q -e 'function f() return ones(10) + 1 end' bench "${short[@]}" \
  --save base -e 'f()'
is 'kept' "$(test -f "$kept/base.json" && echo yes)" yes
slow='function f() return rand(200000):sort() end'
fast='function f() return ones(10) end'
run "$TSH" -q -e "$slow" bench "${short[@]}" --vs base --json out.json -e 'f()'
is 'slower is told only' "$rc" 0
has 'as a regression' "$out" 'regressed'
json 'r.rows[1].change.verdict, r.rows[1].change.low > 0, r.rows[1].change.by > r.rows[1].change.low'
is 'with its interval' "$value" 'regressed  true  true'
run "$TSH" -q -e "$slow" bench "${short[@]}" --vs base --fail-over 10% -e 'f()'
is 'a gate refuses it' "$rc" 1
has 'the table comes first' "$out" 'Against base:'
has 'and says by how much' "$err" "slower than 'base' by more than 10 %: f(): +"
run "$TSH" -q -e "$slow" bench "${short[@]}" --vs base --fail-over 900000000 -e 'f()'
is 'what is allowed passes' "$rc" 0
run "$TSH" -q -e "$slow" bench "${short[@]}" --save base2 -e 'f()'
run "$TSH" -q -e "$fast" bench "${short[@]}" --vs base2 --fail-over 10 -e 'f()'
is 'faster passes' "$rc" 0
has 'as an improvement' "$out" 'improved'
bench --vs base --fail-over 10% -e 'x + 1'
is 'nothing that could be compared is no success' "$rc" 1
has 'for that reason' "$err" "'base' has none of these rows"
bench --vs base -e 'x + 1'
has 'a row without a past' "$out" 'was not measured then'
bench --vs nosuch -e x
has 'a name that is not kept' "$err" "nothing is kept as 'nosuch'"
bench --save ../x -e x
has 'a name that is none' "$err" "'../x' is no name"
echo '[1]' >"$kept/odd.json"
bench --vs odd -e x
has 'a file that is none' "$err" "what is kept as 'odd' is no measurement"
bench --fail-over 10% -e x
refuses 'a gate needs a past' 2 'needs --vs'
bench --vs base --fail-over much -e x
refuses 'and a number' 2 "not 'much'"

# ---- a script ----
echo 'big = rand(50); return {"big + 1", {"own", function() return big:sum() end},
  time = 9, warmup = 0.005}' >b.lua
run "$TSH" -q bench b.lua --time=0.02 --json out.json
is 'a script runs' "$rc" 0
json '#r.rows, r.rows[2].name, r.options.time, r.options.warmup'
is 'with its options, and ours over them' "$value" '2  own  0.02  0.005'
run "$TSH" -q bench "${short[@]}" - <<<'return "ones(3)"'
has 'from standard input' "$out" 'ones(3)'
run "$TSH" -q bench --device cpu b.lua
has 'a function cannot be moved' "$err" 'own is a function'
echo 'x = 1' >none.lua
run "$TSH" bench none.lua
has 'it must return something' "$err" 'none.lua returns nil'
has 'and is told what' "$err" 'return {"softmax(x)", "exp(x)"}'
has 'which :help bench tells as well' "$(printf ':help bench\n' | "$TSH")" \
  'tsh bench FILE, a script that sets globals and ends with what is'
echo 'return {' >bad.lua
run "$TSH" bench bad.lua
is 'one that is no Lua' "$rc" 1
run "$TSH" bench missing.lua
refuses 'one that is missing' 2 'missing.lua'
run "$TSH" bench
refuses 'nothing to measure' 2 'needs FILE, or -e EXPR'
bench -e x b.lua
refuses 'two sources' 2 'either FILE or -e'
bench --wramup 1 -e x
refuses 'a guess' 2 'did you mean --warmup?'
bench --time
refuses 'a missing value' 2 '--time needs S'
bench --time soon -e x
refuses 'a value that is no number' 2 "--time needs a number, not 'soon'"
bench --async=1 -e x
refuses 'a flag has no value' 2 '--async takes no value'
bench --time -1 -e x
has 'a negative time' "$err" 'time must be from 0'
bench -e 'nosuch('
is 'what is no expression' "$rc" 1

# ---- help, completions, manual ----
run "$TSH" bench --help
is 'help' "$rc" 0
help=$out
options=$(sed -n 's/^ *\(-x, \)\{0,1\}--\([a-z-]*\).*/\2/p' <<<"$help" | sort)
is 'there are twelve' "$(wc -l <<<"$options")" 12
colon ':help bench'
for o in $options; do
  has ":help has $o" "$out" "--$o"
  has "fish has $o" "$("$TSH" completions fish)" "-l $o"
  has "bash has $o" "$("$TSH" completions bash)" "--$o"
  has "zsh has $o" "$("$TSH" completions zsh)" "--${o}["
  has "the manual has $o" "$("$TSH" completions man)" "\\-\\-${o/-/\\-}"
done

# ---- what was kept is damaged ----
good='"median": 1e-6, "low": 9e-7, "high": 2e-6'
for kept_rows in 3 '[3]' '[null, 1]' '[{}]' '[{"name": "x"}]' '[{"name": "x", "stats": {}}]' \
  '[{"name": "x", "stats": 3}]' '[{"name": {}, "stats": {'"$good"'}}]' \
  '[{"name": "x", "stats": {"median": "x", "low": 1, "high": 1}}]' \
  '[{"name": "x", "stats": {"median": 0, "low": 0, "high": 0}}]' \
  '[{"name": "x", "stats": {"median": 1}}]'; do
  echo "{\"rows\": $kept_rows}" >"$kept/damaged.json"
  bench --vs damaged -e x
  refuses "rows: $kept_rows" 1 "what is kept as 'damaged' is no measurement"
done
echo '{"rows": [{"name": "x", "stats": {'"$good"'}}], "machine": {"cpu": {"a": 1}, "threads": "2"}}' \
  >"$kept/damaged.json"
bench --vs damaged -e x
is 'a machine that nobody can read is passed over' "$rc" 0
lacks 'it is' "$out$err" 'was measured with another'
has 'the row is compared' "$out" 'Against damaged:'

# ---- nothing is lost, nothing is measured in vain ----
if [ -e /dev/full ]; then
  bench --json /dev/full -e x
  is 'a file that cannot be written' "$rc" 1
  has 'is told' "$err" 'No space left'
  has 'after the table' "$out" 'kernels'
fi
bench --json no/such/file -e 'print("measured")'
refuses 'a folder that is not there' 1 'no/such/file: No such file'
for code in '' ' ' ',' 'x,'; do
  bench -e "$code"
  refuses "the expression '$code'" 1 'must be an expression'
done
run "$TSH" -e 'print(pcall(tsh.bench, {"x", inputs={3}}))
print(pcall(tsh.bench, {"x", inputs={{3, 4}}}))
print(pcall(tsh.bench, {"x", devices={}}))'
is 'inputs are pairs' "$rc/$(grep -c 'input 1 must be {name, value}' <<<"$out")" 0/2
has 'devices are some' "$out" 'devices is empty'
bench --device , -e x
refuses 'a list of no devices' 2 '--device needs A,B'
bench -e x -e 'local 100%'
refuses 'a syntax error names its expression' 1 "bench: local 100%: unexpected symbol"

bench -e 'x + 1' -e 'ones(2) + ones(3)'
has 'an error shows its expression' "$err" $'  1 | ones(2) + ones(3)\n    |         ^'
bench --input 'y=ones(2) + ones(3)' -e y
has 'that of an input too' "$err" '1 | ones(2) + ones(3)'

# ---- in a session ----
colon ':bench --time 0.02 --warmup 0.005 -x softmax(x), exp(x)'
has ':bench' "$out" 'Comparison:'
colon ':bench --time 0.02 --warmup 0 --input y=rand(4, 2) exp(y) + 1' '6*7'
has 'an expression with blanks' "$out" 'exp(y) + 1   y: f32[4,2]'
has 'the session goes on' "$out" 42
colon ':bench --cold --time 0.02 --warmup 0 x + 1'
has ':bench --cold' "$out" 'cold, plans made anew'
colon ':bench --async --time 0.02 --warmup 0 x + 1'
has ':bench --async' "$out" 'recorded only'
colon ':bench --time 0.02 --warmup 0 --json - x + 1'
has ':bench --json -' "$out" '"machine"'
colon ':bench --time 0.02 --warmup 0 --vs base --fail-over 1% -- x + 1'
is 'a command that fails, fails the session' "$rc" 1
colon ':bench --nosuch 1 x'
has 'an unknown option' "$err" "unknown option '--nosuch'"
colon 'd = tsh.device();' ':bench --time 0.02 --warmup 0 --device cpu x + 1' 'd == tsh.device()'
has 'the default device is what it was' "$out" true
# ---- narrow windows ----
mux_or_finish
for columns in 100 80 60 40 24; do
  open "$TSH -q; cat"
  enter 'x = rand(1000);'
  enter ':bench --time 0.02 --warmup 0 softmax(x), exp(x) + 1'
  expect_part "a bench in $columns columns" 'Comparison:'
  shows $'\ntsh>'
  table=$(mux capture-pane -t "$name" -p -J -S -200 | sed -n '/^Name/,$p')
  is "nothing is folded in $columns columns" \
    "$(($(wc -L <<<"$table") <= columns))" 1
  has "the median is there in $columns columns" "${table%%$'\n'[a-z]*}" median
  key C-d
done
finish
