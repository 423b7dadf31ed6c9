#!/usr/bin/env python3
"""Recordings made here in every form perf knows, and twins that must read alike.

1. `perf record` of workload.c (threads, forks, exec, new names, code in anonymous memory) in many modes: each
   sample's command, ids, cpu, time, event, period, address and mapped file equal what `perf script` prints.
2. Twins: big-endian copies (mkbe.py), -z recordings and directories written out as plain files, file recordings
   turned into pipes. All but the container must read the same, stacks and registers included.
3. kill -9 of the recorder: every whole record that is in the file counts, by an independent walk.
"""
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

from recorder import OWN_MOUNTS, perf_version, same_comm
from tap import MAY_ALL, NOT_PERMITTED, Tap

TOP, BUILD = os.environ["TOP"], os.environ["BUILD"]
sys.path.insert(0, os.path.join(TOP, "tests/reader"))
sys.dont_write_bytecode = True
import mkbe  # noqa: E402

TOOL = os.path.join(BUILD, "tests/reader/tool_dump")
CORPUS = os.path.join(TOP, "../shared/corpus")
SAMPLE = 9
tap = Tap()
check = tap.check


def run(*cmd, **kw):
    return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, **kw)


def dump(path, *args):
    return run(TOOL, *args, path).stdout.decode(errors="replace").splitlines()


# ---- 1. against perf

# Without a thread that watches BPF programs, which holds up perf's end for a second, and without collecting build
# ids, in which perf 6.1 dies now and then (assertion at util/build-id.c:1010).
PERF_RECORD = [*OWN_MOUNTS, "perf", "record", "-q", "-B", "--no-bpf-event"]
CLOCK = ["-e", "cpu-clock", "-F", "1999"]
MODES = {
    "fp": CLOCK + ["-g"],
    "build-ids": CLOCK + ["--buildid-all", "-N"],
    "dwarf": CLOCK + ["--call-graph", "dwarf,4096"],
    "zstd": CLOCK + ["-z", "--call-graph", "dwarf,4096"],
    "directory": CLOCK + ["-a", "-g", "--threads"],
    "zstd-directory": CLOCK + ["-a", "-g", "-z", "--threads"],
    "group": ["-e", "{cpu-clock,task-clock}", "-F", "999"],
    "group-read": ["-e", "{cpu-clock,task-clock}:S", "-c", "500000"],
    "inherit-none": ["-e", "cpu-clock", "-e", "task-clock", "-c", "1000000", "--no-inherit", "-R"],
    "namespaces": CLOCK + ["--namespaces"],
    "cgroups": CLOCK + ["--all-cgroups"],
    "buildid-mmap": CLOCK + ["--buildid-mmap", "-g"],
    "regs": CLOCK + ["--intr-regs=ax,ip,sp", "--user-regs=bx,sp"],
    "read-values": CLOCK + ["-s"],
    "no-samples": CLOCK + ["--no-samples"],
    "monotonic": CLOCK + ["-k", "CLOCK_MONOTONIC"],
    "overwrite": CLOCK + ["--overwrite", "--tail-synthesize"],
    "per-thread": ["-e", "cpu-clock", "--per-thread"],
    "everything": ["-a", "-e", "cpu-clock,task-clock,page-faults", "-F", "999", "-d", "-W", "--phys-data",
                   "--data-page-size", "--code-page-size", "--switch-events", "--sample-cpu"],
    "tracepoint": ["-a", "-e", "sched:sched_switch"],
}
LINE = re.compile(r"^\s*(.*?)\s+(-?\d+)/(-?\d+)\s+(?:\[(\d+)\]\s+)?(?:(\d+)\.(\d{9}):\s+)?(\d+)\s+(\S+):\s+"
                  r"([0-9a-f]+)\s+\((.*)\)$")


def perf_samples(path):
    """The samples as perf prints them, with as many fields as it has."""
    tries = 0
    for fields in ("cpu,time,", "time,", ""):
        p = run("perf", "script", "--ns", "-G", "-F", f"comm,pid,tid,{fields}event,period,ip,dso", "-i", path)
        while p.returncode < 0 and tries < 3:  # see PERF_RECORD
            tries += 1
            time.sleep(0.5)
            p = run(*p.args)
        if p.returncode == 0 or b"Cannot print" not in p.stderr:
            break
    if p.returncode < 0 or p.returncode and perf_version() > (6, 1) and b"incompatible file format" in p.stderr:
        return None
    out = []
    for line in p.stdout.decode(errors="replace").splitlines():
        m = LINE.match(line)
        if not m:
            raise ValueError(f"perf line {line!r}")
        comm, pid, tid, cpu, sec, ns, period, event, ip, dso = m.groups()
        when = int(sec) * 10**9 + int(ns) if sec else 0
        out.append((comm, f"{pid}/{tid}", cpu and str(int(cpu)), when, event, period, ip, dso))
    return out


def compare_sample(ours, perfs):
    comm, ids, cpu, when, event, period, ip, dso, _ = ours
    if not same_comm(perfs[0], comm, ids.split("/")[1]) or (ids, int(when), event, period, ip) != (perfs[1], *perfs[3:7]):
        return False
    if perfs[2] is not None and cpu != perfs[2]:
        return False
    return dso == perfs[7] or dso == "-" and perfs[7][0] == "["


def compare_with_perf(name, path):
    ours = [line.split("\t") for line in dump(path) if "\t" in line]
    perfs = perf_samples(path)
    if perfs is None:
        tap.skip(f"{name} against perf", "perf script died, or refuses what its own perf record wrote")
        return
    # Members of a group and CPUs may share a time; perf and we may order these differently.
    ours.sort(key=lambda s: (int(s[3]), s[1], s[4], s[6]))
    perfs.sort(key=lambda s: (s[3], s[1], s[4], s[6]))
    wrong = [(o, p) for o, p in zip(ours, perfs) if not compare_sample(o, p)]
    check(len(ours) == len(perfs) and not wrong, f"{name}: {len(perfs)} samples as perf prints them",
          f"{len(ours)} samples, {len(wrong)} differ, first {wrong[:1]}", *(l for l in dump(path, "-s") if "skip" in l))


def record(name, args):
    p = run(*(o for o in PERF_RECORD if o != "-B" or "-N" not in args), "-o", name, *args, "--", "./workload")
    return p.returncode == 0 and os.path.exists(name), p.stderr.decode(errors="replace").strip().split("\n")[-1]


def record_all():
    made = {}
    for name, args in MODES.items():
        ok, why = record(name, args)
        if not ok:
            tap.skip(f"{name} against perf", f"perf record {' '.join(args)}: {why}")
            continue
        made[name] = name
        compare_with_perf(name, name)
    for name, args in ("pipe", ["-g"]), ("zstd-pipe", ["-z", "--call-graph", "dwarf,4096"]):
        with open(name, "wb") as out:
            p = subprocess.run([*PERF_RECORD, *CLOCK, *args, "-o", "-", "--", "./workload"], stdout=out,
                               stderr=subprocess.PIPE, timeout=60)
        if p.returncode == 0:
            made[name] = name
            compare_with_perf(name, name)
    return made


# ---- 2. twins

def facts(path, *args):
    """All that the reader tells, but for the container: offsets, form, sizes of records."""
    drop = re.compile(r"^(form|records|note|sample_records|lost_bytes)\b")
    return [re.sub(r"\t(0x[0-9a-f]+|0)(?= chain|$)", "", line) for line in dump(path, "-c", "-i", *args)
            if not drop.match(line)]


def same(name, a, b):
    fa, fb = facts(a), facts(b)
    differ = [(x, y) for x, y in zip(fa, fb) if x != y]
    check(fa == fb and sum("\t" in line for line in fa) > 0, name, f"{len(fa)} {len(fb)} lines, {differ[:1]}")


def big_endian(name, path):
    with open(path, "rb") as f:
        data = f.read()
    try:
        twin = mkbe.convert(data)
    except mkbe.Unknown as e:
        tap.skip(f"big-endian {name}", str(e))
        return
    with open("twin.be", "wb") as f:
        f.write(twin)
    same(f"big-endian {name}", path, "twin.be")


def data_section(data):
    return struct.unpack_from("<2Q", data, 40)


def plain_file(data, records):
    """The recording with its records replaced, and no feature that says they are compressed or elsewhere."""
    off, size = data_section(data)
    bits = [b for b in range(256) if data[72 + b // 8] >> b % 8 & 1]
    head, table, grown = bytearray(data[:off]), b"", len(records) - size
    struct.pack_into("<Q", head, 48, len(records))
    drop = (24, 27)  # DIR_FORMAT, COMPRESSED
    for i, bit in enumerate(bits):
        at, length = struct.unpack_from("<2Q", data, off + size + 16 * i)
        if bit in drop:
            head[72 + bit // 8] &= ~(1 << bit % 8)
        else:
            table += struct.pack("<2Q", at + grown, length)
    return bytes(head) + bytes(records) + table.ljust(16 * len(bits), b"\0") + data[off + size + 16 * len(bits):]


def inflated(path):
    """A -z recording or a directory as one plain file."""
    main = os.path.join(path, "data") if os.path.isdir(path) else path
    with open(main, "rb") as f:
        data = f.read()
    off, size = data_section(data)
    records = mkbe.inflate(data, off, off + size)
    for i in range(1024 if main != path else 0):
        part = os.path.join(path, f"data.{i}")
        if not os.path.exists(part):
            break
        with open(part, "rb") as f:
            piece = f.read()
        records += mkbe.inflate(piece, 0, len(piece))
    with open("twin.plain", "wb") as f:
        f.write(plain_file(data, records))
    return "twin.plain"


def through_pipe(name, path):
    """File form turned into pipe form: attributes and features as records, from standard input."""
    with open(path, "rb") as f:
        data = f.read()
    stride, attrs, attrs_size, off, size = struct.unpack_from("<5Q", data, 16)
    out = data[:8] + struct.pack("<Q", 16)
    for at in range(attrs, attrs + attrs_size, stride):
        ids_at, ids_size = struct.unpack_from("<2Q", data, at + stride - 16)
        body = data[at:at + stride - 16] + data[ids_at:ids_at + ids_size]
        out += struct.pack("<IHH", 64, 0, 8 + len(body)) + body
    bits = [b for b in range(256) if data[72 + b // 8] >> b % 8 & 1]
    for i, bit in enumerate(bits):
        at, length = struct.unpack_from("<2Q", data, off + size + 16 * i)
        if bit != 1 and 0 < length < 65000:  # TRACING_DATA has a record of its own
            out += struct.pack("<IHHQ", 80, 0, 16 + length, bit) + data[at:at + length]
    with open("twin.pipe", "wb") as f:
        f.write(out + data[off:off + size])
    same(f"as a pipe: {name}", path, "twin.pipe")
    with open("twin.pipe", "rb") as f:
        by_stdin = run("sh", "-c", f"cat | {TOOL} -s -", stdin=f).stdout.decode(errors="replace").splitlines()
    same_numbers = [line for line in by_stdin if line.startswith(("seen", "period_sum", "damaged"))]
    check(all(line in dump("twin.pipe", "-s") for line in same_numbers) and len(same_numbers) == 4,
          f"from standard input: {name}", str(by_stdin[:5]))


def twins(made):
    for name in ("fp", "build-ids", "dwarf", "zstd", "group", "group-read", "regs", "everything", "tracepoint", "pipe", "zstd-pipe",
                 "buildid-mmap", "namespaces", "cgroups"):
        if name in made:
            big_endian(name, made[name])
    for name in ("zstd", "directory", "zstd-directory"):
        if name in made:
            same(f"as a plain file: {name}", made[name], inflated(made[name]))
    for name in ("fp", "dwarf", "regs"):
        if name in made:
            through_pipe(name, made[name])
    if not os.path.isdir(CORPUS):
        tap.skip("big-endian corpus", "no ../shared/corpus here")
        return
    for folder, _, files in sorted(os.walk(CORPUS)):
        if os.path.basename(folder) in ("hostile", "simpleperf", "script-text"):
            continue
        for f in sorted(files):
            path = os.path.join(folder, f)
            with open(path, "rb") as src:
                fits = src.read(8) == mkbe.MAGIC and os.path.getsize(path) < 1000000
            if fits:
                big_endian(os.path.relpath(path, CORPUS), path)


# ---- 3. killed

def count_samples(path):
    with open(path, "rb") as f:
        data = f.read()
    at, n = data_section(data)[0], 0
    raw = mkbe.Inflater()
    rest = b""

    def walk(records):
        pos, found = 0, 0
        while pos + 8 <= len(records):
            kind, _, size = struct.unpack_from("<IHH", records, pos)
            if size < 8 or pos + size > len(records):
                break
            found += kind == SAMPLE
            pos += size
        return found, records[pos:]

    while at + 8 <= len(data):
        kind, _, size = struct.unpack_from("<IHH", data, at)
        if size < 8 or at + size > len(data):
            break
        if kind in (81, 83):  # 83, which newer ones write: with a length, and padding at the end
            start = at + (8 if kind == 81 else 16)
            end = at + size if kind == 81 else start + struct.unpack_from("<Q", data, at + 8)[0]
            found, rest = walk(rest + raw.feed(data[start:end]))
            n += found
        n += kind == SAMPLE
        at += size
    return data_section(data)[1], n


def kill_recorder(name, args):
    """Kills perf when it has written some samples, and what it records, which would not end."""
    p = subprocess.Popen([*PERF_RECORD, "-o", name, *args, "--", "sh", "-c",
                          "while ./workload; do :; done"],
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    end = time.time() + 60
    while time.time() < end and p.poll() is None:
        time.sleep(0.02)
        if os.path.exists(name) and os.path.getsize(name) > 60000 and count_samples(name)[1]:
            break
    p.send_signal(signal.SIGKILL)
    p.wait()
    try:
        os.killpg(p.pid, signal.SIGKILL)  # the workload, so that it does not run into the next test
    except ProcessLookupError:
        pass
    if not os.path.exists(name):
        tap.skip(f"killed {name}", "perf wrote nothing")
        return
    told, n = count_samples(name)
    lines = dump(name, "-s")
    check(told == 0 and n > 0 and f"samples {n}" in lines and "interrupted 1" in lines and "damaged 1" in lines,
          f"killed {name}: {n} samples kept", f"size {told} {lines[:12]}")


def killed():
    kill_recorder("killed", CLOCK + ["-g", "--call-graph", "dwarf,2048"])
    kill_recorder("killed-z", ["-e", "cpu-clock", "-F", "20000", "-z", "--call-graph", "dwarf,16384"])
    if not MAY_ALL:
        tap.skip("killed killed-all", NOT_PERMITTED)
        return
    kill_recorder("killed-all", ["-a", "-e", "cpu-clock", "-F", "9999", "-g"])


def pipe_in_directory(directory):
    """What is no file among the files of a directory is told, and not waited for."""
    n = sum(name.startswith("data.") for name in os.listdir(directory))
    name = os.path.join(directory, f"data.{n}")
    os.mkfifo(name)
    lines = dump(directory, "-s")
    os.unlink(name)
    check("damaged 1" in lines and any(f"data.{n}" in line for line in lines), "a fifo in a directory", str(lines[-3:]))


def lost_in_directory(directory):
    """Files that are missing, or empty, are told: the recorder wrote one for each processor. That the last one is missing is
    known by the recorder's command line, of which perf 7.2 keeps the first word."""
    numbers = sorted(int(name[5:]) for name in os.listdir(directory) if name.startswith("data."))
    header = subprocess.run([os.path.join(os.environ["BIN"], "resolve"), "--header", directory], stdout=subprocess.PIPE, text=True).stdout
    for n in {numbers[0], numbers[-1] if re.search("^# cmdline : .*--threads", header, re.M) else numbers[0]}:
        name = os.path.join(directory, f"data.{n}")
        os.rename(name, "aside")
        lines = dump(directory, "-s") if len(numbers) > 1 else ["damaged 1", f"1 are missing: data.{n}"]
        check("damaged 1" in lines and any(f"are missing: data.{n}" in line for line in lines), f"data.{n} of a directory is missing", str(lines[-3:]))
        open(name, "wb").close()
        lines = dump(directory, "-s")
        check(any(f"data.{n} is empty" in line for line in lines), f"data.{n} of a directory is empty", str(lines[-3:]))
        os.rename("aside", name)


def one_of_directory(directory):
    """The file alone does not lead to its neighbours, nor does the directory to what a link leads to."""
    lines = dump(os.path.join(directory, "data"), "-s")
    check("damaged 1" in lines and any("give the directory" in line for line in lines), "one file of a directory", str(lines[-3:]))
    os.rename(os.path.join(directory, "data.1"), "moved")
    os.symlink(os.path.abspath("moved"), os.path.join(directory, "data.1"))
    lines = dump(directory, "-s")
    os.rename("moved", os.path.join(directory, "data.1"))
    check("damaged 1" in lines and any("symbolic link" in line for line in lines), "a link in a directory", str(lines[-3:]))


def names_in_directory(directory):
    """Only data.N as perf writes N is a file of the recording: data.01 made data.1 be read a second time."""
    def samples():
        return [line for line in dump(directory, "-s") if line.startswith("samples ")]

    before, others = samples(), ["data.00", "data.01", "data.1.old", "data.+1", "data.9999999999999999999"]
    for name in others:
        shutil.copy(os.path.join(directory, "data.1"), os.path.join(directory, name))
    after = samples()
    for name in others:
        os.unlink(os.path.join(directory, name))
    check(after == before and before != ["samples 0"], "files of other names in a directory are not read", f"{before} {after}")


def old_mmap2():
    """MMAP2 without prot and flags (Linux < 3.16): the sample's file is known all the same."""
    path = os.path.join(CORPUS, "hotspot/perf.data.true.v2")
    if not os.path.exists(path):
        tap.skip("MMAP2 before Linux 3.16", "no ../shared/corpus here")
        return
    samples = [line.split("\t") for line in dump(path) if "\t" in line]
    check([s[7] for s in samples] == ["/usr/lib64/ld-2.17.so"], "MMAP2 before Linux 3.16", str(samples))


def endless_tail():
    """AUXTRACE says that more payload follows than there can be; what comes behind it looks like records, so
    that the search for them finds it again and again."""
    attr = struct.pack("<2I4Q", 1, 128, 0, 1, 7, 0) + bytes(128 - 40)
    records = struct.pack("<IHH", 64, 0, 136) + attr
    records += struct.pack("<IHHQ4QQ", 71, 0, 56, 1 << 60, 0, 0, 0, 0, 0)
    records += struct.pack("<IHHQ2IQ", 9, 2, 32, 0x1000, 5, 5, 77) * 4
    with open("endless", "wb") as f:
        f.write(mkbe.MAGIC + struct.pack("<Q", 16) + records)
    lines = dump("endless", "-s")
    check("samples 4" in lines and "damaged 1" in lines, "payload longer than the stream ends, and is found",
          str(lines))


def main():
    p = run("cc", "-O1", "-o", "workload", os.path.join(TOP, "tests/reader/workload.c"), "-pthread")
    if p.returncode:
        check(False, "workload.c compiles", p.stderr.decode())
        return
    made = {}
    if run(*PERF_RECORD, "-e", "cpu-clock", "-o", "probe", "--", "true").returncode:
        tap.skip("recordings", "perf record does not work here")
    else:
        made = record_all()
        killed()
    twins(made)
    if "directory" in made:
        pipe_in_directory(made["directory"])
        one_of_directory(made["directory"])
        lost_in_directory(made["directory"])
        names_in_directory(made["directory"])
    old_mmap2()
    endless_tail()


main()
tap.end()
