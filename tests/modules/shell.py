"""shell.py - what the scripts of this folder share: commands, TAP lines, build ids."""
import re
import subprocess

from tap import Tap

report = Tap().check


def sh(cmd, check=True, **kw):
    """What a line of shell prints, on both streams."""
    return subprocess.run(cmd, shell=True, check=check, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, **kw).stdout.decode(errors="replace")


def build_id(path):
    """In hex; "" when the file has none."""
    m = re.search(r"Build ID: (\w+)", sh(f"readelf -nW {path}", check=False))
    return m.group(1) if m else ""
