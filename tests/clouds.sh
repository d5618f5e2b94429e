#!/usr/bin/env bash
# Runs the checkpoint store's tests in a container of Azurite, Microsoft's emulator of Azure Blob Storage, and in a
# bucket of a server that talks like Google Cloud Storage; and a cluster in each that loses a worker and goes on with
# what it saved there. All is started here, on this host alone, and gone afterwards.
#
# Azurite needs Node.js and, once, npm: it is installed into ~/.cache/ziggurat/azurite. For Google's the server is
# shared/checkpoints/examples/bucket.rs: no emulator has the XML API with conditional writes and objects in parts
# (fake-gcs-server, Google's storage-testbench and gcp-storage-emulator have the JSON API). Real ones are tested with
#   export ZIGGURAT_TEST_STORE=gs://BUCKET GOOGLE_SERVICE_ACCOUNT=FILE
#   cargo test --workspace --test clouds -- --include-ignored
set -euo pipefail
cd "$(dirname "$0")/.."

cache=$HOME/.cache/ziggurat/azurite
azurite=$cache/node_modules/.bin/azurite-blob
if [[ ! -x $azurite ]]; then
    npm install --silent --no-fund --no-audit --prefix "$cache" azurite@3
fi

# shellcheck source=tests/servers.sh
source tests/servers.sh

# tests URL: of the crate, and of a cluster.
tests() {
    echo "$1"
    export ZIGGURAT_TEST_STORE=$1
    cargo test --workspace --test clouds -- --include-ignored
    cargo test --workspace --test end-to-end -- --include-ignored with_a_bucket
}

cargo build --workspace --example bucket
"${CARGO_TARGET_DIR:-target}/debug/examples/bucket" >"$dir/google" 2>&1 &
pids+=($!)
wait_until 'a server like Google'\''s' "$dir/google" grep -qs gcs_base_url "$dir/google"
GOOGLE_SERVICE_ACCOUNT_KEY=$(head -n 1 "$dir/google") GOOGLE_ALLOW_HTTP=true tests gs://bucket

port=$(shuf -i 20000-29999 -n 1)
export AZURE_STORAGE_ACCOUNT_NAME=ziggurat AZURE_STORAGE_ACCOUNT_KEY
AZURE_STORAGE_ACCOUNT_KEY=$(head -c 64 /dev/urandom | base64 -w 0)
export AZURITE_ACCOUNTS=$AZURE_STORAGE_ACCOUNT_NAME:$AZURE_STORAGE_ACCOUNT_KEY
export AZURE_STORAGE_ENDPOINT=http://127.0.0.1:$port/$AZURE_STORAGE_ACCOUNT_NAME AZURE_ALLOW_HTTP=true
# Versions of the protocol are newer in the library than in Azurite at times.
"$azurite" --blobPort "$port" --location "$dir/azure" --silent --skipApiVersionCheck >"$dir/azurite" 2>&1 &
pids+=($!)
wait_until Azurite "$dir/azurite" listens "$port"
signature=$(node - <<'NODE'
// Makes a container, by a request that is signed with the account's key, and writes a shared access signature for all
// of the account's blobs.
const crypto = require("crypto");
const of = (name) => process.env[`AZURE_STORAGE_${name}`];
const [account, key, endpoint] = ["ACCOUNT_NAME", "ACCOUNT_KEY", "ENDPOINT"].map(of);
const date = new Date().toUTCString(), version = "2023-11-03";
const signed = [`x-ms-date:${date}`, `x-ms-version:${version}`, `/${account}/${account}/checkpoints`];
const text = ["PUT", ...Array(11).fill(""), ...signed, "restype:container"].join("\n");
const secret = Buffer.from(key, "base64");
const sign = (text) => crypto.createHmac("sha256", secret).update(text, "utf8").digest("base64");
const headers = {"x-ms-date": date, "x-ms-version": version, Authorization: `SharedKey ${account}:${sign(text)}`};
fetch(`${endpoint}/checkpoints?restype=container`, {method: "PUT", headers}).then(async (answer) => {
    if (answer.status !== 201) {
        console.error(`clouds.sh: no container: ${answer.status} ${await answer.text()}`);
        process.exit(1);
    }
});
const end = new Date(Date.now() + 3600e3).toISOString().replace(/\..*/, "Z");
const allows = {sp: "racwdl", ss: "b", srt: "sco", st: "", se: end, sip: "", spr: "https,http", sv: version, ses: ""};
const sig = sign([account, ...Object.values(allows), ""].join("\n"));
const pairs = Object.entries({...allows, sig}).filter(([, value]) => value !== "");
console.log(pairs.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&"));
NODE
)
tests az://checkpoints
unset AZURE_STORAGE_ACCOUNT_KEY
AZURE_STORAGE_SAS_TOKEN=$signature cargo test --workspace --test clouds -- --include-ignored kept parts
