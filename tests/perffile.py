"""perffile.py - what all that write a perf.data need, by tools/perf/Documentation/perf.data-file-format.txt."""
import struct

OSRELEASE, ARCH = 4, 6  # header features


def padded(text, to):
    """With its zero, in a multiple of `to` bytes."""
    b = text.encode() + b"\0"
    return b + bytes(-len(b) % to)


def string(text):
    """As features have it."""
    b = padded(text, 64)
    return struct.pack("<I", len(b)) + b


def head(attrs, n_bytes, features=()):
    """The file's first bytes: attributes behind it, then n_bytes of records."""
    h = struct.pack("<8sQQQQQQQQ", b"PERFILE2", 104, len(attrs), 104, len(attrs), 104 + len(attrs), n_bytes, 0, 0)
    return h + sum(1 << bit for bit in features).to_bytes(32, "little")


def perf_data(attr, records, features={}):
    """A file with one attribute and no ids; features by bit."""
    attrs = attr + bytes(16)
    at = 104 + len(attrs) + len(records) + 16 * len(features)
    table = contents = b""
    for bit in sorted(features):
        table += struct.pack("<QQ", at + len(contents), len(features[bit]))
        contents += features[bit]
    return head(attrs, len(records), features) + attrs + records + table + contents
