#!/usr/bin/env python3
"""capture --alloc: what was allocated and what is in use at the end, of programs that count it themselves (tests/programs/allocates.c): sums are exact,
by function; and what cannot be known is said."""
import collections
import os
import subprocess

from lib import CAPTURE, RESOLVE, Tap, capture, have, need_events, need_root, run, start, until_enabled

tap = Tap()
need_events()
need_root(tap, "--alloc", "probes need root")
EVENTS = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space")
run(["gcc", "-O1", "-g", "-pthread", os.path.join(os.environ["TOP"], "tests", "programs", "allocates.c"), "-o", "allocates"])


def sums(name, event, *options):
    """By function of the program: the frame below main, or the thread's."""
    total = collections.Counter()
    for line in run([RESOLVE, "-q", "--event", event, *options, name], check=False).stdout.splitlines():
        stack, n = line.rsplit(" ", 1)
        frames = stack.split(";")
        own = [f for f in ("make_small", "leak", "grow", "zero", "align", "make_large") if f in frames]
        who = own[0] if own else "library" if any("pthread_create" in f for f in frames) else "thread" if "thread" in frames or "main" in frames else "library"
        total[who] += int(n)
    return total


def expected(p):
    """NAME -> (objects, bytes, in use, bytes of these), as the program counts."""
    return {w[0]: tuple(map(int, w[1:])) for w in (line.split() for line in p.stdout.splitlines()) if len(w) == 5}


def compare(name, p, what):
    wanted = expected(p)
    for i, event in enumerate(EVENTS):
        got = sums(name, event)
        wrong = {k: (got[k], v[i]) for k, v in wanted.items() if got[k] != v[i]}
        tap.check(len(wanted) == 7 and not wrong, f"{what}: {event} as the program counts it", wrong, dict(got), p.stderr)
    return wanted


for _ in range(3):  # beside other work the recorder may come too late
    p = capture("--alloc=16K", "-m", "16M", "-o", "all.data", "--", "./allocates", "1")
    if not p.n_lost:
        break
tap.check(p.n_lost == 0, "nothing is lost", p.stderr)
wanted = compare("all.data", p, "each call")
stacks = run([RESOLVE, "-q", "--no-inline", "--event", "alloc_space", "all.data"]).stdout
tap.check(";main;make_small;malloc " in stacks and ";main;grow;malloc " in stacks and ";main;grow;realloc " in stacks, "with the stacks of the calls", stacks)
p = capture("--alloc", "-m", "16M", "-o", "rare.data", "--", "./allocates", "1")
totals = {e: sum(sums("rare.data", e).values()) for e in EVENTS}
fine = {e: sum(sums("all.data", e).values()) for e in EVENTS}
tap.check(all(abs(totals[e] - fine[e]) <= 8192 for e in EVENTS), "with few stacks the sums are the same", totals, fine)
rare = run([RESOLVE, "-q", "--event", "alloc_space", "rare.data"]).stdout.splitlines()
bare = sum(int(line.rsplit(" ", 1)[1]) for line in rare if "main" not in line and "start_thread" not in line)
got = sums("rare.data", "alloc_space")
tap.check(got["make_large"] == wanted["make_large"][1] and got["make_small"] == wanted["make_small"][1], "what is large, or often, has its stack", dict(got), rare)
tap.check(0 < bare <= 8 * (512 << 10), "what has no stack is less than some times BYTES, and is there without one", bare, rare)

# ---- formats -----------------------------------------------------------------------------------------
run([RESOLVE, "-q", "-f", "pprof", "-o", "all.pb.gz", "all.data"])
again = {e: sum(int(line.rsplit(" ", 1)[1]) for line in run([RESOLVE, "-q", "--event", e, "all.pb.gz"]).stdout.splitlines()) for e in EVENTS}
tap.check(again == fine, "pprof has the four types of heap profiles", again, fine)
if have("go"):
    raw = run(["go", "tool", "pprof", "-raw", "all.pb.gz"], check=False).stdout
    tap.check("alloc_objects/count alloc_space/bytes" in raw and "inuse_objects/count inuse_space/bytes" in raw, "as go tool pprof reads them", raw[:500])
else:
    tap.skip("go tool pprof", "no go")
run([RESOLVE, "-q", "-o", "all.html", "all.data"])
top = run([RESOLVE, "-q", "-f", "top", "all.data"]).stdout
tap.check("make_large" in top and os.path.getsize("all.html") > 10000, "a table, a page", top[:500])
p = run([RESOLVE, "all.data"])
tap.check("alloc_space is shown, which is its default" in p.stderr.replace("only the event ", ""), "the default is alloc_space, and the others are named", p.stderr)
run([RESOLVE, "-q", "--bundle", "-o", "carried.data", "all.data"])
tap.check(all(sums("carried.data", e) == sums("all.data", e) for e in EVENTS), "resolve --bundle keeps it")
run([RESOLVE, "-q", "--bundle", "--strip-stacks", "-o", "stripped.data", "all.data"])
tap.check(all(sums("stripped.data", e) == sums("all.data", e) for e in EVENTS), "and --strip-stacks")
piped = run(["sh", "-c", f"cat all.data | {RESOLVE} -q --event alloc_space -"], check=False)
tap.check(piped.returncode == 0 and "make_small" in piped.stdout, "read from standard input, by the periods", piped.stderr, piped.stdout)
piped = run(["sh", "-c", f"cat all.data | {RESOLVE} --event alloc_space -"], check=False)
tap.check("those that failed count, too" in piped.stderr, "and that is said", piped.stderr)
tap.check("those that failed" not in run([RESOLVE, "all.data"]).stderr, "of a file it is not so")
piped = run(["sh", "-c", f"{CAPTURE} -q --alloc -o - ./allocates 1 2>/dev/null | {RESOLVE} --event inuse_space -"], check=False)
tap.check(piped.returncode == 2 and "what is in use is not known of a pipe" in piped.stderr, "nor is it known what is in use", piped.stderr)
if have("perf"):
    p = run(["perf", "script", "-f", "-i", "all.data", "-F", "comm,event,trace"])
    n = collections.Counter(line.split()[1] for line in p.stdout.splitlines() if line.startswith(" ") and "alloc-" in line)
    tap.check(n["alloc-entry:"] >= 59250 and n["alloc-return:"] + n["alloc-stored:"] >= 59250 and n["alloc-free:"] >= 55000, "perf script reads all calls", n)

# ---- other allocators: by LD_PRELOAD, and in the program itself ------------------------------------------
run(["gcc", "-O1", "-g", "-static", "-pthread", os.path.join(os.environ["TOP"], "tests", "programs", "allocates.c"), "-o", "allocates-static"])
for library in ("libjemalloc.so.2", "libtcmalloc_minimal.so.4", None):
    words = ["env", f"LD_PRELOAD={library}"] if library else []
    if library and os.environ["BUILD"].endswith("-san"):
        tap.skip(library, "capture, which sees it in its own environment, has the malloc of ASan")
        continue
    if library and "cannot be preloaded" in run([*words, "true"], check=False).stderr:
        tap.skip(library, "not installed")
        continue
    for _ in range(3):
        p = run([*words, CAPTURE, "--alloc=16K", "-m", "16M", "-o", "other.data", "./allocates" if library else "./allocates-static", "1"])
        if " 0 lost" in p.stderr:
            break
    for i, event in ((1, "alloc_space"), (3, "inuse_space")):
        wanted, got = expected(p), sums("other.data", event)
        wrong = {k: (got[k], v[i]) for k, v in wanted.items() if k in ("make_small", "leak", "zero", "align", "make_large") and got[k] != v[i]}
        tap.check(len(wanted) == 7 and not wrong, f"{library or 'a static program'}: {event} as the program counts it", wrong, dict(got), p.stderr)

# ---- what cannot be known ----------------------------------------------------------------------------
with open("odd.c", "w", encoding="utf-8") as f:
    f.write("#include <stdlib.h>\n#include <stdio.h>\n#include <stdint.h>\n#include <unistd.h>\n"
            "void *volatile v;\n"
            "__attribute__((noinline)) void posix(int n) { void *p; for (int i = 0; i < n; i++) if (!posix_memalign(&p, 64, 1000)) { v = p; if (i) free(p); } }\n"
            "void *afar; __attribute__((noinline)) void stores_afar(int n) { for (int i = 0; i < n; i++) if (!posix_memalign(&afar, 64, 1000)) v = afar; }\n"
            "__attribute__((noinline)) void fails(int n) { for (int i = 0; i < n; i++) v = malloc(PTRDIFF_MAX / 2); }\n"
            "__attribute__((noinline)) void fails_again(int n) { char *p = malloc(5000); for (int i = 0; i < n; i++) v = realloc(p, PTRDIFF_MAX / 2); }\n"
            "__attribute__((noinline)) void of_nothing(int n) { for (int i = 0; i < n; i++) v = malloc(0); }\n"
            "int main(int c, char **w) { char b; void *early[500];\n"
            "  for (int i = 0; i < 500; i++) early[i] = malloc(100);\n"
            "  if (c > 1) { puts(\"ready\"); fflush(stdout); if (read(0, &b, 1) != 1) return 1; }\n"
            "  posix(300); stores_afar(100); fails(300); fails_again(300); of_nothing(300);\n"
            "  for (int i = 0; i < 500; i++) free(early[i]);\n  return 0; }\n")
run(["gcc", "-O1", "-g", "-fno-builtin", "odd.c", "-o", "odd"])
for _ in range(3):
    odd = capture("--alloc=1", "-m", "16M", "-o", "odd.data", "--", "./odd")
    if not odd.n_lost:
        break


def of_function(name, event, function):
    return sum(int(line.rsplit(" ", 1)[1]) for line in run([RESOLVE, "-q", "--event", event, name], check=False).stdout.splitlines() if f";{function};" in line)


tap.check(of_function("odd.data", "alloc_objects", "posix") == 300 and of_function("odd.data", "alloc_space", "posix") == 300000, "posix_memalign counts", odd.stderr, run([RESOLVE, "-q", "--event", "alloc_objects", "odd.data"]).stdout)
tap.check(of_function("odd.data", "inuse_objects", "posix") == 1 and of_function("odd.data", "inuse_space", "posix") == 1000, "and its memory is followed",
          run([RESOLVE, "-q", "--event", "inuse_space", "odd.data"]).stdout)
tap.check("100000 bytes came from posix_memalign into no variable of its caller" in run([RESOLVE, "odd.data"]).stderr and of_function("odd.data", "inuse_space", "stores_afar") == 0 and
          of_function("odd.data", "alloc_space", "stores_afar") == 100000, "but where it is stored elsewhere, which is said", run([RESOLVE, "odd.data"]).stderr)
tap.check(of_function("odd.data", "alloc_objects", "fails") == 0, "what fails is not allocated")
tap.check(of_function("odd.data", "alloc_objects", "fails_again") == 1 and of_function("odd.data", "inuse_space", "fails_again") == 5000, "a realloc() that fails leaves the block in use")
tap.check(of_function("odd.data", "alloc_objects", "of_nothing") == 300 and of_function("odd.data", "inuse_objects", "of_nothing") == 300, "blocks of 0 bytes are blocks")
target = subprocess.Popen(["./odd", "waits"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
target.stdout.readline()
q = start("--alloc=1", "-m", "16M", "-p", target.pid, "-o", "running.data")
until_enabled(q)
target.stdin.write("x")
target.stdin.close()
target.wait()
err = q.communicate(timeout=60)[1]
p = run([RESOLVE, "running.data"], check=False)
tap.check("500 blocks were freed whose allocation was not recorded" in p.stderr and of_function("running.data", "alloc_objects", "of_nothing") == 300, "-p: what is of before is said", p.stderr, err)

# ---- the command line ---------------------------------------------------------------------------------
for value in ("much", "0", "9999999G"):
    p = run([CAPTURE, f"--alloc={value}", "-o", "x.data", "true"], check=False)
    tap.check(p.returncode == 2 and "--alloc" in p.stderr and "64K" in p.stderr, f"--alloc={value} is refused", p.stderr)
p = capture("--alloc", "--max-hit-rate", "1000", "-o", "limited.data", "--", "./allocates", "30", check=False)
tap.check("ended by --max-hit-rate" in p.stderr, "--max-hit-rate ends it", p.stderr)
tap.check("no effect" not in p.stderr and "--filter" not in p.stderr and "-e uprobe:libc.so.6:malloc -c 1000" in p.stderr, "and what is said can be typed", p.stderr)
if have("strace"):
    run(["strace", "-f", "-e", "trace=open,openat,openat2", "-o", "opened", CAPTURE, "-q", "--alloc", "-o", "x.data", "./odd"], check=False)
    with open("opened", encoding="utf-8") as f:
        opened = [line for line in f if "/odd\"" in line and line.split()[1].startswith("open")]
    tap.check(0 < len(opened) < 10, "the functions of a file are looked up at once, not for each of 31 names", len(opened), opened[:3])
else:
    tap.skip("how often a file is read", "no strace")
p = run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", CAPTURE, "--alloc", "-o", "/dev/null", "true"], check=False)
tap.check(p.returncode == 2 and "CAP_SYS_ADMIN" in p.stderr, "without rights: the reason", p.stderr)
# all is freed
with open("none.c", "w", encoding="utf-8") as f:
    f.write("#include <stdlib.h>\nvoid *volatile v;\nint main(void) { for (int i = 0; i < 1000; i++) { v = malloc(1000); free(v); } return 0; }\n")
run(["gcc", "-O1", "-fno-builtin", "-o", "none", "none.c"])
capture("--alloc=16K", "-o", "none.data", "--", "./none")
for event in ("inuse_space", "inuse_objects"):
    p = run([RESOLVE, "--event", event, "none.data"], check=False)
    tap.check(p.returncode == 2 and "nothing is in use at the end, of 1000000 bytes that were allocated" in p.stderr, f"--event {event}: nothing is in use", p.stderr)
p = run([RESOLVE, "--event", "inuse_space", "--comm", "nobody", "all.data"], check=False)
tap.check("nothing is in use" not in p.stderr and "passes the filters" in p.stderr, "of a filter it is not said", p.stderr)
# little memory, and so no stack by chance
with open("little.c", "w") as f:
    f.write("#include <stdlib.h>\nvoid *kept[100];\nint main(void) { for (int i = 0; i < 100; i++) kept[i] = malloc(64); return 0; }\n")
run(["gcc", "-O1", "-o", "little", "little.c"])
capture("--alloc=16M", "-o", "little.data", "--", "./little")
p = run([RESOLVE, "--event", "inuse_space", "little.data"])
tap.check("bytes in use are of calls without a stack" in p.stderr and "[unknown]" in p.stdout, "what is in use without a stack is said, and what would help", p.stderr, p.stdout)
tap.end()
