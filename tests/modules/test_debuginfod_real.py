#!/usr/bin/env python3
"""--debuginfod against elfutils' own server, over directories and over .deb archives whose debug files went through dwz. Names and
lines are right by construction: they stand in the sources that debuginfod_case.py and this file write. Bytes are counted on both
sides: in the server's log and in the cache."""
import json
import os
import re
import shutil
import sys
import time

import debuginfod_case as case
from debuginfod_case import ALL, NAMES, Run
from real_server import RealServer
from shell import build_id, report, sh

if not shutil.which("debuginfod"):
    print("ok - debuginfod # SKIP the server is not installed")
    sys.exit(0)
case.enter_lonely_network()
IDS = {n: build_id(f"full/{n}") for n in NAMES}
OF_ID = {i: n for n, i in IDS.items()}


def kinds(requests):
    return {r.kind for r in requests}


def said_bytes(r):
    """From the sum at the end: "debuginfod: 9 of 9 modules fetched, 10 kB"."""
    m = re.search(r"modules fetched, ([\d.]+) (kB|MB)", r.said[-1] if r.said else "")
    return float(m.group(1)) * {"kB": 1e3, "MB": 1e6}[m.group(2)] if m else None


def lines(text):
    """{function: lines} of the jsonl format."""
    found = {}
    for line in text.splitlines():
        for frame in json.loads(line)["stack"]:
            if frame.get("line"):
                found.setdefault(frame["sym"], set()).add((os.path.basename(frame["file"]), frame["line"]))
    return found


def source_line(i, text):
    with open(f"src/part{i}.c") as f:
        return next(n for n, l in enumerate(f, 1) if text in l)


def off():
    """DEBUGINFOD_URLS is no consent: distributions set it for all users."""
    with RealServer("-F", "debug", "served") as s:
        r = Run(urls=s.url)
        report(not s.requests() and not os.path.exists("cache") and not r.names(False) and r.why("work") == "network off",
               "off: nothing is asked, nothing is written", (s.requests(), r))
        report(any(re.search(r"9 modules \((9\d|100) %", l) and "--debuginfod would fetch them" in l for l in r.said),
               "off: a line says what would help", r)


def consent():
    """Who says that the network may be used, and who overrides whom."""
    def settings(text, where="home/.config"):
        os.makedirs(f"{where}/unspool", exist_ok=True)
        with open(f"{where}/unspool/config", "w") as f:
            f.write(text)

    symbols = {".note.gnu.build-id", ".symtab", ".strtab"}
    with RealServer("-F", "debug", "served") as s:
        def asked(*options, **env):
            before = len(s.requests())
            r = Run(*options, urls=s.url, **env)
            return kinds(s.requests()[before:]), r

        got, r = asked(UNSPOOL_DEBUGINFOD="sym")
        report(got == symbols and r.names(False) == ALL, "UNSPOOL_DEBUGINFOD=sym: symbols are fetched", (got, r))
        settings("# mine\n\n  debuginfod =  sym \n")
        got, r = asked()
        report(got == symbols and r.names(False) == ALL, "debuginfod=sym in the settings: symbols are fetched", (got, r))
        got, r = asked(UNSPOOL_DEBUGINFOD="off")
        report(not got, "the environment overrides the file", (got, r))
        got, r = asked("--debuginfod=full", UNSPOOL_DEBUGINFOD="off")
        report(got == {"debuginfo"}, "the command line overrides both", (got, r))
        got, r = asked("--debuginfod=off")
        report(not got and any("--debuginfod would fetch" in l for l in r.said), "--debuginfod=off: nothing is fetched, a line says what could be", (got, r))
        settings("debuginfod=full", "xdg")
        got, r = asked(XDG_CONFIG_HOME=os.path.abspath("xdg"))
        report(got == {"debuginfo"}, "settings below $XDG_CONFIG_HOME", (got, r))
        for text, where, why in (("debuginfod = yes", ":1", "'yes' is none of auto, sym, line, full, off"),
                                 ("\ndebuginfo = full", ":2", "no setting has the name 'debuginfo'"),
                                 ("debuginfod", ":1", "'debuginfod' has no value"),
                                 ("debuginfod = full" + 600 * " ", ":1", "the line is too long")):
            settings(text)
            got, r = asked()
            report(not got and r.status == 2 and f"home/.config/unspool/config{where}" in r.err and why in r.err,
                   f"settings with {text[:20]!r} are refused", (got, r))
        settings("# " + 80 * "comments " + "\ndebuginfod = full")
        got, r = asked()
        report(got == {"debuginfo"}, "settings: a comment may have any length", (got, r))
        shutil.rmtree("home/.config")
        got, r = asked(UNSPOOL_DEBUGINFOD="1")
        report(not got and r.status == 2 and "UNSPOOL_DEBUGINFOD: debuginfod: '1' is none of" in r.err,
               "an environment that makes no sense is refused", (got, r))


def tiers():
    sizes = {}
    with RealServer("-F", "debug", "served") as s:
        for tier in ("sym", "line", "full"):
            before = len(s.requests())
            r = Run(f"--debuginfod={tier}", urls=s.url)
            asked = s.requests()[before:]
            sizes[tier] = sum(q.bytes for q in asked)
            report(sizes[tier] == sum(r.files().values()) and abs(said_bytes(r) - sizes[tier]) <= 500 and
                   all(q.status == 200 for q in asked), f"{tier}: as many bytes are sent, kept and reported",
                   (sizes[tier], said_bytes(r), r.files(), asked))
            report({OF_ID[q.build_id] for q in asked} == set(NAMES), f"{tier}: every module", asked)
            want = {"sym": {".note.gnu.build-id", ".symtab", ".strtab"},
                    "line": {".note.gnu.build-id", ".symtab", ".strtab", ".debug_line", ".debug_line_str"},
                    "full": {"debuginfo"}}[tier]
            report(kinds(asked) == want and len(asked) == len(want) * len(NAMES), f"{tier}: asks for {len(want)} of each", asked)
            report(r.names(inlined=False) == ALL and r.names() == (ALL if tier == "full" else []),
                   f"{tier}: names, and inlined ones only with the whole file", r)
            j = Run("-f", "jsonl", fresh=False)
            found = lines(j.out)
            hot = {f"hidden_{i}": (f"part{i}.c", source_line(i, "x = inlined_")) for i in ALL}
            deep = {f"inlined_{i}": (f"part{i}.c", source_line(i, "MIX MIX")) for i in ALL}
            if tier == "sym":
                report(not any(f"hidden_{i}" in found for i in ALL), "sym: no lines", found)
            elif tier == "line":
                # Without inlines known, the hot instructions of the function have the line of what was inlined.
                report(all(deep[f"inlined_{i}"] in found.get(f"hidden_{i}", ()) for i in ALL), "line: lines", found)
            else:
                report(all(v in found.get(k, ()) for k, v in {**hot, **deep}.items()), "full: lines of both", found)
        report(sizes["sym"] < sizes["line"] < sizes["full"], "each tier costs more", sizes)
        print(f"# bytes: {sizes}")
        before = len(s.requests())
        r = Run("--debuginfod", urls=s.url)
        asked = s.requests()[before:]
        whole = {OF_ID[q.build_id] for q in asked if q.kind == "debuginfo"}
        heavy = {n for n in NAMES if r.modules[n]["samples"] >= 0.05 * r.stats["samples"]}
        report(whole == heavy and 0 < len(heavy) < len(NAMES) and r.names(False) == ALL and
               r.names() == [i for i in ALL if f"libpart{i}.so" in heavy],
               "by weight: whole files from 5 % of the samples, symbols for the rest", (whole, heavy, r))
        order = [OF_ID[q.build_id] for q in asked]
        report(set(order[:1]) <= set(sorted(NAMES, key=lambda n: -r.modules[n]["samples"])[:4]),
               "by weight: one of the four heaviest is the first", order)
        before = len(s.requests())
        r = Run("--debuginfod", "--no-inline", urls=s.url)
        report(kinds(s.requests()[before:]) == {".note.gnu.build-id", ".symtab", ".strtab"} and r.names(False) == ALL,
               "--no-inline: no whole file pays", s.requests()[before:])
        before = len(s.requests())
        r = Run(fresh=False)
        again = Run("--debuginfod=sym", urls=s.url, fresh=False)
        report(r.names(False) == ALL and again.out == r.out and len(s.requests()) == before,
               "what is in the cache is not asked for again", again)


def binaries_gone():
    """Taken away after the recording: unwinding needs them."""
    with RealServer("-F", "debug", "served") as s:
        os.rename("run", "gone")
        try:
            r = Run()
            report(r.has_no_stacks(), "binaries gone: no stacks", r)
            r = Run("--debuginfod=full", urls=s.url)
            report(r.has_stacks() and r.names() == ALL and
                   {OF_ID[q.build_id] for q in s.requests() if q.kind == "executable"} == set(NAMES),
                   "binaries gone: fetched, all stacks reach the root, all names", r)
            r = Run(fresh=False)
            report(r.has_stacks() and r.names() == ALL, "binaries gone: the cache is enough later", r)
        finally:
            os.rename("gone", "run")


def repaired():
    """What the library remembers wrongly: it takes any trouble of a server for "there is no such file"."""
    with RealServer("-F", "debug", "served") as s:
        url = s.url
        for name, mode in (("left by another tool", 0o644), ("by an old one", 0)):
            shutil.rmtree("cache", ignore_errors=True)
            for n in NAMES:
                os.makedirs(f"cache/{IDS[n]}")
                with open(f"cache/{IDS[n]}/debuginfo", "w"):
                    pass
                os.chmod(f"cache/{IDS[n]}/debuginfo", mode)
            r = Run("--debuginfod=full", urls=url, fresh=False)
            report(r.names() == ALL, f"an empty file, {name}, is no answer", r)
    r = Run("--debuginfod=full", urls=url)
    report(r.why("work") == "no server answers" and r.files() == {}, "a server that is gone leaves nothing behind", r)
    os.makedirs("nothing", exist_ok=True)
    with RealServer("-F", "nothing") as none, RealServer("-F", "debug", "served") as s:
        r = Run("--debuginfod=full", urls=none.url)
        report(r.why("work") == "not found (404)" and {q.status for q in none.requests()} == {404}, "a server without the files", r)
        n = len(none.requests())
        r = Run("--debuginfod=full", urls=none.url, fresh=False)
        report(len(none.requests()) == n and r.why("work") == "not found (404)", "a server without the files is not asked again so soon", r)
        r = Run("--debuginfod=full", urls=s.url, fresh=False)
        report(r.names() == ALL, "a server without the files: another one is asked", r)


COMMON_H = """
#define MIX x = x * 2862933555777941757u + 3037000493u;
struct shared_state { unsigned long seed; struct shared_state *next; int history[16]; double weights[8]; char label[24]; };
TYPES
static inline __attribute__((always_inline)) unsigned long from_the_alt_file(unsigned long x) { MIX MIX MIX MIX MIX MIX MIX MIX return x; }
"""
TWIN_C = case.TIMER + """
#include "common.h"
struct shared_state state_NAME;
static __attribute__((noinline, noclone)) unsigned long hidden_NAME(unsigned n)
{
	unsigned long x = n + state_NAME.seed; /* a function of n alone would be called once, before the loop */
	for (unsigned i = 0; i < n; i++)
		x = from_the_alt_file(x);
	return x;
}
int main(void) { start_timer(250); while (!over) state_NAME.seed += hidden_NAME(100000); return 0; }
"""
ALT = "/usr/lib/debug/.dwz/x86_64-linux-gnu/twins.debug"


def build_debs():
    """Two programs, packaged as debhelper does: dwz moves what they share into a common file, strip the rest into debug files by
    build id, and these go into a -dbgsym package."""
    for d in ("twins/DEBIAN", "twins/usr/bin", "dbgsym/DEBIAN", "dbgsym" + os.path.dirname(ALT), "debs", "empty"):
        os.makedirs(d, exist_ok=True)
    types = "".join(f"struct t{i} {{ int a{i}; long b{i}[{i + 1}]; struct t{i} *next_{i}; }};" for i in range(40))
    with open("common.h", "w") as f:
        f.write(COMMON_H.replace("TYPES", types + "".join(f"struct t{i} v{i} __attribute__((weak));" for i in range(40))))
    for n in ("castor", "pollux"):
        with open(f"{n}.c", "w") as f:
            f.write(TWIN_C.replace("NAME", n))
        sh(f"gcc -g -O2 -fno-optimize-sibling-calls -Wl,--build-id -o twins/usr/bin/{n} {n}.c")
    sh(f"cd twins/usr/bin && dwz -m ../../../dbgsym{ALT} -M {ALT} castor pollux")
    for n in ("castor", "pollux"):
        i = build_id(f"twins/usr/bin/{n}")
        os.makedirs(f"dbgsym/usr/lib/debug/.build-id/{i[:2]}", exist_ok=True)
        sh(f"objcopy --only-keep-debug --compress-debug-sections=zlib twins/usr/bin/{n} dbgsym/usr/lib/debug/.build-id/{i[:2]}/{i[2:]}.debug && "
           f"strip --remove-section=.comment twins/usr/bin/{n}")
    for package, name in (("twins", "twins"), ("dbgsym", "twins-dbgsym")):
        with open(f"{package}/DEBIAN/control", "w") as f:
            f.write(f"Package: {name}\nVersion: 1.0\nArchitecture: amd64\nMaintainer: nobody <nobody@localhost>\n"
                    "Description: made for a test\n")
        sh(f"dpkg-deb --root-owner-group -b {package} debs/{name}_1.0_amd64.deb")
    return "gnu_debugaltlink" in sh(f"readelf -SW dbgsym/usr/lib/debug/.build-id/{i[:2]}/{i[2:]}.debug") and build_id("dbgsym" + ALT)


def archives():
    for tool in ("dpkg-deb", "dwz", "bsdtar"):
        if not shutil.which(tool):
            print(f"ok - .deb archives # SKIP {tool} is not installed")
            return
    alt_id = build_debs()
    if not alt_id:
        report(False, "dwz moved the common parts into a file of its own")
        return
    ids = {n: build_id(f"twins/usr/bin/{n}") for n in ("castor", "pollux")}
    for n in ids:
        case.record(f"{n}.data", os.path.abspath(f"twins/usr/bin/{n}"))
    os.rename("twins/usr/bin", "twins/usr/gone")
    deep = {n: f"main;hidden_{n};from_the_alt_file" for n in ids}
    for how, what in (("-U", ["-U", "debs"]), ("-Z", ["-Z", ".deb=dpkg-deb --fsys-tarfile", "debs"])):
        with RealServer(*what) as s:
            r = Run("--debuginfod=full", urls=s.url, data="castor.data")
            asked = [(q.build_id, q.kind) for q in s.requests()]
            report(r.has_stacks() and deep["castor"] in r.out,
                   f"archives ({how}): program, debug file and dwz's common file: all stacks, the inlined name", r)
            report(sorted(asked) == sorted([(ids["castor"], "executable"), (ids["castor"], "debuginfo"), (alt_id, "debuginfo")]),
                   f"archives ({how}): these three are asked for", asked)
            report("1 of 1 modules fetched" in r.said[-1], f"archives ({how}): which is one module", r)
            if how == "-Z":
                continue
            r = Run("--debuginfod=full", urls=s.url, data="pollux.data", fresh=False)
            more = [(q.build_id, q.kind) for q in s.requests()][len(asked):]
            report(deep["pollux"] in r.out and sorted(more) == sorted([(ids["pollux"], "executable"), (ids["pollux"], "debuginfo")]),
                   "archives: the common file is fetched once for both", (more, r))
            r = Run(fresh=False, data="castor.data")
            report(deep["castor"] in r.out, "archives: the cache is enough later, common file included", r)
            os.chmod(f"cache/{alt_id}/debuginfo", 0o600)
            shutil.copy(f"cache/{ids['pollux']}/debuginfo", f"cache/{alt_id}/debuginfo")
            r = Run(fresh=False, data="castor.data")
            report("hidden_castor" in r.out and "from_the_alt_file" not in r.out and
                   any(f"{alt_id}/debuginfo: build id differs" in t for t in r.modules["castor"]["tried"]),
                   "archives: another file in the place of the common one is not used", r)
            r = Run("--debuginfod=full", urls=s.url, fresh=False, data="castor.data")
            report(deep["castor"] in r.out, "archives: a wrong common file is replaced", r)
            os.remove(f"cache/{alt_id}/debuginfo")
            r = Run(fresh=False, data="castor.data")
            report("hidden_castor" in r.out and "from_the_alt_file" not in r.out, "archives: without the common file its names are missing", r)
            with RealServer("-F", "nothing") as none:
                r = Run("--debuginfod=full", urls=none.url, fresh=False, data="castor.data")
                report(r.modules["castor"]["debuginfod"] == "not found (404)" and [q.build_id for q in none.requests()] == [alt_id],
                       "archives: the common file alone cannot be had: not found (404)", (none.requests(), r))
            r = Run("--debuginfod=full", urls=s.url, fresh=False, data="castor.data")
            report(deep["castor"] in r.out, "archives: the common file alone is fetched for a debug file that is here", r)
            report("1 of 1 modules fetched" in r.said[-1], "archives: the common file alone counts as a module fetched", r)
            r = Run("--debuginfod=line", "-f", "jsonl", urls=s.url, data="castor.data")
            report("castor.c" in r.out and "hidden_castor" in r.out and "debuginfo" not in {os.path.basename(f) for f in r.files()},
                   "archives: sections, which are compressed there, give names and lines", r)
    sh("cd debs && mkdir main && mv twins_1.0_amd64.deb main")
    with RealServer("-U", "debs/main") as s:
        r = Run("--debuginfod=full", urls=s.url, data="castor.data")
        report(r.has_stacks() and "hidden_castor" not in r.out and r.why("castor") == "not found (404)",
               "a server without the debug package: stacks, and why there are no names", r)
    os.rename("twins/usr/gone", "twins/usr/bin")


off()
consent()
tiers()
binaries_gone()
repaired()
archives()
