/* lua_names.c - Lua's own functions that people look for, for :doc and
 * :apropos. All of them stand in Lua's manual. */
#include <string.h>
#include "session.h"

/* clang-format off */
static const struct {
  const char *name, *args, *doc;
} names[] = {
    {"print", "...", "Writes values with tabs between. Tensors are computed."},
    {"tostring", "v", "The value as text."},
    {"tonumber", "text, base", "The number that a text is, or nil."},
    {"type", "v", "\"nil\", \"number\", \"string\", \"boolean\", \"table\", \"function\" or \"userdata\", which a tensor is."},
    {"pairs", "t", "for k, v in pairs(t) do: every key of a table, in no order."},
    {"ipairs", "t", "for i, v in ipairs(t) do: t[1], t[2] ... up to the first nil."},
    {"next", "t, key", "The key and value after this one; without one the first."},
    {"select", "n, ...", "The arguments from number n on; select(\"#\", ...) is how many."},
    {"pcall", "f, ...", "Calls f: true and its results, or false and the error."},
    {"error", "message, level", "Raises an error."},
    {"assert", "v, message", "An error unless v is true; else gives v back."},
    {"require", "name", "Loads a module once: name.lua on package.path."},
    {"dofile", "path", "Runs a script here."},
    {"load", "text", "Compiles a text: a function, or nil and what is wrong."},
    {"setmetatable", "t, meta", "Says how a table behaves: __index, __add, __call ..."},
    {"string.format", "form, ...", "Text of values, as printf: (\"%.3f %d %s\"):format(x, n, s). %5.2f has a width, %-10s stands left."},
    {"string.rep", "s, n, between", "s n times."},
    {"string.sub", "s, first, last", "A part; negative positions count from the end."},
    {"string.find", "s, pattern, from, plain", "Where a pattern is found: first and last position, then captures."},
    {"string.match", "s, pattern", "What the pattern, or its captures, found."},
    {"string.gmatch", "s, pattern", "for word in s:gmatch(\"%S+\") do: all that is found, split for example."},
    {"string.gsub", "s, pattern, by", "The text with all that is found replaced, and how often."},
    {"string.upper", "s", "In capitals; string.lower the other way."},
    {"string.len", "s", "Bytes, as #s."},
    {"table.concat", "list, between", "The texts of a list joined: join of others."},
    {"table.insert", "list, at, v", "Appends v, or puts it at a position: append and push of others."},
    {"table.remove", "list, at", "Takes the last element, or that at a position: pop of others."},
    {"table.sort", "list, before", "Sorts a list in place; before(a, b) says what comes first."},
    {"table.unpack", "list", "Its elements as values: *list of others."},
    {"math.floor", "v", "Rounded down, an integer; math.ceil up. Of tensors: floor."},
    {"math.sqrt", "v", "The square root; also math.exp, math.log, math.sin, math.abs. Of tensors: sqrt, exp ..."},
    {"math.max", "v, ...", "The largest number; math.min the smallest."},
    {"math.random", "first, last", "A random number; of tensors: rand, randn, randint."},
    {"math.tointeger", "v", "The integer that a number is, or nil."},
    {"math.type", "v", "\"integer\", \"float\", or nil for what is no number."},
    {"math.pi", NULL, "3.14159 ...; pi is the same. math.huge is infinity."},
    {"io.open", "path, mode", "A file: f:read(\"a\"), f:lines(), f:write(text), f:close(). mode \"r\", \"w\", \"a\". Tensors: read and write."},
    {"io.lines", "path", "for line in io.lines(path) do: every line of a file."},
    {"io.write", "...", "Writes to standard output, without newline."},
    {"io.read", "what", "A line of standard input; \"n\" a number, \"a\" all."},
    {"io.popen", "command", "A file that reads what a command prints."},
    {"os.time", NULL, "Seconds since 1970, whole. os.clock() has fractions of the time computed."},
    {"os.clock", NULL, "Seconds of processor time so far; :time and tsh.time measure better."},
    {"os.date", "form", "Date and time as text: os.date(\"%Y-%m-%d %H:%M\")."},
    {"os.getenv", "name", "A variable of the environment, or nil."},
    {"os.remove", "path", "Deletes a file."},
    {"os.rename", "from, to", "Gives a file another name."},
    {"os.exit", "code", "Ends the program."},
    {"os.execute", "command", "Runs a command of the system; !CMD in a session."},
    {"coroutine.wrap", "f", "A function that goes on in f where it yielded: a generator."},
};
/* clang-format on */
enum { NAMES = sizeof names / sizeof *names };

/* last: the part behind the dot is enough. */
static int is(size_t i, const char *name, int last) {
  const char *dot = strchr(names[i].name, '.');
  return strcmp(last && dot ? dot + 1 : names[i].name, name) == 0;
}

int lt_lua_doc(const char *name, int last, FILE *out) {
  for (size_t i = 0; i < NAMES; i++) {
    lt_paragraph p = {out, 0};
    if (!is(i, name, last)) continue;
    if (names[i].args || strncmp(names[i].name, "os.", 3) == 0)
      fprintf(out, "%s(%s), of Lua\n", names[i].name,
              names[i].args ? names[i].args : "");
    else
      fprintf(out, "%s, of Lua\n", names[i].name);
    lt_add_words(&p, names[i].doc);
    lt_end_paragraph(&p);
    return 1;
  }
  return 0;
}

/* lua_names(): {name, doc}. */
int lt_lua_names(lua_State *L) {
  lua_newtable(L);
  for (size_t i = 0; i < NAMES; i++) {
    lua_createtable(L, 2, 0);
    lua_pushstring(L, names[i].name);
    lua_rawseti(L, -2, 1);
    lua_pushstring(L, names[i].doc);
    lua_rawseti(L, -2, 2);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}
