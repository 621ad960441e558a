#!/usr/bin/python3
"""Times the same training steps in tsh, NumPy, PyTorch and JAX, side by side.

    scripts/bench/peers.py [--tsh PROGRAM] [--venv FOLDER] [--rounds N]
                           [--threads 1 2] [--only tsh numpy torch jax]

The packages are installed into FOLDER (a virtual environment; without --venv a
new one that is deleted at the end) from Python's package index. Two
workloads, both in f32 with plain gradient descent, reading the loss of each
step:

    mlp   784-128-10, batch 100; a round is an epoch of 600 steps
    cnn   conv 1-16 3x3, relu, pool 2, conv 16-32 3x3, relu, pool 2, linear
          1568-10, batch 32; a round is 60 steps

Each peer runs in a process of its own, held to as many processors as it has
threads; rounds are interleaved, so that all see the same machine; all begin
with the same numbers and must end with the same loss. The first table gives
milliseconds a step: the median of the rounds, and the least. The second gives
milliseconds of processor time, of all threads together, which other programs
disturb less.
"""
import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PEERS = ('tsh', 'numpy', 'torch', 'jax')
STEPS = {'mlp': 600, 'cnn': 60}
BATCH = {'mlp': 100, 'cnn': 32}
RATE = {'mlp': 0.1, 'cnn': 0.05}
ROWS = {'mlp': 60000, 'cnn': 3200}

# ---- workers ----------------------------------------------------------------


def batches(data, name):
    """Endless batches of x and y, in order."""
    n, size, at = ROWS[name], BATCH[name], 0
    x, y = data['x'][:n], data['y'][:n]
    if name == 'cnn':
        x = x.reshape(n, 1, 28, 28)
    while True:
        yield x[at:at + size], y[at:at + size]
        at = (at + size) % n


def first_of(data, name):
    """The parameters that the peers begin with: w1 b1 w2 b2 ..."""
    count = 2 if name == 'mlp' else 3
    return [data[f'{name}_{kind}{k + 1}'] for k in range(count)
            for kind in 'wb']


def numpy_worker(data):
    import numpy as np

    def softmax_loss(z, y):
        z = z - z.max(1, keepdims=True)
        e = np.exp(z)
        p = e / e.sum(1, keepdims=True)
        rows = np.arange(len(y))
        loss = -np.log(p[rows, y]).mean()
        p[rows, y] -= 1
        return loss, p / np.float32(len(y))

    def mlp(p, x, y):
        w1, b1, w2, b2 = p
        h = np.maximum(x @ w1 + b1, 0)
        loss, d = softmax_loss(h @ w2 + b2, y)
        dh = (d @ w2.T) * (h > 0)
        return loss, [x.T @ dh, dh.sum(0), h.T @ d, d.sum(0)]

    def columns(x):
        """Windows of 3x3 with a border of 1: [n, h, w, c * 9]."""
        n, c, h, w = x.shape
        wide = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        v = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), (2, 3))
        return np.ascontiguousarray(v.transpose(0, 2, 3, 1, 4, 5)).reshape(
            n * h * w, c * 9)

    def conv(x, w, b):
        n, _, h, wd = x.shape
        cols = columns(x)
        y = cols @ w.reshape(len(w), -1).T + b
        return y.reshape(n, h, wd, -1).transpose(0, 3, 1, 2), cols

    def conv_back(g, cols, w, need_x):
        n, oc, h, wd = g.shape
        flat = np.ascontiguousarray(g.transpose(0, 2, 3, 1)).reshape(-1, oc)
        dw = (flat.T @ cols).reshape(w.shape)
        if not need_x:
            return dw, flat.sum(0), None
        turned = w[:, :, ::-1, ::-1].transpose(1, 0, 2, 3)
        dx, _ = conv(g, np.ascontiguousarray(turned), np.float32(0))
        return dw, flat.sum(0), dx

    def pool(x):
        n, c, h, w = x.shape
        parts = x.reshape(n, c, h // 2, 2, w // 2, 2).transpose(
            0, 1, 2, 4, 3, 5).reshape(n, c, h // 2, w // 2, 4)
        at = parts.argmax(-1)
        return parts.max(-1), at

    def pool_back(g, at):
        n, c, h, w = g.shape
        parts = np.zeros((n, c, h, w, 4), g.dtype)
        np.put_along_axis(parts, at[..., None], g[..., None], -1)
        return parts.reshape(n, c, h, w, 2, 2).transpose(
            0, 1, 2, 4, 3, 5).reshape(n, c, h * 2, w * 2)

    def cnn(p, x, y):
        w1, b1, w2, b2, w3, b3 = p
        a1, cols1 = conv(x, w1, b1)
        r1 = np.maximum(a1, 0)
        p1, at1 = pool(r1)
        a2, cols2 = conv(p1, w2, b2)
        r2 = np.maximum(a2, 0)
        p2, at2 = pool(r2)
        flat = p2.reshape(len(x), -1)
        loss, d = softmax_loss(flat @ w3 + b3, y)
        g = pool_back((d @ w3.T).reshape(p2.shape), at2) * (r2 > 0)
        dw2, db2, g = conv_back(g, cols2, w2, True)
        g = pool_back(g, at1) * (r1 > 0)
        dw1, db1, _ = conv_back(g, cols1, w1, False)
        return loss, [dw1, db1, dw2, db2, flat.T @ d, d.sum(0)]

    def trainer(name, f):
        params = [v.copy() for v in first_of(data, name)]
        feed, rate = batches(data, name), np.float32(RATE[name])

        def run(steps):
            loss = 0
            for _ in range(steps):
                loss, grads = f(params, *next(feed))
                for p, g in zip(params, grads):
                    p -= rate * g
            return float(loss)
        return run
    return np.__version__, {'mlp': trainer('mlp', mlp),
                            'cnn': trainer('cnn', cnn)}


def torch_worker(data, threads):
    import torch
    from torch import nn
    torch.set_num_threads(threads)
    nets = {
        'mlp': lambda: nn.Sequential(nn.Linear(784, 128), nn.ReLU(),
                                     nn.Linear(128, 10)),
        'cnn': lambda: nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(1568, 10))}

    def trainer(name):
        net = nets[name]()
        with torch.no_grad():
            for p, v in zip(net.parameters(), first_of(data, name)):
                v = torch.from_numpy(v)
                p.copy_(v.T if v.dim() == 2 else v)
        x, y = torch.from_numpy(data['x']), torch.from_numpy(data['y'])
        feed = batches({'x': x, 'y': y}, name)
        optimizer = torch.optim.SGD(net.parameters(), RATE[name])
        loss_of = nn.CrossEntropyLoss()

        def run(steps):
            loss = 0
            for _ in range(steps):
                xb, yb = next(feed)
                optimizer.zero_grad()
                loss = loss_of(net(xb), yb)
                loss.backward()
                optimizer.step()
                loss = loss.item()
            return loss
        return run
    return torch.__version__, {name: trainer(name) for name in nets}


def jax_worker(data):
    import jax
    import jax.numpy as jnp
    from jax import lax

    def loss_of(z, y):
        return -jnp.take_along_axis(jax.nn.log_softmax(z), y[:, None],
                                    1).mean()

    def mlp(p, x, y):
        w1, b1, w2, b2 = p
        return loss_of(jax.nn.relu(x @ w1 + b1) @ w2 + b2, y)

    def block(x, w, b):
        x = lax.conv_general_dilated(x, w, (1, 1), 'SAME')
        x = jax.nn.relu(x + b[:, None, None])
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2),
                                 (1, 1, 2, 2), 'VALID')

    def cnn(p, x, y):
        w1, b1, w2, b2, w3, b3 = p
        x = block(block(x, w1, b1), w2, b2)
        return loss_of(x.reshape(len(x), -1) @ w3 + b3, y)

    def trainer(name, f):
        def step(p, x, y):
            loss, g = jax.value_and_grad(f)(p, x, y)
            return loss, [a - RATE[name] * b for a, b in zip(p, g)]
        step = jax.jit(step, donate_argnums=0)
        feed = batches(data, name)
        state = [[jnp.array(v) for v in first_of(data, name)]]

        def run(steps):
            loss = 0
            for _ in range(steps):
                loss, state[0] = step(state[0], *next(feed))
                loss = float(loss)
            return loss
        return run
    return jax.__version__, {'mlp': trainer('mlp', mlp),
                             'cnn': trainer('cnn', cnn)}


def work(peer, threads, folder):
    """The loop of a process: a line with a workload and steps, an answer."""
    import numpy
    data = dict(numpy.load(os.path.join(folder, 'data.npz')))
    if peer == 'numpy':
        version, runs = numpy_worker(data)
    elif peer == 'torch':
        version, runs = torch_worker(data, threads)
    else:
        version, runs = jax_worker(data)
    print(f'ready {peer} {version}', flush=True)
    for line in sys.stdin:
        name, steps = line.split()
        print(f'{runs[name](int(steps)):.9g}', flush=True)


# ---- the one that asks ------------------------------------------------------


def write_data(python, folder):
    """x [60000, 784], y and the first parameters, drawn in the venv."""
    code = f'''
import numpy
r = numpy.random.default_rng(1)
f = lambda *s: r.random(s, dtype=numpy.float32)
w = lambda n, *s: ((f(*s) * 2 - 1) / n ** 0.5).astype(numpy.float32)
x = f(60000, 784)
y = (x[:, :196].sum(1) * 7 % 10).astype(numpy.int64)
numpy.savez({os.path.join(folder, 'data.npz')!r}, x=x, y=y,
    mlp_w1=w(784, 784, 128), mlp_b1=w(784, 128),
    mlp_w2=w(128, 128, 10), mlp_b2=w(128, 10),
    cnn_w1=w(9, 16, 1, 3, 3), cnn_b1=w(9, 16),
    cnn_w2=w(144, 32, 16, 3, 3), cnn_b2=w(144, 32),
    cnn_w3=w(1568, 1568, 10), cnn_b3=w(1568, 10))
'''
    subprocess.run([python, '-c', code], check=True)


class Peer:
    """One process, held to some processors."""

    def __init__(self, name, threads, python, tsh, folder):
        self.name, self.times, self.used = name, {}, {}
        env = dict(os.environ)
        for key in ('OMP', 'OPENBLAS', 'MKL'):
            env[f'{key}_NUM_THREADS'] = str(threads)
        command = [python, os.path.abspath(__file__), '--worker', name,
                   str(threads), folder]
        if name == 'tsh':
            command = [tsh, 'run', os.path.join(HERE, 'peers.lua'), folder]
        mine = sorted(os.sched_getaffinity(0))[:threads]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=env, preexec_fn=lambda: os.sched_setaffinity(0, mine))
        words = self.process.stdout.readline().split()
        if words[:1] != ['ready']:
            sys.exit(f'{name} did not begin')
        self.version = words[2]

    def processor_seconds(self):
        with open(f'/proc/{self.process.pid}/stat') as f:
            fields = f.read().rpartition(')')[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf('SC_CLK_TCK')

    def run(self, workload, steps):
        """Seconds, and the last loss."""
        begin = time.perf_counter()
        print(workload, steps, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        seconds = time.perf_counter() - begin
        if not answer:
            sys.exit(f'{self.name} ended while it computed {workload}')
        return seconds, float(answer)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def measure(peers, workload, rounds):
    """Interleaved rounds; the losses of a round must agree."""
    steps = STEPS[workload]
    for p in peers:
        p.run(workload, 3)
    for _ in range(rounds):
        losses = []
        for p in peers:
            used = p.processor_seconds()
            seconds, loss = p.run(workload, steps)
            used = p.processor_seconds() - used
            p.times.setdefault(workload, []).append(seconds / steps * 1e3)
            p.used.setdefault(workload, []).append(used / steps * 1e3)
            losses.append(loss)
        apart = max(losses) - min(losses)
        if not apart < 0.02 * max(losses):
            sys.exit(f'{workload}: the losses differ: ' + ', '.join(
                f'{p.name} {v:.6g}' for p, v in zip(peers, losses)))


def processor():
    with open('/proc/cpuinfo') as f:
        for line in f:
            if line.startswith('model name'):
                return line.split(':')[1].strip()
    return platform.processor()


def table(title, rows, names):
    print(f'{title:28}'
          + ''.join(f'{n:>20}' for n in names))
    for label, cells in rows:
        print(f'{label:28}' + ''.join(
            f'{statistics.median(c):>11.3f} ({min(c):.3f})'.rjust(20)
            for c in cells))


def python_of(folder, wanted):
    """The interpreter of the venv, made and filled where it lacks something."""
    python = os.path.join(folder, 'bin', 'python3')
    if not os.path.exists(python):
        subprocess.run([sys.executable, '-m', 'venv', folder], check=True)
    packages = ['numpy'] + [p for p in wanted if p in ('torch', 'jax')]
    test = subprocess.run([python, '-c', 'import ' + ', '.join(packages)],
                          stderr=subprocess.DEVNULL)
    if test.returncode:
        subprocess.run([python, '-m', 'pip', 'install', '-q', *packages],
                       check=True)
    return python


def compare(o, venv, folder):
    python = python_of(venv, o.only)
    write_data(python, folder)
    rows, used, versions = [], [], {}
    for threads in o.threads:
        peers = [Peer(n, threads, python, o.tsh, folder) for n in PEERS
                 if n in o.only]
        versions.update((p.name, p.version) for p in peers)
        for workload in STEPS:
            measure(peers, workload, o.rounds)
            label = f'{workload}, threads: {threads}'
            rows.append((label, [p.times[workload] for p in peers]))
            used.append((label, [p.used[workload] for p in peers]))
        for p in peers:
            p.end()
    print(f'{platform.node()}: {processor()}, {os.cpu_count()} processors, '
          f'{platform.system()} {platform.release()}, Python '
          f'{platform.python_version()}; load '
          f'{os.getloadavg()[0]:.1f}; rounds: {o.rounds}')
    names = [f'{n} {v}' for n, v in versions.items()]
    table('ms a step, median (least)', rows, names)
    table('processor ms a step', used, names)


def main():
    if sys.argv[1:2] == ['--worker']:
        work(sys.argv[2], int(sys.argv[3]), sys.argv[4])
        return
    parser = argparse.ArgumentParser(
        description='tsh, NumPy, PyTorch and JAX side by side')
    parser.add_argument('--tsh', default=os.path.join(ROOT, 'build', 'tsh'))
    parser.add_argument('--venv')
    parser.add_argument('--rounds', type=int, default=7)
    parser.add_argument('--threads', type=int, nargs='+', default=[1, 2])
    parser.add_argument('--only', nargs='+', choices=PEERS, default=PEERS)
    o = parser.parse_args()
    folder = tempfile.mkdtemp(prefix='peers-')
    try:
        compare(o, o.venv or os.path.join(folder, 'venv'), folder)
    finally:
        shutil.rmtree(folder)


if __name__ == '__main__':
    main()
