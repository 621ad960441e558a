#!/bin/bash
# The commands of a session that reach out of it: :save, :edit, :paste, :run,
# :cd, :shell, :clear, :version; and what --keep-going does about errors.
set -u
# shellcheck source=tests/shell/_tests.sh
. "$(dirname "$0")/_tests.sh"
# shellcheck source=tests/shell/_mux.sh
. "$(dirname "$0")/_mux.sh"
cd "$dir" || exit 1

# session TEXT [OPTIONS]: printf's escapes work.
session() {
  # shellcheck disable=SC2059 # the text is meant as a format
  printf -- "$1" >input
  run "$TSH" "${@:2}" <input
}

# ---- going on after errors -------------------------------------------------------
session '1\nerror("x")\n2\n:benhc\n3\n' --keep-going
is '--keep-going goes on, and ends with 1' "$rc/$out" $'1/1\n2\n3'
has 'an error is told' "$err" 'error: x'
has 'one of a command too' "$err" 'did you mean :bench'
session '1\n2\n' --keep-going
gives '--keep-going without errors' 0 $'1\n2'
session 'error("x")\n:quit\n' --keep-going
is 'also at :quit' "$rc" 1
session 'error("x")\n:quit 7\n' --keep-going
is 'but not when a code is given' "$rc" 7
session 'x = = 1\nif x then\n' --keep-going
is 'an entry without an end' "$rc" 1
session 'x=1\0y=2\n7\n' --keep-going
is 'what is no text ends it' "$rc/$out" 1/
run "$TSH" --keep-going <"$dir"
is 'a folder is no input' "$rc" 1

case ${TSH_BUILD-} in
*asan*) ;; # which wants terabytes
*)
  run bash -c 'ulimit -v 2000000; exec "$0" -q </dev/zero' "$TSH"
  refuses 'a line that is too long for the memory' 1 'Cannot allocate memory'
  ;;
esac

# ---- :save, a script --------------------------------------------------------------
# again TEXT: does the saved script print what the session has printed?
again() {
  rm -f saved.lua
  session "$1:save saved.lua\n"
  is "a session: $1" "$rc" 0
  want=$(grep -v 'in saved.lua$' <<<"$out")
  run "$TSH" run saved.lua
  is "its script: $1" "$rc/$err/$(tr -s '\t ' ' ' <<<"$out")" \
    "0//$(tr -s ' ' <<<"$want")"
}
again 'x = 3\nx * 7\n'
again '1 + 1\n_ * 5\n'
again '11\n22\nout[1] + out[2], _\n'
again 'for i = 1, 2 do\nprint(i)\nend\n"text"\n'
again 'x = tensor{1, 2} -- a note\nx + 1 -- another\nx;\n'
again 'y = 1\nlocal y = 5; z = y\ny\nz\n'
again 'return 5\n_\n'
again 'function f(a)\n  local b = a\n  return b\nend\nf(4)\n'
again 'x = 2\nx; -- a note\nx -- another;\n'
again 'x = print\n(x)(1)\nreturn\n(x)(2)\n-- a note\\\n(x)(3)\n'
again 'goto e; ::e::\ngoto e; ::e::\nreturn ...\nreturn 4, ...\n1 -- one\n'
again 'x = 1\nreturn (function() end)()\nx\n'
again 'f = function(a) return a end\nf(2)\nif f then return end\nf(3)\n'
again ':set print.precision 2\ntensor{0.5}\n:unset precision\ntensor{0.5}\n'
again 'x = 1 if x then return end\nx\n'
again 'u = 1\n:reset\nu == nil\n'
again 'nil\nprint(1)\n'
echo 'loaded = (loaded or 0) + 1' >part.lua
again ':load part.lua\n:load "part.lua"\nloaded\n'
again 'p = {a = 1}; p\nlocal y = 5; y * 2\nx = 3; x;\nf = function() return 1, 2 end; f()\n(f)(); _\n-- a\nx = 4; x -- b\n{p}\n'
session 'a = 1\n:save saved.lua\n'
gives 'one entry; what :save wrote is written anew' 0 '1 entry in saved.lua'
is 'nothing needless is in it' "$(tail -n +3 saved.lua)" 'a = 1'
session 'a = 1\nerror("x")\nb = 2\n:save saved.lua\n' --keep-going
is 'what failed is left out' "$(tail -n +3 saved.lua)" $'a = 1\nb = 2'
echo mine >mine.lua
session 'a = 1\n:save mine.lua\n'
refuses 'a file of the user stays' 1 'mine.lua is there, and was not written by :save'
is 'it does' "$(cat mine.lua)" mine
session ':save saved.lua\n'
refuses 'nothing to save' 1 'no entry has succeeded yet'
for name in m.npy m.npz m.safetensors m.csv m.json; do
  session "a = 1\n:save $name\n"
  refuses "no tensors for $name" 1 "$name is for tensors, and none is named"
done
session ':save\n'
refuses 'save where?' 1 ':save needs a file'
session 'a = 1\n:save no/such.lua\n'
refuses 'save into no folder' 1 'no/such.lua: No such file'
mkdir disk
session 'a = 1\n:save disk/s.lua\n'
was=$(cat disk/s.lua)
run bash -c 'ulimit -f 1; "$0" -q' "$TSH" < <(printf "a = '%05000d'\n:save disk/s.lua\n" 1)
refuses 'a disk that is full' 1 ':save: disk/s.lua: File too large'
is 'leaves what was there' "$(ls disk)/$(cat disk/s.lua)" "s.lua/$was"

# ---- :save, tensors ---------------------------------------------------------------
session 'x = tensor{1, 2} w = {a = ones(2, 2), b = zeros(1)}\n:save m.npz x w\n'
gives 'an npz' 0 'x, w in m.npz'
run "$TSH" -p 'read("m.npz").w.a:sum(), read("m.npz").x'
gives 'is read back' 0 'f32[] 4  i64[2] [1, 2]'
session 'x = tensor{1, 2}\n:save "two words.safetensors" x\n:save x.npy x\n'
gives 'other formats' 0 $'x in two words.safetensors\nx in x.npy'
run "$TSH" -p 'read("two words.safetensors").x, read("x.npy")'
gives 'are read back' 0 'i64[2] [1, 2]  i64[2] [1, 2]'
session "x = tensor{1, 2}\n:save 'one quote.npy' x\n"
gives 'other quotes' 0 'x in one quote.npy'
session 'x = tensor{1, 2}\n:save m.npz x y\n'
refuses 'a name that is none' 1 "there is no global 'y'"
session 'x = ones(1) y = x\n:save m.npy x y\n'
refuses 'two for one place' 1 'm.npy takes one tensor, not 2'
session 'x = ones(1)\n:save m.txt x\n'
refuses 'no such format' 1 'no writer for this kind of file'
session 's = "text"\n:save m.npz s\n'
refuses 'what is no tensor' 1 "'s' is a string"

# ---- :paste ------------------------------------------------------------------------
session ':paste\nlocal a = 1\nlocal b = 2\nprint(a + b)\n:end\n7\n'
gives ':paste is one entry' 0 $'3\n7'
session ':paste\ntsh> x = 1\n..> y = 2\n:end\nx + y\n'
gives 'without its prompts' 0 3
session ':paste\n5 +\n6'
gives 'the end of input is its end' 0 11
session ':paste\n:end\n1\n'
gives 'nothing pasted' 0 1
session ':paste\nif x then\n:end\n1\n'
refuses 'half an entry' 1 'near <eof>'

# ---- :edit ---------------------------------------------------------------------------
export EDITOR='echo x = 5 >>'
session ':edit\nx\n'
gives 'EDITOR' 0 5
VISUAL='echo x = 6 >>' session ':edit\nx\n'
gives 'VISUAL comes first' 0 6
EDITOR=true session ':edit\nx == nil\n'
gives 'unchanged' 0 $'unchanged, nothing is run\ntrue'
EDITOR=false session ':edit\n1\n'
refuses 'a failed editor' 1 'exit status 1'
EDITOR=/nonexistent/vi session ':edit\n1\n'
refuses 'no editor' 1 'exit status 127'
echo 'print("from the file")' >work.lua
session ':edit work.lua\nx\n'
gives 'a file' 0 $'from the file\n5'
is 'the file is the edited one' "$(tail -1 work.lua)" 'x = 5'
EDITOR=true session ':edit work.lua\n'
gives 'an unchanged file' 0 'unchanged, nothing is run'
session ':edit fresh.lua\nx\n'
gives 'a new file' 0 5
session ':edit 4\n'
refuses 'no such entry' 1 'there is no entry 4'
for n in 0 -1; do
  session ":edit $n\n"
  refuses "no entry $n" 1 "there is no entry $n"
done
session ':edit "with blanks.lua"\nx\n'
gives 'a name in quotes' 0 5
is 'is that name' "$(cat 'with blanks.lua')" 'x = 5'
EDITOR='truncate -s 0' session ':edit work.lua\n'
gives 'a file without text' 0 'empty, nothing is run'
echo 1 >work.lua
EDITOR='rm' session ':edit work.lua\n'
refuses 'an editor that takes the file away' 1 ':edit: work.lua: No such file'
session ':edit .\n'
refuses 'a folder' 1 ':edit: .: Is a directory'
leftover=("${TMPDIR:-/tmp}"/tsh-??????.lua)
is 'no file is left behind' "${leftover[*]}" "${TMPDIR:-/tmp}/tsh-??????.lua"

# ---- :run ------------------------------------------------------------------------------
echo 'x = 9 print(select("#", ...), ...)' >run.lua
session 'x = 1\n:run run.lua a "b c"  d\nx\n'
gives ':run keeps the session' 0 $'3\ta\tb c\td\n1'
echo 'os.exit(4)' >run.lua
session ':run run.lua\n'
refuses 'its status is shown' 1 'note: exit status 4'
session ':run\n'
refuses 'run what?' 1 ':run needs a file'
session ':run no.lua\n'
refuses 'no such script' 1 'cannot open no.lua'
echo 'print(tsh.mem().devices[1].limit, rand(1):item())' >run.lua
session 'rand(1):item()\n:run run.lua\n' --mem-limit 1M --seed 5
is 'with the options of the session' "$rc/$(tail -1 <<<"$out")" \
  "0/1048576"$'\t'"$(head -1 <<<"$out")"

# ---- :cd, :shell, :clear, :version --------------------------------------------------------
mkdir sub 'two words'
session ':cd sub\n:cd ..\n:cd two words\n:cd\n:cd ~/sub\n'
gives ':cd' 0 "$dir/sub
$dir
$dir/two words
$dir
$dir/sub"
session ':cd "two words"\n:cd ..\n'
gives ':cd, in quotes' 0 "$dir/two words"$'\n'"$dir"
session ':cd ~nobody\n'
refuses ':cd to a home of another' 1 ':cd: ~nobody: No such file'
session ':cd nowhere\n'
refuses ':cd to nowhere' 1 ':cd: nowhere: No such file'
session '!echo one two\n:!echo three\n:shell echo four | tr o 0\n'
gives ':!, ! and :shell' 0 $'one two\nthree\nf0ur'
session '!exit 3\n'
refuses 'another status is shown' 1 'note: exit status 3'
# shellcheck disable=SC2016
session '!kill -9 $$\n'
refuses 'and a signal' 1 'note: ended by signal 9'
session '!cat\n1\n'
gives 'it does not read the session' 0 1
session '!\n'
refuses '! alone' 1 'needs a command'
session 'print("before")\n!echo after\n'
gives 'in their order' 0 $'before\nafter'
session ':clear\n1\n'
gives ':clear off a terminal' 0 1
session ':version\n'
has ':version' "$out" 'tsh 0.'
session ':b\n'
refuses ':b is bench' 1 ':bench needs an expression'
session ':d\n:h\n:w\n'
has ':d is devices' "$out" '* cpu'
has ':h is help' "$out" ':shell    CMD'
has ':w is who' "$out" 'nothing yet'
session ':p\n'
refuses ':p is plan' 1 ':plan needs an expression'
session ':t\n'
refuses ':t is type' 1 ':type needs an expression'
session ':q 3\n'
is ':q is quit' "$rc" 3
for command in $("$TSH" <<<:help | grep -o '^  :[a-z]*'); do
  run "$TSH" <<<":help $command"
  is "help on $command" "$rc/$(head -1 <<<"$out" | cut -d' ' -f1)" "0/$command"
done

mux_or_finish

# ---- in a window --------------------------------------------------------------------------
enter() {
  text "$1"
  key Enter
}
unset EDITOR
open "env EDITOR='sed -i s/1/7/' $TSH -q"
enter 'x = 1'
enter ':edit'
enter 'x'
expect ':edit takes the last entry' $'\n7\ntsh>'
enter ':history 4'
expect_part 'what was run is in the history' $'x = 7\n'
enter ':edit 1'
enter 'x'
expect ':edit N' $'\n7\ntsh>'
clear
enter ':paste'
expect 'a word on how it ends' 'Ctrl-C drops it'
enter 'function f()'
enter '  return 42'
enter 'end'
key C-d
expect 'Ctrl-D ends it' 'tsh>'
enter 'f()'
expect 'and it was run' $'\n42\ntsh>'
clear
enter ':paste'
expect 'again' 'Ctrl-C drops it'
enter 'x = 99'
key C-c
expect 'Ctrl-C drops it' 'tsh>'
enter 'x'
expect 'nothing was run' $'\n7\ntsh>'
enter 'a_long_line_after_a_short_one = "that it is read into a buffer of its own"'
enter '#a_long_line_after_a_short_one'
expect 'the editor works as before' $'\n40\ntsh>'
enter '!sleep 100'
sleep 0.5
key C-c
expect_part 'Ctrl-C ends the program' 'ended by signal 2'
enter '6*7'
expect 'not the session' $'\n42\ntsh>'
text '!echo par'
key Tab
expect '! completes files' '!echo part.lua'
key Enter
expect_part 'and runs' $'\npart.lua\n'
mkdir -p deep
enter ':cd deep'
enter '"after cd"'
enter ':clear'
enter '"left"'
expect ':clear' $'"left"\nleft\ntsh>'
is 'nothing else is on the screen' "$(screen | wc -l)" 3
key C-d
expect 'Ctrl-D ends the session' 'status 0'
open "env TSH_HISTORY=entries $TSH -q"
enter '"before"'
enter ':cd deep'
enter '"behind"'
expect 'an entry after :cd' $'\nbehind\ntsh>'
key C-d
expect 'the end' 'status 0'
is 'a history that was named relative stays where it is' \
  "$(grep -v '^#' entries)" $'"before"\n:cd deep\n"behind"'

finish
