#!/usr/bin/env python3
"""Where -o writes: modes and owners that stay, links, and the race for a name in a folder that others may write to."""
import os
import shutil
import stat
import subprocess
import sys

from tap import LONG, Tap

BIN = os.environ["BIN"]
tap = Tap()
FOLDED = "main;f 1\n"


def resolve(*args):
    return subprocess.run([f"{BIN}/resolve", *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def mode(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


def write(path, text="old", perm=0o600):
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, perm)


write("in.folded", FOLDED)
os.umask(0o022)
for perm in (0o600, 0o640, 0o444):
    write("out.folded", perm=perm)
    p = resolve("in.folded", "-o", "out.folded")
    tap.check(p.returncode == 0 and mode("out.folded") == perm and open("out.folded").read() == FOLDED, f"mode {perm:o} of an older file stays", p.stderr)
    os.unlink("out.folded")
resolve("in.folded", "-o", "out.folded")
tap.check(mode("out.folded") == (0o600 if os.geteuid() == 0 else 0o644), "a new file: by the umask, for root 0600", oct(mode("out.folded")))
os.unlink("out.folded")

os.mkdir("there")
os.symlink("there/target.folded", "link.folded")
p = resolve("in.folded", "-o", "link.folded")
tap.check(p.returncode == 0 and os.path.islink("link.folded") and open("there/target.folded").read() == FOLDED, "a link to nothing yet is followed", p.stderr)
write("there/target.folded", perm=0o640)
p = resolve("in.folded", "-o", "link.folded")
tap.check(p.returncode == 0 and os.path.islink("link.folded") and mode("there/target.folded") == 0o640 and os.listdir("there") == ["target.folded"],
          "a link to a file is followed, and the file keeps its mode", (p.stderr, os.listdir("there")))
os.symlink("ring.folded", "ring.folded")
p = resolve("in.folded", "-o", "ring.folded")
tap.check(p.returncode == 2 and "ring.folded" in p.stderr and p.stderr.count("\n") == 1, "a ring of links: one line", p.stderr)
p = resolve("in.folded", "-o", "none/out.folded")
tap.check(p.returncode == 2 and "none/out.folded" in p.stderr and p.stderr.count("\n") == 1, "no such folder: one line", p.stderr)
p = resolve("in.folded", "-f", "folded", "-o", "/dev/stdout")
tap.check(p.returncode == 0 and p.stdout == FOLDED, "-o /dev/stdout", p.stderr)
os.mkfifo("pipe.folded")
reader = subprocess.Popen(["cat", "pipe.folded"], stdout=subprocess.PIPE, text=True)
p = resolve("in.folded", "-o", "pipe.folded")
tap.check(p.returncode == 0 and reader.communicate()[0] == FOLDED and stat.S_ISFIFO(os.lstat("pipe.folded").st_mode), "-o FIFO", p.stderr)

# Another user exchanges the name in a folder that every user may write to, while root writes there.
RACE = """
import os, sys
os.setgid(65534); os.setuid(65534)
victim, name = sys.argv[1:]
print("ready", flush=True)
while True:
    for f in (lambda: os.symlink(victim, name), lambda: os.unlink(name), lambda: os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o666)), lambda: os.unlink(name)):
        try:
            f()
        except OSError:
            pass
"""


def race(what, name, command, runs):
    write("victim", "precious")
    shutil.rmtree("shared", ignore_errors=True)
    os.mkdir("shared")
    os.chmod("shared", 0o1777)
    other = subprocess.Popen([sys.executable, "-c", RACE, os.path.abspath("victim"), os.path.abspath(f"shared/{name}")], stdout=subprocess.PIPE)
    other.stdout.readline()
    bad = None
    for i in range(runs):
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if not os.path.exists("victim") or open("victim").read() != "precious" or mode("victim") != 0o600:
            bad = i
            break
    other.kill()
    other.wait()
    tap.check(bad is None and not os.path.exists("victim.old"), f"{what}: {runs} runs while another user exchanges the name", (bad, os.listdir(".")))


if os.geteuid():
    tap.skip("another user exchanges the name", "only root can be another user, too")
else:
    os.chmod(".", 0o755)
    race("resolve -o", "out.folded", [f"{BIN}/resolve", "in.folded", "-q", "-o", "shared/out.folded"], 250 if LONG else 80)
    race("capture -o", "out.data", [f"{BIN}/capture", "-q", "-e", "cpu-clock", "-o", "shared/out.data", "--", "true"], 50 if LONG else 15)
tap.end()
