#!/bin/bash
# Convolution and pooling on the plain devices of plugins/example, which know
# no hints, one of them one phase alone: the same tests, and the bits of the cpu.
set -u
# shellcheck source=tests/shell/_tests.sh
. "$(dirname "$0")/_tests.sh"
root=$(cd "${TSH_SOURCE:-$(dirname "$0")/../..}" && pwd)
plugins=${TSH_BUILD-}/plugins/example/.libs
if [ ! -e "$plugins/opaque.so" ]; then
  echo 'note: no plugins were built'
  finish
  exit
fi

cat >"$dir/bits.lua" <<'EOF'
local function some(...)
  local n = 1
  for _, k in ipairs { ... } do n = n * k end
  return (arange(n):f32() * 0.754877 % 1 - 0.5):reshape { ... }
end
local function show(name, ...)
  for i, x in ipairs { ... } do
    local t = x:reshape(-1):table()
    for k, v in ipairs(t) do t[k] = ("%a"):format(v) end
    print(name, i, table.concat(t, " "))
  end
end
local x, bias = some(2, 4, 7, 6), some(6)
for i, o in ipairs { {}, { stride = 2, padding = 1 }, { groups = 2 },
  { dilation = 2, padding = 2 } } do
  o.bias = bias
  local w = some(6, 4 // (o.groups or 1), 3, 2)
  show("conv " .. i, relu(conv2d(x, w, o)), table.unpack(grad(function(p)
    return sum(square(conv2d(p[1], p[2], o)))
  end) { x, w }))
end
local w = some(4, 3, 3, 3)
show("transposed", conv_transpose2d(x, w, { stride = 2, padding = 1 }))
show("depthwise", conv2d(x, some(4, 1, 3, 3), { groups = 4 }))
for i, o in ipairs { { kernel = 2 }, { kernel = 3, stride = 2, padding = 1 },
  { kernel = { 6, 5 }, stride = 1 } } do
  for _, f in ipairs { max_pool2d, avg_pool2d } do
    show("pool " .. i, f(x, o), grad(function(v)
      return sum(square(f(v, o)))
    end)(x))
  end
end
EOF

export TSH_PLUGIN_PATH=$plugins
run "$TSH" run "$dir/bits.lua"
is 'a run on the cpu' "$rc$err" 0
want=$out
for device in example opaque; do
  for name in lib_conv custom_grad; do
    run "$TSH" -d "$device" run "$root/tests/lua/$name.lua"
    is "$name on $device" "$rc$err" 0
    has "$name on $device" "$out" ' 0 failed'
  done
  run "$TSH" -d "$device" run "$dir/bits.lua"
  is "a run on $device" "$rc$err" 0
  is "bits of $device" "$(diff <(echo "$out") <(echo "$want") | cut -c1-60)" ''
  run "$TSH" -d "$device" -p 'zeros(1).device'
  has "it is $device" "$out" "$device"
done

finish
