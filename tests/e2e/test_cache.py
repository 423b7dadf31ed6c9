#!/usr/bin/env python3
"""resolve with its cache of compiled debug information: the output is that of --no-cache, whatever is in the cache."""
import functools
import glob
import os
import re
import subprocess
import time

from common import RESOLVE, Tap, have, perf_record, resolve, run, TOP

tap = Tap()
CACHE = os.path.abspath("xdg")
os.environ["XDG_CACHE_HOME"] = CACHE


def entries():
    return glob.glob(CACHE + "/unspool/*.dwarf")


def record(out, words):
    with open("list", "w") as f:
        f.write(" ".join(words))
    perf_record("-e", "cpu-clock", "-F", "1499", "--call-graph", "dwarf,2048", "-o", out, "--",
                "sh", "-c", 'w=$(cat list); exec ./words "$w" "$w" "$w"')


def outputs(data, *options):
    """What matters of a run: script lines with inlined frames and lines, folded stacks."""
    return [resolve(data, "-f", "script", *options), resolve(data, *options)]


@functools.lru_cache(None)
def plain(data):
    return [o for o, _ in outputs(data, "--no-cache")]


def same(data):
    """(outputs equal those without the cache, modules from the cache in the last run)"""
    cached = outputs(data)
    return [o for o, _ in cached] == plain(data) and cached[0][0] != "", cached[-1][1]["cached_modules"]


if not have("perf") or not have("g++"):
    tap.skip("the cache", "no perf, or no g++")
    tap.end()
run(["g++", "-std=c++17", "-O2", "-g", "-Wl,--build-id", os.path.join(TOP, "tests/dwarf/sources/words.cc"), "-o", "words"])
record("one.data", [f"w{i % 397}" for i in range(12000)])
record("two.data", [str(i % 300 + 1000) for i in range(9000)])

_, stats = resolve("one.data", "--no-cache")
tap.check(not os.path.exists(CACHE + "/unspool") and not stats["cached_modules"], "--no-cache leaves nothing behind", stats["cached_modules"])
_, first = resolve("one.data")
tap.check(first["cached_modules"] == 0 and entries(), "the first run fills the cache", first)
good, hits = same("one.data")
tap.check(good and hits >= 1, "the second reads it, and says the same", hits)
good, _ = same("two.data")
tap.check(good, "another recording of the same program: as without a cache")
good, hits = same("one.data")
tap.check(good and hits >= 1, "the first recording again, after another one: from the cache", hits)
p = run([RESOLVE, "--stats", "-o", "out.folded", "one.data"])
tap.check("from the cache" in p.stderr, "--stats counts the modules", p.stderr)

run(["rm", "-r", CACHE])
resolve("one.data", "--no-inline")
tap.check(not entries(), "--no-inline needs no cache")

# whatever the cache is
for size, kept in (("0", 0), ("1", 0), ("100K", 1), ("1G", 1)):
    run(["rm", "-rf", CACHE])
    os.environ["UNSPOOL_CACHE_SIZE"] = size
    good, _ = same("one.data")
    tap.check(good and bool(entries()) == bool(kept) and sum(map(os.path.getsize, entries())) <= 1 << 20,
              f"UNSPOOL_CACHE_SIZE={size}", entries())
for size in ("much", "-1", "1T", "5G5", "99999999999999999999", "17179869184G"):
    os.environ["UNSPOOL_CACHE_SIZE"] = size
    p = run([RESOLVE, "one.data"], check=False)
    tap.check(p.returncode == 2 and "UNSPOOL_CACHE_SIZE" in p.stderr and size in p.stderr and p.stderr.count("\n") == 1 and not p.stdout,
              f"UNSPOOL_CACHE_SIZE={size}: refused in one line", p.stderr)
del os.environ["UNSPOOL_CACHE_SIZE"]
for entry in entries():
    with open(entry, "r+b") as f:
        f.write(os.urandom(50000))
good, hits = same("one.data")
tap.check(good and hits >= 1, "a cache file of garbage is replaced")
for entry in entries():
    os.truncate(entry, 200)
good, hits = same("one.data")
tap.check(good and hits >= 1, "a cache file cut short is replaced")
if os.geteuid() == 0:
    for entry in entries():
        os.chown(entry, 12345, 12345)
    _, stats = resolve("one.data")
    owners = {os.stat(e).st_uid for e in entries()}
    good, hits = same("one.data")
    tap.check(not stats["cached_modules"] and owners == {0} and good and hits >= 1, "files of another user are not believed", owners)
    # `sudo -E`: neither is written where another user can, nor are folders made that would be in the user's way.
    os.makedirs("theirs", exist_ok=True)
    os.chown("theirs", 12345, 12345)
    for below in ("theirs", "theirs/new/cache"):
        os.environ["XDG_CACHE_HOME"] = os.path.abspath(below)
        good, hits = same("one.data")
        tap.check(good and not hits and not os.listdir("theirs"), f"{below}: nothing is made in another user's folder")
    os.makedirs("theirs/unspool")
    os.chown("theirs/unspool", 12345, 12345)
    os.environ["XDG_CACHE_HOME"] = os.path.abspath("theirs")
    with open("theirs/unspool/0-0.dwarf", "wb") as f:
        f.truncate(2 << 30)  # would be trimmed
    good, hits = same("one.data")
    tap.check(good and not hits and os.listdir("theirs/unspool") == ["0-0.dwarf"], "another user's cache is neither used nor trimmed")
    # The link leads to a directory of root's, with a file that would be trimmed.
    for what, cache, link, target in (("link", "theirs2", "theirs2/unspool", "../roots"), ("link on the way", "theirs3", "theirs3/home", "../roots3")):
        os.makedirs(cache)
        os.makedirs(os.path.join(cache, target, "unspool"), exist_ok=True)
        os.symlink(target, link)
        os.chown(cache, 12345, 12345)
        os.chown(link, 12345, 12345, follow_symlinks=False)
        goal = link if link.endswith("unspool") else f"{link}/unspool"
        with open(f"{goal}/0-0.dwarf", "wb") as f:
            f.truncate(2 << 30)
        os.environ["XDG_CACHE_HOME"] = os.path.abspath(os.path.dirname(goal))
        before = os.listdir(goal)
        good, hits = same("one.data")
        tap.check(good and not hits and os.listdir(goal) == before, f"another user's {what} to a directory of root's is not followed", os.listdir(goal))
    os.environ["XDG_CACHE_HOME"] = CACHE
else:
    tap.skip("caches of other users", "only root meets them")
# Another build of resolve may have compiled something else: here one that differs only in its build id.
own = next(l.split()[-1] for l in run(["readelf", "-n", RESOLVE]).stdout.splitlines() if "Build ID" in l)
program = open(RESOLVE, "rb").read()
with open("other", "wb") as f:
    f.write(program.replace(bytes.fromhex(own), bytes.fromhex(own)[::-1]))
os.chmod("other", 0o755)
hits = []
for binary in ("./other", "./other", RESOLVE):
    out, stats = resolve("one.data", binary=binary)
    hits.append(stats["cached_modules"])
    tap.check(out == plain("one.data")[1], "another build of resolve: the same output")
tap.check(not hits[0] and hits[1] and hits[2], "another build of resolve does not use what this one has kept, and the other way round", hits)
for entry in entries():
    os.unlink(entry)
    os.mkdir(entry)
good, hits = same("one.data")
tap.check(good and not hits, "directories in the place of cache files: as without a cache")
open("file", "w").close()
for where in ("file", "file/below", "/proc", "/dev/null", "relative", "/dev/null/" + "x" * 5000):
    os.environ["XDG_CACHE_HOME"] = os.path.abspath(where) if where.startswith("file") else where
    os.environ["HOME"] = "/dev/null"
    good, hits = same("one.data")
    tap.check(good and not hits and not os.path.exists("relative"), f"no cache can be at {where[:30]}: as without one")
    p = run([RESOLVE, "one.data"])
    words = [w for w in p.stderr.splitlines() if not re.search("stacks are cut|code without names", w)]  # true of some recordings
    tap.check(not words, f"no cache can be at {where[:30]}: no line about it", p.stderr)
os.environ["XDG_CACHE_HOME"] = os.path.abspath("full")
os.mkdir("full")
if run(["mount", "-t", "tmpfs", "-o", "size=16k", "none", "full"], check=False).returncode == 0:
    with open("full/rest", "wb") as f:
        try:
            f.write(bytes(1 << 20))
            f.flush()
        except OSError:
            pass
    good, hits = same("one.data")
    left = glob.glob("full/unspool/.new*")
    run(["umount", "full"])
    tap.check(good and not hits and not left, "a cache on a full disk: as without one, and nothing is left", left)
else:
    tap.skip("a cache on a full disk", "cannot mount a tmpfs")

# Side by side, one of them killed at another moment each time.
os.environ["XDG_CACHE_HOME"] = os.path.abspath("together")
truth = {d: plain(d)[1] for d in ("one.data", "two.data")}
bad = []
for moment in range(4):
    running = [(d, subprocess.Popen([RESOLVE, d], stdout=subprocess.PIPE, text=True)) for d in list(truth) * 3]
    time.sleep(moment * 0.02)
    running[3][1].kill()
    for i, (d, p) in enumerate(running):
        out, _ = p.communicate()
        if i != 3 and (p.returncode or out != truth[d]):
            bad.append((moment, i, p.returncode))
tap.check(not bad, "six runs at once, one killed, four times: the same output", bad)
tap.check(all(resolve(d)[0] == truth[d] and resolve(d)[1]["cached_modules"] for d in truth), "what six runs left in the cache is right")
tap.end()
