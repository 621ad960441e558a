#!/bin/bash
# What `make install` puts somewhere works from there and from where it is moved
# to, with nothing of the source tree: a plugin is written by docs/PLUGIN.md, all
# of whose commands are run, and what they print is what stands there.
set -u
# shellcheck source=tests/shell/_tests.sh
. "$(dirname "$0")/_tests.sh"
if [ ! -f "${TSH_BUILD-}/Makefile" ]; then
  echo 'note: no build folder, nothing to install'
  finish
  exit
fi
case $TSH_BUILD in
*asan* | *coverage*) # the same files, and a slow tsh-conform
  echo 'note: a build that is not for users'
  pass
  finish
  exit
  ;;
esac
unset MAKEFLAGS MAKELEVEL DESTDIR

prefix=$(sed -n 's/^prefix = //p' "$TSH_BUILD/Makefile")
make -C "$TSH_BUILD" -s install DESTDIR="$dir/stage" >"$dir/log" 2>&1
is 'make install' $? 0
for f in bin/tsh bin/tsh-conform include/tsh/tsh_plugin.h lib/pkgconfig/tsh.pc \
  share/man/man1/tsh.1 share/bash-completion/completions/tsh \
  share/zsh/site-functions/_tsh share/fish/vendor_completions.d/tsh.fish \
  share/tsh/plugin/kit/kit.h share/tsh/plugin/template/Makefile \
  share/tsh/examples/data/digits.csv share/doc/tsh/PLUGIN.md; do
  if [ -s "$dir/stage$prefix/$f" ]; then pass; else fail "$f is installed"; fi
done
is 'nothing names the build' \
  "$(cd "$dir/stage" && grep -rlI -e "$TSH_BUILD" -e "$dir" . | head -3)" ''

# ---- elsewhere ---------------------------------------------------------------
moved=$dir/moved
mkdir "$moved"
cp -r "$dir/stage$prefix/." "$moved"
export PATH=$moved/bin:$PATH PKG_CONFIG_PATH=$moved/lib/pkgconfig
unset CC PLUGINS NAME
export CFLAGS=-O0 # what is tested is the way, not the code
# pc NAME: a variable of tsh.pc, as a plain path.
pc() { realpath -m "$(pkg-config --variable="$1" tsh)"; }
is 'plugindir' "$(pc plugindir)" "$moved/lib/tsh/plugins"
is 'includedir' "$(pc includedir)" "$moved/include"
is 'kitdir' "$(pc kitdir)" "$moved/share/tsh/plugin/kit"
is 'conform' "$(pc conform)" "$moved/bin/tsh-conform"
is 'abi' "$(pkg-config --variable=abi tsh)" \
  "$(sed -n 's/^#define TSH_ABI_M[A-Z]* //p' \
    "$moved/include/tsh/tsh_plugin.h" | paste -sd.)"
if [ -d "$moved/lib/tsh/plugins" ]; then pass; else fail 'plugindir is there'; fi
run tsh "$moved/share/tsh/examples/xor.lua"
is 'an example runs there' "$rc" 0
if command -v man >/dev/null; then
  run man -l --warnings=all "$moved/share/man/man1/tsh.1"
  gives 'the manual has no fault' 0 "$out"
fi
run tsh plugin test nosuch.so
is 'tsh finds tsh-conform beside itself' "$rc" "$(
  tsh-conform nosuch.so >/dev/null 2>&1
  echo $?
)"
has 'and that says what is wrong' "$err" 'tsh-conform: '
run bash -n "$moved/share/bash-completion/completions/tsh"
gives 'completion for bash' 0 ''

# ---- docs/PLUGIN.md ----------------------------------------------------------
# Blocks of commands run one after another in one shell; N.want is the block of
# text behind N.sh, with `...` for anything.
mkdir "$dir/doc" "$dir/work"
awk -v at="$dir/doc/" '
  /^```sh$/ { n++; to = at n ".sh"; next }
  /^```text$/ { to = at n ".want"; next }
  /^```$/ { to = ""; next }
  to { print > to }' "$moved/share/doc/tsh/PLUGIN.md"
cat >"$dir/doc/all" <<EOF2
set -e
cd '$dir/work'
for n in \$(cd '$dir/doc' && printf '%s\n' *.sh | sort -n); do
  . '$dir/doc/'\$n >'$dir/doc/'\${n%.sh}.got 2>&1
done
EOF2
run bash "$dir/doc/all"
is 'the commands of PLUGIN.md' "$rc $err" '0 '
for want in "$dir/doc"/*.want; do
  text=$(cat "${want%want}got")
  pattern=$(sed 's/[][*?\\]/\\&/g; s/\.\.\./*/g' "$want")
  # shellcheck disable=SC2053 # it is meant as a pattern
  if [[ $text == $pattern ]]; then
    pass
  else
    fail "PLUGIN.md, ${want##*/}: $(head -1 "${want%want}sh")" "got:  $text" \
      "want: $(cat "$want")"
  fi
done

# ---- for all users -----------------------------------------------------------
unset TSH_PLUGIN_PATH
mv "$XDG_DATA_HOME/tsh/plugins/npu.so" "$(pc plugindir)/npu2.so"
run tsh -d npu2 -p 'tensor{1.0} + 1'
gives 'a plugin in plugindir is found' 0 'f32[1] @npu2:0 [2.]'

# ---- and away ----------------------------------------------------------------
make -C "$TSH_BUILD" -s uninstall DESTDIR="$dir/stage" >"$dir/log" 2>&1
is 'make uninstall' $? 0
is 'leaves no file' "$(find "$dir/stage" ! -type d)" ''
is 'and no folder of ours' "$(find "$dir/stage$prefix" -name 'tsh*')" ''

finish
