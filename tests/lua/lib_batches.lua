-- data.batches over files: the same batches as of tensors, read by a thread.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

local folder = os.tmpname()
os.remove(folder)
os.execute("mkdir " .. folder)
local function path(name) return folder .. "/" .. name end

local function save(name, bytes)
  local f = assert(io.open(path(name), "wb"))
  f:write(bytes)
  f:close()
  return path(name)
end

local function npy(descr, shape, bytes, fortran)
  local head = ("{'descr': '%s', 'fortran_order': %s, 'shape': (%s,), }\n")
    :format(descr, fortran and "True" or "False", table.concat(shape, ", "))
  return "\x93NUMPY\1\0" .. string.pack("<s2", head) .. bytes
end

local function packed(format, values)
  local list = {}
  for i, v in ipairs(values) do list[i] = string.pack(format, v) end
  return table.concat(list)
end

-- How many lines a command prints about this process, $PPID.
local function lines_of(command)
  local n, pipe = 0, io.popen(command)
  for _ in pipe:lines() do n = n + 1 end
  pipe:close()
  return n
end

local function threads() return lines_of("ls /proc/$PPID/task") end

-- Of our folder: a pipe may be open a moment longer than it is read.
local function files_open()
  return lines_of("ls -l /proc/$PPID/fd | grep " .. folder)
end

local n = 103
local x = arange(1, 2 * n * 3):reshape(n, 2, 3):cast("f32") / 4
local y = arange(1, n)
write(path("x.npy"), x)
write(path("y.npy"), y)

-- Both walks give the same tensors.
local function same_walk(a, b)
  local other, count = b, 0
  for xa, ya in a do
    local xb, yb = other()
    check(xa.dtype == xb.dtype and xa.device == xb.device)
    eq(xa.shape, xb.shape)
    eq(xa, xb)
    if ya or yb then
      check(ya.dtype == yb.dtype)
      eq(ya, yb)
    end
    count = count + 1
  end
  check(other() == nil, "more batches")
  return count
end

case("batches", "of files are those of the tensors in them", function()
  for _, key in ipairs { false, 1, 2 } do
    for _, size in ipairs { 1, 10, 32, 103, 1000 } do
      for _, o in ipairs { {}, { prefetch = 1 }, { prefetch = 200 } } do
        local count = same_walk(
          data.batches(path("x.npy"), path("y.npy"), size, key or nil, o),
          data.batches(x, y, size, key or nil))
        eq(count, (n + size - 1) // size)
      end
    end
  end
end)

case("batches", "of a file alone, and of a file beside a tensor", function()
  for _, key in ipairs { false, 7 } do
    key = key or nil
    same_walk(data.batches(path("x.npy"), nil, 10, key),
      data.batches(x, nil, 10, key))
    same_walk(data.batches(path("x.npy"), y, 10, key),
      data.batches(x, y, 10, key))
    same_walk(data.batches(x, path("y.npy"), 10, key),
      data.batches(x, y, 10, key))
  end
  local b = data.batches(path("x.npy"), nil, 10)
  eq({ b.rows, b.size }, { n, 10 })
end)

case("dtypes", "of either byte order, and the bytes of booleans", function()
  local v = { 1, -2, 300, -32768, 7 }
  for descr, format in pairs { ["<i2"] = "<i2", [">i2"] = ">i2",
    [">i4"] = ">i4", [">i8"] = ">i8", [">f4"] = ">f", [">f8"] = ">d" } do
    local p = save("v.npy", npy(descr, { 5 }, packed(format, v)))
    same_walk(data.batches(p, nil, 2, 3), data.batches(read(p), nil, 2, 3))
    local all = {}
    for b in data.batches(p, nil, 2) do
      for _, a in ipairs(b:table()) do all[#all + 1] = a end
    end
    eq(all, v)
  end
  local p = save("b.npy", npy("|b1", { 4 }, "\0\1\2\255"))
  for b in data.batches(p, nil, 4) do eq(b, { false, true, true, true }) end
end)

case("idx", "pictures as MNIST has them", function()
  local head = "\0\0\8\3" .. string.pack(">I4I4I4", 5, 2, 2)
  local p = save("p.idx", head .. packed("B", { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
    10, 11, 12, 13, 14, 15, 16, 17, 18, 255 }))
  same_walk(data.batches(p, nil, 2, 9), data.batches(read(p), nil, 2, 9))
  local wide = save("w.idx", "\0\0\x0c\1" .. string.pack(">I4i4i4", 2, -5, 7))
  for b in data.batches(wide, nil, 2) do eq(b, { -5, 7 }) end
end)

case("files", "that have no rows in one piece are refused", function()
  local function refused(p, why, q)
    fails(function() data.batches(p, q, 2) end, "data.batches: .*" .. why)
  end
  local gz = save("g.idx.gz",
    "\x1f\x8b\x08\0\0\0\0\0\x02\x03\x63\x60\xe0\x60\x62\x60\x60\0"
    .. "\x61\x66\x46\x26\xe6\x5f\xbf\xff\x03\0\x19\x4c\x3a\x14\x12\0\0\0")
  refused(gz, "compressed")
  write(path("z.npz"), { x = x })
  refused(path("z.npz"), "kind npz")
  write(path("s.safetensors"), { x = x })
  refused(path("s.safetensors"), "kind safetensors")
  refused(save("c.csv", "1,2\n3,4\n"), "kind csv")
  refused(save("f.npy", npy("<f4", { 2, 3 }, ("\0"):rep(24), true)), "Fortran")
  refused(save("r.npy", "\x93NUMPY\1\0" .. string.pack("<s2",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (), }\n") .. "\0\0\0\0"),
    "no axes")
  refused(save("e.npy", npy("<f4", { 2, 0 }, "")), "no element")
  refused(save("o.npy", npy("<U1", { 1 }, "\0\0\0\0")), "texts")
  refused(save("t.npy", npy("<f4", { 2, 3 }, "\0")), "cut short")
  refused(save("n.npy", ""), "")
  refused(path("none.npy"), "No such file")
  refused("x\0.npy", "zero byte")
  refused(path("x.npy"), "has 103 rows, .* has 5", path("v.npy"))
  refused(path("x.npy"), "103 rows need as many", y[{ { 1, 5 } }])
  refused(x, "x has 103 rows, .*v.npy has 5", path("v.npy"))
  fails(function() data.batches(path("x.npy"), nil, 2, 1, { ahead = 1 }) end,
    "unknown option")
  fails(function() data.batches(path("x.npy"), nil, 2, 1, { prefetch = 0 }) end,
    "prefetch must be from 1")
  fails(function() data.batches(path("x.npy"), nil, 2, 1, 3) end, "options")
end)

case("files", "of no rows", function()
  local p = save("0.npy", npy("<f4", { 0, 3 }, ""))
  for _, key in ipairs { false, 1 } do
    for _ in data.batches(p, nil, 5, key or nil) do error("a batch") end
  end
end)

case("files", "cut while they are read: good batches, then an error", function()
  local p = path("cut.npy")
  write(p, x)
  os.execute(("truncate -s %d %s"):format(128 + 24 * 100, p))
  fails(function() data.batches(p, nil, 10) end, "cut short")
  write(p, x)
  local got, walk = 0, data.batches(p, nil, 10, nil, { prefetch = 1 })
  os.execute(("truncate -s %d %s"):format(128 + 24 * 50 + 5, p))
  local before = threads()
  fails(function()
    for xb in walk do got = got + #xb end
  end, "data.batches: /.*cut.npy: ends at byte 1333, was longer before")
  check(got >= 20 and got <= 50, got .. " rows")
  eq(threads(), before - 1)
  check(walk() == nil, "goes on after an error")
end)

case("threads", "end with the loop, also one that is left", function()
  same_walk(data.batches(path("x.npy"), nil, 10), data.batches(x, nil, 10))
  collectgarbage()
  collectgarbage()
  local none = threads()
  eq(files_open(), 0)
  for xb in data.batches(path("x.npy"), path("y.npy"), 1) do
    eq({ threads(), files_open() }, { none + 1, 2 })
    if xb then break end
  end
  eq(threads(), none)
  pcall(function()
    for _ in data.batches(path("x.npy"), nil, 1) do error("mine") end
  end)
  eq(threads(), none)
  for _ in progress(data.batches(path("x.npy"), nil, 1), "x") do break end
  eq(threads(), none)
  for _ in progress(data.batches(path("x.npy"), nil, 1)) do break end
  eq(threads(), none)
  local b = data.batches(path("x.npy"), nil, 1)
  eq(threads(), none + 1)
  b = nil
  collectgarbage()
  collectgarbage()
  eq({ threads(), files_open() }, { none, 0 })
end)

case("threads", "1,000 walks, opened and left", function()
  local none = threads()
  for i = 1, 1000 do
    local seen = 0
    for xb in data.batches(path("x.npy"), path("y.npy"), 7, i) do
      seen = seen + #xb
      if i % 2 == 0 and seen >= i % 50 then break end
    end
  end
  eq({ threads(), files_open() }, { none, 0 })
end)

case("a walk", "ends for good, and may be closed twice", function()
  local b <close> = data.batches(path("x.npy"), nil, 60)
  check(b() and b())
  check(b() == nil and b() == nil)
end)

os.execute("rm -r " .. folder)
done()
