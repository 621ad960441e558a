#!/usr/bin/python3
"""Writes library.txt: functions of the library that are no op of the table, by
PyTorch, and by NumPy where only it has them. See gen.py for the form.
"""
import numpy
import torch

import gen
from gen import FIXED, INPUTS, SHIFT, Writer, at, ax

POSITION = SHIFT['argmax']


def by_numpy(f):
    """A function of NumPy arrays as one of tensors."""
    def g(*x):
        y = f(*(t.numpy() for t in x))
        return torch.from_numpy(numpy.array(y))
    return g


# ---- order ------------------------------------------------------------------


def stable(x, axis, descending=False):
    return torch.sort(x, dim=axis, descending=descending, stable=True)


def kth(x, k, axis, largest=True):
    values, places = stable(x, axis, largest)
    return values.narrow(axis, 0, k), places.narrow(axis, 0, k)


FIXED['sorted'] = torch.tensor([-4.0, -1.0, 1.0, 1.0, 2.0, 5.0],
                               dtype=torch.float64)
FIXED['sorted_rows'] = torch.tensor([[-4.0, 0.0, 0.5, 2.0],
                                     [1.0, 1.0, 1.0, 3.0]],
                                    dtype=torch.float64)
FIXED['sought'] = torch.tensor([[-5.0, -4.0, 1.0], [1.5, 5.0, 9.0]],
                               dtype=torch.float64)
INPUTS['odd'] = (gen.CUBE[:15], gen.WHOLE_CUBE[:15], gen.BITS[:15], (3, 5))
INPUTS['nan_rows'] = ([1.0, gen.NAN, 3.0, 4.0, 5.0, 6.0, 0.0, gen.NAN,
                       gen.NAN], None, None, (3, 3))

ORDER = [
    (f'sort(x, {ax(0)})', 'FIB', lambda x: stable(x, 0)[0], 0, 'cube'),
    ('sort(x)', 'FIB', lambda x: stable(x, -1)[0], 0, 'cube'),
    ('sort(x)', 'F', lambda x: x.clone(), 0, 'single'),
    (f'sort(x, {{axis={ax(1)}, descending=true}})', 'FIB',
     lambda x: stable(x, 1, True)[0], 0, 'cube'),
    (f'select(2, sort(x, {ax(1)}))', 'FIB',
     lambda x: stable(x, 1)[1] + POSITION, 0, 'cube'),
    ('sort(x)', 'f', lambda x: stable(x, -1)[0], 0, 'nan_rows'),
    ('argsort(x, {descending=true})', 'FIB',
     lambda x: stable(x, -1, True)[1] + POSITION, 0, 'cube'),
    ('argsort(x)', 'f', lambda x: stable(x, -1)[1] + POSITION, 0, 'nan_rows'),
    ('topk(x, 2)', 'FIB', lambda x: kth(x, 2, -1)[0], 0, 'cube'),
    (f'topk(x, 2, {{axis={ax(0)}, largest=false}})', 'FI',
     lambda x: kth(x, 2, 0, False)[0], 0, 'odd'),
    (f'select(2, topk(x, 3, {{axis={ax(1)}}}))', 'FIB',
     lambda x: kth(x, 3, 1)[1] + POSITION, 0, 'cube'),
    ('median(x)', 'FI', torch.median, 0, 'cube'),
    ('median(x)', 'FI', torch.median, 0, 'odd'),
    ('median(x)', 'f', torch.median, 0, 'nan_rows'),
    (f'median(x, {ax(0)})', 'FI', lambda x: x.median(0)[0], 0, 'odd'),
    (f'median(x, {{axis={ax(1)}, keep=true}})', 'FI',
     lambda x: stable(x, 1)[0].narrow(1, 1, 1), 0, 'cube'),
    (f'median(x, {ax(1)})', 'f', lambda x: x.median(1)[0], 0, 'nan_rows'),
    ('unique(x)', 'fI', torch.unique, 0, 'cube'),
    ('unique(x)', 'B', torch.unique, 0, 'cube'),
    ('select(2, unique(x, {counts=true}))', 'FI',
     lambda x: torch.unique(x, return_counts=True)[1], 0, 'cube'),
    ('select(2, unique(x, {inverse=true}))', 'FI',
     lambda x: torch.unique(x, return_inverse=True)[1] + POSITION, 0, 'cube'),
    ('searchsorted(y, x)', 'f',
     lambda x, y: torch.searchsorted(y.to(x.dtype), x) + POSITION, 0,
     ('cube', 'sorted')),
    ('searchsorted(y, x, {right=true})', 'f',
     lambda x, y: torch.searchsorted(y.to(x.dtype), x, right=True) + POSITION,
     0, ('cube', 'sorted')),
    ('searchsorted(x, y)', 'f',
     lambda x, y: torch.searchsorted(x, y) + POSITION, 0,
     ('sorted_rows', 'sought')),
]

# ---- scans, reductions ------------------------------------------------------

REDUCE = [
    (f'cumsum(x, {ax(1)})', 'FI', lambda x: x.cumsum(1), 0, 'cube'),
    (f'cumsum(x, {ax(0)})', 'B', lambda x: x.cumsum(0), 0, 'cube'),
    (f'x:cumprod{{axis={ax(2)}}}', 'FI', lambda x: x.cumprod(2), 0, 'cube'),
    (f'cumprod(x, {ax(1)})', 'F', lambda x: x.cumprod(1), 0, 'zeros'),
    ('count_nonzero(x)', 'FIB', torch.count_nonzero, 0, 'cube'),
    (f'count_nonzero(x, {ax(0, 2)})', 'FIB',
     lambda x: torch.count_nonzero(x, (0, 2)), 0, 'cube'),
    (f'amax(x, {ax(0, 2)})', 'FIB', lambda x: x.amax((0, 2)), 0, 'cube'),
    (f'amin(x, {ax(1)})', 'FIB', lambda x: x.amin(1), 0, 'cube'),
    (f'x:var{{axis={ax(0, 2)}, correction=2}}', 'F',
     lambda x: x.var((0, 2), correction=2), -4, 'cube'),
    (f'std(x, {ax(0, 1)}, {{keep=true}})', 'F',
     lambda x: x.std((0, 1), keepdim=True), -4, 'cube'),
    (f'norm(x, 0, {{axis={ax(1)}}})', 'f',
     lambda x: torch.linalg.vector_norm(x, 0, 1), 0, 'cube'),
    (f'norm(x, -math.huge, {{axis={ax(0)}}})', 'F',
     lambda x: torch.linalg.vector_norm(x, -gen.INF, 0), 0, 'odd'),
    (f'norm(x, -1.5, {{axis={ax(0)}}})', 'F',
     lambda x: torch.linalg.vector_norm(x, -1.5, 0), -16, 'tall'),
    (f'logsumexp(x, {ax(0, 2)})', 'F', lambda x: x.logsumexp((0, 2)), -6,
     'cube'),
    ('logsumexp(x)', 'F', lambda x: x.logsumexp(0), -6, 'depths'),
    (f'logsumexp(x, {ax(1)})', 'f', lambda x: x.logsumexp(1), -6, 'bottoms'),
    ('dot(x, y)', 'FI', torch.dot, 0, ('row', 'row')),
    ('trace(x)', 'FI', torch.trace, 0, 'odd'),
]
INPUTS['depths'] = ([-gen.INF, -1000.0, -1001.0], None, None, None)
INPUTS['bottoms'] = ([-gen.INF, -gen.INF, 1.0, -gen.INF], None, None, (2, 2))

# ---- layout -----------------------------------------------------------------

LAYOUT = [
    ('diagonal(x)', 'FIB', torch.diagonal, 0, 'odd'),
    ('diagonal(x, 2)', 'FI', lambda x: x.diagonal(2), 0, 'odd'),
    ('diagonal(x, -1)', 'F', lambda x: x.diagonal(-1), 0, 'odd'),
    ('diagonal(x, 9)', 'F', lambda x: x.diagonal(9)[:0], 0, 'odd'),
    (f'diagonal(x, {{offset=1, axis={ax(2, 0)}}})', 'F',
     lambda x: x.diagonal(1, 2, 0), 0, 'cube'),
    (f'diagonal(x, {{axis={ax(1, 2)}}})', 'FI',
     lambda x: x.diagonal(0, 1, 2), 0, 'cube'),
    ('diag(x)', 'FI', torch.diag, 0, 'row'),
    ('diag(x, -2)', 'FIB', lambda x: torch.diag(x, -2), 0, 'row'),
    ('diag(x, 1)', 'F', lambda x: torch.diag(x, 1), 0, 'odd'),
    ('tril(x)', 'FIB', torch.tril, 0, 'cube'),
    ('tril(x, -1)', 'FI', lambda x: x.tril(-1), 0, 'odd'),
    ('triu(x, 1)', 'FIB', lambda x: x.triu(1), 0, 'cube'),
    ('triu(x, -1)', 'F', lambda x: x.triu(-1), 0, 'tall'),
    ('tile(x, 2)', 'FIB', lambda x: x.tile(2), 0, 'matrix'),
    ('tile(x, {2, 1, 3})', 'FI', lambda x: x.tile(2, 1, 3), 0, 'matrix'),
    ('tile(x, 0, 2)', 'F', lambda x: x.tile(0, 2), 0, 'matrix'),
    ('repeat_interleave(x, 2)', 'FI', lambda x: x.repeat_interleave(2), 0,
     'matrix'),
    (f'repeat_interleave(x, 3, {ax(1)})', 'FIB',
     lambda x: x.repeat_interleave(3, 1), 0, 'matrix'),
    (f'repeat_interleave(x, tensor{{2, 0, 1}}, {ax(1)})', 'FIB',
     lambda x: x.repeat_interleave(torch.tensor([2, 0, 1]), 1), 0, 'matrix'),
    ('roll(x, 5)', 'FI', lambda x: x.roll(5), 0, 'cube'),
    (f'roll(x, {{-1, 2}}, {{axis={ax(2, 0)}}})', 'FIB',
     lambda x: x.roll((-1, 2), (2, 0)), 0, 'cube'),
    (f'split(x, 2, {ax(-1)})[2]', 'FIB', lambda x: x.split(2, -1)[1], 0,
     'odd'),
    (f'split(x, {{1, 4}}, {ax(1)})[2]', 'F', lambda x: x.split((1, 4), 1)[1],
     0, 'odd'),
    (f'chunk(x, 2, {ax(1)})[1]', 'F', lambda x: x.chunk(2, 1)[0], 0, 'odd'),
    (f'unbind(x, {ax(1)})[3]', 'FI', lambda x: x.unbind(1)[2], 0, 'cube'),
    ('meshgrid(x, y)', 'FIB',
     lambda x, y: torch.meshgrid(x, y, indexing='ij')[0], 0, ('row', 'v2_')),
    ('select(2, meshgrid(x, y, {indexing="xy"}))', 'FI',
     lambda x, y: torch.meshgrid(x, y, indexing='xy')[1], 0, ('row', 'v2_')),
]
INPUTS['v2_'] = ([1.5, -2.0], [3, -2], [1, 0], (2,))

# ---- positions --------------------------------------------------------------

FIXED.update({
    'at_cube': torch.tensor([[[0, -1, 1], [2, 2, 0]]]),
    'at_line': torch.tensor([[2], [0], [-3]]),
    'at_wide': torch.tensor([[0, 1, 0, -1], [1, 1, 1, 0]]),
    'mask23_': torch.tensor([[True, False, True], [False, False, True]]),
    'mask3_': torch.tensor([False, True, True]),
})


def counted(p, n):
    return torch.where(p < 0, p + n, p)


PICK = [
    ('nonzero(x)', 'FIB', lambda x: torch.nonzero(x) + POSITION, 0, 'cube'),
    ('nonzero(x)', 'F', lambda x: torch.nonzero(x) + POSITION, 0, 'single'),
    ('masked_select(x, y)', 'FIB', torch.masked_select, 0,
     ('matrix', 'mask23_')),
    ('masked_select(x, y)', 'F', torch.masked_select, 0,
     ('matrix', 'mask3_')),
    ('masked_select(x, y)', 'F', torch.masked_select, 0, ('row', 'mask23_')),
    (f'gather(x, y, {ax(2)})', 'FIB',
     lambda x, p: x.gather(2, counted(p, 4)), 0, ('cube', 'at_cube')),
    (f'take_along_axis(x, y, {ax(0)})', 'FIB',
     lambda x, p: x.gather(0, counted(p, 3).expand(3, 5)), 0,
     ('odd', 'at_line')),
    (f'scatter_add(x, y, z, {ax(1)})', 'FI',
     lambda x, p, z: x.scatter_add(1, counted(p, 3), z[:, :4]), 0,
     ('matrix', 'at_wide', 'odd5')),
]
INPUTS['odd5'] = (gen.CUBE[:10], gen.WHOLE_CUBE[:10], None, (2, 5))

# ---- counts -----------------------------------------------------------------

FIXED['labels'] = torch.tensor([3, 1, 1, 6, 3, 3])
FIXED['tenths32'] = torch.arange(0, 11, dtype=torch.float32) / 10
FIXED['tenths'] = torch.arange(0, 11, dtype=torch.float64) / 10
FIXED['edges'] = torch.tensor([-3.0, 0.0, 1.0, 5.0], dtype=torch.float64)
FIXED['heavy'] = torch.tensor([0.5, 2.0, 4.0, 0.25, 1.0, 8.0],
                              dtype=torch.float64)


def counts(bins=10, span=None):
    return by_numpy(lambda x: numpy.histogram(x, bins, span)[0])


def edges(bins=10, span=None):
    return by_numpy(lambda x: numpy.histogram(x, bins, span)[1])


COUNT = [
    ('histogram(x)', 'fI', counts(), 0, 'cube'),
    ('histogram(x, 4)', 'f', counts(4), 0, 'many'),
    ('histogram(x, 3, -1, 2)', 'fI', counts(3, (-1, 2)), 0, 'cube'),
    ('histogram(x, 10, 0, 1)', 'f', counts(10, (0, 1)), 0, 'tenths32'),
    ('histogram(x, 10, 0, 1)', 'f', counts(10, (0, 1)), 0, 'tenths'),
    ('histogram(x, 7)', 'f', counts(7), 0, 'single'),
    ('select(2, histogram(x, 7))', 'f', edges(7), -4, 'single'),
    ('select(2, histogram(x, 4))', 'f', edges(4), -4, 'many'),
    ('histogram(x, y)', 'f',
     by_numpy(lambda x, y: numpy.histogram(x, y)[0]), 0, ('cube', 'edges')),
    ('bincount(x)', 'I', lambda x: torch.bincount(x - SHIFT['index']), 0, 'labels'),
    ('bincount(x, {minlength=8})', 'I',
     lambda x: torch.bincount(x - SHIFT['index'], minlength=8), 0, 'labels'),
    ('bincount(x, {weights=y})', 'I',
     lambda x, y: torch.bincount(x - SHIFT['index'], y), 0, ('labels', 'heavy')),
]
INPUTS['many'] = ([(i * 7 % 11 - 5) / 4 for i in range(40)], None, None, None)


def creation(w):
    for lua, y in [
        ('logspace(0, 3, 4)', torch.logspace(0, 3, 4)),
        ('logspace(-1, 1, 5, {base=2, dtype="f64"})',
         torch.logspace(-1, 1, 5, base=2, dtype=torch.float64)),
        ('eye(2, 3)', torch.eye(2, 3)),
        ('linspace(-1, 2, 4)', torch.linspace(-1, 2, 4)),
    ]:
        w.lines.append(f'case {lua}\t-\t-4\t{gen.NAMES[y.dtype]} '
                       f'{gen.shape_text(y)} {gen.values_text(y)}')


if __name__ == '__main__':
    writer = Writer('library.txt')
    for lua, kinds, f, ulp, names in (ORDER + REDUCE + LAYOUT + PICK + COUNT):
        writer.row(lua, kinds, f, ulp, gen.tuple_of(names))
    creation(writer)
    writer.save()
