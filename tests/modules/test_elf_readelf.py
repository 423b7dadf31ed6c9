#!/usr/bin/env python3
"""The image reader against readelf, over the binaries of this system and over compressed, 32-bit and
big-endian files made here. Truth: readelf -hSlnW; for compressed sections the same sections before
compression (zlib's crc32 over both)."""
import glob
import os
import re
import subprocess
import zlib

from shell import report

TOOL = os.path.join(os.environ["BUILD"], "tests/modules/tool_elf")


def run(*cmd):
    return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode(errors="replace")


def ours(path):
    r = {"L": [], "S": [], "C": {}, "B": "", "H": None, "E": None}
    for line in run(TOOL, path).splitlines():
        kind, _, rest = line.partition(" ")
        f = rest.split(" ")
        if kind == "C":
            r["C"][f[0]] = (int(f[1]), f[2])
        elif kind in "LS":
            r[kind].append(f)
        else:
            r[kind] = rest.strip()
    return r


def readelf(path):
    r = {"L": [], "S": [], "B": ""}
    out = run("readelf", "-SlnW", path)
    for line in out.splitlines():
        m = re.match(r"\s+LOAD\s+(\S+) (\S+) \S+ (\S+) (\S+) (...) ", line)
        if m:
            off, vaddr, filesz, memsz = (int(x, 16) for x in m.groups()[:4])
            flags = sum(b for c, b in zip(m.group(5), (4, 2, 1)) if c != " ")
            r["L"].append([f"{x:x}" for x in (off, vaddr, filesz, memsz, flags)])
        m = re.match(r"\s+\[\s*(\d+)\] (.{0,18}?|\S+)\s+([A-Z0-9_]+|LOOS\S*|\S+)\s+([0-9a-f]{8,16}) ([0-9a-f]{6,}) "
                     r"([0-9a-f]{6,}) ([0-9a-f]{2,})\s+\S*\s+(\d+)\s+(\d+)\s+\d+$", line)
        if m and m.group(3) != "NULL":
            n, name, _, addr, off, size, es, link, info = m.groups()
            r["S"].append([n, name] + [f"{int(x, 16):x}" for x in (addr, off, size, es)] + [link, info])
        m = re.search(r"Build ID: ([0-9a-f]+)", line)
        if m and not r["B"]:
            r["B"] = m.group(1)[:40]
    return r


def same(path):
    a, b = ours(path), readelf(path)
    sections = [[s[0], s[1]] + s[3:] for s in a["S"] if s[2] != "0"]
    if a["L"] != b["L"]:
        return f"{path}: segments {a['L']} {b['L']}"
    if sections != b["S"]:
        bad = [(x, y) for x, y in zip(sections, b["S"]) if x != y]
        return f"{path}: sections {len(sections)} {len(b['S'])} {bad[:2]}"
    if a["B"] != b["B"]:
        return f"{path}: build id {a['B']} {b['B']}"
    return None


def system_binaries():
    paths = glob.glob("/usr/bin/*") + glob.glob("/usr/lib/x86_64-linux-gnu/*.so*")
    seen, result = set(), []
    for p in sorted(paths):
        st = os.stat(p) if os.path.exists(p) else None
        if not st or st.st_ino in seen or not os.path.isfile(p) or not os.access(p, os.R_OK):
            continue
        with open(p, "rb") as f:
            if f.read(4) != b"\x7fELF":
                continue
        seen.add(st.st_ino)
        result.append(p)
    return result[::max(1, len(result) // 60)]


def compare_system():
    paths = system_binaries()
    bad = [x for x in (same(p) for p in paths) if x]
    report(len(paths) >= 20 and not bad, f"{len(paths)} system binaries as readelf sees them", "\n".join(bad[:3]))


def make_program(name, *flags, cc="gcc"):
    with open("p.c", "w") as f:
        f.write("#include <stdio.h>\n" + "".join(
            f"struct s{i} {{ int field_{i}; char text_{i}[{i + 1}]; }};\n"
            f"int function_{i}(struct s{i} *p) {{ return p->field_{i} + p->text_{i}[0]; }}\n" for i in range(300))
            + "int main(void) { return puts(\"x\") == 0; }\n")
    subprocess.run([cc, "-g", "-o", name, "p.c", *flags], check=True, stderr=subprocess.DEVNULL)


def compressed(plain, name, *objcopy):
    r = subprocess.run(["objcopy", *objcopy, "plain", name], stderr=subprocess.DEVNULL)
    if r.returncode:
        print(f"ok - {name} # SKIP objcopy cannot make it")
        return
    got = ours(name)
    smaller = os.path.getsize(name) < os.path.getsize("plain")
    # .zdebug_info is asked for by its own name in the listing
    names = {k.replace(".zdebug", ".debug"): v for k, v in got["C"].items()}
    debug = [k for k in plain["C"] if k.startswith(".debug")]
    bad = [(k, plain["C"][k], names.get(k)) for k in debug if names.get(k) != plain["C"][k]]
    report(smaller and len(debug) >= 5 and not bad, f"contents of {name} sections", str(bad[:3]))


def compare_compressed():
    make_program("plain")
    plain = ours("plain")
    # What the reader gives for the plain file is what the file holds.
    info = next(s for s in plain["S"] if s[1] == ".debug_info")
    with open("plain", "rb") as f:
        f.seek(int(info[4], 16))
        data = f.read(int(info[5], 16))
    report(plain["C"][".debug_info"] == (len(data), f"{zlib.crc32(data):08x}"), "contents of a plain section")
    compressed(plain, "zlib", "--compress-debug-sections=zlib")
    compressed(plain, "zlib-gnu", "--compress-debug-sections=zlib-gnu")
    compressed(plain, "zstd", "--compress-debug-sections=zstd")
    # a lie about the size of the contents: refused, the rest of the file stays usable
    with open("zlib", "rb") as f:
        bytes_ = bytearray(f.read())
    info = next(s for s in ours("zlib")["S"] if s[1] == ".debug_info")
    at = int(info[4], 16)
    for lie, text in ((1 << 60, "huge"), (10, "small"), (len(data) + 1, "one too large")):
        bytes_[at + 8:at + 16] = lie.to_bytes(8, "little")
        with open("lie", "wb") as f:
            f.write(bytes_)
        c = ours("lie")["C"]
        report(".debug_info" not in c and ".debug_line" in c, f"size of compressed contents: {text}")


def compare_other_classes():
    """32-bit and big-endian relocatable files, where an assembler for them is here: objcopy changes
    the container."""
    made = 0
    for target, name in (("elf32-i386", "i386"), ("elf32-x86-64", "x32"), ("elf64-big", "be64"), ("elf32-big", "be32"),
                         ("elf32-little", "le32")):
        with open("blob", "wb") as f:
            f.write(b"0123456789" * 7)
        r = subprocess.run(["objcopy", "-I", "binary", "-O", target, "blob", name], stderr=subprocess.DEVNULL)
        if r.returncode:
            continue
        made += 1
        why = same(name)
        got = ours(name)
        data = got["C"].get(".data")
        bits, swapped = got["H"].split()[:2]
        right = (bits == "32") == ("32" in target or "i386" in target) and (swapped == "1") == ("big" in target)
        report(not why and right and data == (70, f"{zlib.crc32(b'0123456789' * 7):08x}"), f"{target} file",
               f"{why} {got['H']} {data}")
    report(made >= 3, "other classes and byte orders were made")


def compare_kernel_module_stream():
    import gzip
    import lzma
    with open("plain", "rb") as f:
        data = f.read()
    want = ours("plain")
    streams = {"plain.gz": gzip.compress(data), "plain.xz": lzma.compress(data)}
    z = subprocess.run(["zstd", "-q", "-f", "plain", "-o", "plain.zst"], stderr=subprocess.DEVNULL)
    for name, s in streams.items():
        with open(name, "wb") as f:
            f.write(s)
    for name in ["plain.gz", "plain.xz"] + (["plain.zst"] if z.returncode == 0 else []):
        report(ours(name)["C"] == want["C"], f"{name} is unpacked")
        with open(name, "rb") as f:
            cut = f.read()[:-100]
        with open("cut-" + name, "wb") as f:
            f.write(cut)
        report(ours("cut-" + name)["E"] is not None, f"cut {name} is refused")


compare_system()
compare_compressed()
compare_other_classes()
compare_kernel_module_stream()
