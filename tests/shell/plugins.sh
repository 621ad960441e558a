#!/bin/bash
# Plugins with faults: each is refused or survived, a session goes on, and
# `tsh plugins` and `tsh doctor` say why and what helps.
set -u
# shellcheck source=tests/shell/_tests.sh
. "$(dirname "$0")/_tests.sh"
faults=${TSH_TEST_PLUGINS:-${TSH_BUILD-}/tests/fault/.libs}
if [ ! -e "$faults/good.so" ]; then
  echo 'note: no faulty plugins were built'
  finish
  exit
fi

mkdir "$dir/p" "$dir/p/folder.so"
echo 'this is no library' >"$dir/p/junk.so"
echo 'this is no library, however long its text may be, and it is long enough' \
  'to have the header of one' >"$dir/p/text.so"
: >"$dir/p/empty.so"
head -c 5000 "$faults/good.so" >"$dir/p/cut.so"
ln -s /nonexistent/x.so "$dir/p/dangling.so"
cp "$faults"/*.so "$dir/p"
export TSH_PLUGIN_PATH=$dir/p

run "$TSH" plugins
list=$out
is 'the list of plugins' "$rc" 0
run "$TSH" doctor
doctor=$out
is 'doctor fails' "$rc" 1
has 'doctor counts' "$err" 'plugins were refused'

# refused NAME REASON HELP: in the list, in doctor, and as a device.
refused() {
  local line
  line=$(grep "^$1  *refused" <<<"$list")
  has "$1 is refused" "$line" "$2"
  line=$(grep -A2 "^  $1  *refused" <<<"$doctor")
  has "$1, doctor" "$line" "$2"
  has "$1, what helps" "$line" "-> $3"
  run "$TSH" -d "$1" -p 1
  refuses "$1 as a device" 3 "$2"
}

refused no_entry 'undefined symbol: tsh_plugin_query' 'the file is no plugin'
refused no_table 'tsh_plugin_query gave no table' 'the file is no plugin'
for f in old_major new_major old_minor new_minor; do
  refused $f 'it is made for plugin ABI' 'build the plugin anew'
done
for f in size_zero size_short; do
  refused $f 'the mandatory entries need' 'build the plugin anew'
done
refused no_compile "its table has no entry 'compile'" 'build the plugin anew'
refused opening_crashes 'opening it crashed (signal 11' 'ask its maker'
refused query_crashes 'its query crashed (signal 11' 'ask its maker'
refused query_exits 'its query ended the process (exit code 7)' 'ask its maker'
refused table_wild 'reading its table crashed (signal 11' 'ask its maker'
refused query_hangs 'its query takes longer than 2 s' 'ask its maker'
refused junk 'file too short' 'copy the plugin again'
refused empty 'file too short' 'copy the plugin again'
refused text 'invalid ELF header' 'the file is no shared library'
refused cut 'the file is cut short' 'copy the plugin again'
refused folder 'it is not a file' 'give it another name'
refused dangling 'No such file' 'the link'

# A lying size is read as far as both know the table.
for f in size_huge size_cut size_half no_strings two_symbols good; do
  has "$f is loaded" "$(grep "^$f " <<<"$list")" ' loaded '
done

# ---- one session, every fault in turn ----------------------------------------
# None of these is refused when it is loaded: they fail later, again and again.
cat >"$dir/in" <<'EOF2'
:device none
:device none_said
:device none_unended
:device count_huge
:device props_fail
:device props_absurd:0
:device open_fails
:device open_says
:device open_nothing
:device query_crashes
:device query_exits
:device no_table
:device status_wild
tensor{1.0, 2.0} + 1
:device alloc_nothing
tensor{1.0, 2.0} + 1
:device alloc_fails
x = tensor{1.0, 2.0}
print(x + 1, x + 2, x + 3, x + 4)
:device compile_fails
tensor{1.0, 2.0} + 1
:reset
:device cpu
tensor{1.0, 2.0} + 1
print("still here")
EOF2
run script -qec "'$TSH' -q --no-history --no-init" /dev/null <"$dir/in"
out=$(tail -n +26 <<<"$out") # behind the echo of what was typed at once
has 'a session outlives them all' "$out" 'still here'
has 'and computes' "$out" 'f32[2] [2., 3.]'
has 'no device' "$out" 'plugin none has no device'
has 'why there is none' "$out" 'no driver: libfault.so.1 not found'
has 'a device that does not open' "$out" 'the device is in use by process 42'
has 'a query that crashes' "$out" 'its query crashed'
has 'a compiler that fails' "$out" 'the compiler of the device has no op 7'

# ---- where a plugin belongs --------------------------------------------------
unset TSH_PLUGIN_PATH
run "$TSH" plugins
has 'folders are listed' "$out" "$XDG_DATA_HOME/tsh/plugins  (not there yet)"
mkdir -p "$XDG_DATA_HOME/tsh/plugins"
cp "$faults/good.so" "$XDG_DATA_HOME/tsh/plugins/npu.so"
run "$TSH" plugins
has 'a file there is found' "$out" "$XDG_DATA_HOME/tsh/plugins/npu.so"
lacks 'nothing to help with' "$out" 'tsh doctor'
run "$TSH" --plugin-path /nonexistent plugins
has 'a folder that was named' "$out" 'No such file or directory'

# ---- what tsh-conform says of a file -----------------------------------------
conform=${TSH_CONFORM:-${TSH_BUILD-}/tests/conform/tsh-conform}
if [ -x "$conform" ]; then
  run "$conform" "$faults/two_symbols.so" --only load/symbols
  is 'a second symbol is found' "$rc" 1
  has 'and named' "$out" 'exports 2 symbols, tsh_plugin_quiet among them'
  run "$conform" "$faults/good.so" --only load/symbols
  is 'one symbol is right' "$rc" 0
fi

finish
