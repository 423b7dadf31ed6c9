#!/usr/bin/env python3
"""64-bit Arm: stacks of real programs against gdb's.

A program runs under qemu-user; gdb stops it at many instructions, also in prologues and epilogues, and
writes down registers, stack and its own backtrace. The stops become a perf.data, as an Arm board would
have recorded it, which is unwound here on another processor. gdb's unwinder is the truth.
"""
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys

BUILD = os.environ["BUILD"]
SYSROOT = "/usr/aarch64-linux-gnu"
STOPS = 80
STEP = 37  # instructions between stops: no multiple of any loop's length
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static volatile unsigned sink;
__attribute__((noinline)) static void leaf(unsigned n) { sink += n * n; }
__attribute__((noinline)) static unsigned realloca(unsigned n)
{
	volatile char *p = __builtin_alloca(n % 50 + 1);
	p[0] = 1;
	leaf(n);
	return p[0];
}
static int compare(const void *a, const void *b)
{
	leaf(realloca(3));
	return *(const int *)a - *(const int *)b;
}
__attribute__((noinline)) static double mixed(double x, int n)
{
	char text[64];
	snprintf(text, sizeof text, "%d %s", n, "abc");
	return x + strlen(text) + realloca((unsigned)n);
}
__attribute__((noinline)) static int recurse(int n)
{
	int v[] = {3, 1, 2, n};
	if (n > 0)
		return recurse(n - 1) + (int)mixed(1.5, n);
	qsort(v, 4, sizeof *v, compare);
	return v[0];
}
int main(void)
{
	for (;;)
		sink += (unsigned)recurse(4);
}
"""
GDB = r"""
import json
gdb.execute("set pagination off"); gdb.execute("set confirm off")
gdb.execute("set backtrace past-main on"); gdb.execute("set backtrace past-entry on")
gdb.execute("set sysroot %(sysroot)s")
gdb.execute("target remote 127.0.0.1:%(port)d")
gdb.execute("break main"); gdb.execute("continue")
gdb.execute("delete")
inferior = gdb.selected_inferior()
names = ["x%%d" %% i for i in range(31)] + ["sp", "pc"]
out = {"libs": gdb.execute("info sharedlibrary", to_string=True),
       "auxv": gdb.execute("info auxv", to_string=True), "stops": []}
def memory(at, n):
    while n >= 64:
        try:
            return bytes(inferior.read_memory(at, n))
        except gdb.MemoryError:
            n //= 2
    return b""
for _ in range(%(stops)d):
    gdb.execute("stepi %(step)d", to_string=True)
    frame = gdb.newest_frame()
    regs = [int(frame.read_register(n)) & (2**64 - 1) for n in names]
    pcs = []
    while frame is not None and len(pcs) < 200:
        pcs.append(frame.pc())
        frame = frame.older()
    out["stops"].append([regs, memory(regs[31], 8192).hex(), pcs])
json.dump(out, open("stops.json", "w"))
gdb.execute("kill")
"""
failed = 0


def skip(why):
    print(f"ok - aarch64 stacks # SKIP {why}")
    sys.exit(0)


def elf(path):
    """(entry, .text address, executable PT_LOADs as (offset, vaddr, size)) of a 64-bit file."""
    data = open(path, "rb").read()
    entry, phoff, shoff = struct.unpack_from("<QQQ", data, 24)
    phentsize, phnum, shentsize, shnum, shstrndx = struct.unpack_from("<HHHHH", data, 54)
    loads, text = [], 0
    for i in range(phnum):
        kind, flags, off, vaddr, _, filesz = struct.unpack_from("<IIQQQQ", data, phoff + i * phentsize)
        if kind == 1 and flags & 1:
            loads.append((off, vaddr, filesz))
    names = struct.unpack_from("<Q", data, shoff + shstrndx * shentsize + 24)[0]
    for i in range(shnum):
        name, _, _, addr = struct.unpack_from("<IIQQ", data, shoff + i * shentsize)
        if data[names + name:].startswith(b".text\0"):
            text = addr
    return entry, text, loads


def maps(program, state):
    """[(start, size, file offset, path)] of what is executable."""
    result = []

    def add(path, bias):
        for off, vaddr, size in elf(path)[2]:
            low = vaddr & 0xfff
            result.append((vaddr - low + bias, (size + low + 4095) & ~4095, off - low, path))

    entry = int(re.search(r"AT_ENTRY.*?(0x[0-9a-f]+)", state["auxv"]).group(1), 16)
    add(program, entry - elf(program)[0])
    for start, path in re.findall(r"^(0x[0-9a-f]+)\s+0x[0-9a-f]+\s+\S+(?: \(\*\))?\s+(/\S+)", state["libs"],
                                  re.M):
        add(path, int(start, 16) - elf(path)[1])
    return result


def record(kind, body, misc=2):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def write_perf_data(path, mapped, stops):
    """A perf.data with cpu-clock samples that have 33 registers and 8 KiB of stack each."""
    attr = bytearray(112)
    struct.pack_into("<IIQQQ", attr, 0, 1, 112, 0, 1, 1 | 2 | 4 | 1 << 12 | 1 << 13)
    struct.pack_into("<QI", attr, 80, (1 << 33) - 1, 8192)
    data = b""
    for start, size, off, name in mapped:
        text = name.encode() + b"\0"
        data += record(1, struct.pack("<IIQQQ", 7, 7, start, size, off) + text + bytes(-len(text) % 8))
    for i, (regs, stack, _) in enumerate(stops):
        raw = bytes.fromhex(stack)
        data += record(9, struct.pack("<QIIQQ", regs[32], 7, 7, i + 1, 2) + struct.pack("<33Q", *regs) +
                       struct.pack("<Q", 8192) + raw.ljust(8192, b"\0") + struct.pack("<Q", len(raw)))
    arch = b"aarch64\0"
    arch = struct.pack("<I", len(arch)) + arch
    attrs_at = 104
    data_at = attrs_at + len(attr) + 16
    feature_at = data_at + len(data) + 16
    with open(path, "wb") as f:
        f.write(b"PERFILE2" + struct.pack("<QQ", 104, len(attr) + 16) +
                struct.pack("<QQQQQQ", attrs_at, len(attr) + 16, data_at, len(data), 0, 0) +
                struct.pack("<QQQQ", 1 << 6, 0, 0, 0) + attr + struct.pack("<QQ", 0, 0) + data +
                struct.pack("<QQ", feature_at, len(arch)) + arch)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def stacks(data):
    """Our frames of every sample as (file offset, path), and why it stopped."""
    out = subprocess.run([os.path.join(BUILD, "tests/unwind/tool_unwind"), data, "cfi", "guess"],
                         stdout=subprocess.PIPE, text=True).stdout
    result = []
    for line in out.splitlines():
        if line.startswith("S "):
            result.append(([], line.split(" ", 3)[3]))
        elif line.startswith("F "):
            f = line.split()
            result[-1][0].append((int(f[1], 16), f[5]))
    return result


def as_file_offsets(pcs, mapped):
    result = []
    for i, pc in enumerate(pcs):
        at = pc - (i > 0)
        for start, size, off, path in mapped:
            if start <= at < start + size:
                result.append((at - start + off, path))
                break
        else:
            result.append((at, "[unknown]"))
    return result


def check(name, flags, is_signed=False):
    """is_signed: gdb does not know here which bits of an address are its signature, so it is believed up
    to where it leaves the program; from there on ours must lead to the root."""
    global failed
    program = os.path.abspath(name)
    p = subprocess.run(["aarch64-linux-gnu-gcc", "-O2", *flags, "a.c", "-o", program],
                       stderr=subprocess.PIPE, text=True)
    if p.returncode:
        print(f"ok - {name} # SKIP cannot be built: {p.stderr.splitlines()[-1:]}")
        return
    port = free_port()
    with open("gdb.py", "w") as f:
        f.write(GDB % {"sysroot": SYSROOT, "port": port, "stops": STOPS, "step": STEP})
    qemu = subprocess.Popen(["qemu-aarch64", "-L", SYSROOT, "-g", str(port), program],
                            stderr=subprocess.DEVNULL)
    try:
        gdb = subprocess.run(["gdb-multiarch", "-nx", "-batch", "-ex", "file " + program, "-x", "gdb.py"],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    finally:
        qemu.kill()
        qemu.wait()
    if not os.path.exists("stops.json"):
        print(f"not ok - {name}: gdb took no stops")
        print("".join(f"# {l}\n" for l in gdb.stdout.splitlines()[-10:]))
        failed += 1
        return
    with open("stops.json") as f:
        state = json.load(f)
    os.remove("stops.json")
    mapped = maps(program, state)
    data = name + ".data"
    write_perf_data(data, mapped, state["stops"])
    ours, equal, frames, wrong = stacks(data), 0, 0, []
    for i, (_, _, pcs) in enumerate(state["stops"]):
        truth = as_file_offsets([pc for pc in pcs if pc], mapped)
        own, stop = ours[i] if i < len(ours) else ([], "")
        if is_signed and (truth[-1][1] == "[unknown]" or len(truth) < len(own)):
            truth = truth[:-1] + own[len(truth) - 1:]
        if own == truth and stop == "root reached":
            equal += 1
            frames += len(truth)
        else:
            wrong.append((i, truth, own, stop))
    good = equal == STOPS
    print(f"{'ok' if good else 'not ok'} - {name}: {equal} of {STOPS} stacks are gdb's, {frames} frames")
    for i, truth, own, stop in wrong[:3]:
        print(f"# stop {i}\n#  gdb {truth}\n#  own {own} {stop}")
    failed += not good


for tool in ("qemu-aarch64", "gdb-multiarch", "aarch64-linux-gnu-gcc"):
    if not shutil.which(tool):
        skip(f"no {tool}")
with open("a.c", "w") as f:
    f.write(SOURCE)
# Bound at start: glibc's _dl_runtime_resolve says for Arm that its caller's sp is 16 bytes lower than it is
# (it leaves out what PLT0 pushes), which loses the caller in gdb, libdw and here.
now = ["-Wl,-z,now"]
check("dynamic", now)
check("static", ["-static"])
check("without_frame_pointers", ["-fomit-frame-pointer", *now])
check("signed_return_addresses", ["-mbranch-protection=pac-ret+leaf", *now], is_signed=True)
sys.exit(1 if failed else 0)
