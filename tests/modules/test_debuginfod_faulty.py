#!/usr/bin/env python3
"""--debuginfod against servers that misbehave: nothing waits longer than it was told to, nothing wrong is used or left in the
cache, one bad server does not spoil another, and each reason is told. Names are right by construction: they stand
in the source that debuginfod_case.py writes."""
import os
import signal
import subprocess
import sys
import time

import debuginfod_case as case
from debuginfod_case import ALL, NAMES, Run, report
from faulty_server import Server

case.enter_lonely_network()
IDS = {n: case.build_id(f"full/{n}") for n in NAMES}
FILES = {IDS[n]: {"debuginfo": f"debug/{n}.debug", "executable": f"served/{n}"} for n in NAMES}
TOP_LIB = "libpart0.so"


def good():
    with Server("good", FILES, delay=0.2) as s:
        r = Run("--debuginfod=full", urls=s.url)
        report(r.names() == ALL and r.status == 0, "a good server: all names", r)
        asked = [p.split("/")[2] for p in s.requests]
        report(asked[0] == IDS["work"] and asked[1] == IDS[TOP_LIB] or set(asked[:4]) == {IDS[n] for n in NAMES[:4]},
               "the heaviest modules come first", (asked, IDS))
        report(s.most == 4, "four at a time", s.most)
        report(sum(": fetched 5 kB in" in l for l in r.said) == 8 and "debuginfod: 9 of 9 modules fetched" in r.said[-1],
               "one line per module, and the sum", r)
    r = Run(fresh=False)
    report(r.names() == ALL, "what was fetched is found again without network", r)
    with Server("good", FILES) as s:
        r = Run("--debuginfod", urls=s.url)
        whole = {p.split("/")[2] for p in s.requests if p.endswith("/debuginfo")}
        report(whole == {IDS[n] for n in NAMES if r.modules[n]["samples"] >= 0.05 * r.stats["samples"]} and
               r.names(inlined=False) == ALL and 0 < len(whole) < 9, "whole files from 5 % of the samples, else symbols",
               (whole, r))
        n = len(s.requests)
        r = Run(urls=s.url)
        report(len(s.requests) == n and not os.path.exists("cache") and r.why("work") == "network off" and
               any("lack symbols; --debuginfod would fetch them" in l and "9 modules (100 %" in l for l in r.said),
               "off: nothing is asked, one line says what could be had", r)
        r = Run("-q", urls=s.url)
        report(not r.said, "-q: not even that", r)
    r = Run("--debuginfod")
    report(r.why("work") == "no server answers" and r.status == 0, "no DEBUGINFOD_URLS", r)


# Run() ends what takes a minute, which is a fraction of the library's own patience.
BAD = {
    "500": "http error",
    "503": "http error",
    "hang": "timeout",
    "trickle": "timeout",
    "reset": "connection failed or broke off",
    "cut": "connection failed or broke off",
    "cut_silently": "the answer is something else, or cut",
    "html": "the answer is something else, or cut",
}


def bad():
    for mode, reason in BAD.items():
        with Server(mode, FILES) as s, Server("good", FILES) as g:
            r = Run("--debuginfod=full", urls=s.url, DEBUGINFOD_TIMEOUT="1")
            told = {r.why(n) for n in NAMES}
            report(reason in told and told <= {reason, "no server answers"} and r.status == 0 and not r.names(),
                   f"{mode}: {reason}", r)
            report(len(s.requests) <= 5, f"{mode}: after two failures (and three in flight) nothing more is asked",
                   s.requests)
            report(r.files() == {}, f"{mode}: nothing stays in the cache", r)
            r = Run("--debuginfod=full", urls=g.url, fresh=False)
            report(r.names() == ALL, f"{mode}: the next run, with a good server, is not misled", r)
            r = Run("--debuginfod=full", urls=f"{s.url} {g.url}", DEBUGINFOD_TIMEOUT="3")
            report(r.names() == ALL, f"{mode}: together with a good server", r)


def unreachable():
    with Server("blackhole") as s, Server("good", FILES) as g:
        r = Run("--debuginfod=full", urls=s.url, DEBUGINFOD_TIMEOUT="1")
        report(r.why("work") == "no server answers", "packets vanish", r)
        r = Run("--debuginfod=full", urls=f"{s.url} {g.url}", DEBUGINFOD_TIMEOUT="3")
        report(r.names() == ALL, "packets vanish: together with a good server", r)
    r = Run("--debuginfod=full", urls=s.url)
    report(r.why("work") == "no server answers", "nobody listens", r)


def wrong_files():
    wrong = {i: {k: "/proc/self/exe" if k == "executable" else f"debug/{NAMES[1]}.debug" for k in f} for i, f in FILES.items()}
    with Server("good", wrong) as s:
        r = Run("--debuginfod=full", urls=s.url)
        report(r.why("work") == "build id differs" and IDS["work"] + "/debuginfo" not in r.files(),
               "another file under the build id", r)
    os.makedirs(f"cache/{IDS['work']}", exist_ok=True)
    with open(f"cache/{IDS['work']}/debuginfo", "w") as f:
        f.write("<html>left behind by another tool")
    with Server("good", FILES) as s:
        r = Run("--debuginfod=full", urls=s.url, fresh=False)
        report("hidden_main" in r.out and r.names() == ALL, "a wrong file in the cache is replaced", r)
    with Server("good", {}) as s:
        r = Run("--debuginfod=full", urls=s.url)
        report(r.why("work") == "not found (404)" and r.files().get(IDS["work"] + "/debuginfo") == 0,
               "404: not found, and the cache remembers", r)
        n = len(s.requests)
        r = Run("--debuginfod=full", urls=s.url, fresh=False)
        report(len(s.requests) == n and r.why("work") == "not found (404)", "404: not asked again so soon", r)


def tiers():
    with Server("good", FILES) as s:
        r = Run("--debuginfod=sym", urls=s.url)
        report(r.names(inlined=False) == ALL and not r.names() and
               {p.split("/")[-1] for p in s.requests} == {".note.gnu.build-id", ".symtab", ".strtab"},
               "sym: names by three sections", (s.requests, r))
        r = Run(fresh=False)
        report(r.names(inlined=False) == ALL, "sym: found again without network", r)
        r = Run("--debuginfod=line", "-f", "jsonl", urls=s.url)
        report(all(f'part{i}.c' in r.out and f'hidden_{i}' in r.out for i in ALL), "line: file names by sections", r)
        report(not any(p.endswith("/debuginfo") for p in s.requests), "line: no whole files", s.requests)
        r = Run("--debuginfod=full", urls=s.url, fresh=False)
        report(r.names() == ALL, "full after line: the sections do not stand in its way", r)
        # gone binaries: sections alone could not be placed
        os.rename("run", "gone")
        try:
            r = Run("--debuginfod=sym", urls=s.url)
            report(r.names(inlined=False) == ALL and r.stats["root"] == r.stats["user_stacks"] and
                   "executable" in {p.split("/")[-1] for p in s.requests}, "binaries gone: fetched, and unwinding works", r)
            r = Run(fresh=False)
            report(r.names(inlined=False) == ALL and r.stats["root"] == r.stats["user_stacks"],
                   "binaries gone: all is found again without network", r)
            r = Run()
            report(r.why(TOP_LIB) == "network off" and r.stats["no_file"] == r.stats["user_stacks"],
                   "binaries gone, network off", r)
        finally:
            os.rename("gone", "run")
    with Server("old", FILES) as s:
        r = Run("--debuginfod=sym", urls=s.url)
        report(r.why("work") == "the server gives whole files only" and not r.names(False) and r.files() == {},
               "a server without sections: no whole file instead", r)
        report(s.sent < 4 * 16384, "... and little of one was sent", s.sent)
    for name, junk in ((".note.gnu.build-id", b"<html>"), (".symtab", b"<html>" * 40), (".strtab", b"<html>"),
                       (".symtab", b"\0" * 24 + b"\xff" * 24), (".debug_line", b"\xff" * 100), (".debug_line", b"\1\0\0\0" + b"x" * 60)):
        with Server("good", FILES) as s:
            s.replace = {name: junk}
            r = Run("--debuginfod=line", urls=s.url)
            left = [f for f, size in r.files().items() if f.endswith(name)]
            fine = name == ".debug_line" or junk[0] == 0
            report(r.status == 0 and (r.names(False) == ALL) == (name == ".debug_line") and (not left or fine and junk[0] == 0),
                   f"{name} is {junk[:6]}...: not used, not kept", r)


def interrupts():
    """^C for one transfer, ^C^C for the rest; what there is is written."""
    for n, urls in ((1, "one"), (2, "two")):
        with Server("hang") as s, Server("good", FILES) as g:
            r = Run.__new__(Run)
            r.cache = os.path.abspath("cache")
            case.shutil.rmtree("cache", ignore_errors=True)
            env = {k: v for k, v in os.environ.items() if not k.startswith("DEBUGINFOD")}
            env.update(DEBUGINFOD_URLS=s.url, DEBUGINFOD_CACHE_PATH=r.cache, PERF_BUILDID_DIR="/none", HOME="/none")
            start = time.time()
            p = subprocess.Popen([case.RESOLVE, "--stats=json", "--debuginfod=full", "p.data"], env=env, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            while len(s.requests) < 4 and time.time() - start < 10:
                time.sleep(0.02)
            for _ in range(n):
                p.send_signal(signal.SIGINT)
                time.sleep(0.1)
            if n == 1:
                # the skipped one makes room for the fifth
                while len(s.requests) < 5 and time.time() - start < 10:
                    time.sleep(0.02)
                report(len(s.requests) == 5 and p.poll() is None, "^C skips one transfer", s.requests)
                p.send_signal(signal.SIGINT)
            out, err = p.communicate(timeout=30)
            r.seconds = time.time() - start
            r.digest(out, err, p.returncode)
            report(r.status == 0 and "part_0" in r.out and r.why("work") == "skipped" and r.files() == {},
                   "^C^C skips all; the result is written", r)


def terminal():
    """On a terminal there is one line that is drawn again, with bytes and rate."""
    import pty
    with Server("old", FILES) as s:
        env = {k: v for k, v in os.environ.items() if not k.startswith("DEBUGINFOD")}
        env.update(DEBUGINFOD_URLS=s.url, DEBUGINFOD_CACHE_PATH=os.path.abspath("cache"), PERF_BUILDID_DIR="/none")
        case.shutil.rmtree("cache", ignore_errors=True)
        main, side = pty.openpty()
        p = subprocess.Popen([case.RESOLVE, "--debuginfod=full", "p.data"], env=env, stdout=subprocess.DEVNULL, stderr=side)
        os.close(side)
        text = b""
        while True:
            try:
                more = os.read(main, 65536)
            except OSError:
                break
            if not more:
                break
            text += more
        p.wait()
        text = text.decode()
        report("[1/9] work 4 kB/7 kB" in text and "kB/s" in text and "(+3)" in text and
               "9 of 9 modules fetched" in text.splitlines()[-1], "the line on a terminal", repr(text[:3000]))


good()
bad()
unreachable()
wrong_files()
tiers()
interrupts()
terminal()
