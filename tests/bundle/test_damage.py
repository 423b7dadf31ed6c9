#!/usr/bin/env python3
"""Bundles that are damaged, and bundles that somebody changed by hand, with valid sums: headers of the ELF files in them that lie, ranges that
overlap or lie outside, sizes that nothing has, a file for another machine, an id twice. What is left is used, a line says what is not and why,
the exit status is 1, and nothing takes long or much memory."""
import os
import resource
import struct
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import *  # noqa: E402

tap = Tap()
need_events()
TOOL = os.path.join(os.environ["BUILD"], "tests", "bundle", "tool_damage")
MEMORY = 6 << 30  # address space; holes take no memory
SANITIZED = os.environ["BUILD"].endswith("-san")  # takes much more


def limit():
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


ADVICE = "code without names in", "reach no root"  # lines that say what would help


def of(text, comm, frame):
    """Has a stack of this program this frame?"""
    return any(l.startswith(comm + ";") and frame in l for l in text.splitlines())


def feature_200(data):
    """Where the table has the place of the bundle, and that."""
    off, size = struct.unpack_from("<QQ", data, 40)
    bits = struct.unpack_from("<4Q", data, 72)
    row = off + size + 16 * sum(bits[b // 64] >> b % 64 & 1 for b in range(200))
    return (row, *struct.unpack_from("<QQ", data, row))


def ask(data, *options):
    """What resolve says of a recording; lines of advice apart."""
    with open("bad.data", "wb") as f:
        f.write(data)
    p = run([RESOLVE, "--no-cache", *options, "bad.data"], check=False, preexec_fn=limit)
    return p, [l for l in p.stderr.splitlines() if not any(a in l for a in ADVICE)]


def with_bundle(data, row, bundle):
    copy = bytearray(data)
    struct.pack_into("<QQ", copy, row, len(copy), len(bundle))
    return bytes(copy + bundle)


def change(*how):
    p = subprocess.run([TOOL, "section", "prog", *map(str, how)], stdout=subprocess.PIPE)
    if p.returncode:
        raise RuntimeError(f"{TOOL} {how}: status {p.returncode}")
    return p.stdout


def by_hand(what, hows, whole, data, row, *, names=None, says=None):
    """`names`: does the program have some afterwards (None: perhaps); `says`: words about what cannot be used ("": nothing to be said)."""
    bad = []
    for how in hows:
        p, lines = ask(with_bundle(data, row, change(*how)))
        named = of(p.stdout, "prog", ";main;")
        good = p.returncode == bool(lines) and p.stdout and len(lines) <= 2 and (lines or p.stdout == whole or says is None)
        good = good and (names is None or named == names) and (says is None or (says in lines[0] if says else not lines))
        if not good:
            bad.append((how, p.returncode, p.stdout[:200], p.stderr[-700:]))
    tap.check(not bad, what, *bad[:3])


def entries(data, at, size):
    """(kind, path, offset, offset of the path, of the stored bytes, how many those are), by bundle/bundle.h."""
    pos = at + 16
    while pos < at + size:
        kind, = struct.unpack_from("<I", data, pos + 4)
        stored, n_path = struct.unpack_from("<QI", data, pos + 72)
        yield kind, data[pos + 96:pos + 96 + n_path].decode(), pos, pos + 96, pos + 96 + n_path, stored
        pos += (96 + n_path + stored + 7) // 8 * 8


def cuts_and_flips(data, at, size, whole):
    """In the file's own bundle. A flipped bit costs the entry that it is in."""
    bad, n = [], 0
    for kind, path, head, name, stored, n_stored in entries(data, at, size):
        comm = os.path.basename(path)
        if comm not in ("prog", "other", "processes"):
            continue
        for place in (head + 10, name, stored + n_stored // 2) if comm == "prog" else (stored + n_stored // 3,):
            copy = bytearray(data)
            copy[place] ^= 0x41
            p, lines = ask(copy)
            named = {c for c in ("prog", "other") if of(p.stdout, c, ";main;")}
            n += 1
            says = len(lines) == 1 and comm in lines[0] and "the rest is used" in lines[0]
            if p.returncode != 1 or not says or named != {"prog", "other"} - {comm}:
                bad.append((path, place - head, p.returncode, *named, p.stderr[-500:]))
    tap.check(not bad and n == 5, "flipped bits: a line says in which file, and that the rest is used, and it is", *bad[:5], n)
    bad, shares = [], []
    for i in range(1, 6):
        p, lines = ask(data[:at + size * i // 6])
        shares.append(sum(";main;" in l for l in p.stdout.splitlines()))
        if p.returncode != 1 or not lines or not p.stdout:
            bad.append((i, p.returncode, p.stderr[-500:]))
    tap.check(not bad and shares == sorted(shares), "cut: the more is there the more has names", *bad[:3], shares)


def many(data, row):
    """Lines about single files are few."""
    p, lines = ask(with_bundle(data, row, change("flood", 3000)))
    tap.check(p.returncode == 1 and 2 <= len(lines) <= 12 and "more of the files" in p.stderr, "thousands of damaged entries: few lines", len(lines), *lines[:3], *lines[-1:])


def others(data, row):
    """What else reads bundles says it too."""
    ask(with_bundle(data, row, change("outside")))
    p = run([RESOLVE, "--unbundle", "out", "bad.data"], check=False)
    left = run(["find", "out", "-name", "elf"]).stdout
    tap.check(p.returncode == 1 and "1 are damaged" in p.stderr and "/prog/" not in left and left, "--unbundle: the others are laid out", p.stderr, left)
    ask(with_bundle(data, row, change("climb")))
    os.makedirs("up/up/up/up")
    p = run([RESOLVE, "--unbundle", "up/up/up/up", "bad.data"], check=False)
    where = run(["find", ".", "-name", "climbed"]).stdout + run(["find", "up/up/up/up/.other", "-name", "elf"]).stdout
    tap.check(p.returncode == 0 and "1 of these are below .other" in p.stderr and where.startswith("up/up/up/up/.other/") and where.count("\n") == 1,
              "--unbundle: a path that leads elsewhere", p.stderr, where)
    ask(with_bundle(data, row, change("outside")))
    p = run([RESOLVE, "--bundle", "-o", "again.data", "bad.data"], check=False)
    tap.check(p.returncode == 1 and "prog" in p.stderr, "--bundle: what is missing in it is said", p.returncode, p.stderr)
    p = run([RESOLVE, "--header", "bad.data"], check=False)
    tap.check(p.returncode == 0 and "# bundle" in p.stdout, "--header", p.returncode, p.stderr)


def main():
    with open("prog.c", "w") as f:
        f.write("""#include <time.h>
#include <unistd.h>
volatile long sink;
static inline void spin(int n) { while (n--) sink += n; }
__attribute__((noinline)) void leaf(int n) { spin(n); sink++; }
__attribute__((noinline)) void middle(int n) { leaf(n); sink++; }
int main(int argc, char **argv)
{
	const clock_t end = clock() + CLOCKS_PER_SEC / 8;

	while (clock() < end)
		middle(20000);
	return argc > 1 && execv(argv[1], argv + 1);
}
""")
    # Static: no other file is in the stacks.
    run(["gcc", "-O2", "-g", "-c", "prog.c"])
    run(["gcc", "-static", "prog.o", "-o", "prog"])
    run(["gcc", "-static", "prog.o", "-o", "other", "-Wl,--build-id=0x1234567890"])
    run([CAPTURE, "-q", "--bundle", "-e", "cpu-clock:u", "-F", "499", "-o", "x.data", "--", os.path.abspath("prog"), os.path.abspath("other")])
    with open("prog", "rb") as f:
        elf = f.read()
    os.unlink("prog")
    os.unlink("other")
    with open("x.data", "rb") as f:
        data = f.read()
    row, at, size = feature_200(data)
    with open("section", "wb") as f:
        f.write(data[at:at + size])
    p, lines = ask(data)
    whole = p.stdout
    tap.check(of(whole, "prog", ";main;middle;leaf;spin") and of(whole, "other", ";main;middle;leaf;spin"), "the bundle names the programs", whole[:300])
    tap.check(p.returncode == 0 and not lines, "and nothing is said of it", p.stderr)
    n_segments, n_sections = struct.unpack_from("<H", elf, 56)[0], struct.unpack_from("<H", elf, 60)[0]
    headers = [struct.unpack_from("<IIQQQQ", elf, struct.unpack_from("<Q", elf, 40)[0] + 64 * i) for i in range(n_sections)]
    text = max(range(n_sections), key=lambda i: headers[i][5] if headers[i][2] & 4 else 0)  # SHF_EXECINSTR

    def hand(*args, **kw):
        by_hand(*args[:2], whole, data, row, **kw)

    cuts_and_flips(data, at, size, whole)
    hand("the program headers are said to lie outside", [("lie", 32)], names=False, says="program headers lie outside")
    hand("the section headers are said to lie outside", [("lie", 40)], says="sections that its header tells of")
    hand("program headers lie", [("lie", 64 + 56 * i + (8, 16, 32, 40)[i % 4]) for i in range(0, n_segments, 3)])
    hand("section headers lie", [("section", 64 * i + (16, 24, 32, 40)[i % 4]) for i in range(1, n_sections, 7)])
    hand("a section is said to lie outside", [("section", 64 * text + 24)], says="sections that its header tells of")
    hand("the file is cut", [("cut", n) for n in (65, 4096)], says="damaged ELF file")
    hand("a file for another machine", [("machine", m) for m in (183, 0xffff)], names=False, says="it is for another processor")
    hand("two entries of one id", [("twice",)], names=True, says="")
    hand("an entry of 96 MiB of zeros", [("grow", 96)], names=False, says="far more than a recording needs")
    hand("a file of 2 TiB, with holes", [("hole", 1 << 41)], names=False, says="far more than a recording needs")
    hand("ranges that overlap and fall", [("ranges",)], says="")
    hand("a range outside of the file", [("outside",)], names=False, says="a range lies outside of the file")
    many(data, row)
    others(data, row)


main()
