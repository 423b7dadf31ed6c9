#!/bin/sh
# completions.sh COMMAND DIR - writes completions of a command for bash, zsh and fish into a folder: DIR/NAME, DIR/_NAME,
# DIR/NAME.fish. What there is comes from its --help, which is printed from the table that parses the options.
set -eu
command=$1
name=$(basename "$command")
dir=$2

# LETTER LONG HELP, separated by tabs; '-' where there is none.
"$command" --help | awk '
	/^  (-[A-Za-z](, )?)?(--[a-z-]+)?/ && /^  (-|    --)/ {
		line = $0; letter = "-"; long = "-"
		if (match(line, /^  -[A-Za-z]/)) letter = substr(line, 4, 1)
		if (match(line, /--[a-z-]+/)) long = substr(line, RSTART + 2, RLENGTH - 2)
		help = length(line) > 26 ? substr(line, 27) : ""
		sub(/^ +/, "", help); gsub(/["`$\\]/, "", help); gsub(/\047/, "", help)
		print letter "\t" long "\t" help
	}' >"$dir/$name.options"

{
	echo "# bash completion of $name, made from its --help"
	printf "_%s() {\n\tlocal cur=\${COMP_WORDS[COMP_CWORD]}\n\tcase \$cur in\n\t-*) COMPREPLY=(\$(compgen -W '" "$name"
	awk -F'\t' '{ if ($1 != "-") printf "-%s ", $1; if ($2 != "-") printf "--%s ", $2 }' "$dir/$name.options"
	printf "' -- \"\$cur\")) ;;\n\t*) COMPREPLY=(\$(compgen -f -- \"\$cur\")) ;;\n\tesac\n}\ncomplete -o filenames -F _%s %s\n" "$name" "$name"
} >"$dir/$name"

{
	echo "#compdef $name"
	printf "_arguments"
	awk -F'\t' '{ h = $3; gsub(/\[|\]|:/, " ", h)
		if ($1 != "-") printf " \\\n\t\047-%s[%s]\047", $1, h
		if ($2 != "-") printf " \\\n\t\047--%s[%s]\047", $2, h }' "$dir/$name.options"
	printf " \\\n\t'*:file:_files'\n"
} >"$dir/_$name"

awk -F'\t' -v name="$name" 'BEGIN { print "# fish completion of " name ", made from its --help" }
	{ printf "complete -c %s", name
	  if ($1 != "-") printf " -s %s", $1
	  if ($2 != "-") printf " -l %s", $2
	  printf " -d \047%s\047\n", $3 }' "$dir/$name.options" >"$dir/$name.fish"
rm "$dir/$name.options"
