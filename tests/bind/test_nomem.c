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

/* Runs code with the n-th allocation failing, until it passes. */
static void starve(const char *prepare, const char *code, int step) {
  lt *l = open_state();
  uint64_t live;
  int failed = 0, status = LUA_ERRMEM;
  run(l, prepare);
  run(l, "if x then x:table() end"); /* its bytes are alive from now on */
  lt_collect(l->L);
  live = plan_counters_get(l->plan)->bytes_live;
  for (long n = 1; status != LUA_OK; n += step) {
    load(l, code);
    l->heap.fuse = n;
    status = lua_pcall(l->L, 0, 0, 0);
    l->heap.fuse = 0;
    if (status != LUA_OK) {
      const char *text = lua_tostring(l->L, -1);
      failed++;
      cr_assert(status == LUA_ERRMEM || (text && strstr(text, "memory")),
                "allocation %ld: %s", n, text);
      lua_pop(l->L, 1);
    }
    run(l, "assert((tensor{1,2} + 1):sum():item() == 5)");
    cr_assert_lt(n, 1000000);
  }
  cr_expect_gt(failed, 3);
  lt_collect(l->L);
  cr_expect_eq(plan_counters_get(l->plan)->bytes_live, live);
  lt_close(l);
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
