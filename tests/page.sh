#!/usr/bin/env bash
# Opens a page that `review --html` wrote in a real browser, Debian's Chromium: it draws, steps by keyboard, fits a narrow screen, and
# asks nothing of the network. Screenshots go to the directory that SCREENSHOTS names, if it does.
#
#   tests/page.sh /path/to/ziggurat
#
# Exit code 3: there is no browser, see browser.sh.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/browser.sh"

"$ziggurat" solve finkel --pieces 2 --json --out "$dir/finkel-2.zgt" >/dev/null
"$ziggurat" review "$here/data/games/finkel2-0.rgn" --table "$dir/finkel-2.zgt" --html "$dir/page.html" --json >"$dir/review.json"

drive page "$dir/page.html" "$dir/review.json"
