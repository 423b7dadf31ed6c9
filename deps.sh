#!/bin/sh
# deps.sh - shows which libraries and test tools are here and installs what is missing (apt or dnf).
# DEPS=build leaves out what only the tests need.
set -u

have_header() {
	echo "#include <$1>" | "${CC:-cc}" -fsyntax-only -xc - 2>/dev/null
}

missing_apt= missing_dnf=
# row KIND WHAT APT DNF: KIND is header, command or file
row() {
	case $1 in
	header) have_header "$2" ;;
	command) command -v "$2" >/dev/null 2>&1 ;;
	file) [ -e "$2" ] ;;
	esac && state=yes || state=no
	printf '  %-24s %s\n' "$2" "$state"
	[ $state = yes ] && return
	missing_apt="$missing_apt $3"
	missing_dnf="$missing_dnf $4"
}

look() {
	row command cc gcc gcc
	row command make make make
	row header gelf.h libelf-dev elfutils-libelf-devel
	row header elfutils/libdwfl.h libdw-dev elfutils-devel
	row header elfutils/debuginfod.h libdebuginfod-dev elfutils-debuginfod-client-devel
	row header zlib.h zlib1g-dev zlib-devel
	row header lzma.h liblzma-dev xz-devel
	row header zstd.h libzstd-dev libzstd-devel
	row header isa-l.h libisal-dev isa-l-devel
	row header libiberty/demangle.h libiberty-dev binutils-devel
	[ "${DEPS:-all}" = build ] && return
	row file /usr/include/cmocka.h libcmocka-dev libcmocka-devel
	row command python3 python3 python3
	row command perf linux-perf perf
	row command g++ g++ gcc-c++
	row command clang clang clang
	row command readelf binutils binutils
	row command gdb gdb gdb
	row command eu-addr2line elfutils elfutils
	row command llvm-symbolizer llvm llvm
	row command openssl openssl openssl
	row command qemu-aarch64 qemu-user qemu-user
	row command gdb-multiarch gdb-multiarch gdb
	row command aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu gcc-aarch64-linux-gnu
	row command aarch64-linux-gnu-g++ g++-aarch64-linux-gnu gcc-c++-aarch64-linux-gnu
	row file /usr/aarch64-linux-gnu/lib/libc.so.6 libc6-dev-arm64-cross ""
	row file /usr/lib32/crt1.o libc6-dev-i386 glibc-devel.i686
	row command debuginfod debuginfod elfutils-debuginfod
	row command bsdtar libarchive-tools bsdtar
	row command bzip2 bzip2 bzip2
	row command ps procps procps-ng
	row command dpkg-deb dpkg dpkg
	row command dwz dwz dwz
	row command ld.lld lld lld
	row command mold mold mold
	row command go golang-go golang
	row command rustc rustc rust
	# gimli, which Rust's own backtraces use
	row file "$(ls -d /usr/share/cargo/registry/addr2line-* 2>/dev/null | head -n 1)" \
		librust-addr2line-dev rust-addr2line-devel
	row command node nodejs nodejs
	row command chromium chromium chromium
	row command javac default-jdk-headless java-latest-openjdk-devel
	row file /usr/lib/x86_64-linux-gnu/openblas-pthread libopenblas0-pthread openblas
	row command musl-gcc musl-tools musl-gcc
	# a kernel module is built against any version of them
	row file "$(ls -d /usr/src/linux-headers-*/.config /usr/src/kernels/*/.config 2>/dev/null | head -n 1)" \
		"linux-headers-$(dpkg --print-architecture 2>/dev/null)" kernel-devel
}

echo "libraries and tools:"
look
[ -z "$missing_apt" ] && exit 0

sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
if command -v apt-get >/dev/null 2>&1; then
	echo "installing:$missing_apt"
	# shellcheck disable=SC2086
	# A package that asks something would wait for an answer to what nobody can see.
	install="$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends"
	$install $missing_apt >/dev/null 2>&1 || {
		$sudo apt-get update -q >/dev/null && $install $missing_apt >/dev/null
	}
elif command -v dnf >/dev/null 2>&1; then
	echo "installing:$missing_dnf"
	# shellcheck disable=SC2086
	set -- $missing_dnf
	[ $# = 0 ] || $sudo dnf install -y -q "$@"
else
	echo "deps: neither apt-get nor dnf here; please install by hand:$missing_apt" >&2
	exit 1
fi
