#!/usr/bin/env python3
"""A container whose owner wants root's `resolve` to read, open or be held up by what it should not: links to the machine's files,
FIFOs, devices, files that claim 40 GB, files that are exchanged while they are read. That nothing was opened is what inotify(7) says of
the files themselves: a look by O_PATH is no opening. Where there is no root, or no mount namespace can be made, this cannot be seen."""
import ctypes
import os
import select
import signal
import struct
import subprocess
import sys

from common import *
from perfsynth import Jitdump

tap = Tap()
HERE = os.getcwd()
ENV = dict(os.environ, HOME=f"{HERE}/home", DEBUGINFOD_CACHE_PATH=f"{HERE}/none", PERF_BUILDID_DIR=f"{HERE}/none")
# Its hot function runs in memory without a name, at a fixed address, so that a perf map of one line names it.
CODE = 0x10000000
PROGRAM = """
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
__attribute__((noinline, noclone)) static void spin(void) { for (volatile int i = 0; i < 100000; i++) ; }
int main(void)
{
    char *code = mmap((void *)0x10000000, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    int fd = open("/tmp/jit-1.dump", O_RDONLY);
    if (code == MAP_FAILED || fd < 0 || mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
        return 1;
    memcpy(code, (void *)spin, 512);
    __builtin___clear_cache(code, code + 512);
    for (;;)
        ((void (*)(void))code)();
}
"""
ENTER = """
mount --make-rprivate / && mount -t tmpfs -o dev,suid,mode=755 none "$PWD/root" && mkdir -p "$PWD/root/opt" "$PWD/root/tmp" "$PWD/root/etc" &&
cp prog "$PWD/root/opt/prog" && cp jit-1.dump "$PWD/root/tmp/" && exec unshare -p -f python3 -c 'import ctypes, os, platform
libc = ctypes.CDLL(None)
os.chdir("root")
if libc.syscall(155 if platform.machine() == "x86_64" else 41, b".", b".") or libc.umount2(b".", 2):  # pivot_root, as containers are made
    raise SystemExit(1)
os.chdir("/")
os.execv("/opt/prog", ["prog"])'
"""
IN_OPEN, IN_NONBLOCK = 0x20, 0o4000
libc = ctypes.CDLL(None, use_errno=True)


class Watch:
    """Which of these files are opened."""

    def __init__(self, paths):
        self.fd = libc.inotify_init1(IN_NONBLOCK)
        self.names = {}
        for p in paths:
            wd = libc.inotify_add_watch(self.fd, p.encode(), IN_OPEN)
            if wd >= 0:
                self.names[wd] = p

    def opened(self):
        found = set()
        while select.select([self.fd], [], [], 0)[0]:
            data = os.read(self.fd, 65536)
            while data:
                wd, _, _, n = struct.unpack("iIII", data[:16])
                found.add(self.names[wd])
                data = data[16 + n:]
        return found


def program_of(pid):
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return None


def remove(path):
    if os.path.lexists(path):
        os.unlink(path)


def sparse(path, head=b""):
    with open(path, "wb") as f:
        f.write(head)
        f.truncate(40 << 30)


def resolve_all(data, *options):
    """All that is known of the recording, and how long its names took."""
    p = subprocess.run([RESOLVE, "--no-inline", "--stats", *options, data], env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True, errors="replace", timeout=60)
    return p.stdout, p.stderr


def build():
    with open("prog.c", "w") as f:
        f.write(PROGRAM)
    run("gcc -O1 -g -gsplit-dwarf -static -Wl,--build-id=none -o prog prog.c".split())
    run("objcopy --only-keep-debug prog secret.debug".split())
    run("strip prog".split())
    run("cp secret.debug prog.debug".split())
    run("objcopy --add-gnu-debuglink=prog.debug prog".split())
    os.unlink("prog.debug")
    os.makedirs("root", exist_ok=True)
    with open("secret.map", "w") as f:
        f.write(f"{CODE:x} 1000 leaked_by_a_map\n")
    dump = Jitdump(1)
    dump.load(1, CODE + 0x100000, 0x100, "elsewhere")
    dump.write("jit-1.dump")
    dump = Jitdump(1)
    dump.load(1, CODE, 0x1000, "leaked_by_a_dump")
    dump.write("secret.dump")


def put_map(root):
    with open(f"{root}/tmp/perf-1.map", "w") as f:
        f.write(f"{CODE:x} 1000 named_inside\n")


def cases(root):
    """(what, how it is made, files that must not be opened)"""
    m, d, g = f"{root}/tmp/perf-1.map", f"{root}/tmp/jit-1.dump", f"{root}/opt/prog.debug"
    secrets = [os.path.abspath(f"secret.{s}") for s in ("map", "dump", "debug")]
    up = "../" * 12
    return [
        ("a map that is a link to the machine's file", lambda: os.symlink(secrets[0], m), secrets),
        ("a map that is a link upwards", lambda: os.symlink(up + secrets[0], m), secrets),
        ("a map that is a link to another process's root", lambda: os.symlink(f"/proc/{os.getpid()}/root{secrets[0]}", m), secrets),
        ("a map that is a FIFO", lambda: os.mkfifo(m), [m]),
        ("a map that is a device", lambda: os.mknod(m, 0o20666, os.makedev(5, 2)), [m]),
        ("a map of 40 GB that has none", lambda: sparse(m, f"{CODE:x} 1000 named_in_holes\n".encode()), []),
        ("a jitdump that is a link to the machine's file", lambda: os.symlink(secrets[1], d), secrets),
        ("a jitdump that is a FIFO", lambda: os.mkfifo(d), [d]),
        ("a debug file that is a link to the machine's file", lambda: os.symlink(secrets[2], g), secrets),
        ("a debug file that is a device", lambda: os.mknod(g, 0o20666, os.makedev(5, 2)), [g]),
        ("a debug file that is a FIFO", lambda: os.mkfifo(g), [g]),
        ("a debug file of 40 GB that has none", lambda: sparse(g, open(secrets[2], "rb").read(4096)), []),
    ]


def one_by_one(root, data):
    places = [f"{root}/tmp/perf-1.map", f"{root}/tmp/jit-1.dump", f"{root}/opt/prog.debug"]
    for name, make, forbidden in cases(root):
        for p in places:
            remove(p)
        make()
        watch = Watch(forbidden)
        out, err = resolve_all(data)
        opened = watch.opened()
        tap.check(out and not opened and "leaked" not in out and "named_in" not in out, name, f"opened: {opened}\n{out}{err}")
        os.close(watch.fd)
    for p in places:
        remove(p)


def split(root, data):
    """Where a program says that its .dwo file is: in the container, too."""
    dwo = next(os.path.abspath(f) for f in os.listdir(".") if f.endswith(".dwo"))
    inside = root + dwo
    run(["cp", "secret.debug", f"{root}/opt/prog.debug"])
    for there in False, True:
        if there:
            os.makedirs(os.path.dirname(inside), exist_ok=True)
            run(["cp", dwo, inside])
        watch = Watch([dwo, *([inside] if there else [])])
        p = subprocess.run([RESOLVE, "--stats", data], env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        opened = watch.opened()
        tap.check(opened == ({inside} if there else set()), f".dwo: the machine's is not opened, {'the' if there else 'without a'} container's own", opened,
                  p.stdout + p.stderr)
        os.close(watch.fd)
    remove(f"{root}/opt/prog.debug")


EXCHANGE = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
places = sys.argv[1:]
print("ready", flush=True)
while True:
    for p in places:
        libc.renameat2(-100, p.encode(), -100, (p + ".other").encode(), 2)
"""


def exchanged(root, data):
    """What is good and what is bad change places all the time."""
    put_map(root)
    m, g = f"{root}/tmp/perf-1.map", f"{root}/opt/prog.debug"
    secrets = [os.path.abspath(f"secret.{s}") for s in ("map", "debug")]
    run(["cp", "secret.debug", g])
    os.symlink(secrets[0], m + ".other")
    os.mkfifo(g + ".other")
    watch = Watch([*secrets, g + ".other"])
    p = subprocess.Popen([sys.executable, "-c", EXCHANGE, m, g], stdout=subprocess.PIPE)
    p.stdout.readline()
    bad, named = [], 0
    for i in range(100):
        # libdw opens what resolve has opened: every other time it is asked, too.
        out, err = resolve_all(data, *["--verify-unwind=1"] * (i % 2))
        named += "named_inside" in out
        if not out or "leaked" in out:
            bad.append(out + err)
    p.kill()
    p.wait()
    tap.check(not bad and not watch.opened(), "files exchanged while they are read, 100 runs", bad)
    tap.check(0 < named, "files exchanged while they are read: some of the runs read the real ones", named)


def main():
    if os.geteuid():
        return tap.skip("a hostile container", "only root reads other users' containers")
    if run(["unshare", "-m", "-p", "-f", "true"], check=False).returncode:
        return tap.skip("a hostile container", "no mount and PID namespace can be made here")
    build()
    box = subprocess.Popen(["unshare", "-m", "sh", "-c", ENTER], stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        pid = until(lambda: next((c for c in children(box.pid) if program_of(c) == "prog"), None), "the program in the container")
        root = f"/proc/{pid}/root"
        run([CAPTURE, "-q", "-o", "box.data", "-e", "cpu-clock:u", "-F", "499", "-p", str(pid), "--", *until_cpu(pid, 0.2)])
        os.kill(pid, signal.SIGSTOP)
        put_map(root)
        watch = Watch([f"{root}/tmp/perf-1.map"])
        out, err = resolve_all("box.data")
        tap.check("named_inside" in out and watch.opened(), "a container's own map is found, and its opening seen", out + err)
        one_by_one(root, "box.data")
        with open(f"/proc/{pid}/maps") as f:
            named = any(line.endswith(" /opt/prog\n") for line in f)
        if named:
            split(root, "box.data")
        else:
            tap.skip("a container's .dwo files", "in a chroot, pivot_root(2) replaces the chroot's root, and the kernel tells paths from above it: not as of a container")
        exchanged(root, "box.data")
    finally:
        os.killpg(box.pid, signal.SIGKILL)
        box.wait()


main()
tap.end()
