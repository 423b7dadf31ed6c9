#!/bin/sh
# arm64.sh - builds resolve for 64-bit Arm: build/arm64/bin/resolve, with Debian's libraries for it in build/arm64/root.
# tests/e2e/nowhere.py runs it by qemu-aarch64 where it is there. Needs root (debootstrap fetches the packages), a mirror, a cross compiler.
#	RELEASE=bookworm	whose libraries; the cross compiler's own release, or an older one
set -eu
cd "$(dirname "$0")/.."
out=$PWD/build/arm64
root=$out/root
release=${RELEASE:-bookworm}
# The machine's own mirror: the first Debian address of its lists.
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
	grep -oE '(https?|file):/[^ ]*/debian/?( |$)' | head -n 1 | tr -d ' ')
for tool in debootstrap dpkg-deb aarch64-linux-gnu-gcc qemu-aarch64; do
	command -v $tool >/dev/null || { echo "arm64: SKIP: no $tool here" >&2; exit 77; }
done
if [ ! -f "$root/lib/ld-linux-aarch64.so.1" ]; then
	mkdir -p "$out"
	debootstrap --download-only --arch=arm64 --variant=minbase \
		--include=libelf-dev,libdw-dev,zlib1g-dev,liblzma-dev,libzstd-dev,libisal-dev,libncurses-dev,libiberty-dev,libtraceevent-dev,libcapstone-dev,libc6-dev \
		"$release" "$out/packages" "${mirror:-http://deb.debian.org/debian}" >"$out/log" 2>&1 || { tail -n 5 "$out/log" >&2; exit 1; }
	mkdir -p "$root"
	for f in "$out"/packages/var/cache/apt/archives/*.deb; do
		case ${f##*/} in
		libc6_* | libc6-dev_* | linux-libc-dev_* | libgcc* | libelf* | libdw* | zlib1g* | liblzma* | libzstd* | libisal* | \
			libncurses* | libtinfo* | libiberty* | libtraceevent* | libcapstone* | libbz2*) dpkg-deb -x "$f" "$root" ;;
		esac
	done
	# Links are to be below the root.
	find "$root" -type l -lname '/*' | while read -r l; do
		ln -sfnr "$root$(readlink "$l")" "$l"
	done
fi
cc="aarch64-linux-gnu-gcc --sysroot=$root"
make -s -j"$(nproc)" CC="$cc" BUILD=build/arm64/build BIN=build/arm64/bin build/arm64/bin/resolve
# Packages of releases before the merge of /lib and /usr/lib have both.
qemu-aarch64 -L "$root" build/arm64/bin/resolve --version
