#!/bin/bash
# A session whose stdin is no terminal: quiet, prints values, stops at the
# first error.
set -u
# shellcheck source=tests/shell/_tests.sh
. "$(dirname "$0")/_tests.sh"
cd "$dir" || exit 1

# session TEXT: printf's escapes work.
session() {
  # shellcheck disable=SC2059 # the text is meant as a format
  printf -- "$1" >input
  run "$TSH" <input
}

session '1+1\n_*5\nx=3\nx;\n1,nil,3\nx\n'
gives 'values' 0 $'2\n10\n1  nil  3\n3'
session '1+1\nerror("x")\n2\n'
is 'stops at the first error' "$rc/$out" '1/2'
has 'names the entry' "$err" 'error: x'
has 'shows the line' "$err" 'in[2]:1: error("x")'
lacks 'no escapes in stdout' "$out" $'\e'
lacks 'no escapes in stderr' "$err" $'\e'
session 'x=1\0y=2\n7\n'
is 'a zero byte is an error, nothing is cut there' "$rc/$out" '1/'
has 'and says so' "$err" 'zero byte'
run "$TSH" <"$dir"
is 'a folder is no input' "$rc" 1
has 'and it says why' "$err" 'error: Is a directory'
session ''
gives 'no input' 0 ''
session '\n\n   \n'
gives 'empty lines' 0 ''
session '-- only a comment\n'
gives 'a comment' 0 ''

# ---- entries of several lines ----
session 'for i = 1, 2 do\nprint(i)\nend\n7\n'
gives 'a block' 0 $'1\n2\n7'
session 'x = 1 +\n2\nx\n'
gives 'an unfinished expression' 0 3
session 's = [[a\nb]]\ns\n'
gives 'a long string' 0 $'a\nb'
session 'print("abc\n'
refuses 'an unfinished string is an error at once' 1 'unfinished string'
session 'if true then\nx = 1\n'
is 'the end inside an entry' "$rc" 1
has 'is a syntax error' "$err" "near <eof>"
session 'function f()\n\n\n\nreturn 1\nend\nf()\n'
gives 'empty lines inside a function' 0 1
session 'x = 4 y = 5\nx, y\n'
gives 'two statements' 0 '4  5'
session '1+1'
gives 'no newline at the end' 0 2
session 'x = 1\r\nx\r\n'
gives 'lines that end in CR LF' 0 1
session 'x = 1; x\na, b = 1, 2; a + b; \nlocal c = 5; c * 2\nf = math.abs; f(-3), 4\n_\n'
gives 'the last expression of an entry' 0 $'1\n10\n3  4\n3'
session 's = "a; b" -- x; y\nx = "--"; x\nfor i = 1, 2 do s = i; f = s end\ns\nx = 1; -- end\n'
gives 'a ; in a string, a comment, a block' 0 $'--\n2'
session 'x = 1; x =\n5\nx\n'
gives 'what is behind a ; goes on' 0 5
session 'if x then\n pass\nend\n'
refuses 'the message of the statement' 1 "syntax error near 'end'"
session 'x = 1; x +* 2\n'
refuses 'and is wrong' 1 "near '+'"
session 'y = 1; matmul(ones(2, 3), ones(2, 3))\n'
has 'and fails at its place' "$err" $'matmul(ones(2, 3), ones(2, 3))\n                  ^'
session 'zeros(2, f64).dtype, tensor({1}, {dtype = bool}).dtype\n:time for i = 1, 2 do x = i end\nx\n'
has 'a dtype by its bare name' "$out" 'f64  bool'
has ':time of statements' "$out" 'wall '
session 'bool(tensor{1})\n'
refuses 'a dtype is no function' 1 'x:bool()'
session 'rand(3) > 1.7\n'
refuses 'a number is less' 1 'use a:gt(1.7)'
session 'rand(3) <= 2\n'
refuses 'a number is larger' 1 'use a:le(2)'
session 'return 5\n'
gives 'return' 0 5
session '1 +* 2\n'
refuses 'the message of the expression' 1 "unexpected symbol near '*'"
session 'x = = 2\n'
refuses 'the message of the statement' 1 "unexpected symbol near '='"

# ---- results ----
session '11\n22\nout[1], out[2], _\n'
gives 'out' 0 $'11\n22\n11  22  22'
session '1\nx = 2\n_\n'
gives '_ is what was printed' 0 $'1\n1'
session 'out = 5\n1\nout\n'
gives 'a global of the user wins' 0 $'1\n5'
session 'tensor{1,2}\n_ + 1\n'
gives '_ of a tensor' 0 $'i64[2] [1, 2]\ni64[2] [2, 3]'
session 'nil\nprint(1)\nprint()\n'
gives 'nil and nothing' 0 $'nil\n1'

# ---- pasted transcripts ----
session 'tsh> x = 3\ntsh> for i = 1, 2 do\n..> print(i)\n..> end\ntsh[npu:0]> x\n'
gives 'prompts are stripped' 0 $'1\n2\n3'

# ---- tables ----
session '{1, 2, {3, 4}}\n{b = 1, a = "x", [10] = true, ["a b"] = nil}\n{}\n'
gives 'tables' 0 $'{1, 2, {3, 4}}\n{[10] = true, a = "x", b = 1}\n{}'
session 't = {} t.t = t\nt\n'
gives 'a cycle' 0 '{t = <cycle>}'
session '{{{{{1}}}}}\n'
gives 'depth' 0 '{{{{{...}}}}}'
session 't = {} for i = 1, 100 do t[i] = i end\n#t\nt\n'
has 'many fields' "$out" '... 70 more'
session '{x = tensor{1.5, 2}, w = zeros(9, 9)}\n'
gives 'tensors inside' 0 '{w = f32[9,9], x = f32[2] [1.5000, 2.0000]}'
session 'setmetatable({}, {__tostring = function() return "mine" end})\n'
gives '__tostring' 0 mine

# ---- commands ----
session ':help\n'
has 'help lists commands' "$out" ':devices'
session ':devices\n'
has 'devices' "$out" '* cpu'
session ':plug\n'
has 'a unique beginning' "$out" 'built in'
session ':pl softmax\n'
refuses 'a beginning that two have' 1 ':plan or :plugins'
session ':plguins\n1\n'
refuses 'did you mean' 1 "unknown command ':plguins' - did you mean :plugins?"
session ':xyzzy\n'
refuses 'nothing near' 1 "unknown command ':xyzzy' (:help lists all)"
session '1\n:quit 5\n2\n'
gives 'quit' 5 1
session ':q\n2\n'
gives 'the letter q' 0 ''
session ':quit x\n'
refuses 'quit with no number' 1 "not 'x'"
session '?matmul\n'
has 'a question mark' "$out" 'matmul('
session ':doc\n'
refuses 'doc of nothing' 1 ':doc needs a name'
session ':doc nosuchname\n'
refuses 'doc of no name' 1 "no help on 'nosuchname'"
session 'x = rand(100)\n:plan softmax(x)\n'
is 'plan' "$rc" 0
has 'plan shows kernels' "$out" ' launch'
session ':set precision 2\ntensor{0.5}\n:unset precision\ntensor{0.5}\n'
gives 'a setting' 0 $'f32[1] [0.50]\nf32[1] [0.5000]'
session ':set print.edge\n'
has 'one setting with its meaning' "$out" 'print.edge  3      3        elements'
session ':set\n'
has 'all settings' "$out" 'out.keep'
session ':set print.precision many\n'
refuses 'a value that is none' 1 'print.precision takes 0 to 17, not many'
session ':unset prnt.max\n'
refuses 'a setting that is none' 1 'did you mean print.max'
session ':set out.keep 2\n1\n2\n3\nout[1], out[2], out[3]\n'
gives 'results that are kept' 0 $'1\n2\n3\nnil  2  3'
session ':set timing on\n1;\n'
has 'the time of every entry' "$err" 'took 0.'
session ':stats tensor{1.0, 3.0, 0/0}\n'
has 'stats' "$out" '3      1    2     3    1.41421  1    0    0'
printf 'height,weight\n1,2\n4,5\n2.5,\n' >"$dir/table.csv"
session ':stats read("'"$dir"'/table.csv")\n'
is 'stats of a table' "$(head -4 <<<"$out")" \
  'COLUMN  COUNT  NAN  MEAN      STD  MIN  50 %  MAX
height      3    0   2.5      1.5    1   2.5    4
weight      3    1   3.5  2.12132    2   3.5    5
all         6    1   2.9  1.59687    1   2.5    5'
session 'x, n = read("'"$dir"'/table.csv")\n:stats x\n:stats x, n\n'
has 'without names the number' "$out" $'\n1           3    0   2.5'
has 'with them' "$out" $'\nheight      3    0   2.5'
session ':full arange(1200):view(60, 20) + 10000\n'
lacks 'full leaves nothing out' "$out" '...'
is 'and no line is wrapped' "$(wc -l <<<"$out")" 61
session ':full tensor{\n'
refuses 'full of half an expression' 1 'near <eof>'
session ':plan 1 +\n'
refuses 'plan of half an expression' 1 'near <eof>'
session 'x = rand(100)\n:plan --run x:sum()\n'
has 'plan --run tells times' "$out" 'each launch alone'
session ':plan --source rand(3) + 1\n'
has 'plan --source shows the program' "$out" 'v0 = index a0'
session ':plan --dot plan.dot rand(3):sum()\n'
gives 'plan --dot writes a file' 0 ''
has 'a graph' "$(cat plan.dot)" 'digraph plan {'
session ':plan --frob rand(3)\n'
refuses 'plan with what it has not' 1 'unknown option --frob'
session ':plan 3\n'
refuses 'plan of a number' 1 'gives no tensor'
session ':plugins\n:plugins -v\n'
has 'plugins' "$out" 'built in'
session ':plugins -x\n'
refuses 'plugins takes no other' 1 "not '-x'"

# ---- notes ----
start='x = tensor{1, 2}\nm = x:gt(1)\n'
session "${start}x == 1\n"
is 'x == 1 is answered' "$rc/$out" 0/false
is 'and noted' "$err" \
  "note: x == 1 is false whatever 'x' holds; x:eq(1) compares its elements"
session "${start}1 ~= x\n"
has 'also ~=, the other way round' "$err" \
  "note: 1 ~= x is true whatever 'x' holds; x:ne(1)"
session "${start}if m then y = 1 end\n"
has 'a mask in a test' "$err" "note: 'm' is a tensor, which is true in a test"
session "${start}while not m do end\n"
has 'and with not' "$err" "note: 'm' is a tensor"
for code in 'x.shape[1] == 2' '2 == x.shape[1]' '#x == 2' 'if x then y = 1 end' \
  'x == nil' '"x == 1"' '-- x == 1' 'local x = 3 y = x == 3' \
  'function f(a, x) return x == 3 end' 'if m:any():item() then y = 1 end' \
  'x[1]:item() == 1' 'y = [[x == 1]]' 'x:sum():item() == 3'; do
  session "$start$code\n"
  is "no note on $code" "$rc/$err" 0/
done

session 'p = {1, 2}\nprint(p)\nprint("p")\nprint(#p)\n'
is 'print of a table' "$err" 'note: show(p) prints its fields'
session 'x = ones(2, 3)\nx[{{}, "price"}]\n'
has 'the name of a column' "$err" 'x[{{}, names.price}]'

# ---- names of others ----
session 'np.sum(1)\n'
refuses 'a module' 1 'hint: functions stand alone: here it is sum'
session 'nn.Conv2d(1, 2, 3)\n'
refuses 'a layer' 1 "hint: did you mean 'nn.conv2d'?"
session 'optim.Adam{}\n'
refuses 'an optimizer' 1 "hint: did you mean 'optim.adam'?"
session 'vstack{1}\n'
refuses 'a function' 1 'hint: here it is cat{a, b}'
session 'x = ones(2) x:shape()\n'
refuses 'a property' 1 'hint: x.shape, x.dtype, x.device have no ()'
session ':doc concatenate\n:doc print\n'
has 'doc of one' "$out" 'concatenate: here it is cat{a, b}'
has 'doc of print' "$out" 'show(t) prints its fields'
session 'show({a = {tensor{1}}}, 2)\n'
gives 'show' 0 '{a = {i64[1] [1]}}  2'

# ---- memory ----
session 'x = ones(1000) + 1\nx[1]\nt = {{ones(500) * 2}}\nt[1][1][1]\nx * 2\n:mem\n'
for name in x 't[1][1]' 'out[5]'; do
  if ! grep -q -F -e "$name  " <<<"$out"; then fail "mem names $name" "$out"; fi
done
session 'x = sort(rand(200000, 200000))\nx[1][1]\n'
has 'no memory' "$err" 'out of memory on cpu: need 149 GiB'
has 'at the line that recorded it' "$err" 'in[1]:1: x = sort('

finish
