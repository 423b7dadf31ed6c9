#!/usr/bin/env python3
"""Nothing is mounted because a recording names a path: below an autofs, as of /net, that would ask any server for it.

This test is the daemon of an autofs of its own: the kernel asks it through a pipe for what processes of other groups look
up. That reading a file asks is seen first."""
import ctypes
import fcntl
import os
import shutil
import struct
import subprocess
import threading

from tap import Tap

BIN = os.environ["BIN"]
CLONE_NEWNS, MS_REC, MS_PRIVATE, AUTOFS_IOC_FAIL = 0x20000, 0x4000, 1 << 18, 0x9361
TRAP = "/mnt/net"
tap = Tap()
libc = ctypes.CDLL(None, use_errno=True)
asked = []


def mount_autofs(place):
    """(where the kernel asks, a descriptor of the root for answers); None: there is none."""
    read, write = os.pipe()
    data = f"fd={write},pgrp={os.getpgrp()},minproto=5,maxproto=5,indirect".encode()
    if (libc.unshare(CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) or libc.mount(b"none", b"/mnt", b"tmpfs", 0, None)
            or os.mkdir(place) or libc.mount(b"test", place.encode(), b"autofs", 0, data)):
        return None
    os.close(write)
    return read, os.open(place, os.O_RDONLY)


def answer(read, root):
    """There is nothing, whatever is asked for."""
    while packet := os.read(read, 512):
        token, length = struct.unpack_from("=I", packet, 8)[0], struct.unpack_from("=I", packet, 40)[0]
        asked.append(packet[44:44 + length].decode().rstrip("\0"))
        fcntl.ioctl(root, AUTOFS_IOC_FAIL, token)


def run(*command):
    del asked[:]
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


if os.geteuid() != 0 or not shutil.which("gcc"):
    tap.skip("autofs", "needs root and gcc")
    tap.end()
with open("hot.c", "w") as f:
    f.write("int main(void) { for (volatile long i = 0; i < 300000000; i++) ; return 0; }\n")
name = os.path.join(os.getcwd(), "hot")
subprocess.run(["gcc", "-O1", "-g", "-o", name, "hot.c"], check=True)
p = run(f"{BIN}/capture", "-q", "--bundle=none", "--no-compress", "-e", "cpu-clock:u", "-o", "hot.data", "--", name)
trap, here = (begin + "h" * (len(name) - len(begin) - 3) + "hot" for begin in (f"{TRAP}/evil.example.com/", f"{TRAP}/here/"))  # as long as `name`
LINKS = {"/mnt/all": TRAP, "/mnt/up": "../mnt/./net/evil.example.com", "/mnt/twice": "all/evil.example.com"}
linked = {link: (link + "/" if to != TRAP else link + "/evil.example.com/") for link, to in LINKS.items()}
linked = {link: begin + "h" * (len(name) - len(begin) - 3) + "hot" for link, begin in linked.items()}
if p.returncode or len(trap) != len(name):
    tap.skip("autofs", "nothing can be recorded here" if p.returncode else f"{name} is too short a name")
    tap.end()
with open("hot.data", "rb") as f:
    data = f.read()
for path, to in (("net.data", trap), ("here.data", here), *((f"{os.path.basename(link)}.data", to) for link, to in linked.items())):
    with open(path, "wb") as f:
        f.write(data.replace(name.encode(), to.encode()))
ends = mount_autofs(TRAP)
if not ends:
    tap.skip("autofs", "none can be mounted: " + os.strerror(ctypes.get_errno()))
    tap.end()
threading.Thread(target=answer, args=ends, daemon=True).start()
run("cat", trap)
tap.check(asked == ["evil.example.com"], "reading a file below autofs asks for the mount", asked)
for options in ([], ["--stats"], ["-f", "pprof", "-o", "x.pb"]):
    p = run(f"{BIN}/resolve", "--no-cache", *options, "net.data")
    tap.check(p.returncode == 0 and not asked, f"resolve {' '.join(options)}: nothing is asked for", (p.returncode, asked, p.stderr))
for link, to in LINKS.items():
    os.symlink(to, link)
    p = run(f"{BIN}/resolve", "--no-cache", "--stats", f"{os.path.basename(link)}.data")
    tap.check(p.returncode == 0 and not asked and "would have to be mounted first" in p.stderr, f"by a link to {to}: nothing is asked for", (p.returncode, asked, p.stderr))
words = run(f"{BIN}/resolve", "--no-cache", "--stats", "net.data").stderr
tap.check("would have to be mounted first" in words, "--stats: the file would have to be mounted first", words)
# What is mounted already is read, also where openat2() is missing, as before Linux 5.6 and in some sandboxes.
os.mkdir(f"{TRAP}/here")
tap.check(libc.mount(b"none", f"{TRAP}/here".encode(), b"tmpfs", 0, None) == 0, "a file system is mounted there", os.strerror(ctypes.get_errno()))
shutil.copy2(name, here)
# LeakSanitizer cannot run below ptrace.
no_openat2 = ["env", "ASAN_OPTIONS=detect_leaks=0", "strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=openat2:error=ENOSYS"]
for kind, way in (("", []), (", without openat2()", no_openat2)):
    if way and not shutil.which("strace"):
        tap.skip("without openat2()", "strace is not installed")
        continue
    p = run(*way, f"{BIN}/resolve", "--no-cache", "here.data")
    tap.check("hot;" in p.stdout and ";main" in p.stdout and not asked, f"what is mounted is read{kind}", (p.stdout[:300], asked, p.stderr))
    p = run(*way, f"{BIN}/resolve", "--no-cache", "net.data")
    tap.check(p.returncode == 0 and ";main" not in p.stdout and not asked, f"what is not is not mounted{kind}", (p.stdout[:300], asked, p.stderr))
tap.end()
