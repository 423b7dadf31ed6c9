#!/usr/bin/env python3
"""Why names are missing: each way in which a file can fail to give them is made here, on purpose, and --stats must say which one it
was, what was tried and what helps; --stats=json and --explain the same."""
import json
import os
import re
import shutil
import subprocess

from common import CAPTURE, RESOLVE, Tap, have, resolve, run
from perfsynth import Recording

tap = Tap()
os.environ["HOME"] = os.environ["XDG_CACHE_HOME"] = os.getcwd()
os.environ.pop("DEBUGINFOD_URLS", None)
open("w.c", "w").write('''
#include <time.h>
volatile unsigned long sink;
__attribute__((noinline)) static void work(void) { for (int i = 0; i < 100000; i++) sink += i; }
int main(void) { clock_t e = clock() + CLOCKS_PER_SEC / 8; while (clock() < e) work(); return 0; }
''')
run(["gcc", "-g", "-O1", "-Wl,--build-id=sha1", "-o", "full", "w.c"])


def record(name):
    run([CAPTURE, "-q", "-F", "499", "-o", f"{name}.data", "--", os.path.abspath(name)])


def module(name, *options, data=None, prefix=()):
    """(JSON of the module, lines of --stats about it) of a recording."""
    data = data or f"{name}.data"
    text = run([*prefix, RESOLVE, "--stats", "-f", "folded", *options, data], check=False).stderr
    p = run([*prefix, RESOLVE, "--stats=json", "-f", "folded", *options, data], check=False)
    stats = next((l for l in p.stderr.splitlines() if l.startswith("{")), None)
    m = next(m for m in json.loads(stats)["modules"] if m["path"].endswith(f"/{name}") or m["path"] == name)
    lines, on = [], False
    for line in text.splitlines():
        on = f"/{name} " in line or (on and line.startswith("             "))
        if on:
            lines.append(line)
    return m, "\n".join(lines)


def case(name, what, tier, reason, tried, help_, *options, **kw):
    m, text = module(name, *options, **kw)
    said = m["missing_reason"] + "; " + m["lacks"]
    tap.check(m["tier"] == tier and reason in said and reason in text and f" {tier} " in text, f"{what}: tier {tier}, \"{reason}\"", (m, text))
    tap.check(any(tried in t for t in m["tried"]), f"{what}: what was tried", m["tried"])
    tap.check(help_ in m["help"] and help_ in text, f"{what}: what helps: \"{help_}\"", (m["help"], text))


for name in ("stripped", "replaced", "gone", "linked", "nodebug", "packed", "bomb", "half", "whole"):
    shutil.copy("full", name)
run(["strip", "stripped"])
run(["objcopy", "--strip-debug", "nodebug"])
run(["objcopy", "--only-keep-debug", "full", "linked.debug"])
run(["objcopy", "--strip-all", "--remove-section=.note.gnu.build-id", "--add-gnu-debuglink=linked.debug", "linked"])
for name in ("packed", "bomb", "half"):
    run(["objcopy", "--compress-debug-sections=zlib-gabi", name])
shutil.copy("full", "hidden")
shutil.copy("full", "caf\u00e9")
record("caf\u00e9")
m, text = module("caf\u00e9", "-q")
tap.check(m["path"] == os.path.abspath("caf\u00e9") and m["path"] in text, "a name that is not ASCII: JSON has it as it is", (m["path"], text))
for name in ("stripped", "replaced", "gone", "linked", "nodebug", "packed", "bomb", "half", "whole", "hidden"):
    record(name)

# The compression's number (ELF gABI, Elf64_Chdr.ch_type) becomes an unassigned one, the size more than 16 MiB (ch_size).
for name, section, where, byte in (("packed", "info", 0, 9), ("bomb", "info", 11, 2), ("half", "line", 11, 2)):
    data = bytearray(open(name, "rb").read())
    at = int(re.search(rf"\.debug_{section}\s+PROGBITS\s+\w+\s+(\w+)", run(["readelf", "-SW", name]).stdout).group(1), 16)
    data[at + where] = byte
    os.remove(name)
    open(name, "wb").write(data)
run(["gcc", "-g", "-O2", "-Wl,--build-id=sha1", "-o", "replaced", "w.c"])
os.remove("gone")
open("linked.debug", "ab").write(b"x")

case("stripped", "stripped", "none", "file has no symbols", ".build-id/", "build it with -g")
case("replaced", "replaced by another build", "none", "file has another build id", "build id differs, wanted", "--symfs DIR")
case("gone", "deleted since", "none", "file not found", "/gone: no such file", "it was deleted, or is from a container")
case("linked", "debug file of another build", "none", "debuglink checksum differs", "linked.debug: debuglink checksum differs",
     "install the one of this build")
if not have("xz"):
    tap.skip("MiniDebugInfo", "xz is not installed")
else:
    run(["objcopy", "--strip-debug", "full", "mini"])
    run(["xz", "-f", "mini"])
    shutil.copy("full", "withmini")
    run(["strip", "withmini"])
    run(["objcopy", "--add-section", ".gnu_debugdata=mini.xz", "withmini"])
    record("withmini")
    case("withmini", "MiniDebugInfo has all functions", "sym", "no debug information: no lines", "/withmini: found", "build it with -g")
case("nodebug", "built without -g", "sym", "no debug information: no lines", "/nodebug: found", "build it with -g")
# .debug_line is compressed as before: lines are still found.
case("packed", "compressed in an unknown way", "line", "debug information cannot be unpacked", "/packed: found", "objcopy --decompress-debug-sections")
case("bomb", "would grow too much", "line", "more than 32 times as large as the file", "/bomb: found", "objcopy --decompress-debug-sections")
case("half", "a section of it would grow too much", "inline", "more than 32 times as large as the file", "/half: found",
     "objcopy --decompress-debug-sections")
tap.check(module("bomb")[0]["lacks_detail"] == ".debug_info" and module("half")[0]["lacks_detail"] == ".debug_line",
          "sections that would grow too much are named", (module("bomb")[0], module("half")[0]))
m, text = module("bomb", "--no-inline")
tap.check(m["tier"] == "sym" and not m["lacks"] and not m["help"], "--no-inline: nothing is said of what was not read", (m, text))
m, text = module("whole")
tap.check(m["tier"] == "inline" and not m["help"] and not m["lacks"] and "tried" not in text, "a program with all its debug information: no advice", (m, text))

if os.getuid() or not have("setpriv"):
    tap.skip("a file that may not be read", "needs root and setpriv")
else:
    os.chmod("hidden", 0)
    os.chmod(".", 0o755)
    os.chmod("hidden.data", 0o644)
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if subprocess.run([*nobody, "test", "-x", RESOLVE, "-a", "-r", os.path.abspath("hidden.data")]).returncode:
        tap.skip("a file that may not be read", "an unprivileged user cannot reach this folder")
    else:
        case("hidden", "a file that may not be read", "none", "file cannot be read", "/hidden: permission denied", "make the file readable", prefix=nobody)

# ---- debug information that is there, and cannot be used --------------------------------------------------------------
def keep_debug(name, change=None, program="full"):
    """NAME is stripped, its debug file, damaged by change(bytes), is in dbg/ by its build id."""
    shutil.copy(program, name)
    i = re.search(r"Build ID: (\w+)", run(["readelf", "-n", name]).stdout).group(1)
    path = f"dbg-{name}/.build-id/{i[:2]}/{i[2:]}.debug"
    os.makedirs(os.path.dirname(path))
    run(["objcopy", "--only-keep-debug", name, path])
    run(["strip", name])
    if change:
        data = change(path, bytearray(open(path, "rb").read()))
        open(path, "wb").write(data)
    record(name)
    return path


def blank(*names):
    """Contents of sections become 0xff, which is no unit, no abbreviation and no line table."""
    def change(path, data):
        for n in names:
            m = re.search(rf"\s{re.escape(n)}\s+PROGBITS\s+\w+\s+(\w+)\s+(\w+)", run(["readelf", "-SW", path]).stdout)
            at, size = int(m.group(1), 16), int(m.group(2), 16)
            data[at:at + size] = b"\xff" * size
        return data
    return change


def leaves(name):
    """Of each sample the address and what is there, in the file and the source."""
    lines = run([RESOLVE, "-q", "-f", "script", "-F", "ip,sym,symoff,srcline", "--debug-dir", f"dbg-{name}", f"{name}.data"]).stdout.splitlines()
    return [(lines[i + 1], lines[i + 2]) for i, l in enumerate(lines[:-2]) if not l.startswith("\t") and "work+" in lines[i + 1]]


# The debug file alone: where the code was in the program is known from the recorded map.
for name, flags in (("alone", "-pie"), ("alone2", "-no-pie"), ("alone3", "-Wl,-z,noseparate-code"), ("alone4", "-static"), ("alone5", "-fuse-ld=lld")):
    if name == "alone5" and not have("ld.lld"):
        tap.skip(f"a debug file without its program, {flags}", "lld is not installed")
        continue
    run(["gcc", "-g", "-O1", "-Wl,--build-id=sha1", flags, "-o", "of", "w.c"])
    keep_debug(name, program="of")
    before = leaves(name)
    os.remove(name)
    tap.check(len(before) > 3 and leaves(name) == before, f"a debug file without its program, {flags}: the same names and lines", (before[:4], leaves(name)[:4]))

keep_debug("cut", lambda path, data: data[:-100])
case("cut", "a debug file that was cut", "none", "damaged ELF file", ".debug: damaged ELF file, cut short", "install or copy it again", "--debug-dir", "dbg-cut")
keep_debug("empty", lambda path, data: b"")
case("empty", "an empty debug file", "none", "not an ELF file", ".debug: not an ELF file, empty", "install or copy it again", "--debug-dir", "dbg-empty")
path = keep_debug("twin")
run(["objcopy", "--only-keep-debug", "replaced", path])
case("twin", "another build's debug file", "none", "build id differs", ".debug: build id differs, wanted", "install the one of this build", "--debug-dir", "dbg-twin")
keep_debug("nounits", blank(".debug_info"))
keep_debug("nolines", blank(".debug_line"))
# The second time the cache must not hide it.
for what in ("", ", the second time"):
    # Lines do not need the units.
    case("nounits", f"damaged .debug_info{what}", "line", "debug information is damaged", ".debug: found", "install or copy the file again", "--debug-dir", "dbg-nounits")
    case("nolines", f"damaged .debug_line{what}", "inline", "debug information is damaged", ".debug: found", "install or copy the file again", "--debug-dir", "dbg-nolines")

run(["gcc", "-g", "-gsplit-dwarf", "-O1", "-Wl,--build-id=sha1", "-c", "w.c", "-o", "w.o"])
run(["gcc", "-Wl,--build-id=sha1", "-o", "split", "w.o"])
record("split")
m, text = module("split")
tap.check(m["tier"] == "inline" and not m["lacks"], "split debug information that is there", (m, text))
os.rename("w.dwo", "w.away")
case("split", "a .dwo file that is gone", "line", "split debug information (.dwo) not found", "/split: found", "beside the program")
m, text = module("split")
tap.check("not found: " in text and m["lacks_detail"].endswith("w.dwo"), "a .dwo file that is gone: its name", (m, text))
run(["gcc", "-g", "-gsplit-dwarf", "-Dwork=other", "-Dsink=another", "-O1", "-c", "w.c", "-o", "w2.o"])
os.rename("w2.dwo", "w.dwo")
case("split", "a .dwo file of another build", "line", "split debug information (.dwo) is of another build", "/split: found", "build it again")
os.rename("w.away", "w.dwo")
m, text = module("split")
tap.check(m["tier"] == "inline" and not m["lacks"], "a .dwo file that is back is used", (m, text))

if not have("dwz"):
    tap.skip("the common file of dwz", "dwz is not installed")
else:
    # It shares what takes room twice: a type of many members.
    members = " ".join(f"int member_with_a_long_name_{i};" for i in range(60))
    for n in ("dwz1", "dwz2"):
        open(f"{n}.c", "w").write("struct shared { %s };\nstruct shared object;\n" % members + open("w.c").read())
        run(["gcc", "-g", "-O1", "-Wl,--build-id=sha1", "-o", n, f"{n}.c"])
    run(["dwz", "-m", "common.dwz", "dwz1", "dwz2"])
    record("dwz1")
    m, text = module("dwz1")
    tap.check(m["tier"] == "inline" and not m["lacks"], "the common file of dwz is there", (m, text))
    os.rename("common.dwz", "common.away")
    case("dwz1", "without the common file of dwz", "inline", "dwz moved common parts", "common.dwz: no such file", "whole debug package")
    shutil.copy("replaced", "common.dwz")
    case("dwz1", "with another common file of dwz", "inline", "dwz moved common parts", "common.dwz: build id differs", "of the same build")
    # Names that two programs share are in the common file, of inlined functions too.
    open("inlined.c", "w").write('''
#include <time.h>
volatile unsigned long sink;
struct shared { int a, b, c; char name[32]; struct shared *next; };
static inline __attribute__((always_inline)) void inner(struct shared *s) { for (int i = 0; i < 10000; i++) sink = sink * 3 + s->a; }
static inline __attribute__((always_inline)) void outer(struct shared *s) { inner(s); inner(s->next); }
__attribute__((noinline)) void work(struct shared *s) { outer(s); }
int main(void) { clock_t e = clock() + CLOCKS_PER_SEC / 8; struct shared s = {1, 2, 3, "", &s}; while (clock() < e) work(&s); return 0; }
''')
    run(["gcc", "-g", "-O2", "-Wl,--build-id=sha1", "-o", "inlined", "inlined.c"])
    shutil.copy("inlined", "inlined2")
    run(["dwz", "-m", "shared.dwz", "inlined", "inlined2"])
    record("inlined")
    out = run([RESOLVE, "--no-cache", "inlined.data"]).stdout
    tap.check("work;outer;inner " in out, "with the common file of dwz: inlined functions", out)
    os.remove("shared.dwz")
    p = run([RESOLVE, "--no-cache", "inlined.data"])
    tap.check("[unknown]" not in p.stdout and ";work " in p.stdout, "without the common file of dwz: no levels without a name", p.stdout)
    tap.check(p.stderr.count("shared.dwz; install") == 1, "without the common file of dwz: one line", p.stderr)

# What stands in the program's place now.
for n, put, tried in (("text", b"hello\n", "/text: not an ELF file"), ("nothing", b"", "/nothing: not an ELF file, empty")):
    shutil.copy("full", n)
    record(n)
    os.remove(n)
    open(n, "wb").write(put)
    case(n, f"{n} in the place of the program", "none", "file cannot be read", tried, "replaced after the recording")
shutil.copy("full", "debug")
record("debug")
os.remove("debug")
run(["objcopy", "--only-keep-debug", "full", "debug"])
case("debug", "a debug file in the place of the program", "none", "file cannot be read", "/debug: a debug file, without code", "replaced after the recording")
shutil.copy("full", "foreign")
record("foreign")
if os.getuid():
    tap.skip("another user's file in the cache of debuginfod", "only root can make one")
else:
    cached = f"debuginfod_client/{re.search(r'Build ID: (.*)', run(['readelf', '-n', 'foreign']).stdout).group(1)}"
    os.makedirs(cached)
    os.rename("foreign", f"{cached}/executable")
    os.chown(f"{cached}/executable", 65534, 65534)
    case("foreign", "another user's file in the cache of debuginfod", "none", "file cannot be read", "/executable: belongs to another user", "if you trust it")
    shutil.rmtree("debuginfod_client")
shutil.copy("stripped", "headless")
os.chmod("headless", 0o755)
record("headless")
data = bytearray(open("headless", "rb").read())
data[40:48] = b"\xff" * 8  # Elf64_Ehdr.e_shoff
os.remove("headless")
open("headless", "wb").write(data)
case("headless", "a program without its section table", "none", "damaged ELF file", "", "install or copy it again")


# A kernel that its list of symbols names lacks nothing that a server would be asked for.
run([CAPTURE, "-q", "-F", "999", "-o", "kernel.data", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=64", "count=200000"])
p = run([RESOLVE, "--stats=json", "-f", "folded", "kernel.data"], check=False)
modules = json.loads(next(l for l in p.stderr.splitlines() if l.startswith("{")))["modules"]
kernel = [m for m in modules if m["path"] == "[kernel.kallsyms]"]
if not kernel or kernel[0]["missing_reason"]:
    tap.skip("a kernel with names", kernel[0]["missing_reason"] if kernel else "no samples in the kernel")
else:
    tap.check(kernel[0]["tier"] == "sym" and not kernel[0]["debuginfod"] and not kernel[0]["help"],
              "a kernel with names: nothing is said about debuginfod", kernel)
    m, text = module("gone")
    tap.check(m["debuginfod"] == "network off" and "debuginfod: network off" in text, "a file that is gone: it is", (m, text))

# --explain: all of it about one address, with every symbol that covers it.
def explain(name):
    # Where a sample was taken: in work(), which callers of the kernel or of libc need not be.
    leaf = re.search(rf"^\S.*\n\s+([0-9a-f]+) .*/{name}\)$", run([RESOLVE, "-f", "script", f"{name}.data"]).stdout, re.M)
    return run([RESOLVE, "--explain", leaf[1], f"{name}.data"]).stdout


out = explain("nodebug")
tap.check(re.search(r"candidates\s+0x[0-9a-f]+-0x[0-9a-f]+ work, local", out) and re.search(r"symbol\s+work\+0x", out),
          "--explain: candidates, and which was taken", out)
out = explain("replaced")
tap.check("build id differs, wanted" in out and "names from nothing" in out and "none: file has another build id" in out, "--explain: what was tried", out)
out = explain("bomb")
tap.check(re.search(r"lacks +debug information is refused: .*; if that is right, `objcopy", out), "--explain: what is refused, and what helps", out)
open("two.c", "w").write(open("w.c").read() + "\nvoid twin(void) __attribute__((weak, alias(\"work\")));\n")
run(["gcc", "-O1", "-o", "two", "two.c"])
record("two")
out = explain("two")
tap.check({"work, local", "twin, weak"} <= set(re.findall(r"0x[0-9a-f]+-0x[0-9a-f]+ (\w+, \w+)", out)), "--explain: every name of the same bytes", out)
# Of another machine, without build ids: what is at that path here is for this one.
machine = "aarch64" if os.uname().machine == "x86_64" else "x86_64"
r = Recording(arch=machine)
r.comm(100, "full", 1, exec=True)
r.mmap2(100, 0x400000, 0x100000, 0, os.path.abspath("full"), 2)
r.sample(100, 0x401100, 3)
m, said = module("full", data=r.write("other.data"))
tap.check("another processor" in m["missing_reason"] and "machine of another kind" in m["help"] and "it is for another processor" in said, "a file for another processor", m, said)
tap.end()
