#!/usr/bin/env python3
"""The cache of compiled DWARF: the same answers, and never anything else than that.

Whatever is in the directory - nothing, damage, another version, another state of the file - the answers
are those without a cache. What is damaged is compiled and written again. A first run leaves its answers
behind; when a second one asks for something else, everything is compiled."""
import glob
import os
import re
import shutil
import subprocess
import time

from tap import LONG, Tap

BUILD = os.environ["BUILD"]
TOOL = os.path.join(BUILD, "tests/dwarf/tool_dwarf")
SRC = os.path.join(os.environ["TOP"], "tests/dwarf/sources")
tap = Tap()
check = tap.check


def build(name, *flags, source="chain.cc"):
    other = {"chain.cc": ["other.cc"], "chain.c": ["other.c"]}.get(source, [])
    subprocess.run([*(["gcc"] if source.endswith(".c") else ["g++", "-std=c++17"]), "-O2", "-g", "-Wl,--build-id", *flags, *(os.path.join(SRC, s) for s in [source, *other]),
                    "-o", name], check=True)
    return name


def code(exe):
    """Every fifth address of .text and some around it."""
    out = subprocess.run(["readelf", "-SW", exe], capture_output=True, text=True).stdout
    row = next(l for l in out.splitlines() if " .text " in l).split("] ")[1].split()
    lo, size = int(row[2], 16), int(row[4], 16)
    return [hex(a) for a in range(max(0, lo - 64), lo + size + 64, 5)]


def ask(exe, addresses, cache=None, *more):
    """(answers, from the cache?)"""
    cmd = [TOOL, "-s", *(["-c", cache] if cache else []), *more, exe]
    p = subprocess.run(cmd, input="\n".join(addresses), capture_output=True, text=True)
    if p.returncode:
        return f"status {p.returncode} {p.stderr[-500:]}", None
    body, _, stats = p.stdout[:-1].rpartition("\n")
    return body, "from the cache" in stats


def entries(cache):
    return sorted(glob.glob(os.path.join(glob.escape(cache), "*.dwarf")))


def check_policy(exe, addresses):
    """The units of this program are all hit each time: the first run compiles and keeps everything."""
    plain, _ = ask(exe, addresses)
    third = addresses[1::3]
    first, hit1 = ask(exe, third, "policy")
    again, hit2 = ask(exe, third, "policy")
    check(first == again == ask(exe, third)[0] and not hit1 and hit2, "a first run that hits all units keeps everything")
    check(ask(exe, addresses, "policy") == (plain, True), "addresses that were not asked for before, from the cache")
    nothing, hit = ask(exe, ["0x10", "0xffffffffffffff00"], "policy")
    check(nothing == "0x10\n0xffffffffffffff00" and hit, "addresses that cannot be code are no news")


def check_names(addresses):
    """BUILD_ID-IDENTITY.dwarf, which is no option to any tool when there is no build id."""
    exe = "nameless"
    subprocess.run(["objcopy", "-R", ".note.gnu.build-id", "words", exe], check=True)
    first, again = (ask(exe, addresses, "names") for _ in range(2))
    check(first[0] == again[0] and again[1] and [bool(re.fullmatch(r"names/[0-9a-f]{16}\.dwarf", e)) for e in entries("names")] == [True],
          "a program without a build id has a name in the cache that begins with no dash", entries("names"))


def build_parts(n=24):
    """A program of n units of the same size and main(); where each begins."""
    for i in range(n):
        with open(f"part{i}.c", "w") as f:
            f.write(f"int part{i}(int x) {{\n  x *= {i + 3};\n  return x ^ {i};\n}}\n")
    with open("parts.c", "w") as f:
        f.write("".join(f"int part{i}(int);\n" for i in range(n)) + "int main(int c, char **v) { (void)v; int s = 0;\n"
                + "".join(f"  s += part{i}(c);\n" for i in range(n)) + "  return s; }\n")
    subprocess.run(["gcc", "-g", "-O0", "-Wl,--build-id", *(f"part{i}.c" for i in range(n)), "parts.c", "-o", "parts"], check=True)
    out = subprocess.run(["nm", "parts"], capture_output=True, text=True).stdout
    at = {l.split()[2]: l.split()[0] for l in out.splitlines() if len(l.split()) == 3}
    return ["0x" + at[f"part{i}"].lstrip("0") for i in range(n)], "0x" + at["main"].lstrip("0")


def check_merging():
    """A program of 24 units of the same size: few addresses at a time are added to what is known, until their units are
    as many as there are."""
    starts, main_at = build_parts()
    n = len(starts)
    wrong = misses = 0
    for i in range(n):
        answer, hit = ask("parts", starts[i:i + 1], "merge")
        wrong += answer != ask("parts", starts[i:i + 1])[0] or f"part{i}.c\t1\t1" not in answer
        misses += not hit
        known, hit = ask("parts", starts[:i + 1], "merge")
        wrong += known != ask("parts", starts[:i + 1])[0] or not hit
    check(not wrong, f"{n} runs, each with an address in another unit: all so far are known each time")
    check(n // 2 < misses <= n, f"{n} runs, each with an address in another unit: {misses} had to look into the program")
    # _init is of a file without DWARF
    nothing = "0x" + next(l.split()[0].lstrip("0") for l in subprocess.run(["nm", "parts"], capture_output=True, text=True).stdout.splitlines() if l.endswith(" _init"))
    first = ask("parts", [starts[3], nothing], "nothing")
    check(first[0].endswith("\n" + nothing) and ask("parts", [starts[3], nothing], "nothing") == (first[0], True),
          "an address without debug information is kept, too")
    ask("parts", [main_at], "merge")
    check(ask("parts", code("parts"), "merge") == (ask("parts", code("parts"))[0], True), "after all units were asked for, the whole program is in the cache")


def build_wide(n=24, functions=150):
    """A program of n units with so many functions each; where they begin, by unit."""
    for i in range(n):
        with open(f"wide{i}.c", "w") as f:
            f.write("".join(f"int wide{i}_{k}(int x) {{\n  return x * {i + 3} + {k};\n}}\n" for k in range(functions)))
    with open("wide.c", "w") as f:
        f.write("int main(void) { return 0; }\n")
    subprocess.run(["gcc", "-g", "-O0", "-Wl,--build-id", *(f"wide{i}.c" for i in range(n)), "wide.c", "-o", "wide"], check=True)
    out = subprocess.run(["nm", "wide"], capture_output=True, text=True).stdout
    units = [[] for _ in range(n)]
    for l in sorted(out.splitlines()):
        if m := re.search(r"^0*(\w+) \w wide(\d+)_", l):
            units[int(m[2])].append("0x" + m[1])
    return units


def check_partly_damaged():
    """Damage in a middle block of the answers, met by a run that asks for a few in it: what this run saves must not say
    of the others that they have no function."""
    units = build_wide()
    known = [a for u in units[:16] for a in u]
    plain, _ = ask("wide", known)
    ask("wide", known, "partly")
    entry, = entries("partly")
    whole = open(entry, "rb").read()
    wrong, positions = 0, range(4608, len(whole), len(whole) // (16 if LONG else 6))
    for at in positions:
        with open(entry, "wb") as f:
            f.write(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1:])
        wrong += ask("wide", units[8], "partly")[0] != ask("wide", units[8])[0]
        wrong += ask("wide", known, "partly")[0] != plain
    check(not wrong and len(positions) > 5, f"{len(positions)} files of answers with one damaged byte, met by a run that asks for a sixteenth: {wrong} wrong")


def check_damage(exe, addresses, cache, kind):
    """Whatever byte is damaged: the answers are right, and the next run finds a file that is."""
    plain, _ = ask(exe, addresses)
    ask(exe, addresses, cache)
    entry, = entries(cache)
    whole = open(entry, "rb").read()
    wrong = unrepaired = 0
    positions = list(range(0, 400, 29 if LONG else 67)) + list(range(400, len(whole), len(whole) // (12 if LONG else 4) + 1))
    for at in positions:
        with open(entry, "wb") as f:
            f.write(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1:])
        wrong += ask(exe, addresses, cache)[0] != plain
        unrepaired += ask(exe, addresses, cache) != (plain, True)
    check(not wrong and not unrepaired, f"{kind}: {len(positions)} files with one damaged byte")
    wrong = 0
    for size in [0, 1, 100] + list(range(300, len(whole), len(whole) // (6 if LONG else 3))):
        with open(entry, "wb") as f:
            f.write(whole[:size])
        answer, hit = ask(exe, addresses, cache)
        wrong += answer != plain or hit
        wrong += ask(exe, addresses, cache) != (plain, True)
    check(not wrong, f"{kind}: cut files are compiled again, and repaired")
    with open(entry, "wb") as f:
        f.write(os.urandom(len(whole)))
    check(ask(exe, addresses, cache)[0] == plain and ask(exe, addresses, cache)[1], f"{kind}: garbage")


def check_identity(exe, addresses):
    plain, _ = ask(exe, addresses)
    # The same build id with other debug information: as after dwz, or without lines.
    shutil.copy(exe, "lines")
    subprocess.run(["objcopy", "-R", ".debug_line", "lines"], check=True)
    bare, hit = ask("lines", addresses, "cache")
    check(bare == ask("lines", addresses)[0] and bare != plain and not hit, "other debug information under the same build id: nothing of the cache is used")
    check(ask(exe, addresses, "cache")[0] == plain and ask("lines", addresses, "cache") == (bare, True), "two states of one build id are both kept")
    fixed = "-Wl,--build-id=0x" + "ab" * 20
    one, two = build("fixed1", fixed), build("fixed2", fixed, "-O1")
    for n in (one, two, one, two):
        check(ask(n, code(n), "fixed")[0] == ask(n, code(n))[0], "programs with the same fixed build id: each has its own answers")
    check(len(entries("fixed")) == 2, "programs with the same fixed build id have two cache files")
    check_fixed_id_one_line()
    # without a build id: by contents
    none = build("none", "-Wl,--build-id=none")
    addresses = code(none)
    ask(none, addresses, "none.cache")
    shutil.copy(none, "none2")
    check(ask("none2", addresses, "none.cache") == (ask(none, addresses)[0], True), "without a build id a file is known by its contents")
    data = bytearray(open("none2", "rb").read())
    at = data.index(b"\0leaf") + 1  # in .debug_str
    data[at:at + 4] = b"LEAF"
    open("none2", "wb").write(data)
    answer, hit = ask("none2", addresses, "none.cache")
    check(not hit and answer == ask("none2", addresses)[0] and "LEAF" in answer, "without a build id a file with other contents is not found in the cache")


def check_fixed_id_one_line():
    """A line more in the first of many units, under the same build id: all sections keep their sizes and nearly all bytes."""
    units = []
    for i in range(40):
        units.append(f"unit{i}.c")
        with open(units[-1], "w") as f:
            f.write("".join(f"int u{i}_{k}(int x) {{ for (int i = 0; i < x; i++) x += {k} * i; return x; }}\n" for k in range(12)))
    flags = ["gcc", "-g", "-O1", "-shared", "-fPIC", "-Wl,--build-id=0x" + "cd" * 20, "-o", "units.so"]
    answers = []
    for _ in range(2):
        subprocess.run([*flags, *units], check=True)
        out = subprocess.run(["nm", "units.so"], capture_output=True, text=True).stdout
        at = ["0x" + l.split()[0].lstrip("0") for l in out.splitlines() if l.endswith(" u20_5")]
        answers.append(ask("units.so", at, "line"))
        with open(units[20]) as f:
            text = f.read()
        with open(units[20], "w") as f:
            f.write("\n" + text)
    check("unit20.c\t6\t" in answers[0][0] and "unit20.c\t7\t" in answers[1][0] and not answers[1][1],
          "one build id, a line more in a unit: its new lines")


def check_split():
    """While a .dwo is missing nothing is kept."""
    split = build("split", "-gsplit-dwarf")
    for dwo in glob.glob("*.dwo"):
        os.rename(dwo, dwo + ".away")
    ask(split, code(split), "split.cache")
    check(not glob.glob("split.cache/*"), "nothing is kept while a .dwo is missing")
    for away in glob.glob("*.away"):
        os.rename(away, away[:-5])
    whole, _ = ask(split, code(split), "split.cache")
    check(ask(split, code(split), "split.cache") == (whole, True) and "other" in whole, "split units are kept when all .dwo files are there")


def check_alt():
    """dwz moves what two files share into a third: the cache must not mix up answers with and without it."""
    a, b = build("alt1", source="words.cc"), build("alt2", "-DSECOND", source="words.cc")
    p = subprocess.run(["dwz", "-m", "common", a, b], capture_output=True, text=True)
    if p.returncode or not os.path.exists("common"):
        tap.skip("dwz -m", f"{p.stderr.strip()[:200]}")
        return
    addresses = code(a)
    whole, bare = ask(a, addresses, None, "-a", "common")[0], ask(a, addresses)[0]
    for _ in range(2):
        check(ask(a, addresses, "alt.cache")[0] == bare and ask(a, addresses, "alt.cache", "-a", "common")[0] == whole,
              "dwz: answers with and without the alternate file are not mixed up")
    check(whole != bare and len(entries("alt.cache")) == 2, "dwz: with and without the alternate file there are two cache files")


def check_limits(exe, addresses):
    names = [build(f"lru{i}", f"-Wl,--build-id=0x{i:040x}", source="chain.c") for i in range(4)]
    sizes = []
    for n in names[:3]:
        ask(n, code(n), "lru")
    for i, n in enumerate(names[:3]):
        file, = glob.glob(f"lru/{i:040x}-*.dwarf")
        os.utime(file, (1000 + i, 1000 + i))
        sizes.append(os.path.getsize(file))
    ask(names[0], code(names[0]), "lru")
    ask(names[3], code(names[3]), "lru", "-m", str(sum(sizes) + 10))
    check([os.path.basename(f)[39] for f in entries("lru")] == ["0", "2", "3"], "a full cache: what was unused for longest goes first")
    ask(names[1], code(names[1]), "lru", "-m", "100")
    check([os.path.basename(f)[39] for f in entries("lru")] == ["0", "2", "3"], "a program larger than the cache is not kept")
    ask(exe, addresses, "large")
    ask(exe, addresses[1::2], "large")
    ask(exe, [hex(int(a, 16) + 1) for a in addresses], "large")
    limit = ["-m", str(os.path.getsize(entries("large")[0]) // 2)]
    some, others = addresses[100:140], addresses[300:340]
    ask(exe, some, "small", *limit)
    _, hit = ask(exe, others, "small", *limit)
    check(not hit and ask(exe, some + others, "small", *limit) == (ask(exe, some + others)[0], True),
          "a program too large to be kept whole: the answers given are kept")
    for left in ("lru/.new-killed", "lru/.new-running"):
        open(left, "w").close()
    os.utime("lru/.new-killed", (1000, 1000))
    ask(names[1], code(names[1]), "lru")
    check(not os.path.exists("lru/.new-killed") and os.path.exists("lru/.new-running"), "what a killed writer left is removed after an hour")
    # a directory that cannot be written or made
    plain, _ = ask(exe, addresses)
    open("file", "w").close()
    check(ask(exe, addresses, "file/below")[0] == plain, "a cache directory that cannot be made: the same answers")
    os.symlink(os.path.abspath("no-such-dir"), "dangling")
    check(ask(exe, addresses, "dangling")[0] == plain, "a dangling link as cache directory: the same answers")
    check(ask(exe, addresses, "/dev/full/cache")[0] == plain and ask(exe, addresses, "/proc/cache")[0] == plain, "a cache below /dev/full and /proc: the same answers")


def check_writers(exe, addresses):
    """Eight at once, one of them killed in the middle of it all, over and over: answers are right, files whole."""
    plain, _ = ask(exe, addresses)
    shutil.rmtree("cache")
    wrong = 0
    truth = {}
    for round_ in range(4):
        truth[addresses[round_]] = ask(exe, addresses[round_::6])[0]
        some = [addresses[round_::6], addresses] * 4
        writers = [subprocess.Popen([TOOL, "-c", "cache", exe], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in some]
        for w, a in zip(writers, some):
            w.stdin.write("\n".join(a))
            w.stdin.close()
        time.sleep(0.01 * round_)
        writers[2].kill()
        for i, (w, a) in enumerate(zip(writers, some)):
            answer = w.stdout.read().rstrip("\n")
            w.stdout.close()
            if not w.wait():
                wrong += answer != (plain if a is addresses else truth[a[0]])
            else:
                wrong += i != 2
    check(not wrong, "eight writers, one killed, four times: all answers are right")
    check(ask(exe, addresses, "cache") == (plain, True), "what eight writers left in the cache is right")


def main():
    exe = build("words", source="words.cc")
    addresses = code(exe)
    plain, _ = ask(exe, addresses)
    first, hit1 = ask(exe, addresses, "cache/../cache")
    second, hit2 = ask(exe, addresses, "cache")
    check(plain.count("\n") > 5000 and first == plain and not hit1, "the first run compiles the answers, and they are those without a cache")
    check(second == plain and hit2, "the second run has the same from the cache")
    check("\t0x" in second, "from the cache: where inlined functions without linkage name begin")
    ask(exe, addresses, "deep/er/and/deeper")
    entry, = entries("deep/er/and/deeper")
    build_id = subprocess.run(["readelf", "-n", exe], capture_output=True, text=True).stdout.split("Build ID: ")[1].split()[0]
    check(os.path.basename(entry).split("-")[0] == build_id, "named by build id, in directories that were not there")
    check(os.stat(entry).st_mode & 0o777 == 0o600 and not glob.glob("deep/er/and/deeper/.new*"), "private, and nothing left over")
    check_policy(exe, addresses)
    check_names(addresses)
    check_merging()
    check_damage("parts", build_parts()[0][::3], "answers", "answers")
    check_damage(exe, addresses, "cache", "everything")
    check_partly_damaged()
    check_identity(exe, addresses)
    check_split()
    check_alt()
    check_limits(exe, addresses)
    check_writers(exe, addresses)
    tap.end()


if __name__ == "__main__":
    main()
