"""texts.py - what tests of other tools' texts share: resolve on a text, and its folded stacks."""
import collections
import os
import subprocess

BIN = os.environ["BIN"]


def resolve(text, *args):
    """(status, standard output, words) of resolve for a file with this text."""
    with open("in.txt", "w") as f:
        f.write(text)
    p = subprocess.run([f"{BIN}/resolve", *args, "in.txt"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return p.returncode, p.stdout, p.stderr


def folded(text):
    """{stack: weight}"""
    out = collections.Counter()
    for line in text.splitlines():
        out[line.rsplit(" ", 1)[0]] += int(line.rsplit(" ", 1)[1])
    return out
