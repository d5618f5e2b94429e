#!/usr/bin/env bash
# Checks the scripts of the pages in web/assets: their types by TypeScript's compiler, from the comments in them, and what a linter
# finds. Both come from the registry of npm, in the versions that are named here.
#
#   tests/scripts.sh
#
# Exit code 3: there is no Node.js, or no registry to install them from.
set -euo pipefail

readonly MISSING=3
readonly PACKAGES=(typescript@5.9.2 oxlint@1.14.0)
web=$(cd "$(dirname "${BASH_SOURCE[0]}")/../web" && pwd)
for tool in node npm; do
    if ! command -v "$tool" >/dev/null; then
        echo "scripts.sh: SKIPPED: there is no $tool" >&2
        exit "$MISSING"
    fi
done

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if ! npm install --no-audit --no-fund --silent --fetch-retries 1 --prefix "$dir" "${PACKAGES[@]}" >"$dir/log" 2>&1; then
    echo "scripts.sh: SKIPPED: npm cannot install ${PACKAGES[*]}" >&2
    exit "$MISSING"
fi
"$dir/node_modules/.bin/tsc" --project "$web/tsconfig.json"
"$dir/node_modules/.bin/oxlint" --silent --deny-warnings "$web/assets"

# What a page loads has to fit: all of it together in 120 kB.
bytes=$(cat "$web"/assets/* | wc -c)
if ((bytes >= 120 * 1024)); then
    echo "scripts.sh: web/assets has $bytes bytes; 120 KiB are the limit" >&2
    exit 1
fi
