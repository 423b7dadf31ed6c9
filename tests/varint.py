"""varint.py - numbers of seven bits a byte, lowest first, as in protocol buffers and Go's tables."""


def get(b, at):
    """Its value, and where the next one begins."""
    v = shift = 0
    while True:
        v |= (b[at] & 127) << shift
        shift += 7
        at += 1
        if b[at - 1] < 128:
            assert shift <= 70
            return v, at


def put(v):
    out = b""
    while v > 127:
        out, v = out + bytes([v & 127 | 128]), v >> 7
    return out + bytes([v])
