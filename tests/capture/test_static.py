#!/usr/bin/env python3
"""capture brings neither unwinder nor libdw, and linked statically it records in a root with nothing but /proc."""
import os
import shutil
import subprocess

from lib import CAPTURE, RESOLVE, Tap, run

TOP, BUILD = os.environ["TOP"], os.environ["BUILD"]
tap = Tap()
CC = os.path.basename(BUILD).split("-")[0]
if os.path.basename(BUILD) != CC:
    tap.skip("capture's libraries", "only of the plain build")
    tap.end()
needed = set(run(["readelf", "-d", CAPTURE]).stdout.split("Shared library: [")[1:])
needed = {n.split(".so")[0] for n in needed}
tap.check(needed <= {"libc", "libz", "libzstd", "liblzma", "libm"}, "capture links libraries of compression, no others", needed)

env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
if os.path.exists(f"{BUILD}/static/capture"):
    os.remove(f"{BUILD}/static/capture")
p = subprocess.run(["make", "-s", "-C", TOP, f"CC={CC}", "static-capture"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env)
tap.check("at runtime the shared libraries" not in p.stderr, "nothing in it needs the libc of this machine", p.stderr)
shutil.copy(f"{BUILD}/static/capture", "capture")
tap.check("NEEDED" not in run(["readelf", "-d", "capture"]).stdout, "one file without libraries")
size = os.path.getsize("capture")
tap.check(size <= 3 << 20, "of at most 3 MB, to be copied to other machines", size)

os.makedirs("root/proc")
shutil.move("capture", "root/capture")
with open("burn.c", "w") as f:
    f.write("#include <time.h>\nint main(void) { while (clock() < CLOCKS_PER_SEC / 5) ; return 7; }\n")
run([CC, "-static", "-O1", "burn.c", "-o", "root/burn"])
script = "mount -t proc proc root/proc && exec chroot root /capture -F 999 -- /burn"
p = run(["unshare", "--mount", "--propagation", "private", "sh", "-c", script], check=False)
if os.geteuid() or "mount" in p.stderr:
    tap.skip("a recording in an empty root", f"a chroot with /proc needs root: {p.stderr.strip()[-200:]}")
else:
    tap.check(p.returncode == 7 and "samples" in p.stderr, "a recording in an empty root, without /sys", p.returncode, p.stderr)
    out = run([RESOLVE, "--symfs", "root", "root/perf.data"]).stdout
    tap.check(out.startswith("burn;") and ";main" in out, "is resolved outside of it", out[:300])
tap.end()
