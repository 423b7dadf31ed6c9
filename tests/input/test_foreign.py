#!/usr/bin/env python3
"""What people give to resolve by mistake is named, with the line that shows it and what to do; what only looks odd (marks, encodings, long
lines, fractions, a message before the text) is read."""
import os
import shutil
import subprocess

from tap import Tap

BIN, TOP = os.environ["BIN"], os.environ["TOP"]
tap = Tap()


def resolve(data, *args):
    """(status, stdout, stderr); the data is a file, not a pipe."""
    with open("in", "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())
    p = subprocess.run([f"{BIN}/resolve", *args, "in"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return p.returncode, p.stdout.decode(errors="replace"), p.stderr.decode(errors="replace")


def folded(text):
    return {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in text.splitlines()}


# ---- known and not read: text, the word that names it, the line that shows it --------------------------------------
FOREIGN = {
    "Go heap?debug=1": ("heap profile: 3: 4800 [9: 12000] @ heap/1048576\n1: 4096 [1: 4096] @ 0x1 0x2\n#\t0x1\tmain.f+0x1\t/m.go:1\n", "Go's heap", 1),
    "Go goroutine?debug=1": ("goroutine profile: total 3\n1 @ 0x43b 0x44c\n#\t0x43a\tmain.f+0x1a\t/m.go:3\n", "Go's goroutine", 1),
    "Go goroutine?debug=2": ("goroutine 1 [running]:\nmain.f(0x1)\n\t/m.go:5 +0x1d\n", "Go's stacks", 1),
    "Go mutex?debug=1": ("--- mutex:\ncycles/second=1000\nsampling period=5\n12 3 @ 0x1 0x2\n", "mutexes", 1),
    "massif": ("desc: --massif-out-file=ms\ncmd: /bin/true\ntime_unit: i\n#-----------\nsnapshot=0\n", "massif", 1),
    "strace": ("brk(NULL)                               = 0x5555\nread(3, \"\\177ELF\", 832) = 832\nclose(3) = 0\n", "strace", 2),
    "strace -f": ("[pid 12] read(3, \"x\", 8) = 8\n[pid 13] close(3) = 0\n[pid 13] exit_group(0)\n", "strace", 2),
    "perf script -D": ("0x1a8 [0x50]: event: 79\n.\n. ... raw event: size 80 bytes\n.  0000:  4f 00 00 00\n\n0 0x1a8 [0x50]: PERF_RECORD_TIME_CONV\n", "perf script -D", 1),
    "perf report --stdio": ("# To display the perf.data header info, please use --header/--header-only options.\n#\n# Overhead  Command  Shared Object  Symbol\n"
                            "    12.00%  x  x  [.] main\n", "perf report", 1),
    "gprof": ("Flat profile:\n\nEach sample counts as 0.01 seconds.\n  %   cumulative   self\n 100.00      0.02     0.02        1    20.00    20.00  f\n", "gprof", 1),
    "gmon.out": (b"gmon\1\0\0\0" + bytes(40), "gmon.out", 1),
    "gdb": ("#0  0x00007f in read () from /lib/libc.so.6\n#1  0x0000 in main (argc=1) at m.c:3\n", "debugger", 1),
    "jstack": ("2026-11-26 01:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17 mixed mode):\n\n\"main\" #1 prio=5 os_prio=0 tid=0x7f nid=0x1 runnable\n", "Java's threads", 2),
    "an ELF file": (b"\x7fELF\2\1\1" + bytes(60), "program", 1),
    "trace events": ('{"traceEvents":[{"name":"f","ph":"X","ts":1,"dur":2}]}\n', "chrome://tracing", 1),
    "trace events without a name of their own": ('[{"pid":1,"tid":2,"ts":1,"ph":"P","name":"ProfileChunk","args":{"data":{"cpuProfile":{"nodes":[{"callFrame":{}}]}}}}]\n', "chrome://tracing", 1),
    "Firefox before 2016": ('{"format": "profileJSONWithSymbolicationTable,1", "meta": {"version": 2, "processType": 0}, "profileJSON": {}}\n', "before 2016", 1),
    "Android's method traces": ("*version\n3\nclock=dual\nvm=art\n*threads\n", "Android", 1),
    "Android's method traces, as a stream": (b"SLOW\xf3\0\x20\0" + bytes(24), "Android", 1),
    "a C++ server's locks": ("--- contentionz 1 ---\ncycles/second = 3201000000\n", "go tool pprof -proto", 1),
    "a report of pprof": ("Active filters:\n   focus=x\nShowing nodes accounting for 1.12s, 100% of 1.12s total\n", "report of pprof", 3),
    "dot": ('digraph "testbinary" {\nnode [style=filled]\n', "graph for dot", 1),
    "GHC": ("\tSun Aug  6 14:50 2023 Time and Allocation Profiling Report  (Final)\n", "inferno-collapse-ghcprof", 1),
    "VTune": ('Function Stack,CPU Time:Self,Module\nTotal,0,\n', "VTune", 1),
    "Visual Studio": ("Level,Function Name,Number of Calls,Elapsed Inclusive Time %\n0,a,1,2\n", "Visual Studio", 1),
    "Instruments": ("Weight\tSelf Weight\t\tSymbol Name\n1 ms\t0 s\t \ta\n", "Instruments", 1),
    "Instruments, of allocations": ("Bytes Used\tCount\t\tSymbol Name\n 429.93 MB     100.0%\t84671\t \tstart\n", "Instruments", 1),
    "GHC, as JSON": ('{\n"program": "a",\n"total_ticks": 798,\n"cost_centres": [\n{"id": 150, "label": "IDLE"}]}\n', "GHC", 4),
    "Safari": ('{"version":1,"recording":{"displayName":"T","instrumentTypes":["timeline-record-type-script"],"records":[]}}\n', "Safari", 1),
    "trace events with a .cpuprofile in them": ('{"metadata": {},\n"traceEvents": [{"name":"P","ph":"P","args":{"data":{"cpuProfile":{"nodes":[{"id":1,"callFrame":{}}]}}}}]}\n',
                                                "chrome://tracing", 2),
    "pmcstat": ("@ inst_retired.any [35705 samples]\n\n08.33%  [2974]     a @ /boot/kernel\n", "pmcstat", 1),
    "V8's log": ("v8-version,6,0,287,53,0\n", "--prof-process", 1),
    "an old .cpuprofile": ('{"head":{"functionName":"(root)","bailoutReason":"","children":[]}}\n', "before 2017", 1),
    "stackprof": ('{"version":1.2,"mode":"wall","missed_samples":0,"frames":{}}\n', "stackprof", 1),
    "perf data convert": ('{\n\t"linux-perf-json-version": 1,\n\t"headers": {}\n}\n', "perf data convert", 2),
    "some JSON": ('{"a": [1, 2]}\n', "JSON", 1),
    "a picture": ('<?xml version="1.0"?>\n<svg width="1200"></svg>\n', "picture", 1),
}
for what, (data, word, line) in FOREIGN.items():
    code, out, err = resolve(data)
    tap.check(code == 2 and not out and err.count("\n") == 1 and word in err and f"line {line}:" in err, f"{what}: named, with its line", code, out, err)

# ---- prose that ends in numbers is no profile ------------------------------------------------------------------------
for text in ("Listening on port 8080\n", "Listening on port 8080\nReady in 12\n", "started; took 35\nstopped; took 40\n", "total 48\n-rw-r--r-- 1 me me 12 Nov 26 01:00 a\n",
             "root:x:0:0:root:/root:/bin/bash\n", "a b 1\nc d 2\n", "int main(void)\n{\n\treturn 0;\n}\n",
             "static double f(int i) { double s = 0; for (int k = 0; k < 9; k++) s += k; return s; }\nvoid g(int n) { int r = 1; }\nint main() { int r = 1; }\n"):
    code, out, err = resolve(text)
    tap.check(code == 2 and not out and err.count("\n") == 1 and "line 1" in err and "pprof" in err, f"{text.splitlines()[0]!r}: refused with the line and what is read", code, out, err)

# ---- odd and readable -------------------------------------------------------------------------------------------------
WANT = {"main;a": 3, "main;b": 2}
PLAIN = "main;a 3\nmain;b 2\n"
for what, data in {
    "UTF-8 with a mark": b"\xef\xbb\xbf" + PLAIN.encode(), "UTF-16, little": PLAIN.encode("utf-16"), "UTF-16, big": b"\xfe\xff" + PLAIN.encode("utf-16-be"),
    "lines of Windows": PLAIN.replace("\n", "\r\n"), "a message before it": "Filtering for events of type: cycles\n" + PLAIN, "a comment before it": "# cycles\n" + PLAIN,
}.items():
    code, out, err = resolve(data)
    tap.check(code in (0, 1) and folded(out) == WANT, f"folded: {what}", code, out, err)
code, out, err = resolve("é;𝄞 3\n".encode("utf-16"))
tap.check(code == 0 and folded(out) == {"é;𝄞": 3}, "UTF-16: characters of two, three and four bytes", out, err)
big = "".join(f"c;main;f{i % 1000};g{i} 1\n" for i in range(40000))
tap.check(resolve(big.encode("utf-16"))[1] == resolve(big)[1] != "", "UTF-16: more than a buffer")
code, out, err = resolve(b"main;a 3\nmain;b\0x 2\nmain;b 2\n")
tap.check(code == 0 and folded(out) == {"main;a": 3, "main;b?x": 2, "main;b": 2} and "1 bytes that are 0" in err, "a byte 0: read as '?', and counted", out, err)
for n in (20000, 70000, 300000):
    stack = "app;" + ";".join("f" * 40 for _ in range(n // 41))
    for end in ("", "\n", "\nx;y 1\n"):
        code, out, err = resolve(f"{stack} 7{end}")
        tap.check(code == 0 and folded(out).get(stack) == 7, f"folded: a first line of {n} bytes, then {end!r}", code, out[-100:], err)
with open("long", "w") as f:
    f.write(stack + " 7\n")
p = subprocess.run(f"cat long | {BIN}/resolve - | wc -c; {BIN}/regress --base long --new long; echo $?", shell=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
tap.check(p.stdout.split()[0] == str(len(stack) + 3) and "perf.data" not in p.stderr, "a long line from a pipe, and in regress", p.stdout[-300:], p.stderr)

# ---- weights that are no integers --------------------------------------------------------------------------------------
for text, want, says in (("m;a 0.5\nm;b 0.25\nm;c 1.5\n", {"m;a": 50, "m;b": 25, "m;c": 150}, "times 100"), ("m;a 1e+06\nm;b 2\n", {"m;a": 1000000, "m;b": 2}, ""),
                         ("m;a 2.0\nm;b 3.00\n", {"m;a": 2, "m;b": 3}, ""), ("m;a 1.5e3\nm;b 1\n", {"m;a": 1500, "m;b": 1}, ""), ("m;a 0.7\n", {"m;a": 7}, "times 10"),
                         ("m;a 5\nm;b 0.333333333333\n", {"m;a": 5000000, "m;b": 333333}, "rounded"), ("m;a 1.5 2.25\nm;b 3 4\n", {"m;a": 225, "m;b": 400}, "times 100")):
    code, out, err = resolve(text, *(("--event", "new") if " 2.25" in text else ()))
    tap.check(code == 0 and folded(out) == want and says in err and (says or not err), f"folded: {text!r}", code, out, err)
code, out, err = resolve("m;a 5\nm;b 1e-9\n")
tap.check(code == 1 and folded(out) == {"m;a": 5} and "1 weights are too small" in err, "folded: a weight that vanishes is counted, with status 1", code, out, err)

# ---- real producers -----------------------------------------------------------------------------------------------------
if shutil.which("valgrind"):
    for tool, word in (("massif", "massif"),):
        subprocess.run(["valgrind", f"--tool={tool}", f"--{tool}-out-file=v.{tool}", "/bin/true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if os.path.exists(f"v.{tool}"):
            with open(f"v.{tool}", "rb") as f:
                code, out, err = resolve(f.read())
            tap.check(code == 2 and word in err and "line" in err, f"what valgrind's {tool} has written: named", err)
else:
    tap.skip("what valgrind writes", "no valgrind here")
tap.end()
