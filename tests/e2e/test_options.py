#!/usr/bin/env python3
"""--help and the man pages say the same, and tests use every option. --help is printed from the table that parses, so it stands
for it."""
import os
import re

from common import CAPTURE, REGRESS, RESOLVE, TOP, Tap, have, run

tap = Tap()
OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]*|-[A-Za-z])(?![\w-])")


def help_options(command):
    """Options that --help begins a line with."""
    lines = run([command, "--help"]).stdout.splitlines()
    return {o for line in lines for o in re.findall(r"(?:^ {2,6}|, )(--[a-z-]+|-[A-Za-z])\b", line[:26]) if line[:3] != "   " or line[6:8] == "--"}


def man_options(page):
    """Options in the first lines of the page's .TP paragraphs."""
    lines = open(os.path.join(TOP, "doc", page)).read().splitlines()
    heads = [lines[i + 1] for i, line in enumerate(lines) if line == ".TP"]
    plain = [re.sub(r"\\f.", "", h).replace("\\-", "-").replace('"', " ") for h in heads]
    return {o for h in plain for o in OPTION.findall(h)}


def untested(command, options):
    """Options that no test names, in the long or the short form."""
    text = "".join(open(os.path.join(root, f)).read() for root, _, files in os.walk(os.path.join(TOP, "tests"))
                   for f in files if re.fullmatch(r"\w+\.(py|sh)", f) and f != os.path.basename(__file__))
    shorts = {long: short for short, long in re.findall(r"^  (-\w), (--[a-z-]+)", run([command, "--help"]).stdout, re.M)}
    return [o for o in sorted(options) if o.startswith("--") and not re.search(rf"{o}\b", text)
            and not (o in shorts and re.search(rf"""["' ]{shorts[o]}["' ,\d]""", text))]


for command, page in ((RESOLVE, "resolve.1"), (CAPTURE, "capture.1"), (REGRESS, "regress.1")):
    name = os.path.basename(command)
    shown, manual = help_options(command), man_options(page)
    tap.check(len(shown) > 15 and {"--help", "--version"} <= shown, f"{name}: --help lists options", sorted(shown))
    tap.check(shown <= manual, f"{name}: every option of --help is in the man page", sorted(shown - manual))
    # Second spellings (--comms) stand in the man page only; the table must know them all the same.
    unknown = [o for o in sorted(manual - shown) if re.search("no such option", run([command, o], check=False).stderr)]
    tap.check(not unknown, f"{name}: every option of the man page exists", unknown)
    tap.check(not untested(command, shown), f"{name}: some test uses every option", untested(command, shown))
    wide = [line for line in run([command, "--help"]).stdout.splitlines() if len(line) > 100]
    tap.check(not wide, f"{name}: --help fits 100 columns", "\n".join(wide))
    if have("man"):
        p = run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", os.path.join(TOP, "doc", page)], check=False)
        tap.check(not p.stderr.strip(), f"{name}: the man page has no errors of markup", p.stderr)
    else:
        tap.skip(f"{name}: the man page has no errors of markup", "no man")

# A refusal is one line, begins with the command's name, and says what to do.
for command, args, said in (
        (RESOLVE, ["--bogus"], "--bogus: no such option; --help lists them"),
        (RESOLVE, ["-f"], "-f needs a value: -f NAME; see --help"),
        (RESOLVE, ["--formt", "top"], "--formt: no such option; did you mean --format? --help lists them"),
        (RESOLVE, ["--no-inline=3"], "--no-inline takes no value"),
        (RESOLVE, ["--max"], "--max-stack needs a value: --max-stack N; see --help"),
        (RESOLVE, ["--m"], "--m may be --merge-threads, --minwidth, --max-stack"),
        (RESOLVE, ["-i", "a", "-i", "b"], "-i is given twice: a and b"),
        (RESOLVE, ["no.data", "out.svg"], "out.svg: there is no such input; to write it: -o out.svg"),
        (CAPTURE, ["-y"], "-y: no such option; --help lists them"),
        (REGRESS, ["run", "--nope", "--", "true", "::", "true"], "--nope: no such option; --help lists them")):
    p = run([command, *args], check=False)
    tap.check((p.returncode, p.stdout, p.stderr) == (2, "", f"{os.path.basename(command)}: {said}\n"),
              f"{os.path.basename(command)} {' '.join(args)}: one line says what to do", p.stderr)

# What can be written and read is in the manual, with every suffix.
manual = open(os.path.join(TOP, "doc/resolve.1")).read().replace("\\-", "-")
for option in ("--formats", "--inputs"):
    rows = re.findall(r"^  (\S+) +.*?(?:\(([.\w -]+)\))?$", run([RESOLVE, option]).stdout, re.M)
    missing = [w for name, suffixes in rows for w in (f"\n.B {name}\n", *(suffixes.split() if option == "--formats" else ())) if w not in manual]
    tap.check(len(rows) > 4 and not missing, f"{option}: all are in the manual", missing)

# An option of only some formats names them in --help, from their rows, and so does its paragraph in the manual.
formats = re.findall(r"^  (\S+)", run([RESOLVE, "--formats"]).stdout, re.M)
paragraphs = [re.sub(r"\\f.", "", t) for t in re.split(r"^\.(?:TP|S[HS].*)$", manual, flags=re.M)]
rows = re.findall(r"^ {2,6}(?:-\w, )?(--[a-z-]+)[^\n]{0,18}\n? {2,26}((?:[a-z]+, )*[a-z]+): ", run([RESOLVE, "--help"]).stdout, re.M)
wrong = [(o, f) for o, names in rows for f in names.split(", ") for p in paragraphs if re.search(rf"{o}(?![\w-])", p.split("\n")[1]) and f not in p.lower()]
tap.check(len(rows) > 24 and not wrong and {f for _, names in rows for f in names.split(", ")} <= set(formats), "what only some formats do: --help and the manual name these", wrong, len(rows))

# ---- habits ----------------------------------------------------------------------------------------------------------
for args, words in (([CAPTURE, "record", "-g", "true"], "leave `record` out"), ([CAPTURE, "report"], "resolve -f top"), ([CAPTURE, "-g", "fp", "true"], "--call-graph fp"),
                    ([RESOLVE, "report", "x"], "resolve -f top"), ([RESOLVE, "script"], "resolve -f script"), ([RESOLVE, "diff", "a", "b"], "regress --base"),
                    ([RESOLVE, "-f", "top", "-F", "ip,sym"], "-f script"), ([RESOLVE, "--stdio"], "-f top")):
    p = run(args, check=False)
    tap.check(p.returncode == 2 and words in p.stderr and p.stderr.count("\n") == 1, f"habit: {' '.join([os.path.basename(args[0]), *args[1:]])}", p.stderr)
with open("x.folded", "w") as f:
    f.write("main;f 1\n")
p = run([RESOLVE, "x.folded", "-o", "x.unknown"], check=False)
tap.check(p.returncode == 2 and ".svg" in p.stderr and ".pb.gz" in p.stderr, "an unknown suffix: which there are", p.stderr)
for packer, suffix in (("gzip", "gz"), ("zstd", "zst")):
    if have(packer):
        run([RESOLVE, "x.folded", "-o", f"out.folded.{suffix}"])
        tap.check(run([packer, "-dc", f"out.folded.{suffix}"]).stdout == "main;f 1\n", f"-o out.folded.{suffix}")
    else:
        tap.skip(f"-o out.folded.{suffix}", f"no {packer}")
for command in (RESOLVE, CAPTURE, REGRESS):
    wanted = r"zlib \d.*zstd \d.*; (gcc|.*[Cc]lang) \d" if command == CAPTURE else r"zlib \d.*zstd \d(?s:.*)elfutils \d"
    tap.check(re.search(wanted, run([command, "--version"]).stdout), f"{os.path.basename(command)} --version: libraries and compiler")

p = run([RESOLVE, "--no-such-option"], check=False)
tap.check(p.returncode == 2 and "no-such-option" in p.stderr and "--help" in p.stderr, "an unknown option: a line names it", p.stderr)
p = run([RESOLVE, "--unwinder", "magic"], check=False)
tap.check(p.returncode == 2 and "--unwinder: 'magic' is none of cfi, libdw, fp" in p.stderr, "a wrong choice: a line names it and the right ones", p.stderr)
p = run([RESOLVE, "-j", "many"], check=False)
tap.check(p.returncode == 2 and "-j: 'many' is not a number from 0 to" in p.stderr, "a wrong number: a line names it and the range", p.stderr)
for option in ("--vmlinux", "--kallsyms", "--guestvmlinux", "--guestkallsyms"):
    p = run([RESOLVE, option, "no-such-file", "perf.data"], check=False)
    tap.check(p.returncode == 2 and "no-such-file: cannot open: No such file" in p.stderr, f"{option} of a file that is not there: a line names it", p.stderr)
open("file", "w").close()
for option in ("--symfs", "--debug-dir"):
    for path, words in (("no-such-folder", "No such file"), ("file", "Not a directory")):
        p = run([RESOLVE, option, path, "perf.data"], check=False)
        tap.check(p.returncode == 2 and f"{path}: cannot open: {words}" in p.stderr, f"{option} {path}: a line says that it is no folder", p.stderr)
p = run([RESOLVE, "--help", "--no-such-option"])
tap.check(p.stdout.startswith("usage: resolve"), "options behind --help are not looked at")
tap.end()
