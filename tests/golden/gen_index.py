#!/usr/bin/python3
"""Writes index.txt: what x[index], x:set(index, v) and their kin must give, by
PyTorch (of equal positions by numpy.ufunc.at). See gen.py for the form.

An index is written once, as Python has it; its tensors are named by letters.
"""
import numpy
import torch

import gen
from gen import FIXED, INPUTS, SHIFT, Writer

# ---- inputs -----------------------------------------------------------------

FIXED.update({
    'at_two': torch.tensor([1, 0]),
    'at_three': torch.tensor([2, 0, -1]),
    'at_four': torch.tensor([3, -4, 1, 1]),
    'at_one': torch.tensor([1]),
    'at_none': torch.zeros(0, dtype=torch.int64),
    'at_column': torch.tensor([[1], [0]]),
    'at_square': torch.tensor([[0, -1], [2, 2]]),
    'at_scalar': torch.tensor(1),
    'mask_row': torch.tensor([True, False]),
    'mask_mid': torch.tensor([True, False, True]),
    'mask_end': torch.tensor([False, True, True, False]),
    'mask_none': torch.tensor([False, False]),
    'mask_front': torch.tensor([[1, 0, 1], [0, 1, 1]], dtype=torch.bool),
    'mask_back': torch.tensor([[1, 0, 0, 1], [0, 0, 1, 0], [1, 1, 0, 0]],
                              dtype=torch.bool),
    'mask_all': torch.tensor(gen.BITS, dtype=torch.bool).reshape(2, 3, 4),
    'mask_yes': torch.tensor(True),
})
INPUTS['deep'] = ([(i * 5 % 17 - 8) / 4 for i in range(48)],
                  [i * 5 % 17 - 8 for i in range(48)],
                  [i * 5 % 17 > 8 for i in range(48)], (2, 3, 2, 4))

ALL = slice(None)
# (input, index, NAME of a tensor for each letter)
INDEXES = [
    ('cube', ('p',), 'at_two'),
    ('cube', ('p',), 'at_scalar'),
    ('cube', ('p',), 'at_none'),
    ('cube', ('p',), 'at_column'),
    ('cube', (ALL, 'p'), 'at_three'),
    ('cube', (Ellipsis, 'p'), 'at_four'),
    ('cube', (ALL, 'p', 'q'), 'at_column at_three'),
    ('cube', ('p', 'q'), 'at_two at_one'),
    ('cube', ('p', 'q'), 'at_column at_three'),
    ('cube', ('p', ALL, 'q'), 'at_two at_column'),
    ('cube', ('p', slice(0, 2), 'q'), 'at_one at_four'),
    ('cube', ('p', 1, 'q'), 'at_two at_two'),
    ('cube', (0, ALL, 'q'), 'at_four'),
    ('cube', (1, 'p', 'q'), 'at_three at_scalar'),
    ('cube', ('p', None, 'q'), 'at_two at_two'),
    ('cube', (None, 'p', 'q'), 'at_two at_two'),
    ('cube', ('p', 'q', None), 'at_two at_two'),
    ('cube', ('p', 'q', 'r'), 'at_two at_two at_column'),
    ('cube', (slice(1, 2), 'p', slice(0, 4, 3)), 'at_square'),
    ('deep', (ALL, 'p', ALL, 'q'), 'at_three at_four3'),
    ('deep', (ALL, 'p', 'q'), 'at_three at_one'),
    ('deep', ('p', Ellipsis, 'q'), 'at_two at_two'),
    ('deep', ('p', 'q', ALL, 'r'), 'at_column at_three at_one'),
    ('cube', ('m',), 'mask_row'),
    ('cube', ('m',), 'mask_none'),
    ('cube', ('m',), 'mask_front'),
    ('cube', ('m',), 'mask_all'),
    ('cube', ('m',), 'mask_yes'),
    ('single', ('m',), 'mask_yes'),
    ('cube', (ALL, 'm'), 'mask_mid'),
    ('cube', (ALL, 'm'), 'mask_back'),
    ('cube', (Ellipsis, 'm'), 'mask_end'),
    ('cube', ('m', 2), 'mask_front'),
    ('cube', ('m', slice(1, 3)), 'mask_front'),
    ('cube', (1, 'm'), 'mask_back'),
    ('cube', ('m', ALL, slice(0, 2)), 'mask_row'),
    ('cube', (ALL, 'm', 'p'), 'mask_mid at_two'),
    ('cube', ('m', 'p'), 'mask_front at_scalar'),
    ('cube', ('p', ALL, 'm'), 'at_two mask_end'),
    ('deep', ('m', ALL, 'p'), 'mask_front at_one'),
    ('deep', (0, 'm', ALL, 'p'), 'mask_mid at_two'),
]
FIXED['at_four3'] = torch.tensor([3, 0, 0])


def lua_of(item):
    if item is None:
        return 'newaxis'
    if item is Ellipsis:
        return '"..."'
    if isinstance(item, slice):
        if item == ALL:
            return '{}'
        return gen.rng(item.start, item.stop, item.step or 1)
    return item if isinstance(item, str) else str(item + SHIFT['index'])


def lua_index(index):
    if len(index) == 1 and isinstance(index[0], str):
        return index[0]
    return '{%s}' % ', '.join(lua_of(i) for i in index)


def letters_of(index):
    return ''.join(i for i in index if isinstance(i, str))


def with_tensors(index, tensors):
    """The index with its tensors; masks as the positions that they stand for,
    since PyTorch miscounts axes behind a mask of several."""
    of, out = dict(zip(letters_of(index), tensors)), []
    for i in index:
        t = of[i] if isinstance(i, str) else i
        if torch.is_tensor(t) and t.dtype == torch.bool and t.dim() > 0:
            out += t.nonzero(as_tuple=True)
        else:
            out.append(t)
    return tuple(out)


# ---- reading ----------------------------------------------------------------


def reading(w):
    for name, index, tensors in INDEXES:
        w.row(f'x[{lua_index(index)}]', 'FIB',
              lambda x, *t, i=index: x[with_tensors(i, t)], 0,
              (name, *tensors.split()), 'x' + letters_of(index))


# ---- writing ----------------------------------------------------------------


def put(x, index, v, op):
    """x with op at the index; equal positions one after the other."""
    if x.requires_grad:
        return put_gradient(x, index, v, op)
    y = x.numpy().copy()
    rows = places(x, index).numpy()
    flat, values = y.reshape(-1), v.broadcast_to(rows.shape).numpy()
    if op is None:
        for k, a in zip(rows.flatten(), values.flatten()):
            flat[k] = a
    else:
        name = {torch.add: numpy.add, torch.mul: numpy.multiply,
                torch.maximum: numpy.maximum,
                torch.minimum: numpy.minimum}[op]
        name.at(flat, rows.flatten(), values.flatten())
    return torch.from_numpy(y)


def places(x, index):
    """The row-major number in x of every element of x[index]."""
    return torch.arange(x.numel()).reshape(x.shape)[index]


def put_gradient(x, index, v, op):
    """The same by differentiable steps, one position after the other."""
    flat, rows = list(x.flatten()), places(x, index)
    v = v.broadcast_to(rows.shape).flatten()
    for k, a in zip(rows.flatten().tolist(), v):
        flat[k] = a if op is None else op(flat[k], a)
    return torch.stack(flat).reshape(x.shape)


INPUTS['v2'] = ([1.5, -2.0], [3, -2], [1, 0], (2,))
INPUTS['v4'] = ([1.5, -2.0, 0.75, 4.25], [3, -2, 5, 9], [1, 0, 0, 1], (4,))
INPUTS['v34'] = (gen.CUBE[12:24], gen.WHOLE_CUBE[12:24], gen.BITS[12:24],
                 (3, 4))
INPUTS['v14'] = (gen.CUBE[12:16], gen.WHOLE_CUBE[12:16], gen.BITS[12:16],
                 (1, 4))
INPUTS['v21'] = (gen.CUBE[13:15], gen.WHOLE_CUBE[13:15], gen.BITS[13:15],
                 (2, 1))

# (input, index, NAMES, values)
WRITES = [
    ('cube', ('p',), 'at_two', 'v34'),
    ('cube', ('p',), 'at_column', 'v34'),
    ('cube', ('p',), 'at_scalar', 'v34'),
    ('cube', ('p',), 'at_none', 'v34'),
    ('cube', (ALL, 'p'), 'at_three', 'v4'),
    ('cube', (ALL, 'p'), 'at_three', 'v34'),
    ('cube', (Ellipsis, 'p'), 'at_four', 'v4'),
    ('cube', (ALL, 'p', 'q'), 'at_column at_three', None),
    ('cube', ('p', ALL, 'q'), 'at_two at_two', 'v21'),
    ('cube', ('p', slice(0, 2), 'q'), 'at_one at_four', 'v2'),
    ('cube', ('p', 1, 'q'), 'at_two at_two', 'v2'),
    ('cube', (1, 'p', 'q'), 'at_three at_scalar', 'single'),
    ('cube', ('p', 'q', 'r'), 'at_two at_two at_one', 'v2'),
    ('cube', ('m',), 'mask_row', 'v34'),
    ('cube', ('m',), 'mask_none', 'v34'),
    ('cube', ('m',), 'mask_front', 'v4'),
    ('cube', ('m',), 'mask_front', 'v44'),
    ('cube', ('m',), 'mask_all', 'single'),
    ('cube', (ALL, 'm'), 'mask_mid', 'v4'),
    ('cube', (ALL, 'm'), 'mask_mid', 'single'),
    ('cube', (Ellipsis, 'm'), 'mask_end', 'v2'),
    ('cube', ('m', 2), 'mask_front', 'v4'),
    ('cube', ('m', slice(1, 3)), 'mask_front', 'v2'),
    ('cube', (1, 'm'), 'mask_back', 'single'),
    ('cube', ('m', 'p'), 'mask_front at_scalar', 'v4'),
]
INPUTS['v44'] = (gen.CUBE[4:20], gen.WHOLE_CUBE[4:20], gen.BITS[4:20], (4, 4))

OPS = [('set', None, 'FIB'), ('add', torch.add, 'FI'), ('mul', torch.mul, 'FI'),
       ('max', torch.maximum, 'FI'), ('min', torch.minimum, 'FI')]


def writing(w):
    for name, index, tensors, v in WRITES:
        for method, op, kinds in OPS:
            tie = method in ('max', 'min')
            w.row(f'x:{method}({lua_index(index)}, v)',
                  kinds.replace('F', 'f') if tie else kinds,
                  lambda x, v, *t, i=index, op=op:
                  put(x, with_tensors(i, t), v, op), 0,
                  (name, v or 'single', *tensors.split()),
                  'xv' + letters_of(index))


def extremes(w):
    """Gradients where positions are equal but values are not, and ties."""
    for method, reduce in (('max', 'amax'), ('min', 'amin'), ('mul', 'prod')):
        w.row(f'x:{method}(p, v)', 'F',
              lambda x, v, p, r=reduce: torch.scatter_reduce(
                  x, 0, torch.where(p < 0, p + 4, p), v, r), 0,
              ('v4', 'ties4', 'at_four'), 'xvp')


INPUTS['ties4'] = ([4.25, 1.5, -2.0, -2.0], [9, 3, -2, -2], None, (4,))

if __name__ == '__main__':
    writer = Writer('index.txt')
    reading(writer)
    writing(writer)
    extremes(writer)
    writer.save()
