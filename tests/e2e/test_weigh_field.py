#!/usr/bin/env python3
"""resolve --weigh FIELD: the weights are the numbers in a field of tracepoints, drawn by hand and as perf script prints them of a recording."""
import collections
import re
import subprocess

from common import RESOLVE, Tap, folded, have, run
from recorder import perf_version

# tracefs is mounted for one command only: perf would leave it mounted.
IN_TRACEFS = ["unshare", "-m", "sh", "-c", 'mount -t tracefs none /sys/kernel/tracing 2>/dev/null; exec "$@"', "sh"]
tap = Tap()
with open("fields.txt", "w") as f:
    for i, (function, fields) in enumerate((("a", "call_site=a ptr=0x10 bytes_req=60 bytes_alloc=64 gfp_flags=GFP_KERNEL"), ("b", "ptr=0x11 bytes_req=4000, bytes_alloc=4096"),
                                            ("a", "bytes_alloc: 0x20"), ("a", "bytes_alloc=-5"))):
        f.write(f"prog 1/1 [000] {i + 1}.000000: 1 kmem:kmalloc: {fields}\n\t401000 {function}+0x0 (/bin/p)\n\n")
    f.write("prog 1/1 [000] 9.000000: 7 cycles: \n\t402000 c+0x0 (/bin/p)\n\n")
p = run([RESOLVE, "-f", "folded", "--event", "kmem:kmalloc", "--weigh", "bytes_alloc", "fields.txt"], check=False)
tap.check(folded(p.stdout) == {("prog", "a"): 96, ("prog", "b"): 4096} and "1 of 4 samples have no number from 0 in their field bytes_alloc" in p.stderr,
          "--weigh FIELD: its numbers are the weights", p)
p = run([RESOLVE, "-q", "-f", "folded", "--event", "cycles", "--weigh", "bytes_alloc", "fields.txt"])
tap.check(folded(p.stdout) == {("prog", "c"): 7}, "--weigh FIELD: other events keep theirs", p.stdout)
p = run([RESOLVE, "-q", "-f", "top", "--weigh", "bytes_req", "fields.txt"], check=False)
tap.check("approx.): 4060\n" in p.stdout, "--weigh FIELD in top", p.stdout)
p = run([RESOLVE, "-q", "--weigh", "bytes", "fields.txt"], check=False)
tap.check(p.returncode == 2 and "no number in a field bytes; fields of kmem:kmalloc: call_site=a" in p.stderr and p.stderr.count("\n") == 1, "a field that is none: which there are", p)

command = ["perf", "record", "-q", "-N", "-B", "-a", "-e", "kmem:kmalloc,sched:sched_stat_runtime", "-o", "k.data", "--", "sh", "-c", "ls / > /dev/null; ls /"]
done = subprocess.run([*IN_TRACEFS, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) if have("perf") else None
script = run(["perf", "script", "-f", "-i", "k.data", "-F", "comm,event,trace"], check=False) if done and done.returncode == 0 else None
if not script:
    tap.skip("--weigh FIELD of a recording", done.stderr.strip().split("\n")[0] if done else "perf is not installed")
elif script.returncode and perf_version() > (6, 1) and "incompatible file format" in script.stderr:
    tap.skip("--weigh FIELD of a recording", "this perf does not read its own recording here")
elif script.returncode:
    tap.check(False, "--weigh FIELD: perf script reads its recording", script)
else:
    text = script.stdout
    for event, field in (("kmem:kmalloc", "bytes_alloc"), ("sched:sched_stat_runtime", "runtime")):
        want = collections.Counter()
        for comm, number in re.findall(rf"^ *(\S.*?) +{event}: .*\b{field}=(\d+)", text, re.M):
            want[comm.replace(" ", "_")] += int(number)
        have_sums = collections.Counter()
        for stack, weight in folded(run([RESOLVE, "-q", "-f", "folded", "--event", event, "--weigh", field, "k.data"], check=False).stdout).items():
            have_sums[stack[0]] += weight
        if not want:
            tap.skip(f"--weigh {field}", f"no {event} here")
            continue
        drop = lambda sums: collections.Counter({c: n for c, n in sums.items() if not c.startswith(":") and n})  # noqa: E731
        tap.check(sum(have_sums.values()) == sum(want.values()) and (drop(have_sums) == drop(want) or len(drop(want)) < len(want)),
                  f"--weigh {field}: the sums of perf script, by command", have_sums - want, want - have_sums)
    shown = run([RESOLVE, "-q", "-f", "pprof", "-o", "k.pb", "--event", "kmem:kmalloc", "--weigh", "bytes_alloc", "k.data"], check=False)
    tap.check(b"bytes" in open("k.pb", "rb").read() and shown.returncode in (0, 1), "--weigh bytes_alloc: bytes in pprof", shown)
tap.end()
