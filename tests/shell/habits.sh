#!/bin/bash
# What Python, C or IPython write, typed in a session: the hint names what it is
# here. What is only wrong gets none.
set -u
# shellcheck source=tests/shell/_tests.sh
. "$(dirname "$0")/_tests.sh"
cd "$dir" || exit 1

# The hint on an entry, whose lines are apart by \n.
hint_on() {
  printf '%b\n' "$1" | "$TSH" 2>&1 |
    awk '/^  hint: / { sub(/^  hint: /, ""); found = 1; print; next }
      found && /^ {4,}/ { sub(/^ +/, ""); print; next } { found = 0 }' |
    paste -sd' '
}

hint() { is "$1" "$(hint_on "$1")" "$2"; }
here() { hint "$1" "here it is $2"; }
none() { is "no hint: $1" "$(hint_on "$1")" ''; }

# ---- indices ----
range='; {first, last} counts from 1, {} is all'
here 'x[:,1]' "x[{{}, 1}]$range"
here 'd[1:3]' "d[{{1, 3}}]$range"
here 'd[a:b]' "d[{{a, b}}]$range"
here 'd[-3:]' "d[{{-3, -1}}]$range"
here 'd[:n]' "d[{{1, n}}]$range"
here 'd[::-1]' "d[{{-1, 1, -1}}]$range"
here 'd[::2, ..., None]' "d[{{1, -1, 2}, \"...\", newaxis}]$range"
here 'x[2,1]' 'x[{2, 1}]'
here 'y = f(x)[1, 2] + 3' 'f(x)[{1, 2}]'
here 'x[:,1] = 0' "x = x:set({{}, 1}, 0)$range"

# ---- lists, tuples, names, dictionaries ----
hint '[1,2,3]' 'a list is {1, 2, 3}'
hint 'x = [[1, 2], [3, 4] ]' \
  '[[ begins a string; a list of rows is {{1, 2}, {3, 4}}'
hint 'tensor([1,2])' 'a list is tensor{1, 2}'
hint 'tensor([ [1,2], [3,4] ])' 'a list is tensor{{1, 2}, {3, 4}}'
hint 'y = [f(x) for x in t]' \
  'a list is filled in a loop: for i = 1, 3 do t[i] = i end'
hint 'zeros((2,3))' 'without the inner parentheses: zeros(2, 3)'
hint 'reshape(x, (2, 3))' 'several values are a table: {2, 3}'
hint 'x = (1, 2)' 'several values are a table: {1, 2}'
hint 'sum(x, axis=1)' 'names are given in a table: sum(x, {axis = 1})'
hint 'x:sum(axis=1, keep=True)' \
  'names are given in a table: x:sum{axis = 1, keep = true}'
hint 't = {"a": 1, "b c": 2}' 'a table is {a = 1, ["b c"] = 2}'

# ---- signs ----
here 'x @ y' 'matmul(x, y)'
here 'y = x @ w + b' 'matmul(x, w)'
hint 'x ** 2' 'a power is x ^ 2'
hint 'x.T ** -1' 'a power is x.T ^ -1'
here 'x += 1' 'x = x + 1'
here 'x.w *= a + b' 'x.w = x.w * (a + b)'
here 'x++' 'x = x + 1'
here 'x != 3' 'x ~= 3; ne(x, 3) compares the elements of a tensor'
here 'if !x then' 'not x'
here 'if a && b then' 'a and b'
here 'if a || b then' 'a or b'
hint 'x = 3 # it'"'"'s' 'a comment begins with --'
hint '# two words' 'a comment begins with --'
hint '1_000' 'a number has no _: 1000'
hint '"""text"""' 'a string of several lines is [[text]]'

# ---- statements ----
import='nothing is imported: zeros(2, 3), exp(x), nn, optim are there'
hint 'import numpy as np' "$import"
hint 'from torch import nn' "$import"
hint 'def f(x, y):' 'a function is function f(x, y) ... end'
hint 'def f(x): return x' 'a function is function f(x) ... end'
here 'map(lambda x: x + 1, t)' 'function(x) return x + 1 end'
here 'f = lambda x: x\n\n' 'function(x) return x end'
here 'for i in range(3):' \
  'for i = 1, 3 do ... end; positions count from 1'
here 'for i in range(3):\n  print(i)\nx = 2' \
  'for i = 1, 3 do ... end; positions count from 1'
here 'for i in range(len(t)): print(i)' 'for i = 1, #t do ... end'
here 'for i in range(1, n): print(i)' 'for i = 1, n - 1 do ... end'
here 'for v in xs:' \
  'for i, v in ipairs(xs) do ... end; of a tensor xs:rows()'
here 'for i, v in enumerate(t):' \
  'for i, v in ipairs(t) do ... end; of a tensor t:rows()'
here 'for k, v in t.items():' 'for k, v in pairs(t) do ... end'
here 'for i = 1:10' 'for i = 1, 10 do ... end'
here 'if x is None:' 'if x == nil then ... end'
here 'if x is not None and y != 3:' 'if x ~= nil and y ~= 3 then ... end'
here 'if not x:' 'if not x then ... end'
here 'if x == 3:\n  print(x)' 'if x == 3 then ... end'
here 'while True:' 'while true do ... end'
here 'while x:sum() > 3:' 'while x:sum() > 3 do ... end'
here 'elif x:' 'elseif x then'
hint 'else:' 'else has no colon; its block ends with end'
here 'if x then\nelse if y then\nend' \
  "elseif: 'else if' needs an end of its own"
here 'x = y if c else z' 'x = c and y or z'
here 'print(5 if c else z)' 'c and 5 or z'
here 'x ? 1 : 2' 'x and 1 or 2'
hint 'if x in t:' "there is no 'in' as a test: t[key] ~= nil asks a table"
hint 'if x = 3 then y = 1 end' '= assigns, == compares: if x == 3 then'
hint 'try:' 'errors are caught by ok, result = pcall(f, x)'
hint 'except ValueError as e:' 'errors are caught by ok, result = pcall(f, x)'
hint 'with open(p) as f:' "there is no 'with': f = io.open(path) ... f:close()"
hint 'class A(B):' \
  'there are no classes: a function that returns a table, or nn.layer'
hint 'if x then\n  pass\nend' 'there is no pass: an empty block is empty'
here 'print x' 'print(x)'
here 'del x' 'x = nil'
hint 'let x = 3' 'a local name is local x = ...'

# ---- IPython ----
here '%timeit x + 1' ':bench x + 1'
here '%%timeit x + 1' ':bench x + 1'
here '%time x' ':time x'
here '%who' ':who'
hint '%matplotlib inline' 'commands begin with a colon; :help lists them'
hint 'exp?' ':doc exp explains it'
hint 'exp??' ':doc exp explains it'
run "$TSH" <<<'??exp'
has '??name is ?name' "$out" 'exp(x'

# ---- keywords ----
hint 'functon f() end' "did you mean 'function'?"
hint 'retrun 3' "did you mean 'return'?"
hint 'fro i = 1, 3 do print(i) end' "did you mean 'for'?"
hint 'lcoal x = 1' "did you mean 'local'?"
hint 'if x thne y = 1 end' "did you mean 'then'?"

# ---- do, then are missing ----
missing="is missing:"
hint 'for i = 1, 3\nprint(i)\nend' "'do' $missing for i = 1, 3 do ... end"
hint 'while x:any()\nprint(i)\nend' "'do' $missing while x:any() do ... end"
hint 'while x print(1) end' "'do' $missing while x do ... end"
hint 'if x == 2\n  print(i)\nend' "'then' $missing if x == 2 then ... end"
hint 'if x y = 1 end' "'then' $missing if x then ... end"
hint 'if x then y = 1\nelseif y\nprint(i)\nend' "'then' $missing elseif y then"

# ---- texts ----
hint 'print(x, y, end="")' \
  'print ends its line; io.write(x, y) does not, a tensor as tostring(x)'
here 'print("{} {}".format(3, x))' \
  "(\"%s\"):format(3, x); %.2f is a number's"
hint '"%d %d" % (3, 4)' 'text is made by ("%d %d"):format(3, 4)'
hint 'torch.optim.Adam(lr=0.1)' 'names are given in a table: optim.adam{lr = 0.1}'
hint 'optim.SGD(params, lr=0.1)' 'names are given in a table: optim.sgd{lr = 0.1}'
hint 'nn.Linear(2, 3, bias=False)' \
  'names are given in a table: nn.linear(2, 3, {bias = false})'

# ---- what ends too early ----
hint 'function f()\n\n' \
  "the entry ended before it was complete: 'end' is missing"
hint '1 +' 'the entry ended before it was complete'
hint 'f(1' "the entry ended before it was complete: ')' is missing"

# ---- none of these ----
none 'x = = 1'
none 'f(1,,2)'
none 'for i = 1 do end'
none 'if x then )'
none 'function f( end'
none 'function g(x,, y) end'
none 'local = 3'
none 'x = "abc'
none 'return return'
none 'a.b:c = 1'
none 'x = 1 2'
none 'f(1 2)'
none 't[1 2]'
none 'x = 3 +* 2'
none 'print (x) y z'
none 'goto 1'
none 'x = 1 -- x += 1\ny = = 2'
none 's = [[\nx += 1\n]] y = = 3'
none 's = "x[:,1]" .. = 2'
none 'x = "a: b" )'
none 'for = 1'

# What Lua takes is never looked at.
run "$TSH" <<<'s = "x += 1 near" error("unexpected symbol near \47+\47")'
lacks 'an error of a script' "$err" hint:

# ---- scripts and the command line ----
printf '#!/usr/bin/env tsh\nx = 1\nfor i in range(3):\n  y = i\nz = 3\n' >loop.lua
run "$TSH" loop.lua
has 'a script' "$err" 'hint: here it is for i = 1, 3 do ... end'
run "$TSH" -e 'x += 1'
has '-e' "$err" 'hint: here it is x = x + 1'
run "$TSH" -p 'x[:,1]'
has '-p' "$err" 'hint: here it is x[{{}, 1}]'
run "$TSH" -e '1+1'
has '-e of a value' "$err" 'hint: -p prints the value of an expression'
run "$TSH" -p '1+'
has 'the end has the last line' "$err" '-p:1: error: '
has 'and is told' "$err" 'hint: the text ended before it was complete'

finish
