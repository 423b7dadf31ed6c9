#!/usr/bin/env python3
"""What `make install` brings: stripped and hardened binaries, manuals, completions that know every option; and the tarball."""
import os
import re
import subprocess

from common import TOP, Tap, have, run

tap = Tap()
DEST = os.path.abspath("dest")
env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
subprocess.run(["make", "-s", "-C", TOP, "install", f"DESTDIR={DEST}", "PREFIX=/usr"], check=True, stdout=subprocess.DEVNULL, env=env)
installed = sorted(os.path.relpath(os.path.join(root, f), DEST) for root, _, files in os.walk(DEST) for f in files)
for name in ("capture", "resolve", "regress"):
    wanted = [f"usr/bin/{name}", f"usr/share/man/man1/{name}.1", "usr/share/man/man7/unspool-files.7", "usr/share/man/man7/unspool-debuginfod.7", f"usr/share/bash-completion/completions/{name}",
              f"usr/share/zsh/vendor-completions/_{name}", f"usr/share/fish/vendor_completions.d/{name}.fish"]
    tap.check(all(w in installed for w in wanted), f"{name}: program, manual, completions", [w for w in wanted if w not in installed])
    binary = f"{DEST}/usr/bin/{name}"
    elf = run(["readelf", "-W", "-h", "-l", "-d", "-S", "-n", "--dyn-syms", binary]).stdout
    sanitized = "asan" in elf
    hardened = {"PIE": re.search(r"Type:\s+DYN", elf), "RELRO": "GNU_RELRO" in elf, "BIND_NOW": re.search(r"BIND_NOW|Flags: .*NOW", elf),
                "stack protector": "__stack_chk_fail" in elf, "FORTIFY": "_chk@" in elf, "no executable stack": not re.search(r"GNU_STACK.*RWE", elf)}
    if sanitized:
        tap.skip(f"{name}: hardened", "sanitizers have their own flags")
    else:
        tap.check(all(hardened.values()), f"{name}: hardened", [k for k, v in hardened.items() if not v])
        tap.check(".symtab" not in elf and ".debug_info" not in elf, f"{name}: stripped")
    options = set(re.findall(r"^ {2,6}(?:-\w, )?(--[a-z-]+)", run([binary, "--help"]).stdout, re.M))
    script = f"source {DEST}/usr/share/bash-completion/completions/{name}; COMP_WORDS=({name} --); COMP_CWORD=1; _{name}; echo ${{COMPREPLY[@]}}"
    known = set(run(["bash", "-c", script]).stdout.split())
    tap.check(options and options <= known, f"{name}: bash completes every option", options - known)
    for path in (f"zsh/vendor-completions/_{name}", f"fish/vendor_completions.d/{name}.fish"):
        with open(f"{DEST}/usr/share/{path}") as f:
            text = f.read()
        tap.check(all(o.lstrip("-") in text for o in options), f"{path}: every option")
    for shell, path in (("zsh", f"zsh/vendor-completions/_{name}"), ("fish", f"fish/vendor_completions.d/{name}.fish")):
        if have(shell):
            p = run([shell, "-n", f"{DEST}/usr/share/{path}"], check=False)
            tap.check(p.returncode == 0, f"{path}: {shell} reads it", p.stderr)
if os.path.isdir(os.path.join(TOP, ".git")) and have("git"):
    names = subprocess.run(f"git -c 'safe.directory=*' -C {TOP} archive HEAD | tar -t", shell=True, stdout=subprocess.PIPE, text=True).stdout.split()
    tap.check({"Makefile", "README.md", "packaging/debian/rules", "output/page/page.html"} <= set(names), "the tarball is whole", names[:5])
tap.end()
