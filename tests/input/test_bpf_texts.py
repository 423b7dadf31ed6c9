#!/usr/bin/env python3
"""What bpftrace and bcc print: blocks of frames with and without a weight, maps of all kinds beside messages and numbers. The texts are
bpftrace's (testdata/inputs), or made as bcc's tools print them (their print() calls), so what they say is known."""
import collections
import os
import re

from tap import Tap
from texts import folded, resolve

TOP = os.environ["TOP"]
DATA = os.path.join(TOP, "testdata/inputs")
tap = Tap()


def read(name):
    with open(f"{DATA}/{name}") as f:
        return f.read()


# ---- bcc: name, text, what it says, options ------------------------------------------------------------------------
PROFILE = "Sampling at 49 Hertz of all threads by user + kernel stack... Hit Ctrl-C to end.\n\n"
BCC = (
    ("profile", PROFILE + "    work_loop\n    main\n    -                spin (58990)\n        17\n\n    f\n    -                a b (7)\n        2\n\n",
     {"spin-58990;main;work_loop": 17, "a_b-7;f": 2}, ["--with-pid"]),
    ("profile: a command that ends in a number, and one like a frame", PROFILE + "    f\n    -                pool 7 (12)\n        3\n\n    f\n    -                (sd-pam) (9)\n        1\n\n",
     {"pool_7-12;f": 3, "(sd-pam)-9;f": 1}, ["--with-pid"]),
    ("profile: the kernel's part", PROFILE + "    vfs_read\n    do_syscall_64\n    entry_SYSCALL_64\n    read\n    main\n    -                x (1)\n        5\n\n",
     {"x;main;read;entry_SYSCALL_64_[k];do_syscall_64_[k];vfs_read_[k]": 5}, ["--kernel"]),
    ("profile -d: the delimiter", PROFILE + "    vfs_read\n    ksys\n    --\n    read\n    main\n    -                x (1)\n        5\n\n",
     {"x;main;read;ksys_[k];vfs_read_[k]": 5}, ["--kernel"]),
    ("profile: no stack", PROFILE + "    -                swapper/1 (0)\n        5\n\n    [Missed User Stack]\n    -                x (1)\n        5\n\n",
     {"swapper/1": 5, "x;[Missed User Stack]": 5}, []),
    ("offcputime", "Tracing off-CPU time (us) of all threads by user + kernel stack... Hit Ctrl-C to end.\n\n    schedule\n    main\n    -                x (1)\n        1700\n\n", {"x;main;schedule": 1700}, []),
    ("stackcount", "\n  vfs_read\n  ksys_read\n    12\n\n  vfs_read\n  sys_read\n    3\n\n", {"ksys_read;vfs_read": 12, "sys_read;vfs_read": 3}, []),
    ("stackcount -P, bytes of python 3", "Tracing 1 functions for \"vfs_read\"... Hit Ctrl-C to end.\n^C\n  b'vfs_read'\n  b'ksys_read'\n    b'bash' [123]\n    12\n\nDetaching...\n", {"bash-123;ksys_read;vfs_read": 12}, ["--with-pid"]),
    ("dtrace: a stack of the kernel", "CPU     ID                    FUNCTION:NAME\n  0  64091                        :tick-60s \n\n\n"
     "              genunix`vn_free+0x9a\n              unix`sys_syscall+0x17d\n               12\n\n              unix`idle+0x1\n                2\n",
     {"unix`sys_syscall;genunix`vn_free": 12, "unix`idle": 2}, []),
    ("dtrace: stacks of the kernel and of the process", "CPU     ID                    FUNCTION:NAME\n 30  76446                       :tick-10ms \n\n\n\n"
     "              libc.so.1`_thrp_setup+0x77\n              libc.so.1`_lwp_start\n                1\n\n"
     "              zfs`zfs_write+0x475\n              unix`sys_syscall+0x17d\n\n              libc.so.1`__pwrite+0xa\n              libc.so.1`_lwp_start\n                3\n\n"
     "              unix`thread_start+0xb\n\n                7\n",
     {"libc.so.1`_lwp_start;libc.so.1`_thrp_setup": 1, "libc.so.1`_lwp_start;libc.so.1`__pwrite;unix`sys_syscall_[k];zfs`zfs_write_[k]": 3, "unix`thread_start_[k]": 7}, ["--kernel"]),
    ("stackcount with offsets and modules", "\n  malloc+0x0 [libc.so.6]\n  main+0x1d [x]\n    12\n\n", {"main;malloc": 12}, []),
    ("mallocstacks", "Attaching to malloc in pid 12, Ctrl+C to quit.\n380928 bytes allocated at:\n\tmalloc+0x17\n\tmain+0x2\n\n16 bytes allocated at:\n\tf+0x17\n\n", {"main;malloc": 380928, "f": 16}, []),
    ("memleak", "[11:16:33] Top 2 stacks with outstanding allocations:\n\taddr = 948cd0 size = 16\n\t1000 bytes in 10 allocations from stack\n\t\t0x0000563b2f3b5169\tmain+0x3a [a]\n"
     "\t\t0x00007f1d2a8d2d0a\t__libc_start_main+0xea [libc-2.24.so]\n\t24 bytes in 1 allocations from stack\n\t\tmain+0x6d [a]\n", {"__libc_start_main;main": 1000, "main": 24}, []),
    ("memleak: the number of allocations", "[11:16:33] Top 1 stacks with outstanding allocations:\n\t1000 bytes in 10 allocations from stack\n\t\tmain+0x3a [a]\n", {"main": 10}, ["--count", "samples"]),
    ("offwaketime: the waker's stack on the sleeper's", "Tracing blocked time (us) by user + kernel off-CPU and waker stack... Hit Ctrl-C to end.\n\n    waker:           bash 77\n    main\n    -\n    do_futex\n"
     "    --               --\n    schedule\n    -\n    nanosleep\n    start\n    target:          a b 12\n        99\n\n", {"a_b-12;start;nanosleep;schedule;--;do_futex;main;bash": 99}, ["--with-pid"]),
)
for what, text, want, options in BCC:
    code, out, err = resolve(text, *options)
    tap.check(code == 0 and not err and folded(out) == want, f"bcc's {what}", code, out, err)
code, out, err = resolve(BCC[0][1].replace("        17\n", ""))
tap.check(code == 1 and folded(out) == {"a_b;f": 2} and "1 lines" in err, "bcc: a block without its number is counted", out, err)
code, out, err = resolve(BCC[0][1][:-len("        2\n\n")])
tap.check(code == 1 and folded(out) == {"spin;main;work_loop": 17} and "ends early" in err, "bcc: the last number is missing: the text ends early", out, err)

# ---- bpftrace -----------------------------------------------------------------------------------------------------------
text = read("bpftrace-printf.txt")
blocks = [b.split() for b in re.split(r"\n\s*\n", text.split("probes...")[1]) if b.strip()]
want = collections.Counter(";".join("[unknown]" if f.startswith("0x") else f.split("+")[0] for f in b[::-1]) for b in blocks)
code, out, err = resolve(text)
tap.check(code == 0 and len(blocks) > 3 and folded(out) == want, 'bpftrace: printf("%s\\n", ustack): one sample each', out, err, want)
code, out, err = resolve("Attaching 1 probe...\nsh 12 \n        f+1\n        main+20\n\nsh 12 \n        f+9\n        main+20\n\npool 7, \n        g+1\n\n", "--with-pid")
tap.check(code == 0 and folded(out) == {"sh-12;main;f": 2, "pool-7;g": 1}, "bpftrace: a command and a process before the stack", out, err)
code, out, err = resolve("        f+1\n        main+20\n\n\n        f+1\n        main+20\n\n\n")
tap.check(code == 0 and folded(out) == {"main;f": 2}, "bpftrace -q: the stacks alone", out, err)

text = read("bpftrace-maps.txt")
code, out, err = resolve(text, "--event", "all")
sums = collections.Counter()
for name, rest in re.findall(r"(?ms)^@(\w*)\[[^]]*\]: ?(.*?)(?=^@|\Z)", text):
    stats = re.match(r"count \d+, average \d+, total (\d+)", rest)
    sums[name] += int(stats[1]) if stats else sum(int(n) for n in re.findall(r"(?m)^[\[(][^|]*?[\])] +(\d+) \|", rest)) or int(rest.split()[0])
have = collections.Counter()
for stack, n in folded(out).items():
    have[stack.split(";")[0]] += n
tap.check(code == 0 and set(sums) == {"a", "h", "l", "s"} and have == sums and "histograms" in err and "numbers without stacks" in err,
          "bpftrace: hist, lhist, stats, avg and a number, beside what printf() prints: all kept or counted", have, sums, err)
code, out, err = resolve(read("bpftrace-json.txt"), "--event", "all")
have = collections.Counter()
for stack, n in folded(out).items():
    have[stack.split(";")[0]] += n
want = {"samples": 9, "h": 9, "s": sum(int(n) for n in re.findall(r'"total": (\d+)', read("bpftrace-json.txt")))}
tap.check(code == 0 and have == want and any("asm_sysvec_apic_timer_interrupt;sysvec_apic" in s for s in folded(out)), "bpftrace -f json: maps, histograms and stats", have, want, err)
text = read("bpftrace-json.txt")
alone, same = text[text.index("{"):], resolve(text, "--event", "all")[1]
for what, lines in {"nothing before it": alone, "the maps alone, as with -q": alone[alone.index('{"type": "map"'):]}.items():
    code, out, err = resolve(lines, "--event", "all")
    tap.check(text != alone and code == 0 and folded(out) == folded(same), f"bpftrace -f json: {what}", out, err)
ENTRY = "@[\n    main+20\n, bash]: 12\n"
for what, before in {"a banner": "Attaching 2 probes...\nSampling CPU at 99 Hz... Hit Ctrl-C to end.\n\n", "a number": "Attaching 2 probes...\n@start: 12\n", "time()": "12:01:05\n",
                     "a warning": "stdin:1:1-5: WARNING: unsigned subtraction\nAttaching 1 probe...\n\n", "bpftrace 0.21": "Attached 1 probe\n", "a table": "PID COMM\n12  bash\n\n\n"}.items():
    code, out, err = resolve(before + ENTRY)
    tap.check(code == 0 and folded(out) == {"bash;main": 12}, f"bpftrace: {what} before the map", out, err)
code, out, err = resolve("@us[\n    read+20\n, sh]: count 4, average 25, total 100\n@h[\n    read+20\n, sh]: \n[1]                    2 |@@|\n[2, 4)                 5 |@@@@|\n(..., 0)               1 |@|\n@z[\n    foo\n, zsh]: 3\n",
                         "--event", "all")
tap.check(code == 0 and folded(out) == {"us;sh;read": 100, "h;sh;read": 8, "z;zsh;foo": 3} and "1 entries are histograms" in err, "bpftrace: no empty line between maps", out, err)
code, out, err = resolve("@us[\n    read+20\n, sh]: count 4, average 25, total 100\n", "--count", "samples")
tap.check(code == 0 and folded(out) == {"sh;read": 4}, "bpftrace: stats() has a number and a total", out, err)
tap.end()
