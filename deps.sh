#!/bin/sh
# deps.sh [build|demo|test] - installs what is missing to build unspool, to see its demo, to run its tests
# (the default; each includes those before it). Says so before it downloads anything; says nothing when
# all is there. Without root and sudo it prints the command for root.
set -u
group=${1:-test}
case $group in build | demo | test) ;; *) echo "usage: deps.sh [build|demo|test]" >&2; exit 2 ;; esac

# GROUP KIND WHAT, and the package that has it in Debian 12 (and what is made of it), Debian 13, Debian sid, Fedora.
# = is Debian 12's name, - none (since Debian 13 the headers bring a whole kernel along, which would become the next one
# to boot). KIND is header, command or file (a pattern).
table() {
	arch=$(dpkg --print-architecture 2>/dev/null)
	cat <<-TABLE
		build command cc			gcc			=	=	gcc
		build command make			make			=	=	make
		build header gelf.h			libelf-dev		=	=	elfutils-libelf-devel
		build header elfutils/libdwfl.h		libdw-dev		=	=	elfutils-devel
		build header zlib.h			zlib1g-dev		=	=	zlib-devel
		build header lzma.h			liblzma-dev		=	=	xz-devel
		build header zstd.h			libzstd-dev		=	=	libzstd-devel
		build header isa-l.h			libisal-dev		=	=	isa-l-devel
		build header libiberty/demangle.h	libiberty-dev		=	=	binutils-devel
		build header traceevent/event-parse.h	libtraceevent-dev	=	=	libtraceevent-devel
		build header ncurses.h			libncurses-dev		=	=	ncurses-devel
		build header capstone/capstone.h	libcapstone-dev		=	=	capstone-devel
		demo command g++			g++			=	=	gcc-c++
		demo file /usr/share/doc/libc6-dbg	libc6-dbg		=	=	-
		test file /usr/include/cmocka.h		libcmocka-dev		=	=	libcmocka-devel
		test command python3			python3			=	=	python3
		test command perf			linux-perf		=	=	perf
		test command clang			clang			=	=	clang
		test command readelf			binutils		=	=	binutils
		test command gdb			gdb			=	=	gdb
		test command strace			strace			=	=	strace
		test command eu-addr2line		elfutils		=	=	elfutils
		test command llvm-symbolizer		llvm			=	=	llvm
		test command tmux			tmux			=	=	tmux
		test command callgrind_annotate		valgrind		=	=	valgrind
		test command protoc			protobuf-compiler	=	=	protobuf-compiler
		test command clickhouse-server		clickhouse-server	-	-	-
		test command clickhouse-client		clickhouse-client	-	-	-
		test file /usr/sbin/slurmctld		slurmctld		-	-	-
		test file /usr/sbin/slurmd		slurmd			-	-	-
		test command sbatch			slurm-client		-	-	-
		test file /usr/sbin/munged		munge			-	-	-
		test command openssl			openssl			=	=	openssl
		test command cmark-gfm			cmark-gfm		=	=	cmark-gfm
		test command qemu-aarch64		qemu-user		=	=	qemu-user
		test command gdb-multiarch		gdb-multiarch		=	=	gdb
		test command aarch64-linux-gnu-gcc	gcc-aarch64-linux-gnu	=	=	gcc-aarch64-linux-gnu
		test command aarch64-linux-gnu-g++	g++-aarch64-linux-gnu	=	=	gcc-c++-aarch64-linux-gnu
		test file /usr/aarch64-linux-gnu/lib/libc.so.6 libc6-dev-arm64-cross	=	=	-
		test file /usr/lib32/crt1.o		libc6-dev-i386		=	=	glibc-devel.i686
		test file /usr/lib/*/libdebuginfod.so.1	libdebuginfod1		=	=	elfutils-debuginfod-client
		test command debuginfod			debuginfod		=	=	elfutils-debuginfod
		test command bsdtar			libarchive-tools	=	=	bsdtar
		test command bzip2			bzip2			=	=	bzip2
		test command xz				xz-utils		=	=	xz
		test command zstd			zstd			=	=	zstd
		test command jq			jq			=	=	jq
		test command curl			curl			=	=	curl
		test command less			less			=	=	less
		test command man			man-db			=	=	man-db
		test command mandoc			mandoc			=	=	mandoc
		test command ps				procps			=	=	procps-ng
		test command file			file			=	=	file
		test command dpkg-deb			dpkg			=	=	dpkg
		test command dwz			dwz			=	=	dwz
		test command ld.lld			lld			=	=	lld
		test command mold			mold			=	=	mold
		test command go				golang-go		=	=	golang
		test command rustc			rustc			=	=	rust
		test file /usr/share/cargo/registry/addr2line-*	librust-addr2line-dev	=	=	rust-addr2line-devel
		test command node			nodejs			=	=	nodejs
		test command javac			default-jdk-headless	=	=	java-latest-openjdk-devel
		test command luajit			luajit			=	=	luajit
		test command php			php-cli			=	=	php-cli
		test command erlc			erlang-base		=	=	erlang-erts
		test file /usr/lib/python3/dist-packages/scipy python3-scipy	=	=	python3-scipy
		test command chromium			chromium		=	=	chromium
		test file /usr/lib/*/openblas-pthread	libopenblas0-pthread	=	=	openblas
		test file /usr/lib/*/libjemalloc.so.2	libjemalloc2		=	=	jemalloc
		test file /usr/lib/*/libtcmalloc_minimal.so.4	libtcmalloc-minimal4	libtcmalloc-minimal4t64	libtcmalloc-minimal4t64	gperftools-libs
		test command musl-gcc			musl-tools		=	=	musl-gcc
		test header sys/sdt.h			systemtap-sdt-dev	=	=	systemtap-sdt-devel
		test file /usr/src/*/.config		linux-headers-$arch	-	-	kernel-devel
		test command debootstrap		debootstrap		=	=	debootstrap
		test command unshare			util-linux		=	=	util-linux
		test command pivot_root			util-linux		=	util-linux-extra	util-linux
	TABLE
}

is_here() { # KIND WHAT
	case $1 in
	header) echo "#include <$2>" | "${CC:-cc}" -fsyntax-only -xc - 2>/dev/null ;;
	command) command -v "$2" >/dev/null 2>&1 ;;
	file) # shellcheck disable=SC2086 # a pattern
		ls -d $2 >/dev/null 2>&1 ;;
	esac
}

column=4
if command -v apt-get >/dev/null 2>&1; then
	# shellcheck disable=SC1091
	case $(. /etc/os-release && echo "${VERSION_CODENAME:-sid}") in
	trixie) column=5 ;;
	sid | forky) column=6 ;;
	esac
elif command -v dnf >/dev/null 2>&1; then
	column=7
else
	column=0
fi

# What is missing, in the names of this distribution. Fedora has some of these files elsewhere: there rpm is asked, too.
missing() {
	table | while read -r in kind what debian12 debian13 sid fedora; do
		case $group/$in in build/demo | build/test | demo/test) continue ;; esac
		is_here "$kind" "$what" && continue
		case $column in
		5) name=$debian13 ;;
		6) name=$sid ;;
		7) name=$fedora ;;
		*) name=$debian12 ;;
		esac
		[ "$name" = = ] && name=$debian12
		[ $column = 7 ] && rpm -q "$name" >/dev/null 2>&1 && continue
		[ "$name" = - ] || printf ' %s' "$name"
	done
}

packages=$(missing)
[ -n "$packages" ] || exit 0

case $column in
0)
	echo "deps: neither apt-get nor dnf here; please install, by Debian's names:$packages" >&2
	exit 1
	;;
7) install="dnf install -y -q" ;;
# Another apt may be at work: on a fresh machine, the upgrades of its first hour.
*) install="apt-get -o DPkg::Lock::Timeout=600 install -y -q --no-install-recommends" ;;
esac
sudo=
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null 2>&1 && sudo=sudo || {
		echo "deps: packages are missing; as root: $install$packages" >&2
		exit 1
	}
fi

run() { # as root; a package that asks something would wait for an answer to a question that is not shown
	$sudo env DEBIAN_FRONTEND=noninteractive "$@"
}
if [ $column = 7 ]; then
	echo "deps: installing$packages"
	# shellcheck disable=SC2086
	run $install $packages
	exit
fi
ls /var/lib/apt/lists/*Packages* >/dev/null 2>&1 || run apt-get -o DPkg::Lock::Timeout=600 update -q >/dev/null
# shellcheck disable=SC2086
plan() { LC_ALL=C apt-get install --print-uris -y --no-install-recommends $packages 2>&1; }
# Lists that are too old name packages that are gone.
plan | grep -q '^E: \(Unable to locate\|Package .* has no installation\)' && run apt-get -o DPkg::Lock::Timeout=600 update -q >/dev/null
plan | awk '
	/ newly installed,/ { n = $3 }
	/^Need to get / { sub(/^Need to get /, ""); sub(/ of archives.*/, ""); get = $0 }
	/^After this operation/ { sub(/^After this operation, /, ""); sub(/ of additional.*/, ""); disk = $0 }
	END { if (n) printf "deps: installing packages: %s, %s to download, %s on disk\n", n, get, disk }'
log=$(mktemp)
# shellcheck disable=SC2086
run $install $packages >"$log" 2>&1 || {
	# The mirror may have newer files than the lists say.
	run apt-get -o DPkg::Lock::Timeout=600 update -q >/dev/null && run $install $packages >"$log" 2>&1
} || {
	grep '^[EW]: ' "$log" >&2 || tail -n 5 "$log" >&2
	echo "deps: could not install:$packages" >&2
	rm -f "$log"
	exit 1
}
rm -f "$log"
