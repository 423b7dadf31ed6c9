#!/bin/sh
# fuzz_seeds.sh NAME - seeds for tests/output/fuzz_NAME.c, into the working directory.
set -e
: "${1:?NAME is missing}" "${TOP:?the checkout is not known: set TOP}"

calls() {
	printf '0NR 257 (ffffff9c, 7ffe1234, 80000, 1b6, 0, 0)\n1NR 257 = 3\n0NR 1 (3, 55550000, 5, 0, 0, 0)\n1NR 1 = -9\n0NR 9 (0, 1000, 3, 22, ffffffff, 0)\n1NR 9 = 140000\n' >raw
	printf '0NR 257 (ffffff9c, 7ffe1234, 80000, 1b6, 0, 0) 1="/etc/host\\"name"\n1NR 257 = 3\n0NR 59 (1, 2, 3, 0, 0, 0) 0="/bin/sh"...\n0NR 1 (3, 5, 5, 0, 0, 0) 1="abc"?\n' >texts
	printf '0NR 42 (3, 7ffe1230, 10, 0, 0, 0) 0="socket:[7]" 1="\\002\\000\\001\\273\\177\\000\\001\\002aaaaaaaa"\n0NR 435 (7ffe, 58, 0, 0, 0, 0) 0="\\000\\002aaaaaabbbbbbbb"...\n0NR 437 (ffffff9c, 7f, 7e, 18, 0, 0) 1="/x" 2="\\000\\000\\010"\n0NR 42 (3, 7ffe, 6e, 0, 0, 0) 1="\\001\\000/tmp/socket"...+5us\n' >structs
	printf '0NR 157 (f, 1, 2, 3, 4, 0)\n0NR 72 (3, 402, 80000004, 0, 0, 0)\n0NR 133 (7ffe, 21a4, 103, 0, 0, 0) 0="/x"\n1NR 133 = -512\n0NR 332 (ffffff9c, 7ffe, 2100, fff, 0, 0)\n' >names
	printf '0NR 202 (7ffe, 81, 1, 0, 0, 0)\n1NR 202 = -11\n0NR 56 (11, 0, 0, 0, 0, 0)\n0NR 999 (1, 2, 3, 4, 5, 6)\n1NR 999 = -38\n' >odd
	printf '2(55d0) sp=0x7ffd g=0x1 a0=1 a1=2 s1="text"|a=1, s=0x2 "text", p={x = 1, y = 2}\tb=?\n3(55d1) sp=0x7ffd g=0x1 ret=0x5 jumped=0|\ri4\n' >call
	printf '2(55d0) sp=0x7ffd g=0x0 a0=1|k=ONE\n2(55d0) sp=0x7ff0 g=0x0 a0=0\n3(55d1) sp=0x7ff0 ret=0x1 jumped=1|\re4 ONE 1 TWO 2\n3(55d1) sp=0x7ffd ret=0xff|\rc1\n' >nested
	printf '4(55d0) a0=0x10 s0="a\\"b"|x=16\n5dfd: 0xffffff9c, filename: 0x7ffe, flags: 0x241, mode: 0x1b6\n6(0x3)\n' >others
}

$1
