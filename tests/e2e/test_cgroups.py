#!/usr/bin/env python3
"""Cgroups as `perf record --all-cgroups` has them: --cgroup selects, --by cgroup is a level of its own. What is expected follows from how
the recording is written here."""
import base64
import collections
import os
import re
import zlib

from common import RESOLVE, Tap, run
from perfsynth import Cgroups, Recording

tap = Tap()
POD = "/kubepods.slice/pod1.slice/cri-containerd-0123456789abcdef0123456789abcdef.scope"
PATHS = {1: "/", 25: "/system.slice", 44: "/system.slice/web.service", 60: POD, 61: "/docker/fedcba9876543210fedc"}


r = Cgroups()
for ident, path in PATHS.items():
    r.cgroup(ident, path, 0)
for pid in (7, 8):
    r.comm(pid, "prog", 1)
COUNTS = {1: 1, 25: 2, 44: 4, 60: 8, 61: 16, 99: 32}  # nothing names 99
time = 10
for ident, n in COUNTS.items():
    for i in range(n):
        time += 1
        r.sample_in(7 + i % 2, 0x401000, time, ident)
r.write("perf.data")


def folded(*args):
    p = run([RESOLVE, "-q", *args], check=False)
    total = collections.Counter()
    for line in p.stdout.splitlines():
        stack, n = line.rsplit(" ", 1)
        total[stack.split(";")[0]] += int(n)
    return total


owners = {**{PATHS[i]: n for i, n in COUNTS.items() if i in PATHS}, "cgroup-99": 32}
tap.check(folded("--by", "cgroup") == owners, "--by cgroup: a level of their paths, of an unnamed one the number", folded("--by", "cgroup"), owners)
tap.check(folded() == {"prog": 63}, "without it commands are the roots")
rows = {m[2]: float(m[1]) for m in re.finditer(r"^ +[\d.]+% +([\d.]+)%  (\S+)", run([RESOLVE, "-q", "-f", "top", "--sort", "cgroup,sym"]).stdout, re.M)}
tap.check(rows.keys() == owners.keys() and all(abs(rows[k] - 100 * n / 63) < 0.011 for k, n in owners.items()), "top --sort cgroup: their shares", rows)
first = run([RESOLVE, "-q", "--by", "cgroup", "--with-pid"]).stdout.splitlines()
tap.check(any(l.startswith("/docker/fedcba9876543210fedc;prog-8;") for l in first), "below it the commands, as options name them", first)
for name, n in {"/": 31, "/system.slice": 6, "system.slice": 6, "system": 6, "web.service": 4, "web": 4, "/system.slice/web": 0, "we": 0,
                "0123456789ab": 8, "0123456789abcdef": 8, "123456789abc": 0, "0123": 0, "fedcba987654": 16, "kubepods,web": 12, "docker": 16}.items():
    got = sum(folded("--cgroup", name).values())
    tap.check(got == n, f"--cgroup {name}: {n} of 63 samples", got)
for form in "svg", "top", "script", "html", "pb.gz":
    run([RESOLVE, "-q", "--cgroup", "web", "--by", "cgroup", "-o", f"out.{form}"] if form in ("svg", "pb.gz", "html")
        else [RESOLVE, "-q", "--cgroup", "web", "-f", form])
tap.check("/system.slice/web.service" in open("out.svg").read(), "the picture has the level")
tap.check(folded("out.pb.gz", "--by", "cgroup") == {"/system.slice/web.service": 4}, "pprof has it as a label, which is a level again")

def of_page(*options):
    """The texts of the page's profile."""
    run([RESOLVE, "-q", *options, "-o", "page.html"])
    with open("page.html", encoding="utf-8") as f:
        return zlib.decompress(base64.b64decode(re.search(r'id="profile"[^>]*>([^<]+)<', f.read())[1])).decode("utf-8", errors="replace")


page = of_page()
tap.check('"by":"cgroup"' in page and '"isByFirst"' not in page and all(name in page for name in owners), "html has it as a level to choose", page[:300])
tap.check('"isByFirst":true' in of_page("--by", "cgroup") and '"by":"key"' in of_page("--by", "key"), "with --by the page begins with it")

p = run([RESOLVE, "--cgroup", "nope"], check=False)
tap.check(p.returncode == 2 and "none of the 63 samples passes the filters" in p.stderr, "a cgroup that is not there", p.stderr)
plain = Recording(callchain=False)
plain.comm(7, "prog", 1)
plain.sample(7, 0x401000, 2)
plain.write("plain.data")
p = run([RESOLVE, "plain.data", "--cgroup", "web"], check=False)
tap.check(p.returncode == 2 and "no cgroups were recorded; capture --all-cgroups does" in p.stderr, "a recording without cgroups: the cure", p.stderr)
tap.check('"by"' not in of_page("plain.data"), "html without cgroups: no such level")
p = run([RESOLVE, "plain.data", "--by", "cgroup"])
tap.check(p.stdout.startswith("[no cgroup];prog;") and "--by: no sample has the label cgroup" in p.stderr, "--by: what has no label is together, and a line says so",
          (p.stdout, p.stderr))

# Damage: the path without an end, and a record that is too short, are counted; the samples stay.
with open("perf.data", "rb") as f:
    data = bytearray(f.read())
at = data.index(b"/system.slice/web.service")
for cut in range(8):
    data[at + 25 + cut] = ord("x")
with open("cut.data", "wb") as f:
    f.write(data)
p = run([RESOLVE, "cut.data", "--by", "cgroup"], check=False)
tap.check(p.returncode in (0, 1) and sum(int(l.rsplit(" ", 1)[1]) for l in p.stdout.splitlines()) == 63, "a path that does not end", p.stderr)
os.remove("perf.data")
tap.end()
