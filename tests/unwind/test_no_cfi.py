#!/usr/bin/env python3
"""Programs without call frame information: are the stacks those that it would tell?

Programs are recorded and resolved; then once more with copies of all their files in which call frame information is
hidden. What is found by machine code alone must be the beginning of the same stack: it may end early, but no frame may
be another one, but for 0.3 % of stripped cc1 (gcc 14), in functions that only pointers lead to. That it does not end
early in most samples is asked only where functions have names.
"""
import json
import os
import resource
import shutil
import subprocess
import sys
from collections import Counter

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from hide_cfi import hide_cfi  # noqa: E402
from perfwrite import ABI_64, PerfWriter  # noqa: E402
from recorder import perf_record  # noqa: E402
from tap import LONG  # noqa: E402
from walks import RESOLVE, report, run  # noqa: E402

PROGRAMS = os.path.join(os.environ["TOP"], "tests/programs")


def stacks(data, *options):
    """[(addresses, stop)] and the files of their frames."""
    out = run(RESOLVE, "-f", "jsonl", "--no-inline", "--no-stitch", *options, data).stdout
    samples = [json.loads(line) for line in out.splitlines()]
    files = {f["dso"] for s in samples for f in s["stack"] if f.get("dso", "").startswith("/")}
    return [([f["ip"] for f in s["stack"]], s["stop"]) for s in samples], files


def hidden_copies(folder, files):
    for path in files:
        if os.path.isfile(path):
            hide_cfi(path, folder + path)


def check(name, whole_floor, *command):
    data = f"{name}.data"
    perf_record("-e", "cpu-clock:u", "-F", "999", "--call-graph", "dwarf,32768", "-o", data, *command)
    truth, files = stacks(data)
    root = os.path.abspath(f"{name}.root")
    hidden_copies(root, files)
    found, _ = stacks(data, "--symfs", root)
    classes, bad = Counter(), []
    for (a, stop), (b, end) in zip(truth, found):
        c = "equal" if a == b else "stops early" if b == a[:len(b)] and end != "END" else "differs"
        classes[c] += stop == "END" or c == "differs"
        if c == "differs":
            bad.append((stop, a, end, b))
    n = sum(classes.values())
    report(len(truth) == len(found) and n > 100 and len(bad) <= 0.005 * n, f"{name}: no frame of {n} stacks is another one",
           classes, *bad[:3])
    report(classes["equal"] >= whole_floor * n, f"{name}: {classes['equal']} of {n} stacks reach the root", classes)
    ended = Counter(end for _, end in stacks(data, "--symfs", root, "--no-guess")[0])
    report(ended["END"] <= 0.02 * n, f"{name}: none without guesses", ended)


def overlapping_functions():
    """Functions that all have the same 200 KB, in which each instruction has one of hundreds of frames: 20 s of CPU
    time before there was a limit for all of a file."""
    n, common = 900, 240000
    with open("overlap.s", "w") as f:
        f.writelines(f".type f{i},@function\nf{i}: push %rax\n.size f{i},{common + n - i}\n" for i in range(n))
        f.write(f"lea {8 * (n // 2 - 10)}(%rsp),%rsp\n.fill {common},1,0x90\nret\n.globl _start\n_start: call f0\nret\n")
    subprocess.run(["gcc", "-nostdlib", "-static", "-o", "overlap", "overlap.s"], check=True)
    starts = {name: int(addr, 16) for addr, _, name in map(str.split, run("nm", "overlap").stdout.splitlines())}
    mask = 0xff0fff
    w = PerfWriter("x86_64", ABI_64, mask, 256)
    w.comm("overlap")
    w.mmap(0x401000, 0x43d000, 0x1000, "r-xp", os.path.abspath("overlap"))
    for i in range(n // 2 - 10):
        regs = [0] * bin(mask).count("1")
        regs[7], regs[8] = 0x7ffc00000000, starts[f"f{i}"]
        w.sample(regs[8], regs, bytes(256))
    w.write("overlap.data")
    r = subprocess.run([RESOLVE, "-j1", "-f", "jsonl", "overlap.data"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (5, 5)))
    report(r.returncode == 0 and len(r.stdout.splitlines()) == n // 2 - 10, "overlapping functions end within 5 s of CPU time", r)


START = """
.globl _start
.type _start,@function
_start: xor %ebp,%ebp
    call outer
    hlt
.fill 200,1,0xcc
"""


def stacks_of_assembly(name, text):
    """{stack: ns} of a program without call frame information."""
    with open(f"{name}.s", "w") as f:
        f.write(START + text)
    subprocess.run(["gcc", "-nostdlib", "-static", "-o", name, f"{name}.s"], check=True)
    perf_record("-e", "cpu-clock:u", "-F", "999", "--call-graph", "dwarf,4096", "-o", f"{name}.data", f"./{name}")
    out = run(RESOLVE, "-q", "-f", "folded", f"{name}.data").stdout
    return {stack.split(";", 1)[1]: int(n) for stack, n in (line.rsplit(" ", 1) for line in out.splitlines())}


# As V8's JSConstructStubGeneric calls FastNewObject, which pushes arguments below the return address and goes on as
# CEntry, which takes them off the stack. What `outer` names is not what it gets to.
POPPED = """
.type outer,@function
outer: push %rbp; mov %rsp,%rbp; push $42
    lea generic(%rip),%rdx
    call construct
    hlt
.type construct,@function
construct: jmp *%rdx
.fill 70000,1,0xcc
.type generic,@function
generic: push %rbp; mov %rsp,%rbp; push $46; push %rsi; push %rdi
    test %rdi,%rdi
    jne 1f
    call fast
1:  pop %rdi
    leave
    ret
.type fast,@function
fast: pop %r10; push %rax; push %rcx; push %rsi; push %r10
    jmp centry
.type centry,@function
centry: push %rbp; mov %rsp,%rbp; push $12; sub $24,%rsp
    call leaf
    leave
    ret $24
.type leaf,@function
leaf: mov $300000000,%rax
2:  dec %rax
    jne 2b
    mov $60,%eax
    xor %edi,%edi
    syscall
"""


def arguments_that_callees_pop():
    n = stacks_of_assembly("popped", POPPED)
    whole = n.get("_start;outer;generic;centry;leaf", 0)
    report(whole > 10e6 and whole >= 0.97 * sum(n.values()),  # ns
           "arguments that a function takes off the stack", n)


SPIN_AND_EXIT = """    mov $150000000,%rax
1:  dec %rax
    jne 1b
    mov $60,%eax
    xor %edi,%edi
    syscall
"""

# As V8's builtins take as many arguments as they were given off the stack, and what they were called by names another
# function. In `taken` the return address is in a register. Behind the call of `popper` the stack pointer is higher than
# what was pushed says. `tail` has its caller's frame pointer again, and its own frame still.
TAKEN = """
.type outer,@function
outer: push %rbp; mov %rsp,%rbp; push $42
    lea builtin(%rip),%rdx
    push $1; push $2
    call construct
    hlt
.type construct,@function
construct: jmp *%rdx
.fill 70000,1,0xcc
.type builtin,@function
builtin: push %rbp; mov %rsp,%rbp; push $46; push %rsi; push $2
    test %rdx,%rdx
    je 2f
    call leaf
    push $8; push $9
    call popper
    mov $150000000,%rax
3:  dec %rax
    jne 3b
    push $7
    call taken
    lea tail(%rip),%rdx
    call construct
2:  mov -24(%rbp),%rcx
    leave
    cmp $2,%rcx
    jg 1f
    ret $16
1:  pop %r10
    lea (%rsp,%rcx,8),%rsp
    push %r10
    ret
.type leaf,@function
leaf: mov $150000000,%rax
1:  dec %rax
    jne 1b
    ret
.type popper,@function
popper: ret $16
.type taken,@function
taken: pop %r11
    mov $150000000,%rax
1:  dec %rax
    jne 1b
    push %r11
    ret
.type tail,@function
tail: push %rbp; mov %rsp,%rbp; push $3
    sub $24,%rsp
    and $-64,%rsp
    mov (%rbp),%rbp
""" + SPIN_AND_EXIT


def return_addresses_in_registers():
    n = stacks_of_assembly("taken", TAKEN)
    whole = [n.get("_start;outer;builtin" + leaf, 0) for leaf in ("", ";leaf", ";taken", ";tail")]
    report(min(whole) > 10e6 and sum(whole) >= 0.97 * sum(n.values()),  # ns
           "return addresses that a function takes from the stack and puts back", n)


# As stripped V8 builtins that only pointers lead to: what `outer` names is not what it gets to. The first `builtin` gives
# the frame pointer back to `outer`, the other has not touched it.
POINTED_TO = """
outer: push %rbp; mov %rsp,%rbp; push $42
    lea builtin(%rip),%rdx
    call construct
    hlt
construct: jmp *%rdx
.fill 70000,1,0xcc
"""
KEEPS_FRAME = POINTED_TO + """
builtin: push %rbp; mov %rsp,%rbp; push $46; push %rsi
    call leaf
    mov -8(%rbp),%rcx
    cmp $46,%rcx
    je 1f
    int3
1:  mov %rbp,%rsp; pop %rbp
    ret $16
leaf: """ + SPIN_AND_EXIT
KEEPS_NONE = POINTED_TO + """
builtin: sub $24,%rsp
    call leaf
    add $24,%rsp
    ret
leaf: """ + SPIN_AND_EXIT

# As x264's assembly: the stack pointer is aligned and kept in a register that the called function leaves alone, and is not
# where the word of another call is; or nothing is pushed at all.
RETURNS = """
leaf: mov $150000000,%rax
1:  dec %rax
    jne 1b
    vpaddd %ymm1,%ymm0,%ymm0
    ret
"""
BUILTIN_CALLED = """
outer: push %rbp; mov %rsp,%rbp
    lea builtin(%rip),%rdx
    call construct
    mov $60,%eax
    xor %edi,%edi
    syscall
construct: jmp *%rdx
.fill 70000,1,0xcc
"""
KEEPS_REGISTER = BUILTIN_CALLED + """
builtin: mov %rsp,%rcx
    and $-32,%rsp
    sub $96,%rsp
    lea .Lover(%rip),%rax
    mov %rax,-32(%rcx)
    call leaf
.Lover: sub $64,%rsp
    call leaf
    mov $150000000,%rax
1:  dec %rax
    jne 1b
    mov %rcx,%rsp
    ret
""" + RETURNS
KEEPS_NOTHING = BUILTIN_CALLED + """
builtin: xor %esi,%esi
    call leaf
    xor %esi,%esi
    call leaf
    mov $150000000,%rax
1:  dec %rax
    jne 1b
    ret
""" + RETURNS

# `second` ends in the middle of `first`, which is before it.
SHARES_ITS_END = BUILTIN_CALLED + """
first: xor %edi,%edi
.Lend: mov $150000000,%rax
1:  dec %rax
    jne 1b
    ret
second: xor %esi,%esi
    jmp .Lend
.fill 70000,1,0xcc
builtin: mov $1,%esi
    call second
    mov $150000000,%rax
1:  dec %rax
    jne 1b
    ret
"""


# A function behind all that have call frame information, as .fini of a stripped library: the last of these has no name,
# zeros pad its section, and what was called has jumped on.
BEHIND = """
void hidden(void) __attribute__((visibility("hidden")));
__asm__(".section .behind,\\"ax\\",@progbits;"
        ".zero 2; .p2align 4;"
        "hidden: sub $8,%rsp; mov $20000,%eax;"
        "1: dec %eax; jne 1b; add $8,%rsp; ret;"
        ".text");
void (*find(void))(void) { return hidden; }
static __attribute__((noinline)) int one(int n) { __asm__ volatile("" : "+r"(n)); return n * 3; }
int (*const pointer)(int) = one;
"""
JUMPS = """
void (*find(void))(void);
int count;
__attribute__((noinline)) void run(void (*f)(void)) { __asm__ volatile("incl %0" : "+m"(count)); f(); }
__attribute__((noinline)) void caller(void) { for (int i = 0; i < 40000; i++) run(find()); }
int main(void) { caller(); return 0; }
"""


def functions_behind_all_others():
    for name, text in ("behind.c", BEHIND), ("jumps.c", JUMPS):
        with open(name, "w") as f:
            f.write(text)
    subprocess.run("gcc -O2 -shared -fPIC -fno-toplevel-reorder behind.c -o libbehind.so -Wl,-s &&"
                   "gcc -O2 jumps.c -o jumps -L. -lbehind -Wl,-rpath,.", shell=True, check=True)
    perf_record("-e", "cpu-clock:u", "-F", "999", "--call-graph", "dwarf,4096", "-o", "behind.data", "./jumps")
    out = run(RESOLVE, "-q", "-f", "folded", "--no-inline", "behind.data").stdout
    n = {stack: int(ns) for stack, ns in (line.rsplit(" ", 1) for line in out.splitlines())}
    inside = sum(ns for stack, ns in n.items() if stack.endswith("[libbehind.so]"))
    whole = sum(ns for stack, ns in n.items() if stack.endswith(";main;caller;[libbehind.so]"))
    report(whole > 50e6 and whole >= 0.99 * inside, "a function behind all that have call frame information", n)


def functions_that_pointers_lead_to():
    for what, text, whole in (("a frame pointer", KEEPS_FRAME, ["leaf", "builtin", "outer", "_start"]),
                              ("another's", KEEPS_NONE, ["leaf", "builtin"]),
                              ("a stack pointer in a register", KEEPS_REGISTER, ["leaf", "builtin", "outer", "_start"]),
                              ("nothing on the stack", KEEPS_NOTHING, ["leaf", "builtin", "outer", "_start"]),
                              ("an end that its callee shares", SHARES_ITS_END, ["first", "builtin", "outer", "_start"])):
        with open("pointed.s", "w") as f:
            f.write(START + text)
        subprocess.run(["gcc", "-nostdlib", "-static", "-o", "pointed", "pointed.s"], check=True)
        starts = sorted((int(a, 16), name) for a, _, name in map(str.split, run("nm", "pointed").stdout.splitlines()))
        subprocess.run(["strip", "pointed"], check=True)
        perf_record("-e", "cpu-clock:u", "-F", "999", "--call-graph", "dwarf,4096", "-o", "pointed.data", "./pointed")
        found = Counter(tuple(([name for start, name in starts if start < int(ip, 16)] or ["first instruction"])[-1] for ip in ips)
                        for ips, _ in stacks("pointed.data")[0])
        n = found[tuple(whole)] + found[tuple(whole[1:])]  # both have loops
        report(found[tuple(whole)] > 20 and n >= 0.97 * sum(found.values()),
               f"a stripped function that only a pointer leads to, with {what}", found)


# `taken` has the return address in a register and its stack pointer elsewhere; its caller has no frame pointer. Where the
# caller's own return address would be if the stack pointer were where the call left it, is that of another call.
ELSEWHERE = """
.type outer,@function
outer: sub $8,%rsp
    call holder
    hlt
.type other,@function
other: sub $8,%rsp
    call holder
over: add $8,%rsp
    ret
.fill 200,1,0xcc
.type holder,@function
holder: sub $24,%rsp
    call taken
    add $24,%rsp
    ret
.fill 200,1,0xcc
.type taken,@function
taken: pop %r9
    sub $40,%rsp
    lea over(%rip),%rax
    mov %rax,24(%rsp)
    mov $300000000,%rax
1:  dec %rax
    jne 1b
    cmp $7,%edi
    je 2f
    mov $60,%eax
    xor %edi,%edi
    syscall
2:  add $40,%rsp
    push %r9
    ret
"""


def callers_without_a_frame_pointer():
    told = ELSEWHERE.replace("holder: sub $24,%rsp", "holder: .cfi_startproc; sub $24,%rsp; .cfi_def_cfa_offset 32")
    told = told.replace("    add $24,%rsp\n    ret\n", "    add $24,%rsp\n    ret\n    .cfi_endproc\n")
    for what, text in (("no CFI", ELSEWHERE), ("CFI", told)):
        n = stacks_of_assembly("elsewhere", text)
        # One sample may be of _start, before its call.
        report(set(n) <= {"taken", "_start"} and n.get("taken", 0) >= 0.95 * sum(n.values()) > 0, f"a caller that only the stack pointer leads to, and it is elsewhere, {what}", n)


# A signal's handler has another word in the register.
INTERRUPTED = """
.type outer,@function
outer: push %rbp; mov %rsp,%rbp
    mov $13,%eax
    mov $11,%edi
    lea action(%rip),%rsi
    xor %edx,%edx
    mov $8,%r10d
    syscall
    call taken
    hlt
.type other,@function
other: push %rbp; mov %rsp,%rbp
    call taken
over: pop %rbp
    ret
.fill 200,1,0xcc
.type taken,@function
taken: pop %r9
    xor %eax,%eax
    mov (%rax),%rax
    push %r9
    ret
.fill 200,1,0xcc
.type handler,@function
handler: lea over(%rip),%r9
""" + SPIN_AND_EXIT + """.fill 200,1,0xcc
.type restorer,@function
restorer: mov $15,%rax
    syscall
.data
action: .quad handler, 0x04000000, restorer, 0
"""


def registers_of_a_handler():
    n = stacks_of_assembly("interrupted", INTERRUPTED)
    inside = [stack for stack in n if stack.endswith("taken;restorer;handler")]
    report(len(inside) == 1 and "other" not in inside[0] and set(n) - set(inside) <= {"_start"}, "a return address in a register, interrupted by a signal", n)


CONTEXT = """
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>
static ucontext_t back, there;
static volatile unsigned n;
static void __attribute__((noinline)) spin(void) { while (++n % 1000000); }
static void body(void) { for (;;) { spin(); swapcontext(&there, &back); } }
int main(void)
{
	getcontext(&there);
	there.uc_stack.ss_sp = malloc(65536);
	there.uc_stack.ss_size = 65536;
	makecontext(&there, body, 0);
	while (clock() < CLOCKS_PER_SEC / 4)
		swapcontext(&back, &there);
}
"""


def context_that_nobody_called():
    """What makecontext() has set up returns to glibc's __start_context, which has not called it."""
    with open("context.c", "w") as f:
        f.write(CONTEXT)
    for what, flags in (("CFI", ["-O1"]), ("no CFI", ["-O1", "-static", "-fno-asynchronous-unwind-tables"])):
        subprocess.run(["gcc", *flags, "-o", "context", "context.c"], check=True)
        perf_record("-e", "cpu-clock:u", "-F", "999", "--call-graph", "dwarf,4096", "-o", "context.data", "./context")
        r = run(RESOLVE, "--stats=json", "-f", "folded", "--comm", "context", "context.data")
        stats = json.loads(r.stderr.splitlines()[-1])
        inside = sum(int(line.rsplit(" ", 1)[1]) for line in r.stdout.splitlines() if ";body;spin " in line)
        report(inside > 100e6 and stats["root"] >= 0.98 * stats["user_stacks"] and stats["no_cfi"] <= 0.02 * stats["user_stacks"],
               f"a context that was not called, {what}", (r.stdout, stats))
        # of libc.so it is no exported name
        nameless = [line for line in r.stdout.splitlines() if ";body" in line and ";__start_context;body" not in line]
        report("-static" not in flags or not nameless, f"its root has a name, {what}", nameless)


def main():
    overlapping_functions()
    if not shutil.which("perf"):
        print("ok - no call frame information # SKIP no perf")
        return
    arguments_that_callees_pop()
    return_addresses_in_registers()
    functions_behind_all_others()
    functions_that_pointers_lead_to()
    callers_without_a_frame_pointer()
    registers_of_a_handler()
    context_that_nobody_called()
    for name, flags in (("calls", ["-O2", "-fomit-frame-pointer"]), ("small", ["-Os", "-fomit-frame-pointer"])):
        subprocess.run(["gcc", *flags, "-static", "-o", name, os.path.join(PROGRAMS, "calls.c")], check=True)
        check(name, 0.97, f"./{name}", "0.4" if LONG else "0.2")
    # libc's own functions, by the names that it exports, and by calls. Of 3.14, which gcc 16 has compiled, most samples
    # are in the cold part of _PyEval_EvalFrameDefault, where only jumps lead, and behind the jump table of r_object.
    check("python", 0.4 if sys.version_info < (3, 14) else 0, sys.executable, "-c",
          f"import json, time\nend = time.process_time() + {1.2 if LONG else 0.5}\nwhile time.process_time() < end: json.loads(json.dumps(list(range(9999))))")
    # stripped
    with open("big.c", "w") as f:
        f.write("#include <stdio.h>\n")
        f.writelines(f"int f{i}(int a, char *b) {{ for (int j = 0; j < a; j++) b[j] += b[a - j] * {i}; return a ? f{i - 1}(a - 1, b) : 0; }}\n"
                     if i else "int f0(int a, char *b) { return a + *b; }\n" for i in range(400 if LONG else 200))
    check("gcc", 0.2, "gcc", "-O2", "-c", "big.c")


main()
