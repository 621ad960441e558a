#!/usr/bin/python3
"""Sorting, scans and gather of 2^20 elements: tsh beside NumPy and PyTorch on
one thread, best of some tries, in milliseconds of processor time.

    TSH=build/tsh scripts/bench/sort.py       (python3-numpy, python3-torch)
"""
import os
import subprocess
import time

os.environ.setdefault('OMP_NUM_THREADS', '1')
import numpy as np  # noqa: E402
import torch  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TSH = os.environ.get('TSH', os.path.join(HERE, '../../build/tsh'))
N = 1 << 20
torch.set_num_threads(1)


def best(f, tries):
    least = float('inf')
    for _ in range(tries):
        begin = time.process_time()
        f()
        least = min(least, time.process_time() - begin)
    return least * 1e3


def rows():
    """name, NumPy's way or None, PyTorch's way or None"""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(N).astype('f4')
    d = x.astype('f8')
    i, long = (x * 1e8).astype('i4'), (d * 1e17).astype('i8')
    m, narrow = x.reshape(1024, 1024), x.reshape(-1, 16)
    ordered, few = np.sort(x), (x * 3).astype('i4').astype('f4')
    mask, at = x > 1, rng.integers(0, 1024, (1024, 1024))
    t, tm, tn, tat = map(torch.from_numpy, (x, m, narrow, at))
    return [
        ('sort f32', lambda: np.sort(x), lambda: torch.sort(t)),
        ('sort f32, sorted', lambda: np.sort(ordered), None),
        ('sort f32, few values', lambda: np.sort(few), None),
        ('sort i32', lambda: np.sort(i), None),
        ('sort f64', lambda: np.sort(d), None),
        ('sort i64', lambda: np.sort(long), None),
        ('sort rows of 1024', lambda: np.sort(m, 1), lambda: torch.sort(tm)),
        ('sort columns of 1024', lambda: np.sort(m, 0),
         lambda: torch.sort(tm, 0)),
        ('sort rows of 16', lambda: np.sort(narrow, 1),
         lambda: torch.sort(tn)),
        ('argsort f32', lambda: np.argsort(x, kind='stable'),
         lambda: torch.argsort(t)),
        ('argsort f64', lambda: np.argsort(d, kind='stable'), None),
        ('argsort rows of 1024', lambda: np.argsort(m, 1),
         lambda: torch.argsort(tm)),
        ('top 10', lambda: np.argpartition(x, N - 10),
         lambda: torch.topk(t, 10)),
        ('top 10, sorted', lambda: np.argpartition(ordered, N - 10),
         lambda: torch.topk(torch.from_numpy(ordered), 10)),
        ('top 1000', lambda: np.argpartition(x, N - 1000),
         lambda: torch.topk(t, 1000)),
        ('cumsum', lambda: np.cumsum(x), lambda: torch.cumsum(t, 0)),
        ('cumprod', lambda: np.cumprod(x), lambda: torch.cumprod(t, 0)),
        ('cumsum of rows', lambda: np.cumsum(m, 1),
         lambda: torch.cumsum(tm, 1)),
        ('cumsum of columns', lambda: np.cumsum(m, 0),
         lambda: torch.cumsum(tm, 0)),
        ('nonzero', lambda: np.flatnonzero(mask),
         lambda: torch.from_numpy(mask).nonzero()),
        ('gather, axis 1', lambda: np.take_along_axis(m, at, 0),
         lambda: torch.gather(tm, 0, tat)),
        ('gather, axis 2', lambda: np.take_along_axis(m, at, 1),
         lambda: torch.gather(tm, 1, tat)),
        ('scatter_add', None, lambda: tm.scatter_add(1, tat, tm)),
    ]


def main():
    text = subprocess.run([TSH, 'run', os.path.join(HERE, 'sort.lua')],
                          check=True, capture_output=True, text=True).stdout
    ours = dict(line.split('\t') for line in text.splitlines())
    print(f'{"ms":24}{"tsh":>9}{"NumPy":>9}{"torch":>9}{"to best":>9}')
    for name, numpy_way, torch_way in rows():
        mine = float(ours[name])
        slow = 'sort' in name
        theirs = [best(f, 4 if slow else 15) if f else None
                  for f in (numpy_way, torch_way)]
        cells = ''.join(f'{v:9.3f}' if v else f'{"-":>9}' for v in theirs)
        ratio = min(v for v in theirs if v) / mine
        print(f'{name:24}{mine:9.3f}{cells}{ratio:8.1f}x')


if __name__ == '__main__':
    main()
