-- Training that is cut off goes on where it was: parameters, the optimizer's
-- state and the number of the epoch are in a file, and the losses after it are
-- those of a run that nothing stopped, to the last bit.
--
--   tsh run scripts/resume.lua
--
-- This process trains for six epochs. A second one saves after every epoch and
-- kills itself in the fourth; a third one reads the file and goes on.
local EPOCHS = 6
local role, file = arg[1] or "whole", arg[2]
local folder = arg[0]:match("^.*/") or ""

local x, y = read(folder .. "data/digits.csv", { labels = true })
x = x / 8 - 1

local spec = nn.sequence { nn.linear(64, 32), nn.relu, nn.dropout(0.1),
  nn.linear(32, 10) }
local opt = optim.adam { lr = 0.01 }
local loss_of = value_and_grad(function(p, xb, yb, key)
  return cross_entropy(nn.forward(spec, p, xb, { train = true, key = key }), yb)
end)

-- All that the next step needs to know. Random numbers come from keys, so there
-- is nothing else to remember.
local function begin()
  local params = nn.init(spec, 1)
  return { epoch = 0, params = params, state = opt.init(params) }
end

local function save(run)
  write(file, { params = run.params, state = run.state },
    { metadata = { epoch = tostring(run.epoch) } })
end

local function load_run()
  local saved, notes = read(file)
  return { epoch = tonumber(notes.epoch), params = saved.params,
    state = saved.state }
end

local function train_epoch(run)
  local total, steps = 0, 0
  run.epoch = run.epoch + 1
  for xb, yb in data.batches(x, y, 100, run.epoch) do
    steps = steps + 1
    local loss, grads = loss_of(run.params, xb, yb, run.epoch * 1000 + steps)
    run.params, run.state = opt.step(run.params, grads, run.state)
    total = total + loss:item()
    if role == "broken" and run.epoch == 4 and steps == 7 then
      os.execute("kill -9 $PPID") -- no way to say goodbye
    end
  end
  return ("epoch %d  loss %.17g"):format(run.epoch, total / steps)
end

local function train(run, after)
  local lines = {}
  while run.epoch < EPOCHS do
    lines[#lines + 1] = train_epoch(run)
    if after then after(run) end
    print(lines[#lines])
    io.stdout:flush()
  end
  return lines
end

if role == "broken" then
  train(begin(), save)
  error("this line is not reached")
elseif role == "resumed" then
  return train(load_run(), save)
end

-- ---- this process ----------------------------------------------------------
local function quoted(s) return "'" .. s:gsub("'", "'\\''") .. "'" end

-- The file of this program, which the shell below is a child of.
local function program()
  local pipe = io.popen("readlink /proc/$PPID/exe")
  local path = pipe:read("l")
  pipe:close()
  return path
end

-- The lines that this script prints in another process.
local function other(what)
  local pipe = io.popen(("%s run %s %s %s 2>&1"):format(quoted(program()),
    quoted(arg[0]), what, quoted(file)))
  local lines = {}
  for line in pipe:lines() do lines[#lines + 1] = line end
  pipe:close()
  return lines
end

file = os.tmpname()
os.remove(file)
file = file .. ".safetensors"
local whole = train(begin())
local broken = other("broken")
local resumed = other("resumed")
os.remove(file)
for i = 1, 3 do assert(broken[i] == whole[i], broken[i]) end
assert(#broken <= 4 and not tostring(broken[4]):find("epoch", 1, true))
for i = 4, EPOCHS do
  assert(resumed[i - 3] == whole[i], resumed[i - 3] or "no line")
end
print("killed in epoch 4, gone on: the same losses")
