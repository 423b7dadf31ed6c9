#!/usr/bin/env python3
"""All formats of one real recording: they must agree with each other on what was counted, with `perf script`
6.1 on the text of script, and with `perf report` on the table of top.

perf 6.1 prints the thread id in 5 columns and addresses relative to the file; 6.12, which we follow, in 7 columns
and as they ran. Its names of inlined functions are known to be wrong, so they are left out on both sides."""
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import time

import varint
from recorder import TRIES, perf_record
from tap import Tap, need_events

TOP, BUILD, BIN = os.environ["TOP"], os.environ["BUILD"], os.environ["BIN"]
RESOLVE = f"{BIN}/resolve"
PLAIN = ("--no-inline", "--no-demangle")
tap = Tap()
check = tap.check


def output(*cmd):
    return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace").stdout


def same_columns(line):
    """Lines of both perfs: the address column goes, the thread id gets 7 columns."""
    if line.startswith("\t"):
        return line.split(None, 1)[1]
    return re.sub(r"^(\s*\S.*?) +(-?\d+)( (?:\[\d+\] )?+ *\d+\.\d{6}: )", lambda m: f"{m[1]} {int(m[2]):7}{m[3]}", line)


def blocks(text):
    """Samples as (first line, frame lines)."""
    out = []
    for line in text.splitlines():
        if line.startswith("\t"):
            out[-1][1].append(same_columns(line))
        elif line and not line.startswith("#"):
            out.append((same_columns(line), []))
    return out


def same_frame(i, ours, perf):
    """A return address at the first byte of a function is behind the last call of the one before, which perf does not
    see in recorded chains. What is no code perf calls by the mapping that it lies in, data's too."""
    return ours == perf or (i and "+0x0 (" in perf) or (ours == "[unknown] ([unknown])" and perf.startswith("[unknown] ("))


def is_alias(ours, perf):
    """One address has several names, one of them without a version or "@plt"; the file is the same."""
    return ours.rsplit(" (", 1)[1] == perf.rsplit(" (", 1)[1] and re.findall(r"\+0x\w+", ours) == re.findall(r"\+0x\w+", perf)


def leaves_with_exception(ours, perf):
    """Or it finds a word that is no code's: from uw_install_context_1() on, the return address of what throws is that of the function
    that catches, and its frame is not where perf looks for it, right above. We are right: our stack goes on to the root."""
    n = len(perf)
    return (n > 2 and perf[-1] == "[unknown] ([unknown])" and perf[-3].startswith(("_Unwind_RaiseException+", "_Unwind_Resume+")) and len(ours) > n and
            ours[:n - 1] == perf[:-1] and re.match(r"_start\+|(__GI_)?(__)?clone3?\+", ours[-1]))


def classify(ours, perf, libdw):
    """Which of the classes of tests/e2e/README.md a stack of both is in; None: nothing explains the difference."""
    different = [i for i, (a, b) in enumerate(zip(ours, perf)) if not same_frame(i, a, b)]
    if not different and len(ours) == len(perf):
        return "equal"
    if not different and len(ours) > len(perf):
        return "perf stops earlier"
    # perf takes a word of the stack for a caller where an exception is handed over (the stack pointer is moved before the
    # last return), and in the first instruction of _fini(), which has no unwind table.
    if perf[-1:] in (["[unknown] ([stack])"], ["[unknown] (//anon)"]) and len(ours) > len(perf) and ours[-1].startswith(("_start+", "clone3+", "__clone+")):
        return "perf leaves the code"
    if not different[:-1] and leaves_with_exception(ours, perf):
        return "perf leaves the code"
    if len(ours) == len(perf) and all(is_alias(ours[i], perf[i]) for i in different):
        return "one name differs"
    return "libdw agrees with us" if ours == libdw else None


def compare_script(name, data):
    ours = blocks(output(RESOLVE, "-f", "script", "--no-stitch", *PLAIN, data))
    libdw = blocks(output(RESOLVE, "-f", "script", "--unwinder=libdw", *PLAIN, data))
    perf = blocks(output("perf", "script", "--max-stack", "1024", *PLAIN, "-i", data))
    heads = [(a[0], b[0]) for a, b in zip(ours, perf) if a[0] != b[0]]
    check(len(ours) == len(perf) == len(libdw) > 20 and not heads, f"{name}: samples as perf prints them", (len(ours), len(perf), heads[:5]))
    classes = [classify(a[1], b[1], c[1]) for a, b, c in zip(ours, perf, libdw)]
    print(f"# {name}:", ", ".join(f"{classes.count(c)} {c}" for c in sorted(set(classes), key=str)))
    bad = [(a, b) for a, b, c in zip(ours, perf, classes) if c is None]
    check(not bad, f"{name}: stacks as perf prints them, or in a known class", bad[:3])
    check(classes.count("equal") > len(classes) / 2, f"{name}: most are as perf prints them", classes)
    ours = re.findall(r"(?m)^ *\S.* (\d+\.\d{9}): ", output(RESOLVE, "-f", "script", "--ns", *PLAIN, data))
    perf = re.findall(r"(\d+\.\d{9}):", output("perf", "script", "--ns", "-G", "-F", "time,ip", "-i", data))
    check(len(ours) > 20 and ours == perf, f"{name}: --ns: times as perf prints them", (ours[:3], perf[:3]))


def rows(text):
    """{(command, dso, symbol): (children, self)}: percentages of perf report --children and of top."""
    out = {}
    for line in text.splitlines():
        m = re.match(r"\s+([\d.]+)%\s+([\d.]+)%\s+(\S+)\s+(\S+)\s+\[.\] (.*?)\s*$", line)
        if m and not re.match(r"(0x)?[0-9a-f]{16}|\[unknown\]", m[5]):
            out[m[3], m[4], m[5]] = float(m[1]), float(m[2])
    return out


def summed(samples):
    """The same table, out of the text of script: the weight of the samples that a function is in, and is the first in."""
    total, sums = 0, {}
    for head, frames in samples:
        comm, period = re.match(r"\s*(\S+) .*?: +(\d+) \S+:", head).groups()
        total += int(period)
        seen = set()
        for i, frame in enumerate(frames):
            symbol, dso = re.match(r"(.*?)(?:\+0x[0-9a-f]+)? \((.*)\)$", frame).groups()
            key = comm, os.path.basename(dso), symbol
            both = sums.setdefault(key, [0, 0])
            both[0] += int(period) * (key not in seen)
            both[1] += int(period) * (i == 0)
            seen.add(key)
    return {k: (100 * c / total, 100 * s / total) for k, (c, s) in sums.items() if k[2] != "[unknown]"}


def differing_rows(table, truth, apart=0.00501):
    """Rows that are in one only, or differ by more than their two digits allow."""
    near = {k for k in table.keys() & truth.keys() if all(abs(a - b) < apart for a, b in zip(table[k], truth[k]))}
    return [(k, table.get(k), truth.get(k)) for k in sorted((table.keys() | truth.keys()) - near)]


def compare_top(name, data):
    """Tables are sums over stacks, and what stacks perf and we have compare_script() has compared. So each table must be
    the sums over the stacks of its own tool, to the last digit: what perf sums up, and what top does."""
    options = "--stdio", "--children", "-g", "none", "--max-stack", "1024"
    perf = rows(output("perf", "report", *options, *PLAIN, "-i", data))
    wrong = differing_rows(perf, summed(blocks(output("perf", "script", "--max-stack", "1024", *PLAIN, "-i", data))))
    check(len(perf) > 5 and not wrong, f"{name}: perf report has the sums over the stacks of perf script", wrong)
    ours = rows(output(RESOLVE, "-f", "top", *PLAIN, data))
    # Ours are rounded so that the own shares add up to 100 %: each is one of the two numbers nearest to it.
    wrong = differing_rows(ours, summed(blocks(output(RESOLVE, "-f", "script", *PLAIN, data))), 0.01001)
    check(len(ours) > 5 and not wrong, f"{name}: top has those over the stacks of script", wrong)


def places_in_file(raw):
    """How many locations of work::spin, by their address and mapping, lie where nm has it; -1: one does not."""
    start, size, name = re.search(r"^([0-9a-f]+) ([0-9a-f]+) t (work::spin\(.*)$", output("nm", "-C", "-S", "threads"), re.M).groups()
    locations, mappings = raw.split("Locations")[1].split("Mappings")
    of = {m[0]: [int(x, 16) for x in m[1:]] for m in re.findall(r"^(\d+): 0x(\w+)/0x(\w+)/0x(\w+) ", mappings, re.M)}
    found = 0
    for address, mapping in re.findall(rf"^ +\d+: 0x(\w+) M=(\d+) {re.escape(name)} ", locations, re.M):
        begin, end, offset = of[mapping]
        if not (begin <= int(address, 16) < end and 0 <= int(address, 16) - begin + offset - int(start, 16) < int(size, 16)):
            return -1
        found += 1
    return found


def compare_sums(name, data):
    folded = sum(int(l.rsplit(" ", 1)[1]) for l in output(RESOLVE, data).splitlines())
    samples = [json.loads(l) for l in output(RESOLVE, "-f", "jsonl", data).splitlines()]
    events = {s["event"] for s in samples}
    # The event with the most weight, of equal ones the first.
    first = max(sorted(events), key=lambda e: sum(s["period"] for s in samples if s["event"] == e))
    mine = [s for s in samples if s["event"] == first]
    perf = [int(l) for l in output("perf", "script", "-G", "-F", "event,period", "-i", data).split()[::2]
            ] if len(events) == 1 else None
    total = sum(s["period"] for s in mine)
    check(folded == total > 0, f"{name}: folded has the sum of all periods", (folded, total))
    if perf:
        check(total == sum(perf) and len(perf) == len(mine), f"{name}: the sum is that of perf script", (total, sum(perf)))
    scope = json.loads(output(RESOLVE, "-f", "speedscope", data))
    check(sum(w for p in scope["profiles"] if p["name"] != "all threads" for stack, w in zip(p["samples"], p["weights"]) if stack) == total,
          f"{name}: speedscope has it")
    head = output(RESOLVE, "-f", "top", data).splitlines()[:2]
    check(head == [f"# Samples: {len(mine)} of event '{first}'", f"# Event count (approx.): {total}"], f"{name}: top has it", head)
    subprocess.run([RESOLVE, "-o", "out.pb.gz", data], check=True)
    again = subprocess.run([RESOLVE, "-j1", "-f", "pprof", data], stdout=subprocess.PIPE, check=True).stdout
    check(open("out.pb.gz", "rb").read() == again and gzip.decompress(again), f"{name}: pprof is the same with one thread")
    pprof = f"{os.path.dirname(BUILD)}/cache/pprof"
    if os.path.exists(pprof):
        raw = output(pprof, "-symbolize=none", "-raw", "out.pb.gz")
        # of several events the first pair is the first's
        values = [int(l.split()[1].rstrip(":")) for l in raw.split("Locations")[0].splitlines() if re.match(r"(\s+\d+)+: ", l)]
        check(sum(values) == total, f"{name}: pprof has it", (sum(values), total))
        check(places_in_file(raw) > 0, f"{name}: addresses and mappings lead to the function in the file")


def pprof_times(data, stdin=None):
    """(time_nanos, duration_nanos) of the profile; 0: it has none."""
    if subprocess.run([RESOLVE, "-q", "-f", "pprof", "-o", "times.pb", data], stdin=stdin, stderr=subprocess.DEVNULL).returncode:
        return 0, 0
    with open("times.pb", "rb") as f:
        buf = f.read()
    found = {9: 0, 10: 0, **dict(varint.fields(buf))}
    return found[9], found[10]


def record_pipe(clock):
    """Writes pipe.data. (times of its samples, when perf had not begun, when it had ended, what it said); all in nanoseconds."""
    for _ in range(TRIES):  # beside other recorders perf may abort: recorder.py
        before = time.time_ns()
        with open("pipe.data", "wb") as f:
            p = subprocess.run(["perf", "record", "-q", *clock, "-e", "cpu-clock:u", "-F", "999", "-o", "-", "--", "./threads", "0.3"], stdout=f, stderr=subprocess.PIPE, text=True)
        after = time.time_ns()
        lines = output("perf", "script", "--ns", "-F", "time", "-i", "pipe.data").replace(" ", "").replace(":", "")
        ns = [int(line.replace(".", "")) for line in re.findall(r"(?m)^(\d+\.\d{9})\b", lines)]
        if ns:
            break
        time.sleep(1)
    return ns, before, after, p.stderr


def check_pipe_times():
    """A pipe tells when it was recorded, if perf was asked for a clock that has a date; else a file's own date does, and
    of a stream from another process nothing does."""
    for clock in ([], ["-k", "monotonic"]):
        name = clock[-1] if clock else "no clock"
        ns, before, after, said = record_pipe(clock)
        if not check(ns, f"a pipe, {name}: perf records it", said):
            continue
        time_ns, duration = pprof_times("pipe.data")
        check(duration == max(ns) - min(ns) > 0, f"a pipe, {name}: its duration is of the first sample to the last", (duration, max(ns) - min(ns)))
        if clock:
            check(before <= time_ns <= time_ns + duration <= after, f"a pipe, {name}: it began and ended while perf recorded", (before, time_ns, duration, after))
        else:
            written = os.stat("pipe.data").st_mtime_ns
            check(time_ns + duration == written, f"a pipe, {name}: it ended when the file was written", (time_ns, duration, written))
        with subprocess.Popen(["cat", "pipe.data"], stdout=subprocess.PIPE) as stream:
            streamed = pprof_times("-", stream.stdout)
        check(streamed == ((time_ns if clock else 0), duration), f"a stream, {name}: the same, or no date", streamed)


if not os.path.exists(RESOLVE):
    tap.skip("formats of recordings", "resolve is not built")
    sys.exit(0)
if not shutil.which("perf") or not shutil.which("g++"):
    tap.skip("formats of recordings", "perf or g++ not installed")
    sys.exit(0)
subprocess.run(["g++", "-O2", "-g", "-pthread", "-o", "threads", f"{TOP}/tests/programs/threads.cc"], check=True)
for name, options in (("dwarf", ["--call-graph", "dwarf,16384", "-e", "cpu-clock", "-F", "997"]),
                      ("frame pointers, two events", ["-g", "-e", "cpu-clock,task-clock", "-c", "1000000"]),
                      ("no call chains", ["-e", "cpu-clock", "-F", "1999"])):
    data = re.sub(r"\W+", "_", name) + ".data"
    try:
        perf_record("-o", data, *options, "--", "./threads", "0.3")
    except RuntimeError as e:
        tap.skip(name, str(e).replace("\n", " ")[:200])
        continue
    compare_script(name, data)
    compare_sums(name, data)
    if name == "dwarf":
        compare_top(name, data)
need_events()
check_pipe_times()
tap.end()
