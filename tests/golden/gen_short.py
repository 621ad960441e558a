#!/usr/bin/python3
"""Writes short.txt: the rows of gen.py for f16, bf16, i8, u8 and i16.

    /usr/bin/python3 gen_short.py

Halves are computed by PyTorch in f32 (functions with an ulp: in f64) and the
result is rounded once; integers by PyTorch in i64, and wrapped. Casts to these
dtypes are worked out here with exact fractions.
"""
import math
from fractions import Fraction

import torch

import gen
import gen_nn

TYPES = {'f16': torch.float16, 'bf16': torch.bfloat16, 'i8': torch.int8,
         'u8': torch.uint8, 'i16': torch.int16}
INF, NAN = math.inf, math.nan
# digits, the power of the last denormal digit, the largest number
HALVES = {'f16': (11, -24, 65504.0),
          'bf16': (8, -133, float.fromhex('0x1.fep127'))}
SMALL = [0, 1, -1, 2, -3, 7, 100, -128, 127, 255, 256, -32768, 32767, 40000]
CASTS = {
    'f32': [1.00390625, 1.0078125, 3.0078125, 65519.0, 65520.0, 2.0 ** -25,
            2.0 ** -24 * 1.5, 2.0 ** -25 + 2.0 ** -45, 2.0 ** -133, 2.0 ** 127,
            float.fromhex('0x1.ffp127'), -0.0, 255.875, -128.875, INF, NAN],
    'f64': [1 + 2.0 ** -8 + 2.0 ** -40, 1 + 2.0 ** -8,
            1 + 2.0 ** -11 + 2.0 ** -40, 2.0 ** -25 + 2.0 ** -60, 1e300,
            -1e-300, 32767.99, -32769.0, NAN],
    'i64': [16842753, 16842752, 33685505, 2049, 2051, 65519, 65520,
            (1 << 60) + (1 << 52) + 1, -(2 ** 63), 300, -1],
    'i32': [2049, -2051, 257, 65535, 2 ** 31 - 1],
    'f16': [0.1, -2.5, 65504.0, 300.0, NAN],
    'bf16': [0.1, 1e38, -7.5],
    'i8': [-128, 127],
    'u8': [255, 3],
    'i16': [-32768, 32767, 2049],
    'bool': [1, 0]}


def half(v, name):
    """v as the nearest f16 or bf16, halves to even."""
    digits, e, largest = HALVES[name]
    if v != v or v in (0, INF, -INF):
        return float(v)
    q = abs(Fraction(v))
    while q >= Fraction(2) ** (e + digits):
        e += 1
    r = round(q / Fraction(2) ** e) * Fraction(2) ** e  # to even
    r = float(r) if r <= largest else INF
    return -r if v < 0 else r


def limits(name):
    bits = int(name[1:])
    return (0, (1 << bits) - 1) if name[0] == 'u' else \
        (-(1 << bits - 1), (1 << bits - 1) - 1)


def wrap(v, name):
    low, high = limits(name)
    return (v - low) % (high - low + 1) + low


def cut(v, name):
    """A float to an integer dtype."""
    low, high = limits(name)
    return 0 if v != v else int(min(max(v, low), high))


def as_short(v, name):
    if name in HALVES:
        return half(v, name)
    return wrap(v, name) if isinstance(v, int) else cut(v, name)


def line(values):
    return ' '.join(gen.text_of(v) for v in values)


def read(w, name, dtype):
    """The input as an f32 or i64 tensor that holds its values."""
    floats, whole, _, shape = gen.INPUTS[name]
    values = floats if dtype in HALVES else SMALL if name == 'any' else whole
    values = [as_short(v, dtype) for v in values]
    x = torch.tensor(values, dtype=torch.float32 if dtype in HALVES
                     else torch.int64)
    x = x if shape is None else x.reshape(shape)
    full = f'{name}.{dtype}'
    if full not in w.known:
        w.known.add(full)
        w.lines.append(f'input {full} {dtype} {gen.shape_text(x)} '
                       f'{gen.values_text(x)}')
    return full, x


def result(y, dtype, lua):
    """Name and values of what was computed in f32, f64 or i64."""
    if y.dtype.is_floating_point:
        if dtype not in HALVES:
            return 'f32', y.to(torch.float32)
        return dtype, y.to(torch.float32).to(TYPES[dtype])
    if y.dtype != torch.int64 or 'arg' in lua:
        return gen.NAMES[y.dtype], y
    if 'sum' in lua or 'prod' in lua:
        return 'u64' if dtype == 'u8' else 'i64', y
    return dtype, y.to(TYPES[dtype])


def row(w, lua, kinds, f, ulp, names):
    for dtype in TYPES:
        whole = dtype not in HALVES
        if ('I' if whole else 'F') not in kinds.upper() or 'cast' in lua:
            continue
        if 'nan_to_num' in lua:
            continue  # it depends on the largest number
        if dtype == 'u8' and '-1' in lua or whole and any(
                t in lua for t in ('<<', '>>', '^ y')):
            continue  # -1 is no u8; PyTorch has no rule for such powers, shifts
        inputs = [read(w, n, dtype) for n in names]
        x = [t for _, t in inputs]
        wide = ulp != 0 and not (whole and lua.startswith('x ^'))
        name, y = result(f(*([t.double() for t in x] if wide else x)), dtype, lua)
        where = ' '.join(f'{c}={full}' for c, (full, _) in zip('xyzw', inputs))
        # A composition rounds each of its steps.
        allowed = ulp + 2 if ulp > 0 else ulp
        w.lines.append(f'case {lua}\t{where}\t{allowed}\t{name} '
                       f'{gen.shape_text(y)} {gen.values_text(y)}')


def short_fma(x, y, z):
    """The product of two halves is exact in f64."""
    return (x.double() * y.double() + z.double()).to(torch.float32)


def once(w, lua, f, names):
    """What layers and losses give of halves: computed wide, rounded once. A
    result in f32 may fall on the other side of a half's bound: 1 ulp. gelu far
    below 0 has no digits in f32."""
    for dtype in HALVES:
        inputs = [read(w, n, dtype) for n in names]
        y = f(*(t if 'gelu' in lua else t.double() for _, t in inputs))
        where = ' '.join(f'{c}={full}' for c, (full, _) in zip('xyzw', inputs))
        text = line(half(v, dtype) for v in y.flatten().tolist())
        w.lines.append(f'case {lua}\t{where}\t1\t{dtype} '
                       f'{gen.shape_text(y)} {text}')


def layers(w):
    """Layers, losses as they are by default, convolutions, pools."""
    for lua, f, ulp, names in gen_nn.LAYERS + gen_nn.PICTURES:
        if ulp != 0 and 'residual' not in lua:
            once(w, lua, f, names)
    for lua, f, _, names in gen_nn.losses():
        if '"sum"' in lua or '"none"' in lua:
            continue
        text = gen_nn.WEIGHT_TEXT
        once(w, lua.replace(text, text + ':cast(x.dtype)'), f, names)
    for lua, _, f, _, names in gen.WINDOWS:
        if 'groups' in lua or 'avg' in lua:
            once(w, lua, f, names)


def casts(w):
    for source, values in CASTS.items():
        if source in HALVES:
            values = [half(v, source) for v in values]
        w.lines.append(f'input c.{source} {source} {len(values)} '
                       f'{line(values)}')
        for to in TYPES:
            w.lines.append(
                f'case x:cast("{to}")\tx=c.{source}\t0\t{to} {len(values)} '
                + line(as_short(v, to) for v in values))


def main():
    w = gen.Writer('short.txt')
    for lua, kinds, f, ulp, *names in gen.UNARY:
        row(w, lua, kinds, f, ulp, *names or [('any',)])
    for lua, kinds, f, ulp, *names in gen.BINARY:
        row(w, lua, kinds, f, ulp, *names or [('left', 'right')])
    for lua, kinds, f, ulp in gen.TERNARY:
        f = short_fma if 'fma' in lua else f
        row(w, lua, kinds, f, ulp, ('one', 'two', 'three'))
    for lua, kinds, f, ulp, names in gen.REDUCE + gen.MATMUL:
        row(w, lua, kinds, f, ulp, gen.tuple_of(names))
    casts(w)
    layers(w)
    w.save()


if __name__ == '__main__':
    main()
