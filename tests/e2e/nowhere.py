"""nowhere.py - a root in which there is nothing but resolve and its libraries, under names that no recording has: what a recording says there
it says by itself. Where tests/arm64.sh has built a resolve for 64-bit Arm, it is in there too, with qemu-aarch64."""
import re

from common import *

ROOT = os.path.abspath("nowhere-root")
CHROOT = shutil.which("chroot", path=os.environ["PATH"] + ":/usr/sbin:/sbin") or "chroot"
ENTER = [*([] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user"]), CHROOT, ROOT]
ARM64 = os.path.join(TOP, "build", "arm64")


def put(program, folder):
    """A program of this machine with its libraries; the command that runs it there."""
    os.makedirs(f"{ROOT}/{folder}", exist_ok=True)
    libraries = re.findall(r"/\S+\.so\S*", run(["ldd", program]).stdout)
    for f in [program, *libraries]:
        shutil.copy(os.path.realpath(f), f"{ROOT}/{folder}/{os.path.basename(f)}")
    loader = [os.path.basename(l) for l in libraries if "ld-linux" in l or "ld-" in os.path.basename(l)]
    return [*ENTER, f"/{folder}/{loader[0]}", "--library-path", f"/{folder}", f"/{folder}/{os.path.basename(program)}"] if loader else None


def may_enter():
    """The command that runs resolve there; None: roots cannot be changed here."""
    os.makedirs(f"{ROOT}/tmp", exist_ok=True)
    command = put(RESOLVE, "x")
    return command if command and run([*command, "--version"], check=False, env={}).returncode == 0 else None


def arm64():
    """The same for the one that runs on 64-bit Arm; None: it was not built, or there is no qemu."""
    binary, qemu = os.path.join(ARM64, "bin", "resolve"), shutil.which("qemu-aarch64")
    if not RESOLVE_NOWHERE or not qemu or not os.path.exists(binary):
        return None
    command = put(qemu, "q")
    os.makedirs(f"{ROOT}/a/lib", exist_ok=True)
    shutil.copy(binary, f"{ROOT}/a/resolve")
    for folder in "lib", "lib/aarch64-linux-gnu", "usr/lib/aarch64-linux-gnu":
        for f in os.listdir(f"{ARM64}/root/{folder}") if os.path.isdir(f"{ARM64}/root/{folder}") else []:
            path = f"{ARM64}/root/{folder}/{f}"
            if ".so." in f and os.path.isfile(path):
                shutil.copy(os.path.realpath(path), f"{ROOT}/a/lib/{f}")
    return [*command, "-L", "/a", "/a/lib/ld-linux-aarch64.so.1", "--library-path", "/a/lib", "/a/resolve"]


RESOLVE_NOWHERE = may_enter()
ARM64_NOWHERE = arm64()


def elsewhere(data, *options, check=True, command=RESOLVE_NOWHERE):
    shutil.copy(data, f"{ROOT}/data")
    return run([*command, "--no-cache", *options, "/data"], env={"HOME": "/nonexistent"}, check=check, timeout=600)
