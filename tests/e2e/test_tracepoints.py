#!/usr/bin/env python3
"""Tracepoints in script carry their fields, as in perf script, and -F chooses what is shown.

Real recordings, as files and as pipes, beside perf script of the same; columns are as wide as in perf 6.12, so spaces are not
compared. Not the same: with addr and sym perf also names the data at the address; for code without lines perf's srcline is
`:0` or `file[address]`, and here there is no line."""
import os
import re
import struct
import subprocess

from common import RESOLVE, Tap, have, run
from recorder import perf_forgets

EVENTS = "sched:sched_switch,sched:sched_wakeup,syscalls:sys_enter_openat,syscalls:sys_exit_openat,sched:sched_process_exec,signal:signal_generate"
# Print formats with %pS and %ps: the kernel's functions.
FUNCTIONS = "kmem:kmalloc,kmem:kfree,timer:timer_start,timer:hrtimer_start,workqueue:workqueue_queue_work,workqueue:workqueue_execute_start"
PROBED = """struct s { int a; };
__attribute__((noinline)) int work(int x, const char *text, struct s *p) { __asm__ volatile(""); return x * 2 + p->a + text[0]; }
static inline int twice(int x) { for (int i = 0; i < 20000; i++) __asm__ volatile("" : "+r"(x)); return 2 * x; }
int main(void) { struct s q = {7}; long t = 0; for (int i = 0; i < 3000; i++) t += i % 60 ? twice(i) : work(i, i % 2 ? "odd" : "even", &q); return t == 1; }
"""
# tracefs is mounted for one command only: perf would leave it mounted.
IN_TRACEFS = ["unshare", "-m", "sh", "-c", 'mount -t tracefs none /sys/kernel/tracing 2>/dev/null; exec "$@"', "sh"]
tap = Tap()


def record(out, *options):
    """False: no tracepoints here."""
    command = ["perf", "record", "-q", "-N", "-B", "-a", *options, "-o", out, "--", "sh", "-c", "for i in 1 2 3; do ls / > /dev/null; done; kill -WINCH $$"]
    p = subprocess.run([*IN_TRACEFS, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if out == "-":
        with open("pipe.data", "wb") as f:
            f.write(p.stdout)
    tap.reason = p.stderr.decode(errors="replace").strip()
    return p.returncode == 0


def lines(text):
    return [re.sub(" +", " ", line).strip() for line in text.splitlines() if line.strip()]


def perf(data, *options):
    return lines(run(["perf", "script", "-i", data, *options]).stdout)


def ours(data, *options):
    return lines(run([RESOLVE, "-q", "-f", "script", *options, data]).stdout)


def same_line(ours, perfs):
    """But for the command where perf has forgotten it, as recorder.same_comm() says; and for the return address of ld.so's
    _start, behind which the next symbol begins, which perf gives to this one."""
    perfs = re.sub(r"\b_dl_start_user\b", "_start", perfs) if re.search(r"\b_start\b", ours) else perfs
    forgotten = re.match(r":\d+(?= )", perfs) if perf_forgets() else None
    return ours == perfs or bool(forgotten) and ours.endswith(perfs[forgotten.end():])


def with_lines(text):
    """Of the loader's lines perf gives some the file that they were inlined into, and in callers the line behind the call."""
    return [line for line in lines(text) if not re.fullmatch(r":0|\S*\[[0-9a-f]+\]|(?!probed\.c)\S+:\d+", line)]


def check_probes():
    """Probes of user programs; the kernel's may be left out of it."""
    program = f"probed{os.getpid()}"  # all probes of the machine have one list of names
    os.link("probed", program)
    p = run([*IN_TRACEFS, "perf", "probe", "-x", f"./{program}", "work x text:string p->a"], check=False)
    if p.returncode:
        said = " ".join(p.stderr.split())
        if re.search("(?i)not permitted|permission|UPROBE_EVENTS|debugfs is not mounted", said):
            tap.skip("probes", said)
        else:
            tap.check(False, "probes: perf probe sets one", said)
        return
    run([*IN_TRACEFS, "perf", "probe", "-q", "-x", f"./{program}", "work%return $retval"])
    try:
        run([*IN_TRACEFS, "perf", "record", "-q", "-N", "-e", f"probe_{program}:work,probe_{program}:work__return", "-o", "probe.data", f"./{program}"])
        want = perf("probe.data")
        same("probes", ours("probe.data"), want)
        tap.check(any('text_string="' in line for line in want) and any("<-" in line for line in want), "probes: arguments and return addresses are in the lines", want[:2])
    finally:
        run([*IN_TRACEFS, "perf", "probe", "-q", "-d", f"probe_{program}:*"], check=False)


def same(name, a, b):
    bad = [(x, y) for x, y in zip(a, b) if not same_line(x, y)]
    tap.check(len(a) == len(b) > 10 and not bad, f"{name}: {len(b)} lines as perf script's", (len(a), len(b), bad[:3]))


def check_code_that_changes():
    """Two BPF programs, one after the other, where a function of the kernel was that allocates: each names what was its own."""
    record("-", "-e", "kmem:kmalloc,kmem:kfree")
    with open("pipe.data", "rb") as f:
        data = f.read()
    records, at = [], 16
    while at < len(data):
        kind, _, size = struct.unpack_from("<IHH", data, at)
        size += struct.unpack_from("<I", data, at + 8)[0] if kind == 66 else 0
        records.append((kind, data[at:at + size]))
        at += size
    # identifier, ip, tid, time, cpu, period, u32 size and raw data, which begin with 8 bytes that all events have, and the call site.
    samples = [r for kind, r in records if kind == 9]
    pages = [struct.unpack_from("<Q", r, 68)[0] & ~255 for r in samples]
    page = max(set(pages), key=pages.count)
    times = sorted(struct.unpack_from("<Q", r, 32)[0] for r, p in zip(samples, pages) if p == page)
    middle = times[len(times) // 2]

    def ksymbol(name, time):
        body = struct.pack("<QIHH16s", page, 256, 1, 0, name) + samples[0][24:32] + struct.pack("<Q", time) + samples[0][40:48] + samples[0][8:16]
        return struct.pack("<IHH", 17, 0, 8 + len(body)) + body

    # Both in front, and no ends of rounds: all is in the order of time.
    first = next(i for i, (kind, _) in enumerate(records) if kind == 9)
    with open("bpf.data", "wb") as f:
        f.write(data[:16] + b"".join(r for _, r in records[:first]) + ksymbol(b"bpf_prog_a", 1) + ksymbol(b"bpf_prog_b", middle))
        f.write(b"".join(r for kind, r in records[first:] if kind != 68))
    names = re.findall(r"call_site=(bpf_prog_[ab])\+", "\n".join(ours("bpf.data")))
    wanted = ["bpf_prog_a"] * sum(t < middle for t in times) + ["bpf_prog_b"] * sum(t >= middle for t in times)
    tap.check(names == wanted and len(set(names)) == 2, f"code that changes: {len(wanted)} call sites", (names.count("bpf_prog_a"), names.count("bpf_prog_b"), len(wanted)))


def without_names(data):
    """A pipe of a perf that did not tell the events' names: no EVENT_UPDATE, no EVENT_DESC; TRACING_DATA alone has them."""
    out, at = bytearray(data[:16]), 16
    while at < len(data):
        kind, _, size = struct.unpack_from("<IHH", data, at)
        if kind == 66:
            size += struct.unpack_from("<I", data, at + 8)[0]
        if kind != 78 and not (kind == 80 and struct.unpack_from("<Q", data, at + 8)[0] == 12):
            out += data[at:at + size]
        at += size
    return bytes(out)


if not have("perf") or os.geteuid() != 0 or not record("tp.data", "-e", EVENTS):
    tap.skip("tracepoints", getattr(tap, "reason", "") or "needs perf and root")
    tap.end()
if run(["perf", "script", "-i", "tp.data"], check=False).returncode:
    tap.skip("tracepoints", "perf script does not read its own recording here")
    tap.end()
want = perf("tp.data")
same("tracepoints", ours("tp.data"), want)
tap.check(any("prev_comm=" in line and "==> next_comm=" in line for line in want) and any("filename:" in line for line in want), "tracepoints: the lines have fields")
for fields in ("comm,tid,time,event,trace", "pid,tid,cpu,time,event", "event,trace", "comm,pid,cpu,event,trace", "time,trace"):
    same(f"-F {fields}", ours("tp.data", "-F", fields), perf("tp.data", "-F", fields))
record("-", "-e", EVENTS)
want = perf("pipe.data")
same("a pipe", ours("pipe.data"), want)
with open("pipe.data", "rb") as f:
    data = f.read()
with open("old.data", "wb") as f:
    f.write(without_names(data))
same("a pipe without names of its events", ours("old.data"), want)

record("functions.data", "-e", FUNCTIONS)
want = perf("functions.data")
same("functions of the kernel", ours("functions.data"), want)
named = sum(bool(re.search(r"=[a-z_]\w*\+0x|function=[a-z_]", line)) for line in want)
tap.check(named > 10, f"{named} of {len(want)} lines name one", want[:3])

check_code_that_changes()
with open("probed.c", "w") as f:
    f.write(PROBED)
run(["gcc", "-g", "-O2", "-o", "probed", "probed.c"])
check_probes()
for stacks in ([], ["-g"]):
    run(["perf", "record", "-q", "-N", "-B", *stacks, "-e", "cpu-clock:u", "-F", "1999", "-o", "lines.data", "./probed"])
    for fields in ("ip,sym,srcline", "comm,tid,ip,sym,srcline"):
        a, b = ([re.sub(r"^[0-9a-f]{1,16}\b", "IP", line) for line in with_lines(run([*how, "--no-inline", "-F", fields, *where]).stdout)]
                for how, where in (([RESOLVE, "-q", "-f", "script"], ["lines.data"]), (["perf", "script"], ["-i", "lines.data"])))
        same(f"{'with' if stacks else 'without'} stacks, -F {fields}", a, b)
        tap.check("probed.c:3" in a, "the line of the inlined function, whose name is left out", a[:4])
run(["perf", "record", "-q", "-N", "-B", "-d", "-c", "1", "-e", "page-faults", "-o", "addr.data", "./probed"])
for fields in ("comm,tid,addr", "comm,tid,ip,addr", "time,event,addr"):
    same(f"-F {fields}", ours("addr.data", "-F", fields), perf("addr.data", "-F", fields))

run(["perf", "record", "-q", "-N", "-B", "--sample-cpu", "-e", "cpu-clock:u", "-F", "999", "-o", "clock.data", "--", "sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"])
for fields in ("comm,tid,ip,sym", "ip,sym,symoff", "comm,cpu,time,ip,dso", "pid,period,event,ip,sym,dso", "time,ip"):
    same(f"without stacks, -F {fields}", ours("clock.data", "--no-inline", "-F", fields), perf("clock.data", "--no-inline", "-F", fields))
run(["perf", "record", "-q", "-N", "-B", "-g", "-e", "cpu-clock:u", "-F", "999", "-o", "chain.data", "--", "sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"])
for fields in ("comm,tid,ip", "comm,tid", "ip,sym,dso", "time,event"):
    # Addresses of user code in chains are offsets in the file in perf 6.1, and what was recorded in later ones.
    a, b = ([re.sub(r"^[0-9a-f]{1,16}\b", "IP", line) for line in how("chain.data", "--no-inline", "-F", fields)] for how in (ours, perf))
    same(f"with stacks, -F {fields}", a, b)
same("-F -period,-cpu", ours("chain.data", "--no-inline", "-F", "-period,-cpu,-ip"), perf("chain.data", "--no-inline", "-F", "comm,tid,time,event"))
for bad, why in (("nosuch", "is none of"), ("comm,+ip", "either all fields"), ("comm,sym", "of ip"), ("", "is none of")):
    p = run([RESOLVE, "-f", "script", "-F", bad, "clock.data"], check=False)
    tap.check(p.returncode == 2 and why in p.stderr and len(p.stderr.splitlines()) == 1, f"-F '{bad}': refused", p.stderr)
p = run([RESOLVE, "-f", "script", "-F", "comm,cpu", "chain.data"], check=False)
tap.check(p.returncode == 2 and "have no cpu" in p.stderr, "-F of what samples do not have: refused", p.stderr)
p = run([RESOLVE, "-f", "folded", "-F", "comm", "clock.data"], check=False)
tap.check(p.returncode == 2 and "-f script, jsonl have" in p.stderr, "-F with another format: refused", p.stderr)

with open("tp.data", "rb") as f:
    good = f.read()
# A description that the library would not survive: a line says so, and the other events keep their fields.
at = good.index(b"print fmt: ", good.index(b"name: sched_wakeup\n"))
with open("deep.data", "wb") as f:
    f.write(good[:at + 11] + b"(" * 100 + good[at + 111:])
p = run([RESOLVE, "-f", "script", "deep.data"], check=False)
tap.check(p.stderr.count("tracepoints whose description is not used, because libtraceevent would not survive it: 1\n") == 1, "a description that is left out: a line says so", p.stderr)
q = run([RESOLVE, "-q", "-f", "script", "deep.data"], check=False)
tap.check(p.returncode == q.returncode == 1 and q.stderr == "resolve: deep.data: fields of tracepoints are left out: 1 descriptions are not used\n",
          "also with -q, and the status is 1", q.stderr)
plain = [re.sub("(sched:sched_wakeup:).*", r"\1", line) for line in perf("tp.data")]
same("the other descriptions", lines(p.stdout), plain)

# A machine without the library: what is not a file of ELF is like none.
os.mkdir("no-library")
with open("no-library/libtraceevent.so.1", "w"):
    pass
p = run([RESOLVE, "-f", "script", "tp.data"], check=False, env={**os.environ, "LD_LIBRARY_PATH": os.path.abspath("no-library")})
tap.check(p.returncode == 1 and re.search(r"the fields of \d+ tracepoints are left out: libtraceevent is not installed\n", p.stderr), "without libtraceevent: a line says so", p.stderr)
q = run([RESOLVE, "-q", "-f", "script", "tp.data"], check=False, env={**os.environ, "LD_LIBRARY_PATH": os.path.abspath("no-library")})
tap.check(q.returncode == 1 and re.search(r"\d+ descriptions are not used: libtraceevent is not installed\n$", q.stderr), "and under -q", q.stderr)
same("without libtraceevent", lines(p.stdout), [re.sub(r"(\b\w+:\w+:).*", r"\1", line) for line in perf("tp.data")])

# Damaged descriptions and samples: a text, or none, but no crash.
start, size = struct.unpack_from("<QQ", good, 40)
(off, n) = struct.unpack_from("<QQ", good, start + size)  # TRACING_DATA is the first section
crashes = []
for i in range(60):
    bad = bytearray(good)
    at = off + (i * 7919) % n if i % 2 else start + (i * 104729) % size
    bad[at:at + 4] = (b"\xff\xff\xff\xff", b"9999", b"((((", b"\0\0\0\0")[i % 4]
    with open("bad.data", "wb") as f:
        f.write(bad)
    p = run([RESOLVE, "-q", "-f", "script", "-o", "out.script", "bad.data"], check=False)
    if p.returncode not in (0, 1, 2):
        crashes.append((i, at, p.returncode, p.stderr[-200:]))
tap.check(not crashes, "damaged descriptions and samples: no crash", crashes)
tap.end()
