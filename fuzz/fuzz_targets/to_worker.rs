#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ziggurat_fuzz::to_worker(bytes));
