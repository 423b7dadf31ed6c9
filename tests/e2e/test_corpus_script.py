#!/usr/bin/env python3
"""Real recordings: the text of `resolve -f script` has the header fields and addresses of perf script's, sample by sample.

tests/reader/test_corpus_perf.py compares what the reader gives; this is the text at the end of the road. Compared are
command, tid, cpu, time, period and event, and the address of each frame: perf 6.1 prints places in files, page by page
the same. Frames are left out where they are no part of the recording: stacks that must be unwound, for which the programs
are not here, and LBR call graphs (tests/e2e/README.md); and simpleperf's maps of compiled Java, which begin anywhere. Events
have the names that simpleperf gave them. Of perf_with_add_counter perf prints each sample twice (test_corpus_perf.py)."""
import os
import re

from common import RESOLVE, TOP, Tap, have, run
from recorder import same_comm

CORPUS = os.path.join(TOP, "../shared/corpus")
HEADER = re.compile(r"^\s*(?P<comm>\S.*?|)\s+(?P<tid>-?\d+)\s+(?:\[(?P<cpu>\d+)\]\s+)?(?:(?P<time>\d+\.\d+):)?\s*"
                    r"(?:(?P<period>\d+)\s+)?(?P<event>\S+):(?P<rest>\s.*|)$")
FRAME = re.compile(r"^\s+([0-9a-f]+) .*\(.*\)(?: \[.*\])?$")
t = Tap()


def samples(text):
    """[(header fields, [addresses])]"""
    out = []
    for line in text.splitlines():
        frame, header = FRAME.match(line), HEADER.match(line)
        if frame and out:
            out[-1][1].append(int(frame[1], 16))
        elif header:
            own = FRAME.match(header["rest"])
            fields = header.groupdict()
            fields.pop("rest")
            out.append((fields, [int(own[1], 16)] if own else []))
    return out


def page_places(addresses):
    return [a & 0xfff for a in addresses]


def compare(name, row):
    path = f"{CORPUS}/{name}"
    perf = run(["perf", "script", "-f", "--max-stack", "1024", "-i", path], check=False)
    if perf.returncode or not perf.stdout:
        return False
    theirs, ours = samples(perf.stdout), samples(run([RESOLVE, "-q", "-f", "script", "--no-inline", "--max-stack", "1024", path],
                                                     check=False).stdout)
    if name.startswith("simpleperf/"):
        for fields, _ in theirs + ours:
            fields.pop("event")
    for (a, _), (b, _) in zip(theirs, ours):
        if same_comm(a["comm"], b["comm"], a["tid"]):
            a["comm"] = b["comm"]
    wrong = [(a[0], b[0]) for a, b in zip(theirs, ours) if a[0] != b[0]]
    t.check(ours and len(theirs) == len(ours) and not wrong, f"{name}: the headers of {len(ours)} samples as perf prints them",
            (len(theirs), wrong[:2]))
    if " ustk=0 br=0 " in row and "perf_display_bitmaps" not in name:
        wrong = [(a[1], b[1]) for a, b in zip(theirs, ours) if page_places(a[1]) != page_places(b[1])]
        t.check(not wrong, f"{name}: the addresses of {sum(len(s[1]) for s in ours)} frames", wrong[:1])
    return True


def main():
    if not have("perf"):
        return t.skip("script text of the corpus", "perf is not installed")
    if not os.path.exists(f"{CORPUS}/MANIFEST.tsv"):
        return t.skip("script text of the corpus", "no ../shared/corpus here")
    read = 0
    for row in open(f"{CORPUS}/MANIFEST.tsv"):
        name = row.split("\t")[0]
        if name != "file" and "hostile" not in name and not name.endswith("perf_with_add_counter.data"):
            read += compare(name, row)
    t.check(read >= 35, f"perf reads {read} files")


main()
t.end()
