#!/bin/bash
# The law of includes (HACKING.md): a folder includes base/ and the one public header of folders that
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
check base "base/$any"
check reader "(base|reader)/$any"
check modules "(base|modules)/$any|reader/reader.h"
check unwind "(base|unwind)/$any|reader/reader.h|modules/modules.h"
check symbolize "(base|symbolize)/$any|reader/reader.h|modules/modules.h"
check output "(base|output)/$any|(reader/reader|unwind/unwind|modules/modules|symbolize/symbolize).h"
check capture "(base|capture)/$any|reader/(reader|format).h|modules/modules.h"
exit $status
