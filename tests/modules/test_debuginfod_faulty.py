#!/usr/bin/env python3
"""--debuginfod against servers that misbehave: nothing waits longer than it was told to, nothing wrong is used or left in the
cache, one bad server does not spoil another, and each reason is told. Names are right by construction: they stand
in the source that debuginfod_case.py writes."""
import concurrent.futures
import glob
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time

import debuginfod_case as case
from debuginfod_case import ALL, NAMES, Run
from elfsections import section
from faulty_server import Server
from shell import build_id, report

case.enter_lonely_network()
IDS = {n: build_id(f"full/{n}") for n in NAMES}
FILES = {IDS[n]: {"debuginfo": f"debug/{n}.debug", "executable": f"served/{n}"} for n in NAMES}
OF_ID = {i: n for n, i in IDS.items()}
TOP_LIB = "libpart0.so"


def good():
    with Server("good", FILES, together=4) as s:
        r = Run("--debuginfod=full", urls=s.url)
        report(r.names() == ALL and r.status == 0, "a good server: all names", r)
        asked = [p.split("/")[2] for p in s.requests]
        # None is answered before there are four; of those any may arrive first.
        count = {n: r.modules[n]["samples"] for n in NAMES}  # of equal ones, and they are near each other, any may be the fourth
        report({n for n in NAMES if count[n] > sorted(count.values())[-4]} <= {OF_ID[i] for i in asked[:4]} and
               all(count[OF_ID[i]] >= sorted(count.values())[-4] for i in asked[:4]), "the heaviest modules come first", (asked, IDS, count))
        report(s.most == 4, "four downloads at a time", s.most)
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
        report(not r.said, "-q: no line about what could be had", r)
    r = Run("--debuginfod")
    report(r.why("work") == "no server to ask" and r.status == 0, "no DEBUGINFOD_URLS: no server to ask, status 0", r)


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


def bad(mode):
    reason, cache = BAD[mode], f"cache-{mode}"
    soon, later = ("1", "3") if reason == "timeout" else ("20", "20")  # what answers is not to be taken for slow
    with Server(mode, FILES) as s, Server("good", FILES) as g:
        r = Run("--debuginfod=full", urls=s.url, cache=cache, DEBUGINFOD_TIMEOUT=soon)
        told = {r.why(n) for n in NAMES}
        report(reason in told and told <= {reason, "no server answers"} and r.status == 0 and not r.names(),
               f"{mode}: {reason}", r)
        report(len(s.requests) <= 5, f"{mode}: after two failures (and three in flight) nothing more is asked",
               s.requests)
        report(r.files() == {}, f"{mode}: nothing stays in the cache", r)
        r = Run("--debuginfod=full", urls=g.url, cache=cache, fresh=False)
        report(r.names() == ALL, f"{mode}: the next run, with a good server, is not misled", r)
        r = Run("--debuginfod=full", urls=f"{s.url} {g.url}", cache=cache, DEBUGINFOD_TIMEOUT=later)
        report(r.names() == ALL, f"{mode}: together with a good server", r)


def unreachable():
    with Server("blackhole") as s, Server("good", FILES) as g:
        r = Run("--debuginfod=full", urls=s.url, DEBUGINFOD_TIMEOUT="1")
        report(r.why("work") == "no server answers", "packets vanish", r)
        r = Run("--debuginfod=full", urls=f"{s.url} {g.url}", DEBUGINFOD_TIMEOUT="3")
        report(r.names() == ALL, "packets vanish: together with a good server", r)
    r = Run("--debuginfod=full", urls=s.url)
    report(r.why("work") == "no server answers", "no server listens", r)


def wrong_files():
    wrong = {i: {k: "/proc/self/exe" if k == "executable" else f"debug/{NAMES[1]}.debug" for k in f} for i, f in FILES.items()}
    with Server("good", wrong) as s:
        r = Run("--debuginfod=full", urls=s.url)
        report(r.why("work") == "build id differs" and IDS["work"] + "/debuginfo" not in r.files(),
               "another file under the build id", r)
        os.rename("run", "gone")
        try:
            r = Run("--debuginfod=full", urls=s.url)
            report(any(f"/{TOP_LIB}: debuginfod executable: build id differs" in l for l in r.said) and
                   r.why(TOP_LIB) == "build id differs" and r.has_no_stacks() and r.files() == {},
                   "another binary under the build id", r)
            asked = [p for p in s.requests if p.endswith("/executable")]
            report(len(asked) == len(set(asked)) and all(sum(f"/{n}: debuginfod executable" in l for l in r.said) <= 1 for n in NAMES),
                   "another binary under the build id: one request, one line", (asked, r))
        finally:
            os.rename("gone", "run")
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


def limits():
    """What is too much, whatever the server cares for the limit that it was told."""
    for mode, reason, env in (("406", "too large", dict(DEBUGINFOD_MAXSIZE="3000")),
                              ("endless", "too large", dict(DEBUGINFOD_MAXSIZE="200000")),
                              ("good", "too large", dict(DEBUGINFOD_MAXSIZE="3000")),
                              ("giant", "too large", {}),
                              ("endless", "timeout", dict(DEBUGINFOD_MAXTIME="2"))):
        with Server(mode, FILES) as s:
            r = Run("--debuginfod=full", urls=s.url, **env)
            whole = [p for p in s.requests if p.endswith("/debuginfo")]
            report(whole and r.status == 0 and not r.names() and
                   ({r.why(n) for n in NAMES} <= {reason, "no server answers"} or mode == "good" and r.names(False) == ALL) and
                   not any(f.endswith(("/debuginfo", ".symtab")) and mode != "good" for f in r.files()),
                   f"{mode}, {' '.join(f'{k}={v}' for k, v in env.items())}: {reason}", (s.requests, r))
            if "DEBUGINFOD_MAXSIZE" in env:
                told = [h for h in s.headers if f"x-debuginfod-maxsize: {env['DEBUGINFOD_MAXSIZE']}" in h.lower()]
                report(len(told) == len(s.headers), f"{mode}: each request has the limit of size", s.headers)
    with open("headers", "w") as f:
        f.write("X-Token: sesame\n")
    with Server("good", FILES) as s:
        r = Run("--debuginfod=full", urls=s.url, DEBUGINFOD_HEADERS_FILE=os.path.abspath("headers"),
                DEBUGINFOD_VERBOSE="1", DEBUGINFOD_PROGRESS="1")
        report(all("X-Token: sesame" in h for h in s.headers) and r.names() == ALL, "DEBUGINFOD_HEADERS_FILE", (s.headers, r))
        report(not any("server urls" in l or "Downloading" in l for l in r.said), "the library says nothing itself", r)


def floods():
    """What does not end is ended by what such a file can have at most, and nothing of it stays."""
    for tier in ("sym", "full"):
        # A file that is sent has 512 MB at most by our own limits; the user's make the test shorter.
        env = {"DEBUGINFOD_MAXSIZE": "30000000"} if tier == "full" else {}
        with Server("flood", FILES) as s:
            r = Run(f"--debuginfod={tier}", urls=s.url, **env)
            report(r.status == 0 and r.files() == {} and {r.why(n) for n in NAMES} <= {"too large", "no server answers"},
                   f"flood, {tier}: too large, and nothing stays", r)
            report(s.sent < 9 * (10 << 20) + (4 * 80 << 20 if tier == "full" else 0), f"flood, {tier}: and little was sent", s.sent)
    for sig, group in ((signal.SIGTERM, True), (signal.SIGTERM, False), (signal.SIGHUP, True), (signal.SIGKILL, False)):
        with Server("endless", FILES) as s:
            shutil.rmtree("cache", ignore_errors=True)
            env = {k: v for k, v in os.environ.items() if not k.startswith(("DEBUGINFOD", "UNSPOOL"))}
            env.update(DEBUGINFOD_URLS=s.url, DEBUGINFOD_CACHE_PATH=os.path.abspath("cache"), PERF_BUILDID_DIR="/none", HOME="/none")
            p = subprocess.Popen([case.RESOLVE, "--debuginfod=full", "-o", "out.folded", "p.data"], env=env, start_new_session=True,
                                 stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

            def partial():
                return [f for d, _, fs in os.walk("cache") for f in fs if d != "cache" and os.path.getsize(os.path.join(d, f))]
            wait_until(partial)
            (os.killpg if group else os.kill)(p.pid, sig)
            p.wait()
            report(wait_until(lambda: not partial()), f"{sig.name}{' to all' if group else ''}: no file stays behind", partial())


def wait_until(condition):
    end = time.time() + 30
    while not condition() and time.time() < end:
        time.sleep(0.05)
    return condition()


def urls():
    """DEBUGINFOD_URLS as people and distributions write it. In each a module is not found by a server that has nothing, or
    libcurl knows no such server; that the good one is not blamed for it shows in that all modules come."""
    with Server("good", FILES) as g, Server("good", {}) as none:
        bare = g.url.removeprefix("http://")
        for name, text in (("a slash at the end", f"{g.url}/"), ("twice, once with a slash", f"{g.url} {g.url}/ {none.url}"),
                           ("spaces", f"  {none.url}   {g.url}  "), ("lines", f"{none.url}\n{g.url}\n"), ("without http://", bare),
                           ("HTTP://", f"{none.url} HTTP://{bare}"), ("user and password", f"http://me:secret@{bare}"),
                           ("policies of elfutils 0.192", f"ima:enforcing {none.url} ima:ignore {g.url}"),
                           ("another protocol", f"gopher://127.0.0.1:1 {g.url}"), ("no protocol at all", f"x {g.url}")):
            r = Run("--debuginfod=full", urls=text)
            report(r.names() == ALL and r.status == 0, f"DEBUGINFOD_URLS: {name}", r)
    for text in ("", "  \n", "ima:ignore"):
        r = Run("--debuginfod=full", DEBUGINFOD_URLS=text)
        report(r.why("work") == "no server to ask" and r.status == 0, f"DEBUGINFOD_URLS: {text!r}", r)


def unsuitable():
    """The right build id, and yet not what it should be."""
    swapped = {i: {"debuginfo": f["executable"], "executable": f["debuginfo"]} for i, f in FILES.items()}
    with Server("good", swapped) as s:
        r = Run("--debuginfod=full", urls=s.url)
        report(r.why("work") == "of no use" and not r.names(False) and r.status == 0, "stripped files as debug files", r)
        os.rename("run", "gone")
        try:
            r = Run("--debuginfod=full", urls=s.url)
            report(r.why(TOP_LIB) == "of no use" and r.has_no_stacks(), "debug files as binaries", r)
        finally:
            os.rename("gone", "run")


def unsafe_cache():
    """The library writes wherever links in its cache lead, so no other user may have put one there."""
    with Server("good", FILES) as s:
        def refused(name, why):
            r = Run("--debuginfod=full", urls=s.url, fresh=False)
            report(r.why("work") == "cannot write to the cache" and any(why in l for l in r.said) and not s.requests,
                   f"cache: {name}", (s.requests, r))

        shutil.rmtree("cache", ignore_errors=True)
        os.mkdir("cache")
        os.chmod("cache", 0o777)
        refused("every user may write", "every user may write to the directory")
        os.chmod("cache", 0o700)
        os.mkdir("precious")
        with open("precious/debuginfo", "w") as f:
            f.write("mine")
        for i in IDS.values():
            os.symlink(os.path.abspath("precious"), f"cache/{i}")
        refused("links in the place of directories", "a link in the place of a directory")
        with open("precious/debuginfo") as f:
            report(os.listdir("precious") == ["debuginfo"] and f.read() == "mine", "cache: what they lead to is as it was")
        for i in IDS.values():
            os.remove(f"cache/{i}")
            os.mkdir(f"cache/{i}")
            os.symlink(os.path.abspath("precious/debuginfo"), f"cache/{i}/debuginfo")
        r = Run("--debuginfod=full", urls=s.url, fresh=False)
        with open("precious/debuginfo") as f:
            report(r.names() == ALL and f.read() == "mine", "cache: a link in the place of a file is replaced", r)
        try:
            os.chown("cache", 4711, 4711)
        except OSError:
            print("ok - cache: another user's # SKIP only root can make one")
            return
        s.requests.clear()
        shutil.rmtree(f"cache/{IDS['work']}")
        refused("another user's", "belongs to another user")
        shutil.rmtree("cache")


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
            report(r.names(inlined=False) == ALL and r.has_stacks() and
                   "executable" in {p.split("/")[-1] for p in s.requests}, "binaries gone: fetched, and unwinding works", r)
            with Server("good", FILES, together=4) as slow:
                r = Run("--debuginfod=sym", "-j1", urls=slow.url)
                libs = sorted(NAMES[1:], key=lambda n: -r.modules[n]["samples"])
                asked = [p.split("/")[2] for p in slow.requests if p.endswith("/executable")]
                report(set(asked[:4]) <= {IDS[n] for n in ["work", *libs[:5]]} and IDS[libs[-1]] in asked[4:] and len(asked) == len(NAMES) and
                       slow.most == 4 and r.names(inlined=False) == ALL and "9 of 9 modules fetched" in r.said[-1],
                       "binaries gone: the hottest come first, four at a time", (slow.most, asked, libs, IDS, r))
            r = Run(fresh=False)
            report(r.names(inlined=False) == ALL and r.has_stacks(),
                   "binaries gone: all is found again without network", r)
            r = Run()
            report(r.why(TOP_LIB) == "network off" and r.has_no_stacks(),
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
            # Who has junk for the note is no debuginfod server, and is asked for nothing more.
            good = name != ".note.gnu.build-id"
            report(r.status == 0 and r.names(False) == (ALL if good else []) and not left and
                   f"{9 if good else 0} of 9 modules fetched" in r.said[-1],
                   f"{name} is {junk[:6]}...: not used, not kept" + (", the whole file is taken" if good else ""), r)


def other_build():
    """The note is the section that says of which build it is: that of another one is refused in a line, and the whole file comes."""
    note = section(f"other/{TOP_LIB}", ".note.gnu.build-id")
    kept = f"cache/{IDS[TOP_LIB]}/section*-.note.gnu.build-id"  # since elfutils 0.192 with a hash before the section's name
    with Server("good", FILES) as s:
        s.replace = {f"/buildid/{IDS[TOP_LIB]}/section/.note.gnu.build-id": note}
        r = Run("--debuginfod=line", "--no-cache", urls=s.url)
        whole = [p.split("/")[2] for p in s.requests if p.endswith("/debuginfo")]
        lines = [l for l in r.said if "build id differs" in l]
        report(r.names(False) == ALL and whole == [IDS[TOP_LIB]] and len(lines) == 1 and f"/{TOP_LIB}: fetched" in lines[0] and
               "9 of 9 modules fetched" in r.said[-1], "the note of another build: a line says so, the whole file is taken", r)
        report(not glob.glob(kept), "the note of another build: not kept", r)
    with Server("good", FILES) as s:
        r = Run("--debuginfod=line", "--no-cache", urls=s.url)
        if not report(len(glob.glob(kept)) == 1, "the right note: kept", r):
            return
        os.chmod(glob.glob(kept)[0], 0o600)
        with open(glob.glob(kept)[0], "wb") as f:
            f.write(note)
        r = Run("--debuginfod=line", "--no-cache", urls=s.url, fresh=False)
        report(r.names(False) == ALL and not r.names(), "the note of another build in the cache: replaced", (s.requests, r))


class OnTerminal(Run):
    """A run with a terminal of its own, on which keys can be pressed."""

    def __init__(self, *options, urls, **env):
        shutil.rmtree("cache", ignore_errors=True)
        self.cache, self.text = os.path.abspath("cache"), ""
        own = {k: v for k, v in os.environ.items() if not k.startswith(("DEBUGINFOD", "UNSPOOL"))}
        own.update(DEBUGINFOD_URLS=urls, DEBUGINFOD_CACHE_PATH=self.cache, PERF_BUILDID_DIR="/none", HOME="/none", **env)
        self.pid, self.main = pty.fork()
        if not self.pid:
            os.execve(case.RESOLVE, ["resolve", "--stats=json", "-o", "out.folded", *options, "p.data"], own)

    def press(self, keys):
        os.write(self.main, keys)

    def read(self, seconds):
        """False at the end."""
        if not select.select([self.main], [], [], seconds)[0]:
            return True
        try:
            more = os.read(self.main, 65536)
        except OSError:
            more = b""
        self.text += more.decode(errors="replace")
        return bool(more)

    def wait_for(self, condition):
        end = time.time() + 20
        while not condition() and time.time() < end and self.read(0.05):
            pass
        return condition()

    def end(self):
        end = time.time() + 50
        while self.read(1) and time.time() < end:
            pass
        if time.time() >= end:
            os.kill(self.pid, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.main)
        with open("out.folded") as f:
            self.seconds = 0
            # what is drawn again and again ends with a carriage return
            self.digest(f.read(), "\n".join(l for l in re.split(r"[\r\n]|\x1b\[K", self.text) if l), status)
        return self


def interrupts():
    """The key on the terminal reaches all processes there. ^C for one module, ^C^C for the rest; what there is is written."""
    for mode in ("hang", "trickle"):
        with Server(mode, FILES) as s:
            r = OnTerminal("--debuginfod=full", urls=s.url)
            report(r.wait_for(lambda: len(s.requests) == 4), f"{mode}: four run", s.requests)
            with open(f"/proc/{r.pid}/task/{r.pid}/children") as f:
                outputs = {os.readlink(f"/proc/{c}/fd/1") for c in f.read().split()}
            report(outputs == {"/dev/null"}, f"{mode}: the processes that ask do not hold the output open", outputs)
            r.press(b"\x03")
            report(r.wait_for(lambda: len(s.requests) == 5), f"{mode}: ^C skips one, which makes room for the fifth", r.text)
            r.press(b"\x03")
            seen = 5  # if it came later than 2 s after the first, it skips one more, and the next is in time
            while r.wait_for(lambda: len(s.requests) > seen):
                seen = len(s.requests)
                r.press(b"\x03")
            r.end()
            report(r.status == 0 and "part_0" in r.out and r.files() == {} and {r.why(n) for n in NAMES} == {"skipped"} and
                   "0 of 9 modules fetched" in r.said[-1] and "9 skipped" in r.said[-1],
                   f"{mode}: ^C^C skips all; the result is written", (r, r.text[-1000:]))
    # no sample is in the program itself, so it is not known to be missing before stacks are unwound
    for name in ("work", TOP_LIB):
        with Server("slow_binaries", FILES) as s:
            os.rename(f"run/{name}", "gone")
            try:
                r = OnTerminal("--debuginfod=full", "-j1", urls=s.url)
                r.wait_for(lambda: "B/s" in r.text)
                r.press(b"\x03")
                r.end()
                report([p for p in s.requests if IDS[name] in p] == [f"/buildid/{IDS[name]}/executable"] and
                       r.why(name) == "skipped" and {r.why(n) for n in NAMES if n in r.modules} == {"skipped", ""},
                       f"{name}: who skips the binary does not get the debug file either; the others do", (s.requests, r))
            finally:
                os.rename("gone", f"run/{name}")


def terminal():
    """On a terminal there is one line that is drawn again, with bytes and rate."""
    with Server("old", FILES) as s:
        # Of the first four the server sends no more than 4096 bytes, until the line was seen.
        line = re.compile(r"\[1/9\] \S+ 4 kB/\d+ kB  \d+ kB/s \(\+3\)")
        s.release.clear()
        r = OnTerminal("--debuginfod=full", "-j1", urls=s.url)
        drawn = r.wait_for(lambda: line.search(r.text))
        s.release.set()
        r.end()
        report(drawn and any(line.fullmatch(l) for l in r.said) and
               "9 of 9 modules fetched" in r.said[-1] and r.names() == ALL, "the line on a terminal", r.text[-3000:])


good()
with concurrent.futures.ThreadPoolExecutor(4) as pool:  # which wait most of the time
    list(pool.map(bad, BAD))
unreachable()
wrong_files()
limits()
floods()
urls()
unsuitable()
unsafe_cache()
tiers()
other_build()
interrupts()
terminal()
