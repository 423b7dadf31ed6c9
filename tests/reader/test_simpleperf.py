#!/usr/bin/env python3
"""simpleperf's own sections and records: symbols, kallsyms, META_INFO, against a second reader, written here.

The recordings of the corpus have FILE (until 2021) or FILE2 sections. What they do not have (records larger than
64 KiB, in pieces or not; DSO, SYMBOL, EVENT_ID, TRACING_DATA; chains made longer; an INIT_MAP section) is put into
copies of them here, by the layouts in AOSP's record.h and record_file.proto."""
import os
import re
import struct
import subprocess

from simpleperf import CALLCHAIN, DEBUG, DSO, EVENT_ID, FILE, FILE2, INIT_MAP, KERNEL_SYMBOL, META_INFO, SPLIT, \
    SPLIT_END, SYMBOL, TRACING_DATA, UNWINDING_RESULT, Recording, base_of, files_of
from tap import Tap

TOP, BUILD, BIN = os.environ["TOP"], os.environ["BUILD"], os.environ["BIN"]
TOOL = os.path.join(BUILD, "tests/reader/tool_dump")
CORPUS = os.path.join(TOP, "../shared/corpus/simpleperf")
tap = Tap()
check = tap.check


def dump(path):
    p = subprocess.run([TOOL, "-y", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    return p.returncode, p.stdout.decode(errors="replace")


def reported_files(text):
    """{path: (base, delta, symbols)}"""
    out = {}
    for line in text.splitlines():
        if line.startswith("symbols "):
            path, base, delta, _ = line[8:].split("\t")
            symbols = []
            out[path] = (base, int(delta, 16), symbols)
        elif line.startswith("symbol "):
            _, start, size, name = line.split(" ", 3)
            symbols.append((int(start, 16), int(size, 16), name))
    return out


def record(kind, body, misc=0):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def notes(text):
    return [l for l in text.splitlines() if l.startswith("note ")]


def corpus_files():
    for name in sorted(os.listdir(CORPUS)):
        with open(os.path.join(CORPUS, name), "rb") as f:
            raw = f.read()
        if raw[:8] != b"PERFILE2":
            continue
        r = Recording(raw)
        files = files_of(r)
        _, text = dump(os.path.join(CORPUS, name))
        if files:
            reported = reported_files(text)
            want = {p: (*base_of(k, low, off), s) for p, k, low, off, s in files if p in reported}
            check(reported == want and len(reported) == len(files), f"{name}: symbols of {len(files)} files", (reported, want))
        if META_INFO in r.sections:
            pairs = r.sections[META_INFO].split(b"\0")[:-1]
            want = [f"# simpleperf {k.decode()} : {v.decode().strip().replace(chr(10), ';')}"
                    for k, v in zip(pairs[::2], pairs[1::2])]
            p = subprocess.run([os.path.join(BIN, "resolve"), "--header", os.path.join(CORPUS, name)],
                               stdout=subprocess.PIPE, timeout=60)
            ours = [l.rstrip("; ") for l in p.stdout.decode().splitlines() if l.startswith("# simpleperf ")]
            check(ours == [w.rstrip("; ") for w in want], f"{name}: META_INFO in the header", (ours, want))


def more_records():
    with open(os.path.join(CORPUS, "perf_with_callchain_record.data"), "rb") as f:
        r = Recording(f.read())
    kallsyms = b"".join(b"%016x T function_%d\n" % (0xffff0000 + 16 * i, i) for i in range(8000))
    big = struct.pack("<I", len(kallsyms)) + kallsyms + b"\0" * (-len(kallsyms) % 8)
    size = 8 + len(big)
    whole = struct.pack("<IHH", KERNEL_SYMBOL, size >> 16, size & 0xffff) + big
    pieces = b"".join(record(SPLIT, whole[i:i + 60000]) for i in range(0, len(whole), 60000)) + record(SPLIT_END, b"")
    _, plain = dump(os.path.join(CORPUS, "perf_with_callchain_record.data"))
    check(not notes(plain), "nothing is odd about CALLCHAIN records", notes(plain))

    def same_but(name, data, pattern, sections=None):
        with open("x.data", "wb") as f:
            f.write(r.rebuilt(data, sections))
        rc, text = dump("x.data")
        drop = re.compile(r"records |kallsyms |note |.*\t0x[0-9a-f]+$")
        a, b = ([l for l in t.splitlines() if not drop.match(l)] for t in (plain, text))
        check(rc == 0 and a == b and re.search(pattern, text), name, (rc, notes(text), set(a) ^ set(b)))
        return text

    want = rf"(?m)^kallsyms {len(kallsyms)} "
    one = same_but("KERNEL_SYMBOL of more than 64 KiB", whole + r.data, want)
    two = same_but("KERNEL_SYMBOL in SPLIT records", pieces + r.data, want)
    check(re.findall("kallsyms .*", one) == re.findall("kallsyms .*", two), "KERNEL_SYMBOL of more than 64 KiB, whole or in SPLIT records: the same symbols")
    same_but("UNWINDING_RESULT and DEBUG records are counted by name",
             record(UNWINDING_RESULT, bytes(48)) * 3 + record(DEBUG, bytes(16)) + r.data,
             "note records of simpleperf that are not used: 3 UNWINDING_RESULT, 1 DEBUG")
    with open("x.data", "wb") as f:
        f.write(r.rebuilt(record(TRACING_DATA, struct.pack("<I", 9) + b"tracing!!" + bytes(51)) + r.data))
    p = subprocess.run([os.path.join(BIN, "resolve"), "--header", "x.data"], stdout=subprocess.PIPE, timeout=60)
    check(p.returncode == 0, "TRACING_DATA as a record", p.returncode)
    old_symbols(r)
    longer_chain(r)
    event_ids()
    init_map(r)


def old_symbols(r):
    """Before FILE: a DSO record per file, then its SYMBOLs."""
    def text(s):
        return s + b"\0" * (8 - len(s) % 8)

    path = b"/system/bin/linker64"
    records = record(DSO, struct.pack("<3Q", 2, 7, 0x1000) + text(path))
    records += record(SYMBOL, struct.pack("<3Q", 0x2000, 0x30, 7) + text(b"_start"))
    records += record(SYMBOL, struct.pack("<3Q", 0x2000, 0x30, 8) + text(b"of_nobody"))
    bare = Recording(r.raw)
    del bare.sections[FILE]
    with open("x.data", "wb") as f:
        f.write(bare.rebuilt(records + r.data))
    rc, out = dump("x.data")
    want = {path.decode(): ("map", 0x1000, [(0x2000, 0x30, "_start")])}
    check(rc == 0 and reported_files(out) == want, "DSO and SYMBOL records", reported_files(out))


def longer_chain(r):
    """The first sample's own user chain has 2 addresses; JOINED_OFFLINE (2) with 3 replaces it, with 1 does not."""
    head = struct.unpack_from("<IIQQQ", r.data, r.data.index(struct.pack("<IHH", CALLCHAIN, 0, 72)) + 8)
    at = r.data.index(struct.pack("<IHH", 9, 1, 176))

    def chain_with(ips):
        body = struct.pack("<IIQQQ", head[0], head[1], 2, head[3], len(ips)) + struct.pack(f"<{2 * len(ips)}Q", *ips, *ips)
        with open("x.data", "wb") as f:
            f.write(r.rebuilt(r.data[:at] + record(CALLCHAIN, body) + r.data[at:]))
        p = subprocess.run([TOOL, "-c", "x.data"], stdout=subprocess.PIPE, timeout=60)
        line = next(l for l in p.stdout.decode().splitlines() if "\tcpu-cycles\t" in l)
        return line.split(" chain ")[1].split(" regs ")[0].split("fffffffffffffe00 ")[1].split()

    check(chain_with([0x5f378a]) == ["5f378a", "5ea2c2"], "a chain that is shorter changes nothing", chain_with([1]))
    check(chain_with([0x5f378a, 0x5ea2c2, 0x5e0000]) == ["5f378a", "5ea2c2", "5e0000"], "a chain made longer is used")
    check(chain_with([0x5f378c, 0x5ea2c4, 0x5e0002]) == ["5f378a", "5ea2c2", "5e0000"],
          "its return addresses become calls, as in the sample")


def event_ids():
    """Two events whose ids are taken out of the header and given by an EVENT_ID record."""
    with open(os.path.join(CORPUS, "perf_with_two_event_types.data"), "rb") as f:
        raw = f.read()
    r = Recording(raw)
    head, pairs = bytearray(raw), []
    for e in range(r.attrs_size // r.attr_size):
        at = r.attrs + (e + 1) * r.attr_size - 16
        off, n = struct.unpack_from("<2Q", raw, at)
        pairs += [(e, i) for i in struct.unpack_from(f"<{n // 8}Q", raw, off)]
        struct.pack_into("<Q", head, at + 8, 0)
    body = struct.pack("<Q", len(pairs)) + b"".join(struct.pack("<2Q", *p) for p in pairs)
    with open("x.data", "wb") as f:
        f.write(Recording(bytes(head)).rebuilt(record(EVENT_ID, body) + r.data))
    events = [re.findall(r"\t\d+\t(\S+)\t\d+\t", dump(p)[1]) for p in
              ("x.data", os.path.join(CORPUS, "perf_with_two_event_types.data"))]
    check(events[0] == events[1] and len(set(events[0])) == 2, "ids from EVENT_ID records", events)


def init_map(r):
    """MMAP records moved out of the data into INIT_MAP: the same profile."""
    moved, rest, at = b"", b"", 0
    while at < len(r.data):
        kind, _, n = struct.unpack_from("<IHH", r.data, at)
        if kind == 1:
            moved += r.data[at:at + n]
        else:
            rest += r.data[at:at + n]
        at += n
    with open("x.data", "wb") as f:
        f.write(r.rebuilt(rest, {INIT_MAP: moved}))
    (_, a), (rc, b) = (dump(p) for p in (os.path.join(CORPUS, "perf_with_callchain_record.data"), "x.data"))
    strip = re.compile(r"\t0x[0-9a-f]+$", re.M)
    check(rc == 0 and strip.sub("", a) == strip.sub("", b) and len(moved) > 500, "maps in the INIT_MAP section", b[-900:])


def hostile_sections():
    """Numbers that lie: status 1, one line that says so, the same samples, and what stands before the lie."""
    with open(os.path.join(CORPUS, "perf_with_callchain_record.data"), "rb") as f:
        r = Recording(f.read())
    samples = re.search(r"(?m)^samples \d+", dump(os.path.join(CORPUS, "perf_with_callchain_record.data"))[1]).group()
    first = 4 + struct.unpack_from("<I", r.sections[FILE])[0]
    count = r.sections[FILE].index(0, 4) + 1 + 12  # in the first entry, behind path, type, min_vaddr
    lies = {"a count of symbols": (FILE, r.sections[FILE][:count] + b"\xff" * 4 + r.sections[FILE][count + 4:]),
            "the size of a file's symbols": (FILE, r.sections[FILE][:first] + b"\xff" * 4 + r.sections[FILE][first + 4:]),
            "the size of a message": (FILE2, struct.pack("<I", 0xfffffff0) + b"\n\x11[kernel.kallsyms]"),
            "the length of a field": (FILE2, struct.pack("<I", 19) + b"\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01kallsyms"),
            "a number without end": (FILE2, struct.pack("<I", 64) + b"\x10" + b"\xff" * 63),
            "symbols that are no messages": (FILE2, struct.pack("<I", 12) + b"\n\x04/bin\x22\x04\xff\xff\xff\xff")}
    for what, (bit, section) in lies.items():
        bare = Recording(r.raw)
        del bare.sections[FILE]
        with open("x.data", "wb") as f:
            f.write(bare.rebuilt(sections={bit: section}))
        rc, text = dump("x.data")
        reported = [n for n in notes(text) if "simpleperf's symbols" in n]
        check(rc == 1 and samples in text and len(reported) == 1, f"a lie: {what}", (rc, notes(text), text[-300:]))


if os.path.isdir(CORPUS):
    corpus_files()
    hostile_sections()
    more_records()
else:
    tap.skip("simpleperf", "no ../shared/corpus here")
tap.end()
