-- Finds clusters of points by k-means, without a loop over points or clusters:
--
--   tsh run scripts/kmeans.lua
local clusters, each = 4, 250
local centers = tensor { { 0.0, 0.0 }, { 5.0, 0.0 }, { 0.0, 5.0 }, { 5.0, 5.0 } }

seed(3)
local n = clusters * each
local truth = (arange(n) - 1) // each + 1
local points = take(centers, truth) + randn(n, 2) * 0.6

-- The squared distance of every point from every center, [n, clusters].
local function distances(from)
  return (points:unsqueeze(2) - from:unsqueeze(1)):square():sum(3)
end

-- Centers to begin with: a point, then always the one farthest from all so far.
local guess = points[{ { 1, 1 } }]
for _ = 2, clusters do
  local farthest = argmax(distances(guess):min(2))
  guess = cat({ guess, points[farthest]:reshape(1, 2) }, 1)
end

local before, epoch = math.huge, 0
while true do
  epoch = epoch + 1
  local d = distances(guess)
  local loss = d:min(2):mean():item()
  print(("epoch %d  mean squared distance %.6f"):format(epoch, loss))
  -- Each center moves to the mean of the points that are nearest to it.
  local member = one_hot(argmin(d, { axis = 2 }), clusters):cast("f32")
  guess = member.T:matmul(points) / member:sum(1):unsqueeze(2)
  if loss > before - 1e-6 then break end
  before = loss
end

-- Every true center has a guess near it, and no two the same.
local off = (centers:unsqueeze(2) - guess:unsqueeze(1)):square():sum(3)
print(guess)
assert(off:min(2):max():item() < 0.05, "a cluster was not found")
assert(off:min(1):max():item() < 0.05, "two guesses share a cluster")
