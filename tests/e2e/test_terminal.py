#!/usr/bin/env python3
"""Nothing that a recording, a file or a server names reaches a terminal as a control character: not in any message, nor in what
--header and --explain print. A real recording gets names in which each byte that terminals obey stands, by replacing a word that is
in its paths, command line and thread names; the library's own answers come from a server that says no good."""
import os
import re
import shutil
import subprocess

from common import *

tap = Tap()
WORD, EVIL = b"ESCAPEME", b"\x1b]0;\x07\xc2\x9b\x9b"
assert len(WORD) == len(EVIL)
# C0 but newline and tab, DEL, C1 as UTF-8; and what is no UTF-8, as Latin-1 terminals would obey it.
OBEYED = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f]")


def harmless(data):
    try:
        return not OBEYED.search(data.decode())
    except UnicodeDecodeError:
        return False


def look(name, cmd, *needed, env=None):
    p = subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                       env={**os.environ, **(env or {})})
    both = p.stdout + p.stderr
    tap.check(harmless(both) and all(n in both for n in needed), name, both)


def main():
    name = WORD.decode()
    with open("spin.c", "w") as f:
        f.write("int main(void) { for (volatile long i = 0; i < 100000000; i++) ; }\n")
    run(["gcc", "-O1", "-g", "-o", name, "spin.c"])
    shutil.copy(name, name + "2")
    with open("seconds.sh", "w") as f:
        f.write(f"./{name}; ./{name}2\n")
    run([CAPTURE, "-q", "--no-compress", "-o", "good.data", "-e", "cpu-clock:u", "-F", "499", "--", "sh", "seconds.sh", name])
    os.unlink(name + "2")
    data = open("good.data", "rb").read()
    with open("evil.data", "wb") as f:
        f.write(data.replace(WORD, EVIL))
    tap.check(data.count(WORD) > 3, "the recording names the program", data.count(WORD))
    script = run([RESOLVE, "-f", "script", "--comm", name, "good.data"]).stdout
    ip = next(l.split()[0] for l in script.splitlines() if l.startswith((" ", "\t")))
    none = {"DEBUGINFOD_CACHE_PATH": os.path.abspath("none"), "PERF_BUILDID_DIR": os.path.abspath("none")}
    shown = b"_]0;_"
    for form in ("", "=json"):
        look(f"--stats{form}", [RESOLVE, f"--stats{form}", "-o", "out.folded", "evil.data"], shown if not form else b"0;")
    look("--header", [RESOLVE, "--header", "evil.data"], b"]0;")
    look("--explain", [RESOLVE, "--explain", "0x" + ip, "evil.data"], shown, env=none)
    look("--event", [RESOLVE, "--event", os.fsdecode(EVIL), "evil.data"], shown)
    look("--comm", [RESOLVE, "--comm", os.fsdecode(EVIL) + "x", "evil.data"])
    look("a file that is not there", [RESOLVE, os.fsdecode(EVIL) + "\nnone"], shown + b"_\xef\xbf\xbd_none: ")
    look("an output that cannot be written", [RESOLVE, "-o", "none/" + os.fsdecode(EVIL) + ".folded", "evil.data"], shown)
    look("--debuginfod", [RESOLVE, "--debuginfod=full", "-o", "out.folded", "evil.data"],
         env={**none, "DEBUGINFOD_URLS": "http://127.0.0.1:9/" + os.fsdecode(EVIL)})
    look("capture: an event", [CAPTURE, "-e", os.fsdecode(EVIL), "--", "true"], shown)
    look("capture: a command", [CAPTURE, "-q", "-o", "x.data", "--", os.fsdecode(EVIL)], shown)
    look("regress: a run", [REGRESS, "--base", os.fsdecode(EVIL), "--new", "evil.data"], shown)
    look("regress: what it prints", [REGRESS, "--base", "evil.data", "--new", "evil.data"])
    with open("cut.data", "wb") as f:
        f.write(data.replace(WORD, EVIL)[:len(data) * 3 // 4])
    os.rename("cut.data", b"cut" + EVIL)
    look("a damaged file", [RESOLVE, "-o", "out.folded", b"cut" + EVIL], shown)


main()
tap.end()
