#!/usr/bin/env python3
"""Functions whose first instruction is the head of a loop: a probe there is hit in each of its rounds."""
import os
import re

from lib import RESOLVE, Tap, capture, need_events, need_root, run

tap = Tap()
need_events()
need_root(tap, "probes", "they change the code of programs: root only")
if os.uname().machine != "x86_64":
    tap.skip("loops", "the functions are written for x86-64")
    tap.end()
    raise SystemExit

# rounds(5) goes round five times, and calls nothing; once(n) has its loop behind its first instruction; again(n) is called from a
# loop, and left each time by longjmp(), so that it is entered anew where it was entered before.
LOOPS = """#include <setjmp.h>
static jmp_buf back;
__attribute__((noipa)) void out(void) { longjmp(back, 1); }
__attribute__((noipa)) void again(int n) { if (n) out(); }
long rounds(long n), once(long n), outer(long n);
__asm__(".text\\n"
	".globl rounds\\n.type rounds,@function\\nrounds: dec %rdi\\njne rounds\\nmov $7, %eax\\nret\\n.size rounds,.-rounds\\n"
	".globl once\\n.type once,@function\\nonce: nop\\n1: dec %rdi\\njne 1b\\nmov $8, %eax\\nret\\n.size once,.-once\\n"
	/* calls another one in each round */
	".globl outer\\n.type outer,@function\\nouter: push %rdi\\nmov $2, %edi\\ncall rounds\\npop %rdi\\ndec %rdi\\njne outer\\nmov $9, %eax\\nret\\n.size outer,.-outer\\n");
int main(void)
{
	volatile int i = 0;
	for (int k = 0; k < 3; k++) rounds(5);
	once(4);
	outer(3);
	setjmp(back);
	if (i++ < 3) again(i);
	return 0;
}
"""
with open("loops.c", "w", encoding="ascii") as f:
    f.write(LOOPS)
run("gcc -O2 -fno-pie -no-pie loops.c -o loops".split())


def calls(text):
    return re.findall(r"ms\): \S+ (\w+)\(", text)


p = capture("-e", "call:./loops:rounds", "-o", "one.data", "--", "./loops")
tap.check(p.stderr.count("call:./loops:rounds: rounds jumps back to the first instruction, where the probe is: it counts each round of that loop") == 1,
          "call: of a loop: that it counts rounds is said", p.stderr)
p = capture("-e", "uprobe:./loops:rounds", "-o", "up.data", "--", "./loops")
tap.check(p.n_samples == 3 * 5 + 3 * 2 and "each round of that loop" in p.stderr, "uprobe: so it is", p.n_samples, p.stderr)
p = capture("-e", "call:./loops:once", "-o", "once.data", "--", "./loops")
tap.check("each round" not in p.stderr and calls(run([RESOLVE, "-q", "-f", "trace", "once.data"]).stdout) == ["once"], "a loop behind it: one call", p.stderr)
p = capture("-e", "call:./loops:*", "--args", "-o", "all.data", "--", "./loops")
tap.check(re.search(r": (rounds|outer) and 1 other jump back to the first instruction", p.stderr), "of several functions", p.stderr)
out = run([RESOLVE, "-f", "trace", "--args", "all.data"])
# outer's rounds call rounds(2), which goes round twice: a call within it in each of its three
tap.check(sorted(calls(out.stdout)) == sorted(["main"] + ["rounds"] * 6 + ["once", "outer"] + ["again", "out"] * 3), "trace: each call once, whatever its rounds", out.stdout)
tap.check(f"{3 * 4 + 3 * 1 + 2} hits of call: are another round of a loop" in out.stderr, "what was left out is counted", out.stderr)
tap.check(len(re.findall(r"\( +[\d.]+ ms\): \S+ (?:rounds|once|outer)\(.*\) = [789]\b", out.stdout)) == 8, "and each has its end", out.stdout)
out = run([RESOLVE, "-q", "-f", "folded", "--weigh", "duration", "all.data"]).stdout
main = re.search(r"\( *([\d.]+) ms\): \S+ main\(", run([RESOLVE, "-q", "-f", "trace", "all.data"]).stdout)
total = sum(int(line.rpartition(" ")[2]) for line in out.splitlines()) / 1e6
tap.check(main and abs(total - float(main[1])) < .01, "--weigh duration: together as long as main", main, total, out)
tap.end()
