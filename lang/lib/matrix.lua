-- names: dot trace diagonal diag tril triu
-- methods: dot trace diagonal diag tril triu
--
-- Diagonals, and the scalar product.
local core = require "tsh.core"
local args = require "tsh.args"
local map = core.map

--- dot(x, y): the sum of the products of two tensors of one axis.
--- Example: dot(tensor{1, 2}, tensor{3, 4}) --> 11
local function dot(x, y)
  args.check_tensor("dot", x)
  args.check_tensor("dot", y, 2)
  if #x.shape ~= 1 or #y.shape ~= 1 then
    core.fail(("dot: two tensors of one axis are needed, got %s and %s"):format(
      tostring(x.shape), tostring(y.shape)), "matmul takes more axes")
  end
  if x.shape ~= y.shape then
    core.fail(("dot: sizes differ: %d and %d"):format(x.shape[1], y.shape[1]))
  end
  if promote(x.dtype, y.dtype) == "bool" then
    core.fail("dot: there is no product of bool; cast it", 'x:cast("i64")')
  end
  return x:matmul(y)
end

-- An option that is a whole number, 0 without it.
local function shift_of(name, o, key)
  return args.whole_number(name, key, o[key] == nil and 0 or o[key])
end

local function check_matrix(name, x)
  args.check_tensor(name, x)
  if #x.shape >= 2 then return end
  core.fail(("%s: at least two axes are needed, got %s"):format(name,
    tostring(x.shape)))
end

-- The diagonal of the last two axes, from which `offset` columns to the right.
local function last_diagonal(x, offset)
  local s = args.sizes(x)
  local m, n = table.remove(s, #s - 1), table.remove(s)
  local first = offset < 0 and -offset * n or offset
  local count = math.max(0, math.min(m + math.min(offset, 0),
    n - math.max(offset, 0)))
  s[#s + 1] = m * n
  return args.strided(x:reshape(s), #s, count > 0 and first or 0, count, n + 1)
end

--- diagonal(x, offset) or diagonal(x, {offset=0, axis={1, 2}}): the elements
--- whose positions along two axes are the same, or offset columns to the right;
--- they are the last axis of the result.
--- Example: diagonal(tensor{{1, 2}, {3, 4}}) --> 1 4
local function diagonal(x, offset, opts)
  check_matrix("diagonal", x)
  local o = args.options("diagonal", offset, "offset", "offset axis", opts)
  local two, order, rank = o.axis or { 1, 2 }, {}, #x.shape
  if type(two) ~= "table" or #two ~= 2 then
    core.fail("diagonal: axis is a list of two axes")
  end
  two = args.axes_of("diagonal", x, two)
  for i = 1, rank do
    if i ~= two[1] and i ~= two[2] then order[#order + 1] = i end
  end
  order[rank - 1], order[rank] = two[1], two[2]
  return last_diagonal(x:permute(order), shift_of("diagonal", o, "offset"))
end

--- trace(x): the sum of the diagonal of a matrix.
--- Example: trace(tensor{{1, 2}, {3, 4}}) --> 5
local function trace(x)
  args.check_tensor("trace", x)
  if #x.shape ~= 2 then
    core.fail("trace: a matrix is needed, got " .. tostring(x.shape))
  end
  return core.fold("sum", last_diagonal(x, 0))
end

-- i64 [m, n]: the column of each element less its row.
local function columns_ahead(m, n, device)
  local row = arange(m, { device = device }):reshape({ m, 1 })
  return arange(n, { device = device }):reshape({ 1, n }) - row
end

--- diag(x, offset) or diag(x, {offset=0}): of a matrix its diagonal; of one axis
--- the matrix that has it there and else 0.
--- Example: diag(tensor{1, 2}) --> 1 0 / 0 2
local function diag(x, offset, opts)
  args.check_tensor("diag", x)
  local o = args.options("diag", offset, "offset", "offset", opts)
  local k = shift_of("diag", o, "offset")
  if #x.shape == 2 then return last_diagonal(x, k) end
  if #x.shape ~= 1 then
    core.fail("diag: one or two axes are needed, got " .. tostring(x.shape),
      "diagonal takes more")
  end
  local size = x.shape[1] + math.abs(k)
  local wide = core.pad0(x, { math.max(0, k) }, { math.max(0, -k) }, 0)
  local ahead = columns_ahead(size, size, x.device)
  return map("where", ahead:eq(k), wide:reshape({ 1, size }),
    core.full({}, 0, x.dtype, x.device))
end

local function triangle(name, op, x, offset, opts)
  check_matrix(name, x)
  local o = args.options(name, offset, "offset", "offset", opts)
  local s = x.shape
  local ahead = columns_ahead(s[#s - 1], s[#s], x.device)
  return map("where", map(op, ahead, shift_of(name, o, "offset")), x,
    core.full({}, 0, x.dtype, x.device))
end

--- tril(x, offset) or tril(x, {offset=0}): x with 0 above the diagonal of its
--- last two axes, or above the one that is offset columns to the right.
--- Example: tril(ones(2, 2)) --> 1 0 / 1 1
local function tril(x, offset, opts)
  return triangle("tril", "le", x, offset, opts)
end

--- triu(x, offset) or triu(x, {offset=0}): x with 0 below the diagonal of its
--- last two axes, or below the one that is offset columns to the right.
--- Example: triu(ones(2, 2)) --> 1 1 / 0 1
local function triu(x, offset, opts)
  return triangle("triu", "ge", x, offset, opts)
end

return {
  dot = dot,
  trace = trace,
  diagonal = diagonal,
  diag = diag,
  tril = tril,
  triu = triu,
}
