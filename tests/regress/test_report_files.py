#!/usr/bin/env python3
"""Reports of regress as files: root writes none through another user's link, a failure leaves the old one, modes are kept."""
import os
import stat
import subprocess

from tap import Tap

BIN = os.environ["BIN"]
OPTIONS = {"--json": "{", "--md": "#", "--html": "<!DOCTYPE", "--junit": "<?xml", "--folded": ""}
NOBODY = 65534
tap = Tap()


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


for i in range(3):
    write(f"base{i}.folded", f"c;main;f {900 + i}\nc;main;g 100\n")
    write(f"new{i}.folded", f"c;main;f {900 + i}\nc;main;g 300\n")
SIDES = ["--base", *(f"base{i}.folded" for i in range(3)), "--new", *(f"new{i}.folded" for i in range(3))]


def regress(*args, **env):
    p = subprocess.run([f"{BIN}/regress", "-q", *SIDES, *args], capture_output=True, text=True, timeout=60, check=False, env={**os.environ, **env})
    return p.returncode, p.stderr


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


os.umask(0o022)
for option, begin in OPTIONS.items():
    out = f"out{option}"
    code, err = regress(option, out)
    tap.check(code in (0, 1) and read(out).startswith(begin) and mode(out) == (0o644 if os.geteuid() else 0o600), f"{option}: a new file, readable by root only if root writes it",
              f"{code} {err} {mode(out):o}")
    os.chmod(out, 0o640)
    before = os.stat(out).st_ino
    code, err = regress(option, out)
    tap.check(mode(out) == 0o640 and os.stat(out).st_ino != before, f"{option}: the old file is replaced, its mode stays", err)
    code, err = regress(option, "no/such/folder")
    tap.check(code == 2 and "no/such/folder" in err, f"{option}: a folder that is not there", err)

for option in OPTIONS:
    for sides, path in ((["--base", "base0.folded"], "base1.folded"), (["--base", "./base1.folded"], "new2.folded")):
        before = read(path)
        code, err = regress(option, path)
        tap.check(code == 2 and f"{option} names what is compared" in err and read(path) == before, f"{option}: a recording is not replaced by its report: {path}", f"{code} {err}")
os.makedirs("earlier/1")
write("earlier/1/a.folded", "c;main;f 900\nc;main;g 100\n")
code, err = regress("--history", "earlier", "--json", "earlier/1/a.folded")
tap.check(code == 2 and "names what is compared" in err and read("earlier/1/a.folded").startswith("c;main"), "an earlier run is not replaced, either", f"{code} {err}")

write("summary", "before\n")
code, err = regress("--md", "m", GITHUB_STEP_SUMMARY="summary")
tap.check(read("summary") == "before\n" + read("m"), "the job's summary is appended to", err)

if os.geteuid():
    tap.skip("another user's links", "only root can be another user, too")
else:
    os.mkdir("shared")
    os.chmod("shared", 0o1777)
    write("victim", "precious\n")
    for option in OPTIONS:
        link = f"shared/link{option}"
        os.symlink("../victim", link)
        os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
        code, err = regress(option, link)
        tap.check(code == 2 and "another user's link" in err and read("victim") == "precious\n", f"{option}: another user's link is refused, with the reason", f"{code} {err}")
    code, err = regress("--md", "m", GITHUB_STEP_SUMMARY="shared/link--md")
    tap.check(code == 2 and read("victim") == "precious\n", "the job's summary: another user's link is refused", f"{code} {err}")
    write("shared/file", "x")
    os.chown("shared/file", NOBODY, NOBODY)
    code, err = regress("--md", "m", GITHUB_STEP_SUMMARY="shared/file")
    tap.check(code == 2 and read("shared/file") == "x", "the job's summary: another user's file is refused", f"{code} {err}")
