-- Windows that slide over axes, and the way back: what convolution, pooling
-- and the gradient of unfold share. No names: for the library alone.
--
-- Along one axis element i*stride + j*dilation - padding of x stands at place j
-- of window i. The way back asks for each element of x which windows it stands
-- in. Elements p = q*stride + r of one phase r have the same answer for every
-- q: windows q + e at places j, with e*stride = r + padding - j*dilation. So a
-- phase is a sum over slices, shifted by e, of what belongs to the windows; the
-- phases are then joined. Nothing is scattered.
local core = require "tsh.core"
local half = require "tsh.half"

local windows = {}

-- Ranges for core.slice0 that take all of x.
function windows.whole(x)
  local ranges, shape = {}, x.shape
  for i = 1, #shape do ranges[i] = { 0, shape[i], 1 } end
  return ranges
end

-- x, from `start` on `count` elements along an axis.
function windows.narrow(x, axis, start, count)
  local ranges = windows.whole(x)
  if start == 0 and count == ranges[axis][2] then return x end
  ranges[axis] = { start, count, 1 }
  return core.slice0(x, ranges)
end

-- x with a border along some axes: pads[axis] = {before, after}. A negative
-- border takes elements off.
function windows.border(x, pads, value)
  local before, after, any = {}, {}, false
  for axis = 1, #x.shape do
    local p = pads[axis] or { 0, 0 }
    local lo, hi = math.max(-p[1], 0), math.max(-p[2], 0)
    if lo + hi > 0 then
      x = windows.narrow(x, axis, lo, x.shape[axis] - lo - hi)
    end
    before[axis], after[axis] = math.max(p[1], 0), math.max(p[2], 0)
    any = any or before[axis] + after[axis] > 0
  end
  return any and core.pad0(x, before, after, value or 0) or x
end

-- The phases of an axis of n elements with m windows of g.size places. Each
-- has `first`, the smallest e, counted from `before` windows in front of the
-- first one on; places[t], the place of x in window q + first + (t-1)*step;
-- step is the same in all. before, after: windows that are looked at but do not
-- exist.
function windows.phases(n, m, g)
  local s, d = g.stride, g.dilation
  local list = { count = (n + s - 1) // s, step = 1, before = 0, after = 0 }
  for r = 0, math.min(s, n) - 1 do
    local phase = { places = {} }
    for j = g.size - 1, 0, -1 do
      local e = r + g.padding - j * d
      if e % s == 0 then
        e = e // s
        if not phase.first then
          phase.first = e
        elseif #phase.places == 1 then
          list.step = e - phase.first
        end
        phase.last = e
        phase.places[#phase.places + 1] = j
      end
    end
    if phase.first then
      list.before = math.max(list.before, -phase.first)
      list.after = math.max(list.after, list.count - 1 + phase.last - (m - 1))
    end
    list[#list + 1] = phase
  end
  return list
end

-- The tensor whose elements q*#parts + r along an axis are part r.
function windows.join(parts, axis)
  if #parts == 1 then return parts[1] end
  local shape, wide, list = parts[1].shape:table(), {}, {}
  table.move(shape, 1, axis, 1, wide)
  wide[axis + 1] = 1
  table.move(shape, axis + 1, #shape, axis + 2, wide)
  for i, part in ipairs(parts) do list[i] = part:reshape(wide) end
  shape[axis] = shape[axis] * #parts
  return core.cat(list, axis + 1):reshape(shape)
end

-- What make(y, x) gives, [n,c,..], for the phases of two axes, joined along them
-- to h x w elements; nil, which means zeros, where every element lies beside all
-- windows.
function windows.join_phases(ys, xs, h, w, make)
  local parts, like = {}, nil
  for _, y in ipairs(ys) do
    for _, x in ipairs(xs) do
      local part = y.first and x.first and make(y, x) or false
      parts[#parts + 1], like = part, like or part or nil
    end
  end
  if not like then return nil end
  local s = like.shape
  if #parts > 1 then
    local wide, rows = { s[1], s[2], s[3], 1, s[4], 1 }, {}
    for i, part in ipairs(parts) do
      parts[i] = (part or core.full(s, 0, like.dtype, like.device))
        :reshape(wide)
    end
    for i = 1, #ys do
      local row = table.move(parts, (i - 1) * #xs + 1, i * #xs, 1, {})
      rows[i] = #row > 1 and core.cat(row, 6) or row[1]
    end
    like = (#rows > 1 and core.cat(rows, 4) or rows[1])
      :reshape({ s[1], s[2], s[3] * #ys, s[4] * #xs })
  end
  return windows.narrow(windows.narrow(like, 3, 0, h), 4, 0, w)
end

-- ---- the gradient of unfold ------------------------------------------------

-- Places that lie side by side: s of them are a block, blocks b of window q are
-- block q + b of x, seen as rows of s.
local function unwindow_blocks(g, axis, n, size, s)
  local rank = #g.shape
  local blocks = (size + s - 1) // s
  local rows = math.max((n + s - 1) // s, 1)
  local after = rows - g.shape[axis]
  g = windows.border(g, { [axis] = { blocks - 1, math.max(after, 0) },
    [rank] = { 0, blocks * s - size } })
  local total
  for b = 0, blocks - 1 do
    local part = windows.narrow(windows.narrow(g, axis, blocks - 1 - b, rows),
      rank, b * s, s)
    total = total and total + part or part
  end
  local order, shape = {}, {}
  for i = 1, rank - 1 do
    order[#order + 1], shape[i] = i, total.shape[i]
    if i == axis then order[#order + 1] = rank end
  end
  shape[axis] = rows * s
  return windows.narrow(total:permute(order):reshape(shape), axis, 0, n)
end

local function drop_last(x)
  local shape = x.shape:table()
  shape[#shape] = nil
  return x:reshape(shape)
end

local function unwindow(g, axis, n, size, stride, dilation)
  local rank, parts = #g.shape, {}
  if dilation == 1 and stride > 1 or size == 1 then
    return unwindow_blocks(g, axis, n, size, stride)
  end
  local list = windows.phases(n, g.shape[axis], { size = size,
    stride = stride, dilation = dilation, padding = 0 })
  g = windows.border(g, { [axis] = { list.before, list.after } })
  for r, phase in ipairs(list) do
    for t, j in ipairs(phase.places) do
      local at = list.before + phase.first + (t - 1) * list.step
      local part = drop_last(windows.narrow(windows.narrow(g, axis, at,
        list.count), rank, j, 1))
      parts[r] = parts[r] and parts[r] + part or part
    end
    if not parts[r] then
      local shape = drop_last(windows.narrow(g, rank, 0, 1)).shape:table()
      shape[axis] = list.count
      parts[r] = core.full(shape, 0, g.dtype, g.device)
    end
  end
  return windows.narrow(windows.join(parts, axis), axis, 0, n)
end

-- g, of the result of unfold, added up along an axis of n elements.
function windows.unwindow(g, ...)
  return half.back(unwindow(half.wide(g), ...), g)
end

-- ---- arguments -------------------------------------------------------------

local function has_word(words, word)
  for w in words:gmatch("%S+") do
    if w == word then return true end
  end
  return false
end

-- The table of options of a call.
function windows.options(name, value, known)
  if value == nil then return {} end
  if type(value) ~= "table" or core.is_tensor(value) then
    core.fail(("%s: options are a table, got %s"):format(name,
      core.kind(value)), "it has: " .. known)
  end
  for k in pairs(value) do -- order-free
    if not has_word(known, k) then
      core.fail(("%s: unknown option '%s'"):format(name, tostring(k)),
        "it has: " .. known)
    end
  end
  return value
end

local function whole(name, what, v, least)
  local i = type(v) == "number" and math.tointeger(v)
  if i and i >= least then return i end
  core.fail(("%s: %s must be a whole number from %d, got %s"):format(name, what,
    least, type(v) == "number" and tostring(v) or core.kind(v)))
end
windows.whole_number = whole

-- An option of the axes: a number for each or one for all.
function windows.per_axis(name, what, v, default, least, axes)
  local list = {}
  if v == nil then v = default end
  if type(v) == "table" and #v ~= axes then
    core.fail(("%s: %s must be a number or a list of %d, got a list of %d")
      :format(name, what, axes, #v))
  end
  for i = 1, axes do
    list[i] = whole(name, what, type(v) == "table" and v[i] or v, least)
  end
  return list
end

return windows
