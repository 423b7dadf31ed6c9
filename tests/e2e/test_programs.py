#!/usr/bin/env python3
"""Captures real programs, built in the ways distributions build them, and demands whole stacks.

For every program: at least 99.5 % of the user stacks end at a root, none is broken, and the folded
output holds the call paths that stand in the source. All are built with -O2 and without frame
pointers unless the row says otherwise.
"""
import os

from common import CAPTURE, Tap, build, folded, has_path, have, resolve, run

OMIT = ["-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls"]
tap = Tap()

C_PATHS = [("main", "chain_top", "chain_middle", "chain_leaf", "spin"),
           ("main", *["recurse"] * 41, "spin"),
           ("sorting", None, "compare", "spin"),
           ("main", "dynamic_frame", "spin")]
CXX_PATHS = [("work::worker", "work::Accumulator<double>::run"),
             ("work::worker", None, "work::Accumulator<long>::run", "work::spin"),
             ("work::catcher", *["work::thrower"] * 7, "work::spin"),
             ("work::catcher", "work::thrower", None, "_Unwind_RaiseException"),
             ("work::worker", "work::fibonacci", "work::fibonacci"),
             ("main", "work::worker")]
SIGNAL_PATHS = [("main", "interrupted_loop", None, "on_alarm", "handler_spin"),
                ("interrupted_libc", None, "on_alarm", "handler_spin")]
PLUGIN_PATHS = [("main", "plugin_entry", "plugin_inner", "host_callback"),
                ("main", "plugin_entry", "plugin_inner")]
ROOT_PATHS = [("_start", None, "main", "spin_for_a_while", "spin"),
              ("_start", None, "main", "in_vfork_child", "spin_for_a_while", "spin"),
              ("in_thread", "spin_for_a_while", "spin"),
              ("in_clone_child", "spin_for_a_while", "spin")]
I386_PATHS = [("start_c", "stage2", "run_main", "spin"), ("start_child", "in_child", "spin")]
RUST_PATHS = [("rusty::work", "<rusty::Square as rusty::Shape>::area", "rusty::spin"),
              ("rusty::main", None, "rusty::work"),
              ("rusty::work", "rusty::generic_sum")]

# name, compiler, source, flags, expected paths (None: stripped, no names to look for)
ROWS = [
    ("C gcc PIE", "gcc", "calls.c", OMIT, C_PATHS),
    ("C gcc -no-pie -g", "gcc", "calls.c", [*OMIT, "-no-pie", "-g"], C_PATHS),
    ("C gcc frame pointers", "gcc", "calls.c", ["-O2", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"], C_PATHS),
    ("C clang PIE", "clang", "calls.c", [*OMIT, "-fPIE", "-pie"], C_PATHS),
    ("C gcc stripped", "gcc", "calls.c", [*OMIT, "-s"], None),
    ("C gcc static glibc", "gcc", "calls.c", [*OMIT, "-static"], C_PATHS),
    ("C clang lld separate code", "clang", "calls.c", [*OMIT, "-fuse-ld=lld", "-Wl,-z,separate-code"], C_PATHS),
    ("C++ threads gcc -g", "g++", "threads.cc", [*OMIT, "-g", "-pthread"], CXX_PATHS),
    ("C++ threads clang", "clang++", "threads.cc", [*OMIT, "-pthread"], CXX_PATHS),
    ("C++ threads gcc stripped static", "g++", "threads.cc", [*OMIT, "-s", "-static", "-pthread"], None),
    ("signals gcc", "gcc", "signals.c", OMIT, SIGNAL_PATHS),
    ("signals clang static", "clang", "signals.c", [*OMIT, "-static"], SIGNAL_PATHS),
    ("roots gcc", "gcc", "roots.c", [*OMIT, "-pthread"], ROOT_PATHS),
    ("roots clang static PIE", "clang", "roots.c", [*OMIT, "-static-pie", "-pthread"], ROOT_PATHS),
    ("roots gcc stripped static", "gcc", "roots.c", [*OMIT, "-pthread", "-static", "-s"], None),
    # musl itself has no call frame information.
    ("roots musl", "musl-gcc", "roots.c", OMIT, ROOT_PATHS),
    ("roots musl static", "musl-gcc", "roots.c", [*OMIT, "-static"], ROOT_PATHS),
    ("roots musl stripped", "musl-gcc", "roots.c", [*OMIT, "-s"], None),
    ("roots musl stripped static", "musl-gcc", "roots.c", [*OMIT, "-s", "-static"], None),
    ("roots as in musl for i386", "gcc", "i386_roots.c",
     [*OMIT, "-m32", "-fno-stack-protector", "-nostdlib", "-static", "-fno-pie", "-no-pie"], I386_PATHS),
    ("Rust", "rustc", "rusty.rs", ["-O", "-g"], RUST_PATHS),
]


# Of the program that throws, one stack in 700 is caught in "the unwinder at work": enough samples to tell. The one with
# roots takes its time four times.
DURATIONS = {"threads.cc": "2.5", "roots.c": "0.15"}

# Room for two seconds of samples: a hypervisor may take the recorder's CPU away for half of one.
RINGS = ["-m", "64M"] if os.cpu_count() <= 4 else []


def check(name, command, paths):
    run([CAPTURE, "-q", "-F", "999", *RINGS, "-o", "perf.data", "--", *command])
    text, stats = resolve("perf.data", "--no-inline")
    stacks = folded(text)
    users = stats["user_stacks"]
    tap.check(users >= 100, f"{name}: enough stacks", stats)
    # One stack may be missing however few there are: see "the unwinder at work" in tests/unwind/README.md.
    tap.check(users - stats["root"] <= max(1, 0.005 * users), f"{name}: stacks end at a root", stats)
    tap.check(stats["broken"] == 0, f"{name}: no broken stack", stats)
    tap.check(stats["lost"] == 0 and stats["skipped"] == 0, f"{name}: nothing lost", stats)
    tap.check(sum(stacks.values()) == stats["period"], f"{name}: weights add up", stats)
    for path in paths or []:
        short = " ".join(str(f or "...") for f in path[:4])
        tap.check(has_path(stacks, *path), f"{name}: path {short}",
                  "\n".join(";".join(s) for s in list(stacks)[:40]))


def runs(program):
    try:
        return run([program], check=False).returncode == 0
    except OSError:
        return False


for name, compiler, source, flags, paths in ROWS:
    if not have(compiler) or ("-fuse-ld=lld" in flags and not have("ld.lld")):
        tap.skip(name, f"{compiler} or its linker is not installed")
        continue
    program = build(compiler, source, "program", *flags)
    if "-m32" in flags and not runs(program):
        tap.skip(name, "this kernel does not run 32-bit programs")
        continue
    check(name, [program, DURATIONS.get(source, "0.4")], paths)

build("gcc", "plugin.c", "plugin.so", *OMIT, "-shared", "-fPIC")
host = build("gcc", "host.c", "host", *OMIT)
check("dlopen", [host, "0.4", os.path.abspath("plugin.so")], PLUGIN_PATHS)
tap.end()
