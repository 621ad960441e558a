#!/usr/bin/python3
"""Writes the golden files of this folder: what ops must give, by PyTorch.

    /usr/bin/python3 gen.py       (Debian: python3-numpy, python3-torch)

gen_index.py and gen_library.py beside it write files of their own.

A row of a table below is one op: what is written in Lua, the dtypes it is
tried with, the reference, how many ulp a result may be off, and the inputs
where they are not those of the table. A new elementwise op is one row.
ulp 0: every bit; -N: N ulp of the result, or of 1 where it is below 1.
Gradients of float rows come from PyTorch too, in f64. Where tsh counts
otherwise than PyTorch, the shift comes from differences.txt and from nowhere
else.

Reference functions get torch tensors. With ulp 0 they compute in the dtype
itself; else in f64, and the result is rounded once to the dtype.

The lines of the files, with a tab for each semicolon:
    input NAME DTYPE SHAPE VALUE...
    case EXPRESSION; x=NAME ...; ULP; DTYPE SHAPE VALUE...
    grad EXPRESSION; x=NAME ...; ULP; x SHAPE VALUE...; y ...
grad is of the sum of the result times weights 0.25, 1.3125, ... (see weights).
SHAPE is 2x3, or - for no axes. Floats are hexadecimal unless decimal is short.
"""
import math
import os
from fractions import Fraction

import numpy
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
DTYPES = {'f32': torch.float32, 'f64': torch.float64, 'i32': torch.int32,
          'i64': torch.int64, 'bool': torch.bool}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
KINDS = {'F': ('f32', 'f64'), 'f': ('f32', 'f64'), 'I': ('i32', 'i64'),
         'B': ('bool',)}
INF, NAN = math.inf, math.nan


def read_differences():
    """NAME -> the shift that makes their number ours."""
    shifts = {}
    with open(os.path.join(HERE, 'differences.txt')) as f:
        for line in f:
            word = line.split()
            if word and not line.startswith('#') and word[1] != 'rule':
                shifts[word[0]] = int(word[1])
    return shifts


SHIFT = read_differences()

# ---- what Lua is told -------------------------------------------------------


def ax(*axes):
    """Axes of theirs, as Lua writes them: 1 or {1, 3}."""
    ours = [a + SHIFT['axis'] if a >= 0 else a for a in axes]
    return str(ours[0]) if len(ours) == 1 else '{%s}' % str(ours)[1:-1]


def at(*positions):
    """Positions, as numbers of a Lua list."""
    return ', '.join(str(p + SHIFT['index'] if p >= 0 else p)
                     for p in positions)


def rng(start, stop, step=1):
    """The range start:stop:step of theirs, step > 0."""
    text = '%d, %d' % (start + SHIFT['index'], stop + SHIFT['end'])
    return '{%s}' % (text if step == 1 else '%s, %d' % (text, step))


# ---- rules of tsh (differences.txt) -----------------------------------------


def cast_rule(x, name):
    dtype = DTYPES[name]
    if dtype.is_floating_point or not x.dtype.is_floating_point:
        return x.to(dtype)
    if name == 'bool':
        return x != 0
    limit = torch.iinfo(dtype)
    whole = [0 if v != v else int(min(max(v, -2.0 ** 70), 2.0 ** 70))
             for v in x.to(torch.float64).tolist()]
    return torch.tensor([min(max(v, limit.min), limit.max) for v in whole],
                        dtype=dtype)


def larger(x, y):
    """maximum with +0 above -0."""
    if x.requires_grad:
        return torch.maximum(x, y)
    z = torch.maximum(x, y)
    both = (x == 0) & (y == 0)
    return torch.where(both, x + y, z) if x.dtype.is_floating_point else z


def smaller(x, y):
    if x.requires_grad:
        return torch.minimum(x, y)
    z = torch.minimum(x, y)
    both = (x == 0) & (y == 0)
    return torch.where(both, -(-x - y), z) if x.dtype.is_floating_point else z


def floordiv_rule(x, y):
    if not x.dtype.is_floating_point:
        return torch.div(x, y, rounding_mode='floor')
    return torch.floor(x / y)


def mod_rule(x, y):
    if x.requires_grad or not x.dtype.is_floating_point:
        return torch.remainder(x, y)
    m = torch.fmod(x, y)
    wrong = ((m > 0) & (y < 0)) | ((m < 0) & (y > 0))
    return torch.where(m == 0, torch.copysign(m, y),
                       torch.where(wrong, m + y, m))


def nearest(q, dtype):
    """The fraction q rounded once to f32 or f64, halves to even."""
    f = float(q)
    if dtype == torch.float64:
        return f
    near = numpy.float32(f)
    for c in (numpy.nextafter(near, numpy.float32(-INF)),
              numpy.nextafter(near, numpy.float32(INF))):
        off, best = abs(Fraction(float(c)) - q), abs(Fraction(float(near)) - q)
        even = numpy.array(c).view(numpy.uint32) % 2 == 0
        if off < best or (off == best and even):
            near = c
    return float(near)


def fma_rule(x, y, z):
    if x.requires_grad:
        return x * y + z
    exact = [nearest(Fraction(a) * Fraction(b) + Fraction(c), x.dtype)
             for a, b, c in zip(x.tolist(), y.tolist(), z.tolist())]
    return torch.tensor(exact, dtype=x.dtype)


# ---- inputs -----------------------------------------------------------------

ANY = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 0.1, -0.3, 3.7,
       -4.2, 10.25, -20.5, 88.5, -87.0, 1e-3, -1e-6, 1e10, -1e30, 1e-40, INF,
       -INF, NAN]
WHOLE = [0, 1, -1, 2, -3, 7, 100, -128, 46341, -(2 ** 31), 2 ** 31 - 1]
PAIRS = [(7.0, 2.0), (-7.0, 2.0), (7.0, -2.0), (-7.0, -2.0), (1.0, 0.1),
         (0.75, 0.75), (-0.5, -0.5), (0.0, 1.5), (-0.0, 1.5), (0.0, -0.0),
         (-0.0, 0.0), (2.0, 0.0), (-2.0, 0.0), (0.0, 0.0), (3.5, INF),
         (-3.5, INF), (INF, 2.0), (INF, INF), (NAN, 1.0), (1.0, NAN),
         (1e30, 1e-3), (0.3, 2.7), (9.0, 0.5), (1.1, 30.0)]
WHOLE_PAIRS = [(7, 2), (-7, 2), (7, -2), (-7, -2), (0, 5), (1, 31), (-1, 31),
               (3, 19), (-3, 5), (2 ** 31 - 1, 2 ** 31 - 1),
               (-(2 ** 31), 3), (12345, 677), (5, 5), (-8, 1)]
TRIPLES = [(1.0, 2.0, 0.25), (0.1, 0.2, 0.3), (-1.5, 3.25, 1.75),
           (1e10, 1e-10, -1.0), (1.1, 1.1, -1.21), (3.0, -7.0, 0.5),
           (0.7, 0.9, 0.6), (1e20, 1e15, 2.0)]
CUBE = [1.0, -2.5, 0.5, 3.0, 0.0, 1.25, -0.75, 3.0, 2.0, -1.0, 0.125, 4.0,
        -3.5, 2.0, 1.0, 1.0, 0.375, -0.5, 5.0, 0.25, -4.0, 2.5, 5.0, 1.75]
WHOLE_CUBE = [1, -2, 5, 3, 0, 1, -7, 3, 2, -1, 9, 4,
              -3, 2, 1, 1, 8, -5, 6, 2, -4, 2, 6, 1]
BITS = [1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1]


def columns(rows, k):
    return [row[k] for row in rows]


# NAME -> (values of F, I, B or None, shape or None)
INPUTS = {
    'any': (ANY, WHOLE, BITS[:8], None),
    'left': (columns(PAIRS, 0), columns(WHOLE_PAIRS, 0), BITS[:8], None),
    'right': (columns(PAIRS, 1), columns(WHOLE_PAIRS, 1), BITS[8:16], None),
    'one': (columns(TRIPLES, 0), None, None, None),
    'two': (columns(TRIPLES, 1), None, None, None),
    'three': (columns(TRIPLES, 2), None, None, None),
    'low': ([-50.0, -1.0, 0.0, 3.0, 1000.0, -1000.0, 2.0, -INF, NAN], None,
            None, None),
    'high': ([2.0, -1.5, 0.0, -40.0, 1000.0, -1001.0, -INF, 1.0, 1.0], None,
             None, None),
    'cube': (CUBE, WHOLE_CUBE, BITS, (2, 3, 4)),
    'matrix': (CUBE[:6], WHOLE_CUBE[:6], BITS[:6], (2, 3)),
    'row': (CUBE[6:9], WHOLE_CUBE[6:9], BITS[6:9], (3,)),
    'column': (CUBE[9:11], WHOLE_CUBE[9:11], BITS[9:11], (2, 1)),
    'tall': (CUBE[8:20], WHOLE_CUBE[8:20], BITS[8:20], (4, 3)),
    'batch': (CUBE[:12], WHOLE_CUBE[:12], None, (2, 3, 2)),
    'pair': (CUBE[12:24], WHOLE_CUBE[12:24], None, (2, 2, 3)),
    'single': ([1.5], [5], [1], ()),
    'nothing': ([], [], [], (0, 3)),
    'zeros': ([2.0, 0.0, 3.0, 0.0, 0.0, 4.0], None, None, (2, 3)),
    'ties': ([2.0, 5.0, 5.0, -1.0, -1.0, 4.0], [2, 5, 5, -1, -1, 5], None,
             (2, 3)),
    'nans': ([2.0, NAN, 5.0, -1.0, NAN, NAN], None, None, (2, 3)),
}
# Inputs of one dtype, whatever dtype the others have.
FIXED = {
    'mask': torch.tensor(BITS[:24], dtype=torch.bool),
    'mask23': torch.tensor([[1, 0, 1], [0, 0, 1]], dtype=torch.bool),
    'at': torch.tensor([2, 0, 2]),
    'at2': torch.tensor([[0, 1], [1, 1]]),
}


def make_input(name, dtype):
    if name in FIXED:
        return FIXED[name].clone()
    row = INPUTS[name]
    values = row['FIB'.index('F' if dtype[0] == 'f' else
                             'B' if dtype == 'bool' else 'I')]
    if dtype == 'i64' and values is WHOLE:
        values = WHOLE + [-(2 ** 63), 2 ** 63 - 1, 94906267]
    x = torch.tensor(values, dtype=DTYPES[dtype])
    return x if row[3] is None else x.reshape(row[3])


# ---- the tables -------------------------------------------------------------
# (Lua, kinds, reference, ulp, inputs). Kinds: F floats, I integers, B bool; f
# floats without gradient, where PyTorch's is of no use.

UNARY = [
    ('-x', 'FI', torch.neg, 0),
    ('abs(x)', 'FI', torch.abs, 0),
    ('sign(x)', 'FI', torch.sign, 0),
    ('floor(x)', 'FI', torch.floor, 0),
    ('ceil(x)', 'FI', torch.ceil, 0),
    ('trunc(x)', 'FI', torch.trunc, 0),
    ('round(x)', 'FI', torch.round, 0),
    ('frac(x)', 'F', lambda x: x - torch.trunc(x), 0),
    ('sqrt(x)', 'F', torch.sqrt, 0),
    ('rsqrt(x)', 'F', lambda x: 1 / torch.sqrt(x), 0),
    ('square(x)', 'FI', lambda x: x * x, 0),
    ('reciprocal(x)', 'F', lambda x: 1 / x, 0),
    ('isnan(x)', 'FIB', torch.isnan, 0),
    ('isinf(x)', 'FIB', torch.isinf, 0),
    ('isfinite(x)', 'FIB', torch.isfinite, 0),
    ('~x', 'IB', torch.bitwise_not, 0),
    ('logical_not(x)', 'FIB', torch.logical_not, 0),
    ('relu(x)', 'FI', lambda x: torch.relu(x) + 0, 0),  # never -0
    ('exp(x)', 'FIB', torch.exp, 2),
    ('expm1(x)', 'F', torch.expm1, 3),
    ('log(x)', 'FI', torch.log, 2),
    ('log1p(x)', 'F', torch.log1p, 3),
    ('sin(x)', 'FI', torch.sin, 3),
    ('cos(x)', 'F', torch.cos, 3),
    ('tanh(x)', 'FI', torch.tanh, 3),
    ('sigmoid(x)', 'FI', torch.sigmoid, 3),
    ('erf(x)', 'F', torch.erf, 5),
    ('x ^ 2', 'FI', lambda x: x * x, 0),
    ('x ^ 3', 'FI', lambda x: x * x * x, 2),
    ('x ^ 0.5', 'F', lambda x: torch.pow(x, 0.5), 5),
    ('x ^ -1', 'F', lambda x: torch.pow(x, -1), 5),
    ('x ^ 0', 'F', lambda x: torch.pow(x, 0), 0),
    ('x ^ 1.75', 'F', lambda x: torch.pow(x, 1.75), 5),
    ('x:cast("f32")', 'FIB', lambda x: cast_rule(x, 'f32'), 0),
    ('x:cast("f64")', 'FIB', lambda x: cast_rule(x, 'f64'), 0),
    ('x:cast("i32")', 'FIB', lambda x: cast_rule(x, 'i32'), 0),
    ('x:cast("i64")', 'FIB', lambda x: cast_rule(x, 'i64'), 0),
    ('x:cast("bool")', 'FIB', lambda x: cast_rule(x, 'bool'), 0),
    ('x + 1', 'FIB', lambda x: x + 1, 0),
    ('2.5 * x', 'FI', lambda x: 2.5 * x, 0),
    ('x:lt(2.5)', 'FI', lambda x: x < 2.5, 0),
    ('x:eq(1)', 'FIB', lambda x: x == 1, 0),
    # compositions of the library
    ('clamp(x, -1, 2)', 'fI', lambda x: torch.clamp(x, -1, 2), 0),
    ('clamp(x, -1, 2)', 'F', lambda x: torch.clamp(x, -1, 2), 0, ('one',)),
    ('silu(x)', 'F', torch.nn.functional.silu, 5),
    ('gelu(x)', 'F', torch.nn.functional.gelu, -4),
    ('softplus(x)', 'F',
     lambda x: torch.nn.functional.softplus(x, threshold=40), 5),
    ('leaky_relu(x)', 'F', torch.nn.functional.leaky_relu, 1),
    ('nan_to_num(x)', 'F', torch.nan_to_num, 0),
]

BINARY = [
    ('x + y', 'FI', torch.add, 0),
    ('x - y', 'FI', torch.sub, 0),
    ('x * y', 'FI', torch.mul, 0),
    ('x / y', 'FI', torch.div, 0),
    ('x // y', 'fI', floordiv_rule, 0),
    ('x % y', 'fI', mod_rule, 0),
    ('x % y', 'F', mod_rule, 0, ('one', 'two')),
    ('fmod(x, y)', 'FI', torch.fmod, 0),
    ('x ^ y', 'FI', torch.pow, 5),
    ('maximum(x, y)', 'FIB', larger, 0),
    ('minimum(x, y)', 'FIB', smaller, 0),
    ('x:eq(y)', 'FIB', torch.eq, 0),
    ('x:ne(y)', 'FIB', torch.ne, 0),
    ('x:lt(y)', 'FIB', torch.lt, 0),
    ('x:le(y)', 'FIB', torch.le, 0),
    ('x:gt(y)', 'FIB', torch.gt, 0),
    ('x:ge(y)', 'FIB', torch.ge, 0),
    ('x & y', 'IB', torch.bitwise_and, 0),
    ('x | y', 'IB', torch.bitwise_or, 0),
    ('bitxor(x, y)', 'IB', torch.bitwise_xor, 0),
    ('x << abs(y) % 31', 'I', lambda x, y: x << abs(y) % 31, 0),
    ('x >> abs(y) % 31', 'I', lambda x, y: x >> abs(y) % 31, 0),
    ('logical_and(x, y)', 'FIB', torch.logical_and, 0),
    ('logical_or(x, y)', 'FIB', torch.logical_or, 0),
    ('logical_xor(x, y)', 'FIB', torch.logical_xor, 0),
    ('copysign(x, y)', 'f', torch.copysign, 0),
    ('copysign(x, y)', 'F', torch.copysign, 0, ('one', 'two')),
    ('hypot(x, y)', 'f', torch.hypot, 3),
    ('hypot(x, y)', 'F', torch.hypot, 3, ('one', 'two')),
    ('logaddexp(x, y)', 'F', torch.logaddexp, -4, ('low', 'high')),
]

TERNARY = [
    ('fma(x, y, z)', 'F', fma_rule, 0),
    ('lerp(x, y, z)', 'F', lambda x, y, z: x + z * (y - x), 0),
    ('addcmul(x, y, z)', 'F', lambda x, y, z: x + y * z, 0),
    ('addcdiv(x, y, z)', 'F', lambda x, y, z: x + y / z, 0),
]


def over(reduce, *axes, **options):
    """A reduction over several axes, one after the other."""
    def f(x):
        for a in sorted(axes or range(x.dim()), reverse=True):
            x = reduce(x, a, **options)
        return x
    return f


REDUCE = [
    ('x:sum()', 'FIB', torch.sum, 0, 'cube'),
    (f'x:sum{{axis={ax(0)}}}', 'FIB', lambda x: x.sum(0), 0, 'cube'),
    (f'x:sum{{axis={ax(1)}, keep=true}}', 'FIB',
     lambda x: x.sum(1, keepdim=True), 0, 'cube'),
    (f'x:sum{{axis={ax(0, 2)}}}', 'FIB', lambda x: x.sum((0, 2)), 0, 'cube'),
    (f'x:sum{{axis={ax(-1)}}}', 'FIB', lambda x: x.sum(-1), 0, 'cube'),
    (f'x:sum{{axis={ax(0)}}}', 'FI', lambda x: x.sum(0), 0, 'nothing'),
    ('x:sum()', 'FI', torch.sum, 0, 'single'),
    ('x:prod()', 'FIB', torch.prod, 0, 'matrix'),
    (f'x:prod{{axis={ax(2)}}}', 'FIB', lambda x: x.prod(2), 0, 'cube'),
    (f'x:prod{{axis={ax(0, 2)}}}', 'FI', over(torch.prod, 0, 2), 0, 'cube'),
    ('x:prod()', 'F', torch.prod, 0, 'zeros'),
    (f'x:prod{{axis={ax(1)}}}', 'F', lambda x: x.prod(1), 0, 'zeros'),
    (f'x:prod{{axis={ax(0)}}}', 'FI', lambda x: x.prod(0), 0, 'nothing'),
    ('x:max()', 'FIB', lambda x: x.amax(tuple(range(x.dim()))), 0, 'cube'),
    (f'x:max{{axis={ax(1)}}}', 'FIB', lambda x: x.amax(1), 0, 'cube'),
    (f'x:max{{axis={ax(1)}}}', 'FI', lambda x: x.amax(1), 0, 'ties'),
    (f'x:max{{axis={ax(0, 2)}, keep=true}}', 'FIB',
     lambda x: x.amax((0, 2), keepdim=True), 0, 'cube'),
    ('x:min()', 'FIB', lambda x: x.amin(tuple(range(x.dim()))), 0, 'cube'),
    (f'x:min{{axis={ax(1)}}}', 'FIB', lambda x: x.amin(1), 0, 'cube'),
    (f'x:min{{axis={ax(0)}}}', 'FI', lambda x: x.amin(0), 0, 'ties'),
    (f'x:max{{axis={ax(1)}}}', 'f', lambda x: x.amax(1), 0, 'nans'),
    (f'x:min{{axis={ax(0)}}}', 'f', lambda x: x.amin(0), 0, 'nans'),
    (f'argmax(x, {{axis={ax(0)}}})', 'f',
     lambda x: torch.argmax(x, 0) + SHIFT['argmax'], 0, 'nans'),
    ('any(x)', 'IB', lambda x: (x != 0).any(), 0, 'cube'),
    (f'any(x, {{axis={ax(2)}}})', 'FIB', lambda x: (x != 0).any(2), 0, 'cube'),
    ('all(x)', 'IB', lambda x: (x != 0).all(), 0, 'cube'),
    (f'all(x, {{axis={ax(2)}}})', 'FIB', lambda x: (x != 0).all(2), 0, 'cube'),
    ('argmax(x)', 'FIB', lambda x: torch.argmax(x.to(torch.float64))
     + SHIFT['argmax'], 0, 'cube'),
    (f'argmax(x, {{axis={ax(2)}}})', 'FI',
     lambda x: torch.argmax(x, 2) + SHIFT['argmax'], 0, 'cube'),
    (f'argmax(x, {{axis={ax(1)}, keep=true}})', 'FI',
     lambda x: torch.argmax(x, 1, keepdim=True) + SHIFT['argmax'], 0, 'ties'),
    ('argmin(x)', 'FI', lambda x: torch.argmin(x) + SHIFT['argmin'], 0,
     'cube'),
    (f'argmin(x, {{axis={ax(1)}}})', 'FI',
     lambda x: torch.argmin(x, 1) + SHIFT['argmin'], 0, 'ties'),
    ('x:mean()', 'F', torch.mean, 1, 'cube'),
    (f'x:mean{{axis={ax(0, 1)}}}', 'F', lambda x: x.mean((0, 1)), 1, 'cube'),
    (f'x:mean{{axis={ax(1)}, keep=true}}', 'F',
     lambda x: x.mean(1, keepdim=True), 1, 'cube'),
    ('x:var()', 'F', torch.var, 4, 'cube'),
    (f'x:var{{axis={ax(2)}, correction=0}}', 'F',
     lambda x: x.var(2, unbiased=False), 4, 'cube'),
    (f'std(x, {{axis={ax(1)}}})', 'F', lambda x: x.std(1), 4, 'cube'),
    ('norm(x)', 'F', lambda x: torch.linalg.vector_norm(x), 2, 'cube'),
    (f'norm(x, {{axis={ax(2)}}})', 'F',
     lambda x: torch.linalg.vector_norm(x, 2, 2), 2, 'cube'),
    (f'norm(x, {{p=1, axis={ax(1)}}})', 'F',
     lambda x: torch.linalg.vector_norm(x, 1, 1), 2, 'cube'),
    (f'norm(x, {{p=3, axis={ax(1)}}})', 'F',
     lambda x: torch.linalg.vector_norm(x, 3, 1), 12, 'cube'),
    (f'norm(x, {{p=math.huge, axis={ax(1)}}})', 'F',
     lambda x: torch.linalg.vector_norm(x, INF, 1), 0, 'cube'),
    (f'logsumexp(x, {{axis={ax(1)}}})', 'F', lambda x: x.logsumexp(1), -6,
     'cube'),
    (f'softmax(x, {{axis={ax(-1)}}})', 'F', lambda x: x.softmax(-1), 6,
     'cube'),
    (f'softmax(x, {{axis={ax(0)}}})', 'F', lambda x: x.softmax(0), 6, 'cube'),
    (f'log_softmax(x, {{axis={ax(1)}}})', 'F', lambda x: x.log_softmax(1), -8,
     'cube'),
    ('layer_norm(x)', 'F',
     lambda x: torch.nn.functional.layer_norm(x, x.shape[-1:]), -8, 'cube'),
]

MATMUL = [
    ('x:matmul(y)', 'FI', torch.matmul, 0, ('matrix', 'row')),
    ('x:matmul(y)', 'FI', torch.matmul, 0, ('row', 'row')),
    ('x:matmul(y)', 'FI', torch.matmul, 0, ('cube', 'tall')),
    ('x:matmul(y)', 'FI', torch.matmul, 0, ('tall', 'batch')),
    ('x:matmul(y)', 'FI', torch.matmul, 0, ('batch', 'pair')),
    ('x:matmul(y)', 'FI', torch.matmul, 0, ('row', 'batch')),
    ('x:matmul(y.T)', 'FI', lambda x, y: x @ y.T, 0, ('matrix', 'tall')),
    ('outer(x, y)', 'FI', torch.outer, 0, ('row', 'row')),
    ('x:matmul(y)', 'FI', torch.matmul, 0, ('nothing', 'tall3')),
]
INPUTS['tall3'] = (CUBE[3:9], WHOLE_CUBE[3:9], None, (3, 2))

LAYOUT = [
    ('x:reshape(4, 6)', 'FIB', lambda x: x.reshape(4, 6), 0, 'cube'),
    ('x:reshape(3, -1)', 'F', lambda x: x.reshape(3, -1), 0, 'cube'),
    ('x:flatten()', 'F', torch.flatten, 0, 'cube'),
    (f'x:permute{ax(2, 0, 1)}', 'FIB', lambda x: x.permute(2, 0, 1), 0,
     'cube'),
    (f'x:transpose({ax(0)}, {ax(2)})', 'F', lambda x: x.transpose(0, 2), 0,
     'cube'),
    ('x.T', 'FIB', lambda x: x.T, 0, 'matrix'),
    (f'x:unsqueeze({ax(1)})', 'F', lambda x: x.unsqueeze(1), 0, 'matrix'),
    (f'x:squeeze({ax(1)})', 'F', lambda x: x.squeeze(1), 0, 'column'),
    ('broadcast_to(x, {2, 3})', 'FIB', lambda x: x.broadcast_to(2, 3), 0,
     'row'),
    ('broadcast_to(x, {4, 2, 3})', 'F', lambda x: x.broadcast_to(4, 2, 3), 0,
     'column'),
    ('broadcast_to(x, {2, 2})', 'F', lambda x: x.broadcast_to(2, 2), 0,
     'single'),
    (f'x[{at(1)}]', 'FIB', lambda x: x[1], 0, 'cube'),
    (f'x[{{{at(0)}, {rng(1, 3)}}}]', 'FIB', lambda x: x[0, 1:3], 0, 'cube'),
    (f'x[{{{{}}, {at(-1)}, {rng(0, 4, 3)}}}]', 'F',
     lambda x: x[:, -1, 0:4:3], 0, 'cube'),
    (f'x[{{"...", {at(2)}}}]', 'F', lambda x: x[..., 2], 0, 'cube'),
    ('x[{{}, {-1, 1, -1}}]', 'FIB', lambda x: x.flip(1), 0, 'cube'),
    ('x[{{}, {}, {-1, 1, -2}}]', 'F', lambda x: x.flip(2)[:, :, 0::2], 0,
     'cube'),
    (f'flip(x, {{axis={ax(0)}}})', 'FIB', lambda x: x.flip(0), 0, 'cube'),
    ('pad(x, {{1, 2}, {0, 1}})', 'FIB',
     lambda x: torch.nn.functional.pad(x, (0, 1, 1, 2)), 0, 'matrix'),
    ('pad(x, {{2, 0}}, {value=7})', 'FI',
     lambda x: torch.nn.functional.pad(x, (2, 0), value=7), 0, 'row'),
    (f'cat({{x, y}}, {{axis={ax(0)}}})', 'FIB',
     lambda x, y: torch.cat((x, y), 0), 0, ('matrix', 'tall')),
    (f'cat({{x, y, x}}, {{axis={ax(1)}}})', 'FIB',
     lambda x, y: torch.cat((x, y, x), 1), 0, ('matrix', 'column')),
    (f'stack({{x, x}}, {{axis={ax(1)}}})', 'FIB',
     lambda x: torch.stack((x, x), 1), 0, 'matrix'),
    (f'x:set({{{at(1)}, {rng(0, 2)}}}, y)', 'FIB',
     lambda x, y: torch.cat((x[:1], torch.cat((y, x[1, 2:])).unsqueeze(0))),
     0, ('matrix', 'two_')),
    (f'x:set({{{at(0)}}}, 4)', 'FI',
     lambda x: torch.cat((x[:1] * 0 + 4, x[1:])), 0, 'matrix'),
    ('x + y', 'FI', torch.add, 0, ('matrix', 'row')),
    ('x * y', 'FI', torch.mul, 0, ('column', 'row')),
    ('x - y', 'FI', torch.sub, 0, ('single', 'cube')),
    ('maximum(x, y)', 'FI', larger, 0, ('column', 'row')),
    ('where(m, x, y)', 'FIB', None, 0, ('matrix', 'row')),
    ('diff(x)', 'FI', torch.diff, 0, 'cube'),
    (f'unfold(x, {ax(2)}, 2)', 'FIB', lambda x: x.unfold(2, 2, 1), 0, 'cube'),
    (f'unfold(x, {ax(-1)}, 3, 1)', 'F', lambda x: x.unfold(-1, 3, 1), 0,
     'cube'),
    (f'unfold(x, {ax(0)}, 2, 2)', 'F', lambda x: x.unfold(0, 2, 2), 0, 'tall'),
    (f'unfold(x, {ax(0)}, 3, 2)', 'F', lambda x: x.unfold(0, 3, 2), 0, 'long'),
    (f'unfold(x, {ax(0)}, 2, 5)', 'F', lambda x: x.unfold(0, 2, 5), 0, 'long'),
]
INPUTS['long'] = (CUBE[:13], WHOLE_CUBE[:11] + [3, 4], None, (13,))
INPUTS['two_'] = (CUBE[20:22], WHOLE_CUBE[20:22], BITS[20:22], (2,))

# With an input of positions p, which Lua gets shifted.
POSITIONS = [
    (f'take(x, p, {{axis={ax(0)}}})', 'FIB', lambda x, p: x[p], 'tall', 'at'),
    (f'take(x, p, {{axis={ax(1)}}})', 'FIB', lambda x, p: x[:, p], 'matrix',
     'at'),
    (f'take(x, p, {{axis={ax(1)}}})', 'F', lambda x, p: x[:, p], 'cube',
     'at2'),
    ('x:add_at(p, y)', 'FI',
     lambda x, y, p: x.index_add(0, p, y), ('tall', 'three3'), 'at'),
]
INPUTS['three3'] = (CUBE[15:24], WHOLE_CUBE[15:24], None, (3, 3))

# Quarters, so that every sum and product is exact whatever its order.


def quarters(seed, *shape):
    n = math.prod(shape)
    values = [((k * k + 5 * k + seed) * 7 % 17 - 8) * 0.25 for k in range(n)]
    return (values, [int(4 * v) for v in values], None, shape)


INPUTS.update({
    'image': quarters(0, 2, 4, 6, 5), 'wave': quarters(1, 2, 4, 9),
    'small': quarters(2, 2, 4, 3, 2), 'plane': quarters(3, 3, 7, 8),
    'k33': quarters(4, 2, 4, 3, 3), 'k22': quarters(5, 6, 4, 2, 2),
    'k11': quarters(6, 3, 4, 1, 1), 'k32_2': quarters(7, 4, 2, 3, 2),
    'k33_4': quarters(8, 8, 1, 3, 3), 'k3': quarters(9, 3, 4, 3),
    'k2_2': quarters(10, 2, 2, 2), 't32': quarters(11, 4, 3, 3, 2),
    't33_2': quarters(12, 4, 2, 3, 3), 't3': quarters(13, 4, 2, 3),
    'p33': quarters(14, 2, 3, 3, 3),
    'bias2': quarters(15, 2), 'bias4': quarters(16, 4),
})
INPUTS['holes'] = ([NAN, 1.0, 2.0, 2.0, 3.0, NAN, 0.5, 2.0, NAN, -INF, -INF,
                    -INF, INF, INF, -INF, NAN, INF, 0.0, 1.0, NAN, 4.0, 1.5,
                    2.5, NAN, 3.5], None, None, (1, 1, 5, 5))


def options(d, renamed):
    """A dictionary as the options of Lua."""
    def text(v):
        if isinstance(v, bool):
            return str(v).lower()
        if isinstance(v, str):
            return f'"{v}"'
        return '{%s}' % str(v)[1:-1] if isinstance(v, tuple) else str(v)
    return '{%s}' % ', '.join(f'{renamed.get(k, k)}={text(v)}'
                              for k, v in d.items())


def convolution(name, names, **o):
    """A row for conv1d, conv2d and their transposes; names: x, w, bias."""
    theirs = getattr(torch.nn.functional, name)
    text = options(o, {})
    if len(names) == 3:
        text = text[:-1] + (', ' if o else '') + 'bias=z}'
    return (f'{name}(x, y, {text})', 'F', lambda *a: theirs(*a, **o), 0, names)


POOL = {'kernel_size': 'kernel', 'ceil_mode': 'ceil',
        'count_include_pad': 'count_pad'}


def pool(name, x, **o):
    theirs = getattr(torch.nn.functional, name)
    ulp = 1 if name.startswith('avg') else 0
    return (f'{name}(x, {options(o, POOL)})', 'F', lambda a: theirs(a, **o),
            ulp, (x,))


WINDOWS = [
    convolution('conv2d', ('image', 'k33')),
    convolution('conv2d', ('image', 'k33', 'bias2'), padding=1),
    convolution('conv2d', ('image', 'k33'), stride=2, padding=1),
    convolution('conv2d', ('image', 'k33'), stride=(1, 3), padding=(2, 0)),
    convolution('conv2d', ('image', 'k33'), dilation=2, padding=2),
    convolution('conv2d', ('image', 'k33'), dilation=(2, 1), stride=2,
                padding=(3, 1)),
    convolution('conv2d', ('image', 'k22'), padding='same'),
    convolution('conv2d', ('image', 'k22'), padding='valid', stride=4),
    convolution('conv2d', ('image', 'k11'), stride=2),
    convolution('conv2d', ('image', 'k32_2', 'bias4'), groups=2, padding=1),
    convolution('conv2d', ('image', 'k33_4'), groups=4, stride=2, padding=1),
    convolution('conv2d', ('image', 'k33_4'), groups=4, dilation=2, padding=2,
                stride=3),
    convolution('conv2d', ('plane', 'p33'), padding=1),
    convolution('conv1d', ('wave', 'k3')),
    convolution('conv1d', ('wave', 'k3'), stride=2, padding=2, dilation=2),
    convolution('conv1d', ('wave', 'k2_2', 'bias2'), groups=2, padding='same'),
    convolution('conv_transpose2d', ('small', 't32')),
    convolution('conv_transpose2d', ('small', 't32'), stride=2, padding=1,
                output_padding=1),
    convolution('conv_transpose2d', ('small', 't33_2', 'bias4'), stride=(2, 3),
                groups=2, padding=(0, 2), output_padding=(1, 2)),
    convolution('conv_transpose2d', ('small', 't32'), stride=2, dilation=3,
                output_padding=2),
    convolution('conv_transpose1d', ('wave', 't3'), stride=2, padding=1),
    pool('max_pool2d', 'image', kernel_size=2),
    pool('max_pool2d', 'image', kernel_size=2, ceil_mode=True),
    pool('max_pool2d', 'image', kernel_size=3, stride=2, padding=1),
    pool('max_pool2d', 'image', kernel_size=(2, 3), stride=1, dilation=(2, 1)),
    pool('max_pool2d', 'image', kernel_size=3, stride=2, padding=1,
         ceil_mode=True),
    pool('max_pool2d', 'image', kernel_size=2, stride=3, padding=1),
    pool('max_pool2d', 'plane', kernel_size=6, stride=1, padding=3),
    pool('max_pool2d', 'plane', kernel_size=(7, 4), stride=2, padding=(0, 2),
         ceil_mode=True),
    pool('max_pool2d', 'holes', kernel_size=2, stride=1),
    pool('max_pool2d', 'holes', kernel_size=2, padding=1),
    pool('max_pool2d', 'holes', kernel_size=5, padding=2, dilation=1),
    pool('max_pool2d', 'holes', kernel_size=(3, 9), padding=(1, 4), stride=2),
    pool('max_pool1d', 'wave', kernel_size=3, stride=2, padding=1),
    pool('avg_pool2d', 'image', kernel_size=2),
    pool('avg_pool2d', 'image', kernel_size=3, stride=2, padding=1),
    pool('avg_pool2d', 'image', kernel_size=3, stride=2, padding=1,
         count_include_pad=False),
    pool('avg_pool2d', 'image', kernel_size=(2, 3), stride=(3, 2),
         padding=(1, 0), ceil_mode=True),
    pool('avg_pool2d', 'image', kernel_size=3, stride=2, padding=1,
         ceil_mode=True, count_include_pad=False),
    pool('avg_pool2d', 'plane', kernel_size=6, stride=1, padding=3),
    pool('avg_pool1d', 'wave', kernel_size=4, stride=3, padding=2),
    ('adaptive_avg_pool2d(x, 1)', 'F',
     lambda x: torch.nn.functional.adaptive_avg_pool2d(x, 1), 1, ('image',)),
    ('adaptive_avg_pool2d(x, {2, 3})', 'F',
     lambda x: torch.nn.functional.adaptive_avg_pool2d(x, (2, 3)), -2,
     ('image',)),
    ('adaptive_avg_pool2d(x, {5, 4})', 'F',
     lambda x: torch.nn.functional.adaptive_avg_pool2d(x, (5, 4)), -2,
     ('plane',)),
]

# Ops under the names of tsh.core, which counts positions from 0 as they do.
def order_of(x, axis, down):
    return torch.sort(x, dim=axis, descending=down, stable=True)


def order_rows(name, axis):
    """sort, argsort, argtopk of an input, both ways."""
    rows = []
    for down in (False, True):
        flag = str(down).lower()
        rows += [
            (f'core.sort(x, {ax(axis)}, {flag})', 'FIB',
             lambda x, d=down: order_of(x, axis, d)[0], 0, name),
            (f'core.argsort0(x, {ax(axis)}, {flag})', 'FIB',
             lambda x, d=down: order_of(x, axis, d)[1], 0, name),
            (f'core.argtopk0(x, {ax(axis)}, 2, {flag})', 'FIB',
             lambda x, d=down: order_of(x, axis, d)[1].narrow(axis, 0, 2), 0,
             name)]
    return rows


def scan_rows(name, axis):
    rows = []
    for op, f in (('cumsum', torch.cumsum), ('cumprod', torch.cumprod)):
        lua = f'core.scan("{op}", x, {ax(axis)})'
        rows += [(lua, 'F', lambda x, f=f: f(x, axis), -4, name),
                 (lua, 'I', lambda x, f=f: f(x, axis), 0, name)]
    return rows


INPUTS['many'] = ([(i * 7 % 11 - 5) / 4 for i in range(40)],
                  [i * 7 % 11 - 5 for i in range(40)],
                  [i * 7 % 11 > 5 for i in range(40)], None)
INPUTS['near1'] = ([1 + (i * 3 % 7 - 3) / 16 for i in range(40)],
                   [i * 3 % 7 - 3 for i in range(40)], None, None)
FIXED['in_cube'] = torch.tensor([[[0, 1, 1], [1, 1, 0]]])
FIXED['in_rows'] = torch.tensor([[2, 0, 0, 1], [1, 1, 1, 2]])
INPUTS['values'] = (CUBE[4:12], WHOLE_CUBE[4:12], None, (2, 4))

ORDER = (
    order_rows('any', 0) + order_rows('cube', 0) + order_rows('cube', 1) +
    order_rows('cube', 2) + order_rows('many', 0) + scan_rows('cube', 0) +
    scan_rows('cube', 1) + scan_rows('cube', 2) + scan_rows('many', 0)[:2] +
    scan_rows('near1', 0)[2:] + scan_rows('zeros', 1)[::2] +
    [(f'core.scan("cumsum", x, {ax(1)})', 'B',
      lambda x: torch.cumsum(x, 1), 0, 'cube'),
     ('core.nonzero0(x, 30)', 'B',
      lambda x: torch.nn.functional.pad(x.flatten().nonzero().flatten(),
                                        (0, 30 - int(x.sum()))), 0, 'cube'),
     (f'core.gather0(x, y, {ax(0)})', 'FIB',
      lambda x, p: torch.gather(x, 0, p), 0, ('cube', 'in_cube')),
     (f'core.gather0(x, y, {ax(1)})', 'FIB',
      lambda x, p: torch.gather(x, 1, p), 0, ('tall', 'in_rows')),
     (f'core.scatter_add0(x, z, y, {ax(1)})', 'FI',
      lambda x, y, p: torch.scatter_add(x, 1, p, y), 0,
      ('matrix', 'values', 'in_rows'), 'xyz')])

# ---- writing ----------------------------------------------------------------


def text_of(v):
    if isinstance(v, bool):
        return '1' if v else '0'
    if isinstance(v, int):
        return str(v)
    if v != v:
        return 'nan'
    if math.isinf(v):
        return 'inf' if v > 0 else '-inf'
    short = repr(v)
    if len(short) <= 8 and Fraction(short) == Fraction(v):
        return short
    mantissa, exponent = v.hex().split('p')
    if '.' in mantissa:
        mantissa = mantissa.rstrip('0').rstrip('.')
    return f'{mantissa}p{exponent}'


def shape_text(x):
    return 'x'.join(map(str, x.shape)) or '-'


def values_text(x):
    return ' '.join(text_of(v) for v in x.detach().flatten().tolist())


def weights(x):
    """What the result is multiplied with before it is summed."""
    k = torch.arange(x.numel(), dtype=torch.float64)
    return ((k * 7 % 5 + k % 3 * 0.125) * 0.5 + 0.25).reshape(x.shape)


def ours(x):
    """Positions of theirs; negative ones count from the end in both."""
    return torch.where(x >= 0, x + SHIFT['index'], x)


class Writer:
    def __init__(self, name):
        self.name, self.lines, self.known = name, [], set()

    def input(self, name, dtype):
        x = make_input(name, dtype)
        full = name if name in FIXED else f'{name}.{dtype}'
        if full not in self.known:
            self.known.add(full)
            shifted = ours(x) if name.startswith('at') else x
            self.lines.append(f'input {full} {NAMES[x.dtype]} {shape_text(x)} '
                              f'{values_text(shifted)}')
        return full, x

    def forward(self, lua, f, ulp, dtype, names, letters):
        inputs = [self.input(n, dtype) for n in names]
        where = ' '.join(f'{c}={full}'
                         for c, (full, _) in zip(letters, inputs))
        x = [t for _, t in inputs]
        if ulp == 0:
            y = f(*x)
        else:
            result = DTYPES[dtype if dtype[0] == 'f' else 'f32']
            y = f(*(t.to(result).double() for t in x)).to(result)
            if lua.startswith('x ^') and dtype[0] == 'i':
                y = f(*x)
        self.lines.append(f'case {lua}\t{where}\t{ulp}\t{NAMES[y.dtype]} '
                          f'{shape_text(y)} {values_text(y)}')
        return y

    def gradient(self, lua, f, names, letters):
        inputs = [self.input(n, 'f64') for n in names]
        where = ' '.join(f'{c}={full}'
                         for c, (full, _) in zip(letters, inputs))
        x = [t.requires_grad_() if t.is_floating_point() else t
             for _, t in inputs]
        y = f(*x)
        wrt = [t for t in x if t.requires_grad]
        g = torch.autograd.grad(y, wrt, weights(y), allow_unused=True)
        parts = []
        for c, t in zip((c for c, t in zip(letters, x) if t.requires_grad),
                        zip(wrt, g)):
            d = torch.zeros_like(t[0]) if t[1] is None else t[1]
            parts.append(f'{c} {shape_text(d)} {values_text(d)}')
        self.lines.append(f'grad {lua}\t{where}\t64\t' + '\t'.join(parts))

    def row(self, lua, kinds, f, ulp, names, letters='xyzw'):
        dtypes = [d for kind in kinds for d in KINDS[kind]]
        for dtype in dtypes:
            y = self.forward(lua, f, ulp, dtype, names, letters)
            if dtype == 'f64' and y.dtype.is_floating_point and 'F' in kinds:
                self.gradient(lua, f, names, letters)

    def save(self):
        head = '# made by gen.py\n'
        with open(os.path.join(HERE, self.name), 'w') as out:
            out.write(head + '\n'.join(self.lines) + '\n')


def tuple_of(names):
    return (names,) if isinstance(names, str) else names


def elementwise():
    w = Writer('elementwise.txt')
    for lua, kinds, f, ulp, *names in UNARY:
        w.row(lua, kinds, f, ulp, *names or [('any',)])
    for lua, kinds, f, ulp, *names in BINARY:
        w.row(lua, kinds, f, ulp, *names or [('left', 'right')])
    for lua, kinds, f, ulp in TERNARY:
        w.row(lua, kinds, f, ulp, ('one', 'two', 'three'))
    w.save()


def reductions():
    w = Writer('reduce.txt')
    for lua, kinds, f, ulp, names in REDUCE + MATMUL:
        w.row(lua, kinds, f, ulp, tuple_of(names))
    w.save()


def layouts():
    w = Writer('layout.txt')
    for lua, kinds, f, ulp, names in LAYOUT:
        if f is None:
            w.row(lua, kinds, lambda x, y, m: torch.where(m, x, y), ulp,
                  tuple_of(names) + ('mask23',), 'xym')
        else:
            w.row(lua, kinds, f, ulp, tuple_of(names))
    for lua, kinds, f, names, positions in POSITIONS:
        n = len(tuple_of(names))
        w.row(lua, kinds, f, 0, tuple_of(names) + (positions,), 'xy'[:n] + 'p')
    creation(w)
    w.save()


def creation(w):
    """Rows without input: each is (Lua, value)."""
    hot = torch.nn.functional.one_hot
    for lua, y in [
        (f'arange({2 + 0}, {9 + SHIFT["stop"]})', torch.arange(2, 9)),
        (f'arange(0, {1.25 - 0.25}, 0.25)',
         torch.arange(0, 1.25, 0.25, dtype=torch.float32)),
        ('zeros(2, 3)', torch.zeros(2, 3)),
        ('ones(2, {dtype="i64"})', torch.ones(2, dtype=torch.int64)),
        ('full({2, 2}, 1.5)', torch.full((2, 2), 1.5)),
        ('full({3}, 7, {dtype="i32"})',
         torch.full((3,), 7, dtype=torch.int32)),
        ('linspace(0, 1, 5)', torch.linspace(0, 1, 5)),
        (f'one_hot(tensor{{{at(2, 0, 1)}}}, 4)',
         hot(torch.tensor([2, 0, 1]), 4)),
    ]:
        w.lines.append(f'case {lua}\t-\t0\t{NAMES[y.dtype]} {shape_text(y)} '
                       f'{values_text(y)}')


def convolutions():
    w = Writer('conv.txt')
    for lua, kinds, f, ulp, names in WINDOWS:
        w.row(lua, kinds, f, ulp, names)
def orders():
    w = Writer('order.txt')
    for lua, kinds, f, ulp, names, *letters in ORDER:
        w.row(lua, kinds, f, ulp, tuple_of(names), *letters)
    w.save()


def losses():
    w = Writer('loss.txt')
    label = [2, 0]
    text = f'tensor{{{", ".join(str(v + SHIFT["class"]) for v in label)}}}'
    w.row(f'cross_entropy(x, {text})', 'F',
          lambda x: torch.nn.functional.cross_entropy(x, torch.tensor(label)),
          8, ('matrix',))
    w.row('mse(x, y)', 'F', torch.nn.functional.mse_loss, 4,
          ('matrix', 'zeros'))
    w.save()


if __name__ == '__main__':
    torch.manual_seed(1)  # nothing is drawn; a later row may
    elementwise()
    reductions()
    layouts()
    convolutions()
    orders()
    losses()
