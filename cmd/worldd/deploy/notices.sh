#!/bin/sh
# Prints the licences of Go and of the modules that are in a program, for those who distribute it:
#
#   cmd/worldd/deploy/notices.sh ./cmd/worldd > NOTICES
set -eu
print() { # NAME FOLDER
	found=
	for file in "$2"/LICEN[CS]E* "$2"/COPYING* "$2"/NOTICE*; do
		[ -f "$file" ] || continue
		found=yes
		printf '==== %s: %s\n\n' "$1" "${file##*/}"
		cat "$file"
		echo
	done
	[ "$found" ] || { echo "no licence of $1 in $2" >&2; exit 1; }
}
print "Go $(go env GOVERSION)" "$(go env GOROOT)"
modules=$(go list -deps -f '{{with .Module}}{{.Path}} {{.Version}} {{.Dir}}{{end}}' "$1" | sort -u)
echo "$modules" | while read -r path version dir; do
	[ -n "$dir" ] || { dir=$version; version=; } # the module of this folder has no version
	print "$path${version:+ $version}" "$dir"
done
