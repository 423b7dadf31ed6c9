"""tasks.py - recordings of machines on which tasks come and go: what a build farm, or a server with a thread for each
request, leaves behind. Written record by record, as no machine forks that often while a test runs.

    tasks.py KIND TASKS FILE

KIND is `processes` (fork, exec, ten maps at addresses of their own), `forks` (no exec) or `threads`. Each task has
three samples whose stack reaches its root and one whose copy was too small, in a library that is made here.
"""
import os
import random
import struct
import subprocess
import sys

import perffile

COMM, EXIT, FORK, SAMPLE, MMAP2, FINISHED_ROUND = 3, 4, 7, 9, 10, 68
USER, COMM_EXEC = 2, 1 << 13
IP, TID, TIME, PERIOD, REGS_USER, STACK_USER = 1, 2, 4, 256, 4096, 8192
FLAGS = 1 << 8 | 1 << 9 | 1 << 13 | 1 << 18 | 1 << 23 | 1 << 24  # mmap, comm, task, sample_id_all, mmap2, comm_exec
REGS = 1 << 6 | 1 << 7 | 1 << 8  # bp, sp, ip: asm/perf_regs.h
STACK_BYTES, STEP_NS = 256, 20000
AT_ONCE, PER_ROUND = 8, 64  # tasks
LIBRARY = """
	.text
leaf:	.cfi_startproc
	nop
	nop
	ret
	.cfi_endproc
mid:	.cfi_startproc
	sub $24, %rsp
	.cfi_adjust_cfa_offset 24
	call leaf
after_mid:
	add $24, %rsp
	ret
	.cfi_endproc
wide:	.cfi_startproc
	sub $504, %rsp
	.cfi_adjust_cfa_offset 504
	call leaf
after_wide:
	add $504, %rsp
	ret
	.cfi_endproc
root:	.cfi_startproc
	.cfi_undefined rip
	call mid
after_root:
	hlt
	.cfi_endproc
	.section .note.GNU-stack,"",@progbits
"""


def output_of(*cmd):
    return subprocess.run(cmd, stdout=subprocess.PIPE, text=True, check=True).stdout


class Library:
    """Its path, where its labels are behind the start of its code, and what of the file that is."""

    def __init__(self, folder):
        source, self.path = os.path.join(folder, "tasks.s"), os.path.join(folder, "tasks.so")
        with open(source, "w") as f:
            f.write(LIBRARY)
        subprocess.run(["gcc", "-shared", "-nostdlib", "-o", self.path, source], check=True)
        code = next(line.split() for line in output_of("readelf", "-lW", self.path).splitlines() if " R E " in line)
        self.pgoff, vaddr, self.size = int(code[1], 16), int(code[2], 16), (int(code[5], 16) + 4095) & -4096
        labels = (line.split() for line in output_of("nm", self.path).splitlines())
        self.at = {name: int(addr, 16) - vaddr for addr, _, name in labels}


class Recording:
    def __init__(self, path, library):
        attr = struct.pack("<IIQQQQQ", 1, 112, 0, 1, IP | TID | TIME | PERIOD | REGS_USER | STACK_USER, 0, FLAGS)
        attr = (attr.ljust(80, b"\0") + struct.pack("<QI", REGS, STACK_BYTES)).ljust(112, b"\0") + bytes(16)
        self.attr, self.library, self.random = attr, library, random.Random(1)
        self.n_bytes, self.time = 0, 1000
        self.file = open(path, "wb", 1 << 20)
        self.file.write(bytes(104 + len(attr)))

    def record(self, kind, misc, body, task=None):
        if task:
            self.time += STEP_NS
            body += struct.pack("<iiQ", *task, self.time)
        self.file.write(struct.pack("<IHH", kind, misc, 8 + len(body)) + body)
        self.n_bytes += 8 + len(body)

    def fork(self, pid, ppid, tid):
        self.record(FORK, 0, struct.pack("<iiiiQ", pid, ppid, tid, ppid, self.time), (pid, tid))

    def exit(self, pid, tid):
        self.record(EXIT, 0, struct.pack("<iiiiQ", pid, 1, tid, 1, self.time), (pid, tid))

    def mmap(self, pid, start, size, pgoff, path):
        self.record(MMAP2, USER, struct.pack("<iiQQQIIQQII", pid, pid, start, size, pgoff, 8, 1, len(path), 0, 5, 2) + perffile.padded(path, 8), (pid, pid))

    def exec(self, pid, name):
        """Where the library is then."""
        base = 0x7f0000000000 + self.random.randrange(1 << 26) * 4096
        self.record(COMM, COMM_EXEC, struct.pack("<ii", pid, pid) + perffile.padded(name, 8), (pid, pid))
        for i in range(8):
            self.mmap(pid, base + 0x1000000 * (i + 1), 0x200000, 0x1000, f"/no/such/lib{i}.so")
        self.mmap(pid, base + 0xa000000, 0x2000, 0, "[vdso]")
        self.mmap(pid, base, self.library.size, self.library.pgoff, self.library.path)
        return base

    def sample(self, pid, tid, ip, sp, *words):
        self.time += STEP_NS
        body = struct.pack("<QiiQQQQQQQ", ip, pid, tid, self.time, 1, 2, 0, sp, ip, STACK_BYTES)
        body += struct.pack(f"<{len(words)}Q", *words).ljust(STACK_BYTES, b"\0") + struct.pack("<Q", STACK_BYTES)
        self.record(SAMPLE, USER, body)

    def samples(self, pid, tid, base, sp):
        at = self.library.at
        for i in range(3):
            self.sample(pid, tid, base + at["leaf"] + i % 2, sp, base + at["after_mid"], 0, 0, 0, base + at["after_root"])
        self.sample(pid, tid, base + at["leaf"], sp - 4096, base + at["after_wide"])

    def close(self):
        self.file.seek(0)
        self.file.write(perffile.head(self.attr, self.n_bytes) + self.attr)
        self.file.close()


def write(kind, tasks, path):
    r = Recording(path, Library(os.path.dirname(os.path.abspath(path))))
    first, alive = r.exec(1, "first"), []
    for i in range(tasks):
        pid, tid, base, sp = 1000 + i, 1000 + i, first, 0x7ffd00000000 + r.random.randrange(1 << 20) * 4096
        if kind == "threads":
            pid, sp = 1, 0x7e0000000000 + i % 65536 * 0x10000
        r.fork(pid, 1, tid)
        if kind == "processes":
            base = r.exec(pid, f"cc{i % 7}")
        r.samples(pid, tid, base, sp)
        alive.append((pid, tid))
        if len(alive) > AT_ONCE:
            r.exit(*alive.pop(0))
        if i % PER_ROUND == 0:
            r.record(FINISHED_ROUND, 0, b"")
    for task in alive:
        r.exit(*task)
    r.record(FINISHED_ROUND, 0, b"")
    r.close()


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]), sys.argv[3])
