#!/usr/bin/env python3
"""What formats make of their options: shapes of folded stacks, rows of top, what is ignored is told; the line of progress; the same stacks
from every input that can hold them."""
import collections
import fcntl
import gzip
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import CAPTURE, RESOLVE, Tap, build, run

tap = Tap()


def resolve(*args, **more):
    return subprocess.run([RESOLVE, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def on_terminal(*args, out="stdout", size=None):
    """What a command writes to a terminal, which is its standard output or error. size: rows, columns."""
    ours, theirs = pty.openpty()
    if size:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("<4H", *size, 0, 0))
    p = subprocess.Popen(args, stdin=subprocess.DEVNULL, **{"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, out: theirs})
    os.close(theirs)
    text = b""
    try:
        while got := os.read(ours, 65536):
            text += got
    except OSError:  # the other end has gone
        pass
    os.close(ours)
    return p.wait(), text.decode()


with open("r.folded", "w") as f:
    f.write("app;main;a;a;b;b;a 3\napp;x;a 2\n")
for option, want in (("--reverse", "a;b;b;a;a;main;app 3\na;x;app 2\n"), ("--collapse-recursion", "app;main;a;b;a 3\napp;x;a 2\n"),
                     ("--skip-after=main", "app;main;a;a;b;b;a 3\napp;x;a 2\n"), ("--skip-after=b", "app;b;a 3\napp;x;a 2\n"),
                     ("--skip-after=app", "app;main;a;a;b;b;a 3\napp;x;a 2\n")):
    p = resolve(option, "r.folded")
    tap.check(p.stdout == want and p.stderr == "", f"folded {option}", p.stdout, p.stderr)
svg = resolve("--collapse-recursion", "--minwidth", "0", "-f", "flamegraph", "r.folded").stdout
tap.check(len(re.findall("<title>a ", svg)) == 3, "svg --collapse-recursion: as folded", re.findall("<title>[^<]*", svg))

# ---- top ----
with open("t.folded", "w") as f:
    f.write("app;main;f 50\napp;main;g;f 30\napp;main;g 15\napp;main;名前 4\napp;main;h 1\n")
rows = lambda *o: [re.split(r"\s{2,}", line.strip()) for line in resolve("-f", "top", *o, "t.folded").stdout.splitlines() if line and line[0] != "#" and "from" not in line]
tap.check([r[-1] for r in rows("--no-children")] == ["[.] f", "[.] g", "[.] 名前", "[.] h"] and rows("--no-children")[0][0] == "80.00%", "top --no-children: by own cost", rows("--no-children"))
tap.check(len(rows("-n", "2")) == 2 and "# and 3 more" in resolve("-f", "top", "-n", "2", "t.folded").stdout, "top -n: and how many more")
tap.check([r[-1] for r in rows("--percent-limit", "40")] == ["[.] main", "[.] f", "[.] g"], "top --percent-limit", rows("--percent-limit", "40"))
tap.check(rows("--sort", "comm") == [["100.00%", "100.00%", "app"]], "top --sort comm: rows are added up", rows("--sort", "comm"))
text = resolve("-f", "top", "--callers", "t.folded").stdout
tap.check(re.search(r"\] f\n +from +62\.50%  \[\.\] main\n +from +37\.50%  \[\.\] g\n", text), "top --callers: with their shares", text)
with open("w.folded", "w") as f:
    f.write("名前;f 1\nnarrow;f 1\n")
text = [line for line in resolve("-f", "top", "w.folded").stdout.splitlines() if line[:1] == " "]
wide = next(line for line in text if "名前" in line)
narrow = next(line for line in text if "narrow" in line)
tap.check(wide.index("[.]") + 2 == narrow.index("[.]"), "top: columns of a terminal, where some letters take two", text)
for bad in (("--sort", "height"), ("--percent-limit", "x"), ("-n", "-1")):
    p = resolve("-f", "top", *bad, "t.folded")
    tap.check(p.returncode == 2 and bad[0].lstrip("-")[0] in p.stderr, f"top {' '.join(bad)}: refused", p.stderr)
with open("many.folded", "w") as f:
    f.writelines(f"app;f{i} {i + 1}\n" for i in range(500))
code, text = on_terminal(RESOLVE, "-f", "top", "many.folded")
tap.check(code == 0 and text.count("\n") < 40 and "more: -n 0" in text, "top: a terminal gets what fits", text.count("\n"))
os.environ["TERM"] = "xterm"
os.environ.pop("NO_COLOR", None)
with open("hot.folded", "w") as f:
    f.write("app;hot 900\napp;warm 95\napp;cold 5\n")
plain = resolve("-f", "top", "hot.folded").stdout
code, text = on_terminal(RESOLVE, "-f", "top", "hot.folded")
colour = {m[1]: m[0] for m in re.findall(r"(\x1b\[\d+m|) *[\d.]+%(?:\x1b\[0m)?  app .* (\w+)\r$", text, re.M)}
tap.check(colour == {"hot": "\x1b[31m", "warm": "\x1b[31m", "cold": ""} and re.sub(r"\x1b\[\d+m", "", text).replace("\r", "") == plain, "top: shares have perf's colours on a terminal", (colour, text))
with open("long.folded", "w") as f:
    f.write("app;main;begin::" + "x" * 200 + "::end 90\napp;main;名前" + "前" * 80 + "::end 7\napp;main;short 3\n")
code, text = on_terminal(RESOLVE, "-f", "top", "--callers", "long.folded", size=(40, 90))
lines = [re.sub(r"\x1b\[\d+m", "", line) for line in text.splitlines()]
wide = lambda line: sum(2 if c in "名前" else 1 for c in line)
tap.check(max(map(wide, lines)) in (89, 90) and any(re.search(r"begin::x+…x+::end$", line) for line in lines) and any(re.search("名前+…前+::end$", line) for line in lines) and
          any(line.endswith("short") for line in lines), "top: on a terminal a line is as wide as that; the middle of long names goes", text)
for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
    old = dict(os.environ)
    os.environ[name] = value
    code, text = on_terminal(RESOLVE, "-f", "top", "hot.folded")
    os.environ.clear()
    os.environ.update(old)
    tap.check("\x1b" not in text and "hot" in text, f"top: no colours with {name}={value}", text)
tap.check("\x1b" not in plain, "top: no colours in a pipe")
tap.check(resolve("-f", "top", "many.folded").stdout.count("\n") > 500, "top: a pipe gets all rows")

# ---- top: shares add up, and a terminal shows what costs most ----
with open("many.folded", "w") as f:
    f.writelines(f"app;main;f{i} {1 + i % 3}\n" for i in range(7000))
for options in ((), ("--no-children",)):
    own = [float(line.split("%")[-2].split()[-1]) for line in resolve("-f", "top", *options, "many.folded").stdout.splitlines() if line.startswith("  ")]
    tap.check(len(own) >= 7000 and round(sum(own), 2) == 100, f"top {' '.join(options)}: the own shares add up to 100", (len(own), sum(own)))
with open("deep.folded", "w") as f:
    f.writelines(f"interpreter{'r' * 40};" + "".join(f"outer{k};" for k in range(30)) + f"a::very::long::name::{'x' * 60}::f{i} {100 - i}\n" for i in range(40))
for size in ((24, 80), (50, 200), (24, 60)):
    code, text = on_terminal(RESOLVE, "-f", "top", "deep.folded", size=size)
    lines = [re.sub(r"\x1b\[\d+m", "", line) for line in text.splitlines()]
    rows_ = [line for line in lines if "%" in line]
    tap.check(len(lines) <= size[0] - 2 and max(len(line) for line in lines) <= size[1] and len(rows_) >= min(size[0] - 10, 40) and rows_[0].rstrip().endswith("f0"),
              f"top on a terminal of {size[1]} x {size[0]}: fits, the heaviest function first", (len(lines), max(len(line) for line in lines), rows_[:2]))
code, text = on_terminal(RESOLVE, "-f", "top", "--children", "deep.folded", size=(24, 80))
tap.check("outer0" in [line for line in text.splitlines() if "%" in line][0], "top --children on a terminal: callers first", text[:400])

# ---- names of other tools: no two functions become one ----
with open("apart.folded", "w") as f:
    f.write("c;f(int);x 30\nc;f(char);y 40\nc;g(int) 2\n")
resolve("-q", "-o", "apart.pb", "apart.folded")
tap.check(resolve("-q", "apart.pb").stdout == "c;f(char);y 40\nc;f(int);x 30\nc;g 2\n", "folded of pprof: f(int) and f(char) are two functions", resolve("-q", "apart.pb").stdout)

# ---- options of other formats ----
for form, options in (("pprof", ["--kernel", "--width", "900"]), ("folded", ["--title", "x", "-n", "3"]), ("script", ["--sort", "dso", "--reverse"]), ("top", ["--with-pid"])):
    p = resolve("-f", form, *options, "-o", "out." + form, "r.folded")
    named = [o for o in options if o.startswith("-")]
    tap.check(all(f"{o} changes nothing in {form}" in p.stderr for o in named), f"{form}: a line says that {' '.join(named)} changes nothing", p.stderr)
    tap.check(resolve("-q", "-f", form, *options, "-o", "out." + form, "r.folded").stderr.count("changes nothing") == 0, f"{form}: not with -q")
tap.check("changes nothing" not in resolve("--kernel", "--with-tid", "--skip-after", "a", "r.folded").stderr, "options that are used: no such line")

tap.check(resolve("-f", "svg", "r.folded").stdout == resolve("-f", "flamegraph", "r.folded").stdout != "", "-f takes a suffix, too")

# ---- progress: an input that takes long, as a pipe that is written slowly ----
os.mkfifo("slow.folded")
writer = subprocess.Popen([sys.executable, "-c", "import time\nwith open('slow.folded', 'w') as f:\n    for i in range(30): print(f'app;f{i} 1', file=f, flush=True); time.sleep(.1)"])
code, text = on_terminal("sh", "-c", f"cat slow.folded | '{RESOLVE}' -o slow.out.folded -", out="stderr")
writer.wait()
tap.check(code == 0 and "reading standard input" in text and text.endswith("\r\x1b[K"), "a line of progress on a terminal, which goes at the end", repr(text))
code, text = on_terminal(RESOLVE, "-o", "quick.folded", "r.folded", out="stderr")
tap.check(text == "", "no line of progress for what is quick", repr(text))

# ---- what reads the output ends first ----
with open("wide.folded", "w") as f:
    f.writelines(f"app;{'f' * 200}{i};g{i} 1\n" for i in range(20000))  # much more than a pipe holds
for form in ("folded", "html", "flamegraph", "pprof", "top", "speedscope"):
    for how, want in (("default", -signal.SIGPIPE), ("ignored", 2)):
        def before(how=how):
            signal.signal(signal.SIGPIPE, signal.SIG_IGN if how == "ignored" else signal.SIG_DFL)

        reader, writer = os.pipe()
        os.close(reader)
        p = subprocess.run([RESOLVE, "-q", "-f", form, "wide.folded"], stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE, text=True,
                           restore_signals=False, preexec_fn=before)
        os.close(writer)
        said = p.stderr == "" if how == "default" else p.stderr.count("\n") == 1 and "Broken pipe" in p.stderr
        tap.check(p.returncode == want and said, f"{form} into a pipe that nothing reads, SIGPIPE {how}: {'141' if want < 0 else want}", (p.returncode, p.stderr))
p = subprocess.run(["bash", "-c", f"'{RESOLVE}' -q wide.folded | head -n 1; echo ${{PIPESTATUS[0]}}"], stdout=subprocess.PIPE, text=True)
tap.check(p.stdout.splitlines()[-1] == "141" and p.stdout.count("\n") == 2, "... | head -n 1: the shell says 141", p.stdout[-200:])

# ---- one profile in every form that can hold it ----
def folded_names(names):
    names = sorted(set(names))
    out = subprocess.run([os.environ["BUILD"] + "/tests/profile/tool_fold"], input="".join(n + "\n" for n in names), stdout=subprocess.PIPE, text=True, check=True).stdout
    return dict(zip(names, out.splitlines()))


def without_parameters(text):
    """Two overloads keep their parameters where a profile of names is read, and lose them where a recording is."""
    stacks = [(re.split(r";(?![^(]*\))", line.rsplit(" ", 1)[0]), int(line.rsplit(" ", 1)[1])) for line in text.splitlines()]
    short, sums = folded_names(f for frames, _ in stacks for f in frames[1:]), collections.Counter()
    for frames, n in stacks:
        sums[";".join([frames[0], *(short[f] for f in frames[1:])])] += n
    return "".join(f"{stack} {n}\n" for stack, n in sorted(sums.items()))


program = build("g++ -g -O2 -pthread", "threads.cc", "threads")
run([CAPTURE, "-q", "-F", "9997", "-o", "perf.data", "--", program, "0.3"])
whole = resolve("perf.data", "-q").stdout
for form in ("x.folded", "x.folded.gz", "x.folded.zst", "x.pb.gz", "x.pb", "x.script"):
    tap.check(resolve("-q", "-o", form, "perf.data").returncode == 0, f"{form} is written")
    again = resolve("-q", form).stdout
    if ".pb" in form:
        again = without_parameters(again)
    tap.check(again == whole, f"{form}: the same bytes as the recording", [p for p in zip(again.splitlines(), whole.splitlines()) if p[0] != p[1]][:3])
resolve("-q", "--with-cpu", "-o", "cpus.pb.gz", "perf.data")
cpus = collections.Counter()
for s in map(json.loads, resolve("-q", "-f", "jsonl", "perf.data").stdout.splitlines()):
    cpus[s["cpu"]] += s["period"]
if shutil.which("go"):
    tags = subprocess.run(["go", "tool", "pprof", "-symbolize=none", "-unit=ns", "-tags", "cpus.pb.gz"], stdout=subprocess.PIPE, text=True, env={**os.environ, "HOME": os.getcwd()}).stdout
    have = {int(cpu): float(ns) for ns, cpu in re.findall(r"^ *([0-9.]+)ns \([^)]*\): (\d+)(?:ns)?$", tags.split(" cpu: ")[1].split("\n\n")[0], re.M)}
    tap.check(have == dict(cpus), "--with-cpu: the label cpu with the weights of jsonl's", (have, cpus, tags))
tap.check(without_parameters(resolve("-q", "cpus.pb.gz").stdout) == whole, "--with-cpu: the same folded", cpus)
with open("x.pb", "rb") as f, gzip.open("x.pb.gz") as g:
    tap.check(f.read() == g.read(), ".pb is .pb.gz without gzip")
# bpftrace has no modules for code without names, and its stacks are leaf first.
named = [line for line in whole.splitlines() if "[" not in line]
with open("x.bt", "w") as f:
    for line in named:
        (comm, *frames), n = line.rsplit(" ", 1)[0].split(";"), line.rsplit(" ", 1)[1]
        f.write("@[\n" + "".join(f"    {frame}+1\n" for frame in reversed(frames)) + f", {comm}]: {n}\n")
again = resolve("-q", "x.bt").stdout.splitlines()
tap.check(len(named) > 3 and again == named, "bpftrace's text: the same bytes", (len(named), [p for p in zip(again, named) if p[0] != p[1]][:3]))


# ---- the formats that are no input: the same stacks, names as folded spells them ----
def as_folded(stacks):
    """stacks: of (command, names root first, weight)."""
    short, sums = folded_names(n for _, names, _ in stacks for n in names), collections.Counter()
    for comm, names, weight in stacks:
        sums[";".join([comm.replace(" ", "_"), *(short[n] for n in names)])] += weight
    return dict(sums)


want = {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in whole.splitlines()}
samples = [json.loads(line) for line in resolve("-q", "-f", "jsonl", "perf.data").stdout.splitlines()]
name_of = lambda f: f.get("sym") or f"[{os.path.basename(f.get('dso', 'unknown')).strip('[]')}]"
have = as_folded([(s["comm"], [name_of(f) for f in reversed(s["stack"])], s["period"]) for s in samples])
tap.check(have == want, "jsonl: the stacks and weights of folded", [k for k in {**have, **want} if have.get(k) != want.get(k)][:3])
scope = json.loads(resolve("-q", "-f", "speedscope", "perf.data").stdout)
names = [f["name"] for f in scope["shared"]["frames"]]
threads = [p for p in scope["profiles"] if p["name"] != "all threads"]
have = as_folded([(p["name"].rsplit(" ", 1)[0], [names[f] for f in s], w) for p in threads for s, w in zip(p["samples"], p["weights"]) if s])
tap.check(have == want, "speedscope: the threads together have those, too", [k for k in {**have, **want} if have.get(k) != want.get(k)][:3])
have = as_folded([(names[s[0]], [names[f] for f in s[1:]], w) for p in scope["profiles"] if p["name"] == "all threads" for s, w in zip(p["samples"], p["weights"])])
tap.check(have == want or len(threads) == 1, "speedscope: and all threads in one", [k for k in {**have, **want} if have.get(k) != want.get(k)][:3])
rows = [re.match(r" *[\d.]+% +([\d.]+)%  (\S+) +(\S+) +\[[.k]\] (.*)", line) for line in resolve("-q", "-f", "top", "perf.data").stdout.splitlines()]
rows = [m.groups() for m in rows if m]
short, own, total = folded_names(name for *_, name in rows), collections.Counter(), sum(want.values())
for share, comm, dso, name in rows:
    own[f"[{dso.strip('[]')}]" if name == "[unknown]" else short[name]] += float(share)
leaves = collections.Counter()
for stack, weight in want.items():
    leaves[stack.rsplit(";", 1)[1]] += 100 * weight / total
off = {f: (own[f], leaves[f]) for f in {**own, **leaves} if abs(own[f] - leaves[f]) > 0.02 * max(1, len(rows) / 20)}
tap.check(rows and not off, "top: what functions themselves cost", off)
first = json.loads(resolve("-f", "jsonl", "perf.data").stdout.splitlines()[0])
tap.check(first["v"] == 1 and set(first) <= {"v", "t_ns", "pid", "tid", "comm", "cpu", "event", "period", "stop", "stack"}, "jsonl: its version, and no member that the manual does not have", list(first))

# A pipe whose first event has no samples, of which it has recorded only the id: the columns are those of the one that has some.
IDENTIFIER, IP, TID, TIME, CPU, CYCLES, INSTRUCTIONS = 1 << 16, 1, 2, 4, 128, 0, 1
pipe = struct.pack("<8sQ", b"PERFILE2", 16)
for event_id, config, has in (1, CYCLES, IDENTIFIER), (2, INSTRUCTIONS, IDENTIFIER | IP | TID | TIME | CPU):
    attr = struct.pack("<IIQQQQQ", 0, 112, config, 1, has, 0, 0).ljust(112, b"\0")
    pipe += struct.pack("<IHH", 64, 0, 128) + attr + struct.pack("<Q", event_id)
pipe += struct.pack("<IHHQQIIQII", 9, 2, 48, 2, 0x401000, 71, 72, 5 * 10**9 + 6000, 3, 0)
with open("first.pipe", "wb") as f:
    f.write(pipe)
line = resolve("-q", "-f", "script", "first.pipe").stdout
tap.check(re.match(r" *:?-?\w* +72 \[003\] +5\.000006: +1 +instructions: +401000 ", line), "script: an event without samples does not choose the columns", line)
tap.end()
