#!/usr/bin/python3
"""Times tsh and PyTorch on convolutions, pools and a training step.

    scripts/bench/conv.py [TSH [ROUNDS]]      (Debian: python3-torch)

Both have one processor. Each time is the least of several rounds of processor
time; tsh and PyTorch take turns, so that other work on the machine meets both.
The last column is PyTorch's time by that of tsh. See conv.lua for the cases.
"""
import os
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
TSH = sys.argv[1] if len(sys.argv) > 1 else 'build/tsh'
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 10
TURNS = 3

LAYERS = [('3x3 64-64 28', 32, 64, 64, 28, 3, {'padding': 1}),
          ('3x3 16-32 14', 32, 16, 32, 14, 3, {'padding': 1}),
          ('3x3 1-16 28', 32, 1, 16, 28, 3, {'padding': 1}),
          ('3x3/2 64-128 28', 32, 64, 128, 28, 3, {'padding': 1, 'stride': 2}),
          ('1x1 64-256 14', 32, 64, 256, 14, 1, {}),
          ('depthwise 3x3 64 28', 32, 64, 64, 28, 3,
           {'padding': 1, 'groups': 64})]
POOLS = [('max 2', F.max_pool2d, {'kernel_size': 2}),
         ('max 3/2', F.max_pool2d, {'kernel_size': 3, 'stride': 2,
                                    'padding': 1}),
         ('avg 2', F.avg_pool2d, {'kernel_size': 2})]


def measure(f, rounds):
    least = float('inf')
    for i in range(3 + rounds):
        t = time.process_time()
        f()
        if i >= 3:
            least = min(least, time.process_time() - t)
    return 1e3 * least


def back(f, inputs, weight):
    inputs = [x.clone().requires_grad_() for x in inputs]

    def run():
        total = sum(g.sum() for g in torch.autograd.grad(
            (f(*inputs) * weight).sum(), inputs))
        return total.item()
    return run


def times_of_torch():
    times = {}
    for name, n, c, out, extent, k, o in LAYERS:
        x = torch.randn(n, c, extent, extent)
        w = torch.randn(out, c // o.get('groups', 1), k, k)
        y = F.conv2d(x, w, **o)
        times[name + ' forward'] = measure(
            lambda: F.conv2d(x, w, **o).sum().item(), ROUNDS)
        times[name + ' and back'] = measure(
            back(lambda a, b: F.conv2d(a, b, **o), [x, w],
                 torch.randn(y.shape)), ROUNDS)
    for name, f, o in POOLS:
        x = torch.randn(32, 64, 28, 28)
        times[name + ' forward'] = measure(lambda: f(x, **o).sum().item(),
                                           ROUNDS)
        times[name + ' and back'] = measure(
            back(lambda a: f(a, **o), [x], torch.randn(32, 64, 14, 14)),
            ROUNDS)
    times['cnn step'] = measure(training(), 5 * ROUNDS)
    return times


def training():
    shapes = [((16, 1, 3, 3), .3), ((16,), 0), ((32, 16, 3, 3), .1),
              ((32,), 0), ((1568, 10), .03), ((10,), 0)]
    p = [(torch.randn(s) * scale).requires_grad_() for s, scale in shapes]
    x, y = torch.rand(32, 1, 28, 28), torch.arange(32) % 10

    def step():
        h = F.max_pool2d(F.conv2d(x, p[0], p[1], padding=1).relu(), 2)
        h = F.max_pool2d(F.conv2d(h, p[2], p[3], padding=1).relu(), 2)
        loss = F.cross_entropy(h.reshape(32, 1568) @ p[4] + p[5], y)
        grads = torch.autograd.grad(loss, p)
        with torch.no_grad():
            for a, g in zip(p, grads):
                a -= 0.01 * g
        return loss.item()
    return step


def times_of_tsh():
    out = subprocess.run([TSH, 'run', os.path.join(HERE, 'conv.lua'),
                          str(ROUNDS)], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    return {name: float(ms) for name, ms in
            (line.split('\t') for line in out.splitlines())}


def main():
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    ours, theirs = {}, {}
    for _ in range(TURNS):
        for best, times in (ours, times_of_tsh()), (theirs, times_of_torch()):
            for name, ms in times.items():
                best[name] = min(best.get(name, ms), ms)
    print(f'{"":30} {"tsh ms":>9} {"torch ms":>9} {"torch/tsh":>9}')
    for name, ms in ours.items():
        print(f'{name:30} {ms:9.3f} {theirs[name]:9.3f} '
              f'{theirs[name] / ms:9.2f}')


if __name__ == '__main__':
    main()
