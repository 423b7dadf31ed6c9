#!/usr/bin/env python3
"""Real recordings: the text of `resolve -f script` has the header fields and addresses of perf script's, sample by sample.

tests/reader/test_corpus_perf.py compares what the reader gives; this is the text at the end of the road. Compared are
command, tid, cpu, time, period and event, and the address of each frame: perf 6.1 prints places in files, page by page
the same. Frames are left out where they are no part of the recording: stacks that must be unwound, for which the programs
are not here, and LBR call graphs (tests/e2e/README.md); and simpleperf's maps of compiled Java, which begin anywhere. Events
have the names that simpleperf gave them. Of perf_with_add_counter perf prints each sample twice (test_corpus_perf.py).

Where no frame is left out, the whole text is compared, byte for byte, with the columns of this machine's perf (6.1, or 6.12 and later). Lines may
differ in the ways of CLASSES alone, which say who is right. So is the text with options: of OPTIONS each file has one other (LONG=1: all)."""
import collections
import os
import re
import zlib

from common import RESOLVE, TOP, Tap, have, run
from recorder import perf_version, same_comm
from tap import LONG

CORPUS = os.path.join(TOP, "../shared/corpus")
HEADER = re.compile(r"^\s*(?P<comm>\S.*?|)\s+(?P<tid>-?\d+)\s+(?:\[(?P<cpu>\d+)\]\s+)?(?:(?P<time>\d+\.\d+):)?\s*"
                    r"(?:(?P<period>\d+)\s+)?(?P<event>\S+):(?P<rest>\s.*|)$")
FRAME = re.compile(r"^\s+([0-9a-f]+) .*\(.*\)(?: \[.*\])?$")
# What differs: how it is found in a line, and what theirs and ours have to be.
CLASSES = {
    # perf takes the symbols of the kernel and the [vdso] that run where it runs; the recordings are of others. We are right.
    "names of another kernel": (r"^.*(?:\t|: ) *[0-9a-f]+ (\S+) \((?:\[.+\]|/lib/modules/.*)\)$", lambda a, b: b == "[unknown]"),
    # perf prints a module's path if the recording has its build id, else its name as we do. Both are right.
    "paths of modules": (r" \((\S+)\)$", lambda a, b: re.sub(r"^/lib/modules/\S*/([^/]+)\.ko$", r"[\1]", a).replace("-", "_") == b),
    # perf 7.2 loses the map of the last module; 6.1 has it. We are right.
    "a module's map": (r" \((\S+)\)$", lambda a, b: a == "[unknown]" and re.match(r"\[\w+\]$", b)),
    # Names that the recording does not have: 6.1 adds HG where guests are counted, 7.2 H where they are not. No one has typed either.
    "events without a name": (r"(?:^| )([a-z][\w-]*(?::\w+)?): ", lambda a, b: re.sub(r":(HG?)$", "", a) == b),
    # perf 7.2 prints 000 for processors that the machine where it runs has not, in pipes; 6.1 has the number. We are right.
    "numbers of processors": (r" \[(\d{3,})\] ", lambda a, b: a == "000" and int(b) >= os.cpu_count()),
    # perf forgets a thread at its exit record (recorder.same_comm); 6.1 does not. We are right.
    "threads without a name": (r"^ *(\S+) ", lambda a, b: re.match(r":\d+$", a) and same_comm(a, b, a[1:])),
}
OPTIONS = [["-F", "comm,tid,time,ip,sym,dso"], ["-F", "event,ip,sym,symoff,dso"], ["-F", "+pid"], ["-F", "-period"], ["-F", "misc,comm"], ["-F", "comm,event,trace"], ["--ns"],
           ["--reltime"], ["--deltatime"], ["-G"], ["--max-stack", "5"], ["-F", "comm,event,ip,dso", "-G"], ["-F", "comm"]]
t = Tap()


def explain(theirs, ours, classes):
    """Is the difference of two lines a sum of known ones? These are counted in classes."""
    for name, (where, is_known) in CLASSES.items():
        a, b = re.search(where, theirs), re.search(where, ours)
        if a and b and a[1] != b[1] and is_known(a[1], b[1]):
            ours = ours[:b.start(1)] + a[1] + ours[b.end(1):]
            classes[name] += 1
    return theirs.split() == ours.split()  # a longer name moves what is beside it


def whole(name, path, chosen=()):
    version = perf_version()
    if version != (6, 1) and version < (6, 12):
        return t.skip(f"{name}: the whole text", f"perf {version}: its columns are neither those of 6.1 nor those of 6.12")
    options = ["-f", "--no-inline", "--no-demangle", *(() if "--max-stack" in chosen else ("--max-stack", "1024")), *chosen, "-i", path]
    theirs = run(["perf", "script", *options], check=False).stdout.splitlines()
    compat = ["--compat=6.1"] if version == (6, 1) else []
    ours = run([RESOLVE, "-q", "--no-cache", "-f", "script", *compat, *options[1:]], check=False).stdout.splitlines()
    classes = collections.Counter()
    wrong = [(a, b) for a, b in zip(theirs, ours) if a != b and not explain(a, b, classes)]
    said = ", ".join(f"{n} in {what}" for what, n in classes.items())
    t.check(len(theirs) == len(ours) > 0 and not wrong, f"{name}: {' '.join([*chosen, ''])}{len(ours)} lines as perf {version[0]}.{version[1]} prints them{'; ' + said if said else ''}",
            len(theirs), len(ours), wrong[:2])


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
        if a.get("event") and explain(a["event"] + ": ", b["event"] + ": ", collections.Counter()):
            a["event"] = b["event"]
        if a["cpu"] and b["cpu"] and explain(f" [{a['cpu']}] ", f" [{b['cpu']}] ", collections.Counter()):
            a["cpu"] = b["cpu"]
        if same_comm(a["comm"], b["comm"], a["tid"]):
            a["comm"] = b["comm"]
    wrong = [(a[0], b[0]) for a, b in zip(theirs, ours) if a[0] != b[0]]
    t.check(ours and len(theirs) == len(ours) and not wrong, f"{name}: the headers of {len(ours)} samples as perf prints them",
            (len(theirs), wrong[:2]))
    if " ustk=0 br=0 " in row and "perf_display_bitmaps" not in name:
        wrong = [(a[1], b[1]) for a, b in zip(theirs, ours) if page_places(a[1]) != page_places(b[1])]
        t.check(not wrong, f"{name}: the addresses of {sum(len(s[1]) for s in ours)} frames", wrong[:1])
        if not name.startswith("simpleperf/"):
            whole(name, path)
            for chosen in OPTIONS if LONG else OPTIONS[zlib.crc32(name.encode()) % len(OPTIONS)::len(OPTIONS)]:
                whole(name, path, chosen)
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
