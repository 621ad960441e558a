/* convert.c - host elements and Lua values: what does a cell hold? */
#include <math.h>
#include <string.h>
#include "priv.h"

/* ---- cells to Lua ------------------------------------------------------- */
void lt_push_cell(lua_State *L, int dtype, const void *cells, int64_t i) {
  switch (dtype) {
  case TSH_bool:
    lua_pushboolean(L, ((const uint8_t *)cells)[i]);
    return;
  case TSH_i8:
    lua_pushinteger(L, ((const int8_t *)cells)[i]);
    return;
  case TSH_i16:
    lua_pushinteger(L, ((const int16_t *)cells)[i]);
    return;
  case TSH_i32:
    lua_pushinteger(L, ((const int32_t *)cells)[i]);
    return;
  case TSH_i64:
    lua_pushinteger(L, ((const int64_t *)cells)[i]);
    return;
  case TSH_u8:
    lua_pushinteger(L, ((const uint8_t *)cells)[i]);
    return;
  case TSH_u16:
    lua_pushinteger(L, ((const uint16_t *)cells)[i]);
    return;
  case TSH_u32:
    lua_pushinteger(L, ((const uint32_t *)cells)[i]);
    return;
  case TSH_u64: {
    /* Above Lua's integers the nearest float: never a negative number. */
    uint64_t v = ((const uint64_t *)cells)[i];
    if (v <= INT64_MAX)
      lua_pushinteger(L, (lua_Integer)v);
    else
      lua_pushnumber(L, (lua_Number)v);
    return;
  }
  case TSH_f16:
  case TSH_bf16:
    lua_pushnumber(L, plan_half_value(dtype, ((const uint16_t *)cells)[i]));
    return;
  case TSH_f32:
    lua_pushnumber(L, (double)((const float *)cells)[i]);
    return;
  case TSH_f64:
    lua_pushnumber(L, ((const double *)cells)[i]);
    return;
  default:
    lua_pushnil(L);
  }
}

/* ---- Lua to cells ------------------------------------------------------- */
/* Does an integer fit the integer dtype? */
static int fits(int64_t v, int dtype) {
  int bits = (int)plan_dtype_bytes(dtype) * 8;
  if (plan_dtype_kind(dtype) == TSH_KIND_UINT)
    return v >= 0 && (bits == 64 || v >> bits == 0);
  return bits == 64 ||
         (v >= -(INT64_C(1) << (bits - 1)) && v < INT64_C(1) << (bits - 1));
}

/* A number as operand of a dtype: whole floats become integers where the dtype
 * has nothing else. 0: it does not fit. */
int lt_number_as(plan_operand *v, int dtype) {
  int kind = plan_dtype_kind(dtype);
  if (kind == TSH_KIND_FLOAT || kind == TSH_KIND_COMPLEX)
    return v->kind != PLAN_BOOL;
  if (v->kind == PLAN_REAL) {
    double f = v->num.f;
    if (kind == TSH_KIND_BOOL || f != rint(f)) return 0;
    if (dtype == TSH_u64 && f >= 0x1p63 && f < 0x1p64) {
      v->num.u = (uint64_t)f;
      v->kind = PLAN_INT;
      return 1;
    }
    if (f < -0x1p63 || f >= 0x1p63) return 0;
    v->num.i = (int64_t)f;
    v->kind = PLAN_INT;
  }
  if (kind == TSH_KIND_BOOL) return v->kind == PLAN_BOOL;
  return v->kind == PLAN_INT && fits(v->num.i, dtype);
}

void lt_put_cell(int dtype, void *cells, int64_t i, const plan_operand *v) {
  double f = v->kind == PLAN_REAL  ? v->num.f
             : plan_is_half(dtype) ? plan_half_odd(v->num.i)
                                   : (double)v->num.i;
  switch (dtype) {
  case TSH_bool:
  case TSH_u8:
    ((uint8_t *)cells)[i] = (uint8_t)v->num.u;
    return;
  case TSH_i8:
    ((int8_t *)cells)[i] = (int8_t)v->num.i;
    return;
  case TSH_i16:
    ((int16_t *)cells)[i] = (int16_t)v->num.i;
    return;
  case TSH_u16:
    ((uint16_t *)cells)[i] = (uint16_t)v->num.u;
    return;
  case TSH_i32:
    ((int32_t *)cells)[i] = (int32_t)v->num.i;
    return;
  case TSH_u32:
    ((uint32_t *)cells)[i] = (uint32_t)v->num.u;
    return;
  case TSH_i64:
    ((int64_t *)cells)[i] = v->num.i;
    return;
  case TSH_u64:
    ((uint64_t *)cells)[i] = v->num.u;
    return;
  case TSH_f16:
  case TSH_bf16:
    ((uint16_t *)cells)[i] = plan_half_of(dtype, f);
    return;
  /* An integer is rounded once, not by way of double. */
  case TSH_f32:
    ((float *)cells)[i] = v->kind == PLAN_REAL ? (float)f : (float)v->num.i;
    return;
  case TSH_f64:
    ((double *)cells)[i] = f;
    return;
  default:
    return;
  }
}

void lt_number_fit(lua_State *L, plan_operand *v, int dtype) {
  plan_operand was = *v;
  if (lt_number_as(v, dtype)) return;
  if (was.kind == PLAN_REAL)
    lt_fail(L, NULL, "%f does not fit %s", lt_shown(was.num.f),
            plan_dtype_name(dtype));
  if (was.kind == PLAN_BOOL)
    lt_fail(L, NULL, "a boolean does not fit %s", plan_dtype_name(dtype));
  lt_fail(L, NULL, "%I does not fit %s", (LUAI_UACINT)was.num.i,
          plan_dtype_name(dtype));
}
