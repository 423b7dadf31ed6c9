"""symtool.py - what the scripts in this folder share: TAP, tool_symbolize, and an independent model of a
symbol table, made from readelf's output by perf's rules."""
import bisect
import os
import re
import subprocess
import sys

from tap import Tap

TOP = os.environ["TOP"]
TOOL = os.path.join(os.environ["BUILD"], "tests/symbolize/tool_symbolize")
# the user's own ~/.debug must not answer
ENV = dict(os.environ, PERF_BUILDID_DIR=os.path.join(os.getcwd(), "no-such-dir"))

tap = Tap()
check, skip, end = tap.check, tap.skip, tap.end


def run(*cmd, text=None, ok=True):
    p = subprocess.run(cmd, input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                       env=ENV)
    if ok and p.returncode:
        raise RuntimeError(f"{' '.join(cmd)}: status {p.returncode}\n{p.stderr[-2000:]}")
    return p.stdout


def write(path, text):
    with open(path, "w") as f:
        f.write(text)
    return path


class Answer:
    def __init__(self, fields):
        self.addr = int(fields[0], 16)
        self.miss = int(fields[1])
        self.system, self.offset, self.shown = fields[2], int(fields[3], 16), fields[4]
        self.aliases = int(fields[5])
        self.lines = [tuple(f.rsplit("|", 1)) for f in fields[6:]]


def symbolize(kind, path, addresses, *options):
    """(list of Answer, source, reason). An address may be (address, time in ns)."""
    text = "".join(f"{a[0]:x} {a[1]}\n" if isinstance(a, tuple) else f"{a:x}\n" for a in addresses)
    out = run(TOOL, *options, kind, path, text=text).split("\n")
    answers = [Answer(line.split("\t")) for line in out[:len(addresses)]]
    source, reason = out[len(addresses)][2:].split("\t")
    return answers, source, reason


def sections(path):
    """index -> (name, addr, size, flags)"""
    r = {}
    for line in run("readelf", "-SW", path).splitlines():
        m = re.match(r"\s*\[\s*(\d+)\] (\S*)\s+(\S+)\s+([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+) [0-9a-f]+\s+([A-Zlopxg]*)\s+\d",
                     line)
        if m:
            r[int(m.group(1))] = (m.group(2), int(m.group(4), 16), int(m.group(6), 16), m.group(7))
    return r


def symbols(path, table):
    """[(start, size, type, bind, visibility, section index, name)] of .symtab or .dynsym"""
    r, on = [], False
    for line in run("readelf", "-sW", path).splitlines():
        m = re.match(r"Symbol table '(\S+)'", line)
        if m:
            on = m.group(1) == table
        m = re.match(r"\s*\d+: ([0-9a-f]+)\s+(\S+) (\S+)\s+(\S+)\s+(\S+)\s+(?:\[.*?\]\s+)?(\S+) (\S.*)$", line)
        if on and m:
            value, size, kind, bind, vis, ndx, name = m.groups()
            if ndx.isdigit():
                r.append((int(value, 16), int(size, 0), kind, bind, vis, int(ndx), name))
    return r


def strings_of(path, table):
    """readelf appends versions to .dynsym names and to some .symtab names; nm -p keeps the order but sorts out
    nothing, so the raw names are read from the string table here."""
    import struct
    with open(path, "rb") as f:
        data = f.read()
    shoff, = struct.unpack_from("<Q", data, 0x28)
    shentsize, shnum, _ = struct.unpack_from("<HHH", data, 0x3a)
    heads = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + i * shentsize) for i in range(shnum)]
    want = 2 if table == ".symtab" else 11
    for h in heads:
        if h[1] == want:
            strtab = heads[h[6]]
            names = data[strtab[4]:strtab[4] + strtab[5]]
            for off in range(h[4], h[4] + h[5], 24):
                name, info, other, ndx, value, size = struct.unpack_from("<IBBHQQ", data, off)
                end = names.index(b"\0", name)
                yield value, size, info & 15, info >> 4, other & 3, ndx, names[name:end].decode(errors="replace")


class Model:
    """Functions of some tables: [(file, table)], by the rules of functions/functions.h, done the slow way."""

    def __init__(self, tables):
        self.by_start = {}
        order = 0
        for path, table in tables:
            secs = sections(path)
            for value, size, kind, bind, vis, ndx, name in strings_of(path, table):
                if kind not in (0, 1, 2, 10) or not name or ndx not in secs or (kind == 0 and vis in (1, 2)):
                    continue
                _, addr, length, flags = secs[ndx]
                if "X" not in flags or not addr <= value < addr + length:
                    continue
                end = addr + length
                rank = (size != 0, bind != 2, bind == 1, -(len(name) - len(name.lstrip("_"))), len(name), -order)
                order += 1
                self.by_start.setdefault(value, []).append((rank, min(value + size, end) if size else end, name, size))
        self.starts = sorted(self.by_start)

    def find(self, addr):
        """(name, start) or None"""
        i = bisect.bisect_right(self.starts, addr) - 1
        if i < 0:
            return None
        for j in range(i, max(i - 64, -1), -1):
            sized = [s for s in self.by_start[self.starts[j]] if s[3] and addr < s[1]]
            if sized:
                return max(sized)[2], self.starts[j]
        sizeless = [s for s in self.by_start[self.starts[i]] if not s[3] and addr < s[1]]
        return (sizeless[-1][2], self.starts[i]) if sizeless else None

    def aliases(self, start):
        return {s[2].split("@")[0] for s in self.by_start.get(start, ())}


def code_addresses(path, n, rng):
    """n random addresses in .text"""
    for name, addr, size, _ in sections(path).values():
        if name == ".text":
            return sorted(rng.randrange(addr, addr + size) for _ in range(n))
    return []


def debug_file(path):
    """The separate debug file of a binary by build id, or None."""
    m = re.search(r"Build ID: ([0-9a-f]{40})", run("readelf", "-nW", path))
    debug = m and f"/usr/lib/debug/.build-id/{m.group(1)[:2]}/{m.group(1)[2:]}.debug"
    return debug if debug and os.path.exists(debug) else None
