"""v8_heap.py - heaps of V8 as tests/runtimes/fuzz_v8.c takes them, into the working directory: functions that are interpreted, compiled
without and with optimization, and ones that a hostile process would make."""
import os
import re
import struct

MEMORY, TAG, NONE = 0x10000, 1, -(1 << 31)
HAS_FILE, IS_SMALL, IS_CHANGED = 1, 2, 4
TOP = os.environ["TOP"]
with open(f"{TOP}/runtimes/v8.h") as f:
    NUMBERS = [n for n in re.findall(r"^\t(V8_\w+),", f.read().split("enum v8_number {")[1].split("}")[0], re.M) if n != "V8_N"]
with open(f"{TOP}/runtimes/v8_tables.c") as f:
    NAMES = dict(reversed(re.findall(r'\{(V8_\w+),\s*"(\w+)"\}', f.read())))
# As in release 11; types are by this file's own choice.
K = dict(TAGGED_BYTES=8, FP_CONTEXT=-8, FP_FUNCTION=-16, FP_BYTECODE=-32, FP_BYTECODE_OFFSET=-40, TYPE_FUNCTION=0x800, TYPE_SHARED=0x101,
         TYPE_SCOPE=0x102, TYPE_SCRIPT=0x103, TYPE_BYTECODE=0x104, TYPE_BYTES=0x105, TYPE_CODE=0x106, TYPE_STREAM=0x107,
         TYPE_INTERPRETER_DATA=0x108, TYPE_ARRAY=0x109, TYPE_ODDBALL=0x83, FUNCTION_SHARED=24, SHARED_NAME=16, SHARED_SCRIPT=32,
         SCRIPT_SOURCE=8, SCRIPT_NAME=16, CODE_INSTRUCTIONS=40, CODE_SIZE=56, CODE_FLAGS=48, CODE_BASELINE=11, STREAM_INSTRUCTIONS=32,
         DEOPT_SHARED=6, BYTECODE_DATA=56, SCOPE_FIRST=3)
FLAT, CONS, SLICED, THIN, ONE_BYTE = 0, 1, 3, 5, 8


def words(*w):
    return b"".join(struct.pack("<Q", x & (1 << 64) - 1) for x in w)


def smi(n):
    return n << 32


class Heap:
    """Memory from MEMORY on. Objects are their tagged addresses."""

    def __init__(self, k=None):
        self.k = {**K, **(k or {})}
        self.bytes = bytearray(self.file())
        self.maps = {}

    def put(self, data, align=8, before=0):
        self.bytes += bytes(-(len(self.bytes) + before) % align)
        at = MEMORY + len(self.bytes)
        self.bytes += data + bytes(-len(data) % 8)
        return at + TAG

    def set(self, tagged, off, word):
        at = tagged - TAG - MEMORY + off
        self.bytes[at:at + 8] = words(word)

    def map(self, kind):
        if kind not in self.maps:
            self.maps[kind] = self.put(words(0) + struct.pack("<IHH", 0, kind, 0))
        return self.maps[kind]

    def object(self, kind, *fields):
        return self.put(words(self.map(self.k[kind]), *fields))

    def string(self, kind, n, *fields):
        return self.put(words(self.map(kind)) + struct.pack("<II", 0, n) + words(*fields))

    def text(self, text):
        flat = text.isascii()
        data = text.encode("latin-1" if flat else "utf-16-le")
        return self.put(words(self.map(FLAT | (ONE_BYTE if flat else 0))) + struct.pack("<II", 0, len(data) // (1 if flat else 2)) + data)

    def script(self, source, name):
        return self.object("TYPE_SCRIPT", source, name, smi(0), smi(0))

    def shared(self, name, script, start, end, data=0, inferred=None):
        flags = (1 << 12 if name else 0) | (1 << 14 if inferred else 0)
        parts = [name, smi(0)] if name else []
        scope = self.object("TYPE_SCOPE", smi(flags), smi(0), smi(0), *parts, *([inferred] if inferred else []), smi(start), smi(end))
        return self.object("TYPE_SHARED", data, scope, 0, script)

    def bytecode(self, shared, n, table=b""):
        lines = self.put(words(self.map(self.k["TYPE_BYTES"]), smi(len(table))) + table) if table else smi(0)
        b = self.put(words(self.map(self.k["TYPE_BYTECODE"]), smi(n), smi(0), lines, 0, 0, 0) + b"\x0b" * n)
        self.set(shared, 8, b)
        return b

    def function(self, shared):
        return self.object("TYPE_FUNCTION", 0, 0, shared)

    def code(self, kind, data, size=64):
        """The address of the instructions."""
        code = self.object("TYPE_CODE", data, 0, 0, 0, 0, self.k["CODE_BASELINE"] + kind, size)
        stream = self.put(words(self.map(self.k["TYPE_STREAM"]), code, 0, 0) + b"\x90" * size, 32)
        start = stream - TAG + self.k["STREAM_INSTRUCTIONS"]
        self.set(code, self.k["CODE_INSTRUCTIONS"], start)
        return start

    def optimized(self, kind, shared):
        return self.code(kind, self.object("TYPE_ARRAY", smi(8), *[0] * 6, shared, 0))

    def file(self):
        """An ELF file whose symbols are the numbers."""
        strings, syms, values, chain = b"\0", b"", b"", b""
        known = [(NAMES["V8_" + n], v) for n, v in self.k.items()]
        head = 64 + 2 * 56 + 4 * 16
        symtab = head + 16 + 8 + 4 + 4 * len(known) + 4
        at_values = symtab + 24 * (len(known) + 1)
        for i, (name, value) in enumerate(known):
            name = f"v8dbg_{name}".encode()
            h = 5381
            for c in name:
                h = h * 33 + c & 0xffffffff
            chain += struct.pack("<I", h & ~1 | (i + 1 == len(known)))
            syms += struct.pack("<IBBHQQ", len(strings), 0x11, 0, 1, at_values + 4 * i, 4)
            strings += name + b"\0"
            values += struct.pack("<i", value)
        strtab = at_values + len(values)
        eh = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
        load = struct.pack("<IIQQQQQQ", 1, 4, 0, 0, 0, strtab + len(strings), strtab + len(strings), 4096)
        dyn = struct.pack("<IIQQQQQQ", 2, 4, 64 + 112, 64 + 112, 0, 64, 64, 8)
        table = words(6, symtab, 5, strtab, 0x6ffffef5, head, 0, 0)
        gnu = struct.pack("<IIIIQI", 1, 1, 1, 0, 0, 1) + chain
        return (eh + load + dyn + table + gnu).ljust(symtab, b"\0") + bytes(24) + syms + values + strings

    def write(self, name, seen, flags=0, change=(0, bytes(8)), k=None):
        numbers = {**self.k, **(k or {})}
        seen = (list(seen) + [(0, 0, 0)] * 4)[:4]
        head = struct.pack(f"<I{len(NUMBERS)}iI8s", flags, *(numbers.get(n[3:], NONE) for n in NUMBERS), *change)
        head += bytes(-len(head) % 8) + b"".join(words(*s) for s in seen)
        with open(name, "wb") as out:
            out.write(head + self.bytes)


def lines(*pairs):
    """A table: differences of places in bytecode and in source."""
    out, at, place = b"", 0, 0
    for offset, source in pairs:
        for n in (offset - at, ((source + 1) << 1) - place):
            n = (n << 1) if n >= 0 else ((-n << 1) - 1)
            while n > 0x7f:
                out += bytes([n & 0x7f | 0x80])
                n >>= 7
            out += bytes([n])
        at, place = offset, (source + 1) << 1
    return out


def whole():
    """All kinds of code, of strings."""
    h = Heap()
    source, file = h.text("function f() {\n  g();\n}\n"), h.text("/a.js")
    script = h.script(source, file)
    left, right = h.text("in"), h.text("t\u00e9r")
    cons = h.string(CONS, 5, left, right)
    f = h.shared(cons, script, 10, 23)
    b = h.bytecode(f, 16, lines((0, 10), (4, 17)))
    g = h.shared(h.string(THIN, 4, h.text("base")), script, 10, 23)
    gb = h.bytecode(g, 8)
    base = h.code(0, gb)
    long = h.text("xx.optimized")
    o = h.shared(None, h.script(h.string(SLICED, 3, source, smi(4)), h.text("/o.js")), 0, 3, inferred=h.string(SLICED, 9, long, smi(3)))
    opt = h.optimized(2, o)
    m = h.shared(h.text("maglev"), script, 0, 1)
    mag = h.optimized(1, m)
    seen = [(0, h.function(f), b), (base + 9, h.function(g), gb), (opt + 63, h.function(o), 0), (mag, h.function(m), 0)]
    return h, seen, dict(f=f, b=b, base=base, opt=opt, script=script, cons=cons, left=left, o=o, g=g, source=source)


def main():
    h, seen, at = whole()
    h.write("all", seen)
    h.write("file", seen, HAS_FILE, k={n: 0 for n in K})
    h.write("small", seen, IS_SMALL)
    # The function's data is another one when all is compared.
    h.write("changed", seen, IS_CHANGED, (at["f"] - TAG + 8 - MEMORY, words(at["g"])))
    # The bytecode is: of the same length, while all that has led to it is as it was.
    h.write("other_constants", seen, IS_CHANGED, (at["b"] - TAG + 16 - MEMORY, words(smi(7))))
    h.write("other_bytecode", seen, IS_CHANGED, (at["b"] - TAG + h.k["BYTECODE_DATA"] - MEMORY, b"\x0c" * 8))
    # Strings that hold themselves, or more than there is.
    h.set(at["cons"], 16, at["cons"])
    h.set(at["cons"], 24, at["cons"])
    h.write("string_in_itself", seen)
    h, seen, at = whole()
    h.set(at["source"], 8, (16 << 20) << 32)
    h.write("long_source", seen)
    h.write("long_source_small", seen, IS_SMALL)
    h, seen, at = whole()
    h.set(at["left"], 8, 0xffffffff << 32)
    h.write("long_name", seen)
    # What is larger than any head.
    h, seen, at = whole()
    for n in ("STREAM_INSTRUCTIONS", "SCOPE_FIRST", "DEOPT_SHARED", "BYTECODE_DATA", "CODE_BASELINE", "TYPE_FUNCTION", "CODE_SIZE"):
        h.write("large_" + n.lower(), seen, k={n: 0x7fffffff})
        h.write("negative_" + n.lower(), seen, k={n: -0x7fffffff})
    # Places in the source whose sum is more than any number has.
    h = Heap()
    f = h.shared(h.text("f"), h.script(h.text("function f() {\n  g();\n}\n"), h.text("/a.js")), 10, 23)
    far = bytes([0x80] * 7 + [0x40])
    b = h.bytecode(f, 16, b"\0\xac" + far + 4 * (b"\0\x80" + far))
    h.write("far_places", [(0, h.function(f), b)])


main()
