#!/usr/bin/env python3
"""Units that are compiled while .debug_info is being inflated: the same answers, and none from a section that is damaged.

What is expected follows from how the files are written: unit i has one function, f<i>, of 16 bytes. The many cases of
test_crafted.py and test_hostile.py are asked in this way too."""
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests/dwarf/sources"))
sys.dont_write_bytecode = True
from tap import LONG  # noqa: E402
from dwarf_asm import *  # noqa: E402,F403

UNITS = 120
PADDING = 20000  # so that units lie in several of the steps, of 1 MiB, in which sections are inflated


def start(i):
    return CODE + 32 * i


def many_units(origin_of=None, units=UNITS, padding=PADDING):
    f = File()
    for i in range(units):
        body = fn(f"f{i}", start(i), 16)
        if origin_of:
            body = Die(SUB, (ORIGIN, "ref_addr", origin_of(f)), (LOW, "addr", start(i)), (HIGH, "data8", 16))
        # what cannot be compressed away, and is passed over
        f.add(Die(CU, (NAME, "string", f"u{i}.c"), (LOW, "addr", start(i)), (HIGH, "data8", 16),
                  kids=[Die(0x34, (0x2100, "block4", os.urandom(padding))), body]))
    return f


def tell(data, addresses, *options):
    with open("crafted.elf", "wb") as f:
        f.write(data)
    return subprocess.run([TOOL, *options, "crafted.elf", *map(hex, addresses)], capture_output=True, text=True, check=True).stdout


def early_units(data, addresses, *options):
    """How many units were compiled, and how many of these early."""
    out = tell(data, addresses, "-s", "-j", "3", *options)
    return tuple(map(int, re.search(r"compiled (\d+) early (\d+)", out).groups()))


def gone(f, addresses, *options):
    """How much of .debug_info did not stay, as a share, and whether it was needed again."""
    out = tell(compressed(f.elf()), addresses, "-s", *options)
    return int(re.search(r"let go (\d+)", out)[1]) / len(f.sec["info"]), "inflated twice" in out


def arange(unit, lo, size):
    return aranges(unit, [(lo, size)])


def aranges(unit, ranges):
    pairs = b"".join(struct.pack("<QQ", *r) for r in [*ranges, (0, 0)])
    return struct.pack("<IHIBBI", 12 + len(pairs), 2, unit, 8, 0, 0) + pairs


@case
def all_units():
    data = many_units().elf()
    assert len(compressed(data)) > 2 << 20
    equal(names(data, [start(i) + 15 for i in range(UNITS)]), [[f"f{i}"] for i in range(UNITS)])
    equal(names(data, [start(i) + 16 for i in range(UNITS)]), [[] for i in range(UNITS)])
    equal(early_units(compressed(data), [start(i) for i in range(UNITS)]), (UNITS, UNITS))
    equal(early_units(data, [start(i) for i in range(UNITS)]), (UNITS, 0))


@case
def wanted_units():
    """Only units that are asked for."""
    data = many_units().elf()
    wanted = [start(i) for i in range(0, UNITS, 20)]
    equal(names(data, wanted), [[f"f{i}"] for i in range(0, UNITS, 20)])
    equal(early_units(compressed(data), wanted), (len(wanted), len(wanted)))


@case
def with_a_cache():
    """A run that hits all of a module compiles all of it, for the cache; which it is shows by and by. One unit that is wanted
    and the first to be seen looks like a module where all are: it is compiled once more."""
    data = compressed(many_units().elf())
    few, every = [start(i) for i in range(0, UNITS, 20)], [start(i) for i in range(UNITS)]
    with tempfile.TemporaryDirectory() as cache:
        compiled, early = early_units(data, few, "-c", cache)
        assert compiled == len(few) and early in (len(few) - 1, len(few)), (compiled, early)
        equal(early_units(data, few, "-c", cache), (0, 0))
        equal(tell(data, few, "-c", cache), tell(data, few))
    with tempfile.TemporaryDirectory() as cache:
        equal(early_units(data, every, "-c", cache), (UNITS, UNITS))
        equal(early_units(data, [start(UNITS - 1) + 15], "-c", cache), (0, 0))
        equal(tell(data, few, "-c", cache), tell(data, few))


@case
def nothing_stays():
    """Neither units that are compiled nor those that are not wanted, on one thread or more. Names stand in their units."""
    f = many_units()
    some, every = [start(i) for i in range(0, UNITS, 20)], [start(i) for i in range(UNITS)]
    for threads in "123":
        equal(gone(f, every, "-j", threads), (1, False))
        equal(gone(f, some, "-j", threads), (1, False))
        equal(gone(f, [CODE + CODE_SIZE - 1], "-j", threads), (1, False))


@case
def parts_stay():
    """Units that may still be asked for stay, and with them what shares their pages."""
    f = many_units(units=60)
    f.add(Die(CU, (NAME, "string", "rangeless.c"), kids=[
        Die(0x34, (0x2100, "block4", os.urandom(100000))), fn("unsaid", start(UNITS), 16)]))
    share, again = gone(f, [start(i) for i in range(60)])
    assert share < 1 and not again, (share, again)
    equal(names(f.elf(), [start(3), start(UNITS), start(UNITS) + 20]), [["f3"], ["unsaid"], []])


@case
def references_to_what_is_gone():
    """The last units have their names in the first ones, of which nothing is there any more."""
    f, wanted = many_units(), [start(UNITS), start(UNITS + 1), start(7)]
    first = f.sec["info"].index(b"f0\0") - 1
    assert f.sec["info"][first] in range(1, 8)  # the abbreviation of its function
    for i in range(2):
        target = Die(SUB)
        target.off = first
        f.add(Die(CU, (NAME, "string", f"tail{i}.c"), (LOW, "addr", start(UNITS + i)), (HIGH, "data8", 16), kids=[
            Die(SUB, (ORIGIN, "ref_addr", target), (LOW, "addr", start(UNITS + i)), (HIGH, "data8", 16))]))
    equal(names(f.elf(), wanted), [["f0"], ["f0"], ["f7"]])
    for threads in "123":
        share, again = gone(f, wanted, "-j", threads)
        # On more threads all of it may be there before they begin; then nothing is gone when they meet a reference.
        assert again == (share > 0) and (again or threads != "1"), (share, again)


@case
def known_beforehand():
    """Where .debug_aranges says which units are wanted it is known from the first on whether all will be."""
    f = many_units()
    data, at = f.sec["info"], 0
    for i in range(UNITS):
        f.sec["aranges"] += arange(at, start(i), 16)
        at += 4 + struct.unpack_from("<I", data, at)[0]
    few, every = [start(i) for i in range(0, UNITS, 20)], [start(i) for i in range(UNITS)]
    for asked in few, every:
        with tempfile.TemporaryDirectory() as cache:
            equal(early_units(compressed(f.elf()), asked, "-c", cache), (len(asked), len(asked)))
        with tempfile.TemporaryDirectory() as cache:
            equal(gone(f, asked, "-c", cache), (1, False))
            equal(tell(f.elf(), every, "-c", cache), tell(f.elf(), every))


@case
def asked_of_shared_functions():
    """Functions that all units have, and say so: only the first of these is asked for them, also when it is thought about
    what all would cost."""
    f, shared = File(), [start(UNITS + k) for k in range(10)]
    for i in range(UNITS):
        ranges = [(a, 16) for a in [start(i), *shared]]
        at = len(f.sec["ranges"])
        f.sec["ranges"] += b"".join(struct.pack("<QQ", a, a + n) for a, n in ranges) + bytes(16)
        unit = f.add(Die(CU, (NAME, "string", f"u{i}.c"), (LOW, "addr", 0), (RANGES, "sec_offset", at), kids=[
            Die(0x34, (0x2100, "block4", os.urandom(PADDING))), fn(f"f{i}", start(i), 16),
            *(fn(f"shared{k}", a, 16) for k, a in enumerate(shared))]), version=4)
        f.sec["aranges"] += aranges(unit, ranges)
    data = compressed(f.elf())
    few, every = range(0, UNITS, 20), range(UNITS)
    for own, units in ([], 1), (few, len(few)), (few[1:], len(few)), (every, UNITS):
        asked = [*shared, *(start(i) for i in own)]
        equal(names(f.elf(), asked), [[f"shared{k}"] for k in range(10)] + [[f"f{i}"] for i in own])
        with tempfile.TemporaryDirectory() as cache:
            equal(early_units(data, asked, "-c", cache), (units, units))
            equal(tell(data, asked, "-c", cache), tell(data, asked))


@case
def counted_wrongly():
    """Whatever .debug_aranges says, the answers are the same."""
    f = many_units(units=30, padding=100)
    few, every = [start(i) for i in range(0, 30, 9)], [start(i) for i in range(30)]
    size = len(f.sec["info"])
    for i, sets in enumerate((arange(0, CODE, CODE_SIZE), arange(0, CODE + CODE_SIZE // 2, 16), arange(5, CODE, CODE_SIZE), arange(size, CODE, 16),
                 arange(100, CODE, 16) + arange(0, CODE, 16), arange(0, 0, 0), arange(size - 1, CODE, CODE_SIZE), b"\xff" * 50)):
        f.sec["aranges"] = sets
        whole, data = tell(f.elf(), every), compressed(f.elf())
        for k, asked in enumerate((few, every)):
            plain = whole if asked is every else tell(f.elf(), asked)
            for threads in "13" if LONG else "13"[i + k & 1]:
                with tempfile.TemporaryDirectory() as cache:
                    for _ in range(2):
                        equal(tell(data, asked, "-j", threads, "-c", cache), plain)
                    equal(tell(data, every, "-j", threads, "-c", cache), whole)


@case
def damaged_streams():
    """Whatever was compiled counts only when the checksum at the end is right."""
    data = many_units().elf()
    wanted = [start(i) for i in range(UNITS)]
    nothing = [[] for _ in wanted]

    def got(change):
        answers, _ = ask(compressed(data, change), wanted, threads=3)
        return [[f[0] for f in fs] for fs in answers.values()]

    def flip(stream, at):
        return stream[:at] + bytes([stream[at] ^ 1]) + stream[at + 1:]

    equal(got(lambda h, s: (h, s)), [[f"f{i}"] for i in range(UNITS)])
    equal(got(lambda h, s: (h, s + b"behind")), [[f"f{i}"] for i in range(UNITS)])
    for change in (
            lambda h, s: (h, flip(s, len(s) - 1)),              # RFC 1950 2.2: ADLER32
            lambda h, s: (h, flip(s, len(s) - 4)),
            lambda h, s: (h, flip(s, len(s) // 2)),
            lambda h, s: (h, s[:-1]),                           # ends early
            lambda h, s: (h, s[:-4]),
            lambda h, s: (h, s[:len(s) // 2]),
            lambda h, s: (h, s[:1 << 20]),
            lambda h, s: (h, s[:2]),
            lambda h, s: (h, b""),
            lambda h, s: ((1, h[1] - 1, 1), s),                 # the size is false
            lambda h, s: ((1, h[1] + 1, 1), s),
            lambda h, s: ((1, h[1] // 2, 1), s),
            lambda h, s: ((1, h[1] * 2, 1), s),
            lambda h, s: ((1, 2**62, 1), s),
            lambda h, s: ((1, 0, 1), s),
            lambda h, s: ((7, h[1], 1), s)):                    # no known compression
        equal(got(change), nothing)


@case
def references_to_later_units():
    """Names stand in the last unit: nothing is compiled before it is there."""
    last = Die(SUB, (NAME, "string", "far"))
    tail = Die(CU, (NAME, "string", "tail.c"), kids=[last])
    # Offsets do not depend on what they refer to: the second time they are right.
    for _ in range(2):
        f = many_units(lambda f: last)
        f.add(tail)
    wanted = [start(i) for i in range(UNITS)]
    equal(names(f.elf(), wanted), [["far"]] * UNITS)
    compiled, early = early_units(compressed(f.elf()), wanted)
    assert compiled == UNITS and early == 0, (compiled, early)


@case
def references_to_earlier_units():
    first = Die(SUB, (NAME, "string", "near"))
    f = File()
    f.add(Die(CU, (NAME, "string", "head.c"), kids=[first]))
    for i in range(4):
        f.add(Die(CU, (NAME, "string", f"u{i}.c"), (LOW, "addr", start(i)), (HIGH, "data8", 16), kids=[
            Die(SUB, (ORIGIN, "ref_addr", first), (LOW, "addr", start(i)), (HIGH, "data8", 16))]))
    equal(names(f.elf(), [start(i) for i in range(4)]), [["near"]] * 4)


@case
def lying_lengths():
    """The length of a unit leads into the next one, or beyond the section: as without threads."""
    f = many_units(units=30, padding=100)
    data = f.sec["info"]
    ends, at = [], 0
    while at < len(data):
        ends.append(at)
        at += 4 + struct.unpack_from("<I", data, at)[0]
    for unit in (0, 10, 29):
        for length in (0, 8, 50, 250, len(data), 0x7fffffff, 0xfffffff5, 0xffffffff):
            f.sec["info"] = data[:ends[unit]] + struct.pack("<I", length) + data[ends[unit] + 4:]
            both(f.elf(), [start(i) for i in range(30)])


@case
def overlapping_abbreviations():
    """Two units read one table from different offsets: the first ends where the second begins, also when units are
    compiled before the second is known."""
    f = File()
    f.add(cu(fn("one", CODE, 16), size=16))
    f.add(cu(fn("two", CODE + 16, 16), lo=CODE + 16, size=16))
    table = f.sec["abbrev"] = f.abbrevs()
    second = len(f.sec["info"]) // 2
    for at in range(len(table)):
        info = f.sec["info"]
        f.sec["info"] = info[:second + 8] + struct.pack("<I", at) + info[second + 12:]
        both(f.elf(), [CODE, CODE + 16])
        f.sec["info"] = info


@case
def shared_abbreviations():
    """One table for all units, and it is long: it is decoded once."""
    f = many_units()
    f.sec["abbrev"] = f.abbrevs()[:-1] + b"".join(
        uleb(1000 + i) + uleb(0x34) + b"\0" + uleb(0x2101) + b"\x0b" + b"\0\0" for i in range(20000)) + b"\0"
    wanted = [start(i) for i in range(UNITS)]
    equal(names(f.elf(), wanted), [[f"f{i}"] for i in range(UNITS)])
    equal(early_units(compressed(f.elf()), wanted), (UNITS, UNITS))


if __name__ == "__main__":
    sys.exit(run_cases(sys.argv[1:]))
