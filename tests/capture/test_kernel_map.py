#!/usr/bin/env python3
"""The kernel's own map: where /proc/kallsyms says, also when that was not read to its end."""
import os

from lib import CAPTURE, PerfData, Tap, capture, run

tap = Tap()


def kernel_map(cache, **env):
    """Of a recording: (start, end); None: it has none."""
    capture("-q", "-o", "x.data", "--", "true", env=dict(os.environ, XDG_CACHE_HOME=os.path.abspath(cache), **env))
    return next(((m.start, m.start + m.size) for m in PerfData("x.data").maps() if m.path.startswith("[kernel.kallsyms]")), None)


def symbols(*names):
    found = {}
    with open("/proc/kallsyms") as f:
        for line in f:
            addr, _, name = line.split()[:3]
            if name in names:
                found.setdefault(name, int(addr, 16))
    return [found.get(n, 0) for n in names]


want = tuple(symbols("_text", "_etext"))
if not all(want):
    tap.skip("the kernel's map", "/proc/kallsyms hides addresses")
    tap.end()
tap.check(kernel_map("kept") == want, "read from the list", want)
if os.path.exists("kept/unspool/kernel.range"):
    tap.check(kernel_map("kept") == want, "remembered")
else:
    tap.skip("what is remembered", "this kernel has no build id")
tap.check(kernel_map("none", UNSPOOL_CACHE_SIZE="0") == want and not os.path.exists("none"), "UNSPOOL_CACHE_SIZE=0: no file is left")
p = run([CAPTURE, "-o", "y.data", "--", "true"], env=dict(os.environ, UNSPOOL_CACHE_SIZE="much"), check=False)
tap.check(p.returncode == 2 and "UNSPOOL_CACHE_SIZE: 'much'" in p.stderr and not os.path.exists("y.data"), "a size that is none is refused", p.stderr)
tap.end()
