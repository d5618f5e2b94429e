# What scripts that open pages in a real browser, Debian's Chromium, have in common; they source this with the program's path.
#
# Sets $ziggurat, $here and $dir, a directory that is removed in the end, as processes whose numbers are in $pids are ended.
# Exit code 3: there is no python3, chromium or chromedriver (apt-get install chromium chromium-driver).

readonly MISSING=3
ziggurat=$(realpath "${1:?name the program to be tested}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
for tool in python3 chromium chromedriver; do
    if ! command -v "$tool" >/dev/null; then
        echo "$(basename "$0"): SKIPPED: there is no $tool" >&2
        exit "$MISSING"
    fi
done

# shellcheck source=tests/servers.sh
source "$here/servers.sh"

# drive NAME ARGUMENT...: runs NAME.py with the address of a browser's driver and the arguments.
drive() {
    local port
    port=$(shuf -i 20000-29999 -n 1)
    chromedriver --port="$port" >"$dir/chromedriver.log" 2>&1 &
    pids+=($!)
    python3 "$here/$1.py" "http://127.0.0.1:$port" "${@:2}" "${SCREENSHOTS:-}"
}
