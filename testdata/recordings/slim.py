#!/usr/bin/env python3
"""slim.py - what a recording needs of an ELF file.

slim(source, target, hits) writes a file of the same layout: of the functions at the file offsets `hits` the code, the
call frame information and the symbols, all headers, notes and PLT tables; the rest is zeros. Nothing of it is
invented: what it has is byte for byte the original's, but for the search table of .eh_frame_hdr, which is made shorter,
sections of debug information, which have no contents, and call frame information that was left out, which became one CIE of padding.
"""
import bisect
import os
import struct

WINDOW = 16384  # bytes of code around a hit where no call frame information tells the function
SHT_SYMTAB, SHT_STRTAB, SHT_NOTE, SHT_NOBITS, SHT_DYNSYM = 2, 3, 7, 8, 11
KEEP = (".shstrtab", ".interp", ".dynamic", ".gopclntab", ".go.buildinfo", ".note.go.buildid", ".plt.got", ".gnu_debuglink")
PADDING_CIE = struct.pack("<IBBBBB", 0, 1, 0, 1, 0x78, 16)  # version 1, no augmentation, factors 1 and -8, then DW_CFA_nop


class Elf:
    """A 64-bit little-endian ELF file in memory."""

    def __init__(self, data):
        self.data = data
        assert data[:6] == b"\x7fELF\x02\x01", "64 bits, little-endian"
        phoff, self.shoff = struct.unpack_from("<QQ", data, 32)
        phentsize, self.phnum, self.shentsize, self.shnum, strndx = struct.unpack_from("<HHHHH", data, 54)
        self.segments = []  # (offset, vaddr, file size)
        for i in range(self.phnum):
            kind, _, off, vaddr, _, filesz = struct.unpack_from("<IIQQQQ", data, phoff + i * phentsize)
            if kind == 1:
                self.segments.append((off, vaddr, filesz))
        raw = [struct.unpack_from("<IIQQQQIIQQ", data, self.shoff + i * self.shentsize) for i in range(self.shnum)]
        names = raw[strndx][4]
        self.sections = [(data[names + r[0]:data.index(b"\0", names + r[0])].decode(), *r[1:]) for r in raw]

    def section(self, name):
        return next((s for s in self.sections if s[0] == name), None)

    def vaddr(self, off):
        return next((v + off - o for o, v, n in self.segments if o <= off < o + n), None)

    def offset(self, vaddr):
        return next((o + vaddr - v for o, v, n in self.segments if v <= vaddr < v + n), None)


def frame_entries(elf, section):
    """[(offset, end, start vaddr, end vaddr, offset of the CIE)] of .eh_frame; a CIE has no addresses."""
    _, _, _, base, off, size = section[:6]
    out, at = [], off
    while at + 4 <= off + size:
        length, = struct.unpack_from("<I", elf.data, at)
        if not length:
            break
        cie, = struct.unpack_from("<I", elf.data, at + 4)
        if cie:  # pc-relative, signed, 4 bytes: what gcc, clang and rustc write
            begin, count = struct.unpack_from("<iI", elf.data, at + 8)
            start = base + at + 8 - off + begin
            out.append((at, at + 4 + length, start, start + count, at + 4 - cie))
        else:
            out.append((at, at + 4 + length, 0, 0, at))
        at += 4 + length
    return out


class Slimmer:
    def __init__(self, elf, hits):
        self.elf, self.pieces = elf, {}
        self.hits = sorted({v for v in map(elf.vaddr, hits) if v is not None})
        self.ranges = []  # of functions that were hit

    def keep(self, off, size):
        self.pieces[off] = self.elf.data[off:off + size]

    def is_hit(self, start, end):
        """Also the byte behind: a return address may be behind the function's last call."""
        i = bisect.bisect_left(self.hits, start)
        return i < len(self.hits) and self.hits[i] <= end

    def frames(self):
        eh, hdr = self.elf.section(".eh_frame"), self.elf.section(".eh_frame_hdr")
        if not eh or eh[1] == SHT_NOBITS:
            return
        entries = frame_entries(self.elf, eh)
        chosen = [e for e in entries if e[3] and self.is_hit(e[2], e[3])]
        self.ranges += [(e[2], e[3]) for e in chosen]
        cies = {e[4] for e in chosen}
        kept = sorted(set(chosen) | {e for e in entries if e[0] in cies})
        at, end = eh[4], entries[-1][1] if entries else eh[4]
        for e in kept + [(end, end)]:
            if e[0] > at:
                self.pieces[at] = struct.pack("<I", e[0] - at - 4) + PADDING_CIE
            self.keep(e[0], e[1] - e[0])
            at = e[1]
        if hdr:
            table = sorted((e[2] - hdr[3], eh[3] + e[0] - eh[4] - hdr[3]) for e in chosen)
            assert self.elf.data[hdr[4]:hdr[4] + 4] == b"\x01\x1b\x03\x3b", "the usual encodings"
            self.pieces[hdr[4]] = self.elf.data[hdr[4]:hdr[4] + 8] + struct.pack("<I", len(table)) + b"".join(struct.pack("<ii", *t) for t in table)

    def symbols(self, section):
        _, _, _, _, off, size, link = section[:7]
        strings = self.elf.sections[link][4]
        for at in range(off, off + size, 24):
            name, _, _, shndx, value, length = struct.unpack_from("<IBBHQQ", self.elf.data, at)
            if at == off or shndx and (self.is_hit(value, value + length) or any(a <= value < b for a, b in self.ranges)):
                self.keep(at, 24)
                self.keep(strings + name, self.elf.data.index(b"\0", strings + name) + 1 - strings - name)

    def code(self):
        covered = list(self.ranges)
        covered += [(v - WINDOW // 2, v + WINDOW // 2) for v in self.hits if not any(a <= v <= b for a, b in self.ranges)]
        for a, b in covered:
            off = self.elf.offset(a)
            if off is not None:
                self.keep(off, min(b - a, 64 * 1024))

    def run(self):
        self.keep(0, 64)
        self.keep(64, 56 * self.elf.phnum)
        headers = bytearray(self.elf.data[self.elf.shoff:self.elf.shoff + self.elf.shentsize * self.elf.shnum])
        for i, s in enumerate(self.elf.sections):
            if s[0].startswith((".debug_", ".zdebug_")):
                struct.pack_into("<I", headers, i * self.elf.shentsize + 4, SHT_NOBITS)
        self.pieces[self.elf.shoff] = bytes(headers)
        self.frames()
        plt_hit = any(s[0].startswith(".plt") and self.is_hit(s[3], s[3] + s[5]) for s in self.elf.sections)
        for s in self.elf.sections:
            name, kind = s[:2]
            if kind == SHT_NOTE or name in KEEP or name.startswith((".plt", ".rela.plt")) or plt_hit and name in (".dynsym", ".dynstr"):
                self.keep(s[4], s[5])
            elif kind in (SHT_SYMTAB, SHT_DYNSYM):
                self.symbols(s)
        self.code()
        return self.pieces


def slim(source, target, hits):
    with open(source, "rb") as f:
        data = f.read()
    os.makedirs(os.path.dirname(target), exist_ok=True)
    slimmed = bytearray(len(data))  # without holes: a file of mostly holes is refused (base/rooted.c)
    for off, piece in Slimmer(Elf(data), hits).run().items():
        slimmed[off:off + len(piece)] = piece
    with open(target, "wb") as out:
        out.write(slimmed)
