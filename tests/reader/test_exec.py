#!/usr/bin/env python3
"""Samples that the kernel took while a program became another one by exec: whose code the user part is. What is expected follows from how the
recordings are written here."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import RESOLVE, Tap, run
from perfsynth import CHAIN_KERNEL, CHAIN_USER, KERNEL, Recording

tap = Tap()
DEFERRED, CHAIN_DEFERRED = 22, 2**64 - 640
EXECVE, OLD, NEW = 0xffffffff81000000, 0x401000, 0x7f0000001000


def kernel_sample(r, time, user):
    r.sample(7, EXECVE, time, chain=[CHAIN_KERNEL, EXECVE, *user], misc=KERNEL)


def folded(r, name):
    r.write(name)
    p = run([RESOLVE, "--kernel", name], check=False)
    return sorted(p.stdout.splitlines()), p.stderr


def begin(knows_old):
    r = Recording()
    r.mmap(-1, EXECVE, 0x1000, EXECVE, "[kernel.kallsyms]_text", 0)
    if knows_old:
        r.comm(7, "old", 1)
        r.mmap2(7, OLD, 0x1000, 0, "/bin/old", 2)
    r.comm(7, "new", 10, exec=True)
    return r


# The recorder's own child, whose maps no record has, becomes the command.
r = begin(False)
kernel_sample(r, 11, [CHAIN_USER, OLD + 8])
r.mmap2(7, NEW, 0x1000, 0, "/bin/new", 12)
kernel_sample(r, 13, [CHAIN_USER, OLD + 8])
kernel_sample(r, 14, [CHAIN_USER, NEW + 8])  # its first page fault
kernel_sample(r, 15, [CHAIN_USER, 0x123456])  # now it has run: this is its own, whatever it is
r.sample(7, NEW + 16, 16)
out, err = folded(r, "unknown.data")
tap.check(out == ["new;[kernel.kallsyms]_[k] 2", "new;[new] 1", "new;[new];[kernel.kallsyms]_[k] 1", "new;[unknown];[kernel.kallsyms]_[k] 1"],
          "a program before exec whose maps are not known is no caller", out, err)
r = begin(True)
kernel_sample(r, 11, [CHAIN_USER, OLD + 8])
r.mmap2(7, NEW, 0x1000, 0, "/bin/new", 12)
kernel_sample(r, 13, [CHAIN_USER, OLD + 8])
kernel_sample(r, 14, [CHAIN_USER, NEW + 8])
out, err = folded(r, "known.data")
tap.check(out == ["new;[new];[kernel.kallsyms]_[k] 1", "new;[old];[kernel.kallsyms]_[k] 2"], "one whose maps are known is the caller", out, err)

# Chains that come when the thread returns to user space: after exec that is the new program.
r = begin(True)
kernel_sample(r, 11, [CHAIN_DEFERRED, 5])
r.mmap2(7, NEW, 0x1000, 0, "/bin/new", 12)
kernel_sample(r, 13, [CHAIN_DEFERRED, 5])
r.record(DEFERRED, 2, struct.pack("<QQQQ", 5, 2, CHAIN_USER, NEW + 8), (7, 7, 14))
kernel_sample(r, 15, [CHAIN_DEFERRED, 6])
out, err = folded(r, "deferred.data")
tap.check(out == ["new;[kernel.kallsyms]_[k] 1", "new;[new];[kernel.kallsyms]_[k] 2"], "a deferred chain is of the program that it returns to", out, err)
tap.check("1 samples have kernel frames only" in err, "chains that never came are told", err)
tap.end()
