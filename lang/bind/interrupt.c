/* interrupt.c - how does Ctrl-C reach what runs? Devices read the cancel word.
 * Lua code is stopped by a hook, and a hook belongs to a thread: therefore
 * coroutine.resume, wrap and close are ours and note which thread runs. */
#include "session.h"

static const char on_interrupt_key = 0; /* its address is the registry key */

/* The user's line that runs now in front of "interrupted". */
static int raise_interrupted(lua_State *L) {
  lua_Debug at;
  for (int level = 0; lua_getstack(L, level, &at); level++) {
    lua_getinfo(L, "Sl", &at);
    if (at.currentline > 0 && !lt_source_is_library(at.source)) {
      lua_pushfstring(L, "%s:%d: interrupted", at.short_src, at.currentline);
      return lua_error(L);
    }
  }
  lua_pushliteral(L, "interrupted");
  return lua_error(L);
}

static void stop_hook(lua_State *L, lua_Debug *unused) {
  (void)unused;
  if (lt_of(L)->interrupted)
    raise_interrupted(L);
  else /* a coroutine that outlived its interrupt */
    lua_sethook(L, NULL, 0, 0);
}

/* The hook is not reset when it raises: whatever catches the error gets the
 * next one at its next instruction. */
static void arm(lua_State *L) { lua_sethook(L, stop_hook, LUA_MASKCOUNT, 1); }

void lt_interrupt(lt *l) {
  lua_State *L = l->running;
  l->interrupted = 1;
  __atomic_store_n(dev_cancel_word(l->devices), 1, __ATOMIC_RELAXED);
  if (L) arm(L);
}

/* The signal may have come before the change and armed another thread. */
static void set_running(lt *l, lua_State *L) {
  l->running = L;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  if (l->interrupted && L) arm(L);
}

void lt_interrupt_begin(lt *l) { set_running(l, l->L); }

static int call_handler(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &on_interrupt_key) == LUA_TNIL)
    return 0;
  lua_call(L, 0, 0);
  return 0;
}

int lt_interrupt_end(lt *l, int run) {
  lua_State *L = l->L;
  int was;
  l->running = NULL;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  was = l->interrupted;
  l->interrupted = 0;
  __atomic_store_n(dev_cancel_word(l->devices), 0, __ATOMIC_RELAXED);
  if (!was) return 0;
  lua_sethook(L, NULL, 0, 0);
  lt_tapes_close(L, NULL); /* of coroutines that were stopped */
  if (!run) return 1;
  lua_pushcfunction(L, call_handler);
  if (lua_pcall(L, 0, 0, 0) != LUA_OK) {
    const char *text = lua_tostring(L, -1);
    fprintf(stderr, "error: on_interrupt: %s\n", text ? text : "(no text)");
    lua_pop(L, 1);
  }
  return 1;
}

/* ---- what scripts call --------------------------------------------------- */

/* on_interrupt(fn): fn runs before an interrupted script ends; nil: none.
 * Gives back what was there. */
static int on_interrupt(lua_State *L) {
  if (!lua_isnoneornil(L, 1)) luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &on_interrupt_key);
  lua_insert(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &on_interrupt_key);
  return 1;
}

/* Resumes co with the n values on top of L. What it gave, or its error, is on
 * top of L afterwards: how many, or -1. */
static int resume(lua_State *L, lua_State *co, int n) {
  lt *l = lt_of(L);
  int status, given;
  if (!lua_checkstack(co, n)) {
    lua_pushliteral(L, "too many arguments to resume");
    return -1;
  }
  lua_xmove(L, co, n);
  set_running(l, co);
  status = lua_resume(co, L, n, &given);
  set_running(l, L);
  if (status != LUA_OK && status != LUA_YIELD) {
    lua_xmove(co, L, 1);
    return -1;
  }
  if (!lua_checkstack(L, given + 1)) {
    lua_pop(co, given);
    lua_pushliteral(L, "too many results to resume");
    return -1;
  }
  lua_xmove(co, L, given);
  return given;
}

static lua_State *check_thread(lua_State *L) {
  lua_State *co = lua_tothread(L, 1);
  luaL_argexpected(L, co, 1, "coroutine");
  return co;
}

static int co_resume(lua_State *L) {
  lua_State *co = check_thread(L);
  int given = resume(L, co, lua_gettop(L) - 1), ok = given >= 0;
  if (!ok) {
    given = 1;
    lt_tapes_close(L, co);
  }
  lua_pushboolean(L, ok);
  lua_insert(L, -(given + 1));
  return given + 1;
}

/* Runs what co has still to close; its error, if any, is moved to L. */
static int reset(lua_State *L, lua_State *co) {
  lt *l = lt_of(L);
  int status;
  set_running(l, co);
  status = lua_resetthread(co);
  set_running(l, L);
  if (status != LUA_OK) lua_xmove(co, L, 1);
  return status;
}

static int co_wrapped(lua_State *L) {
  lua_State *co = lua_tothread(L, lua_upvalueindex(1));
  int given = resume(L, co, lua_gettop(L));
  if (given < 0) {
    int status = lua_status(co);
    /* A thread that died of an error has yet to close its variables; that
     * leaves the error, or the one of the closing, on its stack. */
    if (status != LUA_OK && status != LUA_YIELD) {
      lua_pushvalue(L, -1);
      lua_xmove(L, co, 1);
      if (reset(L, co) == LUA_OK) lua_pushvalue(L, -1);
    }
    return lua_error(L);
  }
  return given;
}

static int co_wrap(lua_State *L) {
  lua_State *co;
  luaL_checktype(L, 1, LUA_TFUNCTION);
  co = lua_newthread(L);
  lua_pushvalue(L, 1);
  lua_xmove(L, co, 1);
  lua_pushcclosure(L, co_wrapped, 1);
  return 1;
}

/* May co be closed: is it suspended or dead? Else its state in words. */
static const char *busy_word(lua_State *L, lua_State *co) {
  lua_Debug frame;
  if (co == L) return "running";
  if (lua_status(co) == LUA_OK && lua_getstack(co, 0, &frame)) return "normal";
  return NULL;
}

static int co_close(lua_State *L) {
  lua_State *co = check_thread(L);
  const char *busy = busy_word(L, co);
  if (busy) return luaL_error(L, "cannot close a %s coroutine", busy);
  if (reset(L, co) == LUA_OK) {
    lua_pushboolean(L, 1);
    return 1;
  }
  lua_pushboolean(L, 0);
  lua_insert(L, -2);
  return 2;
}

/* The message handler of xpcall runs inside the hook, where no further hook is
 * called: a handler that never ends could not be stopped, so none is run. */
static int handle(lua_State *L) {
  if (lt_of(L)->interrupted) return 1;
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 1);
  return 1;
}

static int xpcall_end(lua_State *L, int status, lua_KContext unused) {
  (void)unused;
  if (status != LUA_OK && status != LUA_YIELD) {
    lua_pushboolean(L, 0);
    lua_insert(L, -2);
    return 2;
  }
  return lua_gettop(L) - 1; /* all but the handler */
}

static int guarded_xpcall(lua_State *L) {
  int n = lua_gettop(L) - 2, status;
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_pushvalue(L, 1);
  lua_insert(L, 3); /* before its arguments */
  lua_pushvalue(L, 2);
  lua_pushcclosure(L, handle, 1);
  lua_replace(L, 1);
  lua_pushboolean(L, 1);
  lua_replace(L, 2);
  status = lua_pcallk(L, n, LUA_MULTRET, 1, 0, xpcall_end);
  return xpcall_end(L, status, 0);
}

void lt_interrupt_open(lua_State *L) {
  static const luaL_Reg own[] = {{"resume", co_resume},
                                 {"wrap", co_wrap},
                                 {"close", co_close},
                                 {NULL, NULL}};
  lua_getglobal(L, "coroutine");
  luaL_setfuncs(L, own, 0);
  lua_pop(L, 1);
  lua_register(L, "xpcall", guarded_xpcall);
  lua_register(L, "on_interrupt", on_interrupt);
}
