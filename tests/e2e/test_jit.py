#!/usr/bin/env python3
"""JIT code in time. Truth by construction: recordings and jitdumps written here, in which code is put where other code
was before; and a real node program, by `perf inject --jit`, which writes an ELF file per function and has perf script
name the samples by when each was loaded."""
import glob
import os
import re

from common import *
from perfsynth import *

tap = Tap()
CODE, PID = 0x7f0000000000, 4242


def stacks(data, *options):
    return folded(resolve(data, "-f", "folded", *options)[0])


def jitted(name, monotonic=True, threads=1):
    """CODE is alpha from 1000 on, beta from 3000, alpha again from 5000; CODE + 0x1000 is always main, which calls it."""
    dump = Jitdump(PID)
    dump.load(100, CODE + 0x1000, 0x100, "main")
    dump.load(1000, CODE, 0x100, "alpha")
    dump.lines(3000, CODE, [(CODE, 7, "beta.js"), (CODE + 0x20, 9, "beta.js")])
    dump.load(3000, CODE, 0x80, "beta")
    dump.load(4000, CODE + 0x2000, 0x10, "elsewhere")
    dump.load(5000, CODE, 0x100, "alpha")
    path = dump.write(os.path.abspath(f"jit-{PID}.dump"))
    r = Recording(monotonic=monotonic)
    r.comm(PID, "jit", 1)
    r.mmap2(PID, CODE, 0x10000, 0, "//anon", 2)
    r.mmap2(PID, 0x7e0000000000, 4096, 0, path, 3)
    for time in (900, 1000, 2000, 2999, 3000, 3500, 4500, 5000, 6000):
        for t in range(threads):
            r.sample(PID, CODE + 0x24, time, [CHAIN_USER, CODE + 0x24, CODE + 0x1010], tid=PID + t)
    return r.write(name)


def by_time():
    data = jitted("times.data")
    got = stacks(data)
    # 900 is before anything was there: the first that came counts
    want = {("jit", "main", "alpha"): 6, ("jit", "main", "beta"): 3}
    tap.check(got == want, "an address that was used three times: each sample has the name of its time", got)
    out = run([RESOLVE, "-f", "script", data]).stdout
    names = re.findall(r"^\s+[0-9a-f]+ (alpha|beta)\+", out, re.M)
    tap.check(names == ["alpha"] * 4 + ["beta"] * 3 + ["alpha"] * 2, "script, in order of time", out)
    got = stacks(jitted("other-clock.data", monotonic=False))
    tap.check(got == {("jit", "main", "alpha"): 9}, "another clock than the jitdump's: the last name", got)


def moved():
    """Code that was made long before it is moved."""
    dump = Jitdump(PID)
    dump.load(100, CODE, 0x100, "old")
    for i in range(5000):
        dump.load(200 + i, CODE + 0x1000 + i * 0x10, 0x10, "more")
    dump.move(9000, CODE, CODE + 0x800, 0x100)
    path = dump.write(os.path.abspath(f"jit-{PID}.dump"))
    r = Recording(monotonic=True)
    r.comm(PID, "jit", 1)
    r.mmap2(PID, CODE, 0x100000, 0, "//anon", 2)
    r.mmap2(PID, 0x7e0000000000, 4096, 0, path, 3)
    r.sample(PID, CODE + 0x824, 9500)
    got = stacks(r.write("moved.data"))
    tap.check(got == {("jit", "old"): 1}, "code that was made long before it was moved", got)


def any_number_of_workers():
    data = jitted("threads.data", threads=8)
    for fmt in ("folded", "script", "jsonl", "pprof", "speedscope"):
        outs = []
        for j in ("1", "2", "5"):
            run([RESOLVE, "-j", j, "-f", fmt, "-o", f"out-{j}", data])
            outs.append(open(f"out-{j}", "rb").read())
        tap.check(outs[0] == outs[1] == outs[2] and outs[0], f"{fmt}: the same for 1, 2 and 5 workers")


def anonymous(name, path, pid=PID):
    r = Recording()
    r.comm(pid, "jit", 1)
    r.mmap2(pid, CODE, 0x10000, 0, path, 2)
    for ip in (CODE + 0x10, CODE + 0x110):
        r.sample(pid, ip, 10)
    return r.write(name)


def dumps_of_others():
    """A jitdump is believed for the process that mapped it, and of another user only when it is the file that was mapped."""
    want = {("jit", "main", "alpha"): 6, ("jit", "main", "beta"): 3}
    path = os.path.abspath(f"jit-{PID}.dump")
    data = jitted("mine.data")
    r = Recording(monotonic=True)
    for pid in (PID + 1, PID):
        r.comm(pid, "jit", 1)
        r.mmap2(pid, CODE, 0x10000, 0, "//anon", 2)
    r.mmap2(PID + 1, 0x7e0000000000, 4096, 0, path, 3)  # under the name of PID
    r.sample(PID, CODE + 0x24, 1500, [CHAIN_USER, CODE + 0x24, CODE + 0x1010])
    got = stacks(r.write("theirs.data"))
    tap.check(not any("alpha" in s for s in got), "a jitdump with the name of a process that never mapped it", got)
    if os.geteuid():
        return tap.skip("jitdumps of other users", "not root")
    os.chown(path, 12345, 12345)
    p = run([RESOLVE, "--stats", data])
    tap.check("alpha" not in p.stdout and "another user's" in p.stderr, "a jitdump of another user: refused", p.stderr)
    tap.check(stacks(data, "--force") == want, "a jitdump of another user: --force")
    st = os.stat(path)
    r = Recording(monotonic=True)
    r.comm(PID, "jit", 1)
    r.mmap2(PID, CODE, 0x10000, 0, "//anon", 2)
    r.mmap2(PID, 0x7e0000000000, 4096, 0, path, 3, inode=(os.major(st.st_dev), os.minor(st.st_dev), st.st_ino))
    r.sample(PID, CODE + 0x24, 1500)
    got = stacks(r.write("inode.data"))
    tap.check(got == {("jit", "alpha"): 1}, "a jitdump of another user: the very file that was mapped", got)
    os.unlink(path)


def perf_maps():
    # of another recording's process, so below a directory of ours. The file has no times: first's place was used again
    os.makedirs("root/tmp", exist_ok=True)
    lines = f"{CODE:x} 100 first\n{CODE + 0x100:x} 80 second\n{CODE:x} 100 Third::name with spaces\n"
    with open(f"root/tmp/perf-{PID}.map", "w") as f:
        f.write(lines)
    want = {("jit", "Third::name with spaces"): 1, ("jit", "second"): 1}
    for path in ("//anon", "[anon:v8]", "/dev/zero (deleted)", "/SYSV00000000 (deleted)", "/memfd:doublemapper (deleted)", "[heap]",
                 "/memfd:vmem (deleted)"):
        got = stacks(anonymous("map.data", path), "--symfs", "root")
        tap.check(got == want, f"perf-PID.map: {path}, --symfs", got)
    if os.geteuid():
        return tap.skip("perf-PID.map of other users", "not root")
    data = anonymous("map.data", "//anon")
    os.chown(f"root/tmp/perf-{PID}.map", 12345, 12345)
    p = run([RESOLVE, "--stats", "--symfs", "root", data])
    tap.check("second" not in p.stdout and "another user's" in p.stderr, "perf-PID.map of another user: refused", p.stderr)
    tap.check(stacks(data, "--symfs", "root", "--force") == want, "perf-PID.map of another user: --force")
    # a link counts by who made it, as for perf: root's own points into other people's containers
    os.rename(f"root/tmp/perf-{PID}.map", "root/theirs")
    os.symlink("../theirs", f"root/tmp/perf-{PID}.map")
    tap.check(stacks(data, "--symfs", "root") == want, "perf-PID.map: our link to another user's file")
    os.chown(f"root/tmp/perf-{PID}.map", 12345, 12345, follow_symlinks=False)
    os.chown("root/theirs", 0, 0)
    p = run([RESOLVE, "--stats", "--symfs", "root", data])
    tap.check("second" not in p.stdout and "another user's" in p.stderr, "perf-PID.map: another user's link to our file", p.stderr)
    os.unlink(f"root/tmp/perf-{PID}.map")
    os.mkfifo(f"root/tmp/perf-{PID}.map")
    p = run([RESOLVE, "--stats", "--symfs", "root", data])
    tap.check("second" not in p.stdout and p.returncode == 0, "perf-PID.map: a FIFO", p.stderr)


def containers():
    """A process with a PID and a /tmp of its own: its files are reached through /proc, under the PID that it has there."""
    if os.geteuid() or run(["unshare", "--pid", "--fork", "--mount", "true"], check=False).returncode:
        return tap.skip("containers", "cannot unshare")
    script = ("mount -t tmpfs none /tmp && printf '%x 100 inside\\n%x 80 too\\n' > /tmp/perf-1.map && echo ready && exec sleep 1000"
              % (CODE, CODE + 0x100))
    p = subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child", "--mount", "sh", "-c", script], stdout=subprocess.PIPE, text=True)
    p.stdout.readline()
    try:
        pid = int(open(f"/proc/{p.pid}/task/{p.pid}/children").read())
        got = stacks(anonymous("inside.data", "//anon", pid))
        tap.check(got == {("jit", "inside"): 1, ("jit", "too"): 1}, "perf-PID.map in a container", got)
        dump = Jitdump(1)
        dump.load(1, CODE, 0x100, "dumped")
        dump.load(2, CODE + 0x100, 0x100, "dumped too")
        dump.write(f"/proc/{pid}/root/tmp/jit-1.dump")
        os.unlink(f"/proc/{pid}/root/tmp/perf-1.map")
        r = Recording(monotonic=True)
        r.comm(pid, "jit", 1)
        r.mmap2(pid, CODE, 0x10000, 0, "//anon", 2)
        r.mmap2(pid, 0x7e0000000000, 4096, 0, "/tmp/jit-1.dump", 3)
        r.sample(pid, CODE, 10)
        got = stacks(r.write("inside.data"))
        tap.check(got == {("jit", "dumped"): 1}, "jitdump in a container", got)
    finally:
        p.kill()
        p.wait()


NODE_SCRIPT = """
let s = 0;
// CPU time, so that a loaded machine leaves as many samples
const end = process.cpuUsage().user + 900e3;
for (let i = 0; process.cpuUsage().user < end; i++) { // code made anew all the time: addresses are used again
    if (i % 8 == 0) gc();
    s += new Function('x', `function f${i}(n) { let t = 0; for (let i = 0; i < n; i++) t += i ^ ${i}; return t }; return f${i}(600000)`)(i);
}
"""


def node():
    if not have("node"):
        return tap.skip("node --perf-prof", "no node")
    with open("work.js", "w") as f:
        f.write(NODE_SCRIPT)
    perf_record("-k", "mono", "-F", "2000", "-e", "cpu-clock:u", "-o", "node.data", "node", "--perf-prof", "--expose-gc", "work.js")
    run(["perf", "inject", "--jit", "-i", "node.data", "-o", "jit.data"], check=False)
    if not os.path.exists("jit.data"):
        return tap.skip("node --perf-prof", "perf inject --jit failed")
    line = re.compile(r"\s*(\d+)\.(\d{9}):\s+[0-9a-f]+ (.*) \((.*)\)$")
    want = {}
    for text in run(["perf", "script", "-i", "jit.data", "--ns", "--no-demangle", "-F", "time,ip,sym,dso"]).stdout.splitlines():
        m = line.match(text)
        if m and re.search(r"/jitted-\d+-\d+\.so$", m.group(4)):
            want[int(m.group(1) + m.group(2))] = m.group(3)
    names, bad, n = {}, [], 0
    for text in resolve("node.data", "-f", "jsonl", "--no-demangle")[0].splitlines():
        sample = json.loads(text)
        leaf = sample["stack"][0]
        # V8's builtins lie in the program itself: there its symbols count
        if sample["t_ns"] not in want or not leaf.get("dso", "").endswith(".map"):
            continue
        n += 1
        names.setdefault(leaf["ip"], set()).add(leaf.get("sym"))
        if leaf.get("sym") != want[sample["t_ns"]]:
            bad.append(f"{sample['t_ns']}: {leaf}, perf {want[sample['t_ns']]}")
    if n < 50:
        return tap.skip("node --perf-prof", f"{n} samples in JIT code")
    reused = sum(len(v) > 1 for v in names.values())
    tap.check(not bad, f"node --perf-prof: {n} samples named as by perf inject --jit, {reused} addresses used more than once",
              "\n".join(bad))


LOOP_SCRIPT = """
function f(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i) % 7; return s }
const end = process.cpuUsage().user + 500e3;
while (process.cpuUsage().user < end) f(10000);
"""


def injected():
    """Each of perf inject's files has its code at the ELF entry, which is no root there."""
    if not have("node"):
        return tap.skip("perf inject --jit", "no node")
    with open("loop.js", "w") as f:
        f.write(LOOP_SCRIPT)
    perf_record("-k", "mono", "-F", "499", "-e", "cpu-clock:u", "--call-graph", "dwarf,8192", "-o", "loop.data", "node", "--perf-prof", "loop.js")
    run(["perf", "inject", "--jit", "-i", "loop.data", "-o", "injected.data"], check=False)
    if not os.path.exists("injected.data"):
        return tap.skip("perf inject --jit", "it failed")
    stacks = [{(x["t_ns"], x["tid"]): x for x in map(json.loads, resolve(data, "-f", "jsonl", "--no-inline")[0].splitlines())}
              for data in ("loop.data", "injected.data")]
    ends = [{at: (x["stop"], x["stack"][-1].get("sym")) for at, x in of.items()} for of in stacks]
    frames = [{at: [f["ip"] for f in x["stack"]] for at, x in of.items()} for of in stacks]
    other = {at: (ips, frames[1].get(at)) for at, ips in frames[0].items() if any(a != b for a, b in zip(ips, frames[1].get(at, ["none"])))}
    tap.check(not other, f"perf inject --jit: the frames of {len(frames[0])} stacks are the same, as far as both go", list(other.items())[:3])
    # Those that reached the root. Others ended in code without tables, which perf inject writes for some of it.
    roots = {end[1] for end in ends[0].values() if end[0] == "END"}
    whole = {at: end for at, end in ends[0].items() if end[0] == "END"}
    differ = {at: (end, ends[1].get(at)) for at, end in ends[0].items()
              if ends[1].get(at) != end and (end[0] == "END" or (ends[1].get(at, ("",))[0] == "END" and ends[1][at][1] not in roots))}
    # Of 4,957 stacks 4 end elsewhere: perf's copy is followed as code of files, of which more is believed or less (README.md).
    tap.check(len(whole) >= 50 and len(differ) * 100 <= len(whole), f"perf inject --jit: 99 % of {len(whole)} stacks end where they did", list(differ.items())[:9])


PYTHON_SCRIPT = """
import time
def inner(n):
    s = 0
    for i in range(n): s += i * i
    return s
def outer(): return sum([inner(2000) for _ in range(50)])
t = time.process_time()
while time.process_time() - t < 0.4: outer()
"""


def forget(pid):
    """CPython writes into /tmp, wherever TMPDIR says."""
    for path in (f"/tmp/perf-{pid}.map", f"/tmp/jit-{pid}.dump"):
        if os.path.exists(path):
            os.unlink(path)


def has_trampolines(python, option):
    code = f"import sys; sys.exit(not (sys.version_info >= (3, {12 if option == 'perf' else 13}) and sys.is_stack_trampoline_active()))"
    p = subprocess.Popen([python, "-X", option, "-c", code], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    status = p.wait()
    forget(p.pid)
    return not status


def python():
    """CPython makes a stub per function: -X perf (3.12) tells of them by a perf map, -X perf_jit (3.13) by a jitdump."""
    with open("work.py", "w") as f:
        f.write(PYTHON_SCRIPT)
    candidates = [shutil.which(f"python3.{n}") for n in range(12, 20)] + [shutil.which("python3")]
    candidates += sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")))
    for option, kind in (("perf", "perf-%s.map"), ("perf_jit", "jit-%s.dump")):
        able = [p for p in filter(None, candidates) if has_trampolines(p, option)]
        if not able:
            tap.skip(f"python -X {option}", "no python that can do it")
            continue
        perf_record("-k", "mono", "-F", "999", "--call-graph", "dwarf,16384", "-e", "cpu-clock:u", "-o", "py.data", "sh", "-c",
                    'echo $$ > pid; exec "$0" -X "$1" work.py', able[-1], option)
        text, stats = resolve("py.data")
        told = folded(resolve("py.data", "--no-guess")[0])
        with open("pid") as f:
            forget(int(f.read()))
        source = " ".join(m["source"] for m in stats["modules"] if m["path"].startswith("/tmp/perf-"))
        inner = sum(n for stack, n in folded(text).items() if any(f.startswith("py::inner:") for f in stack))
        total = sum(folded(text).values())
        tap.check(inner > total / 2 and re.search(kind % r"\d+", source), f"python -X {option}: the functions of the script have names",
                  (inner, total, source))
        # The stub of a function is called by py_trampoline_evaluator() (Python/perf_trampoline.c) and by nothing else
        evaluator = "py_trampoline_evaluator"  # in a stripped program it has no name
        wrong = [stack for stack in folded(text) if any(evaluator in s for s in folded(text)) and
                 any(f.startswith("py::") and stack[i - 1] != evaluator for i, f in enumerate(stack))]
        deep = sum(n for stack, n in folded(text).items() if [f.split(":")[2] for f in stack if f.startswith("py::")][-3:] ==
                   ["<module>", "outer", "inner"])
        tap.check(stats["root"] > 0.95 * stats["user_stacks"] and deep > total / 2 and not wrong,
                  f"python -X {option}: stacks go through the stubs to the root", (stats["root"], stats["user_stacks"], deep, total, wrong[:3]))
        # A perf map has names only: the way through the stubs is a guess. A jitdump tells it
        if option == "perf_jit":
            same = sum(min(n, told.get(stack, 0)) for stack, n in folded(text).items())
            tap.check(same > 0.98 * total, f"python -X {option}: the jitdump's call frame information agrees with the guess", (same, total))


by_time()
moved()
any_number_of_workers()
dumps_of_others()
perf_maps()
containers()
python()
node()
injected()
tap.end()
