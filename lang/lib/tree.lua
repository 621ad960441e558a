-- names: tree
--
-- Trees are tensors and nested tables of them. Every walk visits integer keys
-- in their order, then strings in the order of their bytes, so that two runs
-- see the leaves alike. What is neither table nor tensor is no leaf.
local core = require "tsh.core"

--- tree: nested tables of tensors, as parameters and gradients are.
--- Example: params = {w = ones(2, 3), b = ones(3)};
---   tree.count(tree.map(function(p) return p * 2 end, params)) --> 9
local tree = {}

local DEEP = 100 -- tables in tables, before one is sought that holds itself

-- The keys of t in their order.
local function sorted_keys(t, path)
  local keys = core.sorted_keys(t)
  if keys then return keys end
  for k in pairs(t) do -- order-free
    if math.type(k) ~= "integer" and type(k) ~= "string" then
      core.fail(("tree: %s has a key that is a %s; integers and strings can "
        .. "be ordered"):format(path == "" and "the table" or path,
        math.type(k) or type(k)))
    end
  end
end

local function child_path(path, k)
  if math.type(k) then return ("%s[%d]"):format(path, k) end
  if not k:match("^[%a_][%w_]*$") then return ("%s[%q]"):format(path, k) end
  return path == "" and k or path .. "." .. k
end

-- Calls visit(leaf, path, entry of the other tree) for each tensor; `above`
-- holds the tables on the way down, where a table that contains itself would be
-- found again.
local function walk(t, path, above, visit, other)
  if core.is_tensor(t) then return visit(t, path, other) end
  if type(t) ~= "table" then return end
  if above[t] then core.fail("tree: a table contains itself at " .. path) end
  above[t] = true
  if type(other) ~= "table" then other = {} end
  for _, k in ipairs(sorted_keys(t, path)) do
    walk(t[k], child_path(path, k), above, visit, other[k])
  end
  above[t] = nil
end

-- A tree like t with leaf(tensor) for every tensor; bare: and nothing else. For
-- those that are too deep for core.tree_build.
local function rebuild(t, leaf, bare)
  if core.is_tensor(t) then return leaf(t) end
  if type(t) ~= "table" then return not bare and t or nil end
  local copy = {}
  for _, k in ipairs(sorted_keys(t, "")) do
    copy[k] = rebuild(t[k], leaf, bare)
  end
  return copy
end

local function check_function(name, i, f)
  if type(f) == "function" then return end
  core.fail(("%s: argument %d must be a function, got %s"):format(name, i,
    core.kind(f)))
end

--- tree.each(t, f, other): calls f(leaf, path, entry) for every tensor of t, in
--- order; path is a text, "layers[1].w", and "" when t is itself a tensor; entry
--- is what another tree has at the same place, or nil.
--- Example: tree.each(params, function(p, path) print(path, p.shape) end)
function tree.each(t, f, other)
  check_function("tree.each", 2, f)
  walk(t, "", {}, f, other)
end

--- tree.leaves(t): array of the tensors of t, in order.
--- Example: #tree.leaves({w = zeros(2, 3), b = zeros(3)}) --> 2
function tree.leaves(t)
  local leaves = core.tree_gather(t)
  if leaves then return leaves end
  leaves = {}
  walk(t, "", {}, function(leaf) leaves[#leaves + 1] = leaf end)
  return leaves
end

-- A tree like t with the values for its tensors; holes: false is none.
local function build(t, values, bare, holes)
  local copy, good = core.tree_build(t, values, bare, holes)
  if good ~= false then return copy end
  local i = 0
  return rebuild(t, function()
    i = i + 1
    if holes and not values[i] then return nil end
    return values[i]
  end, bare)
end

--- tree.flatten(t): array of the tensors of t, and a function that puts an
--- array of the same length into a tree like t; where the array has false,
--- the tree has no entry. With a second argument, true, what is no tensor in t
--- has none either.
--- Example: local leaves, restore = tree.flatten(params)
function tree.flatten(t)
  local leaves = tree.leaves(t)
  return leaves, function(values, bare) return build(t, values, bare, true) end
end

--- tree.count(t): number of elements in all tensors of t.
--- Example: tree.count({w = zeros(784, 64), b = zeros(64)}) --> 50240
function tree.count(t)
  local n = 0
  walk(t, "", {}, function(leaf) n = n + core.count(leaf) end)
  return n
end

-- The list and count that core.tree_gather gives, of any trees.
local function gather(t, ...)
  local list, count = core.tree_gather(t, ...)
  if list then return list, count end
  local n, others = 1 + select("#", ...), { ... }
  list, count = {}, 0
  walk(t, "", {}, function(leaf)
    list[count * n + 1] = leaf
    count = count + 1
  end)
  for k = 2, n do
    local at = 0
    walk(t, "", {}, function(_, _, entry)
      list[at * n + k] = entry
      at = at + 1
    end, others[k - 1])
  end
  return list, count
end

-- f of n entries of a list from number `at` on, or the first where one lacks.
local function apply(f, list, at, n)
  for i = at, at + n - 1 do
    if list[i] == nil then return list[at] end
  end
  return f(table.unpack(list, at, at + n - 1))
end

--- tree.map(f, t, ...): a tree like t with f(leaf, ...) for every tensor, where
--- the further arguments are what the other trees have at the same place. A
--- tensor for which another tree has no entry stays, as does all that is no
--- tensor: so the gradients, which have none for integers, fit.
--- Example: tree.map(function(p, g) return p - 0.1 * g end, params, grads)
function tree.map(f, t, ...)
  check_function("tree.map", 1, f)
  local list, count = gather(t, ...)
  local n, values = 1 + select("#", ...), {}
  for i = 1, count do values[i] = apply(f, list, (i - 1) * n + 1, n) end
  return build(t, values)
end

local function describe(t)
  return ("%s[%s]"):format(t.dtype, table.concat(t.shape:table(), ","))
end

-- The first number in a table, and its path.
local function first_number(t, path, above)
  if type(t) == "number" then return t, path end
  if type(t) ~= "table" or above[t] then return nil end
  above[t] = true
  for _, k in ipairs(sorted_keys(t, path)) do
    local n, at = first_number(t[k], child_path(path, k), above)
    if n then return n, at end
  end
end

-- What t is, which was to hold float tensors and does not; and a hint.
local function instead_of_floats(t)
  local found
  tree.each(t, function(leaf, path)
    found = found or (path == "" and describe(leaf)
      or ("a table without float tensors, %s is %s"):format(path,
      describe(leaf)))
  end)
  if found then return found, 'x:cast("f32")' end
  local n, path = first_number(t, "", {})
  local hint = n and ("%swrite tensor(%s)"):format(path == "" and ""
    or path .. " is a number: ", n + 0.0)
  return type(t) == "table" and "a table without tensors" or core.kind(t), hint
end

return { tree = tree, sorted_keys = sorted_keys,
  instead_of_floats = instead_of_floats }
