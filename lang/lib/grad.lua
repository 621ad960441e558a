-- names: grad value_and_grad gradcheck custom_grad
--
-- The trace is the tape: while f runs, its ops are recorded as always; then
-- the records are walked backwards and the rules, which record ops themselves,
-- give the gradients. So gradients nest.
local core = require "tsh.core"
local rules = require "tsh.rules"
local tree = require("tsh.tree").tree
local instead_of_floats = require("tsh.tree").instead_of_floats

local walk_back, walk_give = core.walk_back, core.walk_give

local FLOAT = { f16 = true, bf16 = true, f32 = true, f64 = true }

local function describe(t)
  local s = {}
  for i = 1, #t.shape do s[i] = t.shape[i] end
  return ("%s[%s]"):format(t.dtype, table.concat(s, ","))
end

local function sorted_names(set)
  local names = {}
  for name in pairs(set) do names[#names + 1] = name end -- order-free
  table.sort(names)
  return table.concat(names, ", ")
end

-- ---- backwards -------------------------------------------------------------

-- An input's gradient in its own shape, dtype and device.
local function fit(g, x)
  if g.shape ~= x.shape then
    g = core.unexpand(g, x)
  end
  if g.dtype ~= x.dtype then g = g:cast(x.dtype) end
  if g.device ~= x.device then g = g:to(x.device) end
  return g
end

-- Goes to each input of a record that wants a gradient, from number k on.
local function step_back(walk, grads, r, g, k, rule)
  local each = rule.each
  while k do
    local d, id = (each or rule[k + 1])(g, r, k)
    local after = walk_give(walk, grads, k, d, id)
    if after == false then
      after = walk_give(walk, grads, k, fit(d, r[k]))
    end
    k = after
  end
end

-- Gradients of y, one element, by the leaves.
local function backward(tape, leaves, y)
  local walk, results = core.walk_new(tape, leaves), {}
  local grads = { [core.id(y)] = ones_like(y) }
  core.stop_watching(tape)
  local r, g, k, rule = walk_back(walk, grads)
  while r do
    step_back(walk, grads, r, g, k, rule)
    r, g, k, rule = walk_back(walk, grads)
  end
  for i, leaf in ipairs(leaves) do
    results[i] = grads[core.id(leaf)] or zeros_like(leaf)
  end
  return results
end

-- ---- forwards --------------------------------------------------------------

-- The argument has no float tensor: says what it has instead.
local function fail_argument(name, argument, n)
  local found, hint = instead_of_floats(argument)
  core.fail(("%s: argument %d is %s; gradients exist for %s"):format(name, n,
    found, sorted_names(FLOAT)), hint)
end

-- The float tensors of argument n, each as a tensor of its own, so that a use
-- of the same tensor outside counts as constant; and the argument of them.
local function wrap(name, argument, n)
  local leaves, restore = tree.flatten(argument)
  local wrapped, all = {}, {}
  for i, leaf in ipairs(leaves) do
    all[i] = leaf
    if FLOAT[leaf.dtype] then
      all[i] = core.alias(leaf)
      wrapped[#wrapped + 1] = all[i]
    end
  end
  if #wrapped == 0 then fail_argument(name, argument, n) end
  return wrapped, restore(all), function(grads)
    local at, entries = 0, {}
    for i, leaf in ipairs(leaves) do
      entries[i] = false
      if FLOAT[leaf.dtype] then
        at = at + 1
        entries[i] = grads[at]
      end
    end
    return restore(entries, true)
  end
end

local function check_result(name, y)
  if not core.is_tensor(y) then
    core.fail(("%s: the function must return a tensor of one element, got %s")
      :format(name, core.kind(y)))
  end
  if FLOAT[y.dtype] and #y.shape == 0 then return end
  core.fail(("%s: the function must return one float number, got %s")
    :format(name, describe(y)), #y.shape > 0 and "sum or mean of the result"
    or 'a float result: y:cast("f32")')
end

local function run(name, f, n, ...)
  local arguments = table.pack(...)
  local tape <close> = core.tape_open()
  local leaves, wrapped, restore = wrap(name, arguments[n], n)
  arguments[n] = wrapped
  local results = table.pack(f(table.unpack(arguments, 1,
    math.max(n, arguments.n))))
  check_result(name, results[1])
  return results, restore(backward(tape, leaves, results[1]))
end

local function check_function(name, f, n)
  if type(f) ~= "function" and not (getmetatable(f) or {}).__call then
    core.fail(("%s: argument 1 must be a function, got %s"):format(name,
      core.kind(f)))
  end
  if n == nil then return 1 end
  if math.type(n) == "integer" and n >= 1 then return n end
  core.fail(("%s: argument 2 counts arguments from 1, got %s"):format(name,
    tostring(n)))
end

--- grad(f, n): the function that gives the gradient of f by its argument n
--- (default 1), a tensor or a nested table of tensors. f must return a float
--- tensor of shape []; further results are dropped. The gradient has the
--- structure of the argument; leaves that are no float tensors have no entry.
--- What else f sees is constant. Errors: f's result is no single float; the
--- argument holds no float tensor.
--- Example: grad(function(x) return sum(x ^ 2) end)(tensor{1.0, 2.0}) --> 2 4
local function grad(f, n)
  n = check_function("grad", f, n)
  return function(...)
    local _, gradients = run("grad", f, n, ...)
    return gradients
  end
end

--- value_and_grad(f, n): like grad, but the function gives the value of f, then
--- the gradients, then what f returned after its first result.
--- Example: local loss, grads = value_and_grad(loss_of)(params, x, y)
local function value_and_grad(f, n)
  n = check_function("value_and_grad", f, n)
  return function(...)
    local results, gradients = run("value_and_grad", f, n, ...)
    return results[1], gradients, table.unpack(results, 2, results.n)
  end
end

-- ---- gradients of one's own -------------------------------------------------

-- What f gives for detached arguments, and the tensors of these.
local function run_detached(f, arguments)
  local inner, inputs = { n = arguments.n }, {}
  for i = 1, arguments.n do
    local a, before = arguments[i], #inputs
    tree.each(a, function(leaf) inputs[#inputs + 1] = leaf end)
    inner[i] = a
    if #inputs > before then
      inner[i] = tree.map(function(x) return x:detach() end, a)
    end
  end
  return table.pack(f(table.unpack(inner, 1, inner.n))), inputs
end

local function check_custom(results)
  local y = results[1]
  if results.n == 1 and core.is_tensor(y) then return y end
  core.fail(("custom_grad: the function must return one tensor, got %s")
    :format(results.n > 1 and results.n .. " results" or core.kind(y)),
    results.n > 1 and "stack or cat them, and take them apart outside" or nil)
end

-- What backward gave for the tensor x at a path of argument i.
local function check_gradient(d, x, i, path)
  local place = ("argument %d%s"):format(i, path == "" and "" or " at " .. path)
  if core.is_tensor(d) and d.shape == x.shape then return d end
  core.fail(("custom_grad: the gradient of %s must be a tensor of its shape %s, "
    .. "got %s"):format(place, tostring(x.shape), core.is_tensor(d)
    and tostring(d.shape) or core.kind(d)))
end

-- The function that rules.lua calls: from the gradient of y to an array of
-- functions that give the gradients of the inputs, false where there is none.
local function bind_backward(backward, arguments, y)
  return function(g)
    local given, grads = table.pack(table.unpack(arguments, 1, arguments.n)), {}
    given[arguments.n + 1] = y
    local back = table.pack(backward(g, table.unpack(given, 1,
      arguments.n + 1)))
    for i = 1, arguments.n do
      tree.each(arguments[i], function(x, path, d)
        grads[#grads + 1] = d ~= nil and function()
          if type(d) == "function" then d = d() end
          return check_gradient(d, x, i, path)
        end
      end, back[i])
    end
    return grads
  end
end

--- custom_grad(f, backward): the function f with a gradient of your own. f gets
--- tensors, nested tables of them or anything else, and returns one tensor.
--- backward(g, arguments..., result), g the gradient of the result, returns one
--- gradient for each argument: a tensor of its shape, a table for a table, or
--- nil for none; also a function that gives it, called where it is asked for.
--- backward is called when a gradient passes through, and its ops are
--- differentiated for a second one. What else f sees is constant.
--- Example: custom_grad(exp, function(g, x, y) return g * y end)
local function custom_grad(f, backward)
  check_function("custom_grad", f)
  if type(backward) ~= "function"
    and not (getmetatable(backward) or {}).__call then
    core.fail("custom_grad: argument 2 must be a function, got "
      .. core.kind(backward))
  end
  return function(...)
    if not core.watching() then return check_custom(table.pack(f(...))) end
    local arguments = table.pack(...)
    local results, inputs = run_detached(f, arguments)
    local y = check_custom(results)
    if #inputs == 0 or not FLOAT[y.dtype] then return y end
    local out = core.custom(y, table.unpack(inputs))
    rules.note_custom(core.id(out), bind_backward(backward, arguments, out))
    return out
  end
end

-- ---- the check by differences ----------------------------------------------

-- f with element i of leaf k moved by d.
local function moved(f, leaves, restore, k, i, d)
  local copy = table.move(leaves, 1, #leaves, 1, {})
  local flat = leaves[k]:reshape({ core.count(leaves[k]) })
  local v = core.slice0(flat, { { i - 1, 1, 1 } }) + d
  copy[k] = core.set0(flat, { { i - 1, 1, 1 } }, v):reshape(leaves[k].shape)
  return f(restore(copy)):item()
end

local function check_leaf(f, leaves, restore, k, gradient, o)
  local worst = 0
  local values = gradient:reshape({ core.count(gradient) }):table()
  for i, got in ipairs(values) do
    local up = moved(f, leaves, restore, k, i, o.eps)
    local down = moved(f, leaves, restore, k, i, -o.eps)
    local want = (up - down) / (2 * o.eps)
    local off = math.abs(got - want) / math.max(1, math.abs(want))
    if not (off <= o.tol) and not core.is_hidden(gradient) then
      core.fail(("gradcheck: leaf %d, element %d: the gradient is %.9g, "
        .. "differences give %.9g"):format(k, i, got, want))
    end
    worst = math.max(worst, off)
  end
  return worst
end

--- gradcheck(f, x, {eps, tol}): compares the gradient of f at x, a f64 tensor
--- or a nested table of them, with quotients of differences, at +-eps (1e-5) of
--- every element. Returns the largest deviation, relative above 1 and absolute
--- below; more than tol (1e-6) is an error that names the element.
--- Example: gradcheck(function(x) return sum(tanh(x)) end, randn(3):f64())
local function gradcheck(f, x, options)
  if type(f) ~= "function" then
    core.fail("gradcheck: argument 1 must be a function, got " .. core.kind(f))
  end
  if not core.is_tensor(x) and type(x) ~= "table" then
    core.fail("gradcheck: argument 2 must be a tensor or a table of them, got "
      .. core.kind(x))
  end
  local o = { eps = (options or {}).eps or 1e-5, tol = (options or {}).tol
    or 1e-6 }
  local leaves, restore = tree.flatten(x)
  local gradients = tree.leaves(grad(f)(x))
  local worst = 0
  for k, leaf in ipairs(leaves) do
    if leaf.dtype ~= "f64" then
      core.fail("gradcheck: differences need f64, got " .. describe(leaf),
        'x:cast("f64")')
    end
    worst = math.max(worst, check_leaf(f, leaves, restore, k, gradients[k], o))
  end
  return worst
end

return {
  grad = grad,
  value_and_grad = value_and_grad,
  gradcheck = gradcheck,
  custom_grad = custom_grad,
}
