-- Files: faults that users of other systems met. The files in data15 are
-- small: right ones in uncommon forms, and ones that lie.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

local want = { { 1, 2, 3 }, { 4, 5, 6 } }
local function f(n) return here .. "data15/" .. n end

case("B117", "npy in Fortran order is read transposed", function()
  eq(read(f "c.npy"), want)
  eq(read(f "fortran.npy"), want)
  eq(read(f "fortran1.npy"), { 1, 2, 3 })
  local x = read(f "fortran3.npy")
  shape(x, { 2, 3, 4 })
  eq(x[{ 2, 1, 3 }], 15)
  eq(x:reshape(24), arange(1, 24))
  eq(read(f "spaces.npy"), want)
end)

case("B119", "csv with a byte order mark before a quoted field", function()
  eq(data.csv(f "bom.csv"), want)
end)

case("B121", "files that are cut short or lie are refused, with the reason",
  function()
  for n, why in pairs { -- order-free
    ["cut.npy"] = "24 bytes of elements, 19 follow",
    ["cut_header.npy"] = "cut short",
    ["zero.npy"] = "cut short",
    ["lies.npy"] = "cut short: its header says 240000000000 bytes",
    ["negative.npy"] = "below 0",
    ["overflow.npy"] = "2^62",
    ["object.npy"] = "Python objects",
    ["text.npy"] = "texts",
  } do
    local ok, e = pcall(read, f(n))
    check(not ok and e:find(n, 1, true) and e:find(why, 1, true),
      n .. ": " .. tostring(e))
  end
  for _, n in ipairs { "cut.idx.gz", "cut.idx", "lies.idx" } do
    fails(function() return data.idx(f(n)) end, "cut short")
  end
  local bytes = { { 1, 2, 3 }, { 250, 251, 255 } }
  eq(data.idx(f "ok.idx"), bytes)
  eq(data.idx(f "ok.idx.gz"), bytes)
  dtype(data.idx(f "ok.idx"), "u8")
  fails(function() return read(f "nosuch.npy") end, "No such file")
end)

done()
