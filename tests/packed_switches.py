"""packed_switches.py - many records of context switches as one, by the description in reader/packed_switches.h; what capture does is not used."""
import struct

import varint

SWITCH, SWITCH_CPU_WIDE, EVENT_TYPE = 14, 15, 65


def records(data):
    at = 0
    while at < len(data):
        size, = struct.unpack_from("<H", data, at + 6)
        yield data[at:at + size]
        at += size


def pack(switches, follows=True):
    """One record of those of one size; their trailer is TID, TIME, CPU, IDENTIFIER. follows=False: each says its row itself."""
    size = len(switches[0])
    at = size - 24
    rows, places, deltas, follower, last, before = [], b"", b"", {}, 0, None
    for record in switches:
        row, (time,) = record[:at] + record[at + 8:], struct.unpack_from("<Q", record, at)
        if row not in rows:
            rows.append(row)
        number = rows.index(row)
        expected = follower.get(last, 0)
        places += varint.put(0 if follows and expected == number else number + 1)
        deltas += varint.put((time - before) % (1 << 64) if before is not None else 0)
        if before is None:
            first = time
        else:
            follower[last] = number
        last, before = number, time
    body = struct.pack("<8sHHHHIIQ", b"\xffSWITCH\xff", 1, size, at, len(rows), len(switches), len(places), first) + b"".join(rows) + places + deltas
    body += bytes(max(80 - 8 - len(body), -len(body) % 8))
    return struct.pack("<IHH", EVENT_TYPE, 0, 8 + len(body)) + body


def pack_all(data, most=1000):
    """The records of a data section with those of switches packed, so many at once at most. They lie in the order of their processors' rings."""
    out, run = [], []
    for record in [*records(data), b""]:
        if run and (record[:4] != run[0][:4] or len(run) == most):
            out.append(pack(run, follows=len(out) % 3 > 0))
            run = []
        if record and struct.unpack_from("<I", record)[0] in (SWITCH, SWITCH_CPU_WIDE):
            run.append(record)
        else:
            out.append(record)
    return b"".join(out)


def pack_file(name, to):
    """The same recording, of --no-compress. Returns the bytes of its data after and before."""
    with open(name, "rb") as f:
        whole = f.read()
    off, size = struct.unpack_from("<2Q", whole, 40)
    packed = pack_all(whole[off:off + size])
    n_features = sum(bin(w).count("1") for w in struct.unpack_from("<4Q", whole, 72))
    out = bytearray(whole[:off] + packed + whole[off + size:])
    struct.pack_into("<Q", out, 48, len(packed))
    for i in range(n_features):
        at = off + len(packed) + 16 * i
        section, n = struct.unpack_from("<2Q", out, at)
        if n:
            struct.pack_into("<2Q", out, at, section + len(packed) - size, n)
    with open(to, "wb") as f:
        f.write(out)
    return len(packed), size
