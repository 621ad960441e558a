# shellcheck shell=bash
# To be sourced after _tests.sh: sessions in windows of tmux. The screen is
# waited for, never a fixed time.

# Without tmux, or in a build that edits no lines, the file ends here.
mux_or_finish() {
  if ! command -v tmux >/dev/null; then
    echo "${0##*/}: no tmux here, its windows are not tested" >&2
  elif "$TSH" doctor 2>/dev/null | grep -q '^editing  *none'; then
    echo "${0##*/}: a build without readline, its windows are not tested" >&2
  else
    return
  fi
  pass
  finish
  exit
}

export LANG=C.UTF-8 XDG_STATE_HOME=$dir/state
unset TSH_HISTORY
sessions=0
mux() { tmux -L "tsh-$$" -f /dev/null "$@"; }
trap 'mux kill-server 2>/dev/null; cleanup' EXIT

# open [COMMAND]: a window of $columns by $rows in which tsh runs; leaves its
# $name
columns=80
rows=24
open() {
  sessions=$((sessions + 1))
  name=s$sessions
  mux new-session -d -s "$name" -x $columns -y $rows "${1-$TSH -q}; echo status \$?; cat"
  shows 'tsh>' || fail 'the prompt appears' "$(screen)"
}
# resize COLUMNS [ROWS]
resize() { mux resize-window -t "$name" -x "$1" -y "${2-24}"; }
# enter TEXT: a line and Enter
enter() {
  text "$1"
  key Enter
}
text() { mux send-keys -t "$name" -l -- "$1"; }
key() { mux send-keys -t "$name" "$@"; }
screen() { mux capture-pane -t "$name" -p -S -200 | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'; }

# A slow build and a busy machine get more time.
turns=200
case ${TSH_BUILD-} in *asan* | *coverage*) turns=1200 ;; esac

# The screen ends in the lines of $1; that is waited for.
shows() {
  for _ in $(seq $turns); do
    case $(screen) in *"$1") return 0 ;; esac
    sleep 0.05
  done
  return 1
}
# The screen has $1 somewhere.
holds() {
  for _ in $(seq $turns); do
    case $(screen) in *"$1"*) return 0 ;; esac
    sleep 0.05
  done
  return 1
}
expect() {
  if shows "$2"; then pass; else fail "$1" "screen: $(screen | tail -12)" "want at its end: $2"; fi
}
expect_part() {
  if holds "$2"; then pass; else fail "$1" "screen: $(screen | tail -12)" "want there: $2"; fi
}
clear() {
  key C-c
  key C-l
  sleep 0.1
  mux clear-history -t "$name"
}
