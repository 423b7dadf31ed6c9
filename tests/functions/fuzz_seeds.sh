#!/bin/sh
# fuzz_seeds.sh NAME - seeds for tests/functions/fuzz_NAME.c, into the working directory.
set -e
: "${1:?NAME is missing}"

# A header, then CODE_LOAD, CODE_DEBUG_INFO, CODE_MOVE, CODE_CLOSE.
jitdump() {
	python3 - <<-'P'
		import struct
		def record(kind, t, body):
		    return struct.pack("<IIQ", kind, 16 + len(body), t) + body
		head = struct.pack("<IIIIIIQQ", 0x4a695444, 1, 40, 62, 0, 7, 1, 0)
		lines = struct.pack("<QQ", 0x1000, 2) + struct.pack("<Qii", 0x1000, 3, 0) + b"a.js\0" + \
		    struct.pack("<Qii", 0x1004, 4, 0) + b"\xff\0"
		load = struct.pack("<IIQQQQ", 7, 7, 0x1000, 0x1000, 8, 1) + b"f\0" + b"\x90" * 8
		move = struct.pack("<IIQQQQQ", 7, 7, 0x2000, 0x1000, 0x2000, 8, 1)
		open("all", "wb").write(head + record(2, 1, lines) + record(0, 2, load) + record(1, 3, move) + record(3, 4, b""))
		open("head", "wb").write(head)
	P
}

# The section of a recording: one process, packed; and what is packed, alone.
runtime_code() {
	python3 - <<-'P'
		import struct, subprocess
		def record(kind, t, body):
		    return struct.pack("<IIQ", kind, 16 + len(body), t) + body
		head = struct.pack("<IIIIIIQQ", 0x4a695444, 1, 40, 62, 0, 7, 1, 0)
		frame = struct.pack("<QIIIIIIQ", 0x1000, 1, 32, 4, 2, 2, 2, 0) + \
		    struct.pack("<IIIIII", 0, 0, 10, 1, 1, 20) + struct.pack("<IIII", 3, 0, 7, 1) + b"LA;f()V\0A.java\0LA;g()V\0\0"
		load = struct.pack("<IIQQQQ", 7, 7, 0x1000, 0x1000, 8, 1) + b"LA;f()V\0" + b"\x90" * 8
		code = struct.pack("<QIIIIIIQ", 0x2000, 7, 0, 0, 0, 0, 0, 64)
		bytecode = struct.pack("<IIQQQQ", 7, 7, 0x2000, 0x2000, 8, 2) + b"LA;g()V\0"
		dump = head + record(0x5501, 2, frame) + record(0, 2, load) + record(0x5501, 3, code) + record(0, 3, bytecode) + \
		    record(0x5502, 4, struct.pack("<Q", 0x3000) + b"\xc3" * 8192) + record(0x5502, 5, struct.pack("<Q", 0x4000) + b"\x55" * 4096)
		packed = subprocess.run(["zstd", "-c"], input=dump, stdout=subprocess.PIPE, check=True).stdout
		open("dump", "wb").write(dump)
		open("section", "wb").write(struct.pack("<IIIIQQ", 0x43525355, 1, 7, 0, len(dump), len(packed)) + packed)
	P
}

$1
