#!/usr/bin/python3
"""Writes nn.txt and optim.txt: what layers, losses, optimizers and schedules
must give, by PyTorch.

    /usr/bin/python3 gen_nn.py       (Debian: python3-numpy, python3-torch)

nn.txt has the lines that gen.py describes. Those of optim.txt, with a tab for
each semicolon:
    optim EXPRESSION; VALUE... after step 1; ... after step 5
    schedule EXPRESSION; VALUE... of steps 1 to 12
    clip LIMIT; LENGTH; VALUE...
The optimizers begin at START, and the gradient of p is (p - GOAL) * SLOPE of
its element; in the first line of the file.
"""
import os

import torch
import torch.nn.functional as F

import gen
from gen import INPUTS, SHIFT, ax

# ---- inputs -----------------------------------------------------------------

INPUTS['logits'] = ([2.0, -1.0, 0.5, 0.25, 3.0, -2.5, 0.0, 0.0, 0.0, -1.5, 4.0,
                     1.0], None, None, (4, 3))
INPUTS['likely'] = ([0.5, 0.25, 0.25, 1.0, 0.0, 0.0, 0.125, 0.75, 0.125, 0.25,
                     0.5, 0.25], None, None, (4, 3))
INPUTS['chances'] = ([0.5, 0.9, 0.125, 0.0625, 0.3, 0.75, 0.2, 0.99, 0.01, 0.6,
                      0.4, 0.5], None, None, (4, 3))
INPUTS['scores'] = ([0.0, -3.0, 50.0, -60.0, 0.5, 2.0, -1.0, 100.0, -200.0,
                     1.0, 7.0, -7.0], None, None, (4, 3))
INPUTS['three_'] = ([0.5, 2.0, 1.5], None, None, (3,))
INPUTS['other3'] = ([-1.0, 0.25, 3.0], None, None, (3,))
INPUTS['four_'] = ([0.5, 2.0, -1.5, 1.0], None, None, (4,))
INPUTS['other4'] = ([-1.0, 0.25, 3.0, 0.0], None, None, (4,))
INPUTS['picture'] = ([(k * 7 % 11 - 5) / 4 for k in range(2 * 2 * 5 * 4)],
                     None, None, (2, 2, 5, 4))
INPUTS['kernel'] = ([(k * 5 % 7 - 3) / 2 for k in range(3 * 2 * 3 * 2)], None,
                    None, (3, 2, 3, 2))
INPUTS['grouped'] = ([(k * 3 % 5 - 2) / 2 for k in range(4 * 1 * 2 * 2)], None,
                     None, (4, 1, 2, 2))

LABELS = [2, 0, 1, 1]
WEIGHT = [0.5, 2.0, 1.5]
WEIGHT_TEXT = 'tensor{0.5, 2.0, 1.5}'


def labels_text(list_=None):
    return 'tensor{%s}' % ', '.join(str(v + SHIFT['class'])
                                    for v in list_ or LABELS)


def labels(list_=None):
    return torch.tensor(list_ or LABELS)


def weight(x):
    return torch.tensor(WEIGHT, dtype=x.dtype)


# ---- layers -----------------------------------------------------------------

PLUS = '{weight = y, bias = z}'
STATE = ('{mean = tensor{0.5, -1.0, 0.25}:cast(x.dtype), '
         'var = tensor{2.0, 0.5, 1.0}:cast(x.dtype)}')


def running(x):
    """STATE as PyTorch's two buffers, of x's dtype."""
    return (torch.tensor([0.5, -1.0, 0.25], dtype=x.dtype),
            torch.tensor([2.0, 0.5, 1.0], dtype=x.dtype))


def batch_norm(train):
    return lambda x, y, z: F.batch_norm(x, *running(x), y, z, train)


def new_running(which, momentum):
    def f(x):
        state = running(x)
        F.batch_norm(x.detach(), *state, training=True, momentum=momentum)
        return state[which] + x.sum() * 0
    return f


TRAIN = f'{{train = true, state = {STATE}}}'
EVAL = f'{{state = {STATE}}}'

LAYERS = [
    ('nn.forward(nn.linear(3, 2), {weight = y, bias = z}, x)',
     lambda x, y, z: x @ y + z, -4, ('tall', 'tall3', 'two_')),
    ('nn.forward(nn.gelu{approximate = "tanh"}, {}, x)',
     lambda x: F.gelu(x, approximate='tanh'), -8, ('low3',)),
    ('nn.forward(nn.gelu, {}, x)', F.gelu, -4, ('low3',)),
    ('nn.forward(nn.elu, {}, x)', F.elu, 3, ('low3',)),
    ('nn.forward(nn.elu(0.25), {}, x)', lambda x: F.elu(x, 0.25), 3,
     ('low3',)),
    ('nn.forward(nn.leaky_relu(0.2), {}, x)',
     lambda x: F.leaky_relu(x, 0.2), 1, ('low3',)),
    ('nn.forward(nn.silu, {}, x)', F.silu, 5, ('low3',)),
    ('nn.forward(nn.softplus, {}, x)',
     lambda x: F.softplus(x, threshold=40), 5, ('low3',)),
    ('nn.forward(nn.softmax, {}, x)', lambda x: x.softmax(-1), 6, ('logits',)),
    (f'nn.forward(nn.log_softmax({ax(0)}), {{}}, x)',
     lambda x: x.log_softmax(0), -8, ('logits',)),
    ('nn.forward(nn.flatten, {}, x)', lambda x: x.flatten(1), 0, ('cube',)),
    ('nn.forward(nn.reshape(2, 6), {}, x)', lambda x: x.reshape(2, 2, 6), 0,
     ('cube',)),
    (f'nn.forward(nn.layer_norm(4), {PLUS}, x)',
     lambda x, y, z: F.layer_norm(x, (4,), y, z), -16,
     ('cube', 'four_', 'other4')),
    ('nn.forward(nn.layer_norm({3, 4}, {affine = false, eps = 0.5}), {}, x)',
     lambda x: F.layer_norm(x, (3, 4), eps=0.5), -16, ('cube',)),
    (f'nn.forward(nn.batch_norm(3), {PLUS}, x, {TRAIN})', batch_norm(True),
     -16, ('tall', 'three_', 'other3')),
    (f'nn.forward(nn.batch_norm(3), {PLUS}, x, {TRAIN})', batch_norm(True),
     -16, ('cube', 'three_', 'other3')),
    (f'nn.forward(nn.batch_norm(3), {PLUS}, x, {EVAL})', batch_norm(False),
     -16, ('cube', 'three_', 'other3')),
    ('select(2, nn.forward(nn.batch_norm(3, {affine = false}), {}, x, '
     f'{TRAIN})).mean', new_running(0, 0.1), -4, ('cube',)),
    ('select(2, nn.forward(nn.batch_norm(3, {affine = false, momentum = '
     f'0.25}}), {{}}, x, {TRAIN})).var', new_running(1, 0.25),
     -4, ('cube',)),
    ('nn.forward(nn.residual{nn.tanh, function(t) return t * 2 end}, {{}, {}}'
     ', x)', lambda x: x + torch.tanh(x) * 2, 4, ('logits',)),
]
INPUTS['low3'] = ([0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 3.75, -6.0, 20.0,
                   -20.0, 0.001], None, None, None)
PICTURES = [
    (f'nn.forward(nn.conv2d(2, 3, {{3, 2}}), {PLUS}, x)',
     lambda x, y, z: F.conv2d(x, y, z), -16, ('picture', 'kernel', 'three_')),
    ('nn.forward(nn.conv2d(2, 3, {3, 2}, {stride = 2, padding = {1, 2}, '
     f'bias = false}}), {{weight = y}}, x)',
     lambda x, y: F.conv2d(x, y, stride=2, padding=(1, 2)), -16,
     ('picture', 'kernel')),
    ('nn.forward(nn.conv2d(2, 4, 2, {groups = 2, dilation = 2}), '
     f'{PLUS}, x)',
     lambda x, y, z: F.conv2d(x, y, z, groups=2, dilation=2), -16,
     ('picture', 'grouped', 'four_')),
    ('nn.forward(nn.max_pool2d(2), {}, x)', lambda x: F.max_pool2d(x, 2), 0,
     ('picture',)),
    ('nn.forward(nn.avg_pool2d(2, {stride = 1, padding = 1}), {}, x)',
     lambda x: F.avg_pool2d(x, 2, 1, 1), 2, ('picture',)),
]

# ---- losses -----------------------------------------------------------------


def pair_rows(name, f, names, **options):
    """A loss of two tensors with each reduction."""
    lua = ''.join(f', {k} = {v}' for k, v in options.items())
    for how in ('mean', 'sum', 'none'):
        text = f'{{reduction = "{how}"{lua}}}'
        yield (f'{name}(x, y, {text})',
               lambda x, y, how=how: f(x, y, reduction=how, **options), -16,
               names)


def class_rows(name, f, **options):
    """A loss of x and labels, with and without a weight of the classes."""
    lua = ''.join(f', {k} = {v}' for k, v in options.items())
    theirs = dict(options)
    if 'ignore' in theirs:
        theirs['ignore_index'] = theirs.pop('ignore') - SHIFT['class']
    if 'smoothing' in theirs:
        theirs['label_smoothing'] = theirs.pop('smoothing')
    for how in ('mean', 'sum', 'none'):
        text = f'{{reduction = "{how}"{lua}}}'
        yield (f'{name}(x, {labels_text()}, {text})',
               lambda x, how=how: f(x, labels(), reduction=how, **theirs),
               -16, ('logits',))
        text = f'{{reduction = "{how}", weight = {WEIGHT_TEXT}{lua}}}'
        yield (f'{name}(x, {labels_text()}, {text})',
               lambda x, how=how: f(x, labels(), weight(x), reduction=how,
                                    **theirs), -16, ('logits',))


def losses():
    yield from class_rows('cross_entropy', F.cross_entropy)
    yield from class_rows('cross_entropy', F.cross_entropy, ignore=2)
    yield from class_rows('cross_entropy', F.cross_entropy, smoothing=0.125,
                          ignore=1)
    yield from class_rows('nll', F.nll_loss, ignore=3)
    for smooth in (0.0, 0.25):
        yield (f'cross_entropy(x, y, {{weight = {WEIGHT_TEXT}, '
               f'smoothing = {smooth}}})',
               lambda x, y, s=smooth: F.cross_entropy(x, y, weight(x),
                                                      label_smoothing=s),
               -16, ('logits', 'likely'))
    yield from pair_rows('mse', F.mse_loss, ('logits', 'likely'))
    yield from pair_rows('l1', F.l1_loss, ('logits', 'likely'))
    yield from pair_rows('huber', F.huber_loss, ('logits', 'likely'),
                         delta=1.5)
    yield from pair_rows('smooth_l1', F.smooth_l1_loss, ('logits', 'likely'),
                         beta=0.5)
    yield from pair_rows('bce', F.binary_cross_entropy, ('chances', 'likely'))
    yield from pair_rows('bce_with_logits',
                         F.binary_cross_entropy_with_logits,
                         ('scores', 'likely'))
    yield (f'bce_with_logits(x, y, {{pos_weight = {WEIGHT_TEXT}}})',
           lambda x, y: F.binary_cross_entropy_with_logits(
               x, y, pos_weight=weight(x)), -16, ('scores', 'likely'))
    yield ('kl_div(log_softmax(x, 2), y, {reduction = "batchmean"})',
           lambda x, y: F.kl_div(x.log_softmax(1), y, reduction='batchmean'),
           -16, ('logits', 'chances'))
    yield ('kl_div(log_softmax(x, 2), log(y), {log_target = true})',
           lambda x, y: F.kl_div(x.log_softmax(1), y.log(), reduction='mean',
                                 log_target=True), -16, ('logits', 'chances'))
    yield ('cosine_similarity(x, y)', F.cosine_similarity, -4,
           ('logits', 'likely'))
    yield (f'cosine_similarity(x, y, {{axis = {ax(0)}, eps = 2}})',
           lambda x, y: torch.sum(x * y, 0) / (
               x.norm(dim=0).clamp(min=2) * y.norm(dim=0).clamp(min=2)), -4,
           ('logits', 'likely'))


def nn_file():
    w = gen.Writer('nn.txt')
    for lua, f, ulp, names in LAYERS + PICTURES + list(losses()):
        w.row(lua, 'F', f, ulp, names)
    for names, letters, positions in (('tall', 'xp', 'at'),
                                      ('tall', 'xp', 'at2')):
        w.row('nn.forward(nn.embedding(4, 3), {weight = x}, p)', 'F',
              lambda x, p: F.embedding(p, x), 0, (names, positions), letters)
    w.save()


# ---- optimizers -------------------------------------------------------------

START = [1.0, -2.0, 0.5, 3.0, -0.25, 8.0]
GOAL = [0.0, 1.0, 0.5, -1.0, 2.0, 7.5]
SLOPE = [1.0, 0.5, 2.0, 0.25, 10.0, 0.125]
O = torch.optim
OPTIMIZERS = [
    ('sgd{lr = 0.1}', lambda p: O.SGD(p, 0.1)),
    ('sgd{lr = 0.1, momentum = 0.9}', lambda p: O.SGD(p, 0.1, 0.9)),
    ('sgd{lr = 0.1, momentum = 0.9, dampening = 0.5, weight_decay = 0.1}',
     lambda p: O.SGD(p, 0.1, 0.9, 0.5, 0.1)),
    ('sgd{lr = 0.1, momentum = 0.9, nesterov = true, weight_decay = 0.1}',
     lambda p: O.SGD(p, 0.1, 0.9, 0, 0.1, True)),
    ('adam{}', O.Adam),
    ('adam{lr = 0.1, beta1 = 0.8, beta2 = 0.9, eps = 1e-3, '
     'weight_decay = 0.1}',
     lambda p: O.Adam(p, 0.1, (0.8, 0.9), 1e-3, 0.1)),
    ('adamw{}', O.AdamW),
    ('adamw{lr = 0.1, weight_decay = 0.5}',
     lambda p: O.AdamW(p, 0.1, weight_decay=0.5)),
    ('rmsprop{}', O.RMSprop),
    ('rmsprop{lr = 0.1, alpha = 0.9, momentum = 0.5, weight_decay = 0.1}',
     lambda p: O.RMSprop(p, 0.1, 0.9, 1e-8, 0.1, 0.5)),
    ('rmsprop{lr = 0.1, alpha = 0.9, centered = true}',
     lambda p: O.RMSprop(p, 0.1, 0.9, centered=True)),
    ('adagrad{}', O.Adagrad),
    ('adagrad{lr = 0.5, lr_decay = 0.1, initial = 0.5, weight_decay = 0.1}',
     lambda p: O.Adagrad(p, 0.5, 0.1, 0.1, 0.5)),
]
S = O.lr_scheduler
SCHEDULES = [
    ('constant{lr = 0.5}', lambda o: S.ConstantLR(o, 1.0)),
    ('step{lr = 0.5, every = 4}', lambda o: S.StepLR(o, 4)),
    ('exponential{lr = 0.5, gamma = 0.75}',
     lambda o: S.ExponentialLR(o, 0.75)),
    ('linear{lr = 0.5, to = 0.05, steps = 8}',
     lambda o: S.LinearLR(o, 1.0, 0.1, 8)),
    ('cosine{lr = 0.5, to = 0.1, steps = 12}',
     lambda o: S.CosineAnnealingLR(o, 12, 0.1)),
    ('warm_up(5, schedule.exponential{lr = 0.5, gamma = 0.5})',
     lambda o: S.SequentialLR(
         o, [S.LinearLR(o, 0.2, 1.0, 4), S.ExponentialLR(o, 0.5)], [5])),
    ('join{{3, schedule.constant{lr = 0.5}}, schedule.step{lr = 0.5, '
     'every = 2, gamma = 0.5}}',
     lambda o: S.SequentialLR(
         o, [S.ConstantLR(o, 1.0), S.StepLR(o, 2, 0.5)], [3])),
]


def values(list_):
    return ' '.join(map(gen.text_of, list_))


def optim_file():
    lines = ['# made by gen_nn.py', '\t'.join(
        ['problem', values(START), values(GOAL), values(SLOPE)])]
    goal, slope = (torch.tensor(v, dtype=torch.float64)
                   for v in (GOAL, SLOPE))
    for lua, make in OPTIMIZERS:
        p = torch.tensor(START, dtype=torch.float64, requires_grad=True)
        o, parts = make([p]), [f'optim optim.{lua}']
        for _ in range(5):
            p.grad = ((p - goal) * slope).detach()
            o.step()
            parts.append(values(p.tolist()))
        lines.append('\t'.join(parts))
    for lua, make in SCHEDULES:
        o = O.SGD([torch.zeros(1, requires_grad=True)], 0.5)
        s, rates = make(o), []
        for _ in range(12):
            rates.append(o.param_groups[0]['lr'])
            o.step()
            s.step()
        lines.append(f'schedule schedule.{lua}\t{values(rates)}')
    for limit in (1.0, 100.0):
        p = torch.zeros(6, dtype=torch.float64, requires_grad=True)
        p.grad = torch.tensor(START, dtype=torch.float64)
        n = torch.nn.utils.clip_grad_norm_([p], limit)
        lines.append(f'clip {limit}\t{values([n.item()])}\t'
                     f'{values(p.grad.tolist())}')
    with open(os.path.join(gen.HERE, 'optim.txt'), 'w') as out:
        out.write('\n'.join(lines) + '\n')


if __name__ == '__main__':
    nn_file()
    optim_file()
