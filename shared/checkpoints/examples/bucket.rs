//! A bucket of Google Cloud Storage, in memory, with the name `bucket`: writes the key that it is reached with, which
//! is to be in `GOOGLE_SERVICE_ACCOUNT_KEY`, and serves until it is killed. `tests/clouds.sh` starts it.

#[path = "../tests/bucket/server.rs"]
#[expect(dead_code, reason = "it can misbehave, too")]
mod server;

use server::{Bucket, Dialect};

#[tokio::main]
async fn main() {
    let bucket = Bucket::talking(Dialect::Google, |_| None).await;
    let variables = bucket.variables();
    let key = variables.iter().find(|(name, _)| name == "GOOGLE_SERVICE_ACCOUNT_KEY");
    println!("{}", key.expect("it says how it is reached").1);
    std::future::pending().await
}
