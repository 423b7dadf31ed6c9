#!/usr/bin/env python3
"""A real JVM (HotSpot): compiled methods, its interpreter and its stubs have no call frame information.

Without frame pointers stacks end in compiled code, unless an agent tells the code itself in a jitdump.

What must hold is known from the source and from HotSpot: fib(), outer() and inner() are not inlined, so outer() calls
inner(); and the JVM enters Java code in JavaCalls::call_helper() only (share/runtime/javaCalls.cpp), through a stub, so
that any other function of libjvm above Java code was never there. With -XX:+PreserveFramePointer compiled code keeps frame
pointers, and the stacks reach the root.
"""
import collections
import re
import subprocess

from common import *

tap = Tap()
BY_JVM, BY_AGENT = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit"], ["-agentpath:./jvm_agent.so=map"]
MAP = list(BY_JVM)  # what makes it write a perf map
FLAGS = ["-XX:CICompilerCount=2", "-XX:CompileCommand=quiet"]
FLAGS += [f"-XX:CompileCommand=dontinline,Java.{name}" for name in ("fib", "inner", "outer")]


def record(name, *flags, program="Java"):
    """The samples of a run, leaf first, and the statistics."""
    perf_record("-F", "999", "--call-graph", "dwarf,32768", "-e", "cpu-clock:u", "-o", name, "sh", "-c",
                'echo $$ > pid; exec java "$@"', "sh", *MAP, *FLAGS, *flags, "-cp", ".", program, "900")
    text, stats = resolve(name, "-f", "jsonl", "--no-inline")
    with open("pid") as f:
        os.unlink(f"/tmp/perf-{f.read().strip()}.map")
    return [json.loads(line) for line in text.splitlines()], stats


def record_with_agent(name, *flags):
    """The same with a jitdump instead of a perf map."""
    perf_record("-k", "mono", "-F", "999", "--call-graph", "dwarf,32768", "-e", "cpu-clock:u", "-o", name, "java",
                "-agentpath:./jvm_agent.so", *FLAGS, *flags, "-cp", ".", "Java", "900")
    text, stats = resolve(name, "-f", "jsonl", "--no-inline")
    return [json.loads(line) for line in text.splitlines()], stats


def method(frame):
    """Java.inner of `long Java.inner(long)` or, from an agent, of `LJava;inner`; None: not compiled Java code."""
    told = re.fullmatch(r"L(.*);(\w+)", frame.get("sym", ""))
    name = [".".join(told.groups())] if told else frame.get("sym", "").split("(")[0].split(" ")
    return name[-1] if frame.get("dso", "").endswith(".map") and "." in name[-1] else None


def in_jit(frame):
    return frame.get("dso", "").endswith(".map")


def callers(samples):
    """How often compiled methods of the program were called by what."""
    found = collections.Counter()
    for s in samples:
        for called, caller in zip(s["stack"], s["stack"][1:]):
            if (method(called) or "").startswith("Java."):
                found[method(called), method(caller) or caller.get("sym")] += 1
    return found


def invented(samples):
    """Functions of the JVM that would have called Java code, but do not. Stubs without Java code are called by others: one
    tells what the processor can do, one flushes its instruction cache."""
    found = collections.Counter()
    for s in samples:
        for called, caller in zip(s["stack"], s["stack"][1:]):
            if in_jit(called) and not in_jit(caller) and "call_helper" not in caller.get("sym", "") and \
                    not called.get("sym", "").endswith("stub"):
                found[called.get("sym"), caller.get("sym")] += 1
    return found


def names(samples, what):
    leaves = collections.Counter(method(s["stack"][0]) for s in samples if s["stack"])
    jit = [f for s in samples for f in s["stack"] if in_jit(f)]
    named = sum("sym" in f for f in jit)
    tap.check(leaves["Java.inner"] > 10 and leaves["Java.fib"] > 10 and named > 0.98 * len(jit),
              f"{what}: {len(leaves)} compiled methods, {named} of {len(jit)} frames of JIT code have names",
              leaves.most_common(20))


# Large frames of compiled methods keep return addresses of calls into the JVM that are over; any of these might be the
# frame pointer's owner, and 1 to 3 % of the stacks end there, each saying so. JDK 25 has stubs in which 1.4 % end.
ALL = 0.95


def with_frame_pointers():
    samples, stats = record("fp.data", "-XX:+PreserveFramePointer")
    names(samples, "frame pointers")
    whole = stats["user_stacks"] - stats["truncated"]
    tap.check(whole > 100 and stats["root"] >= ALL * whole,
              f"frame pointers: {stats['root']} of {whole} stacks that were not cut reach the root", stats)
    called = callers(samples)
    good = called["Java.inner", "Java.outer"] + called["Java.fib", "Java.fib"]
    bad = {pair: n for pair, n in called.items() if pair[0] == "Java.inner" and pair[1] not in ("Java.outer", "Interpreter")}
    tap.check(good > 100 and sum(bad.values()) <= good // 100, f"frame pointers: {good} calls as in the source", called.most_common(20))
    wrong = invented(samples)
    tap.check(sum(wrong.values()) <= len(samples) // 500, "frame pointers: no callers that do not call Java code", wrong.most_common(20))


def without():
    samples, stats = record("plain.data", "-XX:-PreserveFramePointer")
    names(samples, "no frame pointers")
    wrong = invented(samples)
    tap.check(sum(wrong.values()) <= len(samples) // 500, "no frame pointers: no callers that do not call Java code", wrong.most_common(20))
    # compiled code is where the way ends, and nothing else
    ends = collections.Counter(s.get("stop") for s in samples if s.get("stop") in ("NO_CFI", "LOOP", "BAD_CFI", "BAD_MEMORY", "NO_MAP")
                               and not in_jit(s["stack"][-1]))
    tap.check(sum(ends.values()) <= len(samples) // 500, f"no frame pointers: {stats['root']} of {stats['user_stacks']} stacks "
              "reach the root, the others end in JIT code", ends)


def build_agent():
    java_home = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("javac"))))
    return not run(["gcc", "-shared", "-fPIC", "-O2", f"-I{java_home}/include", f"-I{java_home}/include/linux", "-o", "jvm_agent.so",
                    os.path.join(PROGRAMS, "jvm_agent.c")], check=False).returncode


def agent():
    """The machine code in the jitdump tells the frames, with and without frame pointers. Frame pointers are the truth for
    all but the leaf's caller, which they skip while the leaf has not pushed its own."""
    if not build_agent():
        return tap.skip("a JVM with an agent", "no compiler, or no jvmti.h")
    for pointers in "-", "+":
        what = f"jitdump, -XX:{pointers}PreserveFramePointer"
        samples, stats = record_with_agent("agent.data", f"-XX:{pointers}PreserveFramePointer")
        names(samples, what)
        whole = stats["user_stacks"] - stats["truncated"]
        tap.check(whole > 100 and stats["root"] >= 0.95 * whole, f"{what}: {stats['root']} of {whole} stacks that were not cut reach the root",
                  stats)
        called = callers(samples)
        good = called["Java.inner", "Java.outer"] + called["Java.fib", "Java.fib"]
        bad = {pair: n for pair, n in called.items() if
               (pair[0] == "Java.inner" and pair[1] not in ("Java.outer", "Interpreter")) or
               (pair[0] == "Java.outer" and pair[1] not in ("Java.work", "Interpreter")) or
               (pair[0] == "Java.fib" and pair[1] not in ("Java.fib", "Java.work", "Interpreter"))}
        tap.check(good > 100 and sum(bad.values()) <= good // 200, f"{what}: {good} calls as in the source", bad)
        wrong = invented(samples)
        tap.check(sum(wrong.values()) <= len(samples) // 500, f"{what}: no callers that do not call Java code", wrong.most_common(20))
        deep = [s for s in samples if s.get("stop") == "END" and any(method(f) == "Java.outer" for f in s["stack"])]
        # work() is called by main() or by a lambda, both interpreted; perhaps work() itself is compiled by then
        lost = [s for s in deep if sum(f.get("sym") == "Interpreter" or method(f) == "Java.work" for f in s["stack"]) < 2]
        tap.check(len(deep) > 50 and not lost, f"{what}: of {len(deep)} stacks none lacks a caller of outer()",
                  [[f.get("sym") for f in s["stack"]] for s in lost[:3]])


def lacks_caller(s):
    """Does a sample of Chain lack a caller that must be there? Methods without a name are interpreted, run() may be inlined.
    A compiled method that calls an interpreted one does so through a stub in its own code (CompiledStaticCall), which then
    is a frame of the same name."""
    want, chain, stack = None, 0, s["stack"]  # the number of the next method
    if len(stack) > 1 and method(stack[0]) in ("Chain.m1", "Chain.m4") and method(stack[0]) == method(stack[1]):
        stack = stack[1:]
    for f in stack:
        n = (method(f) or "").replace("Chain.", "")
        if f.get("sym") == "Interpreter":
            want = None if want is None else (want - 1) % 8
        elif n in [f"m{i}" for i in range(8)]:
            if want not in (None, int(n[1])):
                return True
            want = (int(n[1]) - 1) % 8
        elif n in ("run", "main"):
            if want not in (None, 7, 6):
                return True
            want = None
        else:
            continue
        chain += 1
    if s.get("stop") == "END" and method(s["stack"][0]) == "Chain.spin" and chain < 3:
        return True
    return s.get("stop") == "END" and want not in (None, 5, 6)


def chain():
    """Some methods are never compiled: frames of the interpreter between those of compiled code, with and without frame
    pointers. No caller may be left out; without frame pointers the stack ends instead."""
    flags = [f"-XX:CompileCommand=dontinline,Chain.{m}" for m in ["spin"] + [f"m{i}" for i in range(8)]]
    flags += ["-XX:CompileCommand=exclude,Chain.m2", "-XX:CompileCommand=exclude,Chain.m5"]
    for pointers in "-", "+":
        what = f"a known chain of calls, -XX:{pointers}PreserveFramePointer"
        samples, stats = record("chain.data", f"-XX:{pointers}PreserveFramePointer", *flags, program="Chain")
        ours = [s for s in samples if any((method(f) or "").startswith("Chain.") for f in s["stack"])]
        lacking = [[f.get("sym", "?") for f in s["stack"]] for s in ours if lacks_caller(s)]
        tap.check(len(ours) > 100 and not lacking, f"{what}: of {len(ours)} stacks none lacks a caller", len(lacking), lacking[:3])
        if pointers == "+":
            root = sum(s.get("stop") == "END" for s in ours)
            tap.check(root >= ALL * len(ours), f"{what}: {root} of {len(ours)} reach the root", collections.Counter(s.get("stop") for s in ours))


def running():
    """A JVM without any flag (JDK 17). What is said on standard error is then done: while it runs jcmd writes the map."""
    p = subprocess.Popen(["java", "-cp", ".", "Java", "600000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: cpu_seconds(p.pid) > 2, "the JVM compiles")
        perf_record("-F", "999", "--call-graph", "dwarf,8192", "-e", "cpu-clock:u", "-o", "running.data", "-p", str(p.pid),
                    *until_cpu(p.pid, 1))
        said = run([RESOLVE, "-o", "running.folded", "running.data"]).stderr
        run(["jcmd", str(p.pid), "Compiler.perfmap"])
        text, _ = resolve("running.data", "-f", "jsonl", "--no-inline")
    finally:
        p.terminate()  # so that it takes its socket for jcmd away
        p.wait()
        if os.path.exists(f"/tmp/perf-{p.pid}.map"):
            os.unlink(f"/tmp/perf-{p.pid}.map")
    tap.check("jcmd PID Compiler.perfmap" in said, "without a map: jcmd is named", said)
    jit = [f for line in text.splitlines() for f in json.loads(line)["stack"] if in_jit(f)]
    named = sum("sym" in f for f in jit)
    tap.check(named >= 0.95 * len(jit) and any(method(f) == "Java.fib" for f in jit),
              f"with the map that jcmd writes: {named} of {len(jit)} frames of JIT code have names", jit[:5])


def java_writes_maps():
    """Tries it; the map goes into /tmp, wherever TMPDIR says."""
    p = subprocess.Popen(["java", *MAP, *FLAGS, "-cp", ".", "Java", "1"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    status = p.wait()
    if os.path.exists(f"/tmp/perf-{p.pid}.map"):
        os.unlink(f"/tmp/perf-{p.pid}.map")
    return not status


def main():
    if not have("java") or not have("javac"):
        return tap.skip("a JVM", "no java")
    p = run(["javac", "-d", ".", os.path.join(PROGRAMS, "Java.java"), os.path.join(PROGRAMS, "Chain.java")], check=False)
    if p.returncode:
        return tap.skip("a JVM", "cannot compile")
    if not java_writes_maps():  # before JDK 17
        MAP[:] = BY_AGENT
        if not build_agent() or not java_writes_maps():
            return tap.skip("a JVM", "no HotSpot with -XX:+DumpPerfMapAtExit (JDK 17), nor with an agent")
    with_frame_pointers()
    without()
    chain()
    if MAP == BY_JVM:
        running()
    else:
        tap.skip("with the map that jcmd writes", "its JVM knows no Compiler.perfmap (JDK 17)")
    agent()


main()
tap.end()
