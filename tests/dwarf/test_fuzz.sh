#!/bin/bash
# Damaged debug sections of real files: no crash, no sanitizer report, no hang (tool_fuzz.c). The
# same seeds every time; more with LONG=1 or SEEDS=100000.
tool=$BUILD/tests/dwarf/tool_fuzz
src=$TOP/tests/dwarf/sources
seeds=${SEEDS:-$([ "$LONG" ] && echo 500 || echo 100)}
status=0

fuzz() { # NAME FILE [PACKAGE]
	if "$tool" "$2" 1 "$seeds" $3 2>"$1.log"; then
		echo "ok - $1"
	else
		echo "not ok - $1"; tail -c 3000 "$1.log"; status=1
	fi
}

variant() { # NAME COMPILER...
	local name=$1
	shift
	command -v "$1" >/dev/null || { echo "ok - $name # SKIP no $1"; return; }
	"$@" -O2 -g "$src/chain.cc" "$src/other.cc" -o "$name" || { status=1; return; }
	fuzz "$name" "$name"
}

split() { # NAME VERSION
	command -v clang++ >/dev/null && command -v llvm-dwp >/dev/null || { echo "ok - $1 # SKIP no clang"; return; }
	clang++ -std=c++17 -O2 -g "-gdwarf-$2" -gsplit-dwarf "$src/chain.cc" "$src/other.cc" -o "$1" &&
		llvm-dwp -e "$1" -o "$1.package" && rm -f ./*.dwo || { status=1; return; }
	fuzz "$1" "$1" "$1.package"
}

variant gcc5 g++ -gdwarf-5
variant gcc4 g++ -gdwarf-4
variant gcc-lto g++ -flto
variant clang5 clang++ -std=c++17 -gdwarf-5
variant clang4 clang++ -std=c++17 -gdwarf-4 -fdebug-types-section
split package4 4
split package5 5
gcc -O2 -g -c "$src/other.c" -o relocatable.o && fuzz relocatable relocatable.o
exit $status
