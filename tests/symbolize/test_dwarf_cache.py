#!/usr/bin/env python3
"""The cache of compiled DWARF: the same answers, and never anything else than that.

Whatever is in the directory - nothing, damage, another version, another state of the file - the answers
are those without a cache. What is damaged is compiled and written again."""
import glob
import os
import shutil
import subprocess
import sys

BUILD = os.environ["BUILD"]
TOOL = os.path.join(BUILD, "tests/symbolize/tool_dwarf")
SRC = os.path.join(os.environ["TOP"], "tests/symbolize/test_dwarf_sources")
failed = False


def check(ok, what):
    global failed
    print(f"{'ok' if ok else 'not ok'} - {what}", flush=True)
    failed |= not ok


def build(name, *flags, source="chain.cc"):
    other = ["other.cc"] if source == "chain.cc" else []
    subprocess.run(["g++", "-std=c++17", "-O2", "-g", "-Wl,--build-id", *flags, *(os.path.join(SRC, s) for s in [source, *other]),
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


def main():
    exe = build("words", source="words.cc")
    addresses = code(exe)
    plain, _ = ask(exe, addresses)
    first, hit1 = ask(exe, addresses, "cache/deep/er")
    second, hit2 = ask(exe, addresses, "cache/deep/er")
    check(plain.count("\n") > 5000 and first == plain and not hit1, "compiled and kept")
    check(second == plain and hit2, "the same from the cache")
    some, hit = ask(exe, addresses[100:2000:37], "cache/deep/er")
    check(some == ask(exe, addresses[100:2000:37])[0] and hit, "few addresses from the cache")
    nothing, hit = ask(exe, ["0x10", "0xffffffffffffff00"], "cache/deep/er")
    check(nothing == "0x10\n0xffffffffffffff00" and hit, "addresses outside of everything")

    entry, = glob.glob("cache/deep/er/*.dwarf")
    build_id = subprocess.run(["readelf", "-n", exe], capture_output=True, text=True).stdout.split("Build ID: ")[1].split()[0]
    check(os.path.basename(entry) == build_id + ".dwarf", "one file per build id")
    check(os.stat(entry).st_mode & 0o777 == 0o600 and not glob.glob("cache/deep/er/.new*"), "private, and nothing left over")
    whole = open(entry, "rb").read()

    wrong = 0
    positions = list(range(0, 400, 7)) + list(range(400, len(whole), len(whole) // 120 + 1))
    for at in positions:
        with open(entry, "wb") as f:
            f.write(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1:])
        wrong += ask(exe, addresses, "cache/deep/er")[0] != plain
    check(not wrong, f"{len(positions)} files with one damaged byte")
    wrong = 0
    for size in [0, 1, 100] + list(range(300, len(whole), len(whole) // 40)):
        with open(entry, "wb") as f:
            f.write(whole[:size])
        answer, hit = ask(exe, addresses, "cache/deep/er")
        wrong += answer != plain or hit
    check(not wrong, "cut files are compiled again")
    check(open(entry, "rb").read() == whole and ask(exe, addresses, "cache/deep/er")[1], "and repaired, byte for byte the same")

    # The same build id with other debug information: as after dwz, or without inlined functions.
    shutil.copy(exe, "lines")
    subprocess.run(["objcopy", "-R", ".debug_line", "lines"], check=True)
    bare, hit = ask("lines", addresses, "cache/deep/er")
    check(bare == ask("lines", addresses)[0] and bare != plain and not hit, "another state of the same build id")
    # all answers of the first state are still right
    check(ask(exe, addresses, "cache/deep/er")[0] == plain, "and back")

    # files without a build id, few addresses, missing .dwo
    ask(build("none", "-Wl,--build-id=none"), code("none"), "none.cache")
    check(not os.path.exists("none.cache"), "nothing is kept without a build id")
    two = build("two")
    few = [a for a in code(two)][8:9]
    split = build("split", "-gsplit-dwarf")
    for dwo in glob.glob("*.dwo"):
        os.rename(dwo, dwo + ".away")
    ask(split, code(split), "split.cache")
    check(not glob.glob("split.cache/*"), "nothing is kept while a .dwo is missing")
    for away in glob.glob("*.away"):
        os.rename(away, away[:-5])
    whole_split, _ = ask(split, code(split), "split.cache")
    check(ask(split, code(split), "split.cache") == (whole_split, True) and "other" in whole_split, "split units are kept")

    # a package kept for a small share would be wrong: two units, one of them asked for
    answer, _ = ask(two, few, "two.cache")
    check(answer == ask(two, few)[0], "few addresses, compiled")

    # the least recently used go
    names = [build(f"lru{i}", f"-DLRU={i}", f"-Wl,--build-id=0x{i:040x}") for i in range(4)]
    sizes = []
    for n in names[:3]:
        ask(n, code(n), "lru")
    for i, n in enumerate(names[:3]):
        os.utime(f"lru/{i:040x}.dwarf", (1000 + i, 1000 + i))
        sizes.append(os.path.getsize(f"lru/{i:040x}.dwarf"))
    ask(names[0], code(names[0]), "lru")
    ask(names[3], code(names[3]), "lru", "-m", str(sum(sizes) + 10))
    check(sorted(os.path.basename(f)[39] for f in glob.glob("lru/*")) == ["0", "2", "3"], "what was unused for longest goes first")
    ask(names[1], code(names[1]), "lru", "-m", "100")
    check(sorted(os.path.basename(f)[39] for f in glob.glob("lru/*")) == ["0", "2", "3"], "what is too large is not kept")

    # a directory that cannot be written or made; several writers at once
    open("file", "w").close()
    check(ask(exe, addresses, "file/below")[0] == plain, "a directory that cannot be made")
    os.symlink("/nonexistent", "dangling")
    check(ask(exe, addresses, "dangling")[0] == plain, "a dangling link")
    shutil.rmtree("cache")
    writers = [subprocess.Popen([TOOL, "-c", "cache", exe], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    answers = {w.communicate("\n".join(addresses))[0].rstrip("\n") for w in writers}
    check(answers == {plain} and len(os.listdir("cache")) == 1, "four writers")
    check(ask(exe, addresses, "cache") == (plain, True), "and their result")
    return failed


if __name__ == "__main__":
    sys.exit(main())
