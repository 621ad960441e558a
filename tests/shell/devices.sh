#!/bin/bash
# What the plain devices of plugins/example compute, where a plain run of the
# Lua tests finds no plugin: the golden numbers, and layers and optimizers bit
# by bit like the cpu.
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

# passes NAME: the last run's tests did, and it found its device.
passes() {
  if [ "$rc" = 0 ] && [[ $out != *note:* ]]; then
    pass
  else
    fail "$1" "$out" "$err"
  fi
}

export TSH_PLUGIN_PATH=$plugins
run "$TSH" run "$root/tests/lua/golden_example.lua"
passes 'golden numbers on example'
export TEST_CASE=devices
run "$TSH" run "$root/tests/lua/lib_nn.lua"
passes 'a network on opaque has the bits of the cpu'

finish
