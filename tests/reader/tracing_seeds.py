#!/usr/bin/env python3
"""Seeds for fuzz_tracing.c into the working directory: what tracepoints' print formats are made of, and what may make them expensive."""
import struct

RAW = struct.pack("<HBBiQQIHH16s", 7, 0, 0, 4242, 0xffffffff81000010, 64, 0x00080030, 3, 1, b"some task\0") + b"a text\0\0" + bytes(range(40))
FIELDS = """\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:unsigned long site;\toffset:8;\tsize:8;\tsigned:0;
\tfield:u64 bytes;\toffset:16;\tsize:8;\tsigned:0;
\tfield:__data_loc char[] name;\toffset:24;\tsize:4;\tsigned:0;
\tfield:u16 flags;\toffset:28;\tsize:2;\tsigned:0;
\tfield:short state;\toffset:30;\tsize:2;\tsigned:1;
\tfield:char comm[16];\toffset:32;\tsize:16;\tsigned:0;
\tfield:u8 mac[6];\toffset:56;\tsize:6;\tsigned:0;
"""
PRINTS = {
    "function": '"site=%pS %ps bytes=%llu", REC->site, (void *)REC->site, (unsigned long long)REC->bytes',
    "flags": '"flags=%s state=%s", __print_flags(REC->flags, "|", {0x1, "ONE"}, {2 << 0, "TWO"}), __print_symbolic(REC->state, {0, "R"}, {1, "S"})',
    "string": '"comm=%s name=%s %-16s|", REC->comm, __get_str(name), REC->comm',
    "numbers": '"%d %5u %#lx %hhd %c %08x", REC->state, REC->flags, REC->site, REC->mac[0], 65, REC->bytes',
    "ternary": '"%s%d", REC->flags & (1 << 1) ? "yes" : (REC->state == 1 || !REC->bytes) ? "maybe" : "no", (REC->bytes >> 2) * 3 - -1',
    "arrays": '"%s %s", __print_hex(REC->mac, 6), __print_array(REC->mac, 6, 1)',
    "dynamic": '"%s %d", __print_hex_str(__get_dynamic_array(name), __get_dynamic_array_len(name)), __get_dynamic_array_len(name)',
    "addresses": '"%pM %pI4 %pI6c %pU", REC->mac, REC->mac, REC->comm, REC->comm',
    "widths": '"%*d %.*s %999d %999999999d", 7, 1, 3, REC->comm, 1, 2',
    "star": '"%*.*s|%-*d", REC->bytes, REC->bytes, REC->comm, REC->bytes, 1',
    "deep": '"%d", ' + "(" * 60 + "REC->state" + ")" * 60,
    "deeper": '"%d", ' + "(" * 30000 + "1" + ")" * 30000,
    "operators": '"%d", ' + "~-!" * 60 + "REC->state",
    "long": '"' + "%d " * 3000 + '", ' + ", ".join(["REC->state"] * 3000),
    "division": '"%d %d %d", REC->bytes / REC->common_flags, REC->bytes % 10, -REC->bytes / REC->state',
    "no-field": '"%s %s", __print_flags(REC->nosuch, "|", {0x1, "ONE"}), __print_symbolic(REC->state, {0, "R"})',
    "no-number": '"%s", __print_flags(REC->flags, "|", {0xT, "ONE"}, {2 << 0, "TWO"})',
    "casts": '"%d", (int)(unsigned char)(u64)REC->flags + sizeof(u64)',
    "unknown": '"%s", mystery_function(REC->state, 1, "x")',
    "index-sample": '"%d %d", REC->mac[REC->site], REC->comm[REC->flags]',
    "index-large": '"%d %d", REC->mac[4000000000], REC->mac[0x100000000]',
    "index-inside": '"%d %d %x", REC->mac[5], REC->comm[0x3], ((u8 *)REC->mac)[1]',
    "index-beyond": '"%d %d", REC->mac[6], REC->state[1]',
    "index-dynamic": '"%d %d", REC->name[400000], ((u64 *)__get_dynamic_array(name))[400000000]',
    "index-within": '"%s", __print_symbolic(REC->mac[REC->site], {0, "R"}, {REC->mac[REC->site], "S"})',
    "index-condition": '"%s", REC->mac[REC->site] ? "yes" : "no"',
    "index-function": '"%pS", (void *)REC->mac[REC->site]',
    "index-width": '"%*d", REC->mac[REC->site], REC->state',
    "index-width-late": '"%h*d", REC->mac[REC->site], REC->state',
    "width-of-field": '"%*d %-*d", 1 << 30, REC->state, REC->bytes << 20, REC->flags',
    "widths-of-fields": '"%999999999d %999999999u", REC->state, REC->flags',
    "width-escaped": '"\\%%999999999d", REC->state',
    "wide-strings": '"%ls|%-16ls|%ls", REC->comm, __get_str(name), REC->bytes ? "some" : "none"',
    "no-string": '"%s", __get_str(nosuch)',
    "no-bitmask": '"%s", __get_bitmask(nosuch)',
    "no-cpumask": '"%s", __get_cpumask(nosuch)',
    "no-loc": '"%s %s", __get_bitmask(flags), __get_cpumask(flags)',
    "masks": '"%s %s %s", __get_bitmask(name), __get_cpumask(name), __get_str(name)',
    "short-addresses": '"%pM %pI4 %pI6c %pU %pISpc %pISpc", REC->flags, REC->flags, REC->mac, REC->mac, REC->flags, REC->comm',
    "bytes": '"%*ph %20phC", 70000, __get_dynamic_array(name), __get_dynamic_array(name)',
    "long-arrays": '"%s %s %s", __print_hex(REC->mac, 4000000000), __print_array(REC->mac, REC->bytes << 20, 8), __print_hex_str(REC->mac, REC->site)',
    "huge": '"%s", __print_symbolic(REC->state, ' + ", ".join(f'{{{i}, "v{i}"}}' for i in range(1500)) + ")",
}


def tracing(formats, system=b"demo"):
    def sized(text):
        return struct.pack("<Q", len(text)) + text

    page = b"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n"
    out = b"\x17\x08\x44tracing0.6\0\0\x08" + struct.pack("<I", 4096) + b"header_page\0" + sized(page) + b"header_event\0" + sized(b"# compressed entry header\n")
    out += struct.pack("<I", 0) + struct.pack("<I", 1) + system + b"\0" + struct.pack("<I", len(formats))
    out += b"".join(sized(f) for f in formats)
    return out + struct.pack("<IIQ", 0, 0, 0)


def one(number, name, printed):
    name = name.replace("-", "_")  # else the library does not read on
    return f"name: {name}\nID: {number}\nformat:\n{FIELDS}\nprint fmt: {printed}\n".encode()


def write(name, formats, raw=RAW, system=b"demo"):
    with open(name, "wb") as f:
        f.write(struct.pack("<H", len(raw)) + raw + tracing(formats, system))


for i, (name, printed) in enumerate(PRINTS.items()):
    write(f"tp-{name}", [one(300 + i, name, printed)])
write("tp-all", [one(300 + i, n, p) for i, (n, p) in enumerate(PRINTS.items()) if len(p) < 200])
# The library looks for the number of an event where its first event has it, and prints by that number.
write("tp-far-number", [one(300, "far", PRINTS["numbers"]).replace(b"common_type;\toffset:0;", b"common_type;\toffset:1999999999;"), one(301, "near", PRINTS["numbers"])])
write("tp-other-number", [one(7, "star", PRINTS["star"]), one(301, "harmless", PRINTS["numbers"])])
write("tp-short-raw", [one(300, n, PRINTS[n]) for n in ("string",)], RAW[:20])
# Without a length a dynamic field reaches to the end of the data, however far behind that it begins.
short = one(300, "short", PRINTS["string"]).replace(b"name;\toffset:24;\tsize:4;", b"name;\toffset:24;\tsize:2;")
write("tp-no-length", [short, short.replace(b"300", b"301").replace(b"REC->comm, __", b"REC->bytes / REC->state, __")], RAW[:24] + b"\xff\xff" + RAW[26:])
write("tp-no-loc-far", [one(300, "far", PRINTS["no-loc"])], RAW[:28] + b"\xff\xff" + RAW[30:])
write("tp-relative", [one(300, "relative", PRINTS["masks"]).replace(b"__data_loc", b"__rel_loc")], RAW[:24] + b"\xff\xff\xff\xff" + RAW[28:])
# Printed by fields that it may not have.
write("tp-bprint", [one(300, "bprint", PRINTS["numbers"]).replace(b"u64 bytes", b"u64 buf").replace(b"long site", b"long ip")], system=b"ftrace")
