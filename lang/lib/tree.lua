-- names: tree
--
-- Trees are tensors and nested tables of them. Every walk visits integer keys
-- in their order, then strings in the order of their bytes, so that two runs
-- see the leaves alike. What is neither table nor tensor is no leaf.
local core = require "tsh.core"

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

-- Calls visit(leaf) for each tensor; names no path, and so costs less than a
-- walk. 0: something is wrong that a walk finds again and can name.
local function visit_all(t, depth, visit)
  if core.is_tensor(t) then
    visit(t)
    return true
  end
  if type(t) ~= "table" then return true end
  local keys = depth < DEEP and core.sorted_keys(t)
  if not keys then return false end
  for i = 1, #keys do
    if not visit_all(t[keys[i]], depth + 1, visit) then return false end
  end
  return true
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

-- A tree like t with leaf(tensor) for every tensor; bare: and nothing else.
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
  local leaves = {}
  local function add(leaf) leaves[#leaves + 1] = leaf end
  if visit_all(t, 0, add) then return leaves end
  leaves = {}
  walk(t, "", {}, add)
  return leaves
end

--- tree.flatten(t): array of the tensors of t, and a function that puts an
--- array of the same length into a tree like t; where the array has false,
--- the tree has no entry. With a second argument, true, what is no tensor in t
--- has none either.
--- Example: local leaves, restore = tree.flatten(params)
function tree.flatten(t)
  local leaves = tree.leaves(t)
  return leaves, function(values, bare)
    local i = 0
    return rebuild(t, function()
      i = i + 1
      return values[i] or nil
    end, bare)
  end
end

--- tree.count(t): number of elements in all tensors of t.
--- Example: tree.count({w = zeros(784, 64), b = zeros(64)}) --> 50240
function tree.count(t)
  local n = 0
  walk(t, "", {}, function(leaf) n = n + core.count(leaf) end)
  return n
end

-- The values at one place of several trees; nil when one has none there.
local function gather(places, n)
  for i = 1, n do
    if places[i] == nil then return nil end
  end
  return places
end

local function step_into(trees, n, k)
  local inner = {}
  for i = 1, n do
    if type(trees[i]) == "table" then inner[i] = trees[i][k] end
  end
  return inner
end

local function map_at(f, trees, n)
  local t = trees[1]
  if core.is_tensor(t) then
    if not gather(trees, n) then return t end
    return f(table.unpack(trees, 1, n))
  end
  if type(t) ~= "table" then return t end
  local copy, keys = {}, sorted_keys(t, "")
  for i = 1, #keys do
    local k = keys[i]
    copy[k] = map_at(f, step_into(trees, n, k), n)
  end
  return copy
end

--- tree.map(f, t, ...): a tree like t with f(leaf, ...) for every tensor, where
--- the further arguments are what the other trees have at the same place. A
--- tensor for which another tree has no entry stays, as does all that is no
--- tensor: so the gradients, which have none for integers, fit.
--- Example: tree.map(function(p, g) return p - 0.1 * g end, params, grads)
function tree.map(f, t, ...)
  check_function("tree.map", 1, f)
  local function nothing() end
  if not visit_all(t, 0, nothing) then walk(t, "", {}, nothing) end
  return map_at(f, { t, ... }, 1 + select("#", ...))
end

return { tree = tree, sorted_keys = sorted_keys }
