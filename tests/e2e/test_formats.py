#!/usr/bin/env python3
"""No format comes without the three things that tell when it breaks: a golden file (what it makes of a recording of testdata/, byte for
byte), a test in which the program reads it that people use, and its place in the manual. An input: a sample, a test, the manual.
By hand: `test_formats.py --update` writes the golden files."""
import base64
import glob
import gzip
import lzma
import os
import re
import subprocess
import sys
import tarfile
import zlib

from common import RESOLVE, TOP, Tap, run

PLACE = os.path.join(TOP, "testdata", "recordings")
sys.path.insert(0, PLACE)
import golden  # noqa: E402

RECORDING = "cpp-pipe"
# format: where its consumer reads it, and how that is written there
CONSUMERS = {
    "folded": ("tests/input/test_inputs.py", "folded"),
    "script": ("tests/e2e/test_perf_diff.py", "script"),
    "html": ("tests/output/test_page.py", "browser"),
    "flamegraph": ("tests/output/test_flamegraph.py", "browser"),
    "pprof": ("tests/output/test_pprof.py", "pprof"),
    "top": ("tests/output/test_recording.py", "report"),
    "speedscope": ("tests/output/test_json_formats.py", "speedscope"),
    "stacks": ("tests/capture/test_stacks.py", "eu-stack"),
    "lines": ("tests/output/test_md_lines.py", "lines"),
    "md": ("tests/output/test_md_lines.py", "cmark-gfm"),
    "trace": ("tests/capture/test_syscalls.py", "strace"),
    "timeline": ("tests/capture/test_spans.py", "timeline"),
    "perfetto": ("tests/capture/test_spans.py", "traceEvents"),
    "callgrind": ("tests/output/test_callgrind.py", "callgrind_annotate"),
    "firefox": ("tests/output/test_firefox.py", "processed profiles"),
    "otlp": ("tests/output/test_otlp.py", "protoc"),
    "jsonl": ("tests/output/test_json_formats.py", "jsonl"),
    "jsonl2": ("tests/output/test_json_formats.py", "jsonl2"),
}
INPUTS = "tests/input"

tap = Tap()


def content(name, data):
    """What of an output is compared: not how it is packed, nor the code that shows it."""
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    if name == "html":  # output/page_data.h
        found = re.search(rb'<script type="application/octet-stream" id="profile">([^<]*)</script>', data)
        return zlib.decompress(base64.b64decode(found[1])) if found else b""
    return re.sub(rb"<script.*?</script>", b"", data, flags=re.S) if name == "flamegraph" else data


def names(option):
    return re.findall(r"^  (\S+) ", run([RESOLVE, option]).stdout, re.M)


with tarfile.open(os.path.join(PLACE, "root.tar.xz")) as t:
    t.extractall(".")
with lzma.open(os.path.join(PLACE, RECORDING, "perf.data.xz")) as packed, open("perf.data", "wb") as f:
    f.write(packed.read())
os.utime("perf.data", (1e9, 1e9))  # of a pipe pprof has no other time
manual = open(os.path.join(TOP, "doc/resolve.1")).read().replace("\\-", "-")
env = dict(os.environ, LANG="C.UTF-8", **golden.NOWHERE)

for name in names("--formats"):
    tap.check(f"\n.B {name}\n" in manual, f"format {name}: in the manual")
    test, word = CONSUMERS.get(name, ("", ""))
    tap.check(test and word in open(os.path.join(TOP, test)).read(), f"format {name}: its consumer reads it in a test (CONSUMERS in test_formats.py)")
    have = content(name, subprocess.run([RESOLVE, "--no-cache", "--symfs", "root", "--kallsyms", "root/kallsyms", "-f", name, "perf.data"],
                                        env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
    path = os.path.join(PLACE, RECORDING, name)
    if "--update" in sys.argv:
        open(path, "wb").write(have)
    if os.path.exists(path):
        tap.check(have and have == open(path, "rb").read(), f"format {name}: the golden file", f"differs from {path}")
    else:
        tap.check(False, f"format {name}: the golden file", f"none in testdata/recordings/{RECORDING}: test_formats.py --update makes it")

tests = "".join(open(path).read() for path in glob.glob(os.path.join(TOP, INPUTS, "test_*.py")))
for name in names("--inputs"):
    tap.check(f"\n.B {name}\n" in manual, f"input {name}: in the manual")
    tap.check(name in tests or name == "perf.data", f"input {name}: {INPUTS} reads it")
tap.end()
