#!/usr/bin/env python3
"""Code without symbols and without call frame information, in which other bytes look like calls into the middle of functions. Truth by
construction: main calls f, f calls leaf through a pointer, and leaf holds a constant with the bytes of such a call."""
import json
import os
import shutil
import subprocess
import sys

from tap import Tap, need_events

CAPTURE, RESOLVE = (os.path.join(os.environ["BIN"], name) for name in ("capture", "resolve"))
tap = Tap()
SOURCE = """\
	.text
	.globl main
main:	push %rbp
	mov %rsp,%rbp
	push %rbx
	sub $8,%rsp
	mov $1800,%ebx
1:	lea leaf(%rip),%rdi
	call f
	dec %ebx
	jne 1b
	xor %eax,%eax
	add $8,%rsp
	pop %rbx
	pop %rbp
	ret
	PAD
before:	push %rbp
	mov %rsp,%rbp
	call main
	PAD
f:	push %rbp
	MOVE
	push %r15
	push %rbx
	sub $SIZE,%rsp
	mov %rdi,%rbx
	nop
	nop
inside:	movl $0,8(%rsp)
	call *%rbx
behind:	nop
	add $SIZE,%rsp
	pop %rbx
	pop %r15
	pop %rbp
	ret
	PAD
leaf:	push %rbp
	mov %rsp,%rbp
	.byte 0x48,0xb8,0xe8		# movabs $imm64,%rax
	.long FALSE
	.byte 0,0,0
	mov $200000,%ecx
1:	dec %ecx
	jne 1b
	pop %rbp
	ret
	.section .note.GNU-stack,"",@progbits
"""


def run(*cmd):
    p = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL, timeout=120)
    if p.returncode:
        raise RuntimeError(f"{cmd}: {p.stderr}")
    return p.stdout


def function_at(at, ip):
    """Of the functions by their starts in the page."""
    return max(((at[name] & 0xfff, name) for name in ("_start", "main", "before", "f", "leaf") if at[name] & 0xfff <= ip), default=(0, "_start"))[1]


def frames(name, false, pad, move="mov %rsp,%rbp", size=16):
    text = SOURCE.replace("FALSE", false).replace("PAD", pad).replace("MOVE", move).replace("SIZE", str(size))
    with open("false.s", "w") as f:
        f.write(text)
    run("gcc", "-o", "false", "false.s")
    at = {l.split()[2]: int(l.split()[0], 16) for l in run("nm", "false").splitlines() if len(l.split()) == 3}
    run("strip", "false")
    run(CAPTURE, "--bundle=none", "-q", "-F", "999", "-e", "cpu-clock:u", "-o", "x.data", "--", "./false")
    order, wrong, whole, n = ["main", "f", "leaf"], [], 0, 0
    for line in run(RESOLVE, "-q", "-f", "jsonl", "x.data").splitlines():
        # The program's code is less than a page, which begins anywhere.
        ips = [int(f["ip"], 16) & 0xfff for f in reversed(json.loads(line)["stack"]) if f.get("dso", "").endswith("/false")]
        found = [name for ip in ips for name in [function_at(at, ip)] if name != "_start"]
        n += 1
        whole += found == order
        wrong += [found] if found != order[:len(found)] and found != order[-len(found):] else []
    tap.check(n > 20 and not wrong and whole > 0.9 * n, name, f"{whole} of {n} whole", wrong[:5])


if os.uname().machine != "x86_64" or not shutil.which("gcc"):
    tap.skip("false starts", "needs gcc on x86-64")
    tap.end()
need_events()
INT3, NOPS, NONE = ".p2align 4,0xcc", ".p2align 4", ""
for pad, what in (INT3, "INT3"), (NOPS, "NOPs"), (NONE, "no padding"):
    frames(f"no false call, {what}", "0", pad)
    frames(f"a call into the middle of a function, {what}", "inside-.-4", pad)
    frames(f"a call to where another returns, {what}", "behind-.-4", pad)
    frames(f"the middle of an instruction, {what}", "inside+2-.-4", pad)
frames("a call into a function without a frame pointer", "inside-.-4", INT3, move="")
frames("a call into a large frame", "inside-.-4", NOPS, move="", size=4096)
tap.end()
