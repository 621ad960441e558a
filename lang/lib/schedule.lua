-- names: schedule
--
-- Schedules: functions of the step's number, from 1, that give its rate.
local core = require "tsh.core"
local checks = require "tsh.checks"

--- schedule: rates that change from step to step: opt.step(params, grads, state,
--- rate(i)).
--- Example: rate = schedule.warm_up(4, schedule.cosine{lr = 0.1, steps = 100});
---   rate(1), rate(4) --> 0.025 0.1
local schedule = {}

-- Steps before this one.
local function before(step)
  if type(step) == "number" and step >= 1 then return step - 1 end
  core.fail("schedule: a step is a number from 1, got " .. checks.shown(step))
end

local function numbers(name, o, known, defaults)
  checks.options("schedule." .. name, o, known)
  local list = {}
  for key in known:gmatch("%S+") do
    list[#list + 1] = checks.number("schedule." .. name, o or {}, key,
      defaults and defaults[key])
  end
  return table.unpack(list)
end

local function count(name, what, v)
  return checks.whole("schedule." .. name, what, v, 1)
end

--- schedule.constant{lr=}: always lr. The result of every schedule is a function
--- of the step's number, counted from 1: give what it gives to opt.step.
--- Example: schedule.constant{lr=0.1}(1) --> 0.1
function schedule.constant(o)
  local lr = numbers("constant", o, "lr")
  return function(step)
    before(step)
    return lr
  end
end

--- schedule.step{lr=, every=, gamma=0.1}: lr, times gamma after every so many
--- steps.
--- Example: schedule.step{lr=1, every=10}(11) --> 0.1
function schedule.step(o)
  local lr, every, gamma = numbers("step", o, "lr every gamma",
    { gamma = 0.1 })
  count("step", "every", every)
  return function(step) return lr * gamma ^ (before(step) // every) end
end

--- schedule.exponential{lr=, gamma=}: lr, times gamma after each step.
--- Example: schedule.exponential{lr=1, gamma=0.5}(3) --> 0.25
function schedule.exponential(o)
  local lr, gamma = numbers("exponential", o, "lr gamma")
  return function(step) return lr * gamma ^ before(step) end
end

--- schedule.linear{lr=, to=0, steps=}: from lr in a straight line to `to`, which
--- is reached after that many steps, and stays.
--- Example: schedule.linear{lr=1, steps=10}(6) --> 0.5
function schedule.linear(o)
  local lr, to, steps = numbers("linear", o, "lr to steps", { to = 0 })
  count("linear", "steps", steps)
  return function(step)
    return lr + (to - lr) * math.min(before(step) / steps, 1)
  end
end

--- schedule.cosine{lr=, to=0, steps=}: from lr by half a wave of the cosine to
--- `to`, which is reached after that many steps, and stays.
--- Example: schedule.cosine{lr=1, steps=10}(6) --> 0.5
function schedule.cosine(o)
  local lr, to, steps = numbers("cosine", o, "lr to steps", { to = 0 })
  count("cosine", "steps", steps)
  return function(step)
    local part = math.min(before(step) / steps, 1)
    return to + (lr - to) * (1 + math.cos(math.pi * part)) / 2
  end
end

local function check_schedule(name, f, i)
  if type(f) == "function" then return f end
  core.fail(("schedule.%s: part %d must be a schedule, got %s"):format(name, i,
    core.kind(f)), "schedule.constant{lr = 0.1} is one")
end

--- schedule.warm_up(steps, s): in the first steps a growing share of the rate
--- with which the schedule s begins, the last of them all of it; then s, from
--- its own beginning.
--- Example: schedule.warm_up(4, schedule.constant{lr=1})(1) --> 0.25
function schedule.warm_up(steps, s)
  count("warm_up", "steps", steps)
  check_schedule("warm_up", s, 2)
  return function(step)
    if before(step) < steps then return s(1) * step / steps end
    return s(step - steps)
  end
end

--- schedule.join{{steps, s}, ..., s}: each schedule for its number of steps, one
--- after the other, every one from its own beginning; the last has no end.
--- Example: schedule.join{{5, schedule.constant{lr=1}}, schedule.constant{lr=0.1}}(6) --> 0.1
function schedule.join(parts)
  if type(parts) ~= "table" or #parts == 0 then
    core.fail("schedule.join: argument 1 must be a list, got "
      .. core.kind(parts), "{{steps, s}, ..., s}")
  end
  local list = {}
  for i, part in ipairs(parts) do
    local last = i == #parts
    if type(part) ~= "table" and not last then
      core.fail(("schedule.join: part %d has no number of steps"):format(i),
        "{steps, s}; only the last part may be a schedule alone")
    end
    local steps, s = math.huge, part
    if type(part) == "table" then
      steps, s = count("join", "steps", part[1]), part[2]
    end
    list[i] = { last and math.huge or steps, check_schedule("join", s, i) }
  end
  return function(step)
    before(step)
    local i = 1
    while step > list[i][1] do
      step = step - list[i][1]
      i = i + 1
    end
    return list[i][2](step)
  end
end

return { schedule = schedule }
