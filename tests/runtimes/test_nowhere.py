#!/usr/bin/env python3
"""A recording of each runtime that is here, of a program as it is, without a flag: it says the same where there is nothing but resolve as
beside its files. What the runtime compiles has no file, so the recording must hold it."""
import glob
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.environ["TOP"], "tests", "e2e"))
from common import CAPTURE, NO_EVENTS, PROGRAMS, Tap, folded, have, need_events, resolve, run  # noqa: E402
from nowhere import RESOLVE_NOWHERE, elsewhere  # noqa: E402

tap = Tap()
BUSY = {
    "busy.py": "def f(n): return n if n < 2 else f(n - 1) + f(n - 2)\nf(27)\n",
    "busy.php": "<?php function f($n) { return $n < 2 ? $n : f($n - 1) + f($n - 2); } f(33);",
    "busy.cs": "class B { static int F(int n) { return n < 2 ? n : F(n - 1) + F(n - 2); } static void Main() { F(38); } }",
    "busy.lua": "local function f(n) if n < 2 then return n end return f(n - 1) + f(n - 2) end f(36)",
    "busy.rb": "def f(n) n < 2 ? n : f(n - 1) + f(n - 2) end\nf(27)\n",
    "busy.pl": "sub f { my $n = shift; $n < 2 ? $n : f($n - 1) + f($n - 2) } f(24);",
    "busy.sh": "i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done",
}
# A file that was just written is not compiled otherwise.
PHP_JIT = ["-d", "opcache.enable_cli=1", "-d", "opcache.jit_buffer_size=16M", "-d", "opcache.file_update_protection=0"]


def pythons():
    """Each version: the machine's own, and those of pyenv."""
    found = {}
    for path in ["/usr/bin/python3", *glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3"))]:
        if os.path.exists(path):
            found.setdefault(run([path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).stdout.strip(), path)
    bare = {f"python {version}": [path, "busy.py"] for version, path in found.items()}
    # Since 3.12 by a switch of its own, which has no names without its map.
    perf = {f"python {v}, -X perf": [path, "-X", "perf", "busy.py"] for v, path in found.items() if int(v.split(".")[1]) >= 12 and v[0] == "3"}
    return {**bare, **perf}


def commands():
    """What runs for about half a second each, by its runtime."""
    all_ = {"node": ["node", f"{PROGRAMS}/cycle.js", "js", "400"], "node, WebAssembly": ["node", f"{PROGRAMS}/cycle.js", "wasm", "400"],
            "PHP": ["php", "busy.php"], "PHP, its JIT": ["php", *PHP_JIT, "-d", "opcache.jit=tracing", "busy.php"],
            "PHP, its JIT, functions": ["php", *PHP_JIT, "-d", "opcache.jit=function", "busy.php"], "LuaJIT": ["luajit", "busy.lua"],
            "Ruby": ["ruby", "busy.rb"], "perl": ["perl", "busy.pl"], "qemu": ["qemu-x86_64", "/bin/sh", "busy.sh"],
            "grep -P": ["grep", "-cP", "(a+)+b$", "text"], **pythons()}
    if have("javac") and not run(["javac", "-d", ".", f"{PROGRAMS}/Chain.java"], check=False).returncode:
        all_["Java"] = ["java", "-cp", ".", "Chain", "500"]
    if have("node"):
        # Known by what it exports, if at all.
        shutil.copy(os.path.realpath(shutil.which("node")), "embedder")
        all_["V8 by another name"] = ["./embedder", f"{PROGRAMS}/cycle.js", "js", "400"]
    if have("erlc"):
        shutil.copy(f"{PROGRAMS}/cycle.erl", "cycle.erl")
        run(["erlc", "cycle.erl"])
        all_["Erlang"] = ["erl", "-noshell", "-run", "cycle", "main", "500"]
        all_["Erlang, +JPperf true"] = ["erl", "+JPperf", "true", "-noshell", "-run", "cycle", "main", "500"]
    if have("mcs") and not run(["mcs", "busy.cs"], check=False).returncode:
        all_["Mono"] = ["mono", "busy.exe"]
    if have("ruby") and not run(["ruby", "--yjit", "-e", "0"], check=False).returncode:
        all_["Ruby, --yjit"] = ["ruby", "--yjit", "busy.rb"]
    return {name: c for name, c in all_.items() if have(c[0])}


def remove_maps():
    """What some of them leave."""
    with open("pid") as f:
        pid = f.read().strip()
    for path in f"/tmp/perf-{pid}.map", f"/tmp/jit-{pid}.dump":
        if os.path.exists(path):
            os.unlink(path)


def main():
    if NO_EVENTS or not RESOLVE_NOWHERE:
        return tap.skip("recordings of runtimes", NO_EVENTS or "roots cannot be changed here")
    need_events()
    os.environ["XDG_CACHE_HOME"] = os.path.abspath("cache")
    for name, text in BUSY.items():
        with open(name, "w") as f:
            f.write(text)
    with open("text", "w") as f:
        f.write(("a" * 17 + "bc\n") * 800)
    for name, command in commands().items():
        run([CAPTURE, "-q", "--bundle", "-F", "1999", "-e", "cpu-clock:u", "-o", "x.data", "--", "sh", "-c", 'echo $$ > pid; exec "$@"', "sh", *command],
            check=False)
        here, stats = resolve("x.data")
        there = elsewhere("x.data").stdout
        mine, other = folded(here), folded(there)
        remove_maps()
        differ = [(s, mine.get(s), other.get(s)) for s in mine.keys() | other.keys() if mine.get(s) != other.get(s)]
        tap.check(stats["user_stacks"] > 10 and not differ, f"{name}: {stats['user_stacks']} stacks are the same in an empty root", differ[:3])
    return 0


main()
tap.end()
