#!/usr/bin/env python3
"""The browser in a terminal of tmux: what keys show is read off the captured screen, and the figures there are those of top and
folded. Where resolve must not open it (a pipe, -f, a dumb terminal) it writes as ever."""
import lzma
import os
import re
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import RESOLVE, TOP, Tap, have, run, until  # noqa: E402
from perfsynth import Cgroups, Recording  # noqa: E402

tap = Tap()
if not have("tmux"):
    tap.skip("all of it", "no tmux")
    tap.end()
PLACE = os.path.join(TOP, "testdata", "recordings")
with tarfile.open(os.path.join(PLACE, "root.tar.xz")) as t:
    t.extractall(".")
with lzma.open(os.path.join(PLACE, "cpp-pipe", "perf.data.xz")) as packed, open("perf.data", "wb") as f:
    f.write(packed.read())
BARE = "--no-cache", "-q", "--symfs", "root", "--kallsyms", "root/kallsyms"


class Terminal:
    """A program in a terminal of its own; keys are sent, and the screen is looked at until it shows what it must."""
    def __init__(self, *command, size=(80, 24), env=""):
        self.socket = os.path.abspath(f"tmux.{id(self)}")
        line = env + " " + " ".join(f"'{c}'" for c in command) + "; echo status $?; exec sleep 1000"
        self.tmux("new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), line)

    def tmux(self, *args):
        env = {k: v for k, v in os.environ.items() if k not in ("TMUX", "NO_COLOR")}
        return subprocess.run(["tmux", "-u", "-S", self.socket, "-f", "/dev/null", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False, env=dict(env, LANG="C.UTF-8", LC_ALL="C.UTF-8")).stdout

    def screen(self, *how):
        return self.tmux("capture-pane", "-p", *how)

    def shows(self, pattern, *keys):
        """Sends keys; waits until the screen shows this; the screen."""
        if keys:
            self.tmux("send-keys", *keys)
        try:
            until(lambda: re.search(pattern, self.screen(), re.M), pattern)
        except RuntimeError as e:
            print("# " + self.screen().replace("\n", "\n# "))
            raise e
        return self.screen()

    def close(self):
        self.tmux("kill-server")


def rows(screen):
    """{function: (total, own)} of rows that show both."""
    return {m[3]: (float(m[1]), float(m[2])) for m in re.finditer(r"^ *([\d.]+)% +([\d.]+)% [-+ ] (.*?)  \S+$", screen, re.M)}


t = Terminal(RESOLVE, *BARE, "perf.data")
try:
    screen = t.shows(r"Function\n *46\.67%")
    tap.check(re.search(r"46\.67% +46\.67% - work::spin  threads\n +26\.67% +- work::Accumulator<long>::run", screen), "functions by their own cost, the hottest way up unfolded", screen)
    tap.check(all(len(line) <= 80 for line in screen.splitlines()) and len(screen.splitlines()) == 24, "80 x 24", screen)
    want = {m[3]: (float(m[1]), float(m[2])) for m in
            re.finditer(r"^ +([\d.]+)% +([\d.]+)% +\S+ +\S+ +\[.\] (work::\w+)\([^{\n]*$", run([RESOLVE, *BARE, "-f", "top", "perf.data"]).stdout, re.M)}
    wrong = {k: (v, want[k]) for k, v in rows(screen).items() if k in want and max(abs(a - b) for a, b in zip(v, want[k])) > 0.0101}
    tap.check(len(rows(screen).keys() & want.keys()) > 3 and not wrong, "their figures are those of top", wrong)
    screen = t.shows(r"46\.67% \+ work::spin", "Enter")
    tap.check("Accumulator<long>::run  threads" not in screen.split("std::accumulate")[0], "Enter folds what was unfolded", screen)
    screen = t.shows(r"26\.67% +[-+] work::Accumulator<long>", "Enter")
    tap.check("13.33%" in screen, "Enter unfolds the callers", screen)
    screen = t.shows(r"by own, Enter: callees", "c")
    screen = t.shows(r"100\.00% +0\.00% - all stacks", "Tab")
    t.shows(r"this row is no function", "a")
    t.shows(r"no function has 'nowhere'", "/", "nowhere", "Enter")
    t.shows(r"100\.00% +0\.00% - all stacks", "Escape")
    tap.check(re.search(r"80\.00% +0\.00%  - \S+  libc\.so\.6\n +80\.00% +0\.00%   - ", screen), "Tab: the tree, its hottest way unfolded", screen)
    t.shows(r"functions by own", "Tab")
    screen = t.shows(r"callees of work::fib", "/", "fibonacci", "Enter", "s")
    tap.check(re.search(r"callers of work::fib.*?\n *13\.33% +13\.33% [-+] work::fibonacci", screen, re.S), "/ searches, s is the sandwich of it", screen)
    t.shows(r"no unfolded row has 'nowhere'; the list of functions has all", "/", "nowhere", "Enter")
    t.shows(r"\| sandwich", "Escape")
    screen = t.shows(r"functions by own", "Escape")
    before = t.shows(r"% - work::catcher", "/", "catcher", "Enter", "Enter").splitlines()[:-1]
    t.shows(r"\| sandwich", "s")
    after = t.shows(r"functions by own", "Escape").splitlines()[:-1]
    tap.check(before == after and before != screen.splitlines()[:-1], "a sandwich leaves as it was what was unfolded by hand", before, after)
    t.shows(r"functions by total\b", "o")
    screen = t.shows(r"Only one command or thread", "t")
    tap.check(re.search(r"100\.00% threads$", screen, re.M) and re.search(r"threads  thread 100/103", screen), "t: commands and threads with their weights", screen)
    screen = t.shows(r"only threads  thread", "Down", "Enter")
    tap.check("100.00%" in screen, "one thread is all there is", screen)
    t.shows(r"functions by total, Enter: callees *$", "Escape", "Escape")
    screen = t.shows(r"Only functions of one module", "m")
    names = re.findall(r"% (\S+)$", screen, re.M)
    screen = t.shows(rf"only in {re.escape(names[0])}", "Enter")
    tap.check(names[0] == "threads" and "libc.so.6" not in screen, "m: functions of one module", screen)
    t.shows(r"Which event", "Escape", "e")
    t.shows(r"functions", "Escape")
    tap.check("leave" in t.shows(r"^ +Keys", "?"), "? lists the keys")
    t.shows(r"--diff BASE NEW", "x", "d")
    t.tmux("resize-window", "-x", "120", "-y", "30")
    until(lambda: len(t.screen().splitlines()) == 30 and "quit" in t.screen().splitlines()[-1], "the new size")
    tap.check(True, "the terminal may change its size")
    screen = t.shows(r"^status 0$", "q")
    tap.check("work::spin" not in screen, "q leaves, the screen is as before", screen)
finally:
    t.close()

# ---- colours, and places where it must not open ---------------------------------------------------------------------
for env, coloured in (("", True), ("NO_COLOR=1", False)):
    t = Terminal(RESOLVE, *BARE, "perf.data", env=f"TERM=screen-256color {env}")
    try:
        t.shows(r"46\.67%")
        colour = re.search(r"\x1b\[(?:\d+;)*3[0-7]m", t.screen("-e"))
        tap.check(bool(colour) == coloured, f"colours {'' if coloured else 'not '}{env}", repr(t.screen("-e")[:300]))
        t.shows(r"^status 0$", "q")
    finally:
        t.close()
for env, extra, pattern in (("TERM=dumb", (), r"^threads;"), ("", ("-f", "folded"), r"^threads;"), ("", ("--stats",), r"modules by samples")):
    t = Terminal(RESOLVE, *BARE, *extra, "perf.data", env=env)
    try:
        tap.check(re.search(pattern, t.shows(r"^status 0$"), re.M), f"no browser: {env} {' '.join(extra)}", t.screen())
    finally:
        t.close()
tap.check(run([RESOLVE, *BARE, "perf.data"]).stdout.startswith("threads;"), "no browser: a pipe")

# ---- a difference ---------------------------------------------------------------------------------------------------
with open("base.folded", "w") as f:
    f.write("main;a 5000\nmain;b 4000\nmain;c 1000\n")
with open("new.folded", "w") as f:
    f.write("main;a 5000\nmain;b 3990\nmain;c 9000\n")
t = Terminal(RESOLVE, "--diff", "base.folded", "new.folded")
try:
    screen = t.shows(r"functions by change", "d")
    tap.check(re.search(r"^ +10\.00% +50\.03% +\+40\.03 [-+ ] c *$", screen, re.M), "--diff: both sides and the change", screen)
    tap.check(screen.startswith("base.folded -> new.folded"), "--diff: the names of both", screen)
    t.shows(r"^status 0$", "q")
finally:
    t.close()

# ---- containers -----------------------------------------------------------------------------------------------------
ID = "0123456789abcdef" * 4
r = Cgroups()
for i, path in enumerate(("/system.slice/web.service", f"/kubepods.slice/cri-containerd-{ID}.scope")):
    r.cgroup(i + 1, path, i)
for i in range(4):
    r.comm(i + 1, f"prog{i}", 5)
    r.sample_in(i + 1, 0x401000, 10 + i, 1 + (i == 3))
r.write("cgroups.data")
t = Terminal(RESOLVE, "-q", "--no-cache", "cgroups.data", size=(120, 24))
try:
    t.shows(r"100\.00%")
    screen = t.shows(r"^ +25\.00% cri-containerd-0123456789ab\.scope  in /kubepods\.slice", "C")
    tap.check(re.search(r"^ +75\.00% web\.service  in /system\.slice", screen, re.M), "C: containers and other cgroups, with their shares", screen)
    t.shows(r"only cri-containerd-0123456789ab\.scope \|", "Down", "Enter")
    screen = t.shows(r"prog3 *$", "t")
    tap.check("prog1" in screen, "t: of all", screen)
    t.shows(r"only prog1 \| only cri-containerd", *["Down"] * screen.splitlines()[2:].index(next(line for line in screen.splitlines() if line.endswith(" prog1"))), "Enter")
    t.shows(r"nothing: Esc takes filters away")
    t.shows(r"100\.00%", "Escape")
    t.shows(r"^status 0$", "q")
finally:
    t.close()

# ---- machine code ---------------------------------------------------------------------------------------------------
with open("code.c", "w") as f:
    f.write("int hot(int n)\n{\n\treturn n * 7 + 1;\n}\nvoid _start(void)\n{\n\tfor (int i = 0;;)\n\t\ti = hot(i);\n}\n")
run(["gcc", "-g", "-O0", "-no-pie", "-fno-pie", "-static", "-nostdlib", "-o", "code", "code.c"])
address = int(re.search(r"^([0-9a-f]+) T hot$", run(["nm", "code"]).stdout, re.M)[1], 16)
r = Recording(arch=os.uname().machine)
r.comm(9, "code", 1)
r.mmap2(9, 0x400000, 0x10000, 0, os.path.abspath("code"), 2)
for i in range(4):
    r.sample(9, address + 4 * (i % 2 == 0), 10 + i)
t = Terminal(RESOLVE, "-q", "--no-cache", r.write("code.data"))
try:
    t.shows(r"100\.00% +100\.00% .*hot")
    screen = t.shows(r"^ +50\.00 : +[0-9a-f]+:", "a")
    tap.check(re.search(r"code\.c:\d", screen) and screen.startswith("hot"), "a: machine code with its lines", screen)
    t.shows(r"100\.00% +100\.00% .*hot", "q")
    t.shows(r"^status 0$", "q")
finally:
    t.close()
with open("mixed.c", "w") as f:
    f.write("static inline __attribute__((always_inline)) int mix(int n)\n{\n\treturn n * 7 + 1;\n}\nint hot(int n)\n{\n\treturn mix(n);\n}\n"
            "void _start(void)\n{\n\tfor (int i = 0;;)\n\t\ti = hot(i);\n}\n")
run(["gcc", "-g", "-O0", "-no-pie", "-fno-pie", "-static", "-nostdlib", "-o", "mixed", "mixed.c"])
address, size = (int(x, 16) for x in re.search(r"^([0-9a-f]+) ([0-9a-f]+) T hot$", run(["nm", "-S", "mixed"]).stdout, re.M).groups())
r = Recording(arch=os.uname().machine)
r.comm(9, "mixed", 1)
r.mmap2(9, 0x400000, 0x10000, 0, os.path.abspath("mixed"), 2)
for i in range(size):
    r.sample(9, address + i, 10 + i)
t = Terminal(RESOLVE, "-q", "--no-cache", r.write("mixed.data"))
try:
    t.shows(r"% [-+ ] mix")
    t.shows(r"^mix is inlined: --annotate 'hot' shows its code", "/", "mix", "Enter", "a")
    t.shows(r"^status 0$", "q")
finally:
    t.close()
t = Terminal(RESOLVE, "-q", "base.folded")
try:
    t.shows(r"50\.00%")
    t.shows(r"machine code is shown of recordings only", "a")
    t.shows(r"^status 0$", "q")
finally:
    t.close()

# ---- a search in the tree, names that are too long -------------------------------------------------------------------
LONG = "ns::Index<" + "std::string, " * 20 + "int>::insert_or_assign"
with open("search.folded", "w") as f:
    f.write(f"p;main;a;x 60\np;main;b;y;deepest 30\np;main;deepest 5\np;main;b;{LONG} 5\n")
for locale, cut in (("C.UTF-8", "…"), ("C", "~")):
    t = Terminal(RESOLVE, "-q", "search.folded", env=f"LC_ALL={locale}")
    try:
        screen = t.shows(rf"5\.00% +5\.00% \+ ns::Index<std::.*{cut}.*::insert_or_assign$")
        tap.check(all(len(line) < 80 for line in screen.splitlines()[2:-1]), f"{locale}: a long name shows its beginning and its end", screen)
        screen = t.shows(r"60\.00% +60\.00% +[-+ ] x", "Tab")
        tap.check("  y" not in screen and re.search(r"5\.00% +5\.00% +\+ deepest", screen), "the tree: one place of 'deepest' is in sight, the heavier one is folded", screen)
        screen = t.shows(r"30\.00% +30\.00% +\+ deepest", "/", "DEEPEST", "Enter")
        tap.check(re.search(r"35\.00% +0\.00% +- b *\n +30\.00% +0\.00% +- y *\n +30\.00% +30\.00% +\+ deepest", screen), "/ in the tree unfolds the way to the heaviest place", screen)
        screen = t.shows(r"callees of deepest", "s")
        tap.check(re.search(r"30\.00% +[-+] y", screen), "the cursor is on it", screen)
        t.shows(r"^status 0$", "q")
    finally:
        t.close()

# ---- a small terminal, a profile without modules, an answer of nothing ----------------------------------------------
t = Terminal(RESOLVE, "-q", "base.folded", size=(60, 20))
try:
    screen = t.shows(r"50\.00%")
    tap.check("unknown" not in screen, "no module is written where none is known", screen)
    tap.check(screen.splitlines()[-1].startswith("? help, q quit"), "60 columns: how to leave and to ask is in sight", screen)
    screen = t.shows(r"^  Up Down", "?")
    tap.check(all(line in screen for line in ("each instruction with its share\n", "Left fold or up\n", "A recursion counts once.\n")), "60 x 20: all keys", screen)
    t.shows(r"no row has 'nowhere'", "x", "/", "nowhere", "Enter")
    t.shows(r"functions by own", "Escape")
    for size in ("20", "4"), ("80", "24"):
        t.tmux("resize-window", "-x", size[0], "-y", size[1])
        until(lambda: len(t.screen().splitlines()) == int(size[1]) and t.screen().splitlines()[-1].startswith("? help"), "the new size")
    t.shows(r"^status 0$", "q")
finally:
    t.close()
# ---- names that are hostile, and a profile of nothing but one frame -------------------------------------------------
with open("odd.folded", "w", encoding="utf-8") as f:
    f.write("p;漢字の関数;x\u0301y;" + "long" * 300 + " 3\np;\x1b[31mred 2\np 1\n")
t = Terminal(RESOLVE, "-q", "odd.folded", size=(80, 24))
try:
    screen = t.shows(r"漢字の関数", "End")
    tap.check("\x1b" not in screen and all(len(line) <= 80 for line in screen.splitlines()), "wide and hostile names", screen)
    t.shows(r"^status 0$", "q")
finally:
    t.close()
tap.end()
