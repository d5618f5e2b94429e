#![no_main]

use ziggurat_records::{Rules, json, read, rgn};

// What is read is written, and read again as the same game.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(game) = read(bytes, Rules::Infer) else { return };
    let rules = Rules::Known(&game.ruleset);
    assert_eq!(game.turns().len(), game.actions.len());
    if let Ok(text) = rgn::write(&game) {
        let again = read(text.as_bytes(), rules).expect("what was written is read");
        assert_eq!(rgn::write(&again), Ok(text));
    }
    if let Ok(text) = json::write(&game) {
        let again = read(text.as_bytes(), rules).expect("what was written is read");
        assert_eq!(again.actions, game.actions);
    }
});
