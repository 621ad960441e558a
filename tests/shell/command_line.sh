#!/bin/bash
# The command line: options, subcommands, exit codes, where text goes.
set -u
# shellcheck source=tests/shell/_tests.sh
. "$(dirname "$0")/_tests.sh"
cd "$dir" || exit 1

# ---- running and printing ----
run "$TSH" -e ''
gives 'nothing to do' 0 ''
run "$TSH" -p '1+1'
gives '-p prints' 0 2
run "$TSH" -p '1, nil, 3'
gives '-p keeps nil between values' 0 '1  nil  3'
run "$TSH" -p nil
gives '-p prints a lone nil' 0 nil
run "$TSH" -e 'x = 2' -p x -e 'x = x * 2' -p 'x, x'
gives '-e and -p in order' 0 $'2\n4  4'
run "$TSH" -p '1;'
gives 'a semicolon mutes' 0 ''
run "$TSH" -p '0/0'
gives 'nan has no sign' 0 nan
run "$TSH" -e 'print(0/0, -(0/0), 1/0)'
gives 'print of nan has no sign' 0 $'nan\tnan\tinf'
run "$TSH" -p 'softmax(tensor{1,2,-1,-1.5})'
gives 'softmax' 0 'f32[4] [0.2541, 0.6907, 0.0344, 0.0209]'
run "$TSH" -p 'tensor{1,2,3}, tensor{0/0}'
gives 'two tensors in a line' 0 'i64[3] [1, 2, 3]  f32[1] [nan]'
run "$TSH" -qp 1
gives 'letters may stand together' 0 1
run "$TSH" -p1
gives 'an argument may stick to its letter' 0 1
echo 'return {four = 4}' >m.lua
run "$TSH" -l m -p m.four
gives '-l requires' 0 4
run "$TSH" -l nosuchmodule -e 'print(1)'
refuses '-l of no module' 1 "module 'nosuchmodule' not found"
run "$TSH" --seed 7 -p 'rand(3)'
first=$out
run "$TSH" --seed 7 -p 'rand(3)'
gives '--seed repeats' 0 "$first"
run "$TSH" --seed 8 -p 'rand(3)'
lacks 'another --seed differs' "$out" "$first"

# ---- threads ----
# tasks CODE [OPTIONS]: what the code prints, then the threads of the process.
tasks() {
  run "$TSH" "${@:2}" -e "$1" -e 'local n = 0
    for line in io.popen("ls /proc/" .. io.open("/proc/self/stat"):read("n") ..
                         "/task"):lines() do n = n + 1 end
    print(n)'
}
work='for i = 1, 200 do local x = (ones(1 << 20) + 1):sum():item() end'
tasks '' --threads 4
gives 'no thread is started for nothing' 0 1
tasks 'print((ones(1000) + 1):sum():item())' --threads 4
gives 'nor for little' 0 $'2000.0\n1'
tasks "$work" --threads 1
gives '--threads 1 starts none' 0 1
tasks "$work" --threads 3
gives '--threads 3 starts two' 0 3
TSH_THREADS=4 tasks "$work"
gives 'TSH_THREADS' 0 4
TSH_THREADS=4 tasks "$work" --threads=2
gives '--threads comes first' 0 2

# ---- scripts ----
cat >args.lua <<'END'
#!/usr/bin/env tsh
print(arg[0], arg[1], select("#", ...), ...)
END
run "$TSH" run args.lua a -e --help
gives 'run with arguments' 0 $'args.lua\ta\t3\ta\t-e\t--help'
run "$TSH" args.lua b
gives 'a file without run' 0 $'args.lua\tb\t1\tb'
run "$TSH" -- args.lua b
gives 'a file after --' 0 $'args.lua\tb\t1\tb'
run "$TSH" run - x < <(printf '#!tsh\nprint(arg[0], ...)\n')
gives 'run from stdin' 0 $'-\tx'
run "$TSH" - < <(echo 'print(1)')
gives '- alone' 0 1
echo '1+1' >expression.lua
run "$TSH" run expression.lua
refuses 'a script prints nothing by itself' 1 'expression.lua:1: error: '
echo 'os.exit(7)' >exit.lua
run "$TSH" run exit.lua
gives 'os.exit' 7 ''
echo 'io.stdout:write("x") os.exit(true, true)' >exit.lua
run "$TSH" run exit.lua
gives 'os.exit closes the state' 0 x

# ---- exit codes ----
run "$TSH" -e 'error("bad thing")'
refuses 'error in -e' 1 '-e:1: error: bad thing'
run "$TSH" -e 'x = = 1'
refuses 'syntax error in -e' 1 "-e:1: error: unexpected symbol near '='"
run "$TSH" -e 'error("x")' -p 1
refuses 'the first error ends it' 1 'error: x'
run "$TSH" --nosuch
refuses 'unknown option' 2 "unknown option '--nosuch'"
is 'a usage error has two lines' "$(echo "$err" | wc -l)" 2
run "$TSH" --no-plugin
refuses 'near option' 2 'did you mean --no-plugins?'
run "$TSH" -x
refuses 'unknown letter' 2 "unknown option '-x'"
run "$TSH" -e
refuses 'missing argument' 2 '-e needs CODE'
run "$TSH" --quiet=1
refuses 'needless value' 2 '--quiet takes no value'
run "$TSH" --seed x
refuses 'bad seed' 2 "not 'x'"
run "$TSH" --seed 99999999999999999999
refuses 'a seed that is too large' 2 'below 2^63'
for n in 0 -1 257 2x ''; do
  run "$TSH" --threads "$n" -p 1
  refuses "--threads '$n'" 2 "--threads needs a number from 1 to 256, not '$n'"
done
TSH_THREADS=two run "$TSH" -p 1
refuses 'TSH_THREADS that is no number' 2 "TSH_THREADS needs a number"
run "$TSH" run
refuses 'run what?' 2 'run needs FILE'
run "$TSH" run no.lua
refuses 'no script' 2 'cannot open no.lua'
run "$TSH" run .
refuses 'a folder is no script' 2 'cannot run .: it is a folder'
run "$TSH" devcies
refuses 'near subcommand' 2 'did you mean devices?'
run "$TSH" devices x
refuses 'argument too many' 2 "what is 'x' for?"
has 'and what helps' "$err" $'\n  hint: tsh help devices'
run "$TSH" ls
refuses 'ls what?' 2 $'ls needs FILE, one or more\n  hint: tsh help ls'
run "$TSH" -d nope -e ''
refuses 'no such device' 3 "nope"
TSH_DEVICE=nope run "$TSH" -e ''
refuses 'no such device in TSH_DEVICE' 3 "nope"
TSH_DEVICE=nope run "$TSH" -d cpu -p 1
gives 'an option beats the environment' 0 1
export ASAN_OPTIONS=${ASAN_OPTIONS-}:allocator_may_return_null=1
run "$TSH" -e 'zeros(1 << 20, 1 << 20):repr()'
refuses 'out of memory' 4 'not enough memory'
run "$TSH" -e 'pcall(zeros(1 << 20, 1 << 20).repr) print(1)'
gives 'out of memory, caught' 0 1
run "$TSH" -e 'x = zeros(1 << 20, 1 << 20) + 1 print(x.shape)'
gives 'what nobody asks for takes no memory' 0 '[1048576,1048576]'
run "$TSH" -e 'x = matmul(ones(1 << 20, 1), ones(1, 1 << 20)) x = matmul(x, x)
  print(x)'
refuses 'a tensor too large for the device' 4 'out of memory'

# ---- the rest of the table of exit codes ----
run "$TSH" -e ':'
is 'a colon is no Lua' "$rc" 1
run "$TSH" <<<':quit'
gives ':quit' 0 ''
"$TSH" -e 'while true do end' 2>err &
sleep 0.5
kill -INT $!
wait $! # set -m is off: SIGINT is ignored in a job, but we catch it
is 'an interrupted script' $? 130
has 'says so' "$(cat err)" interrupted
printf '\177ELF\2\1\1' >program
run "$TSH" run program
refuses 'a program is no script' 2 \
  'cannot run program: it is a program or library (ELF), and no Lua script'
run "$TSH" program
refuses 'nor without run' 2 'a program or library (ELF)'
run "$TSH" -e 'write("a.npy", ones(3)) write("a.npz", {x = ones(3)})
  write("a.safetensors", {x = ones(3)})'
for f in a.npy a.npz a.safetensors; do
  run "$TSH" run $f
  refuses "$f is no script" 2 "cannot run $f: it is "
  has "$f can be read" "$err" 'hint: tsh -I x=FILE'
done
printf 'x = 1\0' >bytes
run "$TSH" run bytes
refuses 'bytes are no script' 2 'bytes that are no text'
run "$TSH" <<<':load program'
refuses ':load says so too' 1 'load: program: it is a program'
run "$TSH" -e 'io.open("c.lua", "wb"):write(string.dump(load("print(7)")))'
run "$TSH" c.lua
gives 'compiled Lua is a script' 0 7
run "$TSH" zebra
refuses 'neither a script nor a word' 2 \
  "no script and no command is called 'zebra'"
is 'in two lines' "$(echo "$err" | wc -l)" 2

# ---- the limit of memory ----
run "$TSH" --mem-limit 64M -p 'ones(1 << 25):sort():sum()'
refuses 'over the limit' 4 \
  'out of memory on cpu: need '
has 'which is named' "$err" 'of the limit of 64 MiB are in use'
TSH_MEM_LIMIT=64M run "$TSH" -p 'ones(1 << 25):sort():sum()'
refuses 'TSH_MEM_LIMIT' 4 'of the limit of 64 MiB'
TSH_MEM_LIMIT=64M run "$TSH" --mem-limit 1G -p 'ones(1 << 25):sort():sum()'
gives '--mem-limit comes first' 0 'f32[] 33554432'
run "$TSH" --mem-limit 64M -p '(pcall(function()
  return ones(1 << 25):sort():sum():item() end)), ones(3):sum():item()'
gives 'an error like others: the next value is computed' 0 'false  3.0'
run "$TSH" --mem-limit 20MB -e 'local x = ones(1 << 20)
  for i = 1, 200 do x = x + 1; x:sum():item() end
  print(x[1]:item(), tsh.counters().bytes_allocated > 8e8)'
gives 'what died makes room' 0 $'201.0\ttrue'
for size in 64 64k 64KiB 0.5G 3GB 2T 100B; do
  run "$TSH" --mem-limit $size -p 1
  gives "--mem-limit $size" 0 1
done
run "$TSH" --mem-limit 64k -p 'tsh.mem().devices[1].limit'
gives 'k is 1024' 0 65536
run "$TSH" --mem-limit 64kB -p 'tsh.mem().devices[1].limit'
gives 'kB is 1000' 0 64000
for size in 0 -1 x 5X 1e3x 0x10 '' nan 1GiBs; do
  run "$TSH" --mem-limit "$size" -p 1
  refuses "--mem-limit '$size'" 2 \
    "--mem-limit needs a size, 512M or 2G for example, not '$size'"
done
TSH_MEM_LIMIT=much run "$TSH" -p 1
refuses 'TSH_MEM_LIMIT that is none' 2 'TSH_MEM_LIMIT needs a size'
for words in --help --version 'check --help'; do
  # shellcheck disable=SC2086 # words
  TSH_MEM_LIMIT=much TSH_THREADS=many run "$TSH" $words
  is "but tsh $words comes" "$rc/$err" 0/
done
run "$TSH" --mem-limit 4000000 -e 'x = ones(1000, 1000) x:sum():item()'
has 'sizes that look alike have all digits' "$err" \
  'need 4000000 B, 64 B of the limit of 4000000 B'
run "$TSH" --mem-limit 64M <<<':mem'
has ':mem shows it' "$out" '67 MB (limit)'

# ---- colour ----
# faint NAME YES OPTIONS...: is the line below a shortened tensor faint?
faint() {
  local want=$2
  run "$TSH" "${@:3}" -p 'zeros(100, 100)'
  is "$1" "$(grep -c $'\e\\[2m' <<<"$out")" "$want"
}
faint 'no colour into a file' 0
faint '--color always' 1 --color always
faint '--color never' 0 --color=never
faint '--color auto' 0 --color auto
CLICOLOR_FORCE=1 faint 'CLICOLOR_FORCE' 1
CLICOLOR_FORCE=0 faint 'CLICOLOR_FORCE=0' 0
CLICOLOR_FORCE=1 NO_COLOR=1 faint 'NO_COLOR beats it' 0
CLICOLOR_FORCE=1 faint 'an option beats the environment' 0 --color never
NO_COLOR=1 faint 'both ways' 1 --color always
run "$TSH" --color sometimes
refuses '--color of no kind' 2 "not 'sometimes'"

# ---- the log ----
run "$TSH" -v -p 'ones(3) + 1'
is '-v: the value' "$rc/$out" '0/f32[3] [2., 2., 2.]'
has '-v: where plugins may be' "$err" 's: looked for plugins in '
has '-v: the device' "$err" 's: device cpu: '
has '-v: what was run' "$err" '1 plans made'
run "$TSH" -v -e 'local function f() matmul(ones(2, 3), ones(2, 3)) end f()'
has '-v: the stack of an error' "$err" $'stack traceback:\n  \t[C]: in function '
has '-v: its status' "$err" 'status: TSH_EINVAL'
run "$TSH" -e 'matmul(ones(2, 3), ones(2, 3))'
lacks 'no stack without' "$err" traceback
TSH_LOG=$dir/log run "$TSH" -p 1
gives 'TSH_LOG' 0 1
has 'TSH_LOG is written' "$(cat log)" ' 0 kernels run'
TSH_LOG=stderr run "$TSH" -e 'print(ones(3)) os.exit(7)'
has 'os.exit loses nothing of it' "$rc $err" ' 1 kernels run'
TSH_LOG=stderr run "$TSH" -p 1
has 'TSH_LOG=stderr' "$err" ' 0 kernels run'
TSH_LOG=/nonexistent/log run "$TSH" -p 1
is 'a log that cannot be' "$rc/$out" 0/1
has 'is told' "$err" 'note: no log is written: /nonexistent/log: '

# ---- lists for programs ----
for word in devices plugins ops doctor; do
  run "$TSH" --json $word
  before=$out
  is "--json $word" "$rc" 0
  run "$TSH" $word --json
  is "$word --json" "$out" "$before"
  echo "$out" >list.json
  run "$TSH" -e 'local t = require("tsh.json").json
    t.decode(io.open("list.json"):read("a"))'
  is "$word: it is JSON" "$rc" 0
done
run "$TSH" --json ls a.npz
has '--json ls' "$out" '"name": "x"'
run "$TSH" --json -p 1
refuses '--json of no list' 2 '--json belongs to a word that prints a list'

# ---- the conformance kit ----
run "$TSH" plugin
refuses 'plugin what?' 2 'plugin needs: test FILE.so'
run "$TSH" plugin tset x.so
refuses 'plugin tset' 2 'plugin needs: test FILE.so, not tset'
run "$TSH" plugin test
refuses 'plugin test what?' 2 'plugin test needs FILE.so'
mkdir alone
cp "$TSH" alone/tsh
run env PATH="$dir/alone" alone/tsh plugin test x.so
refuses 'no kit' 3 'cannot run tsh-conform: '
has 'where it was looked for' "$err" "$dir/alone/tsh-conform"
# shellcheck disable=SC2016 # the kit's, not ours
printf '#!/bin/sh\necho "$@"\nexit 5\n' >alone/tsh-conform
chmod +x alone/tsh-conform
run alone/tsh plugin test x.so --only map
gives 'the one beside tsh, with its status' 5 'x.so --only map'
rm alone/tsh-conform
if [ -e "${TSH_CONFORM-}" ] && [ -e "${TSH_BUILD-}/plugins/example/.libs" ]; then
  PATH=$(dirname "$TSH_CONFORM"):$PATH run alone/tsh plugin test \
    "$TSH_BUILD/plugins/example/.libs/example.so" --only table
  is 'the one in the PATH' "$rc" 0
fi

# ---- what comes first ----
# An option, the environment, the init file.
echo 'mark = "named"' >named.lua
echo 'mark = "variable"' >variable.lua
mkdir -p conf/tsh
echo 'mark = "usual"' >conf/tsh/init.lua
if command -v script >/dev/null; then
  # started OPTIONS...: what the init file has left
  started() {
    printf 'print("<" .. tostring(mark) .. ">")\n' |
      XDG_CONFIG_HOME=$dir/conf TERM=dumb \
        script -qec "$TSH -q --no-history $*" /dev/null | tr -d '\r' |
      grep -o '<[a-z0-9:]*>'
  }
  is 'the usual init file' "$(started)" '<usual>'
  is 'TSH_INIT' "$(TSH_INIT=$dir/variable.lua started)" '<variable>'
  is '--init' "$(TSH_INIT=$dir/variable.lua started --init named.lua)" '<named>'
  is '--no-init' "$(TSH_INIT=$dir/variable.lua started --no-init)" '<nil>'
  if [ -e "${TSH_BUILD-}/plugins/example/.libs/example.so" ]; then
    echo 'tsh.device("example") mark = tsh.device()' >named.lua
    echo 'mark = tsh.device()' >>named.lua
    plugins="--plugin-path $TSH_BUILD/plugins/example/.libs --init named.lua"
    printf 'print("<" .. tsh.device() .. ">")\n' >line
    device() {
      TERM=dumb script -qec "$TSH -q --no-history $plugins $*" /dev/null <line |
        tr -d '\r' | grep -o '<[a-z0-9:]*>'
    }
    is 'the init file chooses a device' "$(device)" '<example:0>'
    is 'TSH_DEVICE comes before it' "$(TSH_DEVICE=cpu device)" '<cpu>'
    is 'and so does -d' "$(device -d cpu)" '<cpu>'
  fi
fi

# ---- help ----
run "$TSH" --help
has 'help lists options' "$out" '--plugin-path DIR'
is 'help succeeds' "$rc" 0
run "$TSH" help
has 'help lists words' "$out" 'tsh [OPTIONS] [run] FILE [ARGS]'
run "$TSH" --version
has 'version' "$out" 'tsh 0.'
has 'version of Lua' "$out" 'Lua 5.4'
editor=$("$TSH" doctor 2>/dev/null | grep '^editing')
if [[ $editor = *readline* ]]; then
  is 'licence of a build with readline' "$(sed -n 2p <<<"$out")" \
    'this binary is linked with GNU readline and is distributed under GPL-3.0-or-later'
else
  is 'one line without readline' "$(wc -l <<<"$out")" 1
fi
run "$TSH" help matmul
has 'help on a function' "$out" 'matmul('
run "$TSH" help plan
has 'help on a command' "$out" ':plan [--run'
for word in run devices plugins ls ops doctor plugin completions help; do
  run "$TSH" help $word
  is "help $word" "$rc" 0
  is "help $word: its form" "$(head -1 <<<"$out" | cut -d' ' -f-2)" "tsh $word"
  if [ $word != run ] && [ $word != help ]; then
    before=$(head -3 <<<"$out")
    run "$TSH" $word --help
    is "$word --help" "$(head -3 <<<"$out")" "$before"
  fi
done
run "$TSH" help devices
has 'what else has that name' "$out" ':devices'
run "$TSH" help nosuchthing
refuses 'help on nothing' 1 "no help on 'nosuchthing'"

# ---- devices and plugins ----
run "$TSH" devices
has 'the cpu is listed' "$out" '* cpu'
is 'devices succeeds' "$rc" 0
mkdir plugins
echo junk >plugins/junk.so
: >plugins/empty.so
run "$TSH" --plugin-path plugins plugins
has 'a junk file is refused' "$out" 'junk.so'
has 'an empty file is refused' "$out" 'empty.so'
has 'why' "$out" 'refused'
run "$TSH" --plugin-path plugins --no-plugins plugins
lacks '--no-plugins finds none' "$out" 'junk.so'
run "$TSH" --plugin-path plugins -p '1+1'
gives 'junk costs nothing' 0 2
run "$TSH" --plugin-path plugins -d junk:0 -e ''
refuses 'junk as a device' 3 'junk'
run "$TSH" --plugin-path nosuchfolder -p 1
gives 'a folder that is not there' 0 1

example=${TSH_BUILD-}/plugins/example/.libs
if [ -e "$example/example.so" ]; then
  run "$TSH" --plugin-path "$example" -d example -p 'tensor{1, 2} + 1'
  gives 'another default device' 0 'i64[2] @example:0 [2, 3]'
  run "$TSH" --plugin-path "$example" --mem-limit 1M -d example \
    -p 'ones(1 << 20):sum()'
  gives 'the limit is that of the cpu' 0 'f32[] @example:0 1048576'
  run env TSH_PLUGIN_PATH="$example" TSH_DEVICE=example:0 "$TSH" devices
  has 'it is marked' "$out" '* example:0'
  run "$TSH" --plugin-path "$example" \
    -p 'load("return " .. tensor({1.5}, {device="example"}):repr())().device'
  gives 'repr names the device' 0 'example:0'
fi

# B131: drivers that are empty, text or missing never cost the shell anything.
mkdir lib
: >lib/libcuda.so.1
echo junk >lib/libvulkan.so.1
ln -s /nonexistent lib/libnvrtc.so
run env LD_LIBRARY_PATH="$dir/lib" "$TSH" -p '1+1'
gives 'B131: print' 0 2
run env LD_LIBRARY_PATH="$dir/lib" "$TSH" devices
is 'B131: devices' "$rc" 0
run env LD_LIBRARY_PATH="$dir/lib" "$TSH" -d cuda:0 -e ''
refuses 'B131: absent device' 3 'cuda'

# ---- the time to start ----
# Processor time of 20 starts, in milliseconds.
starts() {
  local TIMEFORMAT='%3U %3S'
  { time for _ in {1..20}; do "$1" -e ''; done; } 2>&1 |
    awk '{ printf "%d\n", ($1 + $2) * 1000 }'
}
lua=$(command -v lua5.4 || command -v lua)
case ${TSH_BUILD-} in
*asan* | *coverage*) lua= ;;
esac
if [ -n "$lua" ]; then
  for _ in 1 2 3; do
    bare=$(starts "$lua") ours=$(starts "$TSH")
    if [ "$ours" -le $((8 * bare)) ]; then break; fi
  done
  if [ "$ours" -le $((8 * bare)) ]; then pass; else
    fail 'a start costs little' "20 starts: $ours ms, $lua: $bare ms"
  fi
fi

# ---- output that is lost ----
if [ -w /dev/full ]; then
  for code in 'print(1)' 'io.write(1)' 'for i = 1, 1e5 do print(i) end' \
    'print(1) os.exit(0)'; do
    rc=0
    err=$("$TSH" -e "$code" 2>&1 >/dev/full) || rc=$?
    is "status of a full disk: $code" "$rc" 1
    has "message of a full disk: $code" "$err" 'stdout could not be written'
  done
  "$TSH" --version >/dev/full 2>&1
  is 'version to a full disk' $? 1
  for word in devices plugins 'ls a.npz' ops doctor 'completions bash' help \
    'help ops' 'devices --json' 'run full.lua' --help; do
    echo 'print(1)' >full.lua
    rc=0
    # shellcheck disable=SC2086 # words
    err=$("$TSH" $word 2>&1 >/dev/full) || rc=$?
    is "status of a full disk: $word" "$rc" 1
    has "message of a full disk: $word" "$err" 'stdout could not be written'
  done
  rc=0
  err=$("$TSH" <<<'1' 2>&1 >/dev/full) || rc=$?
  is 'a session to a full disk' "$rc" 1
fi
echo 'for i = 1, 1e6 do print(i) end' >big.lua
err=$({ "$TSH" run big.lua; echo "status $?" >&2; } 2>&1 >/dev/null | head -1)
is 'a reader that stays' "$err" 'status 0'
err=$({ { "$TSH" run big.lua || echo "status $?" >&2; } | head -1 >/dev/null; } 2>&1)
is 'a reader that leaves' "$err" 'status 141'
err=$({ { (trap '' PIPE; exec "$TSH" run big.lua) || echo "status $?" >&2; } |
  head -1 >/dev/null; } 2>&1)
is 'a reader that leaves, signal ignored before' "$err" 'status 141'

# ---- names that nobody defined ------------------------------------------------
run "$TSH" -e 'softmx(ones(2))'
has 'a misspelt function' "$err" "hint: did you mean 'softmax'?"
run "$TSH" -e 'nn.linear(1, 1) nn.liner(2, 3)'
has 'a misspelt field' "$err" "hint: did you mean 'nn.linear'?"
run "$TSH" -e 'concatenate({})'
has 'a name of other languages' "$err" 'hint: here it is cat'
run "$TSH" -e 'zzzzzzzz()'
lacks 'no guess is better than a wild one' "$err" hint

finish
