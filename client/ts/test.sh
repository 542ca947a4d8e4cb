#!/usr/bin/env bash
# Checks the types, bundles the tests and runs them in Node. Needs Go, node >= 20 and npm.
#
#   ./test.sh [PATTERN]     the files test/PATTERN.test.ts
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

if [[ ! -d node_modules || package-lock.json -nt node_modules ]]; then
	npm ci --ignore-scripts
	touch node_modules
fi
node_modules/.bin/tsc
shopt -s nullglob
files=(test/${1:-*}.test.ts)
rm -rf build
go -C bundle run . -node build "${files[@]}"
WORLDD_ROOT=$(cd ../.. && pwd) node --test build/
