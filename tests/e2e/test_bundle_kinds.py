#!/usr/bin/env python3
"""One recording of programs of every kind - split, shared, separate and compressed DWARF, Go, a compiler, JavaScript, Java, a file that was
deleted, one that was replaced, one in memory only, one below a root that is gone - says the same where there is nothing but resolve
as it says beside the files: of capture, by its own bundle, and of perf, after `resolve --bundle`.

All run in turn in one recording: what is compared is the whole output. So that it can be resolved here too, each file whose path leads
nowhere is kept in a folder of build ids, except for the run that must do without."""
import collections
import glob
import struct
import sys

from common import *
from nowhere import ARM64_NOWHERE, RESOLVE_NOWHERE, elsewhere

tap = Tap()
need_events()
os.environ["XDG_CACHE_HOME"] = os.path.abspath("cache")
os.environ["CCACHE_DISABLE"] = "1"  # by which clang would run the first time only
ROOT = os.geteuid() == 0
GO = """package main
import ("os"; "sort"; "strconv")
func inlined(n int) int { return n*n ^ n>>3 }
func work(n int) int {
	v := make([]string, n)
	sum := 0
	for i := range v { v[i] = strconv.Itoa(inlined(i)); sum += len(v[i]) }
	sort.Strings(v)
	return sum + len(v[0])
}
func main() {
	rounds, _ := strconv.Atoi(os.Args[1])
	sum := 0
	for i := 0; i < rounds; i++ { sum += work(2000) }
	os.Exit(sum & 1 >> 1)
}
"""
NODE = "let s = 0, o = {}; for (let i = 0; i < 300; i++) { o['k' + i] = [i, i]; s += JSON.stringify(o).length } if (!s) console.log(s)"
# What the stacks of two samples depend on: the function that a label without a type is in, and whether the function that was called,
# but has jumped on to code without a file, has call frame information.
CORNERS = """#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
__asm__(".type copy,@function; copy: sub $24,%rsp; jmp copy_loop; .fill 300,1,0x90;"
        "copy_loop: pause; jmp copy_loop; .type next,@function; next: ret");
void copy(void);
static void (*stub)(void);
static void leave(int n) { _exit(0); }
__attribute__((noinline)) void wrote(void) { __asm__ volatile("" ::: "memory"); stub(); }
__attribute__((noinline)) void patch(void) { for (int i = 0; i < 4000; i++) wrote(); }
int main(void) {
	static const unsigned char code[] = {0xb8, 0x20, 0x4e, 0, 0, 0xff, 0xc8, 0x75, 0xfc, 0xc3}; /* counts to 20,000 */
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stub = (void (*)(void))(long)memcpy(p, code, sizeof code);
	patch();
	signal(SIGALRM, leave);
	ualarm(50000, 0);
	copy();
}
"""
FEW_NS = 40000000  # 20 samples
ids = iter(range(1, 99))
run_lines, gone_lines, expected = [], [], []


def has(tool, what):
    """Or a line that says what is left out."""
    if not have(tool):
        tap.skip(what, f"no {tool} here")
    return have(tool)


def link(name, obj, *flags):
    """One more program of an object: another build id."""
    run(["g++", obj, "-o", name, "-pthread", f"-Wl,--build-id=0x{next(ids):040x}", *flags])


def runs(name, line=None, *functions):
    """A line of the script that is recorded; functions that its stacks must have."""
    run_lines.append(line or f"./{name} 0.2")
    expected.append(("|".join(n[:15] for n in name.split("|")), functions or ("work::fibonacci", "main")))


def debug_forms():
    for obj, flags in (("t.o", []), ("split.o", ["-gsplit-dwarf"])):
        run(["g++", "-c", "-O2", "-g", *flags, os.path.join(PROGRAMS, "threads.cc"), "-o", obj])
    link("plain", "t.o")
    link("split", "split.o")
    link("packed", "t.o", "-Wl,--compress-debug-sections=zlib")
    link("separate", "t.o")
    run(["objcopy", "--only-keep-debug", "separate", "separate.debug"])
    run(["objcopy", "--strip-all", "--add-gnu-debuglink=separate.debug", "separate"])
    for name in "plain", "split", "packed", "separate":
        runs(name)
    if has("dwz", "DWARF that two files share"):
        link("dwz1", "t.o")
        link("dwz2", "t.o")
        run(["dwz", "-m", "common.debug", "dwz1", "dwz2"])
        runs("dwz1")


def corners():
    with open("corners.c", "w") as f:
        f.write(CORNERS)
    run(["gcc", "-O2", "corners.c", "-o", "corners"])
    runs("corners", "./corners", "main;copy_loop")
    runs(os.path.basename(sys.executable), f"{sys.executable} -c 'import json\nfor i in range(300): json.loads(json.dumps({{str(k): [k] * 9 for k in range(60)}}))'", "Py_RunMain")


def languages():
    if has("go", "Go"):
        with open("go.go", "w") as f:
            f.write(GO)
        run(["go", "build", "-o", "gone1", "go.go"], env={**os.environ, "GOCACHE": os.path.abspath("gocache"), "GO111MODULE": "off"},
            timeout=600)  # the libraries, too
        os.rename("gone1", "goprog")
        # Since Go 1.24 it has a build id, by which it would be the one with symbols: these call runtime.goexit runtime.goexit.abi0.
        run(["objcopy", "--strip-all", "--remove-section=.note.gnu.build-id", "goprog", "gostripped"])
        runs("goprog", "./goprog 150", "main.work", "runtime.main")
        runs("gostripped", "./gostripped 150", "main.work", "runtime.main")
    if has("clang", "a compiler"):
        with open("small.c", "w") as f:
            f.write("".join(f"int f{i}(int n) {{ int s = 0; while (n--) s += n * {i} ^ s >> 3; return s; }}\n" for i in range(150)))
        runs("clang", "clang -O2 -c small.c -o small.o", "main", "llvm::")
    if has("node", "JavaScript"):
        with open("n.js", "w") as f:
            f.write(NODE)
        runs("node", "sh -c 'echo $$ >> pids; exec node --perf-basic-prof n.js'", "node::Start")
    if has("javac", "Java"):
        run(["javac", "-d", ".", os.path.join(PROGRAMS, "Chain.java")])
        runs("java", "java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp . Chain 150 > /dev/null", "JavaMain")
    if has("rustc", "Rust"):
        run(["rustc", "-O", "-g", "-o", "rusty", os.path.join(PROGRAMS, "rusty.rs")])
        runs("rusty", "./rusty 0.2 > /dev/null", "main")
    interpreters()


def interpreters():
    """Whose compiled code no file has."""
    if has("luajit", "LuaJIT"):
        with open("l.lua", "w") as f:
            f.write("local e = os.clock() + .2 while os.clock() < e do local t = {} for i = 1, 5000 do t[i] = i * 7919 % 20011 end table.sort(t) end")
        runs("luajit", "luajit l.lua", "main")
    if has("php", "PHP's JIT"):
        with open("p.php", "w") as f:
            f.write("<?php function f($n) { return $n < 2 ? $n : f($n - 1) + f($n - 2); } $e = microtime(true) + .4; while (microtime(true) < $e) f(16);")
        runs("php", "php -d opcache.enable_cli=1 -d opcache.jit=tracing -d opcache.jit_buffer_size=16M -d opcache.file_update_protection=0 p.php", "main")
    if has("erlc", "Erlang's JIT"):
        run(["erlc", os.path.join(PROGRAMS, "cycle.erl")])
        # As Erlang names the thread before its release 26, and since.
        runs("1_scheduler|erts_sched_1", "sh -c 'echo $$ >> pids; exec erl +JPperf true +S 1 -noshell -run cycle main 300'", "cycle:f0/2")


def put_by_id(name):
    """A copy that is found by its build id only."""
    n = run(["readelf", "-n", name]).stdout.split("Build ID: ")[1].split()[0]
    os.makedirs(f"byid/.build-id/{n[:2]}", exist_ok=True)
    shutil.copy(name, f"byid/.build-id/{n[:2]}/{n[2:]}")


def vanishing():
    """Programs that no path leads to afterwards."""
    for name in "deleted", "replaced", "inmemory", "inner":
        link(f"{name}.in", "t.o")
        put_by_id(f"{name}.in")
        expected.append(("exe" if name == "inmemory" else name, ("work::fibonacci", "main")))
    os.makedirs("tree/app", exist_ok=True)
    shutil.copy("inner.in", "tree/app/inner")
    for lib in run(["ldd", "inner.in"]).stdout.split():
        if lib.startswith("/"):
            os.makedirs("tree" + os.path.dirname(lib), exist_ok=True)
            shutil.copy(lib, "tree" + lib)
    gone_lines.extend([
        "cp deleted.in deleted; ./deleted 0.4 & sleep 0.2; rm deleted; wait",
        "cp replaced.in replaced; ./replaced 0.4 & sleep 0.2; cp /bin/true new; mv new replaced; wait",
        f"""{sys.executable} -c 'import os
os.dup2(os.memfd_create("exe"), 77)
os.write(77, open("inmemory.in", "rb").read())
os.execv("/proc/self/fd/77", ["exe", "0.15"])'""",
        "mkdir -p box; unshare -m --propagation private sh -c 'mount -t tmpfs none box && cp -a tree/. box && exec chroot box /app/inner 0.15'",
    ])
    expected[-2] = "77", expected[-2][1]


def layered():
    """On the upper layer of an overlay, as in most containers, that is gone with its mount namespace."""
    mount = ("mkdir -p lay && mount -t tmpfs none lay && mkdir lay/low lay/up lay/work lay/all && cp -a tree/. lay/low && "
             "mount -t overlay none -o lowerdir=lay/low,upperdir=lay/up,workdir=lay/work lay/all")
    if run(["unshare", "-m", "--propagation", "private", "sh", "-c", mount], check=False).returncode:
        return tap.skip("a program on an overlay", "no overlay can be mounted here")
    link("layered.in", "t.o")
    put_by_id("layered.in")
    gone_lines.append(f"unshare -m --propagation private sh -c '{mount} && cp layered.in lay/all/app/layered && exec chroot lay/all /app/layered 0.15'")
    expected.append(("layered", ("work::fibonacci", "main")))


def clean_up():
    """The perf maps of node and Erlang, and Erlang's jitdump."""
    for pid in open("pids").read().split() if os.path.exists("pids") else []:
        for f in glob.glob(f"/tmp/perf-{pid}.map") + glob.glob(f"/tmp/jit-{pid}.dump"):
            os.unlink(f)


def of_comm(text, comm):
    names = tuple(c + end for c in comm.split("|") for end in ";-")
    return [l for l in text.splitlines() if l.startswith(names)]


def without_bundle(data, out):
    """A copy whose bundle is none: feature 200."""
    with open(data, "rb") as f:
        d = bytearray(f.read())
    off, size = struct.unpack_from("<QQ", d, 40)
    bits = struct.unpack_from("<4Q", d, 72)
    before = sum(bits[b // 64] >> b % 64 & 1 for b in range(200))
    at, _ = struct.unpack_from("<QQ", d, off + size + 16 * before)
    d[at:at + 8] = b"no bundl"
    with open(out, "wb") as f:
        f.write(d)
    return out


def samples(text, form):
    """What is compared: each sample of a script, each stack of folded text."""
    return collections.Counter(text.split("\n\n") if form else text.splitlines())


BY_ID = "--debug-dir", os.path.abspath("byid")


def compare(data, bundled, what, comms, *options):
    """All that resolve says of `data` beside the files, and of `bundled` where there are none."""
    for form in [], ["-f", "script"]:
        a = run([RESOLVE, *options, *form, data], check=False)
        b = elsewhere(bundled, *form, check=False)
        here, there = samples(a.stdout, form), samples(b.stdout, form)
        differ = list((here - there).elements()) + list((there - here).elements())
        if differ:
            print(f"# {what}: {len(differ)} of {here.total()} differ: {differ}"[:2000])
        tap.check(a.stdout and a.stdout == b.stdout, f"{what}: {' '.join(form) or 'folded'}", *differ[:10], here.total(), there.total(),
                  b.stderr[-500:])
        if not form:
            text = a.stdout
        if ARM64_NOWHERE:
            c = elsewhere(bundled, *form, check=False, command=ARM64_NOWHERE)
            tap.check(b.stdout == c.stdout, f"{what}: {' '.join(form) or 'folded'}, by resolve on 64-bit Arm", c.returncode, c.stdout[:300], c.stderr[-500:])
    if have("go"):
        a, b = (f("-q", "-f", "script", "-F", "ip,sym,srcline", check=False).stdout for f in (lambda *o, **k: run([RESOLVE, *o, data], **k), lambda *o, **k: elsewhere(bundled, *o, **k)))
        lines = [[l for l in t.splitlines() if "asm_amd64.s:" in l or "asm_arm64.s:" in l] for t in (a, b)]
        tap.check(lines[0] == lines[1] and any("goexit" in l for l in a.splitlines()), f"{what}: lines of where goroutines end", len(lines[0]), len(lines[1]), *lines[0][:2])
    for comm, functions in comms:
        lines = of_comm(text, comm)
        lacks = [f for f in functions if not any(f in l for l in lines)]
        # Of a program that a busy machine hardly lets run, all samples may be of the loader.
        few = 0 < sum(int(l.rsplit(" ", 1)[1]) for l in lines) < FEW_NS
        tap.check(not lacks or few, f"{what}: {comm} is in it", *lacks, *lines[:2])


# Of vanishing() and layered(), by the name of the program.
TOO_LATE = {"deleted": "deleted: no such file", "replaced": "replaced: gone; the file that is there now is of another build",
            "77": "/memfd:exe (deleted): no such file", "inner": "/app/inner: no such file", "layered": "/app/layered: no such file"}


def made_too_late(said, gone):
    """A bundle of perf's recording, made when programs of it are gone: each is told, with the reason; none has the names of what is at its
    path now, and what a recording made at once kept of the others is there."""
    lines = [l for l in said.splitlines() if "not in it:" in l]
    here = [TOO_LATE[comm] for comm, _ in gone]
    tap.check(len(lines) == len(here) and all(any(l.endswith(w) for l in lines) for w in here), "perf: what is gone is told, each with its reason", *lines)
    there = elsewhere("y.data", check=False)
    for comm, functions in gone:
        lines = of_comm(there.stdout, comm)
        of = "memfd:exe" if comm == "77" else comm
        named = [f for f in functions if any(f";{f}" in l for l in lines)]
        tap.check(lines and not named and any(f"[{of}" in l for l in lines), f"perf: {comm} is gone, and has no names", *named, of, *lines[:3])
    tap.check("code without names in" in there.stderr, "and that is said of it", there.stderr)


def main():
    debug_forms()
    corners()
    languages()
    n = len(expected)
    if ROOT:
        vanishing()
        layered()
    else:
        tap.skip("programs that no path leads to", "only root may open them")
    with open("run.sh", "w") as f:
        f.write("\n".join(run_lines) + "\n")
    with open("gone.sh", "w") as f:
        f.write("\n".join(run_lines + gone_lines) + "\n")
    try:
        p = run([CAPTURE, "-e", "cpu-clock:u", "-F", "499", "--bundle", "-o", "x.data", "--", "sh", "gone.sh"], check=False)
        tap.check("bundle of" in p.stderr, "capture bundles", p.stderr)
        if ROOT:
            shutil.rmtree("box", ignore_errors=True)
        compare(without_bundle("x.data", "here.data"), "x.data", "capture", expected, *BY_ID)
        perf_record("-e", "cpu-clock:u", "-F", "499", "--buildid-mmap", "--call-graph", "dwarf,16384", "-o", "perf.data", "sh", "gone.sh")
        if ROOT:
            shutil.rmtree("box", ignore_errors=True)
            p = run([RESOLVE, "--bundle", "-o", "y.data", "perf.data"])
            made_too_late(p.stderr, expected[n:])
            compare("perf.data", "y.data", "perf, of what is still there", expected[:n])
        run([RESOLVE, *BY_ID, "--bundle", "-o", "y.data", "perf.data"])
        compare("perf.data", "y.data", "perf", expected, *BY_ID)
    finally:
        clean_up()


if not RESOLVE_NOWHERE:
    tap.skip("recordings that carry their files", "no root of its own can be entered here")
    sys.exit(0)
if not ARM64_NOWHERE:
    tap.skip("by resolve on 64-bit Arm", "tests/arm64.sh has not built it")
main()
