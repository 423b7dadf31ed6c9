#!/usr/bin/env python3
"""The one line about stacks and names of runtimes that write neither tables nor maps: of each that is installed, recorded by capture without a
flag; and that the cure that it names is one."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import CAPTURE, RESOLVE, Tap, have, need_events, run  # noqa: E402

tap = Tap()
need_events()
FILES = {
    "w.lisp": "(defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))\n(compile 'fib)\n(loop while (< (get-internal-run-time) (* 0.6 internal-time-units-per-second)) do (fib 20))\n",
    "w.rkt": "#lang racket/base\n(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))\n(let loop () (when (< (current-process-milliseconds) 1000) (fib 20) (loop)))\n",
    "w.ss": "(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))\n(let loop () (when (< (cpu-time) 600) (fib 20) (loop)))\n(exit)\n",
    "w.scm": "(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))\n(let loop () (if (< (get-internal-run-time) (* 0.6 internal-time-units-per-second)) (begin (fib 18) (loop))))\n",
    "w.hs": "import System.CPUTime\nfib :: Int -> Integer\nfib n = if n < 2 then toInteger n else fib (n - 1) + fib (n - 2)\n"
            "loop :: Integer -> IO ()\nloop s = do { t <- getCPUTime; if t > 600000000000 then print s else loop $! (s + fib 20) }\nmain :: IO ()\nmain = loop 0\n",
    "w.lua": "local ffi = require 'ffi'\nffi.cdef [[int execvp(const char *, const char *const *);]]\n"
             "local function spin(n) local s = 0 for i = 1, n do s = (s * 31 + i) % 1000003 end return s end\n"
             "while os.clock() < 1.5 do spin(20000) end\nffi.C.execvp('java', ffi.new('const char *[3]', {'java', '-version', nil}))\n",
    "w.py": "import time\ndef fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\nwhile time.process_time() < 1: fib(18)\n",
    "w.rb": "def spin(k) s = k; (k * 2000).times { |i| s = (s * 31 + i) & 0xffff }; s end\nspin(3) while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < 0.6\n",
}
# What must be installed, what builds it, what is recorded, what must be said
RUNTIMES = [
    ("sbcl", [], ["sbcl", "--script", "w.lisp"], ["SBCL's core is no ELF file: how its code", "; SBCL's core is no ELF file: its code has no names for recorders; sb-sprof"]),
    ("racket", [], ["racket", "w.rkt"], ["Racket's code keeps its callers in a stack of its own", "; Racket's code has no names for recorders"]),
    ("scheme", [], ["scheme", "--script", "w.ss"], ["Chez Scheme's code keeps its callers in a stack of its own", "; Chez Scheme's code has no names"]),
    ("guile", [], ["guile", "--no-auto-compile", "w.scm"], ["GUILE_JIT_THRESHOLD=-1", "; Guile's compiled code has no names for recorders"]),
    ("ghc", ["ghc", "-v0", "-O", "w.hs", "-o", "hs"], ["./hs"], ["Haskell's code (GHC) keeps its callers in a stack of its own"]),
    ("pypy3", [], ["pypy3", "w.py"], ["; PyPy's compiled code has no names for recorders"]),
]
# The same where the cure is
CURES = [
    ("guile", ["env", "GUILE_JIT_THRESHOLD=-1", "guile", "--no-auto-compile", "w.scm"]),
    ("pypy3", ["pypy3", "--jit", "off", "w.py"]),
]


def record(cmd):
    run([CAPTURE, "-q", "-F", "999", "-e", "cpu-clock:u", "--bundle", "-o", "x.data", "--", *cmd])
    return run([RESOLVE, "--stats=json", "-f", "folded", "x.data"]).stderr


def two_rubies():
    """Both map libruby, of which the recording knows the first process alone."""
    if not have("ruby") or run(["ruby", "--yjit", "-e", "0"], check=False).returncode:
        return tap.skip("two processes of Ruby", "no Ruby with YJIT")
    said = record(["sh", "-c", "ruby --yjit w.rb; ruby --yjit w.rb"])
    line = [x for x in said.splitlines() if "; Ruby's YJIT writes names" in x]
    return tap.check(len(line) == 1 and line[0].count("/tmp/perf-") == 2 and "node --perf-basic-prof" not in said, "two processes of Ruby: both are told of YJIT", said)


def another_program():
    """LuaJIT's code is LuaJIT's, though its process becomes a JVM."""
    if not have("luajit") or not have("java"):
        return tap.skip("LuaJIT that becomes a JVM", "they are not installed")
    said = record(["luajit", "w.lua"])
    lines = [x for x in said.splitlines() if "/tmp/perf-" in x and not x.startswith("{")]
    return tap.check(len(lines) == 1 and "LuaJIT writes no names for recorders" in lines[0] and "JVM" not in lines[0], "LuaJIT that becomes a JVM: the words are LuaJIT's", said)


def main():
    for name, text in FILES.items():
        with open(name, "w") as f:
            f.write(text)
    for tool, make, cmd, lines in RUNTIMES:
        if not have(tool):
            tap.skip(f"words about {tool}", "it is not installed")
            continue
        if make:
            run(make)
        said = record(cmd)
        for line in lines:
            tap.check(said.count(line) == 1 and "node --perf-basic-prof" not in said, f"{tool}: {line}", said)
    two_rubies()
    another_program()
    for tool, cmd in CURES:
        if not have(tool):
            tap.skip(f"the cure for {tool}", "it is not installed")
            continue
        stats = json.loads([x for x in record(cmd).splitlines() if x.startswith("{")][-1])
        ended = stats["root"] + stats["truncated"]
        tap.check(ended >= 0.97 * stats["user_stacks"], f"{' '.join(cmd)}: {ended} of {stats['user_stacks']} stacks are whole, or were cut")


main()
tap.end()
