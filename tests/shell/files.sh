#!/bin/bash
# Files from and for other programs, and what is left when writing is stopped.
set -u
# shellcheck source=tests/shell/_tests.sh
. "$(dirname "$0")/_tests.sh"
cd "$dir" || exit 1

# lua CODE: leaves $rc, $out and $err.
lua() { run "$TSH" -e "$1"; }

# ---- NumPy and safetensors ---------------------------------------------------
# Python of the system: that is where Debian puts NumPy.
python=/usr/bin/python3
numpy() { "$python" -c 'import numpy' 2>/dev/null; }
safetensors() { "$python" -c 'import safetensors.numpy' 2>/dev/null; }

cat >make.py <<'PY'
import os, numpy as np
D = '? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8'.split()
def values(d, *shape):
    n = int(np.prod(shape))
    x = (np.arange(n) * 37 + 3) % 101
    return (x % 2 == 0 if d == '?' else x.astype(d) / (2 if d[0] == 'f' else 1)
            ).astype(d).reshape(shape)
def arrays():
    for d in D:
        for name, a in [('c', values(d, 2, 3, 4)), ('s', values(d)),
                        ('e', values(d, 0, 3)), ('v', values(d, 5))]:
            yield d.replace('?', 'b1') + name, a
PY
cat >write.py <<'PY'
from make import *
os.mkdir('py')
for name, a in arrays():
    np.save('py/%s_n.npy' % name, a)
    np.save('py/%s_f.npy' % name, np.array(a, order='F'))
    np.save('py/%s_b.npy' % name, a.astype(a.dtype.newbyteorder('>')))
    for v in (2, 3):
        with open('py/%s_%d.npy' % (name, v), 'wb') as f:
            np.lib.format.write_array(f, a, version=(v, 0))
np.savez('py/all.npz', **dict(arrays()))
np.savez_compressed('py/packed.npz', **dict(arrays()))
np.savez('py/odd.npz', text=np.array(['a', 'b']), x=np.arange(3.))
with open('py/list', 'w') as f:
    print(*[n for n in os.listdir('py') if n[-4:] == '.npy'], sep='\n', file=f)
PY
cat >again.lua <<'LUA'
-- All that Python wrote is read and written again.
for name in io.lines("py/list") do
  write("ours/" .. name, read("py/" .. name))
end
local all, packed = read("py/all.npz"), read("py/packed.npz")
write("ours/all.npz", all)
write("ours/packed.npz", packed, { compress = true })
write("ours/all.safetensors", all)
local c = read("py/f4c_f.npy")
assert(c.shape == { 2, 3, 4 } and c[{ 2, 1, 3 }]:item() == 8)
assert(read("py/i2c_b.npy")[{ 1, 1, 2 }]:item() == 40)
assert(#tree.leaves(all) == 48)
LUA
cat >compare.py <<'PY'
from make import *
def same(a, b, what):
    assert a.dtype == b.dtype and a.shape == b.shape, (what, a.dtype, b.dtype)
    assert a.tobytes() == b.tobytes(), what
n = 0
for name, a in arrays():
    for kind in 'nfb23':
        file = 'ours/%s_%s.npy' % (name, kind)
        same(np.load(file), a, file)
        n += 1
for file in ('ours/all.npz', 'ours/packed.npz'):
    z = np.load(file)
    assert len(z.files) == 48
    for name, a in arrays():
        same(z[name], a, file + ' ' + name)
import zipfile
assert zipfile.ZipFile('ours/packed.npz').testzip() is None
print(n)
PY
cat >tensors.py <<'PY'
import sys
from make import *
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
if sys.argv[1] == 'compare':
    t = load_file('ours/all.safetensors')
    for name, a in arrays():
        assert t[name].dtype == a.dtype and t[name].shape == a.shape, name
        assert t[name].tobytes() == a.tobytes(), name
    t = load_file('ours/again.safetensors')
    for name, a in arrays():
        assert t[name].tobytes() == a.tobytes(), name
    with safe_open('ours/again.safetensors', 'np') as f:
        assert f.metadata() == {'k': '"v"\n', 'z': '\u00e4'}, f.metadata()
    print(len(t))
else:
    save_file(dict(arrays()), 'py/all.safetensors',
              {'k': '"v"\n', 'z': '\u00e4'})
PY
if numpy; then
  run "$python" write.py
  gives 'NumPy writes' 0 ''
  mkdir ours
  run "$TSH" run again.lua
  gives 'what NumPy wrote is read and written again' 0 ''
  run "$python" compare.py
  gives 'NumPy reads the same bytes' 0 240
  lua 'local t = read("py/odd.npz", {skip = true})
    print(t.text, t.x)
    print(pcall(read, "py/odd.npz"))'
  has 'texts of NumPy are left out on demand' "$out" 'nil	f64[3] [0., 1., 2.]'
  has 'and refused else' "$out" "text: its elements, '<U1', are texts"
else
  echo 'note: no NumPy here, its files are not tested' >&2
fi
if numpy && safetensors; then
  run "$python" tensors.py write
  gives 'safetensors writes' 0 ''
  lua 'local t, notes = read("py/all.safetensors")
    write("ours/again.safetensors", t, {metadata = notes})'
  gives 'what safetensors wrote is read and written again' 0 ''
  run "$python" tensors.py compare
  gives 'safetensors reads the same bytes' 0 48
else
  echo 'note: no safetensors for Python here, its files are not tested' >&2
fi

# ---- other devices -------------------------------------------------------------
plugins=${TSH_BUILD-}/plugins/example/.libs
if [ -e "$plugins/opaque.so" ]; then
  TSH_PLUGIN_PATH=$plugins lua '
    local x = arange(3000000):cast("f32"):reshape(1500, 2000)
    write("big.npy", x)
    local y = read("big.npy", {device = "opaque"})
    assert(y.device:match("opaque") and equal(y:to("cpu"), x))
    write("back.npy", y)
    assert(equal(read("back.npy"), x))'
  gives 'in pieces to a device that the host cannot see' 0 ''
fi

# ---- pipes ----------------------------------------------------------------------
lua 'write("x.npy", tensor{1, 2}) write("x.csv", tensor{{1, 2}, {3, 4}})'
out=$("$TSH" -e 'print(read("/dev/stdin"))' < <(cat x.npy))
is 'npy from a pipe' "$out" 'i64[2] [1, 2]'
out=$("$TSH" -e 'print((read("/dev/stdin", {format = "csv"})):sum())' \
  < <(cat x.csv))
is 'csv from a pipe' "$out" 'i64[] 10'
out=$("$TSH" -e 'write("/dev/stdout", tensor{{1, 2}}, {format = "csv"})' | cat)
is 'csv to a pipe' "$out" '1,2'
"$TSH" -e 'io.write("a\n") io.flush()
  write("/dev/stdout", tensor{5}, {format = "csv"}) print("b")' >out
is 'csv to standard output that is a file' "$(cat out)" $'a\n5\nb'
mkfifo pipe
"$TSH" -e 'print(pcall(read, "pipe"))' >out 2>err &
pid=$!
sleep 0.5
kill -INT $pid
rc=0
wait $pid || rc=$?
is 'who waits for a pipe can be stopped' "$rc" 130
exec 9<>pipe
"$TSH" -e 'read("pipe", {format = "csv"})' >out 2>err 9>&- &
pid=$!
sleep 0.5
kill -INT $pid
rc=0
wait $pid || rc=$?
exec 9>&-
is 'who waits for its bytes, too' "$rc" 130
has 'and who waits for its bytes' "$(cat err)" interrupted

# ---- stopped, killed, out of room -----------------------------------------------
cat >loop.lua <<'LUA'
local a, b = full({ 1500, 1500 }, 1.0), full({ 1500, 1500 }, 2.0)
write("target.safetensors", { x = a, y = a })
print("ready")
while true do
  write("target.safetensors", { x = b, y = b })
  write("target.safetensors", { x = a, y = a })
end
LUA
for i in $(seq 12); do
  : >out
  "$TSH" run loop.lua >out 2>err &
  pid=$!
  for _ in $(seq 400); do
    if [ -s out ]; then break; fi
    sleep 0.01
  done
  sleep "0.0$((i * 7 % 10))$((i * 3 % 10))"
  kill -KILL $pid
  wait $pid 2>/dev/null
  lua 'local t = read("target.safetensors")
    local v = t.x[{1, 1}]:item()
    print(t.x:eq(v):all():item() and t.y:eq(v):all():item())'
  if [ "$rc$out" != 0true ]; then break; fi
done
gives 'killed at any time: the file is whole' 0 true
rm -f .tsh-*

"$TSH" run loop.lua >out 2>err &
pid=$!
sleep 0.6
kill -INT $pid
rc=0
wait $pid || rc=$?
is 'interrupted' "$rc" 130
is 'nothing is left beside the file' "$(find . -name '.tsh-*')" ''
lua 'local t = read("target.safetensors") print(#t.x)'
gives 'and the file is whole' 0 1500

before=$(cksum <target.safetensors)
run bash -c 'ulimit -f 1000; exec "$0" -e "
  local x = randn(1000, 1000)
  print(pcall(write, \"target.safetensors\", {x = x}))
  print(x.shape, x:sum():item() == x:sum():item())"' "$TSH"
has 'a limit is an error with the path' "$out" \
  'write: target.safetensors: File too large'
has 'after which variables are there' "$out" '[1000,1000]	true'
is 'the old file is there' "$(cksum <target.safetensors)" "$before"
is 'and no other' "$(find . -name '.tsh-*')" ''

finish
