#!/usr/bin/env python3
"""resolve --header tells of a recording what `perf report --header-only` tells: the same lines, neither more nor
fewer.

Compared are recordings made here (with a clock, compressed, a directory, groups, perf stat), the corpus, and a recording
to which sections were added that nothing here can record. perf 6.1 refuses files whose attributes are larger than its own
and have zeros there: of these it gets a copy with attributes cut to its size. What may differ, and why:

- Empty strings: perf tells "# perf version : ", we tell nothing. In armv7.perf_3.14 perf ends after the first of them.
- Pipes: perf tells of offsets, all 0, and not which sections are missing.
- Events of files without EVENT_DESC, and simpleperf's own sections: perf tells nothing.
- BPF programs and their types, of which perf has a line each: that they are there.
- simpleperf/perf_etm.data: perf 6.1 reads it, 7.2 says "Failed to process auxtrace index".
- Sections newer than perf 6.1: tested below against what was put in."""
import os
import re
import shutil
import struct
import subprocess
import sys

from recorder import perf_record, perf_version
from tap import MAY_ALL, NOT_PERMITTED, Tap, need_events

TOP, BIN = os.environ["TOP"], os.environ["BIN"]
CORPUS = os.path.join(TOP, "../shared/corpus")
OURS_ONLY = re.compile(r"# (simpleperf |contains \d+ symbols|BPF_\w+ info available)")
PERFS_ONLY = re.compile(r"# ([\w ]+ :$|\tsub_prog \d+: bpf_prog_|bpf_prog_info |btf info )")
OFFSETS = re.compile(r"# (header version|data offset|data size|feat offset) ")
NEWER = (" CPU_DOMAIN_INFO", " E_MACHINE", " CLN_SIZE")
tap = Tap()
check = tap.check


def lines(*cmd):
    p = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=60)
    return p.returncode, [l.rstrip() for l in p.stdout.decode(errors="replace").splitlines()]


def without_newer(out):
    for name in NEWER:
        out = [l.replace(name, "") if l.startswith("# missing features") else l for l in out]
    return out


def ours_of(path):
    rc, out = lines(os.path.join(BIN, "resolve"), "--header", path)
    return rc, without_newer(out)


def as_older(line):
    """Newer ones add names to numbers, and config where it is 0, and have lost a space."""
    if not line.startswith("# event"):
        return re.sub(r"^# cacheline size: ", "# cacheline size : ", line)
    line = re.sub(r"(type|config) = (0x[0-9a-f]+|\d+) \([^()]*\)", r"\1 = \2", line)
    return re.sub(r", (config|type) = 0(?=, )", "", line)


def compare(name, path, perfs_copy=None):
    """False: perf cannot read it."""
    rc, perf = lines("perf", "report", "--header-only", "-f", "-i", perfs_copy or path)
    if rc or len(perf) < 5:
        return False
    perf = without_newer([as_older(l).replace(", use -I to display", "; perf report --header-only -I shows it") for l in perf])
    rc, ours = ours_of(path)
    if not any(OFFSETS.match(l) for l in ours):
        perf = [l for l in perf if not OFFSETS.match(l)]
    for start in "# event", "# missing features":
        if not any(l.startswith(start) for l in perf):
            ours = [l for l in ours if not l.startswith(start)]
    if perfs_copy:
        perf, ours = ([l for l in x if not re.match("# captured on ", l)] for x in (perf, ours))
    ours = [l for l in ours if not OURS_ONLY.match(l)]
    perf = [l for l in perf if not PERFS_ONLY.match(l)]
    differ = [f"perf: {l}" for l in perf if l not in ours] + [f"ours: {l}" for l in ours if l not in perf]
    check(rc == 0 and not differ and len(perf) == len(ours), f"{name}: {len(ours)} lines", rc, *differ[:8])
    return True


# ---- recordings made here

def record(name, *args):
    why = ""
    try:
        perf_record("--no-bpf-event", "-o", name, *args, "true")
    except RuntimeError as e:
        why = str(e)
    if why or not compare(f"perf record {' '.join(args)}", name):
        check(False, f"perf record {' '.join(args)}", why)


def record_all():
    need_events()
    record("plain", "-e", "{cpu-clock,task-clock}", "-g")
    record("clock", "-k", "CLOCK_MONOTONIC", "-e", "cpu-clock:u", "-c", "100000")
    record("zstd", "-z", "-e", "cpu-clock", "--call-graph", "dwarf,4096")
    if not MAY_ALL:
        tap.skip("perf record -a", NOT_PERMITTED)
    else:
        record_processors()
    subprocess.run(["perf", "stat", "record", "-o", "stat", "-e", "task-clock", "true"], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    if not compare("perf stat record", "stat"):
        # perf 7.2 refuses its own: it has no size of ring buffers, and says that they are compressed.
        rc, ours = ours_of("stat")
        check(rc == 0 and any(l.startswith("# captured on") for l in ours), "perf stat record, which perf cannot read", *ours)


def record_processors():
    record("directory", "-a", "--threads", "-e", "cpu-clock")
    record("everything", "-a", "-e", "cpu-clock,page-faults", "-d", "-W", "--phys-data", "--data-page-size", "--intr-regs=ax,ip",
           "--user-regs=bx", "--switch-events", "--all-cgroups", "--namespaces", "-R", "--max-size=1G")


# ---- sections that nothing here records

def text(s):
    b = s.encode() + b"\0"
    return struct.pack("<I", (len(b) + 63) // 64 * 64) + b.ljust((len(b) + 63) // 64 * 64, b"\0")


def with_sections(path, to, added):
    """A copy of the recording with these sections instead of its own of that number."""
    with open(path, "rb") as f:
        data = f.read()
    off, size = struct.unpack_from("<2Q", data, 40)
    bits = [b for b in range(256) if data[72 + b // 8] >> b % 8 & 1]
    sections = {b: data[at:at + n] for b, (at, n) in
                zip(bits, struct.iter_unpack("<2Q", data[off + size:off + size + 16 * len(bits)]))}
    sections.update(added)
    head = bytearray(data[:off + size])
    at = len(head) + 16 * len(sections)
    table = body = b""
    for b in sorted(sections):
        head[72 + b // 8] |= 1 << b % 8
        table += struct.pack("<2Q", at + len(body), len(sections[b]))
        body += sections[b]
    with open(to, "wb") as f:
        f.write(bytes(head) + table + body)


def caps(*pairs):
    return struct.pack("<I", len(pairs)) + b"".join(text(n) + text(v) for n, v in pairs)


def big_endian(name):
    subprocess.run([sys.executable, os.path.join(TOP, "tests/reader/mkbe.py"), name, "be"], check=True)
    twin, here = ([l for l in ours_of(f)[1] if not re.match("# captured on |# data offset|# feat offset", l)]
                  for f in ("be", name))
    check(twin == here, f"big-endian copy of {name}: {len(twin)} lines", *(set(twin) ^ set(here)))


def made_up():
    with_sections("plain", "rare", {
        15: b"",                                                                     # BRANCH_STACK
        17: struct.pack("<I", 1) + text("mine") + struct.pack("<2I", 0, 2),          # GROUP_DESC
        18: struct.pack("<Q", 0),                                                    # AUXTRACE: no index
        19: b"",                                                                     # STAT
        23: struct.pack("<Q", 4),                                                    # CLOCKID
        28: caps(("branches", "32"), ("max_precise", "3")),                          # CPU_PMU_CAPS
        29: struct.pack("<IIQQ", 1, 4, 1711586729335160123, 12799249383892),         # CLOCK_DATA
        30: struct.pack("<I", 2) + text("cpu_core") + text("0-7") + text("cpu_atom") + text("8-15"),
        31: struct.pack("<I", 2) + caps(("branches", "32")) + text("cpu_core") + caps(("a", "1"), ("b", "")) + text("cpu_atom"),
    })
    check(compare("sections made up", "rare"), "perf reads the sections made up")
    with_sections("plain", "newer", {
        33: struct.pack("<2I", 243, 5),                                              # E_MACHINE
        34: struct.pack("<I", 64),                                                   # CLN_SIZE
    })
    want = ["# e_machine : 243", "#   e_flags : 5", "# cacheline size : 64"]
    rc, ours = ours_of("newer")
    check(rc == 0 and [l for l in ours if l in want] == want, "sections newer than perf 6.1", *ours)


# ---- the corpus

def with_small_attrs(path):
    """A copy whose attributes have the 128 bytes that perf 6.1 knows."""
    known = 128
    with open(path, "rb") as f:
        data = bytearray(f.read())
    stride, at, size = struct.unpack_from("<3Q", data, 16)
    table = b""
    for i in range(at, at + size, stride):
        attr = data[i:i + stride - 16]
        if any(attr[known:]) or len(attr) < known:
            return None
        struct.pack_into("<I", attr, 4, known)
        table += attr[:known] + data[i + stride - 16:i + stride]
    struct.pack_into("<3Q", data, 16, known + 16, len(data), len(table))
    with open("small-attrs", "wb") as f:
        f.write(data + table)
    return "small-attrs"


def corpus():
    read = 0
    for row in open(os.path.join(CORPUS, "MANIFEST.tsv")):
        name, path = row.split("\t")[0], os.path.join(CORPUS, row.split("\t")[0])
        if name == "file" or "hostile" in name or "armv7.perf_3.14" in name:
            continue
        if compare(name, path):
            read += 1
        elif name == "simpleperf/perf_etm.data" and perf_version() > (6, 1):
            rc, ours = ours_of(path)
            read += check(rc == 0 and any("AUXTRACE" in l or "arch : " in l for l in ours), f"{name}, which newer ones refuse", rc, *ours)
        elif "\tfile\t" in row:
            copy = with_small_attrs(path)
            read += bool(copy) and compare(name, path, copy)
    check(read >= 50, f"perf reads the headers of {read} files, 50 at least")


if not shutil.which("perf"):
    tap.skip("headers", "perf is not installed")
    sys.exit(0)
record_all()
big_endian("plain")
big_endian("clock")
made_up()
if os.path.exists(os.path.join(CORPUS, "MANIFEST.tsv")):
    corpus()
else:
    tap.skip("headers of the corpus", "no ../shared/corpus here")
tap.end()
