"""faulty_server.py - a debuginfod server that can be good, or bad in every way that was seen in the field.

Server(mode, files): files maps a build id to {"debuginfo": path, "executable": path}; sections are cut out of them.
It runs in threads of the importing process, on a free port of 127.0.0.1, and keeps what it saw: requests (paths in
order of arrival), headers (of each), most (requests that waited at a time), sent (bytes of bodies)."""
import socket
import struct
import threading
import time

from elfsections import section


class Server:
    def __init__(self, mode="good", files=None, together=0):
        """`together`: the first requests are answered once there are so many, or after 20 s."""
        self.mode, self.files, self.together = mode, files or {}, together
        self.requests, self.headers, self.sent, self.now, self.most = [], [], 0, 0, 0
        self.lock, self.closing, self.complete = threading.Lock(), threading.Event(), threading.Event()
        self.release = threading.Event()  # what comes behind the first 4096 bytes, in mode old
        self.release.set()
        self.replace = {}  # last part of the path, or all of it -> body, in mode good
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.socket.listen(0 if mode == "blackhole" else 64)
        self.url = "http://127.0.0.1:%d" % self.socket.getsockname()[1]
        self.stuffing = []
        if mode == "blackhole":
            # Connections that are not accepted fill the queue; the kernel drops the packets of the next ones.
            for _ in range(4):
                s = socket.socket()
                s.setblocking(False)
                s.connect_ex(self.socket.getsockname())
                self.stuffing.append(s)
        else:
            threading.Thread(target=self.serve, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closing.set()
        self.release.set()
        for s in [self.socket, *self.stuffing]:
            s.close()

    def serve(self):
        while not self.closing.is_set():
            try:
                c, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.talk, args=(c,), daemon=True).start()

    def talk(self, c):
        """One connection, kept alive as long as answers allow it."""
        try:
            while True:
                data = b""
                while b"\r\n\r\n" not in data:
                    more = c.recv(65536)
                    if not more:
                        return
                    data += more
                path = data.split()[1].decode()
                with self.lock:
                    self.requests.append(path)
                    self.headers.append(data.decode(errors="replace"))
                    self.now += 1
                    self.most = max(self.most, self.now)
                    if self.now >= self.together:
                        self.complete.set()
                if self.complete.wait(20) and self.together:
                    self.closing.wait(0.2)  # for one too many
                with self.lock:  # who has the answer may ask for the next
                    self.now -= 1
                if not self.answer(c, path):
                    return
        except OSError:
            pass
        finally:
            c.close()

    def body_of(self, path):
        parts = path.split("/")  # "", "buildid", ID, TYPE[, SECTION]
        for key in (path, parts[-1]):
            if key in self.replace:
                return self.replace[key]
        of = self.files.get(parts[2], {})
        if parts[3] != "section":
            if parts[3] not in of:
                return None
            with open(of[parts[3]], "rb") as f:
                return f.read()
        for kind in ("debuginfo", "executable"):
            b = section(of[kind], parts[4]) if kind in of else None
            if b is not None:
                return b
        return None

    def send(self, c, data):
        c.sendall(data)
        self.sent += len(data)

    def reply(self, c, status, body=b"", length=True):
        head = f"HTTP/1.1 {status} x\r\n" + (f"Content-Length: {len(body)}\r\n" if length else "Connection: close\r\n")
        c.sendall(head.encode() + b"\r\n")
        self.send(c, body)
        return length

    def answer(self, c, path):
        """Answers; whether the connection lives on."""
        return getattr(self, "mode_" + self.mode)(c, path)

    def mode_good(self, c, path):
        body = self.body_of(path)
        return self.reply(c, 404) if body is None else self.reply(c, 200, body)

    def mode_500(self, c, _):
        return self.reply(c, 500, b"out of cheese")

    def mode_503(self, c, _):
        return self.reply(c, 503)

    def mode_hang(self, c, _):
        self.closing.wait(60)

    def mode_html(self, c, _):
        return self.reply(c, 200, b"<html><body>Welcome to our hotel. Please log in.</body></html>\n")

    def mode_reset(self, c, _):
        c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def mode_cut(self, c, path):
        """The length is told, and then it is less."""
        body = self.body_of(path) or b""
        c.sendall(b"HTTP/1.1 200 x\r\nContent-Length: %d\r\n\r\n" % len(body))
        self.send(c, body[:len(body) // 2])

    def mode_cut_silently(self, c, path):
        """No length is told; the end of the connection is the end of the file."""
        body = self.body_of(path) or b""
        return self.reply(c, 200, body[:-64], length=False)

    def mode_trickle(self, c, path):
        body = self.body_of(path) or b""
        c.sendall(b"HTTP/1.1 200 x\r\nContent-Length: %d\r\n\r\n" % len(body))
        for i in range(len(body)):
            self.send(c, body[i:i + 1])
            if self.closing.wait(0.1):
                return

    def mode_slow_binaries(self, c, path):
        return self.mode_trickle(c, path) if path.endswith("/executable") else self.mode_good(c, path)

    def mode_406(self, c, _):
        return self.reply(c, 406)

    def mode_giant(self, c, _):
        """More than any disk has."""
        c.sendall(b"HTTP/1.1 200 x\r\nContent-Length: %d\r\n\r\n" % (1 << 60))
        self.pour(c, 0.05)

    def mode_endless(self, c, _):
        """No length is told, and it does not end."""
        c.sendall(b"HTTP/1.1 200 x\r\nConnection: close\r\n\r\n")
        self.pour(c, 0.05)

    def mode_flood(self, c, _):
        """The same as fast as it goes."""
        c.sendall(b"HTTP/1.1 200 x\r\nConnection: close\r\n\r\n")
        self.pour(c, 0)

    def pour(self, c, pause):
        while not self.closing.wait(pause):
            self.send(c, b"\x7fELF" * 4096)

    def mode_old(self, c, path):
        """Of before elfutils 0.188: no sections. Whole files come slowly, as they do over a network."""
        if "/section/" in path:
            return self.reply(c, 503)
        body = self.body_of(path)
        if body is None:
            return self.reply(c, 404)
        c.sendall(b"HTTP/1.1 200 x\r\nContent-Length: %d\r\n\r\n" % len(body))
        for i in range(0, len(body), 4096):
            self.send(c, body[i:i + 4096])
            self.release.wait(20)
            if self.closing.wait(0.05):
                return False
        return True
