#!/bin/bash
# The scripts that come with tsh: each ends well and prints what it promises,
# the same in every run.
set -u
# shellcheck source=tests/shell/_tests.sh
. "$(dirname "$0")/_tests.sh"
root=$(cd "${TSH_SOURCE:-$(dirname "$0")/../..}" && pwd)
scripts=$root/scripts

# twice SCRIPT LINE: two runs end with status 0 and print the same, with LINE.
twice() {
  local first
  run "$TSH" run "$scripts/$1"
  if [ "$rc" != 0 ]; then
    fail "$1" "status $rc" "$out" "$err"
    return
  fi
  first=$out
  has "$1 prints its line" "$out" "$2"
  run "$TSH" run "$scripts/$1"
  is "$1 prints the same again" "$out" "$first"
}

twice xor.lua 'step 400'
twice linear_regression.lua 'epoch 5'
twice kmeans.lua 'mean squared distance'
twice resume.lua 'gone on: the same losses'

run "$TSH" run "$scripts/bench_softmax.lua" 0.01
has 'bench_softmax ends' "$out" '[100000]'
is 'bench_softmax holds' "$rc" 0

run "$TSH" run "$scripts/train_fashion.lua" "$dir/nothing"
is 'a data set that is missing' "$rc" 1
has 'says how to get it' "$out" 'apt-get install dataset-fashion-mnist'

# Three epochs of 600 steps each, where the data set is there; too long for the
# slow builds.
pictures=/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz
case ${TSH_BUILD-} in *asan* | *coverage*) pictures=none ;; esac
if [ -e "$pictures" ]; then
  run "$TSH" run "$scripts/train_fashion.lua"
  is 'clothes are told apart' "$rc" 0
  has 'an epoch is a line' "$out" 'epoch 3  loss'
fi

finish
