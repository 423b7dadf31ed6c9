#!/usr/bin/env python3
"""Several threads walk the batches of a recording: all formats get the same bytes as from one thread, every thread
works, or looks ahead of the reader, and when memory runs out in one of them none reads on.

The recordings are real ones, of a program with threads and of one whose stacks can be completed when they are cut at
1 KiB, repeated until they have many batches (reader/batch_memory.h: 256 samples or 8 MB)."""
import collections
import os
import resource
import subprocess

from common import CUT_BYTES, RESOLVE, Tap, build, have, perf_record, resolve, run
from tap import LONG

REPEAT = os.path.join(os.environ["BUILD"], "tests/reader/tool_repeat")
FORMATS = ("folded", "script", "jsonl", "top", "speedscope", "pprof")
tap = Tap()


def output(form, *options):
    name = "out.pb" if form == "pprof" else "out"
    run([RESOLVE, "-q", "--no-inline", "-f", form, "-o", name, *options, "many.data"])
    with open(name, "rb") as f:
        return f.read()


def read_with_limit(data, megabytes, *options):
    """(status, words, how much of the recording was read) with so much address space; it comes through a pipe."""
    limit = megabytes << 20
    p = subprocess.Popen([RESOLVE, "-q", "--no-inline", "-f", "script", "-o", "out", *options, "-"], stdin=subprocess.PIPE,
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=False,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    done = 0
    try:
        while done < len(data):
            done += p.stdin.write(data[done:done + 65536])
            p.stdin.flush()
        p.stdin.close()
    except BrokenPipeError:
        pass
    words = p.stderr.read().decode(errors="replace")
    try:
        p.stdin.close()
    except BrokenPipeError:
        pass
    return p.wait(), words, done


def looks_ahead(jobs):
    """Page faults by function, of each try. No sample is wanted, which is an error: all but the reader have nothing to do.
    On a loaded machine they may not get to that."""
    seen = []
    while len(seen) < 10 and not (seen and seen[-1]["pages_touch"]):
        perf_record("-e", "page-faults:u", "-c", "1", "-o", "faults.data", "--", "sh", "-c", f"{RESOLVE} --comm nobody {jobs} large.data; test $? = 2")
        seen.append(collections.Counter(run(["perf", "script", "-F", "ip,sym", "-i", "faults.data"]).stdout.split()[1::2]))
    return seen


if not have("perf"):
    tap.skip("threads", "perf is not installed")
    tap.end()
deep = build("g++", "deep.cc", "deep", "-O2", "-pthread")
calls = build("gcc", "calls.c", "calls", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls")
perf_record("-e", "cpu-clock:u", "-F", "999", "--call-graph", f"dwarf,{CUT_BYTES}", "-o", "once.data", "--", "sh", "-c", f"{deep} 0.5; {calls} 0.5")
run([REPEAT, "once.data", "many.data", "25000000"])
_, one = resolve("many.data", "--no-inline", "-j1")
_, three = resolve("many.data", "--no-inline", "-j3")
tap.check(one["samples"] > 12 * 1024 and one["stitched"] > 0, "recording: a dozen batches, with stitched stacks", one)
tap.check(len(one["thread_seconds"]) == 1 and len(three["thread_seconds"]) == 3, "-j: as many threads as asked for",
          (one["thread_seconds"], three["thread_seconds"]))
tap.check(all(t > 0 for t in three["thread_seconds"]), "-j: each of them works", three["thread_seconds"])
same = all(v == three[k] for k, v in one.items() if "seconds" not in k)
tap.check(same, "--stats=json: the same with any number of threads", (one, three))
for stitch in ("--stitch", "--no-stitch"):
    for form in FORMATS if LONG or stitch == "--stitch" else FORMATS[:2]:
        outs = {output(form, stitch, f"-j{n}") for n in (1, 2, 5)}
        tap.check(len(outs) == 1, f"{stitch}: any number of threads gives the same {form} bytes")
_, few = resolve("once.data", "--no-inline", "-j64")
tap.check(len(few["thread_seconds"]) < 8, "-j64: a small recording gets few threads", few["thread_seconds"])
run([REPEAT, "once.data", "large.data", "100000000"])
seen = looks_ahead("-j3")
tap.check(seen[-1]["pages_touch"] > 0, "-j3: who has nothing to do looks ahead of the reader", seen)

if os.environ["BUILD"].endswith("-san"):
    tap.skip("out of memory", "a sanitizer has an allocator of its own, which needs much address space")
    tap.end()
# Small samples, so that it is the log of the script format that needs the memory.
perf_record("-e", "cpu-clock:u", "-F", "4999", "-g", "-o", "once.data", "--", calls, "0.5")
run([REPEAT, "-p", "once.data", "many.pipe", "50000000"])
with open("many.pipe", "rb") as f:
    many = f.read()
for jobs in ("-j1", "-j2"):
    seen = []
    for megabytes in range(48, 480, 8):
        rc, words, at = read_with_limit(many, megabytes, jobs)
        seen.append((megabytes, rc, at, words))
        if rc == 0:
            break
    tap.check(all(rc in (0, 2) for _, rc, _, _ in seen) and seen[-1][1] == 0, f"{jobs}, little memory: an error, or all is well", seen)
    tap.check(all("memory" in words or "cannot" in words for _, rc, _, words in seen if rc), f"{jobs}, little memory: says so", seen)
    early = [at for _, rc, at, words in seen if rc and "out of memory" in words and at < len(many)]
    tap.check(early and max(early) > 1000000, f"{jobs}, out of memory: no thread reads on: {max(early, default=0)} of {len(many)} bytes", seen)
tap.end()
