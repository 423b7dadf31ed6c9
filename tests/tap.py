"""tap.py - what tests print (testanything.org): a line for each thing that was checked, and the status that they end with."""
import atexit
import ctypes
import errno
import os
import struct
import sys

WHY_LINES_MAX = 60
# make check-long: whole matrices, more rounds. Else each kind of thing is there once, and not with all others.
LONG = bool(os.environ.get("LONG"))


def paranoid():
    """kernel.perf_event_paranoid as it is for this user: root is not asked."""
    try:
        with open("/proc/sys/kernel/perf_event_paranoid") as f:
            return -1 if os.geteuid() == 0 else int(f.read())
    except (OSError, ValueError):
        return 4


MAY_KERNEL = paranoid() <= 1  # to record what the kernel does
MAY_ALL = paranoid() <= 0  # to record processors, so all processes (-a)
NOT_PERMITTED = f"kernel.perf_event_paranoid is {paranoid()}, and this user is not root"


def event(name):
    """What perf calls an event that this user records: only user space may be recorded otherwise."""
    return name if MAY_KERNEL else f"{name}:u"


def why_no_events():
    """None, or why this process may not open any event, not even its own: a container's seccomp filter, as a rule."""
    attr = struct.pack("<IIQQQQQ", 1, 112, 9, 0, 0, 0, 1 | 1 << 5 | 1 << 6).ljust(112, b"\0")  # PERF_COUNT_SW_DUMMY of user space
    libc = ctypes.CDLL(None, use_errno=True)
    number = {"x86_64": 298, "aarch64": 241}.get(os.uname().machine)
    fd = libc.syscall(number, attr, 0, -1, -1, 0) if number else 0
    if fd < 0:
        return f"perf_event_open is forbidden here ({errno.errorcode[ctypes.get_errno()]}); testdata/recordings stand for what would be recorded"
    if number:
        os.close(fd)
    return None


NO_EVENTS = why_no_events()


class CannotRecord(RuntimeError):
    """What a test wants to record cannot be: the rest of it is skipped, where no test catches this."""


def need_events():
    if NO_EVENTS:
        raise CannotRecord(NO_EVENTS)


def on_exception(kind, value, trace):
    if not issubclass(kind, CannotRecord):
        return sys.__excepthook__(kind, value, trace)
    print(f"ok - {'the rest, which records' if Tap.checked else 'all of it, which records'} # SKIP {value}", flush=True)
    atexit._run_exitfuncs()  # pylint: disable=protected-access
    os._exit(1 if Tap.failures else 0)


sys.excepthook = on_exception


class Tap:
    """Prints TAP and remembers whether anything failed."""

    checked = failures = 0  # of all there are in a process

    def __init__(self):
        self.failed = 0

    def check(self, good, name, *why):
        print(f"{'ok' if good else 'not ok'} - {name}", flush=True)
        Tap.checked += 1
        if not good:
            self.failed += 1
            Tap.failures += 1
            lines = [line for w in why for line in str(w).splitlines()]
            print("".join(f"#   {line}\n" for line in lines[:WHY_LINES_MAX]), end="", flush=True)
        return good

    def skip(self, name, why):
        print(f"ok - {name} # SKIP {why}", flush=True)

    def end(self):
        sys.exit(1 if self.failed else 0)
