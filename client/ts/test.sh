#!/usr/bin/env bash
# Checks form and types, bundles the tests and runs them in Node; packs the package and uses it.
# Needs Go, node >= 20 and npm.
#
#   ./test.sh [PATTERN]     the files test/PATTERN.test.ts alone
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

installs=()
for package in . docs examples/phaser examples/react examples/three; do
	if [[ ! -d $package/node_modules || $package/package-lock.json -nt $package/node_modules ]]; then
		(cd $package && npm ci --ignore-scripts && touch node_modules) &
		installs+=($!)
	fi
done
for install in "${installs[@]}"; do wait "$install"; done
node_modules/.bin/biome ci --colors=off --error-on-warnings .
node_modules/.bin/tsc
node_modules/.bin/tsc -p examples/phaser
node_modules/.bin/tsc -p examples/react
node_modules/.bin/tsc -p examples/three
shopt -s nullglob
files=(test/${1:-*}.test.ts)
rm -rf build
go -C bundle run . -node build "${files[@]}"
root=$(cd ../.. && pwd)

# A game of create-worldd as its users have it, but for the release of worldd. bundle/create_test.go plays it.
create() {
	npm pack --silent --pack-destination build ./create
	tar -xzf build/create-worldd-*.tgz -C build
	node build/package/index.js build/game --from "$root"
	(cd build/game && npm run build)
}
# Every exported name, and every type that it refers to, is exported and has a comment.
document() { (cd docs && node_modules/.bin/typedoc --emit none); }
if [[ $# == 0 ]]; then
	(create && document) >build/create.log 2>&1 & # waits for npm most of the time
	created=$!
fi
WORLDD_ROOT=$root node --test build/*.js

# The package as its users have it, without the registry: it has no dependencies.
if [[ $# == 0 ]]; then
	wait "$created" || { cat build/create.log >&2 && exit 1; }
	game=build/pack
	mkdir -p $game/node_modules/@worldd/client
	npm pack --silent --pack-destination build
	tar -xzf build/worldd-client-*.tgz -C $game/node_modules/@worldd/client --strip-components 1
	ln -s ../../../node_modules/@types $game/node_modules/@types
	cp test/pack/* $game
	echo '{"type": "module"}' >$game/package.json
	node_modules/.bin/tsc -p $game
	(cd $game && node main.js)
fi
