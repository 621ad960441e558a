#!/bin/bash
# A session on a terminal: prompts, Ctrl-C, Ctrl-D, what is drawn.
set -u
# shellcheck source=tests/shell/_tests.sh
. "$(dirname "$0")/_tests.sh"
cd "$dir" || exit 1
if ! command -v script >/dev/null; then
  echo "session: no script(1) here, only the first test is run" >&2
  run "$TSH" </dev/null
  gives 'no input' 0 ''
  finish
  exit
fi

# open ENVIRONMENT...: a session in a window of 80 by 24. What it draws is in
# the file screen, what is written to descriptor 3 is typed.
open() {
  rm -f keys screen status
  mkfifo keys
  : >screen
  # shellcheck disable=SC2016 # the shell in the window expands them
  env "$@" TSH="$TSH" script -qfec \
    'stty cols 80 rows 24; $TSH $FLAGS; echo "status $?"' screen \
    <keys >/dev/null 2>&1 &
  job=$!
  exec 3>keys
}

# Waits until the screen shows the text $1 at least $2 times.
shown() {
  local n
  for _ in $(seq 300); do
    n=$(grep -o -F -e "$1" screen | wc -l)
    if [ "$n" -ge "${2-1}" ]; then return 0; fi
    sleep 0.02
  done
  return 1
}

# expect NAME TEXT [TIMES]
expect() {
  if shown "$2" "${3-1}"; then pass; else
    fail "$1" "want on the screen: $2" "$(tail -c 600 screen | cat -v)"
  fi
}

keys() { printf '%b' "$1" >&3; }

close() {
  exec 3>&-
  wait "$job" 2>/dev/null
}

# ---- entries ----
open FLAGS= TERM=xterm
expect 'banner' ':help for help'
expect 'prompt' 'tsh> '
keys 'x = 3 * 7\nx\n'
expect 'value' $'\n21'
keys 'for i = 1, 2 do\n'
keys 'print("turn " .. i)\nend\n'
expect 'a block' 'turn 2'
keys 'half'
sleep 0.2
keys '\003'
expect 'Ctrl-C at the prompt' 'half^C'
keys '"al" .. "ive"\n'
expect 'starts anew' alive
keys 'if x then\n'
sleep 0.2
keys '\003'
keys '"left" .. "it"\n'
expect 'Ctrl-C leaves an entry of many lines' leftit
keys 'function f()\n\n\n'
expect 'two empty lines end an entry' 'near <eof>'
keys 'y = 1\nwhile true do end\n'
sleep 0.3
keys '\003'
expect 'Ctrl-C while it runs' 'interrupted, after'
keys '"x is " .. x\n'
expect 'variables stay' 'x is 21'
keys 'pcall(function() while true do end end)\n'
sleep 0.3
keys '\003'
expect 'pcall does not swallow it' 'interrupted, after' 2
keys 'm = rand(4000, 4000)\nwhile true do matmul(m, m):sum():item() end\n'
sleep 0.5
keys '\003'
expect 'Ctrl-C in a matrix product' 'interrupted in item, after'
keys '"and m is " .. m.dtype\n'
expect 'and again variables stay' 'and m is f32'
keys 'tensor{1, 2} + 1\n'
expect 'the device works' 'i64[2] [2, 3]'
keys 'local q = 1\nlocal q = 2\n'
expect 'a note on local' "note: 'q' is local to this entry"
is 'only once' "$(grep -c 'is local to' screen)" 1
keys 'io.read()\ntyped text\n'
expect 'io.read takes the next line' $'\ntyped text'
keys 'rand(100, 30)\n'
expect 'shortened, with a faint line' $'\e[2m3,000 elements, 12.0 kB\e[0m'
keys 'rand(60, 2)\n'
expect 'more rows than the window' '120 elements, 480 B'
keys 'local t = os.clock() while os.clock() - t < 0.6 do end\n'
expect 'a long entry tells its time' 'took '
keys ':quit 3\n'
expect 'quit' 'status 3'
close

open FLAGS=-q TERM=dumb
shown 'tsh> '
keys 'rand(100, 30)\n'
expect 'a dumb terminal' '3,000 elements'
keys 'for i = 1, 2 do\n'
expect 'the prompt of more lines' '..> '
keys 'print("turn " .. i)\nend\n'
expect 'a block in a dumb terminal' 'turn 2'
keys 'os.exit(4)\n'
expect 'os.exit' 'status 4'
close
lacks 'no banner with -q' "$(cat screen)" ':help'
lacks 'no escapes' "$(cat screen)" $'\e'

open FLAGS=-q TERM=xterm NO_COLOR=1
shown 'tsh> '
keys 'rand(100, 30)\n'
expect 'no colour' '3,000 elements'
keys '\004'
expect 'Ctrl-D' 'status 0'
close
is 'no colours either' "$(grep -c $'\e\[[0-9;]*m' screen)" 0

# B129: Ctrl-D typed while something runs.
open FLAGS=-q TERM=xterm
shown 'tsh> '
keys 'local t = os.clock() while os.clock() - t < 0.5 do end\n'
sleep 0.2
keys '\004'
expect 'Ctrl-D typed ahead ends it, afterwards' 'status 0'
close

finish
