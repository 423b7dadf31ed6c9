#!/usr/bin/env python3
"""An ELF file that is mapped from where it lies uncompressed in an archive, as Android's loader does with the libraries in base.apk.
The archive is made by Python's zipfile, the loader maps the segments by hand. Truth: the program calls outer() in the library, which
calls inner(), in both libraries of the archive; names, callers and roots must be as with a library of its own. Then the archive is
damaged in many ways."""
import json
import os
import struct
import sys
import zipfile

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests/e2e"))
from common import CAPTURE, RESOLVE, Tap, have, run
from recorder import perf_record

tap = Tap()
PAGE = 4096
LIB = """
__attribute__((noinline)) static unsigned long inner_NAME(unsigned long n) { unsigned long x = n; while (n--) x = x * 2862933555777941757u + 3037000493u; return x; }
__attribute__((noinline)) unsigned long outer_NAME(unsigned long n) { return inner_NAME(n) + 1; }
"""
# ./loader FILE OFFSET ENTRY ..: as often as it takes for half a second
LOADER = """
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
static char *load(int fd, unsigned long at)
{
	Elf64_Ehdr h;
	Elf64_Phdr p[16];
	char *base = mmap(0, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pread(fd, &h, sizeof h, at) != sizeof h || h.e_phnum > 16 || pread(fd, p, h.e_phnum * sizeof *p, at + h.e_phoff) < 0)
		exit(1);
	for (int i = 0; i < h.e_phnum; i++) {
		unsigned long skip = p[i].p_offset % 4096;
		if (p[i].p_type == PT_LOAD && mmap(base + p[i].p_vaddr - skip, p[i].p_filesz + skip, p[i].p_flags & PF_X ? PROT_READ | PROT_EXEC : PROT_READ,
						   MAP_PRIVATE | MAP_FIXED, fd, at + p[i].p_offset - skip) == MAP_FAILED)
			exit(2);
	}
	return base;
}
int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDONLY), n = (argc - 2) / 2, i;
	unsigned long (*f[8])(unsigned long), sum = 0;
	for (i = 0; i < n; i++)
		f[i] = (void *)(load(fd, strtoul(argv[2 + 2 * i], 0, 0)) + strtoul(argv[3 + 2 * i], 0, 0));
	while (clock() < CLOCKS_PER_SEC / 2)
		for (i = 0; i < n; i++)
			sum += f[i](100000);
	return sum == 1;
}
"""


def build(name):
    """The library, and where its function is."""
    with open(name + ".c", "w") as f:
        f.write(LIB.replace("NAME", name))
    run(f"gcc -g -O1 -fno-optimize-sibling-calls -fcf-protection=none -nostdlib -fPIC -shared -Wl,-z,max-page-size={PAGE} -Wl,-z,noseparate-code "
        f"-Wl,--build-id=0x{name.encode().hex() * 6} {name}.c -o lib{name}.so".split())
    return next(int(l.split()[0], 16) for l in run(["nm", f"lib{name}.so"]).stdout.splitlines() if l.endswith(" outer_" + name))


def add(z, name, path):
    """Uncompressed, and so that it begins with a page: by the local header's extra field."""
    info = zipfile.ZipInfo(name)
    room = -(z.fp.tell() + 30 + len(name) + 4) % PAGE
    info.extra = struct.pack("<HH", 0xd935, room) + bytes(room)
    with open(path, "rb") as f:
        z.writestr(info, f.read(), zipfile.ZIP_STORED)
    return info


def make():
    """[where each library begins, and its function]"""
    where = []
    with zipfile.ZipFile("base.apk", "w") as z:
        z.writestr("classes.dex", bytes(range(256)) * 100, zipfile.ZIP_DEFLATED)
        z.writestr("assets/plain", b"\x7fELF" + bytes(5000), zipfile.ZIP_STORED)
        for name in "one", "two":
            entry = build(name)
            info = add(z, f"lib/x86_64/lib{name}.so", f"lib{name}.so")
            where += [str(info.header_offset + 30 + len(info.filename) + len(info.extra)), str(entry)]
    return where


def stacks(data, *options, check=True):
    p = run([RESOLVE, "-q", "-f", "jsonl", *options, data], check=check)
    if p.returncode not in (0, 1) or p.returncode and "resolve:" not in p.stderr:
        return None
    return [json.loads(line) for line in p.stdout.splitlines()]


def check(what, data, *options):
    """Most samples are in the inner functions, which the outer ones have called, which main has."""
    got = stacks(data, *options)
    here = {}
    for name in "one", "two":
        mine = [s["stack"] for s in got if s["stack"] and s["stack"][0].get("sym") == "inner_" + name]
        right = [m for m in mine if [f.get("sym") for f in m[1:3]] == ["outer_" + name, "main"] and
                 all(f["dso"].endswith(f"/base.apk!/lib/x86_64/lib{name}.so") for f in m[:2]) and m[0].get("file", name + ".c").endswith(name + ".c")]
        here[name] = len(mine), len(right)
    ends = [s.get("stop") for s in got]
    tap.check(all(n > 20 and n == right for n, right in here.values()) and ends.count("END") >= 0.95 * len(ends), what,
              here, f"{ends.count('END')} of {len(ends)}", got[:2])


def damage(data):
    """The archive below --symfs is another one each time: no names, or the right ones."""
    with open("base.apk", "rb") as f:
        whole = f.read()
    end = whole.rindex(b"PK\5\6")
    size, start = struct.unpack_from("<II", whole, end + 12)
    entry = whole.index(b"PK\1\2", start + 1)
    broken = {"empty": b"", "a word": whole[:4], "cut in the first library": whole[:20000], "cut in the directory": whole[:start + 60],
              "cut in its end": whole[:end + 10], "no directory": whole[:start], "not an archive": b"XX" + whole[2:]}
    for at, what in ((end + 10, "count"), (end + 12, "size of the directory"), (end + 16, "its place"), (end + 20, "comment")):
        for value in 1, 0xffff:
            broken[f"{what} {value}"] = whole[:at] + struct.pack("<H", value) + whole[at + 2:]
    for e in [i for i in range(start, end) if whole[i:i + 4] == b"PK\1\2"]:
        for at in 10, 20, 24, 28, 42:
            for value in 0x10000, 0xffffffff:
                broken[f"entry at {e - start}, byte {at}: {value}"] = whole[:e + at] + struct.pack("<I", value) + whole[e + at + 4:]
    local = whole.index(b"lib/x86_64/libone.so") - 30
    for at in 0, 26, 28:
        broken[f"local header, byte {at}"] = whole[:local + at] + b"\xff\xff" + whole[local + at + 2:]
    place = "damaged" + os.getcwd()
    os.makedirs(place)
    bad, named = [], 0
    for what, content in broken.items():
        with open(place + "/base.apk", "wb") as f:
            f.write(content)
        got = stacks(data, "--symfs", "damaged", "--no-inline", check=False)
        named += bool(got) and any(f.get("sym", "").startswith("inner_") for s in got for f in s["stack"])
        names = None if got is None else {f.get("sym") for s in got for f in s["stack"] if "base.apk" in f.get("dso", "")} - {None}
        if names is None or not all(n.startswith(("inner_", "outer_")) for n in names):
            bad.append((what, names))
    tap.check(not bad and 0 < named < len(broken), f"{len(broken)} damaged archives: no name is wrong", f"{named} have names", bad[:5])


def main():
    if os.uname().machine != "x86_64" or not all(map(have, ("gcc", "perf"))):
        return tap.skip("files in archives", "needs gcc and perf on x86-64")
    where = make()
    with open("loader.c", "w") as f:
        f.write(LOADER)
    run("gcc -g -O1 loader.c -o loader".split())
    perf_record("-F", "999", "-e", "cpu-clock:u", "--call-graph", "dwarf,4096", "-o", "p.data", "./loader", os.path.abspath("base.apk"), *where)
    check("perf's recording", "p.data")
    run([CAPTURE, "-q", "-F", "999", "-e", "cpu-clock:u", "--bundle=none", "-o", "c.data", "--", "./loader", "base.apk", *where])
    check("our own", "c.data")
    run([CAPTURE, "-q", "-F", "999", "-e", "cpu-clock:u", "--bundle", "-o", "b.data", "--", "./loader", "base.apk", *where])
    got = run([RESOLVE, "-f", "top", "p.data"], check=False)
    tap.check("libone.so" in got.stdout, "top names the library", got.stdout + got.stderr)
    # Damaged ones cost a run each: the recording has few samples.
    perf_record("-F", "79", "-e", "cpu-clock:u", "--call-graph", "dwarf,1024", "-o", "few.data", "./loader", os.path.abspath("base.apk"), *where)
    damage("few.data")
    os.rename("base.apk", "gone.apk")
    check("with a bundle, the archive is gone", "b.data")


main()
tap.end()
