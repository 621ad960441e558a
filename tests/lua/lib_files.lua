-- read and write: what is written comes back, bit for bit, under its name.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

-- A path with that ending, removed afterwards.
local function with_path(ending, f)
  local name = os.tmpname()
  local ok, e = pcall(f, name .. ending)
  os.remove(name .. ending)
  os.remove(name)
  if not ok then error(e, 0) end
end

local function put(path, text)
  local out = assert(io.open(path, "wb"))
  out:write(text)
  out:close()
end

local function get(path)
  local from = assert(io.open(path, "rb"))
  local text = from:read("a")
  from:close()
  return text
end

local DTYPES = { "bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32",
  "f64" }

-- Values that every dtype holds, in several shapes.
local function samples(dt)
  local x = tensor({ { 0, 1, 1 }, { 1, 0, 1 } }, dt)
  if dt ~= "bool" then x = tensor({ { 0, 1, 100 }, { 7, 3, 2 } }, dt) end
  return { x = x, row = x[1], scalar = x[{ 1, 2 }], empty = x[{ {}, {} }]
    :reshape(2, 3)[{ { 1, 0 } }], turned = x.T }
end

local function same_tensor(a, b)
  dtype(a, b.dtype)
  eq(a.shape, b.shape)
  same(a, b)
end

case("npy", "every dtype, shapes without elements and without axes", function()
  for _, dt in ipairs(DTYPES) do
    for _, x in pairs(samples(dt)) do -- order-free
      with_path(".npy", function(path)
        if dt == "bf16" then
          fails(function() write(path, x) end, "safetensors")
          return
        end
        write(path, x)
        same_tensor(read(path), x)
      end)
    end
  end
end)

case("npy", "dtype and device are options", function()
  with_path(".npy", function(path)
    write(path, tensor({ 1, 2, 255 }, "u8"))
    dtype(read(path), "u8")
    for _, dt in ipairs { "f32", "f64", "i32", "i64", "i16", "f16" } do
      same_tensor(read(path, { dtype = dt }), tensor({ 1, 2, 255 }, dt))
    end
    check(read(path, { device = "cpu" }).device == "cpu")
    fails(function() read(path, { dtype = "f33" }) end, "f33")
    fails(function() read(path, { labels = true }) end, "no labels")
    fails(function() read(path, { flat = true }) end, "no flat")
  end)
end)

-- An npy file of one axis with elements as string.pack says.
local function npy(descr, format, ...)
  local list = { ... }
  local head = ("{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }")
    :format(descr, #list)
  local text = "\x93NUMPY\1\0" .. string.pack("<s2", head)
  for _, v in ipairs(list) do text = text .. string.pack(format, v) end
  return text
end

case("npy", "big-endian and unsigned elements, as other dtypes", function()
  local function holds(text, dt, want)
    with_path(".npy", function(path)
      put(path, text)
      same_tensor(read(path, { dtype = dt }), tensor(want, dt))
    end)
  end
  holds(npy("<u2", "<I2", 0, 65535), "i32", { 0, 65535 })
  holds(npy(">u2", ">I2", 0, 258), "f32", { 0, 258 })
  holds(npy("<u4", "<I4", 0, 4294967295), "i64", { 0, 4294967295 })
  holds(npy("<u4", "<I4", 16777217), "f64", { 16777217 })
  holds(npy("<u8", "<I8", 5, math.maxinteger), "i64", { 5, math.maxinteger })
  holds(npy(">f8", ">d", 0.1, -1e300), "f64", { 0.1, -1e300 })
  holds(npy(">i2", ">i2", -2, 258), "i16", { -2, 258 })
  with_path(".npy", function(path)
    put(path, npy("<c8", "<I8", 0))
    fails(function() read(path) end, "c64, which cpu has not")
    fails(function() read(path, { dtype = "f32" }) end, "c64, which cpu has not")
  end)
end)

-- ---- tables of tensors -----------------------------------------------------

local function model()
  return {
    layers = {
      { w = randn(3, 4), b = zeros(4) },
      { w = randn(4, 2), b = tensor { 1, 2 } },
      [5] = { mask = tensor { true, false } },
    },
    [0] = tensor({ 1.5, 2.5 }, "f64"),
    [-3] = tensor(3),
    ["a b\"\n/"] = tensor({ 1, 2, 3 }, "i16"),
    ["01"] = tensor({ 1 }, "bf16"),
    ["../x"] = zeros(0, 3),
    none = {},
  }
end

local function same_model(a, b)
  same_tensor(a.layers[1].w, b.layers[1].w)
  same_tensor(a.layers[1].b, b.layers[1].b)
  same_tensor(a.layers[2].w, b.layers[2].w)
  same_tensor(a.layers[2].b, b.layers[2].b)
  same_tensor(a.layers[5].mask, b.layers[5].mask)
  check(#a.layers == 2 and a.layers[3] == nil)
  same_tensor(a[0], b[0])
  same_tensor(a[-3], b[-3])
  same_tensor(a["a b\"\n/"], b["a b\"\n/"])
  if b["01"] then same_tensor(a["01"], b["01"]) end
end

case("tables", "names of nested tables, whole numbers are integer keys",
  function()
  local m = model()
  with_path(".safetensors", function(path)
    write(path, m)
    local back, notes = read(path)
    same_model(back, m)
    same_tensor(back["01"], m["01"])
    -- "../x" has dots: it comes back nested, as every reader would have it.
    same_tensor(back[""][""]["/x"], m["../x"])
    check(back.none == nil and notes == nil)
    local flat = read(path, { flat = true })
    same_tensor(flat["layers.1.w"], m.layers[1].w)
    same_tensor(flat["../x"], m["../x"])
    same_tensor(flat["0"], m[0])
  end)
  m["01"] = nil
  for _, compress in ipairs { false, true } do
    with_path(".npz", function(path)
      write(path, m, { compress = compress })
      same_model(read(path), m)
      same_tensor(read(path, { flat = true })["layers.5.mask"],
        m.layers[5].mask)
    end)
  end
end)

case("tables", "every dtype, bit for bit", function()
  for _, ending in ipairs { ".safetensors", ".npz" } do
    local all = {}
    for _, dt in ipairs(DTYPES) do
      if dt ~= "bf16" or ending == ".safetensors" then all[dt] = samples(dt) end
    end
    with_path(ending, function(path)
      write(path, all)
      local back = read(path)
      for dt, s in pairs(all) do -- order-free
        for k, x in pairs(s) do same_tensor(back[dt][k], x) end -- order-free
      end
      write(path .. "2", back, { format = ending:sub(2) })
      check(get(path) == get(path .. "2"), "the same tensors, other bytes")
      os.remove(path .. "2")
    end)
  end
end)

case("tables", "metadata", function()
  with_path(".safetensors", function(path)
    write(path, { x = zeros(2) }, { metadata = { epoch = "3", a = "\"\\\n" } })
    local x, notes, _ = read(path)
    eq(x.x, { 0, 0 })
    check(notes.epoch == "3" and notes.a == "\"\\\n")
    write(path, {}, { metadata = { k = "v" } })
    x, notes = read(path)
    check(next(x) == nil and notes.k == "v")
    write(path, {}, { metadata = { k = 1, on = true } })
    _, notes = read(path)
    check(notes.k == "1" and notes.on == "true")
    fails(function() write(path, {}, { metadata = { k = {} } }) end, "strings")
    fails(function() write(path, {}, { metadata = { "k" } }) end, "strings")
    fails(function() write(path, {}, { metadata = "k" }) end, "table")
    fails(function() write(path, {}, { metadata = { k = "\0" } }) end, "zero")
  end)
end)

case("tables", "data lie at multiples of 8 bytes, large elements first",
  function()
  with_path(".safetensors", function(path)
    write(path, { a = tensor({ 1, 2, 3 }, "u8"), b = tensor({ 1.5 }, "f64") })
    local text = get(path)
    local n = string.unpack("<I8", text)
    check(n % 8 == 0)
    check(text:find('"b":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}', 1,
      true), text)
    check(text:find('"a":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}', 1,
      true), text)
  end)
end)

case("tables", "what cannot be written", function()
  with_path(".safetensors", function(path)
    local x = zeros(2)
    local loop = { x = x }
    loop.loop = loop
    local function no(value, why)
      fails(function() write(path, value) end, why)
      check(not io.open(path), "a file is left")
    end
    no(x, "takes a table of tensors, got a tensor")
    no({ { x = x, lr = 0.1 } }, "'1.lr' is a number")
    no({ f = print }, "'f' is a function")
    no(loop, "contains itself")
    no({ [1] = x, ["1"] = x }, "two tensors would be called '1'")
    no({ a = { b = x }, ["a.b"] = x }, "two tensors would be called 'a.b'")
    no({ [1.5] = x }, "key")
    no({ ["\xff"] = x }, "UTF%-8")
    no({ ["a\0"] = x }, "zero")
    no({ __metadata__ = x }, "__metadata__")
    fails(function() write(path, {}, { compress = true }) end, "no compress")
    fails(function() write(path, {}, { meta = {} }) end, "unknown option")
  end)
  with_path(".npy", function(path)
    fails(function() write(path, { zeros(2) }) end, "takes one tensor")
    fails(function() write(path, 5) end, "takes one tensor")
    fails(function() write(path .. ".xyz", zeros(2)) end, "no writer")
    fails(function() write(5, zeros(2)) end, "path")
    fails(function() write("/", zeros(2), { format = "npy" }) end,
      "Is a directory")
    fails(function() write("/nonexistent/x.npy", zeros(2)) end, "No such file")
  end)
end)

-- A safetensors file with these names, a byte each.
local function safetensors(...)
  local parts = {}
  for i, name in ipairs { ... } do
    parts[i] = ('"%s":{"dtype":"U8","shape":[1],"data_offsets":[%d,%d]}')
      :format(name, i - 1, i)
  end
  local head = "{" .. table.concat(parts, ",") .. "}"
  return string.pack("<s8", head) .. ("\7"):rep(#parts)
end

case("tables", "names of other programs", function()
  with_path(".safetensors", function(path)
    put(path, safetensors("model.0.weight", "model.1.weight", "x", "..",
      "9223372036854775808", "a.-0"))
    local t = read(path)
    eq(t.model[0].weight, { 7 })
    eq(t.model[1].weight, { 7 })
    eq(t[""][""][""], { 7 })
    eq(t["9223372036854775808"], { 7 })
    eq(t.a["-0"], { 7 })
  end)
end)

case("tables", "a name that is a tensor and a table", function()
  for _, names in ipairs { { "a", "a.b" }, { "a.b", "a" } } do
    with_path(".safetensors", function(path)
      put(path, safetensors(names[1], names[2]))
      fails(function() read(path) end, "flat=true")
      eq(read(path, { flat = true })["a.b"], { 7 })
    end)
  end
end)

case("tables", "dtypes that tsh has not can be left out", function()
  with_path(".safetensors", function(path)
    put(path, (safetensors("x", "y"):gsub("U8", "F8_E8M0", 1)
      :gsub("^........", function(n)
        return string.pack("<I8", string.unpack("<I8", n) + 5)
      end)))
    fails(function() read(path) end, "F8_E8M0")
    eq(read(path, { skip = true }).y, { 7 })
    check(read(path, { skip = true }).x == nil)
  end)
end)

case("tables", "numbers are named, with what to write", function()
  with_path(".npz", function(path)
    fails(function() write(path, { a = { b = 3.5 } }) end,
      "'a.b' is a number, which is no tensor\n.*a%.b is a number: "
      .. "write tensor%(3%.5%)")
  end)
end)

case("tables", "without metadata read gives one value", function()
  with_path(".safetensors", function(path)
    write(path, { x = zeros(2) })
    eq(select("#", read(path)), 1)
    write(path, { x = zeros(2) }, { metadata = { k = "v" } })
    eq(select(2, read(path)).k, "v")
  end)
end)

case("columns", "a name that no column has is an error", function()
  local function strict(names, who)
    eq(names.weight, 2)
    fails(function() return names.hieght end, who .. ": no column 'hieght' "
      .. "%(height, weight, body mass%)\n.*did you mean 'height'")
    fails(function() return names["body mas"] end, "mean 'body mass'")
    fails(function() return names.zzz end, "no column 'zzz'")
    check(names[4] == nil and names[0] == nil and #names == 3)
    check(rawget(names, "zzz") == nil and next(names) == 1)
    local n = 0
    for k in pairs(names) do n = n + k end
    for k in ipairs(names) do n = n + k end
    eq(n, 12)
    eq(table.concat(names, " "), "height weight body mass")
  end
  with_path(".csv", function(path)
    put(path, "height,weight,body mass\n1,2,3\n4,5,6\n")
    strict(select(2, read(path)), "read")
    strict(select(2, data.csv(path)), "data%.csv")
    strict(select(3, read(path, { labels = true })), "read")
    local many = {}
    for i = 1, 40 do many[i] = "c" .. i end
    write(path, zeros(1, 40), { header = many })
    local _, names = read(path)
    fails(function() return names.d40 end, "c11, c12, %.%.%.%)")
  end)
  with_path(".json", function(path)
    put(path, '[{"a": 1, "b": 2}, {"a": 3, "b": 4}]')
    local _, names = read(path)
    eq(names.b, 2)
    fails(function() return names.A end, "no column 'A' %(a, b%)")
  end)
end)

case("tables", "a model in several files", function()
  local folder = os.tmpname()
  os.remove(folder)
  os.execute("mkdir " .. folder)
  local function index(text)
    put(folder .. "/m.safetensors.index.json", text)
    return folder .. "/m.safetensors.index.json"
  end
  write(folder .. "/a.safetensors", { l = { { w = tensor { 1, 2 } } } },
    { metadata = { format = "pt" } })
  write(folder .. "/b.safetensors", { l = { [2] = { w = tensor { 3 } } },
    more = tensor(4) })
  local head = '{"metadata": {"total_size": 1e3, "x": [1, {"y": null}, []]}, '
  local path = index(head .. '"weight_map": {"l.1.w": "a.safetensors", '
    .. '"l.2.w": "b.safetensors"}}')
  local t, notes = read(path)
  eq(t.l[1].w, { 1, 2 })
  eq(t.l[2].w, { 3 })
  check(t.more == nil and notes.format == "pt")
  eq(read(path, { flat = true, dtype = "f32" })["l.2.w"], { 3 })
  for text, why in pairs { -- order-free
    ['{"weight_map": {"l.3.w": "a.safetensors"}}'] = "'l.3.w' is not in",
    ['{"weight_map": {"x": "../a.safetensors"}}'] = "not in this folder",
    ['{"weight_map": {"x": "/a.safetensors"}}'] = "not in this folder",
    ['{"weight_map": {"x": ""}}'] = "not in this folder",
    ['{"weight_map": {"x": "none"}}'] = "No such file",
    ['{"weight_map": {"x": 1}}'] = "a text is missing",
    ['{"weight_map": {"x": "a", "x": "b"}}'] = "one name",
    ['{"weight_map": {}, "weight_map": {}}'] = "twice",
    ['{"weight_map": {}} x'] = "after its end",
    ['{"a": ' .. ("["):rep(100) .. '}'] = "too deep",
    ['{"a": }'] = "a value is missing",
    ['{"a": 1}'] = "weight_map is missing",
    ['[]'] = "'{' is missing",
    [''] = "'{' is missing",
  } do
    path = index(text)
    local ok, e = pcall(read, path)
    check(not ok and e:find(why, 1, true), text .. ": " .. tostring(e))
  end
  os.execute("rm -r " .. folder)
end)

-- ---- what a file is --------------------------------------------------------

case("kinds", "the first bytes count, then format, then the ending", function()
  with_path(".csv", function(path)
    write(path, tensor { 1, 2 }, { format = "npy" })
    eq(read(path), { 1, 2 })
    write(path, { x = tensor { 1, 2 } }, { format = "safetensors" })
    eq(read(path).x, { 1, 2 })
    write(path, { x = tensor { 1, 2 } }, { format = "npz" })
    eq(read(path).x, { 1, 2 })
    fails(function() data.csv(path) end, "kind npz")
    put(path, "1,2\n")
    eq(read(path), { { 1, 2 } })
    fails(function() read(path, { format = "npy" }) end, "no npy file")
    fails(function() read(path, { format = "npz" }) end, "zip")
    fails(function() read(path, { format = "safetensors" }) end, "safetensors")
    fails(function() read(path, { format = "idx" }) end, "idx")
  end)
end)

case("csv", "what is written is read", function()
  local x = randn(20, 3)
  with_path(".csv", function(path)
    write(path, x)
    same_tensor(read(path), x)
    write(path, x, { header = { "a", "b,\"c\"", " " } })
    local y, names = read(path)
    same_tensor(y, x)
    check(names[1] == "a" and names[2] == "b,\"c\"" and names[3] == " ")
    write(path, tensor { 1, 2, 3 })
    eq(read(path), { { 1 }, { 2 }, { 3 } })
    write(path, tensor { { 1, 2 }, { 3, 4 } } / 0)
    eq(read(path), { { inf, inf }, { inf, inf } })
    fails(function() write(path, zeros(2, 2, 2)) end, "one or two axes")
    fails(function() write(path, x, { header = { "a" } }) end, "3 names, got 1")
    fails(function() write(path, x, { header = { "a", "1", "b" } }) end,
      "number")
    fails(function() write(path, x, { header = { "a", "\n", "b" } }) end,
      "line end")
    fails(function() write(path, x, { header = { "", " ", "" } }) end, "blank")
  end)
end)

case("failure", "leaves variables and the old file", function()
  with_path(".npy", function(path)
    local x = tensor { 1, 2, 3 }
    write(path, x)
    local old = get(path)
    local bad = take(x, tensor { 9 })
    fails(function() write(path, bad) end, "outside")
    check(get(path) == old)
    fails(function() write("/dev/full", x, { format = "npy" }) end, "No space")
    eq(x, { 1, 2, 3 })
    write("/dev/null", x, { format = "npy" })
  end)
end)

done()
