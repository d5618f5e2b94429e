#!/usr/bin/env bash
# Checks the units: that systemd understands every line, and how much they could do to the machine (0 is nothing,
# 10 everything). Needs systemd-analyze; no systemd need be running.
set -euo pipefail

# shellcheck source=../common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

need systemd-analyze

# The most exposure that is accepted, times ten.
readonly MOST_EXPOSED=20

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# The program and the settings are not where the units look for them on a machine that only checks them.
for unit in coordinator worker; do
    sed "s|/usr/local/bin/ziggurat|/bin/true|" "$deploy/systemd/ziggurat-$unit.service" >"$scratch/ziggurat-$unit.service"
done
messages=$(systemd-analyze verify --man=no "$scratch"/*.service 2>&1) || fail "$messages"
# What it only warns of, such as settings it does not know, is wrong here as well.
! grep -F "$scratch" <<<"$messages" || fail "systemd-analyze verify has something to say"

for unit in coordinator worker; do
    systemd-analyze security --offline=true --threshold="$MOST_EXPOSED" --no-pager "$scratch/ziggurat-$unit.service" |
        grep "Overall exposure" || fail "ziggurat-$unit.service is more exposed than $MOST_EXPOSED tenths"
done
