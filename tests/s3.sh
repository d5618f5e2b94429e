#!/usr/bin/env bash
# Runs the checkpoint store's tests in a bucket of a real S3 server, and a cluster that loses a worker and goes on with
# what it saved there. The server is Garage, started here, on this host alone, and gone afterwards. Needs `garage` 2.3
# or later: in GARAGE, in the PATH, or from
#   cargo install garage --root "$HOME/.cache/ziggurat/garage"
set -euo pipefail

garage=${GARAGE:-$(command -v garage || echo "$HOME/.cache/ziggurat/garage/bin/garage")}
if [[ ! -x $garage ]]; then
    echo "s3.sh: there is no Garage; run: cargo install garage --root \"\$HOME/.cache/ziggurat/garage\"" >&2
    exit 1
fi

# shellcheck source=tests/servers.sh
source "$(dirname "$0")/servers.sh"

random_hex() { od -An -N"$1" -tx1 /dev/urandom | tr -d ' \n'; }
read -r rpc api < <(shuf -i 20000-29999 -n 2 | paste -sd ' ')

cat >"$dir/garage.toml" <<CONFIG
metadata_dir = "$dir/meta"
data_dir = "$dir/data"
db_engine = "sqlite"
replication_factor = 1
rpc_bind_addr = "127.0.0.1:$rpc"
rpc_public_addr = "127.0.0.1:$rpc"
rpc_secret = "$(random_hex 32)"

[s3_api]
s3_region = "garage"
api_bind_addr = "127.0.0.1:$api"
CONFIG

export AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
AWS_ACCESS_KEY_ID=GK$(random_hex 12)
AWS_SECRET_ACCESS_KEY=$(random_hex 32)
export AWS_REGION=garage AWS_ENDPOINT="http://127.0.0.1:$api" AWS_ALLOW_HTTP=true
bucket=checkpoints
export ZIGGURAT_TEST_STORE=s3://$bucket

GARAGE_DEFAULT_ACCESS_KEY=$AWS_ACCESS_KEY_ID GARAGE_DEFAULT_SECRET_KEY=$AWS_SECRET_ACCESS_KEY \
    GARAGE_DEFAULT_BUCKET=$bucket \
    "$garage" -c "$dir/garage.toml" server --single-node --default-bucket >"$dir/log" 2>&1 &
pids+=($!)
wait_until Garage "$dir/log" listens "$api"

cd "$(dirname "$0")/.."
cargo test --workspace --test clouds -- --include-ignored
cargo test --workspace --test end-to-end -- --include-ignored with_a_bucket
