#!/usr/bin/env python3
"""Functions with one row of call frame information where they make and leave their frame: by construction, tests/programs/lone_row.c, and LuaJIT's
interpreter, which C calls all the time here."""
import os
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import CAPTURE, NO_EVENTS, Tap, build, folded, have, need_events, resolve, run  # noqa: E402

tap = Tap()
LUA = """local e, n = os.clock() + .8, 0
while os.clock() < e do
  local t = {} for i = 1, 400 do t[i] = (i * 7919) % 20011 end
  table.sort(t, function(a, b) return a < b end)
  string.gsub("abcbc", "b", function(c) n = n + 1 return c end)
end
"""


def record(cmd):
    run([CAPTURE, "-q", "-F", "1999", "-e", "cpu-clock:u", "-o", "x.data", "--", *cmd])
    out, stats = resolve("x.data", "--no-stitch")
    return folded(out), stats


def main():
    if NO_EVENTS or os.uname().machine != "x86_64":
        return tap.skip("functions with one row", NO_EVENTS or "the program is for x86-64")
    need_events()
    for flags in ["-O2"], ["-O2", "-fno-omit-frame-pointer"]:
        stacks, stats = record([build("gcc", "lone_row.c", "lone_row", *flags), "0.6"])
        period = stats["period"] // stats["samples"]
        seen = {s: n // period for s, n in stacks.items() if s[-1] == "lone"}
        wrong = {s: n for s, n in seen.items() if s[-4:] != ("main", "outer", "inner", "lone") or s[1] != "_start"}
        n = sum(seen.values())
        tap.check(n > 300 and not wrong, f"{' '.join(flags)}: {n - sum(wrong.values())} of {n} stacks have all callers", wrong)
    if not have("luajit"):
        return tap.skip("LuaJIT", "it is not installed")
    with open("calls.lua", "w") as f:
        f.write(LUA)
    _, stats = record(["luajit", "calls.lua"])
    n, roots = stats["user_stacks"], stats["root"]
    tap.check(n > 300 and roots >= 0.99 * n, f"LuaJIT: {roots} of {n} stacks reach the root", stats)
    return 0


main()
tap.end()
