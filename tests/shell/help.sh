#!/bin/bash
# What the built-in help knows: the guide by topics, functions, methods, and
# what Lua has; and how a newcomer's words lead there.
set -u
# shellcheck source=tests/shell/_tests.sh
. "$(dirname "$0")/_tests.sh"
# shellcheck source=tests/shell/_mux.sh
. "$(dirname "$0")/_mux.sh"
root=$(cd "${TSH_SOURCE:-$(dirname "$0")/../..}" && pwd)
cd "$dir" || exit 1

# ---- topics ------------------------------------------------------------------------
# The sections of the guide, without their numbers: each has its topic.
sections=$(sed -n 's/^## [0-9]*\. //p' "$root/docs/LANGUAGE.md")
run "$TSH" help language
is 'language lists as many topics as the guide has sections' \
  "$(sed -n 's/^  [a-z]*  *\([A-Zd].*\)/\1/p' <<<"${out#*Its topics}")" "$sections"
mapfile -t topics < <(sed -n 's/^  \([a-z]*\)  .*/\1/p' <<<"${out#*Its topics}")
for topic in "${topics[@]}"; do
  run "$TSH" help "$topic"
  lines=$(grep -cxF "$sections" <<<"$out")
  is "$topic is one section" "$rc/$lines" 0/1
  lacks "$topic: no marks of a table" "$out" '|---'
  lacks "$topic: no fences" "$out" '```'
done
# The text is that of the file: what a block shows stands there, indented.
run "$TSH" help indexing
has 'a rule, its example in front' "$out" '  c   A range is {first, last} or {first, last, step}; {} is all'
has 'an example, indented' "$out" $'    tsh> x[{2, {1, 3}}]                    -- b\n    i64[3] [5, 6, 7]\n'
lacks 'words in quotes lose them' "$out" '`'
run "$TSH" help operators
has 'a bar in a table' "$out" '+ - * / // % ^ and & | ~ << >> work element by element'
run "$TSH" help sessions
has 'a table of two columns' "$out" $'  exit code  when\n  0          good\n'

# leads WORD HEADING: everywhere the same way.
leads() {
  run "$TSH" help "$1"
  is "tsh help $1" "$rc/${out%%$'\n'*}" "0/$2"
  session=$(printf '?%s\n:help %s\n:doc %s\n' "$1" "$1" "$1" | "$TSH" 2>&1)
  is "in a session $1" "$session" "$out"$'\n'"$out"$'\n'"$out"
}
leads index Indexing
leads slicing Indexing
leads Indexing Indexing
leads broadcasting 'Operators, and what Lua does not allow'
leads lazy 'Nothing is computed before it is needed'
leads gradient 'Gradients and parameters'
leads csv Files
leads for 'Lua in short'
leads loops 'Lua in short'
leads '==' 'Operators, and what Lua does not allow'
has 'a loop over rows' "$("$TSH" help loop)" 'for i, row in x:rows() do ... end'
run "$TSH" -e '' help history
leads prompt Sessions
leads weights 'Gradients and parameters'
leads 'loops in python' 'Lua in short'
run "$TSH" help gpu
has 'devices: what is missing' "$out" \
  '  A plugin is a file NAME.so: cuda:0 needs a cuda.so, and no such plugin'

# says WORDS TEXT: the first line of help, as words of the command line and in a
# session.
says() {
  # shellcheck disable=SC2086
  run "$TSH" help $1
  is "tsh help $1" "$rc/${out%%$'\n'*}" "0/$2"
  is "in a session $1" "$(printf ':help %s\n' "$1" | "$TSH" 2>&1)" "$out"
}
random='random: here it is rand(2, 3) or randn(2, 3); seed, randint, randperm'
says random "$random"
says 'random numbers' "$random"
says 'save weights' ':save FILE [NAMES]'
plots='there are no plots; write("x.csv", x) for another program'
says plotting "plotting: $plots"
says 'how to plot' "plot: $plots"
says pandas 'pandas: x, names = read("x.csv") reads numbers; x[{{}, names.price}] is a column'
says class \
  'class: there are no classes: a function that returns a table, or nn.layer'
says f-string \
  'f-string: text is put together by "x is " .. x, or ("%.2f"):format(v)'
says numbers "no help on 'numbers'; :apropos has:"
has 'and what that is' "$out" $'\nlinspace '
run "$TSH" help zzyy qqxx
refuses 'nobody knows any of them' 1 "no help on 'zzyy qqxx'"

# mine VALUE WANT: ?t on a global.
mine() {
  is "?t on $1" "$(printf 't = %s\n?t\n' "$1" | "$TSH" 2>&1)" "t is $2"
}
mine 'arange(1, 10):f32()' 'f32[10]  cpu  40 B  (1 launch if run)
  :stats t, :full t; methods as t:sum(), :doc tensor lists them'
mine 3.5 'a number, 3.5'
mine '"a\"b"' 'a string, "a\"b"'
mine '{1, w = 2, b = 3}' 'a table, 3 fields: b, w'
mine 'function() end' 'a function, of in[1]:1'
has 'a name of ours stays' "$(printf 'sum = 3\n?sum\n' | "$TSH" 2>&1)" \
  'sum(x, axis'

# What has a help of its own keeps it, and names the topic.
run "$TSH" help slice
has 'a function is a function' "$out" 'slice(t, index)   or t:slice(index)'
has 'which names its topic' "$out" '  More: :help indexing'
has 'a command and its topic' "$(printf ':help devices\n' | "$TSH")" \
  $'the devices, * marks the default\n  In Lua: tsh.devices()\nDevices\n'
run "$TSH" help nosuchthing
refuses 'what nobody knows' 1 "no help on 'nosuchthing'"
has 'says where to look' "$err" ':help language'
has ':help names the topics' "$(printf ':help\n' | "$TSH")" \
  'Topics, of :help TOPIC: counting indexing operators'

run "$TSH" --help
has '--help ends with the examples' "${out##*$'\n'}" share/tsh/examples
run "$TSH" completions man
has 'the manual names them' "$out" $'.SH FILES\n.TP\n\\fIshare/tsh/examples'
has 'and the topics' "$out" 'counting, indexing, operators'

# ---- the names of Lua ---------------------------------------------------------------
run "$TSH" help string.format
has 'a function of Lua' "$out" 'string.format(form, ...), of Lua'
run "$TSH" help concat
has 'a name of others comes first' "$out" 'cat{a, b}'
cat >names.lua <<'END2'
-- Every name that is described is there.
for _, e in ipairs(require("tsh.core").lua_names()) do
  local v = _G
  for part in e[1]:gmatch("[^.]+") do v = v[part] end
  if v == nil then print(e[1]) end
end
END2
run "$TSH" run names.lua
gives 'no name of Lua is invented' 0 ''

# ---- methods --------------------------------------------------------------------------
# What a tensor answers to stands in its help, and the other way round.
cat >methods.lua <<'END2'
local x, listed = tensor{1.0}, {}
local help = io.popen(arg[1] .. " help tensor"):read("a")
for w in help:match("Methods:(.-)Properties:"):gmatch("%S+") do listed[w] = true end
for w in pairs(listed) do
  if type(x[w]) ~= "function" then print(w .. " does not work") end
end
for _, w in ipairs{"sort", "argsort", "std", "rows", "median", "item", "view",
  "sum", "absolute"} do
  if not listed[w] then print(w .. " is missing") end
end
for w in help:match("Properties:(.*)"):gmatch("%S+") do
  if x[w] == nil then print(w .. " is no property") end
end
END2
run "$TSH" run methods.lua "$TSH"
gives 'the list of methods is true' 0 ''
has 'and of properties' "$("$TSH" help tensor)" '  Properties: shape dtype device T'

# ---- :apropos ---------------------------------------------------------------------------
about() { printf ':apropos %s\n' "$1" | "$TSH" 2>&1; }
has 'a word of a topic' "$(about loop)" ':help lua'
has 'a setting' "$(about format)" 'print.precision'
has 'a function of Lua' "$(about format)" 'string.format'
has 'a command' "$(about history)" ':history'
has 'and a topic' "$(about history)" ':help sessions'
for name in math.floor table.concat io.open os.time; do
  has "$name" "$(about "$name")" "$name"
done
has 'its twin, where there is a session' \
  "$(printf 'for _, e in ipairs(tsh.apropos("clear")) do print(e[1]) end\n' | "$TSH")" ':clear'
has 'nothing' "$(about nosuchthing)" ':help language lists topics'

mux_or_finish

# ---- windows ------------------------------------------------------------------------------
columns=80 rows=24
PAGER='sed s/^/page:/' open "env PAGER='sed s/^/page:/' $TSH -q; cat"
enter ':help indexing'
expect_part 'a long topic goes through the pager' 'page:Indexing'
clear
enter ':help counting lines'
enter '?numel'
expect_part 'a short help does not' $'\nnumel(x)   or x:numel()'
clear
enter ':help bench'
shows $'\ntsh>'
is 'nor does that of a command' "$(screen | grep -c '^page:')" 0
clear
text ':help ind'
key Tab
expect_part 'Tab completes a topic' ':help indexing'
key C-c
text ':doc broad'
key Tab
expect_part 'a function too' ':doc broadcast_to'
key C-u
text ':doc laz'
key Tab
expect_part 'and a topic of :doc' ':doc laziness'
key C-c
key C-d
columns=40
open "env PAGER=cat $TSH -q; cat"
enter ':help lua'
expect_part 'in a narrow window' 'Lua in short'
shows $'\ntsh>'
is 'nothing is wider' "$(mux capture-pane -t "$name" -p -J -S -200 | awk 'length > 40')" ''
key C-d
finish
