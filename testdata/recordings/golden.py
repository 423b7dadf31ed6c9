"""golden.py - what `resolve` says of a recording of this folder, away from the machine that it was made on."""
import json
import os
import subprocess

GOLDEN = {  # file: how it is made
    "folded": [],
    "script": ["-f", "script"],
    "top": ["-f", "top"],
    "stats.json": ["--stats=json", "-o", "/dev/null"],
}
NOWHERE = {name: "/nonexistent" for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "DEBUGINFOD_CACHE_PATH", "PERF_BUILDID_DIR")}
COUNTS = ("samples", "filtered", "lost", "skipped", "period", "user_stacks", "root", "truncated", "no_cfi", "no_file", "no_map", "broken", "stitched", "guessed",
          "frames", "addresses", "symbolized", "modules")
OF_MODULES = ("path", "build_id", "samples", "tier", "missing_reason", "lacks")


def counts(text):
    """The numbers of --stats=json, a line each."""
    found = json.loads(next(line for line in text.splitlines() if line.startswith("{")))
    found = {key: found[key] for key in COUNTS if key in found}
    found["modules"] = [{key: m[key] for key in OF_MODULES if key in m} for m in found["modules"]]
    return json.dumps(found, indent=1) + "\n"


def outputs(resolve, data, root, options=(), **more):
    """{kind: text}. With a root nothing outside of it is looked at. More: variables of its environment."""
    places = ["--symfs", root, "--kallsyms", f"{root}/kallsyms"] if root else []
    env = dict({k: v for k, v in os.environ.items() if k in ("PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS")}, LANG="C.UTF-8", **NOWHERE, **more)
    out = {}
    for kind, how in GOLDEN.items():
        p = subprocess.run([resolve, "--no-cache", *places, *how, *options, data], env=env, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        out[kind] = counts(p.stderr) if kind == "stats.json" else p.stdout
        out[kind] += f"status {p.returncode}\n" if p.returncode else ""
    return out


def write(folder, texts):
    os.makedirs(folder, exist_ok=True)
    for kind, text in texts.items():
        with open(f"{folder}/{kind}", "w") as f:
            f.write(text)
