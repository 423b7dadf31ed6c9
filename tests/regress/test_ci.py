#!/usr/bin/env python3
"""The examples of doc/ci.md, step by step in a local shell: a repository with a main branch and two proposals, one of which makes a
function slower. What CI systems do around the steps is done here: checkouts, artifacts, variables, conditions. Services are not here:
`gh` and `sudo` are scripts that note or do what they are asked for."""
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from drawn import BIN, run_live  # noqa: E402
from proposals import make_repository, sh, write  # noqa: E402
from tap import Tap  # noqa: E402

TOP = os.environ["TOP"]
tap = Tap()
with open(os.path.join(TOP, "doc/ci.md")) as f:
    YAML = [text.replace("/tmp/unspool/packaging", f"{TOP}/packaging") for text in re.findall(r"```yaml\n(.*?)```", f.read(), re.S) if re.search("^(  )?confirm:", text, re.M)]


def jobs(text):
    """{job: [(name, condition, script)]}: of the subset of YAML that the page is written in."""
    found, job = {}, None
    lines = text.splitlines()
    for i, line in enumerate(lines):
        depth = len(line) - len(line.lstrip())
        m = re.match(r"\s*(?:- )?(?:run: |- )(.*)", line)
        if re.fullmatch(r"(  )?(profile|confirm):", line):
            job = found.setdefault(line.strip(" :"), [])
        elif m and job is not None and ("run: " in line or re.match(r"    - (git|make|regress) ", line)):
            script = m.group(1)
            if script == "|":
                rest = [x for x in lines[i + 1:]]
                end = next((k for k, x in enumerate(rest) if x.strip() and len(x) - len(x.lstrip()) <= depth), len(rest))
                script = "\n".join(x.strip() for x in rest[:end])
            above = "\n".join(lines[max(0, i - 2):i])
            name = re.findall(r"- name: (.*)", above)
            job.append((name[-1] if name else "script", "failure" if "if: failure()" in above else "", script))
    return found


def run_job(steps, where, env, files=()):
    """In a fresh checkout, which artifacts were copied into. (failed, texts)"""
    shutil.rmtree(os.path.dirname(where), ignore_errors=True)
    os.makedirs(os.path.dirname(where))
    sh(f"git clone -q {os.path.abspath('origin.git')} {where} && git -C {where} checkout -q {env['BRANCH']}")
    for path in files:
        shutil.copy(path, where)
    failed, texts = False, []
    for name, condition, script in steps:
        # What is tested is installed already.
        if name == "install" or failed != (condition == "failure"):
            continue
        p = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", script], cwd=where, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        texts.append(f"{name}: {p.stdout}")
        failed |= p.returncode != 0
    return failed, texts


os.makedirs("tools")
write("tools/gh", f'''#!/bin/sh
echo "$@" >> {os.path.abspath("gh.log")}
for word; do case $word in body=@*) cat "${{word#body=@}}" >> {os.path.abspath("gh.log")};; esac; done
''', 0o755)
write("tools/sudo", "#!/bin/sh\nexit 0\n", 0o755)
ENV = {**os.environ, "PATH": f"{os.path.abspath('tools')}:{BIN}:{os.environ['PATH']}", "GITHUB_BASE_REF": "main", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "PR": "7", "GITHUB_REPOSITORY": "me/project",
       "GITHUB_OUTPUT": os.path.abspath("output"), "GITHUB_STEP_SUMMARY": os.path.abspath("summary")}


def commented():
    return open("gh.log").read() if os.path.exists("gh.log") else ""


def github(branch):
    """(was the second job wanted, did it fail, texts)"""
    for path in ("output", "summary", "gh.log"):
        if os.path.exists(path):
            os.unlink(path)
    env = {**ENV, "BRANCH": branch}
    steps = jobs(YAML[0])
    failed, texts = run_job(steps["profile"], "first/repository", env)
    if failed or not os.path.exists("output") or "found=yes" not in open("output").read():
        return False, failed, texts
    failed, more = run_job(steps["confirm"], "second/repository", env, ["first/repository/report.json"])
    return True, failed, texts + more


def live():
    steps = jobs(YAML[0])
    tap.check([s[0] for s in steps["profile"]] == ["install", "build both sides", "compare"] and [s[0] for s in steps["confirm"]] == ["install", "build both sides", "confirm", "comment"],
              "GitHub: the steps of the page", steps)
    make_repository()
    wanted, failed, texts = github("slower")
    tap.check(wanted and failed, "GitHub: something got slower: found, and confirmed by a second job", *texts)
    tap.check("api --method POST repos/me/project/issues/7/comments" in commented() and "`leaf_2`" in commented(), "GitHub: a comment names the function", commented())
    tap.check("::error file=program.c" in "".join(texts), "GitHub: and an annotation its line", *texts)
    wanted, failed, texts = github("harmless")
    tap.check(not failed and not commented(), "GitHub: nothing got slower: green, no comment", wanted, *texts)
    steps = jobs(YAML[1])
    tap.check([len(steps[j]) for j in ("profile", "confirm")] == [3, 3], "GitLab: the steps of the page", steps)
    env = {**ENV, "BRANCH": "slower"}
    failed, texts = run_job(steps["profile"], "first/repository", env)
    tap.check(not failed, "GitLab: the first job hands over", *texts)
    failed, texts = run_job(steps["confirm"], "second/repository", env, ["first/repository/report.json"])
    report = open("second/repository/quality.json").read() if os.path.exists("second/repository/quality.json") else "null"
    tap.check(failed and any("leaf_2" in r["description"] for r in json.loads(report) or []) and os.path.exists("second/repository/junit.xml"), "GitLab: the second job is red, with its reports", report, *texts)
    with open("first/repository/report.json", "w") as f:
        json.dump({"schema": "unspool-regress/1", "findings": []}, f)
    failed, texts = run_job(steps["confirm"], "second/repository", env, ["first/repository/report.json"])
    with open("second/repository/quality.json") as f:
        tap.check(not failed and json.load(f) == [], "GitLab: nothing was flagged: green, an empty report", *texts)


if all(map(shutil.which, ("git", "make"))):
    run_live(tap, live)
else:
    tap.skip("the examples", "git or make is not installed")
tap.end()
