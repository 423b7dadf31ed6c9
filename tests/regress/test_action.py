#!/usr/bin/env python3
"""packaging/ci: the steps of the GitHub actions and of the GitLab template, run here one after another. What the services do around them is done
here: inputs and variables, conditions, artifacts. `gh` is a script that keeps comments in a file; GitLab is a small HTTP server that curl
talks to. Shown: one comment per proposal, which is updated; a fork's run without rights, of which `workflow_run` posts the
comment; a container whose seccomp filter forbids perf_event_open."""
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from drawn import BIN, run_live  # noqa: E402
from proposals import make_repository, sh, write  # noqa: E402
from tap import Tap  # noqa: E402

TOP = os.environ["TOP"]
CI = os.path.join(TOP, "packaging/ci")
tap = Tap()


def text_of(path):
    with open(path) as f:
        return f.read()


def block(lines, i, depth):
    """The text of a block scalar whose key is at `depth` in line i."""
    end = next((k for k in range(i + 1, len(lines)) if lines[k].strip() and len(lines[k]) - len(lines[k].lstrip()) <= depth), len(lines))
    return "\n".join(x.strip(" ") if not x.strip() else x[min(len(y) - len(y.lstrip()) for y in lines[i + 1:end] if y.strip()):] for x in lines[i + 1:end])


def steps(path):
    """{name: {if, run, uses, env}} of a composite action, in their order: the subset of YAML that these files are written in."""
    found, step, in_env = {}, None, False
    lines = text_of(path).splitlines()
    for i, line in enumerate(lines):
        if m := re.match(r"    - name: (.*)", line):
            step = found.setdefault(m.group(1), {"env": {}})
        elif step is not None and re.match(r"      run: \|$", line):
            step["run"] = block(lines, i, 6)
        elif step is not None and (m := re.match(r"      (\w+):(?: (.*))?$", line)):
            in_env = m.group(1) == "env"
            step.setdefault(m.group(1), m.group(2))
        elif step is not None and in_env and (m := re.match(r"        (\w+): (.*)", line)):
            step["env"][m.group(1)] = m.group(2)
    return found


def evaluate(text, known):
    """${{ a.b }} by what is known, which has to have it."""
    return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda m: known[m.group(1)], text)


def condition(text, known):
    """Of a step: comparisons of what is known with words or each other, with && between them."""
    value = lambda t: t[1:-1] if t[0] == "'" else known[t]  # noqa: E731
    return all(value(a) == value(b) if how == "==" else value(a) != value(b) for a, how, b in (part.split() for part in text.split(" && ")))


def run_action(path, where, known, env):
    """(status of the first step that fails, or 0; output)"""
    known, out = dict(known), ""
    env = {**env, "GITHUB_ACTION_PATH": os.path.dirname(path)}
    for name, step in steps(path).items():
        if "run" not in step or (step.get("if") and not condition(step["if"], known)):
            continue
        open("output", "w").close()
        mine = {**env, "GITHUB_OUTPUT": os.path.abspath("output"), **{k: evaluate(v, known) for k, v in step["env"].items()}}
        p = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], cwd=where, env=mine, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        out += f"{name}: {p.stdout}"
        for line in text_of("output").splitlines():
            known[f"steps.{step.get('id')}.outputs.{line.split('=')[0]}"] = line.split("=", 1)[1]
        if p.returncode:
            return p.returncode, out
    return 0, out


# What the actions use of gh: comments in a file, pull requests in another, an artifact in a folder. Its --jq is jq.
GH = r"""#!/usr/bin/env python3
import json, os, shutil, subprocess, sys
at = os.environ["FAKE"]
words = sys.argv[1:]
def take(name):
    return words[words.index(name) + 1] if name in words else None
if words[0] == "run":
    assert words[:2] == ["run", "download"] and take("--repo") == "me/project"
    shutil.copytree(os.path.join(at, "artifact-" + take("--name")), take("--dir"), dirs_exist_ok=True)
    sys.exit(0)
assert words[0] == "api" and os.environ["GH_TOKEN"] == "a token", words
path = next(w for w in words[1:] if w.startswith("repos/"))
fields = dict(words[i + 1].split("=", 1) for i, w in enumerate(words) if w in ("-f", "-F"))
body = open(fields["body"][1:]).read() if fields.get("body", "").startswith("@") else None
with open(f"{at}/comments.json") as f: comments = json.load(f)
method = take("--method") or "GET"
if path == "repos/me/project/pulls":
    assert method == "GET" and fields["state"] == "open"
    answer = [p for p in json.load(open(f"{at}/pulls.json")) if p["head"]["label"] == fields["head"]]
elif method == "GET":
    assert path == "repos/me/project/issues/7/comments", path
    answer = comments
elif method == "POST":
    assert path == "repos/me/project/issues/7/comments", path
    answer = {"id": len(comments) + 1, "html_url": "posted", "user": {"login": "github-actions[bot]"}, "body": body}
    comments.append(answer)
else:
    assert method == "PATCH" and path.startswith("repos/me/project/issues/comments/"), words
    answer = next(c for c in comments if str(c["id"]) == path.split("/")[-1])
    answer.update(body=body, html_url="updated")
with open(f"{at}/comments.json", "w") as f: json.dump(comments, f)
sys.exit(subprocess.run(["jq", "-r", take("--jq")], input=json.dumps(answer), text=True).returncode)
"""

for tool in ("tools", "fake"):
    os.makedirs(tool)
write("tools/gh", GH, 0o755)
write("tools/sudo", "#!/bin/sh\nexit 0\n", 0o755)
write("tools/apt-get", "#!/bin/sh\nexit 0\n", 0o755)
ENV = {**os.environ, "PATH": f"{os.path.abspath('tools')}:{BIN}:{os.environ['PATH']}", "FAKE": os.path.abspath("fake"), "GITHUB_REPOSITORY": "me/project"}
ENV.pop("GITHUB_STEP_SUMMARY", None)
KNOWN = {"inputs.base": "../base/program | cat", "inputs.new": "./program | cat", "inputs.suite": "", "inputs.runs": "4", "inputs.options": "-F 3999", "inputs.name": "profile", "inputs.comment": "true",
         "inputs.token": "a token", "github.repository": "me/project", "github.event.pull_request.head.repo.full_name": "me/project", "github.event.pull_request.number": "7"}
OTHERS = [{"id": 1, "user": {"login": "a reader"}, "body": "What is <!-- unspool regress: profile -->?"}]


def comments():
    with open("fake/comments.json") as f:
        return json.load(f)


def reset():
    write("fake/comments.json", json.dumps(OTHERS))


def checkout(branch):
    shutil.rmtree("job", ignore_errors=True)
    os.makedirs("job")
    sh(f"git clone -q {os.path.abspath('origin.git')} job/repository && git -C job/repository checkout -q {branch}")
    sh("git worktree add ../base \"$(git merge-base origin/main HEAD)\" && make -C ../base && make", "job/repository")


def github():
    reset()
    checkout("slower")
    status, out = run_action(f"{CI}/action.yml", "job/repository", KNOWN, ENV)
    mine = comments()[1:]
    tap.check(status == 1 and len(mine) == 1 and "`leaf_2`" in mine[0]["body"].splitlines()[0] and comments()[0] == OTHERS[0], "GitHub: something got slower: red, one comment that names it", out, comments())
    tap.check("::error file=program.c" in out, "GitHub: an annotation of its line", out)
    known = {**KNOWN, "inputs.base": "../base/program", "inputs.new": "../base/program", "inputs.runs": "2"}
    status, out = run_action(f"{CI}/action.yml", "job/repository", known, ENV)
    tap.check(status == 0 and len(comments()) == 2 and comments()[1]["html_url"] == "updated" and "`leaf_2`" not in comments()[1]["body"].splitlines()[0], "GitHub: the next push: the comment is updated, also if all is well again", out, comments())
    reset()
    status, out = run_action(f"{CI}/action.yml", "job/repository", known, ENV)
    tap.check(status == 0 and comments() == OTHERS, "GitHub: nothing got slower and nothing was said before: no comment", out, comments())
    status, out = run_action(f"{CI}/action.yml", "job/repository", {**KNOWN, "inputs.new": "./no-such-program"}, ENV)
    tap.check(status == 2 and comments() == OTHERS and "no-such-program" in out, "GitHub: a command that fails: red with its words, no comment", out)


def fork():
    reset()
    checkout("slower")
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd="job/repository", stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    status, out = run_action(f"{CI}/action.yml", "job/repository", {**KNOWN, "github.event.pull_request.head.repo.full_name": "you/project", "inputs.token": "a token without rights"}, ENV)
    tap.check(status == 1 and comments() == OTHERS, "a fork: its run records without rights, and writes no comment", out)
    shutil.rmtree("fake/artifact-profile", ignore_errors=True)
    os.makedirs("fake/artifact-profile")
    for name in ("summary.md", "status.txt"):
        shutil.copy(f"job/repository/{name}", "fake/artifact-profile")
    with open("fake/artifact-profile/summary.md", "a") as f:
        f.write("\n@everyone <!-- unspool regress: other -->\n")
    write("fake/pulls.json", json.dumps([{"number": 3, "head": {"label": "you:slower", "sha": "0" * 40}}, {"number": 7, "head": {"label": "you:slower", "sha": head}}]))
    known = {**KNOWN, "github.event.workflow_run.head_repository.owner.login": "you", "github.event.workflow_run.head_branch": "slower", "github.event.workflow_run.head_sha": head, "github.event.workflow_run.id": "99"}
    os.makedirs("second")
    status, out = run_action(f"{CI}/comment/action.yml", "second", known, ENV)
    body = comments()[-1]["body"]
    tap.check(status == 0 and len(comments()) == 2 and "`leaf_2`" in body.splitlines()[0] and "of the fork itself" in body, "a fork: the second workflow posts what the first has recorded", out, comments())
    tap.check("@everyone" not in body and "everyone" in body and body.count("<!--") == 1, "a fork: nobody is mentioned by its text, and it has no marker of its own", body)
    status, out = run_action(f"{CI}/comment/action.yml", "second", known, ENV)
    tap.check(status == 0 and len(comments()) == 2 and comments()[1]["html_url"] == "updated", "a fork: its comment is updated, too", out)
    status, out = run_action(f"{CI}/comment/action.yml", "second", {**known, "github.event.workflow_run.head_sha": "1" * 40}, ENV)
    tap.check(status == 0 and len(comments()) == 2 and "no open pull request" in out, "a fork: a commit that is no pull request's last: nothing is written", out)


# ---- GitLab ----------------------------------------------------------------------------------------------------------
NOTES = []


class GitLab(BaseHTTPRequestHandler):
    """The notes of one merge request: 150 of others, then ours."""

    def answer(self, value, code=200):
        data = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def handle_one(self):
        url = urllib.parse.urlparse(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()))
        start = "/api/v4/projects/5/merge_requests/7/notes"
        if self.headers.get("PRIVATE-TOKEN") != "a token" or not url.path.startswith(start):
            return self.answer({}, 401)
        if self.command == "GET":
            page = int(query["page"])
            return self.answer(NOTES[100 * (page - 1):100 * page])
        if self.command == "POST":
            NOTES.append({"id": 1000 + len(NOTES), "system": False, "body": form["body"]})
            return self.answer(NOTES[-1], 201)
        note = next(n for n in NOTES if n["id"] == int(url.path.split("/")[-1]))
        note.update(body=form["body"], updated=True)
        return self.answer(note)

    do_GET = do_POST = do_PUT = handle_one

    def log_message(self, *args):
        pass


def gitlab_scripts():
    """The items of `script:`, and those of `before_script:`."""
    lines = text_of(f"{CI}/gitlab.yml").splitlines()
    return [block(lines, i, 4) for i, line in enumerate(lines) if line == "    - |"], [line[6:] for line in lines if re.match("    - (apt-get|git clone)", line)]


def run_gitlab(env):
    script, before = gitlab_scripts()
    tap.check(len(script) == 3 and len(before) == 2, "GitLab: the scripts of the template", script, before)
    p = subprocess.run(["bash", "-eo", "pipefail", "-c", "\n".join(s.replace("/tmp/unspool", TOP) for s in script)], cwd="job/repository", env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return p.returncode, p.stdout


def gitlab():
    server = ThreadingHTTPServer(("127.0.0.1", 0), GitLab)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    NOTES[:] = [{"id": i, "system": i % 2 == 0, "body": "<!-- unspool regress: profile -->" if i % 2 == 0 else "a note"} for i in range(150)]
    env = {**ENV, "CI_API_V4_URL": f"http://127.0.0.1:{server.server_port}/api/v4", "CI_PROJECT_ID": "6", "CI_MERGE_REQUEST_PROJECT_ID": "5", "CI_MERGE_REQUEST_IID": "7", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
           "UNSPOOL_TOKEN": "a token", "UNSPOOL_RUNS": "4", "UNSPOOL_OPTIONS": "-F 3999", "UNSPOOL_NAME": "profile", "BUILD": "make", "BASE": "../base/program", "NEW": "./program", "no_proxy": "127.0.0.1"}
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        env.pop(name, None)

    def job(branch, **more):
        shutil.rmtree("job", ignore_errors=True)
        os.makedirs("job")
        sh(f"git clone -q {os.path.abspath('origin.git')} job/repository && git -C job/repository checkout -q {branch}")
        return run_gitlab({**env, **more})

    code, out = job("slower")
    with open("job/repository/quality.json") as f:
        quality = json.load(f)
    tap.check(code == 1 and len(NOTES) == 151 and "`leaf_2`" in NOTES[150]["body"].splitlines()[0] and any("leaf_2" in q["description"] for q in quality), "GitLab: red, one note, a Code Quality report", out, NOTES[150:])
    code, out = job("harmless", UNSPOOL_RUNS="2")
    tap.check(code == 0 and len(NOTES) == 151 and NOTES[150].get("updated") and "`leaf_2`" not in NOTES[150]["body"].splitlines()[0], "GitLab: the note is found behind 150 others, and updated", out, NOTES[150:])
    code, out = job("slower", UNSPOOL_TOKEN="")
    tap.check(code == 1 and len(NOTES) == 151 and "no note" in out, "GitLab: without a token, as for forks, no note is tried", out)
    server.shutdown()


# ---- a container -----------------------------------------------------------------------------------------------------
def container():
    """As in Docker's default: perf_event_open is refused by a seccomp filter (tests/no_events.c)."""
    wrapper = os.path.abspath("no_events")
    subprocess.run(["gcc", "-O2", os.path.join(TOP, "tests/no_events.c"), "-o", wrapper], check=True)
    path = f"{CI}/action.yml"
    step = steps(path)["rights"]["run"]
    p = subprocess.run([wrapper, "bash", "-eo", "pipefail", "-c", step], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    tap.check(p.returncode == 2 and "::error title=unspool::no  own programs" in p.stdout and "seccomp=unconfined" in p.stdout, "a container that forbids perf_event_open: red at once, with the cure", p.stdout)


def live():
    make_repository()
    github()
    fork()
    gitlab()
    container()


for name in ("action.yml", "comment/action.yml"):
    known = steps(f"{CI}/{name}")
    tap.check(all("run" in s or "uses" in s for s in known.values()) and all("\t" not in s.get("run", "") for s in known.values()), f"{name}: steps", {n: list(s) for n, s in known.items()})
    # What comes from outside reaches scripts as variables, never as text of the script.
    tap.check(not any("${{" in s.get("run", "") for s in known.values()), f"{name}: no expression inside a script")
try:
    import yaml
except ImportError:
    tap.skip("the files are YAML", "no python3-yaml")
else:
    for name in ("action.yml", "comment/action.yml", "gitlab.yml"):
        parsed = yaml.safe_load(text_of(f"{CI}/{name}"))
        tap.check(isinstance(parsed, dict) and (name == "gitlab.yml" or [s["run"].strip() for s in parsed["runs"]["steps"] if "run" in s] == [s["run"].strip() for s in steps(f"{CI}/{name}").values() if "run" in s]), f"{name} is YAML, and read right here")
if missing := [t for t in ("git", "make", "jq", "curl", "iconv") if not shutil.which(t)]:
    tap.skip("the steps", f"not installed: {', '.join(missing)}")
else:
    run_live(tap, live)
tap.end()
