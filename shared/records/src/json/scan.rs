//! Where an element of an array is in a text that is known to be JSON.

use crate::Place;

/// The place of element `index` of the array under a key of the outermost object; the start if there is none.
pub(super) fn place_of(text: &str, key: &str, index: Option<usize>) -> Place {
    offset_of(text, key, index).map_or(Place::START, |offset| Place::after(&text[..offset]))
}

fn offset_of(text: &str, key: &str, index: Option<usize>) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = skip_spaces(bytes, 0);
    loop {
        // At the brace or a comma, then a key, a colon and a value.
        let start = skip_spaces(bytes, at + 1);
        let end = skip_value(bytes, start);
        let name: String = serde_json::from_str(text.get(start..end)?).ok()?;
        let value = skip_spaces(bytes, skip_spaces(bytes, end) + 1);
        if name == key {
            return index.map_or(Some(value), |index| element(bytes, value, index));
        }
        at = skip_spaces(bytes, skip_value(bytes, value));
    }
}

/// The offset of an element of the array at an offset.
fn element(bytes: &[u8], array: usize, index: usize) -> Option<usize> {
    let mut at = skip_spaces(bytes, array + 1);
    for _ in 0..index {
        at = skip_spaces(bytes, skip_spaces(bytes, skip_value(bytes, at)) + 1);
    }
    (at < bytes.len()).then_some(at)
}

fn skip_spaces(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

/// The offset after the value at an offset.
fn skip_value(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at += 1;
                while bytes.get(at).is_some_and(|&byte| byte != b'"') {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return at,
            b'}' | b']' => depth -= 1,
            b',' | b':' | b' ' | b'\n' | b'\r' | b'\t' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
        if depth == 0 && matches!(byte, b'"' | b'}' | b']') {
            return at;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_found_behind_strings_and_brackets() {
        let text = "{\"a\\\"]\": [\"}\", {\"x\": [1, 2]}],\n \"states\" : [ {\"b\":1},\n  22 , \"c\"] , \"z\": 1}";
        let place = |index| {
            let Place { line, column } = place_of(text, "states", index);
            (line, column)
        };
        assert_eq!(place(None), (2, 13));
        assert_eq!(place(Some(0)), (2, 15));
        assert_eq!(place(Some(1)), (3, 3));
        assert_eq!(place(Some(2)), (3, 8));
        assert_eq!(place_of(text, "none", None), Place::START);
    }
}
