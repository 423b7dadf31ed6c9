#!/usr/bin/env python3
"""Records with runtimes' code (reader/recorded_code.h) that are damaged, missing, repeated or larger than their like: each costs what
it holds and nothing else, and resolve says so, in its status, too.

Two programs of node's are recorded once, whose functions have different names; what is compared is how many stacks have these."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from code_records import Recording  # noqa: E402
from common import CAPTURE, NO_EVENTS, PROGRAMS, RESOLVE, Tap, have, need_events, run  # noqa: E402

tap = Tap()


def record():
    with open(f"{PROGRAMS}/cycle.js", encoding="utf-8") as f:
        text = f.read()
    for letter in "pq":
        with open(f"{letter}.js", "w", encoding="utf-8") as f:
            f.write(re.sub(r"\bf([012])\b", rf"{letter}\1", text))
    need_events()
    run([CAPTURE, "-q", "-F", "499", "-e", "cpu-clock:u", "-o", "x.data", "--", "sh", "-c", "node p.js js 2500 & node q.js js 2500; wait"])


def see(path):
    """(status, words, stacks with functions of p.js, of q.js)"""
    p = run([RESOLVE, "-f", "folded", "--count", "samples", path], check=False)
    rows = [row.rsplit(" ", 1) for row in p.stdout.splitlines()]
    return (p.returncode, p.stderr, *(sum(int(n) for stack, n in rows if re.search(rf"JS:\S?{letter}[012]\b", stack)) for letter in "pq"))


def near(seen, whole):
    """Of few stacks --strip-stacks leaves out what is interpreted."""
    return all(0.95 * n <= k <= n for k, n in zip(seen, whole))


def killed(whole):
    """The header has no version then; its places are filled from what stands before the data."""
    recording = Recording("x.data")
    recording.save("killed.data", killed=True)
    for option in "--strip-stacks", "--bundle":
        run([RESOLVE, "-q", option, "-o", "k.data", "killed.data"], check=False)
        _, words, p, q = see("k.data")
        tap.check(near((p, q), whole) and "record with" not in words, f"{option} of a recording that was killed keeps names: {p} and {q} of {whole}", words)


def killed_at_once():
    """Before anything of the code was written: that capture recorded it is known all the same."""
    recording = Recording("x.data")
    for i in reversed(recording.code()):
        del recording.records[i]
    recording.save("at-once.data", killed=True)
    _, words, *seen = see("at-once.data")
    tap.check(not any(seen) and "record with" not in words and "`capture` has read no function" in words, "killed before code was written: the words", words)


def frames():
    """The recording, its largest frame and the last record of that; the mark."""
    recording = Recording("x.data")
    code = recording.code()
    first = max((i for i in code if not recording.fields(i)["at"]), key=lambda i: recording.fields(i)["packed"])
    number = recording.fields(first)["frame"]
    last = max(i for i in code if recording.fields(i)["frame"] == number and recording.fields(i)["packed"])
    return recording, first, last, code[-1]


def wrong_sizes(whole):
    """That costs the frame, and the names of its own process."""
    for size in 100, 200 << 20, 1 << 40:
        recording, first, _, _ = frames()
        recording.set(first, bytes=size)
        for i in range(first + 1, len(recording.records)):
            if i in recording.code() and recording.fields(i)["frame"] == recording.fields(first)["frame"]:
                recording.set(i, bytes=size)
        recording.save("size.data")
        status, words, *seen = see("size.data")
        lines = [line for line in words.splitlines() if "of the code of 1 process with a runtime is damaged" in line]
        others = [k == n for k, n in zip(seen, whole)]
        tap.check(status == 1 and len(lines) == 1 and any(others), f"a frame that says {size} bytes: {seen} of {whole}", words)


def missing(whole):
    """And what is there twice is not missing."""
    recording, first, last, mark = frames()
    for i in reversed([i for i in recording.code() if first <= i <= last]):
        del recording.records[i]
    recording.save("less.data")
    status, words, *seen = see("less.data")
    tap.check(status == 1 and "1 piece is missing or damaged" in words and any(k == n for k, n in zip(seen, whole)), "a frame that is missing", words)
    recording, first, last, mark = frames()
    recording.records[mark:mark] = [r for i, r in enumerate(recording.records[first:last + 1], first) if i in recording.code()]
    recording.save("twice.data")
    status, words, *seen = see("twice.data")
    tap.check(status == 0 and tuple(seen) == whole and "missing" not in words, "a frame that is there twice", words)
    recording, first, last, mark = frames()
    del recording.records[mark]
    recording.save("no-mark.data")
    status, words, *seen = see("no-mark.data")
    tap.check(status == 1 and "ends too early" in words and tuple(seen) == whole, "without its mark", words)


def stripped():
    """perf does not read a compressed record that unpacks to nothing, as the end of a frame of zstd would be (15 bytes)."""
    empty, compressed = 15, 81
    for name in "x.data", "killed.data":
        run([RESOLVE, "-q", "--strip-stacks", "-o", "s.data", name], check=False)
        records = [r for r in Recording("s.data").records if r[0] == compressed]
        tap.check(records and min(map(len, records)) > empty, f"--strip-stacks of {name}: no compressed record is empty", sorted(map(len, records))[:5])
        if have("perf"):
            done = [run(["perf", how, "-i", "s.data"], check=False) for how in ("script", "report")]
            tap.check(not any(p.returncode for p in done), "perf script and perf report read it", *(p.stderr[-300:] for p in done))


def main():
    if NO_EVENTS or not have("node"):
        return tap.skip("records of runtimes' code", NO_EVENTS or "no node here")
    record()
    status, words, p, q = see("x.data")
    if not tap.check(status == 0 and p > 300 and q > 300, f"as recorded: {p} and {q} stacks have names", words):
        return None
    killed((p, q))
    killed_at_once()
    stripped()
    wrong_sizes((p, q))
    missing((p, q))
    return None


main()
tap.end()
