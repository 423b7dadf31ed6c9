#!/usr/bin/env python3
"""Five million small records in bounded memory: a real recording, repeated (tool_repeat) with times that go on.

Without FINISHED_ROUND, as in files of old perf, of simpleperf and in directories, every record waits for the end of
the file. RLIMIT_DATA counts what is not the mapped file: 64 MB, of which the reader may use all but 16 for itself.
Maps are kept until the end, so these are few processes and none of what else runs on the machine."""
import os
import re
import resource
import shutil
import subprocess

from recorder import perf_record
from tap import Tap

TOP, BUILD = os.environ["TOP"], os.environ["BUILD"]
TOOLS = os.path.join(BUILD, "tests/reader")
BYTES = 400 << 20
tap = Tap()
check = tap.check


def limit():
    resource.setrlimit(resource.RLIMIT_DATA, (64 << 20, 64 << 20))


def dump(path, *options, stdin=subprocess.DEVNULL, limited=True):
    p = subprocess.run([f"{TOOLS}/tool_dump", "-s", *options, path], stdin=stdin, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=300, preexec_fn=limit if limited else None)
    text = p.stdout.decode(errors="replace")
    return p.returncode, {k: int(v) for k, v in re.findall(r"(?m)^(\w+) (\d+)$", text)}, text[-500:] + p.stderr.decode()


def repeat(*options):
    subprocess.run([f"{TOOLS}/tool_repeat", *options, "one.data", "many.data", str(BYTES)], check=True)


def main():
    if "-san" in os.path.basename(BUILD):
        tap.skip("large recordings", "the sanitizer needs memory of its own")
        return
    try:
        perf_record("-e", "cpu-clock", "-F", "20000", "-o", "one.data", "--",
                    "sh", "-c", 'gzip -9 -c "$0" & gzip -9 -c "$0"; wait', shutil.which("perf") or "perf")
    except (RuntimeError, OSError) as e:
        print(f"ok - large recordings # SKIP {str(e)[-200:]!r}")
        return
    _, one, _ = dump("one.data", limited=False)
    repeat("-n")
    for name, how in (("mapped", ["-m"]), ("read", [])):
        rc, many, text = dump("many.data", *how)
        check(rc == 0 and many["samples"] > 1000000 and many["samples"] % one["samples"] == 0 and
              many["backwards"] == 0 and many["damaged"] == 0, f"{many.get('samples')} samples of a file without rounds, {name}", text)
    repeat("-p")
    cat = subprocess.Popen(["cat", "many.data"], stdout=subprocess.PIPE)
    rc, many, text = dump("-", stdin=cat.stdout)
    cat.stdout.close()
    cat.wait()
    check(rc == 0 and many["samples"] > 1000000 and many["samples"] % one["samples"] == 0 and many["backwards"] == 0,
          f"{many.get('samples')} samples of a pipe", text)
    os.unlink("many.data")


main()
tap.end()
