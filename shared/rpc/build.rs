//! Compiles the protocol; no `protoc` is needed.

use std::{error::Error, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    println!("cargo::rerun-if-changed={}", folder.display());
    let files = ["control", "data", "jobs"].map(|name| format!("ziggurat/v1/{name}.proto"));
    let descriptors = protox::compile(files, [&folder])?;
    tonic_prost_build::configure().bytes(".").compile_fds(descriptors)?;
    Ok(())
}
