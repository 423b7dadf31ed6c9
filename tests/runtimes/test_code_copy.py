#!/usr/bin/env python3
"""Stacks through code that was made at run time, without a file, a description or frame pointers: `capture` copies the memory.

By construction: tests/programs/jit_chain.c makes twenty functions in frames of many kinds; each calls the next one, the last one
calls spin(). And real programs: what they show must reach a root."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import CAPTURE, NO_EVENTS, RESOLVE, Tap, build, folded, have, need_events, resolve, run  # noqa: E402

tap = Tap()
LINKS = 20


def record(cmd, data="x.data", env=None, options=()):
    need_events()
    run([CAPTURE, "-q", "-F", "997", "-e", "cpu-clock:u", *options, "-o", data, "--", "sh", "-c", 'echo $$ > pid; exec "$@"', "sh", *cmd],
        env={**os.environ, **(env or {})})
    out, stats = resolve(data)
    with open("pid") as f:
        pid = f.read().strip()
    path = f"/tmp/perf-{pid}.map"
    if os.path.exists(path):
        os.unlink(path)
    return folded(out), stats


def links(stack):
    """The numbers of the functions on a stack, root first."""
    return [int(m[1]) for m in (re.match(r"link_(\d+)", f) for f in stack) if m]


def chain(what, mode):
    """Of arrangement with step s, link i * s calls link (i + 1) * s, from link 0 on."""
    stacks, _ = record([build("gcc", "jit_chain.c", "jit_chain", "-O2", "-fomit-frame-pointer"), "0.5", mode])
    steps = (1, 3, 7, 9) if "moves" in mode else (1,)
    whole = wrong = all_ = 0
    bad = []
    for stack, n in stacks.items():
        seen = links(stack)
        if not seen and "spin" not in stack:
            continue
        all_ += n
        pairs = {(b - a) % LINKS for a, b in zip(seen, seen[1:])}
        begins = not seen or "main" not in stack or seen[0] == 0
        ends = not seen or "spin" not in stack or any((LINKS - 1) * s % LINKS == seen[-1] for s in steps if not pairs or pairs == {s})
        if len(pairs) > 1 or not pairs <= set(steps) or not begins or not ends or ("main" in stack and "spin" in stack and len(seen) != LINKS):
            wrong += n
            bad.append(stack)
        whole += n if "main" in stack else 0
    tap.check(all_ > 100 and not wrong, f"{what}: none of {all_} stacks lacks a caller or has a wrong one", bad[:3])
    return whole, all_


def chains():
    if os.uname().machine != "x86_64":
        return tap.skip("code without a file", "the program makes code of x86-64")
    for what, mode in ("code without a file", ""), ("code with a common exit", "exits"):
        whole, n = chain(what, mode)
        tap.check(whole >= 0.9 * n, f"{what}: {whole} of {n} stacks reach main()")
    chain("code that moves", "moves")


def matcher():
    """PCRE2 compiles patterns: grep -P."""
    with open("text", "w") as f:
        f.writelines(f"line {i} of a file with words ababab{i % 97} and numbers {i * 7919 % 20011}\n" for i in range(240000))
    if run(["grep", "-cP", r"(a|b)+c|(\w+) \2 (?=x)", "text"], check=False).returncode > 1:
        return tap.skip("grep -P", "this grep has no PCRE2")
    # PCRE2 has 32 KiB of its own on the stack (jit_machine_stack_exec()).
    _, stats = record(["grep", "-cP", r"(a|b)+\d+ and (\w+ )+9+8$|(\w+) \3 (?=x)", "text"], options=["--call-graph", "dwarf,65528"])
    n, roots = stats["user_stacks"], stats["root"]
    # Parts that are called have their return address in the frame of their caller. Code may be copied late on a busy machine; and
    # memory of the stack that was not touched yet is not copied.
    lost = stats["no_cfi"]
    tap.check(n > 30 and roots >= 0.5 * n and lost <= 0.08 * n, f"grep -P: {roots} of {n} stacks reach the root, {lost} end in its code", stats)


def emulator():
    """What qemu-user makes of another program's code; without an argument it runs one of this machine."""
    if not have("qemu-x86_64") or not have("gcc"):
        return tap.skip("qemu-user", "no qemu-x86_64")
    program = build("gcc", "jit_chain.c", "emulated", "-O2", "-static")
    _, stats = record(["qemu-x86_64", program, "0.5"])
    n, roots = stats["user_stacks"], stats["root"]
    tap.check(n > 100 and roots >= 0.8 * n, f"qemu-user: {roots} of {n} stacks reach the root")


def environment():
    """What --runtimes asks for, and what was set before."""
    show = [CAPTURE, "-q", "-o", "env.data", "--runtimes", "--", "sh", "-c", 'echo "$NODE_OPTIONS|$ERL_AFLAGS|$PYTHONPERFSUPPORT|$MONO_ENV_OPTIONS"']
    env = {k: v for k, v in os.environ.items() if k not in ("NODE_OPTIONS", "ERL_AFLAGS", "PYTHONPERFSUPPORT", "MONO_ENV_OPTIONS")}
    node = "--perf-basic-prof --interpreted-frames-native-stack"
    tap.check(run(show, env=env).stdout == f"{node}|+JPperf true|1|--jitmap\n", "--runtimes sets the environment")
    said = run(show, env={**env, "NODE_OPTIONS": "--no-warnings", "PYTHONPERFSUPPORT": "0"}).stdout
    tap.check(said == f"--no-warnings {node}|+JPperf true|0|--jitmap\n", "--runtimes: what is set stays", said)
    p = run([CAPTURE, "--runtimes", "-a"], check=False)
    tap.check(p.returncode == 2 and "give one after --" in p.stderr, "--runtimes without a command is refused", p.stderr)


def main():
    if NO_EVENTS:
        return tap.skip("code without a file", NO_EVENTS)
    environment()
    chains()
    matcher()
    emulator()
    return 0


main()
tap.end()
