/* The user's line, from the cache and from Lua itself. */
#include <criterion/criterion.h>
#include <string.h>
#include "session.h" /* brings priv.h of lang/bind */

static lt *open_state(void) {
  lt_options options = {.no_plugins = 1};
  char text[1024];
  lt *l = NULL;
  cr_assert_eq(lt_open(&options, &l, text, sizeof text), LT_OK, "%s", text);
  return l;
}

/* Calls note() on many kinds of lines; site() gives both answers. */
static const char script[] =
    "local seen = {}\n"
    "local function note() seen[#seen + 1] = {site()} end\n"
    "note() note()\n"
    "for i = 1, 3 do\n"
    "  note()\n"
    "end\n"
    "pcall(note)\n"
    "pcall(site)\n"
    "local co = coroutine.wrap(function() note() coroutine.yield() note() "
    "end)\n"
    "co() co()\n"
    "load('site()\\n\\nsite()')()\n"
    "setmetatable({}, {__add = function() note() end})\n"
    "table.sort({3, 2, 1}, function(a, b) note() return a < b end)\n"
    "local function tail() return note() end tail()\n"
    "local t = setmetatable({}, {__index = function() return site() end})\n"
    "local _ = t.x\n"
    "string.gsub('ab', '.', function() site() end)\n"
    "for i = 1, 300 do load('site() --' .. i)() end\n";

static int calls, differ;

static int site(lua_State *L) {
  lt *l = lt_of(L);
  uint32_t fast = lt_site(L), slow;
  int was = lt_sites_fast(l, 0);
  slow = lt_site(L);
  lt_sites_fast(l, was);
  calls++;
  differ += fast != slow;
  lua_pushinteger(L, fast);
  return 1;
}

Test(site, the_cache_answers_as_Lua_does) {
  lt *l = open_state();
  cr_expect(lt_sites_fast(l, 1), "the self-check switched it off");
  lua_register(l->L, "site", site);
  cr_assert_eq(luaL_loadbuffer(l->L, script, sizeof script - 1, "@x.lua"),
               LUA_OK);
  cr_assert_eq(lua_pcall(l->L, 0, 0, 0), LUA_OK, "%s", lua_tostring(l->L, -1));
  cr_expect_gt(calls, 300);
  cr_expect_eq(differ, 0);
  lt_close(l);
}

static char place[80], line[80];

static int where(lua_State *L) {
  lt *l = lt_of(L);
  uint32_t at = lt_site(L);
  lt_site_text(l, at, place, sizeof place);
  if (!lt_site_source(l, at, line, sizeof line)) strcpy(line, "none");
  return 0;
}

static void run(lt *l, const char *code, const char *chunk) {
  cr_assert_eq(luaL_loadbuffer(l->L, code, strlen(code), chunk), LUA_OK);
  cr_assert_eq(lua_pcall(l->L, 0, 0, 0), LUA_OK);
}

Test(site, texts_and_lines) {
  lt *l = open_state();
  const char *entry = "local x = 1\n  where()  \r\n";
  lua_register(l->L, "where", where);
  run(l, "\nwhere()", "@nowhere.lua");
  cr_expect_str_eq(place, "nowhere.lua:2");
  cr_expect_str_eq(line, "none");
  lt_source_add(l, "=in[3]", entry, strlen(entry));
  run(l, entry, "=in[3]");
  cr_expect_str_eq(place, "in[3]:2");
  cr_expect_str_eq(line, "  where()  ");
  lt_source_add(l, "=in[3]", "new\nlines", 9); /* the newer text holds */
  cr_expect(lt_source_line(l, "=in[3]", 2, line, sizeof line));
  cr_expect_str_eq(line, "lines");
  cr_expect_not(lt_source_line(l, "=in[3]", 3, line, sizeof line));
  cr_expect_not(lt_source_line(l, "=in[4]", 1, line, sizeof line));
  run(l, "where()", "where() --x");
  cr_expect_str_eq(place, "[string \"where() --x\"]:1");
  cr_expect_str_eq(lt_site_text(l, 0, place, sizeof place), "?");
  cr_expect_not(lt_site_source(l, 0, line, sizeof line));
  cr_expect_str_eq(lt_site_text(l, 999999, place, sizeof place), "?");
  lt_close(l);
}

Test(site, library_frames_are_passed_over) {
  lt *l = open_state();
  lua_register(l->L, "where", where);
  run(l, "function f() where() end", "=tsh:made.lua");
  run(l, "\n\n\nf()", "@user.lua");
  cr_expect_str_eq(place, "user.lua:4");
  lt_close(l);
}
