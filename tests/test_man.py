#!/usr/bin/env python3
"""The manual pages: man and mandoc have no complaint, what they refer to of ours exists, and examples name options that there are."""
import glob
import os
import re
import shutil
import subprocess

from tap import Tap

TOP, BIN = os.environ["TOP"], os.environ["BIN"]
tap = Tap()
pages = sorted(glob.glob(f"{TOP}/doc/*.[17]"))
tap.check(len(pages) >= 5, "there are pages", pages)
for page in pages:
    name = os.path.basename(page)
    if shutil.which("man"):
        p = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", page], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           env=dict(os.environ, LC_ALL="C.UTF-8", MANWIDTH="90", MAN_KEEP_FORMATTING="", MANPAGER="cat"))
        tap.check(p.returncode == 0 and not p.stderr and len(p.stdout) > 1000, f"{name}: man renders it without warnings", p.stderr)
    else:
        tap.skip(f"{name}: man", "man is not installed")
    if shutil.which("mandoc"):
        said = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], stdout=subprocess.PIPE, text=True).stdout
        said = [line for line in said.splitlines() if "missing date" not in line]
        tap.check(not said, f"{name}: mandoc -T lint", *said)
    else:
        tap.skip(f"{name}: mandoc", "mandoc is not installed")
    with open(page) as f:
        text = f.read().replace("\\-", "-")
    others = set(re.findall(r"^\.BR ((?:unspool-\w+|resolve|capture|regress)) \((\d)\)", text, re.M))
    tap.check(all(os.path.exists(f"{TOP}/doc/{n}.{s}") for n, s in others), f"{name}: pages that it refers to", others)
    for command in ("resolve", "capture", "regress"):
        known = set(re.findall(r"(?<![\w-])--?[a-zA-Z][a-z-]*", subprocess.run([f"{BIN}/{command}", "--help"], stdout=subprocess.PIPE, text=True).stdout))
        typed = {o for line in re.findall(rf"^{command} .*", text, re.M) for o in re.findall(r"(?<=\s)(--[a-z-]+|-[a-zA-Z])(?=[ =,]|$)", line.split(" -- ")[0].split("||")[0])}
        if typed:
            tap.check(typed <= known | {"--"}, f"{name}: options in examples of {command}", typed - known)
tap.end()
