#!/usr/bin/env bash
# Opens the explorer of `serve` in a real browser, Debian's Chromium: sets up positions and reads their values, plays a game to its
# end, steps through a review, on a wide and a narrow screen, in light and dark. Screenshots go to the directory that SCREENSHOTS
# names, if it does.
#
#   tests/explorer.sh /path/to/ziggurat
#
# Exit code 3: there is no browser, see browser.sh.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/browser.sh"

# A board of its own, with squares that are safe or grant rolls alone.
cat >"$dir/own.toml" <<'TOML'
name = "own-board"
board = ["ooo", "ooo", ".o.", "o*o"]
path = [[1, 2], [1, 1], [2, 1], [2, 2], [2, 3], [2, 4], [1, 4]]
safe = [[2, 2], [2, 4]]
rolls_again = [[2, 3], [2, 4]]
captures_grant_rolls = false
dice = { 0 = "1/4", 1 = "1/2", 2 = "1/4" }
pieces = 2
TOML
readonly HOSTILE=$'<img src=x onerror=alert(1)>\u202e"\'&#'
"$ziggurat" solve finkel --pieces 2 --json --out "$dir/finkel-2.zgt" >/dev/null
"$ziggurat" solve murray --pieces 1 --json --out "$dir/murray-1.zgt" >/dev/null
"$ziggurat" solve --ruleset "$dir/own.toml" --json --out "$dir/own.zgt" >/dev/null
cp "$dir/finkel-2.zgt" "$dir/$HOSTILE.zgt"
"$ziggurat" best "$dir/finkel-2.zgt" 4,8/12 --json >"$dir/best.json"
"$ziggurat" review "$here/data/games/finkel2-0.rgn" --table "$dir/finkel-2.zgt" --json >"$dir/review.json"
printf '0123456789abcdef-secret\n' >"$dir/token"

# serve NAME ARGUMENT...: starts a server, and waits for its address, which goes to $dir/NAME.
serve() {
    "$ziggurat" serve "${@:2}" --listen 127.0.0.1:0 >"$dir/$1" 2>"$dir/$1.log" &
    pids+=($!)
    until [[ -s "$dir/$1" ]]; do
        kill -0 "${pids[-1]}" || { cat "$dir/$1.log" >&2 && exit 1; }
        sleep 0.1
    done
}
serve open "$dir"/*.zgt
serve guarded "$dir/finkel-2.zgt" --token-file "$dir/token"

drive explorer "$(<"$dir/open")" "$(<"$dir/guarded")" "$dir" "$here/data/games/finkel2-0.rgn" "$HOSTILE"
