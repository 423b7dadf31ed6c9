#!/usr/bin/env python3
"""Programs without a build id in the recording that are other ones now: their names are told to be doubtful, or left out. Truth: the
programs are built here, the second with other functions at the places of the first one's."""
import json
import os
import shutil
import struct
import subprocess

from common import CAPTURE, RESOLVE, Tap, run

tap = Tap()
os.environ["HOME"] = os.environ["XDG_CACHE_HOME"] = os.getcwd()
FUNCTION = "__attribute__((noinline)) int f%d(int n) { sink = sink * %d + n; return %s + 1; }\n"
HEAD = "#include <time.h>\nvolatile unsigned sink;\n"
MAIN = "int main(void) { clock_t e = clock() + CLOCKS_PER_SEC / 4; int n = 0; while (clock() < e) n += f7(n); return n & 1; }\n"


def functions(first, **more):
    """f0 .. f7, each of which calls the one before."""
    calls = ["spin(n)"] + [f"f{i}(n)" for i in range(7)]
    return first + "".join(FUNCTION % (i, i + 2, calls[i]) for i in range(8))


def build(name, text):
    with open(f"{name}.c", "w") as f:
        f.write(HEAD + text + MAIN)
    run(["gcc", "-O1", "-fno-omit-frame-pointer", "-Wl,--build-id=none", "-o", name, f"{name}.c"])


SPIN = "__attribute__((noinline)) int spin(int n) { for (int i = 0; i < 10000; i++) sink = sink * 3 + i; return n; }\n"
PAD = "__attribute__((noinline, used)) int other(int n) { if (n & 1) sink += n; for (int i = 0; i < n; i++) sink ^= i * 77; return n; }\n"
build("first", functions(SPIN))
build("second", functions(PAD + SPIN.replace("sink * 3", "sink / 7 + sink * 3")))
shutil.copy("first", "kept")
run([CAPTURE, "-q", "-F", "499", "-o", "p.data", "--", os.path.abspath("first")])


def look(*options):
    p = run([RESOLVE, *options, "p.data"])
    return p.stdout, p.stderr


out, err = look()
tap.check("main;f7;f6;f5;f4;f3;f2;f1;f0;spin" in out and "recorded" not in err, "an unchanged program: names, no warning", (out[-400:], err))
os.makedirs(f"root{os.getcwd()}")
shutil.copy("kept", f"root{os.getcwd()}/first")
out, err = look("--symfs", "root")
tap.check("f0;spin" in out and "recorded" not in err, "a copy given by --symfs: names, no warning", (out[-400:], err))

shutil.copy("kept", "fresh")
os.replace("fresh", "first")
out, err = look()
tap.check(err.count("was replaced or written to since it was recorded") == 1, "another inode: one warning", err)
tap.check(run([RESOLVE, "--strict", "p.data"], check=False).returncode == 1, "another inode: --strict has status 1")

shutil.copy("second", f"root{os.getcwd()}/first")
out, err = look("--symfs", "root")
tap.check("f0" not in out and "other" not in out and err.count("has other code than the recorded file") >= 1,
          "other code: found out by what is before the return addresses, no names", (out[-400:], err))
stats = next(json.loads(l) for l in run([RESOLVE, "--stats=json", "--symfs", "root", "p.data"]).stderr.splitlines() if l.startswith("{"))
m = next(m for m in stats["modules"] if m["path"].endswith("/first"))
tap.check(m["missing_reason"] == "its code is not what was recorded" and "built again" in m["help"], "other code: --stats has the reason and what helps", m)

# A loop so tight that all samples have the same return address: nothing but this one tells.
build("tight", functions(SPIN.replace("10000", "400000000")))
run([CAPTURE, "-q", "-F", "499", "-o", "tight.data", "--", os.path.abspath("tight")])
shutil.copy("second", f"root{os.getcwd()}/tight")
p = run([RESOLVE, "--symfs", "root", "tight.data"])
tap.check("other" not in p.stdout and "has other code than the recorded file" in p.stderr, "other code, of one return address: no names",
          (p.stdout[-400:], p.stderr))

# The same inode with other content: a copy over the file.
build("in_place", functions(SPIN))
run([CAPTURE, "-q", "-F", "499", "-o", "p.data", "--", os.path.abspath("in_place")])
with open("in_place", "r+b") as f:
    f.write(open("second", "rb").read())
later = os.stat("p.data").st_mtime + 10
os.utime("in_place", (later, later))
out, err = look()
tap.check("since it was recorded" in err or "has other code than the recorded file" in err, "written to since it was recorded: a warning", err)

# A build id that is in the sections only, as Go 1.24 leaves it: the kernel does not see it.
with open("waits.c", "w") as f:
    f.write("#include <stdio.h>\nvolatile int n;\nint main(void) { puts(\"up\"); fflush(stdout); for (;;) n++; }\n")
run(["gcc", "-O1", "-Wl,--build-id=0x0123456789abcdef", "-o", "waits", "waits.c"])
data = bytearray(open("waits", "rb").read())
table, = struct.unpack_from("<Q", data, 32)  # e_phoff
for i in range(struct.unpack_from("<H", data, 56)[0]):  # e_phnum
    if struct.unpack_from("<I", data, table + 56 * i)[0] == 4:  # PT_NOTE
        struct.pack_into("<I", data, table + 56 * i, 0)
os.remove("waits")
with open("waits", "wb") as f:
    f.write(data)
os.chmod("waits", 0o755)
child = subprocess.Popen(["./waits"], stdout=subprocess.PIPE)
child.stdout.readline()
run([CAPTURE, "-q", "-F", "499", "--duration", "0.5", "-o", "p.data", "-p", str(child.pid)])
child.kill()
child.wait()


def build_ids(name):
    p = run([RESOLVE, "--stats=json", "p.data"])
    stats = next(json.loads(l) for l in p.stderr.splitlines() if l.startswith("{"))
    return [m["build_id"] for m in stats["modules"] if m["path"].endswith("/" + name)]


tap.check(build_ids("waits") == ["0123456789abcdef"], "capture finds a build id outside of PT_NOTE", build_ids("waits"))
# The same of a program that begins under capture, whose map the kernel tells; also one that is gone from its place, or
# another one there, at the end: then there is no id, rather than a wrong one.
shutil.copy("waits", "other")
for what, script, want in (("", "timeout 0.5 ./waits; true", ["0123456789abcdef"]),
                           (", removed", "timeout 0.5 ./waits; rm waits", [""]),
                           (", replaced", "cp other waits; timeout 0.5 ./waits; mv other waits", [""])):
    run([CAPTURE, "-q", "-F", "499", "-o", "p.data", "--", "sh", "-c", script])
    got = build_ids("waits")
    tap.check(got == want, f"of a program started under capture{what}: {want}", got)
tap.end()
