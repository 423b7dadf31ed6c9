#!/usr/bin/env python3
"""What the kernel does beneath an interrupt is not work of the program that it interrupts: its growth fails nothing, neither by itself nor in
what the program's functions call. The same function beneath a system call or a page fault fails."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from drawn import Drawn, findings, of, regress  # noqa: E402
from tap import Tap  # noqa: E402

tap = Tap()
drawn = Drawn(11)
COMMON = {f"app;main;step_{i}": 3000 for i in range(6)} | {"app;main;work": 2000}
IRQ = "asm_sysvec_apic_timer_interrupt sysvec_apic_timer_interrupt __irq_exit_rcu handle_softirqs rcu_core rcu_do_batch rb_free"
CALL = "entry_SYSCALL_64_after_hwframe do_syscall_64 x64_sys_call __x64_sys_munmap __do_munmap"
FAULT = "asm_exc_page_fault exc_page_fault do_user_addr_fault handle_mm_fault"


def stack(*parts):
    """Beneath main;work, with the kernel's frames marked."""
    return ";".join(["app;main;work", *(f"{name}_[k]" for part in parts for name in part.split())])


def side(name, stacks):
    os.makedirs(name, exist_ok=True)
    for i in range(5):
        with open(f"{name}/{i}.folded", "w") as f:
            f.writelines(f"{stack} {drawn.poisson(mean)}\n" for stack, mean in stacks.items() if mean)
    return [f"{name}/{i}.folded" for i in range(5)]


def judged(name, where, before, after, rest={}):
    args = "--base", *side(name + "-old", {**COMMON, **rest, where: before}), "--new", *side(name + "-new", {**COMMON, **rest, where: after})
    code, r = findings(*args)
    return code, r, args


for name, entry, before in (("grew", IRQ, 60), ("new", IRQ, 0), ("device", "asm_common_interrupt common_interrupt irq_exit_rcu handle_softirqs net_rx_action", 60), ("timer", "asm_sysvec_apic_timer_interrupt sysvec_apic_timer_interrupt", 60),
                            ("old kernel", "apic_timer_interrupt smp_apic_timer_interrupt irq_exit __do_softirq", 60), ("arm64", "el0t_64_irq el0t_64_irq_handler el0_interrupt", 60),
                            ("in a system call", CALL + " " + IRQ, 60), ("in a page fault", FAULT + " " + IRQ, 60)):
    code, r, args = judged(name.replace(" ", "-"), stack(entry, "___free_pages"), before, 330)
    tap.check(code == 0 and not of(r, "REGRESSED", "NEW", "suspect") and of(r, "environment") == {("___free_pages [interrupt]", "self")}, f"beneath an interrupt, {name}: shown, nothing fails", code, of(r, "REGRESSED", "NEW", "suspect", "environment"))
    if name == "grew":
        said = regress(*args).stdout
        tap.check("1 by the environment" in said.splitlines()[0] and "___free_pages [interrupt]" in said, "the first line counts it, a row names it", said)

for name, entry, key, rest in (("a system call", CALL, "___free_pages", {}), ("a page fault", FAULT, "___free_pages", {}), ("a fault in an interrupt", IRQ + " " + FAULT, "___free_pages", {}),
                               ("a signal behind an interrupt", "asm_sysvec_reschedule_ipi irqentry_exit_to_user_mode exit_to_user_mode_loop arch_do_signal_or_restart get_signal do_exit", "___free_pages", {}),
                               ("a softirq of a system call", CALL + " __local_bh_enable_ip do_softirq handle_softirqs", "___free_pages", {}),
                               ("no caller", "", "___free_pages", {}), ("a system call, with interrupts", CALL, "___free_pages", {stack(IRQ, "___free_pages"): 300})):
    code, r, _ = judged(name.replace(" ", "-").replace(",", ""), stack(entry, "___free_pages"), 60, 330, rest)
    tap.check(code == 1 and (key, "self") in of(r, "REGRESSED") and not of(r, "environment"), f"beneath {name}: it fails", code, of(r, "REGRESSED", "NEW", "suspect", "environment"))

# Both grew: each is judged by itself.
stacks = {**COMMON, stack(CALL, "___free_pages"): 60, stack(IRQ, "___free_pages"): 60}
code, r = findings("--base", *side("both-old", stacks), "--new", *side("both-new", {k: 330 if k.endswith("___free_pages_[k]") else v for k, v in stacks.items()}))
tap.check(code == 1 and ("___free_pages", "self") in of(r, "REGRESSED") and of(r, "environment") == {("___free_pages [interrupt]", "self")}, "one function in both: two rows", code, of(r, "REGRESSED", "environment"))

# The program's own names mean nothing.
user = {**COMMON, "app;main;common_interrupt;do_IRQ;parse": 300}
code, r = findings("--base", *side("user-old", user), "--new", *side("user-new", {**user, "app;main;common_interrupt;do_IRQ;parse": 600}))
tap.check(code == 1 and ("parse", "self") in of(r, "REGRESSED"), "a program's function with such a name is no interrupt", code, of(r, "REGRESSED", "environment"))
tap.end()
