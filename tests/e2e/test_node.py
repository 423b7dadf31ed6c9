#!/usr/bin/env python3
"""node (V8): JavaScript, compiled and interpreted, and V8's builtins, which have no call frame information.

Two truths. The order of calls in tests/programs/Chain.js: no JavaScript caller may be left out; names are those of the perf map. And
the same recording with the symbols of the builtins, which tell where each begins: stacks may end at another place, but all
frames that both have are the same. Debian's libnode has none of these symbols; node's own are taken away."""
import bisect
import collections

from common import *

tap = Tap()
# Each function by line, and what calls it; end() and spin() are called by several.
CALLED_BY = {"run": "1", "L0": "run", "get": "L0", "L1": "get", "23": "L1", "L2": "23", "toJSON": "L2", "L3": "toJSON", "gen": "L3", "L4": "gen",
             "L5": "L4", "17": "L5", "L6": "17", "L7": "L6", "15": "L7", "L8": "15", "prim": "L8", "L9": "prim", "get p": "L9", "L10": "get p",
             "L10c": "L10", "Base": "L10c", "L11": "Base", "end": "L11"}
# For the instructions in which what returns takes its arguments off the stack, only a register has the return address: 10 of
# 6,813 samples, all of one function (node 20.20).
IN_REGISTER = 250


def read_map(path):
    """[start], [(start, end, name)] of what it says last of each address."""
    rows = {}
    with open(path) as f:
        for line in f:
            start, size, name = line.rstrip("\n").split(" ", 2)
            rows[int(start, 16)] = int(start, 16), int(start, 16) + int(size, 16), name
    rows = sorted(rows.values())
    return [row[0] for row in rows], rows


def function(starts, rows, ip):
    """Of Chain.js; without a name: its line."""
    row = rows[bisect.bisect_right(starts, ip) - 1]
    if not row[0] <= ip < row[1] or "/Chain.js:" not in row[2]:
        return None
    kind, place = row[2].rsplit("/", 1)
    name = kind.split(":", 1)[1].lstrip("~^*+'").split(" ")
    name = " ".join(w for w in name if w and not w.startswith(("/", "file:")))
    return name or place.split(":")[1]


def lacks_caller(chain):
    """Of the functions of a stack, innermost first."""
    return any(called != "spin" and CALLED_BY.get(called, caller) != caller for called, caller in zip(chain, chain[1:]))


def stacks(data, *options):
    text, stats = resolve(data, "-f", "jsonl", "--no-inline", *options)
    return [json.loads(line) for line in text.splitlines()], stats


def compare(what, flags, symbols):
    # Maglev, on by default since V8 12, inlines: such callers have no frame.
    if "--maglev " in run(["./node", "--v8-options"]).stdout:
        flags = ["--no-maglev", *flags]
    perf_record("-F", "1999", "--call-graph", "dwarf,16384", "-e", "cpu-clock:u", "-o", "node.data", "sh", "-c",
                'echo $$ > pid; exec ./node "$@"', "sh", "--perf-basic-prof", "--interpreted-frames-native-stack", *flags, "Chain.js", "900")
    with open("pid") as f:
        path = f"/tmp/perf-{f.read().strip()}.map"
    starts, rows = read_map(path)
    os.unlink(path)
    bare, stats = stacks("node.data")
    chains = []
    for s in bare:
        names = [function(starts, rows, int(f["ip"], 16) - (i > 0)) for i, f in enumerate(s["stack"])]
        chains.append([name for name in names if name])
    n = sum(map(bool, chains))
    lacking = [chain for chain in chains if lacks_caller(chain)]
    tap.check(n > 200 and len(lacking) <= n // IN_REGISTER, f"{what}: of {n} stacks {len(lacking)} lack a caller", lacking[:5])
    whole = stats["user_stacks"] - stats["truncated"]
    tap.check(stats["root"] >= 0.95 * whole, f"{what}: {stats['root']} of {whole} stacks that were not cut reach the root",
              collections.Counter(s.get("stop") for s in bare))
    if not symbols:
        return
    named, _ = stacks("node.data", "--debug-dir", symbols)
    pairs = [[[f["ip"] for f in s["stack"]] for s in pair] for pair in zip(bare, named)]
    differ = [(a, b) for a, b in pairs if any(x != y for x, y in zip(a, b))]
    tap.check(len(bare) == len(named) and not differ, f"{what}: with the symbols of the builtins no stack is another", len(differ), differ[:3])


def main():
    node = os.path.realpath(shutil.which("node") or "")
    if not os.path.isfile(node):
        return tap.skip("node", "not there")
    notes = run(["readelf", "-n", node], check=False).stdout
    build_id = next((line.split()[-1] for line in notes.splitlines() if "Build ID:" in line), None)
    has_symbols = "Builtins_" in run(["readelf", "-sW", node], check=False).stdout
    symbols = "debug" if build_id and has_symbols else None  # Debian's libnode has none
    if symbols:
        run(["strip", "-o", "node", node])
        os.makedirs(f"debug/.build-id/{build_id[:2]}")
        os.symlink(node, f"debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug")
    else:
        os.symlink(node, "node")
    shutil.copy(os.path.join(PROGRAMS, "Chain.js"), "Chain.js")
    compare("compiled", ["--no-turbo-inlining"], symbols)
    compare("compiled at once", ["--no-opt", "--always-sparkplug"], symbols)
    compare("interpreted", ["--no-opt", "--no-sparkplug"], symbols)


main()
tap.end()
