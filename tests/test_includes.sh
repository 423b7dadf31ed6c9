#!/bin/bash
# The rules of includes (HACKING.md): a folder includes base/ and the one public header of folders that
# stand before it; never a folder after it, never another folder's private header.
cd "$TOP" || exit 1
status=0
check() { # FOLDER ALLOWED-REGEX
	local bad
	bad=$(grep -rnE '^#include "[a-z_]+/' "$1" --include='*.c' --include='*.h' |
		grep -vE "#include \"($2)\"" )
	if [ -n "$bad" ]; then
		echo "not ok - includes of $1"; echo "$bad"; status=1
	else
		echo "ok - includes of $1"
	fi
}
any='[a-z0-9_]+\.h'
pub() { # FOLDER..: the public headers
	local f out=
	for f; do out="$out|$f/$f.h"; done
	printf %s "${out#|}"
}
check base "base/$any"
check reader "(base|reader)/$any"
check bundle "(base|bundle)/$any|$(pub reader)"
check modules "(base|modules)/$any|$(pub reader bundle)"
check functions "(base|functions)/$any|$(pub reader bundle modules)"
check runtimes "(base|runtimes)/$any|$(pub functions)"
check dwarf "(base|dwarf)/$any|$(pub reader modules functions)"
check cut "(base|cut)/$any|reader/format.h|$(pub reader bundle modules functions dwarf)"
check demangle "(base|demangle)/$any"
check symbolize "(base|symbolize)/$any|$(pub reader modules functions dwarf demangle)"
check unwind "(base|unwind)/$any|$(pub reader modules functions)"
check values "(base|values)/$any|$(pub reader modules functions dwarf unwind)"
check stitch "(base|stitch)/$any|$(pub reader modules functions unwind)"
check profile "(base|profile)/$any|$(pub reader modules functions demangle symbolize unwind stitch)"
check input "(base|input)/$any|$(pub reader demangle profile)"
check output "(base|output)/$any|$(pub reader modules functions demangle symbolize unwind profile)"
check load "(base|load)/$any|profile/fill.h|$(pub reader bundle modules functions cut symbolize unwind values stitch profile input)"
check report "(base|report)/$any|$(pub reader modules functions symbolize unwind stitch profile load)"
check regress "(base|regress)/$any|$(pub reader modules functions demangle unwind profile output)"
check browse "(base|browse)/$any|$(pub reader modules functions symbolize unwind profile)"
check probe "(base|probe)/$any|$(pub reader modules functions dwarf demangle)"
check capture "(base|capture)/$any|reader/format.h|$(pub reader bundle modules functions runtimes dwarf cut demangle probe)"
exit $status
