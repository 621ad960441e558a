-- names: max_pool1d max_pool2d avg_pool1d avg_pool2d adaptive_avg_pool2d
--
-- Pooling with a small kernel is elementwise: the maximum or sum of as many
-- strided slices as the kernel has places; with a large one a reduction over
-- windows. Gradients take from the windows that an element stands in, see
-- tsh.windows: nothing is scattered.
local core = require "tsh.core"
local half = require "tsh.half"
local windows = require "tsh.windows"
local custom_grad = require("tsh.grad").custom_grad
local map, fold = core.map, core.fold

local FEW = 25 -- places of a kernel that are still taken one by one

local FLOAT = { f16 = true, bf16 = true, f32 = true, f64 = true }
local LOWEST = { bool = false, u8 = 0, u16 = 0, u32 = 0, u64 = 0, i8 = -1 << 7,
  i16 = -1 << 15, i32 = -1 << 31, i64 = math.mininteger }

local function where(c, x, y) return map("where", c, x, y) end

-- ---- windows of a pool -----------------------------------------------------
-- geometry: [1], [2] for height and width: size, stride, dilation of the kernel;
-- n, padding of the input; count of windows.

-- x with its border, exactly as much as the windows reach.
local function bordered(x, geometry, value)
  local pads = {}
  for i, a in ipairs(geometry) do
    local reach = (a.count - 1) * a.stride + a.dilation * (a.size - 1) + 1
    pads[i + 2] = { a.padding, reach - a.n - a.padding }
  end
  return windows.border(x, pads, value)
end

local function places(geometry) return geometry[1].size * geometry[2].size end

-- The elements at place y, x (from 0) of all windows.
local function at_place(xp, geometry, y, x)
  local ranges = windows.whole(xp)
  for i, j in ipairs({ y, x }) do
    local a = geometry[i]
    ranges[i + 2] = { j * a.dilation, a.count, a.stride }
  end
  return core.slice0(xp, ranges)
end

-- The slices of all places, row-major.
local function slices(xp, geometry)
  local list = {}
  for y = 0, geometry[1].size - 1 do
    for x = 0, geometry[2].size - 1 do
      list[#list + 1] = at_place(xp, geometry, y, x)
    end
  end
  return list
end

-- [n, c, rows, columns, kh, kw]
local function slide(xp, geometry)
  for i, a in ipairs(geometry) do
    xp = core.windows(xp, i + 2, a.size, a.stride, a.dilation)
  end
  return xp
end

-- With few places also their slices.
local function over_windows(xp, geometry, op, fold_op)
  if places(geometry) > FEW then
    return fold(fold_op, slide(xp, geometry), { 5, 6 })
  end
  local total, list = nil, slices(xp, geometry)
  for _, v in ipairs(list) do total = total and map(op, total, v) or v end
  return total, list
end

-- Numbers start + i*step, i from 0 to n-1, along one of `rank` axes; i32.
local function line(start, step, n, axis, rank, like)
  local shape = {}
  for i = 1, rank do shape[i] = i == axis and n or 1 end
  return (arange(0, n - 1, { dtype = "i32", device = like.device }) * step
    + start):reshape(shape)
end

-- ---- the way back ----------------------------------------------------------

-- For each element of the input: the sum over the windows that it stands in,
-- of what term(part, code) makes of the windows. part takes a slice of a tensor
-- over windows; code is the number of the place, or a tensor of them.
local function gather(g, geometry, tensors, term)
  local phases, n, bordering = {}, {}, {}
  for i, a in ipairs(geometry) do
    local list = windows.phases(a.n, a.count, a)
    phases[i], n[i] = list, a.n
    bordering[i + 2] = { list.before, list.after }
  end
  local padded = {}
  for i, t in ipairs(tensors) do
    padded[i] = windows.border(t[1], bordering, t[2])
  end
  local kw = geometry[2].size
  local function one_by_one(y, x)
    local ys, xs, total = phases[1], phases[2], nil
    for t, jy in ipairs(y.places) do
      for u, jx in ipairs(x.places) do
        local parts = {}
        for i, p in ipairs(padded) do
          parts[i] = windows.narrow(windows.narrow(p, 3, ys.before + y.first
            + (t - 1) * ys.step, ys.count), 4, xs.before + x.first
            + (u - 1) * xs.step, xs.count)
        end
        local v = term(jy * kw + jx, table.unpack(parts))
        total = total and total + v or v
      end
    end
    return total
  end
  local function together(y, x)
    local parts, codes = {}, {}
    for i, p in ipairs(padded) do
      for k, phase in ipairs({ y, x }) do
        local list, count = phases[k], #phase.places
        p = windows.narrow(p, k + 2, list.before + phase.first, list.count
          + (count - 1) * list.step)
        p = core.windows(p, k + 2, count, 1, list.step)
      end
      parts[i] = p
    end
    for k, phase in ipairs({ y, x }) do
      local first, second = phase.places[1], phase.places[2]
      codes[k] = line(first, second and second - first or 1, #phase.places, k,
        2, g)
    end
    return fold("sum", term(codes[1] * kw + codes[2], table.unpack(parts)),
      { 5, 6 })
  end
  return windows.join_phases(phases[1], phases[2], n[1], n[2],
    function(y, x)
      local few = #y.places * #x.places <= FEW
      return (few and one_by_one or together)(y, x)
    end)
end

-- The place of each window's maximum y, row-major: the first, or the last nan.
-- list: the slices of few places.
local function place_of_max(xp, y, geometry, list)
  if not list then
    local x, s = slide(xp, geometry), y.shape
    local kh, kw = geometry[1].size, geometry[2].size
    local code = line(0, kw, kh, 1, 2, x) + line(0, 1, kw, 2, 2, x)
    local hit = x:eq(y:reshape({ s[1], s[2], s[3], s[4], 1, 1 }))
    local first = fold("min", where(hit, code, kh * kw), { 5, 6 })
    local last = fold("max", where(x:isnan(), code, -1), { 5, 6 })
    return where(last:ge(0), last, first)
  end
  local place = core.full(y.shape, 0, "u8", y.device)
  -- No window has both a nan and an element that is its maximum.
  for j = 2, #list do place = where(list[j]:isnan(), j - 1, place) end
  for j = #list, 1, -1 do place = where(list[j]:eq(y), j - 1, place) end
  return place
end

-- ---- with their gradients --------------------------------------------------

local function diff_max(x, xp, geometry)
  local list -- of detached slices
  return custom_grad(function(_, a)
    local y
    y, list = over_windows(a, geometry, "maximum", "max")
    return y
  end, function(g, _, a, y)
    return function()
      local place = place_of_max(a:detach(), y:detach(), geometry, list)
      local nowhere = place.dtype == "u8" and 255 or -1
      local wide = half.wide(g)
      return half.back(gather(wide, geometry, { { place, nowhere }, { wide, 0 } },
        function(code, p, d) return where(p:eq(code), d, 0) end), g)
    end
  end)(x, xp)
end

local function diff_sum(x, geometry)
  return custom_grad(function(a)
    return (over_windows(bordered(a, geometry, 0), geometry, "add", "sum"))
  end, function(g)
    return gather(g, geometry, { { g, 0 } }, function(_, d) return d end)
  end)(x)
end

-- ---- arguments -------------------------------------------------------------

local MAX = "kernel stride padding dilation ceil"
local AVG = "kernel stride padding ceil count_pad"

local function check_input(name, x, axes)
  if not core.is_tensor(x) then
    core.fail(("%s: argument 1 must be a tensor, got %s"):format(name,
      core.kind(x)))
  end
  if #x.shape == axes + 1 or #x.shape == axes + 2 then return end
  core.fail(("%s: x must be %s, got %s"):format(name, axes == 1
    and "[n,c,l] or [c,l]" or "[n,c,h,w] or [c,h,w]", tostring(x.shape)))
end

-- Windows along an axis; with ceil the last may reach over the border, but
-- begins inside of x or its padding in front.
local function count_windows(a, ceil)
  local room = a.n + 2 * a.padding - a.dilation * (a.size - 1) - 1
  if ceil then room = room + a.stride - 1 end
  local count = room // a.stride + 1
  if ceil and (count - 1) * a.stride >= a.n + a.padding then
    count = count - 1
  end
  return room < 0 and 0 or count
end

local function geometry_of(name, x, o, axes)
  local geometry, rank = {}, #x.shape
  if o.kernel == nil then
    core.fail(name .. ": the size of the kernel is needed", "{kernel = 2}")
  end
  local size = windows.per_axis(name, "kernel", o.kernel, nil, 1, axes)
  local stride = windows.per_axis(name, "stride", o.stride, size, 1, axes)
  local padding = windows.per_axis(name, "padding", o.padding, 0, 0, axes)
  local dilation = windows.per_axis(name, "dilation", o.dilation, 1, 1, axes)
  for i = 1, axes do
    local a = { size = size[i], stride = stride[i], padding = padding[i],
      dilation = dilation[i], n = x.shape[rank - axes + i] }
    if 2 * a.padding > a.size then
      core.fail(("%s: padding is at most half of the kernel, got %d and %d")
        :format(name, a.padding, a.size))
    end
    a.count = count_windows(a, o.ceil)
    if a.n == 0 or a.count < 1 then
      core.fail(("%s: a kernel of %d reaches over %d elements, x %s with its "
        .. "padding has %d along axis %d"):format(name, a.size,
        a.dilation * (a.size - 1) + 1, tostring(x.shape), a.n + 2 * a.padding,
        rank - axes + i))
    end
    geometry[i] = a
  end
  return geometry
end

local LINE = { size = 1, stride = 1, dilation = 1, padding = 0, n = 1,
  count = 1 }

-- Calls pool(x, geometry, options) with x as [n,c,h,w].
local function shaped(name, x, options, known, axes, pool)
  check_input(name, x, axes)
  if type(options) == "number" then options = { kernel = options } end
  local o = windows.options(name, options, known)
  local geometry, s = geometry_of(name, x, o, axes), x.shape:table()
  local wide = table.move(s, 1, #s, 1, {})
  if #s == axes + 1 then table.insert(wide, 1, 1) end
  if axes == 1 then
    table.insert(wide, 3, 1)
    table.insert(geometry, 1, LINE)
  end
  if #wide ~= #s then x = x:reshape(wide) end
  local y = pool(x, geometry, o)
  for i = 1, axes do s[#s - axes + i] = geometry[#geometry - axes + i].count end
  return y:reshape(s)
end

local function max_pool(x, geometry)
  local lowest = FLOAT[x.dtype] and -math.huge or LOWEST[x.dtype]
  return diff_max(x, bordered(x, geometry, lowest), geometry)
end

-- How many elements each window of an axis counts, as f32 along that axis.
local function counts(a, count_pad, axis, x)
  local first = line(-a.padding, a.stride, a.count, axis, 4, x)
  local behind = a.n + (count_pad and a.padding or 0)
  local last = map("minimum", first + a.size, behind)
  if not count_pad then first = map("maximum", first, 0) end
  return (last - first):cast("f32")
end

local function avg_pool(x, geometry, o)
  local count_pad, all = o.count_pad ~= false, true
  local y = half.wide(FLOAT[x.dtype] and x or x:cast("f32"))
  for _, a in ipairs(geometry) do
    local reach = (a.count - 1) * a.stride + a.size
    all = all and reach <= a.n + 2 * a.padding
      and (count_pad or a.padding == 0 and reach <= a.n)
  end
  local total = diff_sum(y, geometry)
  if all then
    y = total / places(geometry)
  else
    y = total / (counts(geometry[1], count_pad, 3, x)
      * counts(geometry[2], count_pad, 4, x)):cast(y.dtype)
  end
  return half.back(y, x)
end

-- ---- the functions ---------------------------------------------------------

--- max_pool2d(x, {kernel=, stride=kernel, padding=0, dilation=1, ceil=false}):
--- the largest element of each window of x [n,c,h,w] or [c,h,w]; nan wins. Sizes
--- are numbers or {height, width}; max_pool2d(x, 2) names the kernel alone.
--- Padding counts as lower than anything. ceil: the last window may reach over
--- the border. The gradient goes to the first of equal maxima. Errors: a kernel
--- larger than the padded x, padding above half of the kernel.
--- Example: max_pool2d(tensor{{{1.0, 2.0}, {3.0, 4.0}}}, 2) --> 4
local function max_pool2d(x, options)
  return shaped("max_pool2d", x, options, MAX, 2, max_pool)
end

--- max_pool1d(x, {kernel=, stride=kernel, padding=0, dilation=1, ceil=false}):
--- as max_pool2d, of x [n,c,l] or [c,l].
--- Example: max_pool1d(tensor{{1.0, 3.0, 2.0, 4.0}}, 2) --> 3 4
local function max_pool1d(x, options)
  return shaped("max_pool1d", x, options, MAX, 1, max_pool)
end

--- avg_pool2d(x, {kernel=, stride=kernel, padding=0, ceil=false,
--- count_pad=true}): the mean of each window of x [n,c,h,w] or [c,h,w], with the
--- zeros of its padding, or without them by count_pad=false. Other options and
--- errors as in max_pool2d; of bool and integers it is f32.
--- Example: avg_pool2d(tensor{{{1.0, 2.0}, {3.0, 4.0}}}, 2) --> 2.5
local function avg_pool2d(x, options)
  return shaped("avg_pool2d", x, options, AVG, 2, avg_pool)
end

--- avg_pool1d(x, {kernel=, stride=kernel, padding=0, ceil=false,
--- count_pad=true}): as avg_pool2d, of x [n,c,l] or [c,l].
--- Example: avg_pool1d(tensor{{1.0, 3.0, 2.0, 4.0}}, 2) --> 2 3
local function avg_pool1d(x, options)
  return shaped("avg_pool1d", x, options, AVG, 1, avg_pool)
end

-- Means over n/size parts of an axis, each from its rounded start to its
-- rounded end.
local function part_means(x, axis, size)
  local n, parts = x.shape[axis], {}
  if size == 1 then return x:mean({ axis = axis, keep = true }) end
  for i = 0, size - 1 do
    local first, last = i * n // size, ((i + 1) * n + size - 1) // size
    parts[i + 1] = windows.narrow(x, axis, first, last - first)
      :mean({ axis = axis, keep = true })
  end
  return core.cat(parts, axis)
end

--- adaptive_avg_pool2d(x, size): means over a grid of size (a number or
--- {height, width}) parts of x [n,c,h,w] or [c,h,w]; of size 1 over all of h, w.
--- Example: adaptive_avg_pool2d(ones(2, 3, 8, 8), 1) --> f32[2,3,1,1]
local function adaptive_avg_pool2d(given, size)
  local name = "adaptive_avg_pool2d"
  check_input(name, given, 2)
  local x = half.wide(given)
  local parts, rank = windows.per_axis(name, "the size", size, nil, 1, 2),
    #x.shape
  for i = 1, 2 do
    local n = x.shape[rank - 2 + i]
    if n == 0 then
      core.fail(("%s: x %s has no element along axis %d"):format(name,
        tostring(x.shape), rank - 2 + i))
    end
    if n % parts[i] > 0 or parts[i] == 1 then
      x = part_means(x, rank - 2 + i, parts[i])
    else
      local kernel = { 1, 1 }
      kernel[i] = n // parts[i]
      x = avg_pool2d(x, { kernel = kernel })
    end
  end
  return half.back(x, given)
end

return { max_pool1d = max_pool1d, max_pool2d = max_pool2d,
  avg_pool1d = avg_pool1d, avg_pool2d = avg_pool2d,
  adaptive_avg_pool2d = adaptive_avg_pool2d }
