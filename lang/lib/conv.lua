-- names: conv1d conv2d conv_transpose1d conv_transpose2d
--
-- A convolution is one dot of the weights with windows of x, a view: nothing
-- the size of its windows is made, and what follows fuses into it. Three
-- products belong together, each the gradient of the others: forward(x, w),
-- to_input(g, w), to_weight(x, g). All are dots of views.
local core = require "tsh.core"
local half = require "tsh.half"
local windows = require "tsh.windows"
local custom_grad = require("tsh.grad").custom_grad

local FLOAT = { f16 = true, bf16 = true, f32 = true, f64 = true }

-- ---- the three products ----------------------------------------------------
-- geometry: groups, and [1], [2] for height and width: size, stride, dilation
-- of the kernel; n, padding of the input (padding in front); count of windows.
-- x [n,c,h,w], weights [oc, c/groups, kh,kw], results g [n,oc,oh,ow].

-- [n, c, rows, columns, kh, kw]
local function slide(x, size, stride, dilation)
  x = core.windows(x, 3, size[1], stride[1], dilation[1])
  return core.windows(x, 4, size[2], stride[2], dilation[2])
end

local function each(geometry, key)
  return { geometry[1][key], geometry[2][key] }
end

-- One channel by one kernel each: no product of matrices, but elementwise over
-- as many slices as the kernel has places. The same steps as those of a dot.
local function depthwise(x, w, count, stride, dilation)
  local ws, total = w.shape, 0
  for i = 0, ws[4] - 1 do
    for k = 0, ws[5] - 1 do
      local part, one = windows.whole(x), windows.whole(w)
      part[3] = { i * dilation[1], count[1], stride[1] }
      part[4] = { k * dilation[2], count[2], stride[2] }
      one[4], one[5] = { i, 1, 1 }, { k, 1, 1 }
      total = core.map("fma", core.slice0(x, part),
        core.slice0(w, one):reshape({ 1, ws[1], 1, 1 }), total)
    end
  end
  return total
end

local FEW = 25 -- places of a kernel that are taken one by one

-- Weights [groups, rows, k, kh, kw] by windows of x: [n, groups*rows, ..].
local function product(x, w, size, stride, dilation)
  local ws, xs = w.shape, slide(x, size, stride, dilation)
  local s = xs.shape
  if ws[1] > 1 and ws[2] * ws[3] == 1 and ws[4] * ws[5] <= FEW
    and FLOAT[x.dtype] and FLOAT[w.dtype] then
    return depthwise(x, w, { s[3], s[4] }, stride, dilation)
  end
  if ws[1] == 1 then
    return core.dot(w:reshape({ 1, ws[2], 1, 1, ws[3], ws[4], ws[5] }),
      xs:permute({ 1, 3, 4, 2, 5, 6 })
        :reshape({ s[1], 1, s[3], s[4], s[2], s[5], s[6] }), { 5, 6, 7 })
  end
  local y = core.dot(w:reshape({ 1, ws[1], ws[2], 1, 1, ws[3], ws[4], ws[5] }),
    xs:reshape({ s[1], ws[1], ws[3], s[3], s[4], s[5], s[6] })
      :permute({ 1, 2, 4, 5, 3, 6, 7 })
      :reshape({ s[1], ws[1], 1, s[3], s[4], ws[3], s[5], s[6] }), { 6, 7, 8 })
  return y:reshape({ s[1], ws[1] * ws[2], s[3], s[4] })
end

-- x with its border, and without what no window reaches.
local function bordered(x, geometry)
  local pads = {}
  for i, a in ipairs(geometry) do
    local reach = (a.count - 1) * a.stride + a.dilation * (a.size - 1) + 1
    pads[i + 2] = { a.padding, reach - a.n - a.padding }
  end
  return windows.border(x, pads)
end

local function grouped(w, groups)
  local s = w.shape
  return w:reshape({ groups, s[1] // groups, s[2], s[3], s[4] })
end

local function forward(xp, w, geometry)
  return product(xp, grouped(w, geometry.groups), each(geometry, "size"),
    each(geometry, "stride"), each(geometry, "dilation"))
end

-- The weights at the places of two phases, whose inputs are now rows.
local function turned(w, y, x, groups)
  local ranges = windows.whole(w)
  for i, places in ipairs({ y.places, x.places }) do
    local step = places[2] and places[2] - places[1] or 1
    ranges[i + 2] = { places[1], #places, step }
  end
  return grouped(core.slice0(w, ranges), groups):permute({ 1, 3, 2, 4, 5 })
end

-- One phase of the input has its own few places of the kernel: a stride costs
-- no multiplication with zeros.
local function to_input(g, w, geometry)
  local phases, n = {}, {}
  for i, a in ipairs(geometry) do
    phases[i], n[i] = windows.phases(a.n, g.shape[i + 2], a), a.n
  end
  local ys, xs = phases[1], phases[2]
  local gp = windows.border(g, { [3] = { ys.before, ys.after },
    [4] = { xs.before, xs.after } })
  local function reached(y, x)
    local part, size = gp, {}
    for i, phase in ipairs({ y, x }) do
      local list, places = phases[i], #phase.places
      size[i] = places
      part = windows.narrow(part, i + 2, list.before + phase.first,
        list.count + (places - 1) * list.step)
    end
    return product(part, turned(w, y, x, geometry.groups), size, { 1, 1 },
      { ys.step, xs.step })
  end
  return windows.join_phases(ys, xs, n[1], n[2], reached)
    or core.full({ g.shape[1], w.shape[2] * geometry.groups, n[1], n[2] }, 0,
      g.dtype, g.device)
end

local function to_weight(xp, g, geometry)
  local groups, gs = geometry.groups, g.shape
  local x = slide(xp, each(geometry, "size"), each(geometry, "stride"),
    each(geometry, "dilation"))
  local s = x.shape
  local c, oc = s[2] // groups, gs[2] // groups
  if groups == 1 then
    x = x:permute({ 2, 5, 6, 1, 3, 4 })
      :reshape({ 1, c, s[5], s[6], s[1], s[3], s[4] })
    g = g:permute({ 2, 1, 3, 4 }):reshape({ oc, 1, 1, 1, s[1], s[3], s[4] })
    return core.dot(g, x, { 5, 6, 7 })
  end
  x = x:reshape({ s[1], groups, c, s[3], s[4], s[5], s[6] })
    :permute({ 2, 3, 6, 7, 1, 4, 5 })
    :reshape({ groups, 1, c, s[5], s[6], s[1], s[3], s[4] })
  g = g:reshape({ s[1], groups, oc, s[3], s[4] }):permute({ 2, 3, 1, 4, 5 })
    :reshape({ groups, oc, 1, 1, 1, s[1], s[3], s[4] })
  return core.dot(g, x, { 6, 7, 8 }):reshape({ gs[2], c, s[5], s[6] })
end

-- ---- with their gradients --------------------------------------------------
-- A gradient is a function, so that what nobody asks for is not recorded.

local diff_input, diff_weight

-- The gradient of a plain sum is one number, which the planner does not write;
-- but a product that reads each element often is fast on memory only.
local function written(g) return g * 1 end

-- xp is x with its border: given beside x, it is made once for this and the
-- gradient of the weights, which a second gradient follows back to x.
local function diff_forward(x, xp, w, geometry)
  return custom_grad(function(_, b, v) return forward(b, v, geometry) end,
    function(g, _, b, v)
      g = written(g)
      return function() return diff_input(g, v, geometry) end, nil,
        function() return diff_weight(b, g, geometry) end
    end)(x, xp, w)
end

function diff_input(g, w, geometry)
  return custom_grad(function(a, b) return to_input(a, b, geometry) end,
    function(d, a, b)
      d = written(d)
      local dp = bordered(d, geometry)
      return function() return diff_forward(d, dp, b, geometry) end,
        function() return diff_weight(dp, a, geometry) end
    end)(g, w)
end

-- The same for an input that has its border.
local function without_border(xp, geometry)
  local inner = { groups = geometry.groups }
  for i, a in ipairs(geometry) do
    inner[i] = { size = a.size, stride = a.stride, dilation = a.dilation,
      count = a.count, padding = 0, n = xp.shape[i + 2] }
  end
  return inner
end

function diff_weight(xp, g, geometry)
  return custom_grad(function(a, b) return to_weight(a, b, geometry) end,
    function(d, a, b)
      local inner = without_border(a, geometry)
      return function() return diff_input(b, d, inner) end,
        function() return diff_forward(a, a, d, inner) end
    end)(xp, g)
end

-- ---- arguments -------------------------------------------------------------

local CONV = "stride padding dilation groups bias"
local TRANSPOSE = "stride padding output_padding dilation groups bias"

local function check_tensors(name, x, w, axes)
  for i = 1, 2 do
    local t = ({ x, w })[i]
    if not core.is_tensor(t) then
      core.fail(("%s: argument %d must be a tensor, got %s"):format(name, i,
        core.kind(t)))
    end
  end
  if promote(x.dtype, w.dtype) == "bool" then
    core.fail(name .. ": there is no product of bool; cast it",
      'x:cast("f32")')
  end
  local rank = #x.shape
  if #w.shape == axes + 2 and (rank == axes + 2 or rank == axes + 1) then
    return rank
  end
  local of = axes == 1 and "[n,c,l] or [c,l]" or "[n,c,h,w] or [c,h,w]"
  core.fail(("%s: x must be %s and the weights have %d axes, got %s and %s")
    :format(name, of, axes + 2, tostring(x.shape), tostring(w.shape)))
end

local function check_groups(name, x, w, groups, transposed)
  local c, from, given = x.shape[2], w.shape[transposed and 1 or 2], w.shape[1]
  if c % groups > 0 or given % groups > 0 then
    core.fail(("%s: %d groups must divide the channels of x %s and axis 1 of "
      .. "the weights %s"):format(name, groups, tostring(x.shape),
      tostring(w.shape)))
  end
  local want = transposed and c or c // groups
  if from == want then return end
  core.fail(("%s: x %s in %d group%s needs weights with %d channels, got %s")
    :format(name, tostring(x.shape), groups, groups == 1 and "" or "s", want,
    tostring(w.shape)))
end

local function add_bias(name, y, bias)
  local channels = y.shape[2]
  if bias == nil or bias == false then return y end
  if not core.is_tensor(bias) or not (bias.shape == { channels }) then
    core.fail(("%s: the bias must have the shape [%d], got %s"):format(name,
      channels, core.is_tensor(bias) and tostring(bias.shape)
      or core.kind(bias)))
  end
  return y + half.wide(bias):reshape({ channels, 1, 1 })
end

-- Padding in front and behind of each axis: numbers, "valid" or "same".
local function paddings(name, v, kernel, axes)
  local list = {}
  if type(v) ~= "string" then
    local pads = windows.per_axis(name, "padding", v, 0, 0, axes)
    for i = 1, axes do list[i] = { pads[i], pads[i] } end
    return list
  end
  if v ~= "same" and v ~= "valid" then
    core.fail(('%s: padding is a number, "same" or "valid", got "%s"')
      :format(name, v))
  end
  for i = 1, axes do
    local k = kernel[i]
    if v == "same" and k.stride > 1 then
      core.fail(('%s: padding "same" needs stride 1, got %d'):format(name,
        k.stride))
    end
    local all = v == "same" and k.dilation * (k.size - 1) or 0
    list[i] = { all // 2, all - all // 2 }
  end
  return list
end

local function kernel_of(name, w, o, axes)
  local stride = windows.per_axis(name, "stride", o.stride, 1, 1, axes)
  local dilation = windows.per_axis(name, "dilation", o.dilation, 1, 1, axes)
  local kernel = {
    groups = windows.whole_number(name, "groups",
      o.groups == nil and 1 or o.groups, 1),
  }
  for i = 1, axes do
    kernel[i] = { size = w.shape[i + 2], stride = stride[i],
      dilation = dilation[i] }
  end
  return kernel
end

-- An axis of extent 1 in front of the only one.
local LINE = { size = 1, stride = 1, dilation = 1, padding = 0, n = 1,
  count = 1 }

local function add_line(t)
  local s = t.shape
  return t:reshape({ s[1], s[2], 1, s[3] })
end

-- Four axes of x and w, two of the kernel; and the way back for the result.
local function shaped(x, w, kernel, axes)
  x, w = half.wide(x), half.wide(w)
  if axes == 2 then return x, w, function(y) return y end end
  table.insert(kernel, 1, LINE)
  return add_line(x), add_line(w), function(y)
    return y:reshape({ y.shape[1], y.shape[2], y.shape[4] })
  end
end

local function check_empty(name, x, w)
  if core.count(w) > 0 then return end
  core.fail(("%s: weights %s have no element for x %s"):format(name,
    tostring(w.shape), tostring(x.shape)))
end

-- ---- the functions ---------------------------------------------------------

-- Extents of the input and the number of windows, into the kernel's axes.
local function fit_kernel(name, x, w, kernel, pads, axes)
  for i = 1, axes do
    local k, n = kernel[i], x.shape[#x.shape - axes + i]
    local room = n + pads[i][1] + pads[i][2] - k.dilation * (k.size - 1) - 1
    if room < 0 then
      core.fail(("%s: the kernel of weights %s reaches over %d elements, x %s "
        .. "with its padding has %d along axis %d"):format(name,
        tostring(w.shape), k.dilation * (k.size - 1) + 1, tostring(x.shape),
        n + pads[i][1] + pads[i][2], #x.shape - axes + i))
    end
    k.n, k.padding, k.count = n, pads[i][1], room // k.stride + 1
  end
end

local function convolve(name, x, w, options, axes)
  local rank, o = check_tensors(name, x, w, axes),
    windows.options(name, options, CONV)
  if rank == axes + 1 then
    return convolve(name, x:unsqueeze(1), w, options, axes):squeeze(1)
  end
  local kernel = kernel_of(name, w, o, axes)
  check_empty(name, x, w)
  check_groups(name, x, w, kernel.groups)
  fit_kernel(name, x, w, kernel, paddings(name, o.padding, kernel, axes), axes)
  local x4, w4, back = shaped(x, w, kernel, axes)
  local y = diff_forward(x4, bordered(x4, kernel), w4, kernel)
  return half.back(back(add_bias(name, y, o.bias)), x, w, o.bias)
end

--- conv2d(x, w, {stride=1, padding=0, dilation=1, groups=1, bias=}):
--- cross-correlation of x [n,c,h,w] or [c,h,w] with weights w
--- [out, c/groups, kh, kw]; bias [out]. stride, padding, dilation are numbers or
--- {height, width}; padding is also "valid" (none) or "same" (the result is as
--- large as x). Errors: a kernel larger than the padded x, channels that the
--- groups do not divide.
--- Example: conv2d(ones(1, 1, 4, 4), ones(1, 1, 3, 3), {padding = 1})
local function conv2d(x, w, options)
  return convolve("conv2d", x, w, options, 2)
end

--- conv1d(x, w, {stride=1, padding=0, dilation=1, groups=1, bias=}):
--- cross-correlation of x [n,c,l] or [c,l] with weights w [out, c/groups, k];
--- bias [out]. padding is a number, "valid" or "same". Errors: as conv2d.
--- Example: conv1d(tensor{{1.0, 2.0, 3.0}}, tensor{{{1.0, 2.0}}}) --> 5 8
local function conv1d(x, w, options)
  return convolve("conv1d", x, w, options, 1)
end

-- Extents of the result, which is the input of the convolution turned round.
local function fit_transposed(name, x, kernel, o, axes)
  local pads = windows.per_axis(name, "padding", o.padding, 0, 0, axes)
  local more = windows.per_axis(name, "output_padding", o.output_padding, 0, 0,
    axes)
  for i = 1, axes do
    local k, m = kernel[i], x.shape[#x.shape - axes + i]
    if more[i] >= math.max(k.stride, k.dilation) then
      core.fail(("%s: output_padding must be below stride or dilation, got %d "
        .. "with stride %d and dilation %d"):format(name, more[i], k.stride,
        k.dilation))
    end
    k.padding, k.count = pads[i], m
    k.n = (m - 1) * k.stride - 2 * pads[i] + k.dilation * (k.size - 1)
      + more[i] + 1
    if m < 1 or k.n < 1 then
      core.fail(("%s: x %s with kernel %d, stride %d, padding %d gives no "
        .. "element"):format(name, tostring(x.shape), k.size, k.stride,
        pads[i]))
    end
  end
end

local function transpose(name, x, w, options, axes)
  local rank, o = check_tensors(name, x, w, axes),
    windows.options(name, options, TRANSPOSE)
  if rank == axes + 1 then
    return transpose(name, x:unsqueeze(1), w, options, axes):squeeze(1)
  end
  local kernel = kernel_of(name, w, o, axes)
  check_empty(name, x, w)
  check_groups(name, x, w, kernel.groups, true)
  fit_transposed(name, x, kernel, o, axes)
  local x4, w4, back = shaped(x, w, kernel, axes)
  local y = diff_input(x4, w4, kernel)
  return half.back(back(add_bias(name, y, o.bias)), x, w, o.bias)
end

--- conv_transpose2d(x, w, {stride=1, padding=0, output_padding=0, dilation=1,
--- groups=1, bias=}): the gradient of conv2d by its input, as a function: x
--- [n,c,h,w] or [c,h,w], w [c, out/groups, kh, kw], bias [out]. The result has
--- (h-1)*stride - 2*padding + dilation*(kh-1) + output_padding + 1 rows.
--- Example: conv_transpose2d(ones(1, 1, 2, 2), ones(1, 1, 2, 2), {stride = 2})
local function conv_transpose2d(x, w, options)
  return transpose("conv_transpose2d", x, w, options, 2)
end

--- conv_transpose1d(x, w, options): as conv_transpose2d, of x [n,c,l] or [c,l]
--- and w [c, out/groups, k].
--- Example: conv_transpose1d(tensor{{1.0, 2.0}}, tensor{{{1.0, 1.0}}}) --> 1 3 2
local function conv_transpose1d(x, w, options)
  return transpose("conv_transpose1d", x, w, options, 1)
end

return { conv1d = conv1d, conv2d = conv2d, conv_transpose1d = conv_transpose1d,
  conv_transpose2d = conv_transpose2d }
