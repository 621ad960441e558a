/* Lua's memory runs out at the n-th allocation, for every n: the state stays
 * consistent, and no tensor is lost. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include "session.h" /* brings priv.h of lang/bind */

static lt *open_state(void) {
  lt_options options = {.no_plugins = 1};
  char text[1024];
  lt *l = NULL;
  cr_assert_eq(lt_open(&options, &l, text, sizeof text), LT_OK, "%s", text);
  return l;
}

/* Loads code and leaves it on the stack. */
static void load(lt *l, const char *code) {
  cr_assert_eq(luaL_loadbuffer(l->L, code, strlen(code), "=test"), LUA_OK, "%s",
               lua_tostring(l->L, -1));
}

static void run(lt *l, const char *code) {
  load(l, code);
  cr_assert_eq(lua_pcall(l->L, 0, 0, 0), LUA_OK, "%s", lua_tostring(l->L, -1));
}

/* ---- who runs out ------------------------------------------------------- */
extern int (*plan_alloc_hook)(size_t bytes); /* of lang/plan */
static long plan_fuse;                       /* as the one of Lua's heap */

static int burn(size_t bytes) {
  (void)bytes;
  if (plan_fuse == 1) return 0;
  if (plan_fuse > 1) plan_fuse--;
  return 1;
}

static void fuse_lua(lt *l, long n) { l->heap.fuse = n; }

static void fuse_plan(lt *l, long n) {
  (void)l;
  plan_fuse = n;
  plan_alloc_hook = n ? burn : NULL;
}

/* Runs code with the n-th allocation failing, until it passes. */
static void starve_by(void (*fuse)(lt *l, long n), const char *prepare,
                      const char *code, int step) {
  lt *l = open_state();
  uint64_t live;
  int failed = 0, status = LUA_ERRMEM;
  run(l, prepare);
  run(l, "if x then x:table() end"); /* its bytes are alive from now on */
  lt_collect(l->L);
  live = plan_counters_get(l->plan)->bytes_live;
  for (long n = 1; status != LUA_OK; n += step) {
    load(l, code);
    fuse(l, n);
    status = lua_pcall(l->L, 0, 0, 0);
    fuse(l, 0);
    if (status != LUA_OK) {
      const char *text = lua_tostring(l->L, -1);
      failed++;
      cr_assert(status == LUA_ERRMEM || (text && strstr(text, "memory")),
                "allocation %ld: %s", n, text);
      lua_pop(l->L, 1);
    }
    run(l, "assert((tensor{1,2} + 1):sum():item() == 5)\n"
           "assert(not require('tsh.core').watching())");
    cr_assert_lt(n, 1000000);
  }
  cr_expect_gt(failed, 3);
  lt_collect(l->L);
  cr_expect_eq(plan_counters_get(l->plan)->bytes_live, live);
  lt_close(l);
}

static void starve(const char *prepare, const char *code, int step) {
  starve_by(fuse_lua, prepare, code, step);
}

Test(nomem, recording_and_asking) {
  starve("",
         "local x = tensor{{1.0,2.0},{3.0,4.0}}\n"
         "local y = (x * 2 + x.T):sum{axis=1}\n"
         "assert(y[1]:item() == 11)",
         1);
}

Test(nomem, values_of_all_kinds) {
  starve("x = arange(12):reshape(3, 4)",
         "local y = x[{{1,2}, -1}]\n"
         "local t = (y + 1):table()\n"
         "assert(t[2] == 9 and tostring(y) and #x.shape == 2)\n"
         "assert(x.shape == {3,4} and x.dtype == 'i64')\n"
         "local z = cat({x, x:set(1, 0)}, 2)\n"
         "assert(z:sum():item() > 0 and equal(z, z))\n"
         "assert(tensor{tensor{1,2}, tensor{3,4}}[2]:table()[1] == 3)\n"
         "assert(argmax(x):item() == 12 and max(1, 2) == 2)",
         1);
}

Test(nomem, errors) {
  starve("x = zeros(2, 3)",
         "local ok, e = pcall(function() return matmul(x, x) end)\n"
         "if e:find('memory') then error(e, 0) end\n"
         "assert(not ok and e:find('inner sizes'))\n"
         "ok, e = pcall(function() return take(x, tensor{9}):table() end)\n"
         "if e:find('memory') then error(e, 0) end\n"
         "assert(not ok and e:find('outside'))",
         1);
}

Test(nomem, the_library_loads_later) {
  starve("",
         "local y = std(tensor{1.0, 3.0})\n"
         "assert(y:item() > 1.41)\n"
         "local g = grad(function(x) return sum(x * x) end)\n"
         "assert(g(tensor{2.0}):item() == 4)",
         7);
}

/* Every kind of record on the way back, a tree with more keys than fit on the
 * stack, gradients inside of gradients. */
static const char gradients[] =
    "p = {w = tensor{{1.0, 2.0}, {3.0, 4.0}}, b = {tensor{1.0, -1.0}, "
    "'name'}}\n"
    "for i = 1, 40 do p['k' .. i] = i == 7 and tensor(2.0) or i end\n"
    "double = custom_grad(function(t) return t * 2 end,\n"
    "  function(g) return function() return g * 2 end end)\n"
    "function f(p)\n"
    "  local x, t = matmul(p.w, p.w) + p.b[1], p.k7\n"
    "  if long then\n" /* shapes and a length that were not there before */
    "    x = x + matmul(ones(3, 1, 5, 2), p.w):sum{axis={1, 2, 3}}\n"
    "    for i = 1, 40 do t = t * 1.001 end\n"
    "  end\n"
    "  local y = cat({x.T, x:view(4):view(2, 2)}, 2)[{{}, {4, 1, -1}}]\n"
    "  y = pad(y, {{0, 1}, {1, 0}}):set(1, p.k7):add(tensor{2, 2}, ones(2, "
    "5))\n"
    "  local s = sort(y, 2):cumsum(1) + unfold(y, 2, 2, 1):sum(-1):max()\n"
    "  local z = take(s, tensor{1, 3}, 1) + gather(s, tensor{{1, 2, 2, 1, 3}}, "
    "1)\n"
    "  return double(where(z:gt(0), z, z * 0.5)):mean() + t ^ 2\n"
    "end\n"
    "grad(f)(p).w:table()\n"; /* the library is there, no record waits */

static const char two_gradients[] =
    "long = true\n"
    "local v, g = value_and_grad(f)(p)\n"
    "assert(g.w.shape == {2, 2} and g.k7:item() ~= 0 and g.b[2] == nil)\n"
    "assert(v:item() == v:item() and g.w:sum():item() ~= 0)\n"
    "local h = grad(function(q) local d = grad(f)(q)\n"
    "  return sum(d.w) + sum(d.b[1]) end)(p)\n"
    "assert(h.w:sum():item() ~= 0)";

Test(nomem, gradients_when_lua_has_no_memory) {
  starve(gradients, two_gradients, 7);
}

Test(nomem, gradients_when_the_planner_has_none) {
  starve_by(fuse_plan, gradients, two_gradients, 1);
}

Test(nomem, files_are_written_and_read) {
  static const char *const ending[] = {".npy", ".npz", ".safetensors", ".csv"};
  for (int i = 0; i < 4; i++) {
    char prepare[300];
    snprintf(prepare, sizeof prepare,
             "path = os.tmpname() .. '%s'\n"
             "value = tensor{{1.0, 2.0}, {3.0, 4.0}}\n"
             "if '%s' == '.npz' or '%s' == '.safetensors' then\n"
             "  value = {a = {value, value}, b = tensor(5)} end\n"
             "write(path, value)",
             ending[i], ending[i], ending[i]);
    starve(prepare,
           "write(path, value)\n"
           "local x = read(path)\n"
           "if type(x) == 'table' then x = x.a[2] end\n"
           "assert(x:sum():item() == 10)\n"
           "os.remove(path) os.remove((path:gsub('%.%w+$', '')))",
           1);
  }
}

Test(nomem, numbers_of_u64) {
  starve("",
         "local x = full({2, 3}, 2.0 ^ 63, 'u64') >> 63\n"
         "assert(x:sum():item() == 6)",
         1);
}

Test(nomem, opening) {
  lt *model = open_state();
  int rc = LT_NOMEM;
  for (long n = 1; rc != LT_OK; n += 3) {
    char text[512] = "";
    lt l = {.plan = model->plan,
            .devices = model->devices,
            .device = model->device,
            .heap = {.fuse = n}};
    rc = lt_state_open(&l, text, sizeof text);
    if (rc != LT_OK) {
      cr_assert_eq(rc, LT_NOMEM, "allocation %ld: %s", n, text);
      cr_assert_null(l.L);
      continue;
    }
    l.heap.fuse = 0;
    lt_state_close(&l);
  }
  lt_close(model);
}
