#!/usr/bin/env bash
# Watches a job of a real coordinator with two workers in a real browser, Debian's Chromium: from submission to solved, with a
# worker that is killed on the way. Hostile names appear as text, a coordinator with a token shows nothing without it, and the
# page asks nothing of the network. Screenshots go to the directory that SCREENSHOTS names, if it does.
#
#   tests/dashboard.sh /path/to/ziggurat
#
# Exit code 3: there is no browser, see browser.sh.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/browser.sh"

drive dashboard "$ziggurat" "$dir"
