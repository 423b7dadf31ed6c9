#!/bin/sh
# deps.sh where there is dnf and no apt-get: what is missing, in Fedora's names, and nothing when rpm knows it all.
set -u
mkdir -p bin
for tool in sh cat ls awk grep mktemp rm env tail; do ln -sf "$(command -v $tool)" bin/$tool; done
script() { # NAME TEXT
	printf '#!/bin/sh\n%s\n' "$2" >"bin/$1" && chmod +x "bin/$1"
}
deps() { # GROUP
	PATH=$PWD/bin CC=cc sh "$TOP/deps.sh" "$1" 2>&1
	echo "status $?"
}
failed=0
check() { # NAME HAVE WANT
	[ "$2" = "$3" ] && echo "ok - $1" && return
	echo "not ok - $1"
	echo "$2" | sed 's/^/#   /'
	failed=1
}
script dnf "echo \"dnf \$*\""
script id "echo 0"
script rpm "[ \"\$2\" != zlib-devel ]"
check "Fedora: one package is missing" "$(deps build)" "deps: installing zlib-devel
dnf install -y -q zlib-devel
status 0"
script id "echo 1000"
check "a user without sudo: a line for root" "$(deps build)" "deps: packages are missing; as root: dnf install -y -q zlib-devel
status 1"
script rpm "true"
check "nothing is missing, nothing is said" "$(deps test)" "status 0"
rm bin/dnf
script rpm "false"
check "another distribution: Debian's names" "$(deps build | grep -o 'neither apt-get nor dnf here.* libelf-dev')" "neither apt-get nor dnf here; please install, by Debian's names: gcc make libelf-dev"
exit $failed
