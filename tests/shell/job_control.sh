#!/bin/bash
# Ctrl-Z and fg, at the prompt and while something runs; SIGTERM and SIGHUP:
# the terminal is as it was, and the history is kept.
set -u
# shellcheck source=tests/shell/_tests.sh
. "$(dirname "$0")/_tests.sh"
# shellcheck source=tests/shell/_mux.sh
. "$(dirname "$0")/_mux.sh"
cd "$dir" || exit 1
mux_or_finish

# begin: a shell with job control in a window, and tsh in it
begin() {
  sessions=$((sessions + 1))
  name=s$sessions
  mux new-session -d -s "$name" -x 80 -y 24 "env PS1='sh: ' bash --norc -i"
  shows 'sh:' || fail 'a shell' "$(screen)"
  enter "$TSH -q"
  expect 'a session' 'tsh>'
}
# tsh_pid: the process of the session in the window
tsh_pid() {
  local p
  p=$(mux display-message -p -t "$name" '#{pane_pid}')
  while [ "$(cat "/proc/$p/comm" 2>/dev/null)" != tsh ]; do
    p=$(pgrep -P "$p" | tail -1)
    if [ -z "$p" ]; then return 1; fi
  done
  echo "$p"
}
# sane NAME: the shell's terminal echoes and reads lines. Nothing is thrown away
# here: a Ctrl-C would also take what is typed behind it.
asked=0
sane() {
  asked=$((asked + 1))
  enter "stty -a | tr ' ;' '\n\n' | grep -xE -e '-?(icanon|echo|isig|icrnl|opost)' | sort | xargs echo modes $asked"
  expect_part "$1" $'\nmodes '"$asked echo icanon icrnl isig opost"
}

# ---- Ctrl-Z -----------------------------------------------------------------------
begin
enter 'x = 41'
expect 'an entry' $'x = 41\ntsh>'
text 'x + 1'
shows 'tsh> x + 1'
key C-z
expect_part 'Ctrl-Z at the prompt' Stopped
sane 'while it is stopped'
enter fg
expect 'fg brings the line back' 'tsh> x + 1'
key Enter
expect 'and it can be run' $'\n42\ntsh>'
for work in 'while true do end' \
  'm = rand(3000,3000); while true do matmul(m, m):sum():item() end'; do
  clear
  enter "$work"
  sleep 0.3
  key C-z
  expect_part "Ctrl-Z in $work" Stopped
  enter "echo 'in' 2 shells"
  expect_part 'the shell answers' 'in 2 shells'
  enter fg
  sleep 0.3
  key C-c
  expect_part 'fg and Ctrl-C' interrupted
  enter 'x'
  expect 'variables are kept' $'\n41\ntsh>'
done

# ---- SIGTERM and SIGHUP ---------------------------------------------------------------
key C-d
for signal in TERM HUP; do
  begin
  enter "at_prompt = '$signal'"
  expect 'an entry of it' $'\ntsh>'
  text 'half a line'
  holds 'half a line'
  kill -s $signal "$(tsh_pid)"
  expect_part "$signal at the prompt" 'sh: '
  lacks 'its word stands on a line of its own' "$(screen)" 'Hangupa'
  sane "after $signal at the prompt"
  enter "$TSH -q"
  expect 'another session' 'tsh>'
  enter "in_work = '$signal'; while true do end"
  sleep 0.3
  kill -s $signal "$(tsh_pid)"
  sleep 0.3
  sane "after $signal in work"
  for entry in at_prompt in_work; do
    has "$signal: history has $entry" "$(cat "$dir/state/tsh/history")" \
      "$entry = '$signal'"
  done
done
finish
