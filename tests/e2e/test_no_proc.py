#!/usr/bin/env python3
"""A system without /proc, as in a chroot or an initramfs: resolve opens the same files and says the same as with it. What needs /proc is
said to need it."""
from common import *

tap = Tap()
# An empty file system in the place of /proc.
HIDE = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--mount", "--propagation", "private",
        "sh", "-c", 'mount -t tmpfs none /proc && test ! -e /proc/self && exec "$@"', "sh"]


def same(name, data, *options):
    outputs = []
    for how in ([], HIDE):
        p = run([*how, RESOLVE, "--no-cache", *options, data], check=False)
        outputs.append((p.returncode, p.stdout))
    tap.check(outputs[0] == outputs[1] and outputs[0][0] == 0 and "main" in outputs[0][1], name, outputs[1][1][:500], p.stderr)


def files():
    """Debug files by build id, beside the file behind a link, and below another root."""
    program = build("g++", "threads.cc", "threads", "-O2", "-g", "-pthread")
    run([CAPTURE, "-q", "-e", "cpu-clock:u", "-F", "499", "-o", "x.data", "--", program, "1", "5000"])
    same("a program with its debug information", "x.data")
    run(["objcopy", "--only-keep-debug", program, "threads.debug"])
    run(["strip", "--add-gnu-debuglink=threads.debug", program], check=False)
    run(["objcopy", "--strip-all", "--add-gnu-debuglink=threads.debug", program, "stripped"])
    os.makedirs("root/real/bin", exist_ok=True)
    place = "root" + os.path.dirname(program)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    os.symlink(os.path.abspath("root/real/bin"), place)
    shutil.copy("stripped", "root/real/bin/threads")
    shutil.copy("threads.debug", "root/real/bin/threads.debug")
    os.rename("threads.debug", "elsewhere.debug")
    same("its debug file beside it, below another root", "x.data", "--symfs", "root")
    same("script text", "x.data", "-f", "script")


def safety():
    """Without /proc, too, nothing but regular files is opened: a FIFO would wait for a writer."""
    os.unlink("threads")
    os.mkfifo("threads")
    p = run([*HIDE, RESOLVE, "--no-cache", "--stats", "x.data"], check=False, timeout=60)
    tap.check(p.returncode == 0 and "not a regular file" in p.stderr, "a FIFO in the place of a file", p.stderr)


def words():
    p = run([*HIDE, CAPTURE, "--check"], check=False)
    tap.check("no  /proc is not mounted" in p.stdout + p.stderr, "capture --check says that /proc is missing", p.stdout, p.stderr)
    p = run([*HIDE, CAPTURE, "-F", "499", "-o", "y.data", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=1k", "count=100000"], check=False)
    tap.check(p.returncode == 0 and "kptr_restrict" not in p.stderr and ("/proc is not mounted" in p.stderr or "not allowed" in p.stderr or ":u" in p.stderr),
              "capture says why kernel frames will have no names", p.stderr)


if run([*HIDE, "true"], check=False).returncode:
    tap.skip("a system without /proc", "no mount namespaces here")
elif "asan" in run(["ldd", RESOLVE]).stdout:
    tap.skip("a system without /proc", "a sanitizer needs /proc")
else:
    need_events()
    files()
    safety()
    words()
tap.end()
