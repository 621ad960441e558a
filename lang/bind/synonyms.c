/* synonyms.c - what NumPy, PyTorch and others call it: one table for the hints
 * of errors, for :apropos and :doc. A name that exists here has no row. */
#include <ctype.h>
#include <string.h>
#include "priv.h"

typedef struct {
  const char *name, *ours;
} row;

/* What is written here instead. */
static const row words[] = {
    {"concat", "cat{a, b}"},
    {"concatenate", "cat{a, b}"},
    {"vstack", "cat{a, b}, or stack{a, b} of rows"},
    {"row_stack", "cat{a, b}, or stack{a, b} of rows"},
    {"hstack", "cat({a, b}, 2)"},
    {"column_stack", "stack({a, b}, 2) of columns"},
    {"dstack", "stack({a, b}, 3)"},
    {"append", "cat{a, b}"},
    {"array", "tensor{1, 2}"},
    {"asarray", "tensor{1, 2}"},
    {"as_tensor", "tensor{1, 2}"},
    {"from_numpy", "read(\"x.npy\")"},
    {"Tensor", "tensor{1, 2}"},
    {"matrix", "tensor{{1, 2}, {3, 4}}"},
    {"empty", "zeros(2, 3)"},
    {"empty_like", "zeros_like(x)"},
    {"identity", "eye(n)"},
    {"range", "arange(first, last)"},
    {"random", "rand(2, 3) or randn(2, 3)"},
    {"normal", "randn(2, 3)"},
    {"uniform", "rand(2, 3)"},
    {"randn_like", "randn(x.shape)"},
    {"rand_like", "rand(x.shape)"},
    {"choice", "x[randint(1, #x, {n})]"},
    {"shuffle", "x[randperm(#x)]"},
    {"manual_seed", "seed(1)"},
    {"default_rng", "seed(1)"},
    {"len", "#x"},
    {"size", "x.shape, #x or numel(x)"},
    {"ndim", "#x.shape"},
    {"ndims", "#x.shape"},
    {"dim", "#x.shape"},
    {"rank", "#x.shape"},
    {"nelement", "numel(x)"},
    {"length", "#x or numel(x)"},
    {"itemsize", "x.dtype; :type x shows the bytes"},
    {"nbytes", "x.dtype and numel(x); :type x shows the bytes"},
    {"astype", "x:cast(\"f32\")"},
    {"type", "x:cast(\"f32\"), or x.dtype"},
    {"type_as", "x:cast(y.dtype)"},
    {"float", "x:f32()"},
    {"double", "x:f64()"},
    {"half", "x:f16()"},
    {"bfloat16", "x:bf16()"},
    {"int", "x:i32()"},
    {"long", "x:i64()"},
    {"short", "x:i16()"},
    {"char", "x:i8()"},
    {"byte", "x:u8()"},
    {"cuda", "x:to(\"cuda:0\")"},
    {"cpu", "x:to(\"cpu\")"},
    {"tolist", "x:table()"},
    {"numpy", "x:table(); functions stand alone: exp(x), without a module"},
    {"t", "x.T"},
    {"swapaxes", "transpose(x, 1, 2)"},
    {"swapdims", "transpose(x, 1, 2)"},
    {"moveaxis", "permute(x, 2, 1, 3)"},
    {"movedim", "permute(x, 2, 1, 3)"},
    {"rollaxis", "permute(x, 2, 1, 3)"},
    {"expand_dims", "unsqueeze(x, axis)"},
    {"ravel", "flatten(x)"},
    {"resize", "reshape(x, 2, 3)"},
    {"expand_as", "expand(x, y.shape)"},
    {"view_as", "reshape(x, y.shape)"},
    {"reshape_as", "reshape(x, y.shape)"},
    {"repeat", "tile(x, n), or repeat_interleave(x, n)"},
    {"array_split", "split(x, n), or chunk(x, n)"},
    {"fliplr", "flip(x, 2)"},
    {"flipud", "flip(x, 1)"},
    {"narrow", "x[{{first, last}}]"},
    {"select", "x[{i}]"},
    {"index_select", "take(x, positions, axis)"},
    {"masked_fill", "where(mask, value, x)"},
    {"scatter", "x:set(index, value)"},
    {"index_add", "x:add(index, value)"},
    {"index_put", "x:set(index, value)"},
    {"argwhere", "nonzero(x)"},
    {"flatnonzero", "nonzero(flatten(x))"},
    {"clip", "clamp(x, 0, 1)"},
    {"clamp_min", "maximum(x, 0)"},
    {"clamp_max", "minimum(x, 1)"},
    {"power", "pow(x, 2), or x ^ 2"},
    {"float_power", "pow(x, 2.0)"},
    {"true_divide", "div(x, y), or x / y"},
    {"divmod", "x // y and x % y"},
    {"inner", "dot(x, y)"},
    {"vdot", "dot(x, y)"},
    {"bmm", "matmul(x, y)"},
    {"mv", "matmul(x, y)"},
    {"addmm", "matmul(x, y) + b"},
    {"tensordot", "matmul of reshaped tensors"},
    {"einsum", "matmul, permute and sum"},
    {"invert", "bitnot(x), or ~x"},
    {"left_shift", "shl(x, n), or x << n"},
    {"right_shift", "shr(x, n), or x >> n"},
    {"fabs", "abs(x)"},
    {"fix", "trunc(x)"},
    {"rint", "round(x)"},
    {"around", "round(x)"},
    {"sgn", "sign(x)"},
    {"log2", "log(x) / math.log(2)"},
    {"log10", "log(x) / math.log(10)"},
    {"exp2", "exp(x * math.log(2))"},
    {"sinh", "(exp(x) - exp(-x)) / 2"},
    {"cosh", "(exp(x) + exp(-x)) / 2"},
    {"expit", "sigmoid(x)"},
    {"swish", "silu(x)"},
    {"nanmean", "mean(x[bitnot(isnan(x))])"},
    {"nansum", "sum(nan_to_num(x))"},
    {"average", "mean(x, axis)"},
    {"ptp", "max(x) - min(x)"},
    {"array_equal", "equal(a, b)"},
    {"argpartition", "topk(x, k)"},
    {"digitize", "searchsorted(edges, x)"},
    {"bucketize", "searchsorted(edges, x)"},
    {"norm2", "norm(x)"},
    {"all_close", "allclose(a, b)"},
    {"load_csv", "read(\"x.csv\")"},
    {"read_csv", "read(\"x.csv\")"},
    {"loadtxt", "read(\"x.csv\")"},
    {"genfromtxt", "read(\"x.csv\")"},
    {"savetxt", "write(\"x.csv\", x)"},
    {"to_csv", "write(\"x.csv\", x)"},
    {"save", "write(\"x.npy\", x)"},
    {"savez", "write(\"x.npz\", {a = x})"},
    {"dump", "write(\"x.safetensors\", {a = x})"},
    {"load_state_dict", "params = read(\"model.safetensors\")"},
    {"state_dict", "write(\"model.safetensors\", params)"},
    {"linear", "nn.linear(inputs, outputs)"},
    {"dropout", "nn.dropout(0.5)"},
    {"embedding", "nn.embedding(n, width)"},
    {"batch_norm", "nn.batch_norm(channels)"},
    {"sequential", "nn.sequence{...}"},
    {"Sequential", "nn.sequence{...}"},
    {"Module", "a function, or nn.layer"},
    {"BatchNorm1d", "nn.batch_norm(channels)"},
    {"BatchNorm2d", "nn.batch_norm(channels)"},
    {"Conv1d", "conv1d(x, weight)"},
    {"CrossEntropyLoss", "cross_entropy(logits, labels)"},
    {"NLLLoss", "nll(log_probabilities, labels)"},
    {"MSELoss", "mse(x, y)"},
    {"mse_loss", "mse(x, y)"},
    {"L1Loss", "l1(x, y)"},
    {"l1_loss", "l1(x, y)"},
    {"nll_loss", "nll(log_probabilities, labels)"},
    {"BCELoss", "bce(p, y)"},
    {"BCEWithLogitsLoss", "bce_with_logits(x, y)"},
    {"binary_cross_entropy", "bce(p, y)"},
    {"huber_loss", "huber(x, y)"},
    {"smooth_l1_loss", "smooth_l1(x, y)"},
    {"KLDivLoss", "kl_div(x, y)"},
    {"DataLoader", "data.batches(x, y, size)"},
    {"train_test_split", "data.split(...)"},
    {"clip_grad_norm_", "optim.clip_by_norm(...)"},
    {"clip_grad_value_", "optim.clip_by_value(...)"},
    {"disp", "show(x)"},
    {"pprint", "show(t)"},
    {"time", ":time EXPR, or os.clock()"},
    {"timeit", ":bench EXPR"},
    {"whos", ":who"},
    {"help", ":help, or :doc NAME"},
    {"exit", "os.exit() or :quit"},
    {"quit", ":quit"}};

/* Where nothing takes its place, or more is to be said. */
static const row notes[] = {
    {"print", "as in Lua, a table is an address; show(t) prints its fields"},
    {"clone", "tensors are values: y = x is enough"},
    {"copy", "tensors are values: y = x is enough"},
    {"contiguous", "every tensor is: leave it out"},
    {"backward", "grad(f) is the gradient of a function f"},
    {"requires_grad", "grad(f) is the gradient of a function f"},
    {"requires_grad_", "grad(f) is the gradient of a function f"},
    {"no_grad", "gradients are taken by grad(f) only: leave it out"},
    {"zero_grad", "grad(f) gives new gradients each time: leave it out"},
    {"grad", "grad(f)(x) is the gradient of a function f at x"},
    {"data", "a tensor is its data: leave it out"},
    {"values", "a tensor is its values: leave it out; x:table() is a table"},
    {"apply", "functions take whole tensors: exp(x), where(mask, a, b)"},
    {"map", "functions take whole tensors: exp(x), where(mask, a, b)"},
    {"vectorize", "functions take whole tensors: exp(x), where(mask, a, b)"},
    {"inv", "matrix inverses are not there yet"},
    {"pinv", "matrix inverses are not there yet"},
    {"solve", "linear solvers are not there yet"},
    {"lstsq", "linear solvers are not there yet; gradients can fit: "
              "scripts/linear_regression.lua"},
    {"polyfit", "linear solvers are not there yet; gradients can fit: "
                "scripts/linear_regression.lua"},
    {"det", "determinants are not there yet"},
    {"svd", "decompositions are not there yet"},
    {"eig", "decompositions are not there yet"},
    {"qr", "decompositions are not there yet"},
    {"cholesky", "decompositions are not there yet"},
    {"fft", "transforms are not there yet"},
    {"LSTM", "recurrent layers are not there yet"},
    {"GRU", "recurrent layers are not there yet"},
    {"RNN", "recurrent layers are not there yet"},
    {"plot", "there are no plots; write(\"x.csv\", x) for another program"},
    {"compile", "nothing to do: what is recorded is fused by itself"},
    {"jit", "nothing to do: what is recorded is fused by itself"}};

/* Modules of others. */
static const char *const modules[] = {"np", "torch", "jnp", "jax", "tf", "F"};

/* Options. */
static const row options[] = {{"dim", "axis"},       {"dims", "axis"},
                              {"axes", "axis"},      {"keepdim", "keep"},
                              {"keepdims", "keep"},  {"ddof", "correction"},
                              {"type", "dtype"},     {"reverse", "descending"},
                              {"shuffle", "key"},    {"learning_rate", "lr"},
                              {"rate", "lr"},        {"epsilon", "eps"},
                              {"strides", "stride"}, {"padding", "pad"},
                              {"names", "header"},   {"columns", "header"}};

#define COUNT(list) (sizeof list / sizeof *list)

const char *lt_synonym_at(size_t i, char *hint, size_t size) {
  if (i < COUNT(words)) {
    snprintf(hint, size, "here it is %s", words[i].ours);
    return words[i].name;
  }
  i -= COUNT(words);
  if (i < COUNT(notes)) {
    snprintf(hint, size, "%s", notes[i].ours);
    return notes[i].name;
  }
  i -= COUNT(notes);
  if (i >= COUNT(modules)) return NULL;
  snprintf(hint, size, "functions stand alone here: %s.exp(x) is exp(x)",
           modules[i]);
  return modules[i];
}

int lt_synonym(const char *name, char *hint, size_t size) {
  const char *at;
  for (size_t i = 0; (at = lt_synonym_at(i, hint, size)) != NULL; i++)
    if (strcmp(at, name) == 0) return 1;
  return 0;
}

const char *lt_option_synonym(const char *name, const char *const *known) {
  for (size_t i = 0; i < COUNT(options); i++) {
    if (strcmp(options[i].name, name) != 0) continue;
    for (size_t k = 0; known[k]; k++)
      if (strcmp(known[k], options[i].ours) == 0) return known[k];
  }
  return NULL;
}

/* Equal but for case and underscores: Conv2d is conv2d, LeakyReLU leaky_relu.
 */
int lt_same_letters(const char *a, const char *b) {
  for (;; a++, b++) {
    while (*a == '_') a++;
    while (*b == '_') b++;
    if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) return 0;
    if (!*a) return 1;
  }
}
