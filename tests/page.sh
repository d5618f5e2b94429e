#!/usr/bin/env bash
# Opens a page that `review --html` wrote in a real browser, Debian's Chromium: it draws, steps by keyboard, fits a narrow screen, and
# asks nothing of the network. Screenshots go to the directory that SCREENSHOTS names, if it does.
#
#   tests/page.sh /path/to/ziggurat
#
# Exit code 3: there is no python3, chromium or chromedriver (apt-get install chromium chromium-driver).
set -euo pipefail

readonly MISSING=3
ziggurat=$(realpath "${1:?name the program to be tested}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
for tool in python3 chromium chromedriver; do
    if ! command -v "$tool" >/dev/null; then
        echo "page.sh: SKIPPED: there is no $tool" >&2
        exit "$MISSING"
    fi
done

dir=$(mktemp -d)
driver=
finish() {
    if [[ -n $driver ]]; then
        kill "$driver" 2>/dev/null || true
        wait "$driver" 2>/dev/null || true
    fi
    rm -rf "$dir"
}
trap finish EXIT

"$ziggurat" solve finkel --pieces 2 --json --out "$dir/finkel-2.zgt" >/dev/null
"$ziggurat" review "$here/data/games/finkel2-0.rgn" --table "$dir/finkel-2.zgt" --html "$dir/page.html" --json >"$dir/review.json"

port=$(shuf -i 20000-29999 -n 1)
chromedriver --port="$port" >"$dir/chromedriver.log" 2>&1 &
driver=$!
python3 "$here/page.py" "http://127.0.0.1:$port" "$dir/page.html" "$dir/review.json" "${SCREENSHOTS:-}"
