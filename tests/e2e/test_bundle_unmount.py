#!/usr/bin/env python3
"""capture --bundle holds no file of another file system while the program from there runs: it has a copy, so that nothing keeps that from being unmounted."""
import glob
import signal
import subprocess

from common import *

tap = Tap()
need_events()


def held(pid):
    """What a process has open: paths below the box, and copies in memory."""
    links = []
    for f in glob.glob(f"/proc/{pid}/fd/*"):
        try:
            links.append(os.readlink(f))
        except OSError:
            pass
    return [l for l in links if "/box/" in l], [l for l in links if l.startswith("/memfd:capture")]


def is_let_go(pid):
    files, copies = held(pid)
    return copies and not files


def used(pid):
    """Seconds of CPU time."""
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# Another recorder of all processes may have it open, too.
UNMOUNT = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do umount box 2> /dev/null && echo free && exit; sleep 0.2; done; umount box; umount -l box"


def unmounted(what, mount):
    static = build("g++", "threads.cc", "static", "-O2", "-g", "-pthread", "-static")
    os.makedirs("box", exist_ok=True)
    script = f'{mount} && {{ box/mounted 600 300 & echo $!; wait $!; {UNMOUNT}; }}'
    with subprocess.Popen([CAPTURE, "-e", "cpu-clock:u", "-F", "997", "--bundle", "-o", "x.data", "--", "sh", "-c", script, "sh", static],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
        line = p.stdout.readline()
        if not line:
            return tap.skip(f"unmounting {what}", f"it cannot be mounted here: {p.communicate()[1][-200:]}")
        program = int(line)
        try:
            until(lambda: is_let_go(p.pid), "files that are let go")
            lets_go = True
        except RuntimeError:
            lets_go = False
        until(lambda: used(program) > 0.5, "the program")
        os.kill(program, signal.SIGTERM)
        out, err = p.communicate()
    tap.check(lets_go, f"{what}: nothing there is open while the program runs", held(p.pid), err)
    tap.check(out.strip().endswith("free"), f"{what}: it can be unmounted", out, err)
    text = run([RESOLVE, "x.data"], check=False).stdout
    tap.check("mounted;" in text and "work::" in text, f"{what}: it has names", text[:500], err)


if os.geteuid() or run(["unshare", "-m", "true"], check=False).returncode:
    tap.skip("unmounting while recording", "only root may mount here")
else:
    unmounted("tmpfs", 'mount -t tmpfs none box && cp "$1" box/mounted')
    unmounted("overlay", 'mkdir -p up work low && mount -t tmpfs none low && mkdir -p low/u low/w low/l && cp "$1" low/l/mounted && '
              'mount -t overlay none -o lowerdir=low/l,upperdir=low/u,workdir=low/w box')
    run(["umount", "low"], check=False)
