#!/bin/bash
# Data from other programs and to them: stdin, -I, -o, --format, tsh ls. What a
# file holds is compared with bytes made here or read back by Python.
set -u
# shellcheck source=tests/shell/_tests.sh
. "$(dirname "$0")/_tests.sh"
cd "$dir" || exit 1

# limit KIB of address space, but under ASan, which wants terabytes.
limit() {
  case ${TSH_BUILD-} in *asan*) ;; *) ulimit -v "$1" ;; esac
}

# npy NAME DESCR SHAPE BYTES: an npy file of version 1, with printf's escapes.
npy() {
  local head="{'descr': '$2', 'fortran_order': False, 'shape': $3, }"
  # shellcheck disable=SC2059 # the bytes are meant as a format
  {
    printf '\x93NUMPY\x01\x00\x76\x00'
    printf '%-117s\n' "$head"
    printf "$4"
  } >"$1"
}

# feed TEXT ARGUMENTS...: tsh with the text, in printf's escapes, from a pipe.
feed() {
  local text=$1
  shift
  # shellcheck disable=SC2059 # the text is meant as a format
  printf -- "$text" >input
  rc=0
  # shellcheck disable=SC2002 # a pipe is what is tested
  out=$(cat input | "$TSH" "$@" 2>err) || rc=$?
  err=$(cat err)
}

python=$(command -v python3 || true)
npy x.npy '<i4' '(2, 2)' '\x01\0\0\0\x02\0\0\0\x0a\0\0\0\xff\xff\xff\xff'

# ---- each format ----
run "$TSH" -p stdin <x.npy
gives 'npy from a file' 0 $'i32[2,2]\n[[ 1,  2],\n [10, -1]]'
# shellcheck disable=SC2002
out=$(cat x.npy | "$TSH" -p 'stdin:sum()')
is 'npy from a pipe' "$out" 'i64[] 12'
"$TSH" -p '{w=tensor{1,2}, deep={b=tensor{3}}}' -o m.npz
"$TSH" -p '{w=tensor{1,2}, deep={b=tensor{3}}}' -o m.safetensors
for kind in npz safetensors; do
  run "$TSH" -p stdin.w -p stdin.deep.b -p stdin_names <m.$kind
  gives "$kind" 0 $'i64[2] [1, 2]\ni64[1] [3]\nnil'
done
feed '\0\0\x08\x01\0\0\0\x02\x05\x06' -p stdin
gives 'idx' 0 'u8[2] [5, 6]'
feed 'price,qty\n1.5,2\n2.5,4\n' -p stdin -p stdin_names \
  -p 'stdin[{{}, stdin_names.qty}]'
gives 'csv with a header' 0 \
  $'f32[2,2]\n[[1.5000, 2.0000],\n [2.5000, 4.0000]]\n{"price", "qty"}\nf32[2] [2., 4.]'
feed 'price,qty\n1.5,2\n' -p 'stdin[{{}, stdin_names.prise}]'
refuses 'a column that is not there' 1 "read: no column 'prise' (price, qty)"
has 'was meant otherwise' "$err" "did you mean 'price'?"
printf 'price,qty\n1.5,2\n' >sales.csv
run "$TSH" -I t=sales.csv -p t_names.qty -p 't[{{}, t_names.qtty}]'
is 'the same of -I' "$rc/$out" 1/2
has 'with its guess' "$err" "did you mean 'qty'?"
feed '1\n2\n3\n' -p 'stdin:sum()' -p stdin_names
gives 'csv of one column' 0 $'i64[] 6\nnil'
run "$TSH" -p 'stdin:sum()' < <(seq 1000)
gives 'many lines' 0 'i64[] 500500'

feed 'id,v\n16777217,0.5\n' -p 'stdin:sum()' -p 'read'
is 'what f32 rounds is said' "$rc/$err" \
  '0/note: read: /dev/stdin: 16777217 in row 1, column 1 is rounded to f32; dtype="f64" keeps it'
feed 'hello\n' -p stdin
refuses 'a text' 1 'one line and no number in it'
feed '1,x\n2,3\n' -p 'read("/dev/stdin", {header = true})'
gives 'names with a number' 0 $'i64[1,2]\n[[2, 3]]\n{"1", "x"}'
feed '1,2\n' -p 'read("/dev/stdin", {dtype = "u8"})'
gives 'a dtype' 0 $'u8[1,2]\n[[1, 2]]'

# ---- JSON ----
feed '[1, 2, 3]' -p stdin
gives 'a list' 0 'i64[3] [1, 2, 3]'
feed '[[1,2],\n [3,4.5]]' -p stdin
gives 'lists of lists' 0 $'f32[2,2]\n[[1.0000, 2.0000],\n [3.0000, 4.5000]]'
feed '[1,2]\n[3,4]\n' -p stdin
gives 'a row on each line' 0 $'i64[2,2]\n[[1, 2],\n [3, 4]]'
feed '[1,2]\n' -p 'read("/dev/stdin", {format="jsonl"})'
gives 'one row, when told so' 0 $'i64[1,2]\n[[1, 2]]'
feed '4\n5\n' -p 'read("/dev/stdin", {format="jsonl"})'
gives 'numbers on lines' 0 'i64[2] [4, 5]'
feed '{"b":1,"a":2.5}\n{"a":3,"b":null}\n' -p stdin -p stdin_names \
  -p stdin_names.b
gives 'objects' 0 \
  $'f32[2,2]\n[[2.5000, 1.0000],\n [3.0000,    nan]]\n{"a", "b"}\n2'
feed '[{"b":1,"a":2}, {"a":3,"b":true}]' -p stdin
gives 'a list of objects' 0 $'i64[2,2]\n[[2, 1],\n [3, 1]]'
feed '{"\\u0061\\n": 1}' -p 'stdin_names[1] == "a\n"'
gives 'escapes in names' 0 true
feed '\n [[[1]], [[2]]]\n' -p 'stdin.shape'
gives 'three axes' 0 '[2,1,1]'
feed '[]' -p stdin
gives 'nothing in a list' 0 'i64[0] []'
feed '[NaN, -Infinity, 1e999]' -p stdin
gives 'what Python writes' 0 'f32[3] [ nan, -inf,  inf]'
feed '[9007199254740993]' -p stdin
gives 'whole numbers are exact' 0 'i64[1] [9007199254740993]'
feed '[0.1]' -p 'read("/dev/stdin", {dtype="f64"}):item()'
gives 'dtype=f64 is exact' 0 0.1
feed '[1,2]' -p 'read("/dev/stdin", {dtype="f16"})'
gives 'dtype' 0 'f16[2] [1., 2.]'

# broken TEXT PART
broken() {
  feed "$1" -p stdin
  refuses "json $1" 1 "$2"
}
broken '[1,2]\n[3,4]\n[5]\n' '/dev/stdin:3: 1 number, the first row has 2'
broken '[[1,2],[3]]' ':1: 1 number, the first row has 2'
broken '[[[1]],[[2],[3]]]' '2 lists, the first row has 1'
broken '[1]\n2\n' ':2: a number, where a list of them was before'
broken '[1]\n[[2]]\n' ':2: a list, where a number was before'
broken '{"a":1}\n{"b":1}\n' ":2: field 'b' is not in the first row"
broken '{"a":1,"b":2}\n\n{"b":1}\n' ":3: field 'a' is missing"
broken '{"a":1,"a":2}' "field 'a' is there twice"
broken '{"a":1}\n{"a":1,"a":2}' ":2: field 'a' is there twice"
broken '{"a":[1]}' "field 'a' is no number"
broken '{"a":"x"}' '"x" is a text, not a number'
broken '{}' 'an object without fields'
broken '{"a":1}\n[1]' 'a list, where an object was before'
broken '[1]\n{"a":1}' 'an object, where a list was before'
broken '[{"a":1}, 2]' 'a number, where a list of them was before'
broken '[1,2' "cut short, ']' is missing"
broken '[1,2,]' 'a number is missing here'
broken '[1,2] x' 'a number is missing here'
broken '[1 2]' "']' is missing"
broken '[[[[[[[[[[1]]]]]]]]]]' 'more nested lists than a tensor has axes'

# ---- what is no data ----
feed '' -p stdin
refuses 'an empty pipe' 1 'read: /dev/stdin: there is nothing in it'
has 'names the line' "$err" '1 | stdin'
run "$TSH" -p stdin </dev/null
refuses 'no input' 1 'there is nothing in it'
# shellcheck disable=SC2016 # by the inner shell
run bash -c '"$0" -p stdin <&-' "$TSH" </dev/null
refuses 'a closed one' 1 '/dev/stdin: it is closed'
feed '\x01\x02\xff\0\x03junk' -p stdin
refuses 'junk' 1 'what is in it is no npy, npz, safetensors, idx, csv or json'
cat x.npy x.npy >two
run "$TSH" -p stdin <two
refuses 'two files' 1 'its header says 16 bytes of elements, 160 follow'
head -c 130 x.npy >part
run "$TSH" -p stdin <part
refuses 'half a file' 1 'cut short'
feed '1,2\n[3,4]\n' -p stdin
refuses 'two formats' 1 '/dev/stdin:2:'
printf '1,2\n' | gzip >text.gz
run "$TSH" -p stdin <text.gz
refuses 'compressed text' 1 'compressed data, and no idx file in them; gunzip'
feed 'stdin\n'
refuses 'a session from stdin' 1 'standard input holds what runs, not data'
feed 'print(stdin)\n' run -
refuses 'a script from stdin' 1 'standard input holds what runs, not data'
feed '7\n' -p 1
gives 'not read when not used' 0 1
feed '1,2\n' -p 'stdin:sum() + stdin:sum()'
gives 'read once' 0 'i64[] 6'
feed '1,2\n' -e 'stdin = 5' -p stdin
gives 'a global of the user wins' 0 5
{
  read -r _
  run "$TSH" -p stdin
} <<<$'a title\n1,2'
gives 'what is left of a file' 0 $'i64[1,2]\n[[1, 2]]'
run "$TSH" -i -q -p 'stdin:sum()' <x.npy
gives 'the session behind it has no entries' 0 'i64[] 12'
run "$TSH" -e 'print(io.read("n", "l"))' -p 1 <<<'5 x'
is 'io.read goes on working' "$out" $'5\t x\n1'
if command -v script >/dev/null; then
  out=$(script -qec "$TSH -p stdin" /dev/null </dev/null) || rc=$?
  has 'a terminal' "$out" 'standard input is a terminal'
  out=$(script -qec "$TSH -p 1 --format npy" /dev/null </dev/null)
  has 'no bytes to a terminal' "$out" 'standard output is a terminal'
  out=$(script -qec "$TSH -p 1 --format csv" /dev/null </dev/null)
  is 'but text' "$out" $'1\r'
fi

# ---- Ctrl-C while it waits ----
mkfifo fifo
sleep 30 >fifo &
writer=$!
rc=0
if [ -n "$python" ]; then # which can undo that a shell ignores it for jobs
  "$python" -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$TSH" -p stdin <fifo 2>err &
  reader=$!
  sleep 1
  kill -INT $reader
  wait $reader || rc=$?
  is 'Ctrl-C' "$rc" 130
  has 'says so' "$(cat err)" 'interrupted'
fi
kill $writer

# ---- -I ----
printf 'u,v\n1,2\n' >t.csv
run "$TSH" -I x=x.npy --input t=t.csv -p x.shape -p 't_names[2]' -p 't[{1, 1}]'
gives '-I' 0 $'[2,2]\nv\ni64[] 1'
run "$TSH" -I m=m.npz -p m.deep.b
gives '-I of a table' 0 'i64[1] [3]'
run "$TSH" -p 'm.deep.b' -I m=m.npz
gives '-I after -p' 0 'i64[1] [3]'
run "$TSH" -p 1 -I m=none.npz
refuses '-I after -p, of no file' 1 'none.npz'
run "$TSH" -I x=- -p 'x:sum()' <x.npy
gives '-I of stdin' 0 'i64[] 12'
echo 'print(x:sum():item(), ...)' >s.lua
run "$TSH" -I x=x.npy run s.lua a
gives '-I for a script' 0 $'12\ta'
for bad in x =x.npy 1x=x.npy x= a.b=x.npy; do
  run "$TSH" -I "$bad" -p 1
  refuses "-I $bad" 2 "-I needs NAME=FILE, x=data.npy for example, not '$bad'"
done
run "$TSH" -I x=none.npy -p 1
refuses 'no such file' 1 'error: read: none.npy: No such file or directory'
lacks 'no line of the library' "$err" .lua

# ---- -o ----
run "$TSH" -p 3 -p 'tensor{1,2}' -o a.npy
gives '-o: only the last is not printed' 0 3
is 'npy' "$("$TSH" -p 'read("a.npy")')" 'i64[2] [1, 2]'
echo 'print("hi") return tensor{1.5, 2}' >r.lua
run "$TSH" -o r.csv run r.lua
gives 'a script prints' 0 hi
is 'and its value is written' "$(cat r.csv)" $'1.5\n2.0'
run "$TSH" -p '2^0.5' -o n.json
is 'a number' "$(cat n.json)" 1.4142135
run "$TSH" -p 'tensor{{1,0/0},{1/0,-1/0}}' --format json
gives 'json' 0 $'[[1,null],\n[1e999,-1e999]]'
run "$TSH" -p 'tensor{true,false}' -o - --format json
gives 'bool' 0 '[true,false]'
run "$TSH" -p '{mean=tensor{1,2}:mean(), n=3, t={tensor{1,2}, "x"}}' --format json
is 'a table in json' "$out" $'{\n  "mean": 1.5,\n  "n": 3,\n  "t": [[1, 2], "x"]\n}'
run "$TSH" -p 'stdin' --format csv <x.npy
gives 'csv' 0 $'1,2\n10,-1'
"$TSH" -p 'stdin' --format npy <x.npy >same.npy
is 'every byte' "$("$TSH" -p stdin <same.npy)" "$("$TSH" -p stdin <x.npy)"
head -c 4096 /dev/urandom >random
npy head '|u1' '(4096,)' ''
cat head random >random.npy
"$TSH" -p stdin -o - --format npy <random.npy | tail -c 4096 >copy
if cmp random copy; then pass; else fail 'random bytes'; fi
run "$TSH" -e 'print(1)' -p 'tensor{2}' --format csv
gives 'in order with what was printed' 0 $'1\n2'
"$TSH" -p 'zeros(2)' -o odd --format npy
is '--format beats the ending' "$("$TSH" ls odd | tail -1)" '1 tensor, 8 B'
for bad in "-o x.npy" "-e x=1 -o x.npy" "--format csv" "-o x.npy devices"; do
  # shellcheck disable=SC2086 # words
  run "$TSH" $bad
  refuses "nothing to write: $bad" 2 'needs a value: -p EXPR, or a script'
done
run "$TSH" -e 'print(1)' -p 1 -o x.foo
refuses 'an unknown ending, before all' 2 '-o x.foo: its ending says no format'
run "$TSH" -p 1 -o -
refuses 'no format' 2 '-o - needs --format'
run "$TSH" -p 1 --format xls
refuses 'a wrong format' 2 "--format takes npy, npz, safetensors, csv or json, not 'xls'"
echo 'x = 1' >none.lua
run "$TSH" -o x.npy run none.lua
refuses 'a script without value' 1 '-o: there is no value to write'
run "$TSH" -p 'error("x")' -o x.npy
is 'an error writes nothing' "$rc/$(ls x.npy.* .tsh-* 2>/dev/null)" 1/
run "$TSH" -p '"text"' -o x.npy
refuses 'no tensor' 1 'write: x.npy: .npy takes one tensor, got a string'
is 'the old file stays' "$("$TSH" -p 'read("x.npy"):sum()')" 'i64[] 12'
run "$TSH" -p 'tensor{1}' -o none/x.npy
refuses 'no such folder' 1 'No such file or directory'

# ---- closed pipes, full disks ----
echo 'for i = 1, 1000000 do print(i) end' >big.lua
# head COMMAND...: the first line, the statuses, what is on stderr.
first_line() {
  line=$("$@" 2>err | head -1; echo "${PIPESTATUS[0]}")
}
first_line "$TSH" run big.lua
is 'a script' "$line/$(cat err)" $'1\n141/'
first_line "$TSH" -p 'arange(1000000)' --format csv
is 'csv' "$line/$(cat err)" $'1\n141/'
first_line "$TSH" -p 'arange(1000000)'
is 'a tensor' "${line%%,*}/$(cat err)" 'i64[1000000] [      1/'
first_line "$TSH" ops --json
is 'ops' "${line%%$'\n'*}/$(cat err)" '[{/'
if [ -w /dev/full ]; then
  rc=0
  "$TSH" -p 'zeros(9)' --format npy >/dev/full 2>err || rc=$?
  is 'a full disk' "$rc/$(cat err)" \
    '1/error: write: /dev/stdout: No space left on device'
  rc=0
  "$TSH" -p '{a=1}' --format json >/dev/full 2>err || rc=$?
  is 'json' "$rc/$(cat err)" \
    '1/error: stdout could not be written: No space left on device'
  rc=0
  "$TSH" run big.lua >/dev/full 2>err || rc=$?
  is 'a script' "$rc/$(cat err)" '1/error: stdout could not be written'
fi

# ---- ls ----
run "$TSH" ls x.npy t.csv
gives 'ls' 0 'x.npy: npy
NAME  DTYPE  SHAPE  BYTES
-     i32    [2,2]     16
1 tensor, 16 B

t.csv: csv
NAME  DTYPE  SHAPE  BYTES
-     i64    [1,2]     16
columns: u, v
1 tensor, 16 B'
run "$TSH" ls - <m.npz
gives 'ls of stdin' 0 '-: npz
NAME    DTYPE  SHAPE  BYTES
deep.b  i64    [1]        8
w       i64    [2]       16
2 tensors, 24 B'
echo '{"weight_map": {"w": "m.safetensors"}}' >model.index.json
run "$TSH" ls model.index.json
has 'an index' "$out" 'w     i64    [2]       16  m.safetensors'
is 'only what it names' "${out##*$'\n'}" '1 tensor, 16 B'
echo '[[1.5,2]]' >v.json
run "$TSH" ls v.json
has 'json' "$out" 'f32    [1,2]'
run "$TSH" ls none x.npy
is 'one that is not there' "$rc" 1
has 'the others are shown' "$out" '1 tensor'
has 'and it is named' "$err" 'error: ls: none: No such file or directory'
has 'at the end' "$err" '1 of 2 files could not be read'
run "$TSH" ls none
is 'one file, one line' "$rc/$err" '1/error: ls: none: No such file or directory'
printf '1,2\n3,\351\0\n' >bytes.csv
run "$TSH" ls bytes.csv
is 'a broken file' "$rc/$err" \
  '1/error: ls: bytes.csv:2:3: field 2 is no number: "\xe9\x00"'
run "$TSH" ls
refuses 'no file' 2 'ls needs FILE'
run "$TSH" ls --long x.npy
refuses 'no such option' 2 "unknown option '--long'"
npy head '|u1' '(500000000,)' ''
cp head large.npy
truncate -s +500000000 large.npy
is 'the data are not read' \
  "$(limit 400000; "$TSH" ls large.npy | tail -1)" '1 tensor, 500 MB'
rm large.npy
if [ -n "$python" ]; then
  for word in ops devices plugins 'ls x.npy m.npz m.safetensors t.csv'; do
    # shellcheck disable=SC2086 # words
    if "$TSH" $word --json | "$python" -m json.tool >/dev/null; then
      pass
    else
      fail "$word --json"
    fi
  done
fi

# ---- 100 MB ----
npy head '<f4' '(25000000,)' ''
{
  cat head
  head -c 100000000 /dev/zero
} >large.npy
# The bytes of the pipe and the tensor, and 100 MB for all else.
# shellcheck disable=SC2002
out=$(cat large.npy | (
  limit 800000
  timeout 60 "$TSH" --threads 1 -p 'stdin:sum()' -p stdin.shape
))
is '100 MB' "$out" $'f32[] 0\n[25000000]'

finish
