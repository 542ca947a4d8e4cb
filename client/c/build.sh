#!/usr/bin/env bash
# Builds libworldd: build.sh shared|static FOLDER. It writes the library, worldd.h, worldd.pc and a CMake package to
# FOLDER/lib and FOLDER/include. Needs Go, bash and a C compiler; CC, GOOS and GOARCH select another system.
set -euo pipefail
kind=${1:?usage: build.sh shared|static FOLDER}
mkdir -p "${2:?usage: build.sh shared|static FOLDER}/lib/cmake/worldd" "$2/include"
to=$(cd "$2" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")"
command -v go >/dev/null || {
	echo "build.sh: go is not installed: get Go 1.26 from https://go.dev/dl" >&2
	exit 1
}
number() { sed -n "s/^#define WD_VERSION_$1 //p" worldd.h; }
major=$(number MAJOR) version=$(number MAJOR).$(number MINOR).$(number PATCH)
system=$(go env GOOS)
case $kind.$system in
shared.windows) mode=c-shared file=worldd.dll link= ;;
shared.darwin) mode=c-shared file=libworldd.dylib link= ;;
shared.*) # exports nothing but worldd.h, and cannot be unloaded
	mode=c-shared file=libworldd.so.$version
	link="-Wl,-soname,libworldd.so.$major -Wl,--version-script=$PWD/exports.map -Wl,-z,nodelete"
	;;
static.*) mode=c-archive file=libworldd.a link= ;;
*)
	echo "build.sh: $kind: want shared or static" >&2
	exit 2
	;;
esac
echo "build.sh: compiling $to/lib/$file; the first time takes minutes" >&2
CGO_ENABLED=1 go build -buildvcs=false -buildmode=$mode -ldflags="-s -w -extldflags '$link'" -o "$to/lib/$file" .
rm -f "$to/lib/"{libworldd,worldd}.h "$to/lib/libworldd.so.$version.h" "$to/lib/libworldd.so.$major.h" "$to/lib/libworldd.so.$(number MAJOR).$(number MINOR).h" # cgo's own
if [[ $file == libworldd.so.* ]]; then
	ln -sf "$file" "$to/lib/libworldd.so.$major"
	ln -sf "$file" "$to/lib/libworldd.so"
fi
cp worldd.h "$to/include/"
fill() { sed "s,@VERSION@,$version,g; s,@MAJOR@,$major,g; s,@FILE@,$file,g; s,@PREFIX@,$to,g" "$1.in" >"$2/$1"; }
fill worldd.pc "$to/lib"
fill worldd-config.cmake "$to/lib/cmake/worldd"
fill worldd-config-version.cmake "$to/lib/cmake/worldd"
