"""recorder.py - `perf record`, until perf can read what it wrote.

While another recorder on the machine asks for build ids, kernels up to 6.18 mark other recorders' MMAP2 records, too, as
holding one (tests/reader/test_mmap2_flag.py says why), and perf 6.1 takes the number of the device for the id's length: it
aborts in build-id.c, when it records or, after `perf record -B`, when it reads. As many tests run at once as there are
processors, so that happens."""
import functools
import mmap
import os
import re
import struct
import subprocess
import time

from tap import need_events

# linux/perf_event.h, tools/lib/perf/include/perf/event.h
MMAP2, MISC_BUILD_ID, COMPRESSED, COMPRESSED2 = 10, 1 << 14, 81, 83

TRIES = 40  # some tests have capture at work, which asks for build ids, for half a minute

# perf's 512 KiB have room for 15 copies of 32 KiB, and perf shares its processor with all others. Who is not root may not lock more.
LARGE_RINGS = ["-m", "16M"] if os.geteuid() == 0 and os.cpu_count() <= 16 else []


def same_comm(perfs, ours, tid):
    """Since 6.2 or so perf forgets a thread at its exit record, and calls it :TID in the samples of the exit itself. We do not."""
    return perfs == ours or perfs == f":{tid}" and perf_forgets()


@functools.cache
def perf_version():
    try:
        text = subprocess.run(["perf", "--version"], stdout=subprocess.PIPE, text=True).stdout
        return tuple(map(int, re.search(r"(\d+)\.(\d+)", text).groups()))
    except (OSError, AttributeError):
        return 0, 0


def perf_forgets():
    return perf_version() > (6, 1)


def is_marked(data):
    """Whether some MMAP2 record is said to hold a build id; True, too, of what is not a plain file of such records."""
    try:
        with open(data, "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as m:
            magic, at, size = struct.unpack_from("<8s32x2Q", m)
            end, parsed = at + size, struct.Struct("<IHH")
            while at < end:
                kind, misc, n = parsed.unpack_from(m, at)
                if kind in (COMPRESSED, COMPRESSED2) or kind == MMAP2 and misc & MISC_BUILD_ID or n < parsed.size:
                    return True
                at += n
            return magic != b"PERFILE2" or at != end
    except (OSError, ValueError, struct.error):
        return True


def perf_reads(data):
    """Whether perf gets through the maps of a recording. It takes long to start, and can where none is marked."""
    return not is_marked(data) or subprocess.run(["perf", "buildid-list", "-i", data], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


# perf mounts tracefs for a tracepoint and leaves it, and other tests then find it, or not, as they come: what a command mounts ends with it.
OWN_MOUNTS = ["unshare", "-m", "--propagation", "private"] if os.geteuid() == 0 else []
if OWN_MOUNTS and subprocess.run([*OWN_MOUNTS, "true"], stderr=subprocess.DEVNULL).returncode:
    OWN_MOUNTS = []  # a container that may not mount


def perf_record(*args, options=("-N", "-B"), tries=TRIES):
    """Raises RuntimeError with perf's words when it does not work, however often it is tried."""
    need_events()
    data = args[args.index("-o") + 1] if "-o" in args else "perf.data"
    rings = LARGE_RINGS if "-m" not in args and any("dwarf" in a for a in args) else []
    for _ in range(tries):
        p = subprocess.run([*OWN_MOUNTS, "perf", "record", "-q", *options, *rings, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, errors="replace", timeout=120)
        if p.returncode == 0 and perf_reads(data):
            return
        if p.returncode and "build-id.c" not in p.stdout + p.stderr and "smashing" not in p.stdout + p.stderr:
            break
        time.sleep(1)
    raise RuntimeError(f"perf record {' '.join(args)}: status {p.returncode}\n{p.stderr[-2000:]}")
