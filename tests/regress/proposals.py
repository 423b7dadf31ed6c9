"""proposals.py - a repository with a main branch and two proposals, one of which makes a function slower."""
import os
import subprocess

import mix


def sh(cmd, cwd=None):
    subprocess.run(cmd, shell=True, check=True, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def write(path, text, mode=0o644):
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)


def make_repository():
    """origin.git with the branches main, slower, harmless."""
    os.makedirs("work")
    write("work/Makefile", "program: program.c\n\tgcc -O1 -g -o $@ program.c\n")
    # Half a second: of 700 rounds a run has 15 samples of leaf_2, and the whole can be all that is found to be slower.
    source = mix.source().replace("c > 1 ? atoi(v[1])", "c > 1 ? 2100")
    git = "git -c user.name=t -c user.email=t@example.org"
    write("work/program.c", source)
    sh(f"git init -q -b main && git add -A && {git} commit -qm first && git checkout -qb slower", "work")
    write("work/program.c", source.replace("#define P2 100", "#define P2 300"))
    sh(f"{git} commit -qam slower && git checkout -q main && git checkout -qb harmless", "work")
    write("work/program.c", "/* a comment */\n" + source)
    sh(f"{git} commit -qam comment && git checkout -q main", "work")
    sh("git clone -q --bare work origin.git")
