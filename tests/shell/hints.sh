#!/bin/bash
# Names that NumPy, PyTorch, pandas and Python have: what an error, or a note on
# an entry, says of them.
set -u
# shellcheck source=tests/shell/_tests.sh
. "$(dirname "$0")/_tests.sh"
cd "$dir" || exit 1
printf 'height,weight\n3,2\n1,4\n2,9\n' >people.csv
echo 'return 3' >three.lua

# hint CODE WANT: of an error with d, names = read("people.csv").
hint() {
  run "$TSH" -e 'd, names = read("people.csv")' -p "$1"
  is "$1" "$(sed -n 's/^  hint: //p' <<<"$err")" "$2"
}
# value CODE WANT
value() {
  run "$TSH" -e 'd, names = read("people.csv")' -p "$1"
  gives "$1" 0 "$2"
}

# ---- modules ----
stands='functions stand alone: here it is'
hint 'np.concatenate(d)' 'here it is cat{a, b}'
hint 'np.exp(d)' "$stands exp"
hint 'torch.stack{d}' "$stands stack"
hint 'np.loadtxt("x")' 'here it is read("x.csv")'
hint 'torch.save(d)' 'here it is write("x.npy", x)'
hint 'torch.load("x")' 'here it is read("x.npz")'
hint 'np.random.randn(3)' "$stands randn"
hint 'torch.nn.Linear(2, 3)' "$stands nn.linear(2, 3)"
hint 'torch.optim.Adam()' "$stands optim.adam"
hint 'pd.read_csv("x")' 'here it is read("x.csv")'
hint 'plt.plot(d)' \
  'there are no plots; write("x.csv", x) for another program'
hint 'plt.show()' 'there are no plots; write("x.csv", x) for another program'
hint 'F.relu(d)' "$stands relu"
hint 'tf.zzz' 'functions stand alone, without tf; :apropos zzz looks for them'
hint 'jnp.sofmax(d)' \
  "functions stand alone, without jnp; did you mean 'softmax'?"
hint 'np.linalg.inv(d)' 'matrix inverses are not there yet'
hint 'np.pi' 'here it is math.pi'
hint 'np.float32' 'here it is the word "f32": x:cast("f32")'

# ---- functions ----
hint 'hist(d)' 'here it is histogram(x, 10)'
hint 'str(3)' 'here it is tostring(x)'
hint 'dir(d)' 'here it is :who for your names, :apropos WORD for functions'
hint 'int(3.7)' 'here it is x:i32(); of one number math.floor(v)'
hint 'rows(d)' 'it is a method: x:rows()'
hint 'ln(d)' 'here it is log(x)'
hint 'cov(d)' \
  'not there yet: with c = x - mean(x, 1) it is matmul(c.T, c) / (#x - 1)'
line='not there yet; of a line the slope is ((x - x:mean()) * (y - y:mean())):sum() / ((x - x:mean()) ^ 2):sum()'
hint 'polyfit(d, d, 1)' "$line"
hint 'lstsq(d, d)' "$line"
hint 'sofmax(d)' "did you mean 'softmax'?"
hint 'rnad(3)' "did you mean 'rand'?"
hint 'nn.Linear(2, 3)' "did you mean 'nn.linear'?"
hint 'abc(d)' "did you mean 'abs'?"
hint 'xyz(d)' ''
hint 'age(d)' ''
hint 'print(f"{d}")' 'a text is put together by .., "x is " .. x, or by string.format("%.2f", v)'

# A line y = 3 x - 2 has the slope that the hint promises.
value "(function() local x = arange(1, 9):f64() local y = x * 3 - 2
  return ${line#*slope is } end)()" 'f64[] 3'

# What the hints promise: the covariance of (3, 1, 2) and (2, 4, 9) is -1.
value 'd = d:f64() c = d - mean(d, 1) return matmul(c.T, c) / (#d - 1)' \
  $'f64[2,2]\n[[ 1., -1.],\n [-1., 13.]]'
value 'd[d[{{}, names.height}]:argsort()]' $'i64[3,2]\n[[1, 4],\n [2, 9],\n [3, 2]]'
value 'd[bitnot(isnan(d):any(2))].shape' '[3,2]'
value 'd[{{1, 2}}].shape, mean(d[d[{{}, 1}]:eq(1)], 1)' \
  '[2,2]  f32[2] [1., 4.]'

# ---- lines that Lua takes ----
hint '(function() for i in range(3) do end end)()' \
  'here it is for i = 1, 3 do ... end; positions count from 1'
hint '(function() for i in range(2, n) do end end)()' \
  'here it is for i = 2, n - 1 do ... end'
hint '(function() for i in range(2, 9, 3) do end end)()' \
  'here it is for i = 2, 9, 3 do ... end, the last one included'
hint '(function() for i in range(len(d)) do end end)()' \
  'here it is for i = 1, #d do ... end'
hint 'range(3)' 'here it is arange(first, last)'
hint '"%d" % 3' 'text is made by ("%d"):format(3)'
hint '"a" + "b"' 'texts are joined by ..: "a" .. "b"'
hint '"a" + 1' 'texts are joined by ..: "a" .. 1'
hint 'tostring(d) + tostring(d)' 'texts are joined by .., not by +'
hint '"a" * 3' 'here it is ("a"):rep(3)'
hint 'relu.backward()' 'grad(relu) is the gradient: grad(relu)(params)'
hint 'd.backward()' 'grad(f) is the gradient of a function f'
made='parameters are a table of tensors: what nn.init or your code has made'
hint '({}).parameters()' "$made"
hint '({}):parameters()' "$made"
hint 'random.randint(1, 3)' "$stands randint"
hint 'random.random()' \
  'here it is rand(2, 3) or randn(2, 3); seed, randint, randperm'
hint 'random.choice(d)' 'here it is x[randint(1, #x, {n})]'
hint 'optim.adam{lr = 0.1}:step(1, 2, 3)' 'opt.step(params, grads, state)'
hint 'optim.adam{lr = 0.1}:init(1)' 'opt.init(params)'
hint 'tensor(1, 2)' 'here it is tensor{1, 2}'
hint 'tensor(1, 2, 3)' 'here it is tensor{1, 2, 3}'
hint 'stack(d, d)' 'here it is stack{d, d}'
hint 'write(d, "o.csv")' 'here it is write("o.csv", d)'
hint 'nn.forward(nn.linear(2, 3), d)' \
  'here it is nn.forward(nn.linear(2, 3), params, d)'
run "$TSH" -e 'spec = nn.linear(2, 3)' -p 'spec(zeros(4, 2))'
has 'a spec is called' "$err" \
  'hint: a spec is no function: nn.forward(spec, params, x)'

# ---- tables of columns ----
hint 'd.columns' 'here it is names, as in x, names = read("x.csv")'
column='a column of a file is x[{{}, names'
methods='with x, names = read(path); :doc tensor lists the methods'
hint 'd.weight' "$column.weight}] $methods"
hint 'd.age' "$column.age}] $methods"
hint 'd["my height"]' "${column}[\"my height\"]}] $methods"
hint 'd:head()' 'here it is x[{{1, 5}}]'
hint 'd:describe()' 'here it is :stats x'
by='columns have numbers: x, names = read(path), c = x[{{}, names.price}]; x[c:argsort()] are the rows in its order'
hint 'd:sort("age")' "$by"
hint 'd:mean("age")' "$by"
hint 'd:sort_values(1)' 'here it is x[x[{{}, column}]:argsort()]'
hint 'd.shap' "did you mean 'shape'?"
hint 'd:summ()' "did you mean 'sum'?"
hint 'zeros(2).age' \
  'it has shape, dtype, device, T; :doc tensor lists its methods'

# ---- loops, brackets ----
hint '(function() for row in d do end end)()' \
  'for i, row in x:rows() do visits every row'
hint '(function() for v in {1} do end end)()' \
  'for i, v in ipairs(t) do, or for k, v in pairs(t) do'
hint 'tensor([[1,2],[3,4]])' \
  '[[ ]] is a string here; rows are {{1, 2}, {3, 4}}'
hint 'd[[1,2]]' '[[ ]] is a string; x[tensor{1, 3}] takes rows 1 and 3'
hint 'd(1)' 't[i] takes an element or a row'

# ---- texts in files ----
printf 'name,v\na,1\nb,2\n' >text.csv
cut='a table holds numbers; the shell leaves column 1 out:'
hint 'read("text.csv")' "$cut cut -d',' --complement -f1 text.csv >new.csv"
bash -c "$(sed -n "s/^  hint: $cut //p" <<<"$err")"
value '(read("new.csv"))' $'i64[2,1]\n[[1],\n [2]]'
printf 'a\tb\n1\tx\n' >text.tsv
hint 'read("text.tsv")' "${cut/1/2} cut --complement -f2 text.tsv >new.csv"
printf '"a, b",c\n1,x\n' >quotes.csv
hint 'read("quotes.csv")' \
  'a table holds numbers; a column of texts cannot be read'
printf 'a;b\n1,5;-2,5\n' >comma.csv
points='it has decimal commas; the shell makes points of them:'
hint 'read("comma.csv")' "$points tr , . <comma.csv >new.csv"
bash -c "$(sed -n "s/^  hint: $points //p" <<<"$err")"
value '(read("new.csv"))' $'f32[1,2]\n[[ 1.5000, -2.5000]]'

# ---- load ----
hint 'load("fit.safetensors")' 'read("fit.safetensors")'
hint 'load("people.csv")' 'read("people.csv")'
hint 'load("three.lua")' 'dofile("three.lua")'
hint 'loadfile("people.csv")' 'read("people.csv")'
hint 'dofile("people.csv")' 'read("people.csv")'
hint 'dofile("model.pt")' 'tsh reads npy, npz, safetensors, csv and json files'
value 'load("return ...", "=x", "t", {})(4)' 4
value 'load("x = = 1") == nil' true
value 'load(function() end)()' ''
value 'dofile("three.lua"), loadfile("three.lua")()' '3  3'
value 'coroutine.wrap(function() load("coroutine.yield(7)")() end)()' 7
echo 'coroutine.yield(8)' >yields.lua
value 'coroutine.wrap(function() dofile("yields.lua") end)()' 8
run "$TSH" people.csv
has 'a data file is no script' "$err" 'tsh -I x=FILE reads data into'

# ---- a name alone ----
# note ENTRY WANT: the notes of a session on its last entry.
note() {
  run "$TSH" <<<"$1"
  is "$1" "$err" "${2:+note: }$2"
}
note 'True' "nothing is called 'True'; here it is true"
note 'None' "nothing is called 'None'; here it is nil"
note 'foo' "nothing is called 'foo'"
note 'sofmax' "nothing is called 'sofmax'; did you mean 'softmax'?"
note 'nil' ''
note 'relu;' ''
note 'adam' "nothing is called 'adam'"
note 'x = 1 x = nil' ''
note '1 == tensor{1}' '1 == tensor{1} is false whatever the tensor holds; eq(tensor{1}, 1) compares its elements'
note 'zeros(3) ~= 2' 'zeros(3) ~= 2 is true whatever the tensor holds; ne(zeros(3), 2) compares its elements'
note 'tensor{1}:item() == 1' ''
note 'tensor(1).shape == 1' ''
note '#zeros(3) == 3' ''

# ---- words of the session ----
run "$TSH" <<<$'help\n1'
has 'help' "$out" ':doc      NAME'
run "$TSH" <<<$'exit\n1'
gives 'exit' 0 ''
run "$TSH" <<<$'quit()\n1'
gives 'quit()' 0 ''
run "$TSH" <<<$'exit = 4\nexit'
gives 'a variable comes first' 0 4
run "$TSH" <<<$'x = {\n1,\nexit\n}\n#x'
gives 'and the middle of an entry is none' 0 1

# ---- files that are not there ----
run "$TSH" foo.lua
refuses 'a name with an ending' 2 'tsh: no such file: foo.lua'
run "$TSH" scripts/foo
refuses 'a name with a folder' 2 'tsh: no such file: scripts/foo'

finish
