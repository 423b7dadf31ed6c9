#!/usr/bin/env python3
"""Stacks that are cut at 1 KiB are completed from other samples of their thread, to what the uncut ones show; what
was added is counted, marked in every format, and left out by --no-stitch. Whether it is the truth is tested by
tests/stitch/test_stitch_cut.py."""
import gzip
import json

import varint
from common import CUT_BYTES, RESOLVE, Tap, build, folded, have, perf_record, resolve, run

tap = Tap()


def pprof_stacks(path, what):
    """Numbers of recorded samples with the label stack:what, and of all, by profile.proto."""
    with gzip.open(path) as f:
        profile = list(varint.fields(f.read()))
    strings = [v.decode() for k, v in profile if k == 6]
    labelled = total = 0
    for sample in (list(varint.fields(v)) for k, v in profile if k == 2):
        count = varint.get(dict(sample)[2], 0)[0]
        labels = [dict(varint.fields(v)) for k, v in sample if k == 3]
        total += count
        if ("stack", what) in [(strings[label[1]], strings[label.get(2, 0)]) for label in labels]:
            labelled += count
    return labelled, total


if not have("perf"):
    tap.skip("stitching", "perf is not installed")
    tap.end()
perf_record("-e", "cpu-clock:u", "-F", "999", "--call-graph", f"dwarf,{CUT_BYTES}", "-o", "cut.data", "--",
            build("gcc", "calls.c", "calls", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls"), "0.5")
plain, before = resolve("cut.data", "--no-inline", "--no-stitch", "-j1")
text, after = resolve("cut.data", "--no-inline", "-j1")
tap.check(before["truncated"] > 20 and before["stitched"] == 0 and after["stitched"] > 0, "stitching: adds frames to stacks that were cut", (before, after))
tap.check(sum(folded(text).values()) == sum(folded(plain).values()), "stitching: weights stay")
at_main = [sum(w for s, w in folded(x).items() if s[1] == "_start" and "main" in s) for x in (plain, text)]
tap.check(at_main[1] > at_main[0], "stitching: more of the time reaches main", at_main)
tap.check(resolve("cut.data", "--no-inline", "--no-stitch", "--stitch", "-j1")[0] == text, "stitching: --stitch is the default")
shallow = [s for s in folded(resolve("cut.data", "--no-inline", "--max-stack", "3")[0])]
tap.check(max(map(len, shallow)) == 4, "stitching: --max-stack holds for what is added, too", shallow)
marked = folded(resolve("cut.data", "--no-inline", "--stitched")[0])
ends = [[f.endswith("_[s]") for f in s[1:]] for s in marked]
tap.check(any(e[0] for e in ends) and all(e == sorted(e, reverse=True) for e in ends), "folded: --stitched marks the outermost frames", marked)
back = {}
for s, w in marked.items():
    s = tuple(f.removesuffix("_[s]") for f in s)
    back[s] = back.get(s, 0) + w
tap.check(back == folded(text), "folded: without the marks all is as by default")
share = sum(w for s, w in marked.items() if s[1].endswith("_[s]")) / sum(marked.values())

# The same share in every format, by its own kind of mark.
script = resolve("cut.data", "--no-inline", "-f", "script")[0].split("\n\n")
got = [b for b in script if b.strip()]
n = sum("\n# stitched: from another sample of the thread\n\t" in b for b in got)
tap.check(abs(n / len(got) - share) < 1e-9, "script: a line above the frames of others", (n, len(got), share))
objects = [json.loads(line) for line in resolve("cut.data", "--no-inline", "-f", "jsonl")[0].splitlines()]
hows = [[f.get("how") == "stitched" for f in o["stack"]] for o in objects]
tap.check(abs(sum(h[-1] for h in hows) / len(hows) - share) < 1e-9 and all(h == sorted(h) for h in hows), "jsonl: how is stitched")
percent = f"{100 * share:.2f}"
tap.check(f"# Stitched: {percent}% " in resolve("cut.data", "--no-inline", "-f", "top")[0], "top: the share of stitched samples is in the head", percent)
tap.check("_[s]" in resolve("cut.data", "--no-inline", "-f", "top", "--stitched")[0], "top: --stitched marks the rows")
scope = json.loads(resolve("cut.data", "--no-inline", "-f", "speedscope")[0])
tap.check(f"{percent} % with stitched" in scope["name"], "speedscope: the share of stitched samples is in the name", scope["name"])
names = {f["name"] for f in scope["shared"]["frames"]}
scope = json.loads(resolve("cut.data", "--no-inline", "-f", "speedscope", "--stitched")[0])
marked_names = {f["name"] for f in scope["shared"]["frames"]}
tap.check({n.removesuffix("_[s]") for n in marked_names} == names != marked_names, "speedscope: --stitched marks the frames")
run([RESOLVE, "-q", "--no-inline", "-o", "cut.pb.gz", "cut.data"])
labelled, total = pprof_stacks("cut.pb.gz", "stitched")
tap.check(total and abs(labelled / total - share) < 1e-9, "pprof: samples have the label stack:stitched", (labelled, total, share))
run([RESOLVE, "-q", "--no-inline", "--no-stitch", "-o", "short.pb.gz", "cut.data"])
stops = [json.loads(line).get("stop") for line in resolve("cut.data", "--no-inline", "--no-stitch", "-f", "jsonl")[0].splitlines()]
cut = sum(s in ("TRUNCATED_STACK", "MISSING_PAGE") for s in stops)
tap.check(cut and pprof_stacks("short.pb.gz", "cut") == (cut, len(stops)), "pprof: and those that stay cut stack:cut", (cut, pprof_stacks("short.pb.gz", "cut")))
run([RESOLVE, "-q", "-o", "again.pb.gz", "short.pb.gz"])
tap.check(open("again.pb.gz", "rb").read() == open("short.pb.gz", "rb").read(), "pprof: which is kept when it is read again")
for form in ("folded", "script", "jsonl", "top", "speedscope"):
    outs = {resolve("cut.data", "-f", form, f"-j{j}")[0] for j in (1, 2, 5)}
    tap.check(len(outs) == 1, f"stitching: {form} is the same with any number of threads")
tap.end()
