#!/bin/bash
# Are the intervals of `tsh bench` honest? Measures softmax of 4 and of 100,000
# elements in pairs of runs, and counts the pairs whose intervals of the median
# overlap: at least 9 of 10 should, of each row, with intervals of few percent.
# bench_overlap.sh [PAIRS [SECONDS]] with the program in TSH; a quiet machine is
# needed: what computes beside it may stay through one run of a pair.
set -euo pipefail

: "${TSH:=tsh}"
pairs=${1:-10} seconds=${2:-0.5}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

for ((i = 1; i <= 2 * pairs; i++)); do
  "$TSH" -q bench --time "$seconds" --warmup 0.2 --json "$dir/$i.json" \
    --input 'x=rand(4)' --input 'x=rand(100000)' -e 'softmax(x)' >/dev/null
done
"$TSH" run - "$dir" "$pairs" <<'LUA'
local dir, pairs = arg[1], math.tointeger(arg[2])
local decode = require("tsh.json").json.decode
local function rows_of(i)
  local f = assert(io.open(("%s/%d.json"):format(dir, i)))
  return decode(f:read("a")).rows
end
local good = true
for row = 1, 2 do
  local overlap, widths, medians, name = 0, {}, {}, nil
  for i = 1, 2 * pairs, 2 do
    local both = { rows_of(i)[row], rows_of(i + 1)[row] }
    local a, b = both[1].stats, both[2].stats
    if a.low <= b.high and b.low <= a.high then overlap = overlap + 1 end
    for _, r in ipairs(both) do
      name = r.name
      medians[#medians + 1] = r.stats.median * 1e6
      widths[#widths + 1] = (r.stats.high - r.stats.low) / 2 / r.stats.median
    end
  end
  table.sort(medians)
  table.sort(widths)
  print(("%-14s  %d of %d pairs overlap; medians %.3g to %.3g us; "
    .. "intervals +-%.1f%% (half of them), at most +-%.1f%%"):format(name,
    overlap, pairs, medians[1], medians[#medians], widths[pairs] * 100,
    widths[#widths] * 100))
  good = good and overlap * 10 >= pairs * 9
end
os.exit(good and 0 or 1)
LUA
