//! Compiles the protocol; no `protoc` is needed.

use std::{env, error::Error, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    // Where the crate is now, which need not be where this program was compiled.
    let here = env::var("CARGO_MANIFEST_DIR")?;
    let folder = Path::new(&here).join("../../proto");
    println!("cargo::rerun-if-changed={}", folder.display());
    let files = ["control", "data", "jobs"].map(|name| format!("ziggurat/v1/{name}.proto"));
    let descriptors = protox::compile(files, [&folder])?;
    tonic_prost_build::configure().bytes(".").compile_fds(descriptors)?;
    Ok(())
}
