#!/bin/bash
# Ctrl-C while something runs: it comes back at once, nothing swallows it.
set -u
# shellcheck source=tests/shell/_tests.sh
. "$(dirname "$0")/_tests.sh"
cd "$dir" || exit 1
ulimit -t 60 # what cannot be stopped ends some time

# A slow build and a busy machine are given more time than the promise.
limit=200
case ${TSH_BUILD-} in *asan* | *coverage*) limit=1500 ;; esac

now() { echo $(($(date +%s%N) / 1000000)); }

# begin CODE: runs a script that says `ready`, at first unless CODE itself says
# it; leaves its $pid.
begin() {
  local first='print("ready")'
  case $1 in *ready*) first= ;; esac
  printf '%s\n%s\n' "$first" "$1" >script.lua
  : >out
  "$TSH" run script.lua >out 2>err <"${input-/dev/null}" &
  pid=$!
  for _ in $(seq 200); do
    if grep -q ready out; then break; fi
    sleep 0.02
  done
  sleep 0.1
}

# Waits for $pid; leaves $rc and the time since $start in $ms.
await() {
  rc=0
  wait "$pid" || rc=$?
  ms=$(($(now) - start))
  err=$(cat err)
}

# stops NAME CODE: one SIGINT ends it in time with status 130.
stops() {
  local try
  for try in 1 2 3; do
    begin "$2"
    start=$(now)
    kill -INT "$pid" 2>/dev/null
    await
    if [ "$rc" = 130 ] && [ $ms -le $limit ]; then break; fi
  done
  is "$1: status" "$rc" 130
  has "$1: message" "$err" interrupted
  if [ "$ms" -le $limit ]; then pass; else fail "$1: took $ms ms, try $try"; fi
}

stops 'an endless loop' 'while true do end'
has 'the message names the line' "$err" 'script.lua:2: interrupted'
has 'and shows it' "$err" '2 | while true do end'
stops 'a loop in a coroutine' \
  'coroutine.wrap(function() while true do end end)()'
stops 'a resumed coroutine that is resumed again and again' \
  'while true do coroutine.resume(coroutine.create(function()
     while true do end end)) end'
stops 'coroutines in coroutines' \
  'local function deep(n) if n == 0 then while true do end end
     while true do coroutine.resume(coroutine.create(deep), n - 1) end end
   deep(5)'
stops 'a coroutine that yields' \
  'local f = coroutine.wrap(function() while true do coroutine.yield() end end)
   while true do f() end'
stops 'a loop around pcall' \
  'while true do pcall(function() while true do end end) end'
stops 'a loop around xpcall' \
  'while true do xpcall(function() while true do end end, print) end'
stops 'a message handler that does not end' \
  'xpcall(function() while true do end end, function() while true do end end)'
stops 'a message handler of another error' \
  'xpcall(error, function() while true do end end)'
stops 'pcall of pcall' 'while true do pcall(pcall, pcall, error) end'
stops 'a variable that closes slowly' \
  'local x <close> = setmetatable({}, {__close = function()
     while true do end end})
   while true do end'
stops 'a coroutine that closes slowly' \
  'local co = coroutine.create(function()
     local x <close> = setmetatable({}, {__close = function()
       while true do end end})
     coroutine.yield() end)
   coroutine.resume(co)
   coroutine.close(co)'
stops 'a comparison in sort' \
  'table.sort({1, 2, 3}, function() while true do end end)'
stops 'a metamethod' \
  'local t = setmetatable({}, {__index = function() while true do end end})
   return t.x'
stops 'a loop that is built by load' 'load("while true do end")()'
stops 'an error thrown away' \
  'while true do local ok = pcall(error, "x") if ok then break end end'
stops 'a hook of the script' \
  'debug.sethook(function() end, "l") while true do end'
stops 'ops that are recorded for ever' \
  'local x = ones(4) while true do x = x + 1 end'
stops 'ops in pcall' \
  'while true do pcall(function() return (ones(1000) * 2):sum():item() end) end'
stops 'a matrix product' \
  'local a = rand(6000, 6000)
   print(a:sum():item(), "ready")
   for i = 1, 100 do print(matmul(a, a):sum():item()) end'
stops 'a large map' \
  'local a = zeros(30000, 30000) + tensor(1.0)
   for i = 1, 100 do print(exp(sin(a + i)):sum():item()) end'
stops 'a matrix product in pcall' \
  'local a = rand(6000, 6000)
   print(a:sum():item(), "ready")
   while true do pcall(function() print(matmul(a, a)) end) end'

stops 'a map of 10^8' \
  'local a = zeros(10000, 10000) + tensor(1.0)
   a:sum():item() print("ready") print(exp(sin(a)):sum():item())
   while true do exp(sin(a + 1)):sum():item() end'
# Before the process ends it frees what was recorded: more time.
usual=$limit
limit=$((2 * limit))
stops 'a plan of 10^5 ops' \
  'local function f(x)
     for i = 1, 100000 do x = x * 1.0001 + 1e-9 end
     print("ready") return x:sum() end
   while true do print(grad(f)(ones(4))) end'
stops 'a gradient of 10^5 ops that is computed' \
  'local function f(x)
     for i = 1, 100000 do x = x * 1.0001 + 1e-9 end return x:sum() end
   print("ready")
   while true do print(grad(f)(ones(4)):sum():item()) end'
limit=$usual
awk 'BEGIN { for (i = 0; i < 2000000; i++) print i "," i / 7 "," i % 10 }' \
  >big.csv
stops 'a file that is read' 'while true do read("big.csv") end'
stops 'a script that is loaded' \
  'local f = io.open("loaded.lua", "w") f:write("while true do end") f:close()
   print("ready") dofile("loaded.lua")'
rm big.csv
# Rows of 16 MiB, of a file that has nothing in it but holes.
printf "\x93NUMPY\1\0\x76\0%-117s\n" \
  "{'descr': '|u1', 'fortran_order': False, 'shape': (4096, 16777216), }" \
  >rows.npy
truncate -s $((128 + 4096 * 16777216)) rows.npy
stops 'rows that are read ahead' \
  'for x in data.batches("rows.npy", nil, 1, nil, {prefetch = 3}) do end'
stops 'a batch that takes long to read' \
  'for x in data.batches("rows.npy", nil, 8, nil, {prefetch = 1}) do end'
stops 'a loop over rows that are there' \
  'for x in data.batches("rows.npy", nil, 1) do while true do end end'

mkfifo pipe
sleep 60 >pipe &
sleeper=$!
input=pipe stops 'a script that waits for input' 'io.read() while true do end'
kill "$sleeper"
wait "$sleeper" 2>/dev/null

# ---- what runs before the end ----
stops 'on_interrupt' 'on_interrupt(function() print("cleaned") end)
  while true do end'
has 'on_interrupt ran' "$(cat out)" cleaned
stops 'on_interrupt in a coroutine' 'on_interrupt(function() print("cleaned") end)
  coroutine.wrap(function() pcall(function() while true do end end) end)()'
has 'on_interrupt ran' "$(cat out)" cleaned
stops 'on_interrupt that fails' 'on_interrupt(function() error("oops") end)
  while true do end'
has 'its error is told' "$err" oops
stops 'on_interrupt taken back' 'on_interrupt(function() print("cleaned") end)
  on_interrupt(nil) while true do end'
lacks 'it does not run' "$(cat out)" cleaned
stops 'on_interrupt that computes' \
  'on_interrupt(function() print(ones(3):sum():item()) end)
   local a = rand(6000, 6000)
   for i = 1, 100 do print(matmul(a, a):sum():item()) end'
has 'it has a working device' "$(cat out)" 3

begin 'on_interrupt(function() print("hangs") while true do end end)
  while true do end'
kill -INT "$pid"
for _ in $(seq 100); do
  if grep -q hangs out; then break; fi
  sleep 0.02
done
start=$(now)
kill -INT "$pid"
await
is 'a second Ctrl-C ends it at once' "$rc" 130

# ---- while it starts ----
# Is process $1 no shell any more, and has it its handler of SIGINT?
handles() {
  local key value name
  read -r name <"/proc/$1/comm"
  if [ "$name" = bash ]; then return 1; fi
  while read -r key value; do
    if [ "$key" = SigCgt: ]; then return $((!(16#$value & 2))); fi
  done <"/proc/$1/status"
  return 1
}

# early PAUSE: one SIGINT that long after the handler is there; it must end.
early() {
  "$TSH" -e 'while true do end' >out 2>err </dev/null &
  pid=$!
  until handles "$pid"; do :; done
  sleep "$1"
  kill -INT "$pid"
  for _ in $(seq 100); do
    if ! kill -0 "$pid" 2>/dev/null; then break; fi
    sleep 0.02
  done
  kill -KILL "$pid" 2>/dev/null
  wait "$pid" 2>/dev/null
  if [ $? = 130 ]; then ended=$((ended + 1)); fi
}

ended=0
for pause in 0 0 0 0 0 0 0 0 0.001 0.002 0.003 0.005; do early $pause; done
is 'a SIGINT during the start is not lost' $ended 12

# ---- a piped session, -e ----
# said COMMAND...: starts it and waits until it has said `ready`.
said() {
  : >out
  "$@" >out 2>err <input &
  pid=$!
  for _ in $(seq 200); do
    if grep -q ready out; then break; fi
    sleep 0.02
  done
  sleep 0.1
  start=$(now)
  kill -INT "$pid"
  await
}

printf 'print("ready")\nwhile true do end\nprint("more")\n' >input
said "$TSH"
is 'a piped session ends' "$rc" 130
lacks 'and runs no more' "$(cat out)" more
said "$TSH" -e 'print("ready") while true do end' -e 'print("more")'
is '-e ends' "$rc" 130
lacks 'and no further -e is run' "$(cat out)" more

finish
