/* number.c - MAP ops of Lua numbers alone: no tensor is made, so cos(0.1) is a
 * number. Integers are computed as such where tensors of them are, all else in
 * double; whole results of whole numbers stay whole. */
#include <math.h>
#include "priv.h"

typedef double T;

static double tsh_sigmoid(double a) { return 1 / (1 + exp(-a)); }
static double tsh_mod(double a, double b) {
  double m = fmod(a, b);
  return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}
#define tsh_exp   exp
#define tsh_expm1 expm1
#define tsh_log   log
#define tsh_log1p log1p
#define tsh_sin   sin
#define tsh_cos   cos
#define tsh_tanh  tanh
#define tsh_erf   erf
#define tsh_pow   pow

static double compute(int op, double a, double b, double c) {
  switch (op) {
#define CASE_X(id, name, class_, arity, takes, gives, start, fexpr, iexpr,     \
               doc)                                                            \
  case id:                                                                     \
    return fexpr;
    TSH_OPS_MAP1(CASE_X)
    TSH_OPS_MAP2(CASE_X)
    TSH_OPS_MAP3(CASE_X)
#undef CASE_X
  default:
    return 0;
  }
}

enum { SAME, BOOL, TO, SECOND };
enum { F = 1, I = 2, B = 4, FI = F | I, IB = I | B, FIB = F | I | B };
static const struct {
  unsigned char takes, gives;
} rows[TSH_NOPS] = {
#define ROW_X(id, name, class_, arity, takes, gives, ...) [id] = {takes, gives},
    TSH_OPS_MAP1(ROW_X) TSH_OPS_MAP2(ROW_X) TSH_OPS_MAP3(ROW_X)
#undef ROW_X
};

static double number_at(lua_State *L, int i) {
  return lua_type(L, i) == LUA_TBOOLEAN ? lua_toboolean(L, i)
                                        : lua_tonumber(L, i);
}

static int64_t shifted(int64_t a, int64_t b, int left) {
  if (b < 0 || b >= 64) return !left && a < 0 ? -1 : 0;
  return left ? (int64_t)((uint64_t)a << b) : a >> b;
}

/* Bits of integers; of booleans the answer is one. */
static int bits(lua_State *L, int op, int n) {
  int booleans = 0;
  int64_t v[2] = {0, 0}, r;
  for (int i = 0; i < n; i++) {
    if (lua_type(L, i + 1) == LUA_TBOOLEAN) {
      booleans++;
      v[i] = lua_toboolean(L, i + 1);
    } else if (!lt_is_whole(L, i + 1, &v[i])) {
      return lt_fail(L, NULL, "%f has no bits; they are of whole numbers",
                     lt_shown(lua_tonumber(L, i + 1)));
    }
  }
  switch (op) {
  case TSH_OP_bitnot:
    r = ~v[0];
    break;
  case TSH_OP_bitand:
    r = v[0] & v[1];
    break;
  case TSH_OP_bitor:
    r = v[0] | v[1];
    break;
  case TSH_OP_bitxor:
    r = v[0] ^ v[1];
    break;
  default:
    r = shifted(v[0], v[1], op == TSH_OP_shl);
    break;
  }
  if (booleans == n)
    lua_pushboolean(L, (int)(r & 1));
  else
    lua_pushinteger(L, r);
  return 1;
}

/* One of the arguments as it is, so that integers lose nothing. */
static int choose(lua_State *L, int op) {
  double a = number_at(L, 1), b = number_at(L, 2);
  int first = op == TSH_OP_where ? a != 0 : compute(op, a, b, 0) == a;
  if (op == TSH_OP_where)
    lua_pushvalue(L, first ? 2 : 3);
  else if (lua_isinteger(L, 1) && lua_isinteger(L, 2))
    lua_pushvalue(L, (op == TSH_OP_maximum) ==
                             (lua_tointeger(L, 1) > lua_tointeger(L, 2))
                         ? 1
                         : 2);
  else
    lua_pushvalue(L, a != a || first ? 1 : 2);
  return 1;
}

/* Of integers as the tensor's: exact, wrapping, no trap. 0: not such an op. */
static int exact(int op, int64_t a, int64_t b, int64_t *out) {
  uint64_t u = (uint64_t)a, v = (uint64_t)b;
  int64_t rest = b == 0 || b == -1 ? 0 : a % b;
  int turned = rest != 0 && (a ^ b) < 0; /* rounding down is not cutting */
  switch (op) {
  case TSH_OP_add:
    u += v;
    break;
  case TSH_OP_sub:
    u -= v;
    break;
  case TSH_OP_mul:
    u *= v;
    break;
  case TSH_OP_square:
    u *= u;
    break;
  case TSH_OP_neg:
    u = 0 - u;
    break;
  case TSH_OP_abs:
    u = a < 0 ? 0 - u : u;
    break;
  case TSH_OP_relu:
    u = a < 0 ? 0 : u;
    break;
  case TSH_OP_floor:
  case TSH_OP_ceil:
  case TSH_OP_trunc:
  case TSH_OP_round:
    break;
  case TSH_OP_floordiv:
    u = b == 0    ? UINT64_MAX
        : b == -1 ? 0 - u
                  : (uint64_t)(a / b) - (uint64_t)turned;
    break;
  case TSH_OP_mod:
    u = b == 0 ? u : (uint64_t)rest + (turned ? v : 0);
    break;
  case TSH_OP_fmod:
    u = b == 0 ? u : (uint64_t)rest;
    break;
  default:
    return 0;
  }
  *out = (int64_t)u;
  return 1;
}

/* Above 2^53 doubles do not tell neighbours apart. 0: not such an op. */
static int compare(lua_State *L, int op) {
  static const int sign[] = {
      [TSH_OP_eq] = LUA_OPEQ, [TSH_OP_ne] = LUA_OPEQ, [TSH_OP_lt] = LUA_OPLT,
      [TSH_OP_le] = LUA_OPLE, [TSH_OP_gt] = LUA_OPLT, [TSH_OP_ge] = LUA_OPLE};
  int turned = op == TSH_OP_gt || op == TSH_OP_ge;
  if (op < TSH_OP_eq || op > TSH_OP_ge) return 0;
  if (!lua_isinteger(L, 1) || !lua_isinteger(L, 2)) return 0;
  lua_pushboolean(L, lua_compare(L, turned ? 2 : 1, turned ? 1 : 2, sign[op]) ^
                         (op == TSH_OP_ne));
  return 1;
}

int lt_number_map(lua_State *L, int op, int n) {
  int64_t integer;
  double v[3] = {0, 0, 0}, r;
  int whole =
      rows[op].gives == SAME && (rows[op].takes & I) && op != TSH_OP_div;
  if (op >= TSH_OP_bitand && op <= TSH_OP_shr) return bits(L, op, n);
  if (op == TSH_OP_bitnot) return bits(L, op, n);
  if (op == TSH_OP_maximum || op == TSH_OP_minimum || op == TSH_OP_where)
    return choose(L, op);
  for (int i = 0; i < n; i++) {
    v[i] = number_at(L, i + 1);
    whole &= lua_isinteger(L, i + 1);
  }
  if (compare(L, op)) return 1;
  if (whole && exact(op, lua_tointeger(L, 1), n > 1 ? lua_tointeger(L, 2) : 0,
                     &integer)) {
    lua_pushinteger(L, integer);
    return 1;
  }
  r = compute(op, v[0], v[1], v[2]);
  if (rows[op].gives == BOOL)
    lua_pushboolean(L, r != 0);
  else if (whole && r == rint(r) && fabs(r) < 0x1p53)
    lua_pushinteger(L, (lua_Integer)r);
  else
    lua_pushnumber(L, r);
  return 1;
}
