#!/usr/bin/env python3
"""Files that only a live process can show: deleted ones, replaced ones, memfd, and those of containers (mount namespaces with another
root). Each is recorded from the running process, stopped, and resolved while it still exists and after it has ended. Names are
right by construction: they stand in the source below. No other place has the files: where they were recorded from there is nothing,
or something else."""
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests/e2e"))
import common
from common import RESOLVE, Tap, perf_record, run, until_cpu

LIB = "void deep_in_lib(void) { for (volatile int i = 0; i < 1000; i++) ; }\nvoid lib_call(void) { deep_in_lib(); deep_in_lib(); }\n"
MAIN = """
#include <unistd.h>
void lib_call(void);
__attribute__((noinline)) void hot_spot(void) { lib_call(); lib_call(); }
int main(void) { for (;;) hot_spot(); }
"""
tap = Tap()
HERE = os.getcwd()
ENV = dict(os.environ, HOME=f"{HERE}/home", DEBUGINFOD_CACHE_PATH=f"{HERE}/none", PERF_BUILDID_DIR=f"{HERE}/none")


def build():
    for name, text in (("lib.c", LIB), ("main.c", MAIN)):
        with open(name, "w") as f:
            f.write(text)
    os.makedirs("built", exist_ok=True)
    flags = "-O1 -fno-optimize-sibling-calls -Wl,--build-id"
    run(f"gcc {flags} -fPIC -shared -o built/libdeep.so lib.c".split())
    run(f"gcc {flags} -o built/prog main.c -Lbuilt -ldeep -Wl,-rpath,$ORIGIN".split())
    run(f"gcc {flags} -static -o built/alone main.c lib.c".split())
    # as the files in the container, and yet others
    run(f"gcc -O0 -Wl,--build-id -o built/other lib.c -Dlib_call=main".split())


class Live:
    """A running program, known by the function that it runs."""

    def __init__(self, command, **kw):
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, **kw)
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def program(self, name):
        """The pid of the process that runs the program of this name, which may be a child."""
        for _ in range(1200):
            out = run(["ps", "-s", str(self.process.pid), "-o", "pid=,comm="], check=False).stdout
            found = [l.split()[0] for l in out.splitlines() if l.split()[1:] == [name]]
            if found:
                return int(found[0])
            time.sleep(0.05)
        raise RuntimeError(f"{name} does not start")

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def record(pid, data, *options):
    perf_record("-e", "cpu-clock:u", "-F", "499", "--call-graph", "dwarf,2048", "-o", data, *options, "-p", str(pid), "--",
                *until_cpu(pid, 0.15))
    os.kill(pid, signal.SIGSTOP)


def resolve(data):
    p = run([RESOLVE, "--no-inline", data], env=ENV, check=False)
    return p.stdout


def tried(data):
    """What --explain says of the program."""
    out = run([RESOLVE, "-f", "script", "--no-inline", data], env=ENV, check=False).stdout
    ip = next(l.split()[0] for l in out.splitlines() if l.startswith(" ") or l.startswith("\t"))
    return run([RESOLVE, "--explain", "0x" + ip, data], env=ENV, check=False).stdout


def expect(name, data, frames, present=True):
    out = resolve(data)
    good = all(f in out for f in frames) if present else not any(f in out for f in frames)
    return tap.check(good and out, name, out + tried(data))


FRAMES = ["main;hot_spot;lib_call;deep_in_lib"]
# Inodes, as perf writes them by default, and build ids, by which files are known with certainty.
KINDS = (("inodes", []), ("build ids", ["--buildid-mmap"]))


def deleted():
    for kind, options in KINDS:
        shutil.copytree("built", "gone", dirs_exist_ok=True)
        with Live(["gone/prog"]) as p:
            record(p.program("prog"), "gone.data", *options)
            shutil.rmtree("gone")
            expect(f"deleted program and library, {kind}", "gone.data", FRAMES)
            p.end()
            expect(f"deleted program and library, {kind}: not when the process has ended", "gone.data", FRAMES, False)
            text = tried("gone.data")
            tap.check("the process that mapped it has ended" in text, f"deleted program and library, {kind}: and why", text)


def replaced():
    """An update while it runs: another file has the name now."""
    for kind, options in KINDS:
        shutil.copytree("built", "updated", dirs_exist_ok=True)
        with Live(["updated/prog"]) as p:
            record(p.program("prog"), "updated.data", *options)
            for name in ("prog", "libdeep.so"):
                shutil.copy("built/other", "updated/new")
                os.rename("updated/new", f"updated/{name}")
            expect(f"replaced program and library, {kind}", "updated.data", FRAMES)
        shutil.rmtree("updated")


def memfd():
    code = """if 1:
        import os, sys
        fd = os.memfd_create("nameless", os.MFD_CLOEXEC)
        with open(sys.argv[1], "rb") as f:
            os.write(fd, f.read())
        os.execve(fd, ["nameless"], {})
    """
    for kind, options in KINDS:
        with Live([sys.executable, "-c", code, "built/alone"]) as p:
            for _ in range(1200):
                if os.readlink(f"/proc/{p.pid}/exe").startswith("/memfd:"):
                    break
                time.sleep(0.05)
            record(p.pid, "memfd.data", *options)
            expect(f"memfd, {kind}", "memfd.data", FRAMES)
            p.end()
            expect(f"memfd, {kind}: not when the process has ended", "memfd.data", FRAMES, False)


ENTER = """
mount --make-rprivate / &&
mount -t tmpfs none "$PWD/root" && mkdir -p "$PWD/root/opt/app" "$PWD/root/old" "$PWD/root/lib64" "$PWD/root/lib" &&
cp built/prog built/libdeep.so "$PWD/root/opt/app" && cp "$2" "$PWD/root/lib64/" && cp "$3" "$PWD/root/lib/" &&
ln -s /opt/app "$PWD/root/current" && cd "$PWD/root" || exit 1
case $1 in
chroot) exec env LD_LIBRARY_PATH=/opt/app chroot . /current/prog ;;
pivot) pivot_root . old && export LD_LIBRARY_PATH=/opt/app && exec /current/prog ;;
esac
"""


def container():
    if run(["unshare", "-m", "true"], check=False).returncode:
        tap.skip("containers", "no mount namespace can be made here")
        return
    out = run(["ldd", "built/prog"]).stdout
    libc = next(l.split()[2] for l in out.splitlines() if "libc.so" in l)
    loader = next(l.split()[0] for l in out.splitlines() if "ld-linux" in l)
    # For us, from outside, other files have the paths that perf sees in the chroot.
    os.makedirs("root/opt/app", exist_ok=True)
    for name in ("prog", "libdeep.so"):
        shutil.copy("built/other", f"root/opt/app/{name}")
    for how in ("chroot", "pivot"):
        for kind, options in KINDS:
            with Live(["unshare", "-m", "sh", "-c", ENTER, "sh", how, loader, libc]) as p:
                record(p.program("prog"), "container.data", *options)
                assert os.listdir("root") == ["opt"]
                expect(f"container by {how}, {kind}", "container.data", FRAMES)
                p.end()
                expect(f"container by {how}, {kind}: not when it has ended", "container.data", FRAMES, False)


if not common.have("perf"):
    tap.skip("files of processes", "perf is not installed")
    sys.exit(0)
if os.geteuid():
    tap.skip("files of processes", "/proc/PID/map_files is for root only")
    sys.exit(0)
build()
deleted()
replaced()
memfd()
container()
tap.end()
