#!/usr/bin/env bash
# Watches a job of a real coordinator with two workers in a real browser, Debian's Chromium: from submission to solved, with a
# worker that is killed on the way. Hostile names appear as text, a coordinator with a token shows nothing without it, and the
# page asks nothing of the network. Screenshots go to the directory that SCREENSHOTS names, if it does.
#
#   tests/dashboard.sh /path/to/ziggurat
#
# Exit code 3: there is no python3, chromium or chromedriver (apt-get install chromium chromium-driver).
set -euo pipefail

readonly MISSING=3
ziggurat=$(realpath "${1:?name the program to be tested}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
for tool in python3 chromium chromedriver; do
    if ! command -v "$tool" >/dev/null; then
        echo "dashboard.sh: SKIPPED: there is no $tool" >&2
        exit "$MISSING"
    fi
done

dir=$(mktemp -d)
port=$(shuf -i 20000-29999 -n 1)
chromedriver --port="$port" >"$dir/chromedriver.log" 2>&1 &
driver=$!
finish() {
    kill "$driver" 2>/dev/null || true
    wait "$driver" 2>/dev/null || true
    rm -rf "$dir"
}
trap finish EXIT

python3 "$here/dashboard.py" "http://127.0.0.1:$port" "$ziggurat" "$dir" "${SCREENSHOTS:-}"
