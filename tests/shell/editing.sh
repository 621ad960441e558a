#!/bin/bash
# Editing in a terminal: entries of several lines, Ctrl-C, pasting, completion,
# history. Needs tmux; a build without readline runs nothing of it.
set -u
# shellcheck source=tests/shell/_tests.sh
. "$(dirname "$0")/_tests.sh"
# shellcheck source=tests/shell/_mux.sh
. "$(dirname "$0")/_mux.sh"
cd "$dir" || exit 1
mux_or_finish

open
for entry in '1+1' '_*5' x=3 'x\;' '1,nil,3'; do
  text "$entry"
  key Enter
done
expect 'the first five entries' \
  $'tsh> 1+1\n2\ntsh> _*5\n10\ntsh> x=3\ntsh> x;\ntsh> 1,nil,3\n1  nil  3\ntsh>'
clear
text '1+1'
key Enter
expect 'a value' $'tsh> 1+1\n2\ntsh>'
text 'half'
shows 'tsh> half' # Ctrl-C throws away what the terminal still holds
key C-c
text '2+2'
key Enter
expect 'Ctrl-C leaves the line' $'tsh> half^C\ntsh> 2+2\n4\ntsh>'
key C-r
text '1+'
shows '1+1'
key C-c
text '4+4'
key Enter
expect 'Ctrl-C ends a search' $'\ntsh> 4+4\n8\ntsh>'
clear
text 'for i=1,2 do'
key Enter
text 'print(i)'
key Enter
text 'end'
key Enter
expect 'a block' $'tsh> for i=1,2 do\nprint(i)\nend\n1\n2\ntsh>'
key Up
expect 'Up brings the block back' $'tsh> for i=1,2 do\nprint(i)\nend'
key Enter
expect 'and Enter runs it' $'tsh> for i=1,2 do\nprint(i)\nend\n1\n2\ntsh>'
clear
text 'print("abc'
key Enter
expect 'a typo does not trap' $'in[11]:1: print("abc\ntsh>'
text 'f('
key Enter Enter Enter
expect 'two empty lines end an entry' $'was complete\ntsh>'
clear

printf 'function f(a)\n\tlocal b = a\n\n\treturn b + 1\nend\n' >paste.txt
mux load-buffer paste.txt
mux paste-buffer -p -t "$name"
expect 'a paste is shown, not run' $'        return b + 1\nend'
key Enter
text 'f(2)'
key Enter
expect 'Enter runs it' $'tsh> f(2)\n3\ntsh>'
# paste TEXT: with printf's escapes, in brackets, and Enter
paste() {
  # shellcheck disable=SC2059 # the text is meant as a format
  printf "$1" >paste.txt
  clear
  mux load-buffer paste.txt
  mux paste-buffer -p -t "$name"
  sleep 0.2
  key Enter
}
paste 'p = 4\np + 1\n:type p\n"the end"\n'
expect 'entries are run one by one' $'\n5\na number\nthe end\ntsh>'
paste 'tsh> p = {6}\ntsh> (p)[1]\ntsh> for i = 8, 9 do\n..> print(i)\n..> end\n'
expect 'those of a transcript too' $'\n6\n8\n9\ntsh>'
paste 'p = 10\nerror("stops")\np = 11\np = = 1\n'
expect_part 'up to an error' $'error("stops")\nnote: the lines that follow it are not run\ntsh>'
text 'p'
key Enter
expect 'which ends the paste' $'\n10\ntsh>'
paste 'function g()\n  p = 12\n  p = = 1\n  p = 13\nend\n'
expect 'half a function is not run' $'\nnote: the lines that follow it are not run\ntsh>'
text 'p'
key Enter
expect 'by its lines' $'\n10\ntsh>'
paste '    tsh> c = arange(3)\n    tsh> c\n    i64[3] [1, 2, 3]\n    tsh> for i = 1, 2 do\n    ..>   c = c + i\n    ..> end\n    1\n    tsh> c * 2\n    i64[3] [8, 10, 12]\n'
expect 'a copied session, without what it printed' \
  $'\ni64[3] [1, 2, 3]\ni64[3] [ 8, 10, 12]\ntsh>'
clear
paste 'local q = 14\nprint(q)\n'
expect 'what can be one entry is one' $'\n14\ntsh>'
clear
{
  printf 's = "'
  head -c 1000000 /dev/zero | tr '\0' x
  printf '"\n'
} >paste.txt
mux load-buffer paste.txt
mux paste-buffer -p -t "$name"
key Enter
text '#s'
key Enter
expect 'a paste of a megabyte' $'tsh> #s\n1000000\ntsh>'
text 's = nil'
key Enter
clear

text 'x = rand(3)'
key Enter
text 'x:softm'
key Tab
expect 'a method' 'tsh> x:softmax('
key C-c
text 'y=1/math.fl'
key Tab
expect 'a field, behind a /' 'tsh> y=1/math.floor('
key C-c
text 'layer = nn.lin'
key Tab
expect 'a part of the library that was not used before' 'layer = nn.linear('
key C-c
text 'x:so'
key Tab
expect 'what it may be is listed' $'\nsoftmax(   softplus(  sort(\ntsh> x:so'
key C-c
clear
text 'mean('
key Tab Tab
text '3)'
expect 'nothing is listed for no letter' 'tsh> mean(3)'
key C-c
text ':pla'
key Tab
text '1+1'
expect 'a command and a blank' 'tsh> :plan 1+1'
key C-c
text ':apr'
key Tab
expect 'a command' 'tsh> :apropos'
key C-c
touch some-file.csv
text "read(\"$dir/some-f"
key Tab
expect 'a file' 'some-file.csv"'
key C-c
text '  for'
key Home
key Tab
expect 'Tab at the beginning of a line indents' 'tsh>     for'
key C-c
clear
text 'a = "日本語"'
key Left Left BSpace Enter
text 'a'
key Enter
expect 'wide characters' $'tsh> a\n日語\ntsh>'
text 'while true do end'
key Enter
sleep 0.3
key C-c
expect 'Ctrl-C stops what runs' $'while true do end\ntsh>'
clear
key C-d
expect 'Ctrl-D leaves, in the next line' $'tsh>\nstatus 0'

# ---- two sessions, both killed ------------------------------------------------
open
first=$name
text 'A1 = 1'
key Enter
expect 'A1' $'A1 = 1\ntsh>'
open
second=$name
text 'B1 = 1'
key Enter
expect 'B1' $'B1 = 1\ntsh>'
name=$first
text 'A2 = 1'
key Enter
expect 'A2' $'A2 = 1\ntsh>'
name=$second
text 'B2 = 1'
key Enter
expect 'B2' $'B2 = 1\ntsh>'
for s in "$first" "$second"; do
  pkill -9 -P "$(mux display-message -p -t "$s" '#{pane_pid}')"
done
is 'nothing of two sessions is lost' \
  "$(grep -v '^#' "$dir/state/tsh/history" | tail -4 | tr '\n' ' ')" \
  'A1 = 1 B1 = 1 A2 = 1 B2 = 1 '
open
key Up Up Up
expect 'a third one has them' 'tsh> B1 = 1'
is 'only the user may read them' "$(stat -c %a "$dir/state/tsh/history")" 600
key C-d
open "env TSH_HISTORY=off $TSH -q"
text 'secret = 1'
key Enter
expect 'a session without' $'secret = 1\ntsh>'
is 'history off' "$(grep -c secret "$dir/state/tsh/history")" 0
text ' blank = 1'
key Enter
key C-d

# ---- windows -------------------------------------------------------------------
open
text 'abcdefghijklmnopqrstuvwxyz = "abcdefghijklmnopqrstuvwxyz"'
mux resize-window -t "$name" -x 40 -y 24
sleep 0.2
key C-a
text 'zz'
key Enter
text 'zzabcdefghijklmnopqrstuvwxyz'
key Enter
expect 'a resized window' $'\nabcdefghijklmnopqrstuvwxyz\ntsh>'
key C-d
open "env TERM=dumb $TSH -q"
text '1+1'
key Enter
expect 'a dumb terminal' $'1+1\n2\ntsh>'
key C-d
finish
