#!/bin/bash
# What must hold when scripts train: the same bytes whatever computes, flat
# memory, plans found again, a checkpoint when Ctrl-C comes, seeds that repeat.
set -u
# shellcheck source=tests/shell/_tests.sh
. "$(dirname "$0")/_tests.sh"
root=$(cd "${TSH_SOURCE:-$(dirname "$0")/../..}" && pwd)
build=${TSH_BUILD:-$root/build}
scripts=$root/scripts
export TSH_PLUGIN_PATH=$build/plugins/example/.libs
cd "$dir" || exit 1

# ---- the same bytes ----------------------------------------------------------
# Where a tensor lies is part of how it is shown.
shown() { sed 's/ @[a-z]*:[0-9]*//' <<<"$out"; }

# like WHAT [NAME=VALUE]... ARGUMENTS: what $script prints is $first.
like() {
  local what=$1
  shift
  run env "$@" "$TSH" -q "${options[@]}" run "$scripts/${script[0]}" \
    "${script[@]:1}"
  is "${script[0]} $what: status" "$rc:$err" 0:
  is "${script[0]} $what" "$(shown)" "$first"
}

# everywhere SCRIPT ARGUMENTS...: on one thread and two, with every instruction
# set that the machine has, and on devices that know nothing of cpu's ways.
everywhere() {
  local isa device
  script=("$@")
  run "$TSH" -q --threads 1 run "$scripts/$1" "${@:2}"
  is "$1: status" "$rc:$err" 0:
  if [ -z "$out" ]; then fail "$1 prints nothing"; fi
  first=$out
  options=(--threads 2) && like 'on two threads'
  options=(--threads 2)
  for isa in base v3 v4; do
    if TSH_ISA=$isa "$TSH" -e '' 2>/dev/null; then
      like "with $isa" TSH_ISA=$isa
    fi
  done
  for device in example opaque; do
    options=(-d $device) && like "on $device"
  done
}

everywhere xor.lua
everywhere linear_regression.lua
everywhere kmeans.lua
everywhere train_digits.lua 1
fashion=/usr/share/datasets/fashion-mnist
if [ -e $fashion/train-images-idx3-ubyte.gz ]; then
  everywhere train_fashion.lua $fashion 150
  everywhere train_fashion_cnn.lua $fashion 40
else
  echo "training: no $fashion (scripts/setup --test), clothes are skipped" >&2
fi

# ---- memory, plans, flushes --------------------------------------------------
# Both networks on made-up data, with a short last batch. Prints what is wrong.
cat >steps.lua <<'END'
local kind, epochs = arg[1], tonumber(arg[2])
local rows, size = 230, 50 -- batches of 50, 50, 50, 50, 30

seed(1)
local x, y = rand(rows, 1, 12, 12), arange(rows) % 5 + 1
local spec
if kind == "mlp" then
  spec = nn.sequence { nn.flatten, nn.linear(144, 64), nn.relu,
    nn.linear(64, 5) }
else
  spec = nn.sequence { nn.conv2d(1, 8, 3), nn.relu, nn.max_pool2d(2),
    nn.flatten, nn.linear(8 * 5 * 5, 100), nn.relu, nn.linear(100, 5) }
end
local params = nn.init(spec, 1)
local opt = optim.adam { lr = 0.01 }
local state = opt.init(params)
local loss_of = value_and_grad(function(p, xb, yb)
  return cross_entropy(nn.forward(spec, p, xb), yb)
end)

local function step(xb, yb)
  local loss, grads = loss_of(params, xb, yb)
  params, state = opt.step(params, grads, state)
  return loss
end

local function accuracy()
  local right = 0
  for xb, yb in data.batches(x, y, 100) do
    local guess = argmax(nn.forward(spec, params, xb), { axis = 2 })
    right = right + guess:eq(yb):sum():item()
  end
  return right / rows
end

local function resident()
  local file = io.open("/proc/self/statm")
  local pages = tonumber(file:read("a"):match("^%d+ (%d+)"))
  file:close()
  return pages * 4096
end

local function wrong(...) print(("epoch %d step %d: "):format(...)) end

-- Counters that f adds to.
local function counted(f, ...)
  local before = tsh.counters()
  local result = f(...)
  local after, added = tsh.counters(), {}
  for _, name in ipairs { "flushes", "plan_misses", "programs",
    "bytes_allocated", "in_place" } do
    added[name] = after[name] - before[name]
  end
  return added, result
end

-- Parameters and two moments of each, were they written anew by a step.
local function anew()
  local n = 0
  for _, layer in pairs(params) do -- order-free
    for _, t in pairs(layer) do n = n + 12 * require("tsh.core").count(t) end
  end
  return n
end

local seen, biggest, first_loss, loss = {}, 0, nil, nil
for epoch = 1, epochs do
  local i = 0
  for xb, yb in data.batches(x, y, size, epoch) do
    i = i + 1
    seen[#xb] = (seen[#xb] or 0) + 1
    local c, value = counted(function() return step(xb, yb):item() end)
    loss, first_loss = value, first_loss or value
    if c.flushes ~= 1 then wrong(epoch, i) print("flushes", c.flushes) end
    -- After an evaluation the parameters are old for Lua's collector, and the
    -- first step cannot write in place: the first time that is another plan, of
    -- kernels that are there.
    local other = i == 1 and epoch == 2
    if seen[#xb] >= 3 and c.plan_misses + c.programs > (other and 1 or 0) then
      wrong(epoch, i)
      print("plans made", c.plan_misses, "programs", c.programs)
    end
    if seen[#xb] >= 3 and i > 1 then
      if c.in_place < 9 then wrong(epoch, i) print("in place", c.in_place) end
      biggest = math.max(biggest, c.bytes_allocated)
    end
  end
  local c = counted(accuracy)
  if epoch >= 2 and c.plan_misses > 0 then
    wrong(epoch, 0)
    print("evaluation made plans", c.plan_misses)
  end
  io.stderr:write(("%d\n"):format(resident()))
end
if loss >= first_loss then print("it does not learn", first_loss, loss) end
io.stderr:write(("bytes a step %d, of parameters %d\n"):format(biggest, anew()))
if biggest > anew() / 2 then print("bytes of a step", biggest, anew()) end
END

# Sanitizers keep what is freed, which is not ours to measure.
case $build in *asan* | *coverage*) epochs=4 ;; *) epochs=20 ;; esac

steps() {
  run "$TSH" --threads 1 run steps.lua "$1" $epochs
  is "$1: a step is one flush of a known plan" "$rc:$out" 0:
  if [ $epochs -lt 20 ]; then return; fi
  is "$1: memory is flat" "$(awk 'NF == 1 && ++n >= 2 {
      if (!low || $1 < low) low = $1
      if ($1 > high) high = $1
    }
    END {
      if (n < 20) print n " epochs"
      if (high > low * 1.05) print low " to " high
    }' err)" ''
}
steps mlp
steps cnn

# ---- Ctrl-C leaves a checkpoint ----------------------------------------------
cat >long.lua <<'END'
local file, last = arg[1], tonumber(arg[2])
seed(1)
local x, y = rand(400, 20), arange(400) % 4 + 1
local spec = nn.sequence { nn.linear(20, 32), nn.relu, nn.linear(32, 4) }
local opt = optim.adam { lr = 0.01 }
local loss_of = value_and_grad(function(p, xb, yb)
  return cross_entropy(nn.forward(spec, p, xb), yb)
end)

local run
local found = io.open(file)
if found then
  found:close()
  local saved, notes = read(file)
  run = { params = saved.params, state = saved.state,
    epoch = tonumber(notes.epoch), step = tonumber(notes.step) }
  print(("goes on in epoch %d after step %d"):format(run.epoch, run.step))
else
  local params = nn.init(spec, 1)
  run = { params = params, state = opt.init(params), epoch = 1, step = 0 }
end

-- All of a step is done when its numbers are: they change together.
on_interrupt(function()
  local now = run
  write(file, { params = now.params, state = now.state }, { metadata = {
    epoch = tostring(now.epoch), step = tostring(now.step) } })
  print(("saved in epoch %d after step %d"):format(now.epoch, now.step))
end)

while run.epoch <= last do
  local i, total = 0, nil
  for xb, yb in data.batches(x, y, 16, run.epoch) do
    i = i + 1
    if i > run.step then
      local loss, grads = loss_of(run.params, xb, yb)
      local params, state = opt.step(run.params, grads, run.state)
      run = { params = params, state = state, epoch = run.epoch, step = i }
      total = loss:item()
      if run.epoch == 3 and i == 2 then
        print("ready")
        io.stdout:flush()
      end
    end
  end
  if run.epoch == last then print(("loss %.17g"):format(total)) end
  run = { params = run.params, state = run.state, epoch = run.epoch + 1,
    step = 0 }
end
END

# interrupted: leaves $rc, and what it said in the file said.
interrupted() {
  rm -f x.safetensors
  : >said
  "$TSH" run long.lua x.safetensors 1000000 >said 2>err </dev/null &
  local pid=$!
  for _ in $(seq 500); do
    if grep -q ready said; then break; fi
    sleep 0.02
  done
  sleep "0.0$1"
  kill -INT "$pid"
  rc=0
  wait "$pid" || rc=$?
}

for pause in 1 3 6; do
  interrupted $pause
  is 'interrupted training: status' "$rc" 130
  is 'it has saved' "$(grep -c '^saved in epoch' said)" 1
  is 'nothing else is left' "$(ls -A | grep -c '^\.tsh')" 0
  # From here to the end of a later epoch, and the same in one go.
  last=$(($(sed -n 's/^saved in epoch \([0-9]*\).*/\1/p' said) + 2))
  run "$TSH" run long.lua x.safetensors $last
  is 'it goes on' "$rc:$err" 0:
  has 'where it was' "$out" 'goes on in epoch'
  resumed=$(grep '^loss' <<<"$out")
  run "$TSH" run long.lua none.safetensors $last
  is 'the loss is that of a run that nothing stopped' "$resumed" \
    "$(grep '^loss' <<<"$out")"
done

# ---- --seed ------------------------------------------------------------------
cat >draws.lua <<'END'
local x = randn(100, 3)
local w = rand(3, 1) * 2 - 1
print(("%.17g %.17g"):format(x:matmul(w):sum():item(), rand(2):sum():item()))
END
run "$TSH" run --seed 7 draws.lua
is '--seed behind run' "$rc" 0
seven=$out
run "$TSH" --seed 7 run draws.lua
is 'one seed, one result' "$out" "$seven"
run "$TSH" --seed 7 --threads 1 -d opaque run draws.lua
is 'on every device' "$out" "$seven"
run "$TSH" --seed 8 run draws.lua
if [ "$out" = "$seven" ]; then fail 'another seed, the same numbers'; else pass; fi
run "$TSH" run draws.lua
first=$out
run "$TSH" run draws.lua
if [ "$out" = "$first" ]; then fail 'no seed, the same numbers'; else pass; fi

finish
