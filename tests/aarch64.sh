#!/usr/bin/env bash
# Runs the kernel's tests as a program for AArch64, in an emulator: they have to give the bits that others
# give. Needs the target, a linker and the emulator:
#   rustup target add aarch64-unknown-linux-gnu && apt-get install gcc-aarch64-linux-gnu qemu-user
# Arguments are passed on to the tests that compare whole solves (shared/kernel/tests/determinism.rs), which take
# hours in the emulator if there are none; such as `any_vector_instructions`.
set -euo pipefail

cd "$(dirname "$0")/.."
for needed in aarch64-linux-gnu-gcc qemu-aarch64; do
    if ! command -v "$needed" >/dev/null; then
        echo "aarch64.sh: there is no $needed; run: apt-get install gcc-aarch64-linux-gnu qemu-user" >&2
        exit 1
    fi
done
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$HOME/.cache/ziggurat/target}
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"
run=(cargo test --target aarch64-unknown-linux-gnu --package ziggurat-kernel)
"${run[@]}" --lib
if [[ $# -gt 0 ]]; then
    "${run[@]}" --test determinism -- "$@"
fi
