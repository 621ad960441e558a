-- What a network is made of: a table of its layers, the shapes they give and
-- how much they hold. Nothing is computed, only recorded.
local core = require "tsh.core"
local checks = require "tsh.checks"
local kinds = require "tsh.kinds"
local tree = require("tsh.tree").tree

local SIZE = { bool = 1, u8 = 1, i8 = 1, i16 = 2, u16 = 2, f16 = 2, bf16 = 2,
  i32 = 4, u32 = 4, f32 = 4, i64 = 8, u64 = 8, f64 = 8, c64 = 8 }

local function bytes_of(params)
  local n = 0
  for _, t in ipairs(tree.leaves(params)) do
    n = n + core.count(t) * SIZE[t.dtype]
  end
  return n
end

-- ---- rows ------------------------------------------------------------------

local function shape_text(shape, batched)
  local parts = {}
  for i, n in ipairs(shape) do parts[i] = tostring(n) end
  if batched then parts[1] = "n" end
  return "[" .. table.concat(parts, ",") .. "]"
end

local function add_row(seen, path, spec, params, state, y)
  local shape = y.shape:table()
  if seen.batched then table.remove(shape, 1) end
  table.insert(seen.rows, { path = path, layer = kinds.label(spec),
    shape = shape, output = shape_text(y.shape, seen.batched),
    parameters = tree.count(params), bytes = bytes_of(params)
    + bytes_of(state or {}) })
end

-- A layer's result; seen.at says where the walk has come to.
local function apply(seen, path, spec, params, state, x)
  seen.at = { path = path, spec = spec, x = x }
  return seen.run.apply(spec, params, x, state)
end

local visit

-- The layers inside a spec, each a row; y is what the last one gives.
local function visit_list(seen, path, spec, params, state, x)
  for i, layer in ipairs(spec) do
    local at = path == "" and tostring(i) or path .. "." .. i
    x = visit(seen, at, layer, params[i], state and state[i], x)
  end
  return x
end

function visit(seen, path, spec, params, state, x)
  local row = kinds.of("nn.describe", spec)
  if not row.inside then
    local y = apply(seen, path, spec, params, state, x)
    add_row(seen, path, spec, params, state, y)
    return y
  end
  if spec.kind == "sequence" then
    return visit_list(seen, path, spec, params, state, x)
  end
  local at = #seen.rows + 1
  visit_list(seen, path, spec, params, state, x)
  local y = apply(seen, path, spec, params, state, x)
  add_row(seen, path, spec, {}, nil, y)
  table.insert(seen.rows, at, table.remove(seen.rows))
  return y
end

-- ---- the walk --------------------------------------------------------------

local function first_layer(spec)
  while kinds.of("nn.describe", spec).inside and spec[1] do spec = spec[1] end
  return kinds.of("nn.describe", spec)
end

local function walk(seen, spec, shape, dtype)
  local draw = kinds.new_draw(0, "f32")
  local params, state = draw.init(spec)
  local batched = seen.batched
  local wide = table.move(shape, 1, #shape, batched and 2 or 1, {})
  if batched then wide[1] = 1 end
  visit(seen, "", spec, params, state, core.full(wide, 1, dtype))
  return seen.rows, params, state
end

-- The sentence of an error and its hint, without the place.
local function parts_of(message)
  message = tostring(message)
  local first = message:match("[^\n]+")
  first = first:match("^[^:\n]*:%d+: (.*)") or first
  return (first:gsub("^nn%.%a+: ", "")), message:match("\n%s*hint: ([^\n]*)")
end

-- s with the first `find` in it as `with`.
local function replaced(s, find, with)
  local i, j = s:find(find, 1, true)
  return i and s:sub(1, i - 1) .. with .. s:sub(j + 1) or s
end

-- "layer 3, linear(16, 10): ... x is [n,4,6,6]" of what stopped the walk.
local function fail_at(seen, message)
  local sentence, hint = parts_of(message)
  local at, batched = seen.at, seen.batched
  if at then
    local label, given = kinds.label(at.spec), shape_text(at.x.shape, batched)
    sentence = replaced(sentence, tostring(at.x.shape), given)
    if sentence:sub(1, #label + 2) ~= label .. ": " then
      sentence = ("%s of x %s: %s"):format(label, given, sentence)
    end
    if at.path ~= "" then
      sentence = ("layer %s, %s"):format(at.path, sentence)
    end
    if batched and hint and hint:find("batch of one", 1, true) then hint = nil end
  end
  core.fail("nn.describe: " .. sentence, hint)
end

-- Which walk says more: the one that went further; a layer that wants a batch
-- is better asked with one.
local function better(alone, message, batched)
  if #batched.rows ~= #alone.rows then return #batched.rows > #alone.rows end
  return tostring(message):find("must be [n,", 1, true) ~= nil
end

-- The walk of x as it is or, where that fails, of a batch of it.
local function walk_either(spec, shape, dtype)
  local function new(batched)
    return { rows = {}, batched = batched, run = kinds.new_run({}) }
  end
  local alone, batched = new(false), new(true)
  local ok, rows, params, state = pcall(walk, alone, spec, shape, dtype)
  if ok then return rows, params, state end
  local fits, more, p, s = pcall(walk, batched, spec, shape, dtype)
  if fits then return more, p, s end
  if better(alone, rows, batched) then return fail_at(batched, more) end
  fail_at(alone, rows)
end

-- ---- text ------------------------------------------------------------------

local function grouped(n)
  local s = tostring(n)
  local head = (#s - 1) % 3 + 1
  return s:sub(1, head) .. s:sub(head + 1):gsub("(%d%d%d)", ",%1")
end

local function with_unit(n)
  local units, i, v = { "B", "kB", "MB", "GB", "TB" }, 1, n
  while v >= 1000 and i < #units do
    v = v / 1000
    i = i + 1
  end
  if i == 1 then return ("%d B"):format(n) end
  return ("%.1f %s"):format(v, units[i])
end

local HEAD = { "", "layer", "output", "parameters", "bytes" }
local LEFT = { true, true, true, false, false }

local function cells_of(summary)
  local cells = { HEAD }
  for _, r in ipairs(summary) do
    cells[#cells + 1] = { r.path, r.layer, r.output, grouped(r.parameters),
      with_unit(r.bytes) }
  end
  cells[#cells + 1] = { "", "total", "", grouped(summary.parameters),
    with_unit(summary.bytes) }
  return cells
end

local function lines_of(cells)
  local width, lines = {}, {}
  for _, row in ipairs(cells) do
    for k, cell in ipairs(row) do
      width[k] = math.max(width[k] or 0, #cell)
    end
  end
  for i, row in ipairs(cells) do
    local parts = {}
    for k, cell in ipairs(row) do
      local pad = (" "):rep(width[k] - #cell)
      parts[k] = LEFT[k] and cell .. pad or pad .. cell
    end
    lines[i] = (table.concat(parts, "  "):gsub("%s+$", ""))
    if width[1] == 0 then lines[i] = lines[i]:gsub("^  ", "") end
  end
  return table.concat(lines, "\n")
end

-- ---- the function ----------------------------------------------------------

local nn = {}

--- nn.describe(spec, shape, {dtype="f32", quiet=false}): prints a table of the
--- layers of a network for x of this shape: what each gives, its parameters and
--- their bytes (with those of its state), and the totals; quiet=true prints
--- nothing. Where the layers need a batch that the shape does not have, one of
--- n rows is taken. Returns a row {path=, layer=, output=, shape=, parameters=,
--- bytes=} for each layer, with the totals parameters and bytes and the text.
--- Nothing is computed. A layer that does not fit is an error.
--- Example: nn.describe(nn.sequence{nn.linear(784, 128), nn.relu}, {784})
function nn.describe(spec, shape, options)
  if type(spec) == "function" then spec = kinds.as_spec(spec) end
  kinds.of("nn.describe", spec)
  shape = checks.sizes("nn.describe", "the shape of x", shape, 0)
  local o = checks.options("nn.describe", options, "dtype quiet")
  local dtype = o.dtype or first_layer(spec).input or "f32"
  local summary, params, state = walk_either(spec, shape, dtype)
  summary.parameters = tree.count(params)
  summary.bytes = bytes_of(params) + bytes_of(state or {})
  summary.text = lines_of(cells_of(summary))
  if not checks.flag("nn.describe", o, "quiet", false) then
    print(summary.text)
  end
  return setmetatable(summary, { __tostring = function(s)
    return ("%d parameters, %d bytes"):format(s.parameters, s.bytes)
  end })
end

return nn
