#!/usr/bin/env python3
"""Stacks through what PHP's JIT compiler makes, without opcache.jit_debug.

By construction: comparison functions that usort() calls sort in turn, so many deep, and the innermost one works. Compiled code runs in the frame of
execute_ex(): on a stack each zend_call_function() is followed by code of PHP's, compiled or not, and only by way of it comes the next."""
import os
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import CAPTURE, NO_EVENTS, Tap, folded, have, need_events, resolve, run  # noqa: E402

tap = Tap()
DEEP = 5
PROGRAM = """<?php
function spin($n) { $s = 1; for ($i = 0; $i < $n; $i++) $s = ($s * 31 + $i) & 0xffff; return $s; }
function level($k) { if ($k == 0) return spin(20000);
  $r = 0; $a = [1, 2]; usort($a, function ($x, $y) use ($k, &$r) { $r += level($k - 1); return 0; }); return $r; }
function used() { $u = getrusage(); return $u['ru_utime.tv_sec'] + $u['ru_utime.tv_usec'] / 1e6; }
$e = used() + .8; while (used() < $e) level(%d);
""" % DEEP
# A file that was just written is not compiled otherwise.
OPTIONS = ["opcache.enable=1", "opcache.enable_cli=1", "opcache.jit_buffer_size=16M", "opcache.file_update_protection=0"]
MODES = ["tracing", "function", "1205"]  # 1205: everything is compiled before it runs


def is_php(frame):
    return frame == "execute_ex" or frame.startswith(("[perf-", "[/dev/zero", "[anon", "[//anon"))


def levels(stack):
    """How many callbacks deep the stack is; None if it is not as it must be."""
    called = None
    n = 0
    for frame in stack:
        if frame == "zend_execute":
            called = True
        elif frame == "zend_call_function":
            if called is not False:
                return None
            n, called = n + 1, True
        elif is_php(frame) and called:
            called = False
        elif called and n:
            return n - 1  # a leaf in zend_call_function() itself
    return n


def main():
    if NO_EVENTS or os.uname().machine != "x86_64":
        return tap.skip("PHP's JIT", NO_EVENTS or "compiled code is read on x86-64 only")
    if not have("php"):
        return tap.skip("PHP's JIT", "no php")
    need_events()
    with open("deep.php", "w") as f:
        f.write(PROGRAM)
    for mode in MODES:
        php = ["php", *(w for o in [*OPTIONS, f"opcache.jit={mode}"] for w in ("-d", o))]
        if run([*php, "-r", "echo opcache_get_status()['jit']['on'] ? 'on' : 'off';"], check=False).stdout != "on":
            tap.skip(f"opcache.jit={mode}", "this php has no JIT compiler")
            continue
        run([CAPTURE, "-q", "-F", "997", "-e", "cpu-clock:u", "-o", "x.data", "--", *php, "deep.php"])
        out, stats = resolve("x.data")
        period = stats["period"] // stats["samples"]
        compiled = {s: n // period for s, n in folded(out).items() if any(is_php(f) and f != "execute_ex" for f in s)}
        all_, deep = sum(compiled.values()), sum(n for s, n in compiled.items() if levels(s) == DEEP)
        wrong = [s for s in compiled if levels(s) is None or levels(s) > DEEP]
        n, roots = stats["user_stacks"], stats["root"]
        tap.check(all_ > 100 and not wrong, f"{mode}: none of {all_} stacks through compiled code lacks a caller or has a wrong one", wrong[:2])
        tap.check(roots >= 0.95 * n, f"{mode}: {roots} of {n} stacks reach the root")
        tap.check(deep >= 0.8 * all_, f"{mode}: {deep} of {all_} have all {DEEP} callbacks", list(compiled)[:3])
    return 0


main()
tap.end()
