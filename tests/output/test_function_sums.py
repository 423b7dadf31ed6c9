#!/usr/bin/env python3
"""Every format that names functions says the same of each: what it cost itself and with all that it called (a recursion once), as perf's own text of
the recording (-f script) adds up. Each format has a small reader of its own here; then resolve reads those that it can and is asked the same.

What differs, and is made alike first: names (some formats leave arguments and template arguments out: they are cut at the first bracket, functions
that are called the same then are one), code without a name (left out: formats call it [module], 0x.., ???), commands and threads as outermost frames."""
import collections
import gzip
import json
import lzma
import os
import re
import sys
import tarfile

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import RESOLVE, TOP, Tap, folded, run  # noqa: E402
from pagedata import PageData  # noqa: E402
import varint  # noqa: E402

tap = Tap()
PLACE = os.path.join(TOP, "testdata", "recordings")
with tarfile.open(os.path.join(PLACE, "root.tar.xz")) as t:
    t.extractall(".")
BARE = "--no-cache", "-q", "--symfs", "root", "--kallsyms", "root/kallsyms"


def plain(name):
    """None if it is no function's name."""
    if not name or re.match(r"0x|\[|\?\?\?|\(anonymous\)$", name):
        return None
    return re.sub(r"[(<{].*", "", name.replace("(anonymous namespace)", "")).removesuffix("::").split(" ")[-1] or None  # "double std::accumulate<..>"


def functions(stacks):
    """{function: [own, total]} of (names from the leaf on, weight)."""
    sums = collections.defaultdict(lambda: [0, 0])
    for names, weight in stacks:
        names = [plain(n) for n in names]
        if names and names[0]:
            sums[names[0]][0] += weight
        for n in {*names} - {None}:
            sums[n][1] += weight
    return {n: v for n, v in sums.items() if v[1]}


# ---- readers: (names from the leaf on, weight) ------------------------------------------------------------------------------
def of_script(data):
    names, weight = [], None
    for line in data.decode().splitlines():
        head = re.match(r"\S.*?\s\d+\.\d+: +(\d+) \S+: *$", line)
        frame = re.match(r"\t *[0-9a-f]+ (.+) \(.*?\)$", line)
        if head:
            names, weight = [], int(head[1])
        elif frame:
            names.append(re.sub(r"\+0x[0-9a-f]+$", "", frame[1]))
        elif weight is not None and not line:
            yield names, weight
            weight = None


def of_folded(data):
    for names, weight in folded(data.decode()).items():
        yield names[:0:-1], weight


def messages(data, number):
    return [v for n, v in varint.fields(data) if n == number]


def numbers(parts):
    for part in parts:
        at = 0
        if isinstance(part, int):
            yield part
            continue
        while at < len(part):
            v, at = varint.get(part, at)
            yield v


def of_pprof(data):
    p = gzip.decompress(data)
    strings = [s.decode() for s in messages(p, 6)]
    name = {messages(f, 1)[0]: strings[messages(f, 2)[0]] for f in messages(p, 5)}
    lines = {messages(x, 1)[0]: [name[messages(line, 1)[0]] for line in messages(x, 4)] for x in messages(p, 4)}
    for s in messages(p, 2):
        yield [n for x in numbers(messages(s, 1)) for n in lines[x] or [None]], [*numbers(messages(s, 2))][1]


def of_otlp(data):
    d = messages(data, 2)[0]
    strings = [s.decode() for s in messages(d, 5)]
    first = lambda m, n: (messages(m, n) or [0])[0]  # noqa: E731
    name = [strings[first(f, 1)] for f in messages(d, 3)]
    lines = [[name[first(line, 1)] for line in messages(x, 3)] for x in messages(d, 2)]
    stacks = [[n for x in numbers(messages(s, 1)) for n in lines[x] or [None]] for s in messages(d, 7)]
    weights = messages(messages(messages(data, 1)[0], 2)[0], 2)[0]
    for s in messages(weights, 2):
        yield stacks[first(s, 1)], sum(numbers(messages(s, 4)))


def of_jsonl(data):
    for row in map(json.loads, data.splitlines()):
        yield [f.get("sym") for f in row["stack"]], row["period"]


def of_jsonl2(data):
    function, frame, stack = {}, {}, {}
    for row in map(json.loads, data.splitlines()):
        if "t_ns" in row:
            yield stack[row["stack"]] if row.get("stack") else [], row["period"]
        elif "frames" in row:
            stack[row["stack"]] = [frame[f] for f in row["frames"]]
        elif "frame" in row:
            frame[row["frame"]] = function[row["function"]]
        elif "function" in row:
            function[row["function"]] = row.get("sym")


def of_speedscope(data):
    d = json.loads(data)
    names = [f["name"] for f in d["shared"]["frames"]]
    for stack, weight in zip(d["profiles"][0]["samples"], d["profiles"][0]["weights"]):
        yield [names[f] for f in stack[:0:-1]], weight


def of_firefox(data):
    p = json.loads(data)
    s = p["shared"]
    for t in p["threads"]:
        for at, weight in zip(t["samples"]["stack"], t["samples"]["weight"]):
            names = []
            while at is not None:
                names.append(s["stringArray"][s["funcTable"]["name"][s["frameTable"]["func"][s["stackTable"]["frame"][at]]]])
                k = s["stackTable"]["prefixOffset"][at]
                at = at - k if k else None
            yield names, round(weight * 1e6)


def of_html(data):
    page = PageData(data)
    column, strings = page.column, page.strings()
    column(1)
    n = column(1)[0]
    frame = [strings[i] for i in column(n)]
    column(4 * n)
    n = column(1)[0]
    path, stacks = [], []
    for up, name in zip(column(n), column(n)):
        path = [*path[:len(path) - up], frame[name]] if stacks else []  # node 0 is the root
        stacks.append(path[::-1])
    column(2 * column(1)[0])
    column(3 * column(1)[0])
    n = column(1)[0]
    node = column(n)
    column(3 * n)
    for at_node, weight in zip(node, column(n)):
        yield stacks[at_node], weight


READERS = {"folded": of_folded, "pprof": of_pprof, "otlp": of_otlp, "jsonl": of_jsonl, "jsonl2": of_jsonl2, "speedscope": of_speedscope,
           "firefox": of_firefox, "html": of_html}


def differing(have, want):
    return {n: (have.get(n), want.get(n)) for n in {*have, *want} if have.get(n) != want.get(n)}


def callgrind_own(data):
    name, sums, is_call, names = None, collections.Counter(), False, {}
    for line in data.decode().splitlines():
        fn = re.match(r"fn=(\(\d+\))(?: (.*))?$", line)
        named = re.match(r"c?fn=(\(\d+\)) (.*)$", line)
        if named:
            names[named[1]] = named[2]
        if fn:
            name = names[fn[1]]
        elif line.startswith("calls="):
            is_call = True
        elif re.match(r"[\d+*-]\S* \d+$", line):
            sums[plain(name)] += 0 if is_call else int(line.split()[1])
            is_call = False
    return {n: v for n, v in sums.items() if n and v}


def check(recording):
    with lzma.open(os.path.join(PLACE, recording, "perf.data.xz")) as packed, open("perf.data", "wb") as f:
        f.write(packed.read())

    def resolve(form, *options):
        run([RESOLVE, *BARE, "-f", form, "-o", f"x.{form}", *options, "perf.data"])
        return open(f"x.{form}", "rb").read()

    want = functions(of_script(resolve("script", "-F", "comm,tid,time,period,event,ip,sym,dso")))
    total = sum(w for _, w in of_script(open("x.script", "rb").read()))
    own = {n: v[0] for n, v in want.items() if v[0]}
    tap.check(len(want) > 10 and len(own) > 2, f"{recording}: {len(want)} functions", own)
    for form, reader in READERS.items():
        have = functions(reader(resolve(form)))
        tap.check(have == want, f"{recording}: {form}: what each function cost itself and with what it called", differing(have, want))
    have = callgrind_own(resolve("callgrind"))
    tap.check(have == own, f"{recording}: callgrind: what each cost itself", differing(have, own))
    rows, sums = resolve("top", "--sort", "symbol", "-n", "0").decode(), collections.defaultdict(lambda: [0, 0])
    for line in re.findall(r"^ +([\d.]+)% +([\d.]+)% +\[.\] (.*)$", rows, re.M):
        if plain(line[2]):
            sums[plain(line[2])][0] += float(line[1])
            sums[plain(line[2])][1] += float(line[0])
    single = collections.Counter(plain(n) for n in re.findall(r"\[.\] (.*)$", rows, re.M))  # where names are one after cutting, totals do not add up
    bad = {n: (v, want.get(n)) for n, v in sums.items() if single[n] == 1 and
           (n not in want or any(abs(a - 100 * b / total) > 0.0101 for a, b in zip(v, want[n])))}
    tap.check(len(sums) > 10 and not bad, f"{recording}: top: shares of {len(sums)} functions", bad)
    # ---- read again: what an input has no place for is told in the manual
    for form in (*READERS, "script", "callgrind"):
        if form in ("html", "otlp"):
            continue  # written only
        stacks = folded(run([RESOLVE, "-q", "-f", "folded", f"x.{form}"]).stdout).items()
        have = functions((names[::-1] if form == "callgrind" else names[:0:-1], weight) for names, weight in stacks)
        if form == "callgrind":  # its calls are no stacks, it knows no commands
            have = {n: v[0] for n, v in have.items() if v[0]}
        tap.check(have == (own if form == "callgrind" else want), f"{recording}: {form}, read again", differing(have, own if form == "callgrind" else want))


check("system-capture")
check("cpp-pipe")
tap.end()
