#!/usr/bin/env python3
"""Names that simpleperf put into its recordings: every frame of every sample against a second reader of them.

The programs of these recordings (Android 8 to 10, a kernel module's author's desk) are not here, so a name can come
from nowhere else. perf_display_bitmaps has Java: interpreted methods, whose frames are places in files that are
mapped without PROT_EXEC, and compiled ones, which have symbols by runtime address."""
import os
import re
import sys
import tempfile

from common import RESOLVE, TOP, Tap, resolve, run

sys.path.insert(0, os.path.join(TOP, "tests", "reader"))
from simpleperf import META_INFO, Recording, files_of, maps_of, names_at  # noqa: E402

CORPUS = os.path.join(TOP, "../shared/corpus/simpleperf")
FRAME = re.compile(r"(?:.*: )?\s+([0-9a-f]{3,16}) (\[unknown\]|\S.*\+0x[0-9a-f]+) \((.*)\)$")
# How many distinct addresses have a name, at least: all but a few of those that `resolve --stats` counts.
LEAST = {"perf_display_bitmaps": 2000, "perf_with_callchain_record": 100, "perf_no_unwind": 15,
         "perf_with_tracepoint_event": 10, "perf_with_add_counter": 6, "perf_lbr": 4}


def check_names(what, r, path, least):
    """How many distinct addresses of the script have the name that the sections of r give them."""
    maps, files, named, wrong = maps_of(r), {}, set(), {}
    for entry in files_of(r):
        files.setdefault(entry[0], []).append(entry)
    for line in run([RESOLVE, "-f", "script", "--no-demangle", path]).stdout.splitlines():
        m = FRAME.match(line)
        if not m or m.group(3) not in files:
            continue
        ip, got = int(m.group(1), 16), m.group(2).rsplit("+0x", 1)[0]
        want = names_at(ip, maps.get(m.group(3), []), files[m.group(3)])
        if got in want:
            named.add(ip)
        elif want or got != "[unknown]":
            wrong[ip] = (got, want)
    t.check(not wrong and len(named) >= least, f"{what}: {len(named)} addresses have the recorded name",
            f"{len(named)} {list(wrong.items())[:10]}")
    return files


def check_without_meta_info(path, least):
    """The first simpleperf that wrote symbols said nothing else of itself."""
    with open(path, "rb") as f:
        r = Recording(f.read())
    del r.sections[META_INFO]
    with tempfile.TemporaryDirectory() as folder:
        old = os.path.join(folder, "old.data")
        with open(old, "wb") as f:
            f.write(r.rebuilt())
        check_names("without META_INFO", r, old, least)


t = Tap()
for name, least in LEAST.items():
    path = f"{CORPUS}/{name}.data"
    if not os.path.exists(path):
        t.skip(name, "no ../shared/corpus here")
        continue
    with open(path, "rb") as f:
        files = check_names(name, Recording(f.read()), path, least)
    _, stats = resolve(path)
    hit = [m for m in stats["modules"] if "symbols in the recording" in m["source"]]
    t.check(hit and len({m["path"] for m in hit}) <= len(files), f"{name}: --stats names the source of {len(hit)}",
            stats["modules"])
if os.path.isdir(CORPUS):
    check_without_meta_info(f"{CORPUS}/perf_with_callchain_record.data", LEAST["perf_with_callchain_record"])
_, stats = resolve(f"{CORPUS}/perf_display_bitmaps.data") if os.path.isdir(CORPUS) else (None, None)
if stats:
    p = run([RESOLVE, "--explain", "0x9ce00cb0", f"{CORPUS}/perf_display_bitmaps.data"])
    t.check("names from symbols in the recording" in p.stdout, "--explain names the source", p.stdout)
    names = run([RESOLVE, f"{CORPUS}/perf_display_bitmaps.data"]).stdout
    t.check("ThreadPoolExecutor.runWorker" in names, "interpreted methods of Java have names")
    t.check("java.lang.ThreadLocal.get" in names, "compiled methods of Java have names")
t.end()
