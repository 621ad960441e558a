#!/bin/bash
# Output that cannot be written: a full disk is an error of status 1 that is
# told once, a reader that has gone ends us by SIGPIPE without a word. For each
# way in which something is printed.
set -u
# shellcheck source=tests/shell/_tests.sh
. "$(dirname "$0")/_tests.sh"
cd "$dir" || exit 1
echo '1+1' >entry
printf 'x = rand(3)\n:who\n:devices\n:help\n:plugins\n:set\n:mem\n' >commands
for _ in {1..300}; do cat commands; done >many
echo 'for i = 1, 100000 do print(i) end' >loop
echo 'print(rand(3))' >script.lua
echo 'return ones(300000)' >value.lua

# ways: a line each, what is run and what it reads
ways="-p 1
-p rand(1000,1000)
-p rand(300,300):repr()
-e print(1)
-e io.write(1)
-e io.write(('x'):rep(1e6))
-e io.stdout:write('x'):flush()
-e print(1);os.exit(0)
-p ones(3) -o - --format npy
-p ones(300000) -o - --format npy
-p ones(300000) -o - --format csv
-p {x=ones(300000)} -o - --format safetensors
-o - --format json run value.lua
run script.lua
devices
plugins
ops
ops --json
help
help softmax
--help
--version
doctor
completions zsh"
pieces=()
# each BODY: calls it with the words of every way, and its stdin in $input
each() {
  local line
  while read -r line; do
    read -ra pieces <<<"$line"
    input=/dev/null
    "$1" "$line"
  done <<<"$ways"
  pieces=()
  for input in entry commands many loop; do "$1" "a session that reads $input"; done
}

full() {
  rc=0
  "$TSH" "${pieces[@]}" <"$input" 2>err >/dev/full || rc=$?
  is "full disk: $1: status" $rc 1
  is "full disk: $1: told once" "$(grep -c '^error: ' err)/$(wc -l <err)" 1/1
}
if [ -w /dev/full ]; then each full; fi

# A pipe whose reader has gone before we begin.
gone() {
  { sleep 0.05 && {
    rc=0
    "$TSH" "${pieces[@]}" <"$input" 2>err || rc=$?
    echo $rc >status
  }; } | true
  is "closed pipe: $1: status" "$(cat status)" 141
  is "closed pipe: $1: without a word" "$(cat err)" ''
}
each gone
# ---- what is closed --------------------------------------------------------------
# A file that the script opens must not stand where output goes.
cat >open.lua <<'END'
local f = io.open("data", "w")
print("on stdout")
io.stderr:write("on stderr")
f:write("data")
f:close()
error("at the end")
END
for closed in '>&-' '2>&-' '<&-' '>&- 2>&-' '<&- >&- 2>&-'; do
  rm -f data
  eval "\"$TSH\" run open.lua $closed" >out 2>err
  is "closed: $closed: status" $? 1
  is "closed: $closed: the file has its data only" "$(cat data)" data
done
rc=0
"$TSH" run - <&- 2>err || rc=$?
is 'a script from a closed stdin' "$rc/$(cat err)" \
  '2/error: cannot read stdin: Bad file descriptor'

finish
