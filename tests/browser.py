"""A headless Chromium for tests of pages, by its DevTools protocol over a pipe: no package but chromium is needed.

    with Browser() as b:
        b.open("file:///...")
        b.evaluate("document.title")

Source of truth: chromedevtools.github.io/devtools-protocol; --remote-debugging-pipe: descriptor 3 is read, 4 is written, messages end
with a NUL."""
import atexit
import base64
import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time


AXE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build", "npm", "axe.min.js")  # by tests/axe.sh


# Pages of its own for what is typed into the address bar: each window has four, and they take a third of a processor for ever.
NOT_NEEDED = "WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup,PreloadTopChromeWebUI"


def find():
    return next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)


class Process:
    """The program, and the messages of all its pages. It takes seconds of CPU time to start, so a test starts it once."""

    running = None

    def __init__(self):
        self.home = tempfile.mkdtemp(prefix="browser-")
        theirs, ours = os.pipe(), os.pipe()  # what we write, what we read

        def descriptors():
            a, b = os.dup(theirs[0]), os.dup(ours[1])
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [find(), "--headless=new", "--no-sandbox", "--no-zygote", "--disable-gpu", "--in-process-gpu", "--disable-software-rasterizer",
             "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--disable-extensions",
             "--disable-component-extensions-with-background-pages", "--disable-component-update", "--disable-default-apps", "--disable-sync",
             "--disable-breakpad", "--mute-audio", f"--disable-features={NOT_NEEDED}", "--no-startup-window", "--remote-debugging-pipe",
             f"--user-data-dir={self.home}/profile"],
            preexec_fn=descriptors, pass_fds=(3, 4, theirs[0], ours[1]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, "HOME": self.home, "XDG_CONFIG_HOME": self.home, "TMPDIR": self.home})  # it makes folders there
        os.close(theirs[0])
        os.close(ours[1])
        self.to, self.fro = os.fdopen(theirs[1], "wb", 0), os.fdopen(ours[0], "rb")
        self.numbers, self.events = itertools.count(1), {}
        atexit.register(self.end)

    @classmethod
    def get(cls):
        cls.running = cls.running or cls()
        return cls.running

    def end(self):
        os.killpg(self.process.pid, signal.SIGKILL)  # its children, too, write to the folder
        self.process.wait()
        for _ in range(50):
            shutil.rmtree(self.home, ignore_errors=True)
            if not os.path.exists(self.home):
                break
            time.sleep(0.1)

    def read(self):
        """The next message; an event is kept for its page."""
        message = bytearray()
        while (c := self.fro.read(1)) != b"\0":
            if not c:
                raise RuntimeError("the browser ended")
            message += c
        message = json.loads(message)
        if "method" in message:
            self.events.setdefault(message.get("sessionId"), []).append(message)
        return message

    def call(self, session, method, **params):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        self.to.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]


class Browser:
    """A page of its own size and looks, that knows nothing of others: as in a browser that was just installed."""

    def __init__(self, width=1280, height=900, dark=False, mobile=False):
        self.process, self.session = Process.get(), None
        self.context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=self.context, width=width, height=height)["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.events = self.process.events.setdefault(self.session, [])
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
        if dark:
            self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.session = None
        self.call("Target.disposeBrowserContext", browserContextId=self.context)

    def call(self, method, **params):
        return self.process.call(self.session, method, **params)

    def wait_for(self, method):
        while True:
            for i, e in enumerate(self.events):
                if e["method"] == method:
                    return self.events.pop(i)["params"]
            self.process.read()

    def open(self, url):
        self.events.clear()
        self.call("Page.navigate", url=url)
        self.wait_for("Page.loadEventFired")

    def evaluate(self, script):
        """The value of an expression, awaited."""
        r = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in r:
            raise RuntimeError(r["exceptionDetails"].get("exception", {}).get("description", str(r["exceptionDetails"])))
        return r["result"].get("value")

    def click(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="none" if kind == "mouseMoved" else "left", clickCount=1)

    def key(self, key, code=0, text=None):
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def screenshot(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def axe(self):
        """What axe-core finds in what is shown: names, roles, contrast, order."""
        with open(AXE) as f:
            return self.evaluate(f.read() + "; axe.run().then(r => r.violations.map(v => [v.id, v.help, v.nodes.map(n => n.html.slice(0, 120)).slice(0, 3)]))")

    def problems(self):
        """What the console complained of, and addresses that were asked for besides files and data."""
        self.evaluate("0")  # what happened until now has arrived then
        found = []
        for e in self.events:
            p = e.get("params", {})
            if e.get("method") == "Runtime.exceptionThrown":
                found.append(p["exceptionDetails"].get("exception", {}).get("description", "exception"))
            elif e.get("method") == "Log.entryAdded" and p["entry"]["level"] == "error":
                found.append(p["entry"]["text"])
            elif e.get("method") == "Network.requestWillBeSent" and not p["request"]["url"].startswith(("file:", "data:", "blob:", "about:")):
                found.append(p["request"]["url"])
        return found
