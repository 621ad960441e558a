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
    {"random", "rand(2, 3) or randn(2, 3); seed, randint, randperm"},
    {"normal", "randn(2, 3)"},
    {"uniform", "rand(2, 3)"},
    {"randn_like", "randn(x.shape)"},
    {"rand_like", "rand(x.shape)"},
    {"gauss", "randn(2, 3)"},
    {"sample", "x[randperm(#x)[{{1, n}}]]"},
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
    {"float", "x:f32(); of a text tonumber(s)"},
    {"double", "x:f64()"},
    {"half", "x:f16()"},
    {"bfloat16", "x:bf16()"},
    {"int", "x:i32(); of one number math.floor(v)"},
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
    {"ln", "log(x)"},
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
    {"hist", "histogram(x, 10)"},
    {"str", "tostring(x)"},
    {"isinstance", "type(x) == \"number\"; tsh.type(x) tells more"},
    {"dir", ":who for your names, :apropos WORD for functions"},
    {"locals", ":who"},
    {"globals", ":who"},
    {"list", "a table: {1, 2, 3}"},
    {"tuple", "a table: {1, 2, 3}"},
    {"dict", "a table: {a = 1, b = 2}"},
    {"enumerate", "ipairs(t); of a tensor x:rows()"},
    {"zip", "for i = 1, #a do ... a[i], b[i] ... end"},
    {"sorted", "sort(x); table.sort(t) of a table"},
    {"reversed", "flip(x)"},
    {"open", "io.open(path); read(path) of a data file"},
    {"input", "io.read()"},
    {"extend", "cat{a, b}"},
    {"pop", "table.remove(t)"},
    {"True", "true"},
    {"False", "false"},
    {"None", "nil"},
    {"null", "nil"},
    {"pi", "math.pi"},
    {"inf", "math.huge"},
    {"nan", "0 / 0"},
    {"float16", "the word \"f16\": x:cast(\"f16\")"},
    {"float32", "the word \"f32\": x:cast(\"f32\")"},
    {"float64", "the word \"f64\": x:cast(\"f64\")"},
    {"int8", "the word \"i8\": x:cast(\"i8\")"},
    {"int16", "the word \"i16\": x:cast(\"i16\")"},
    {"int32", "the word \"i32\": x:cast(\"i32\")"},
    {"int64", "the word \"i64\": x:cast(\"i64\")"},
    {"uint8", "the word \"u8\": x:cast(\"u8\")"},
    {"columns", "names, as in x, names = read(\"x.csv\")"},
    {"DataFrame", "a tensor: x, names = read(\"x.csv\")"},
    {"head", "x[{{1, 5}}]"},
    {"tail", "x[{{-5, -1}}]"},
    {"describe", ":stats x"},
    {"info", ":type x"},
    {"iloc", "x[{row, column}], both from 1"},
    {"loc", "x[{row, column}]; x[mask] takes rows"},
    {"sort_values", "x[x[{{}, column}]:argsort()]"},
    {"value_counts", "unique(x), or bincount(x)"},
    {"dropna", "x[bitnot(isnan(x):any(2))]"},
    {"fillna", "nan_to_num(x)"},
    {"disp", "show(x)"},
    {"pprint", "show(t)"},
    {"time", ":time EXPR, or os.clock()"},
    {"timeit", ":bench EXPR"},
    {"whos", ":who"},
    {"help", ":help, or :doc NAME"},
    {"exit", "os.exit() or :quit"},
    {"quit", ":quit"}};

#define PLOTS "there are no plots; write(\"x.csv\", x) for another program"
#define TABLES                                                                 \
  "x, names = read(\"x.csv\") reads numbers; x[{{}, names.price}] is a column"
#define LINE                                                                   \
  "not there yet; of a line the slope is ((x - x:mean()) * (y - "              \
  "y:mean())):sum() / ((x - x:mean()) ^ 2):sum()"
#define TEXT "text is put together by \"x is \" .. x, or (\"%.2f\"):format(v)"
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
    {"lstsq", LINE},
    {"polyfit", LINE},
    {"f-string", TEXT},
    {"fstring", TEXT},
    {"class", "there are no classes: a function that returns a table, or "
              "nn.layer"},
    {"plotting", PLOTS},
    {"plots", PLOTS},
    {"chart", PLOTS},
    {"parameters", "parameters are a table of tensors, as params = "
                   "nn.init(spec) gives"},
    {"quantile", "quantiles are not there yet: q is sort(x)[k] with k near "
                 "1 + q * (#x - 1)"},
    {"percentile", "quantiles are not there yet: p is sort(x)[k] with k near "
                   "1 + p / 100 * (#x - 1)"},
    {"cov", "not there yet: with c = x - mean(x, 1) it is "
            "matmul(c.T, c) / (#x - 1)"},
    {"corrcoef", "not there yet: with z = (x - mean(x, 1)) / std(x, 1) it is "
                 "matmul(z.T, z) / (#x - 1)"},
    {"corr", "not there yet: with z = (x - mean(x, 1)) / std(x, 1) it is "
             "matmul(z.T, z) / (#x - 1)"},
    {"groupby", "groups are not there yet: mean(x[x[{{}, 1}]:eq(v)], 1) is "
                "that of one"},
    {"det", "determinants are not there yet"},
    {"svd", "decompositions are not there yet"},
    {"eig", "decompositions are not there yet"},
    {"qr", "decompositions are not there yet"},
    {"cholesky", "decompositions are not there yet"},
    {"fft", "transforms are not there yet"},
    {"LSTM", "recurrent layers are not there yet"},
    {"GRU", "recurrent layers are not there yet"},
    {"RNN", "recurrent layers are not there yet"},
    {"plot", PLOTS},
    {"compile", "nothing to do: what is recorded is fused by itself"},
    {"jit", "nothing to do: what is recorded is fused by itself"}};

/* Modules of others. */
static const char *const modules[] = {"np",     "torch",      "jnp", "jax",
                                      "tf",     "tensorflow", "F",   "pd",
                                      "pandas", "scipy",      "sp",  "sklearn"};
static const char *const plotters[] = {"plt", "sns", "matplotlib", "pyplot"};

/* What a module of others has, though a name alone is something else here. */
static const row members[] = {{"load", "read(\"x.npz\")"},
                              {"tensor", "tensor{1, 2}"},
                              {"bool", "the word \"bool\": x:cast(\"bool\")"},
                              {"bool_", "the word \"bool\": x:cast(\"bool\")"}};

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
  if (i < COUNT(plotters)) {
    snprintf(hint, size, "%s", PLOTS);
    return plotters[i];
  }
  i -= COUNT(plotters);
  if (i >= COUNT(modules)) return NULL;
  if (strcmp(modules[i], "pd") == 0 || strcmp(modules[i], "pandas") == 0)
    snprintf(hint, size, "%s", TABLES);
  else
    snprintf(hint, size, "functions stand alone here: %s.exp(x) is exp(x)",
             modules[i]);
  return modules[i];
}

int lt_foreign_module(const char *name) {
  for (size_t i = 0; i < COUNT(modules); i++)
    if (strcmp(modules[i], name) == 0) return 1;
  return strcmp(name, "numpy") == 0; /* a method, too, with its own row */
}

int lt_member_synonym(const char *name, char *hint, size_t size) {
  for (size_t i = 0; i < COUNT(members); i++)
    if (strcmp(members[i].name, name) == 0) {
      snprintf(hint, size, "here it is %s", members[i].ours);
      return 1;
    }
  return lt_synonym(name, hint, size);
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
