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


def fields(b):
    """(number, value) of a protocol buffer's message of numbers, fixed64 and bytes only, in their order; asserts that it is one."""
    at = 0
    while at < len(b):
        key, at = get(b, at)
        assert key & 7 in (0, 1, 2), f"wire type {key & 7}"
        if key & 7 == 1:
            yield key >> 3, int.from_bytes(b[at:at + 8], "little")
            at += 8
            continue
        v, at = get(b, at)
        if key & 7 == 2:
            assert at + v <= len(b), "field longer than its message"
            v, at = b[at:at + v], at + v
        yield key >> 3, v


def put(v):
    out = b""
    while v > 127:
        out, v = out + bytes([v & 127 | 128]), v >> 7
    return out + bytes([v])
