//! Which characters can be shown: where the locale has letters, digits and signs of ASCII alone, pictures are drawn with
//! these. Names stay as they are.

use std::{borrow::Cow, env, ffi::OsString, sync::OnceLock};

/// Whether the locale has no more than ASCII.
pub fn is_ascii() -> bool {
    static IS_ASCII: OnceLock<bool> = OnceLock::new();
    *IS_ASCII.get_or_init(|| is_ascii_with(|name| env::var_os(name)))
}

/// Whether a locale has no more than ASCII, given the variables of the environment. Where they say nothing, as in many
/// containers, a terminal shows UTF-8 nevertheless; where they say `C`, somebody said so.
fn is_ascii_with(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let said = |name: &&str| variable(name).filter(|value| !value.is_empty());
    let Some(locale) = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(said) else { return false };
    // LANGUAGE_COUNTRY.CHARSET@VARIANT; some systems have the charset alone.
    let locale = locale.to_string_lossy().to_lowercase();
    let locale = locale.split('@').next().unwrap_or_default();
    let charset = locale.rsplit('.').next().unwrap_or_default();
    !["utf-8", "utf8"].contains(&charset)
}

/// A text as it can be shown.
pub fn shown(text: &str) -> Cow<'_, str> {
    if is_ascii() { Cow::Owned(in_ascii(text)) } else { Cow::Borrowed(text) }
}

/// A text with pictures in ASCII.
pub fn in_ascii(text: &str) -> String {
    text.chars().map(ascii).collect()
}

/// The sign of ASCII that stands for one of a picture; other characters stay.
fn ascii(c: char) -> char {
    match c {
        // boards, frames and axes
        '─' | '═' => '-',
        '│' | '║' => '|',
        '┌' | '┐' | '└' | '┘' | '├' | '┤' | '┬' | '┴' | '┼' => '+',
        '╭' | '╮' | '╰' | '╯' => '+',
        // marks of squares, and pieces: own, the opponent's, and both on later laps
        '✿' => '*',
        '◆' => '#',
        '↻' => '>',
        '●' => 'x',
        '◉' => 'X',
        '○' => 'o',
        '◎' => 'O',
        // how far something is
        '█' => '#',
        '▓' => '%',
        '▒' => '=',
        '░' => '.',
        // curves of dots
        '\u{2800}' => ' ',
        '\u{2801}'..='\u{28ff}' | '•' => '*',
        '…' => '.',
        '×' => 'x',
        '±' => '~',
        '–' | '—' => '-',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use ziggurat_game::Ruleset;

    use super::*;

    #[test]
    fn a_locale_has_what_its_charset_has() {
        let is_ascii = |set: &[(&str, &str)]| {
            let find = |name: &str| set.iter().find(|(set, _)| *set == name);
            is_ascii_with(|name| find(name).map(|(_, value)| value.into()))
        };
        assert!(!is_ascii(&[]));
        assert!(!is_ascii(&[("LC_ALL", ""), ("LANG", "")]));
        for locale in ["C", "POSIX", "en_US", "de_DE.ISO-8859-1", "de_DE@euro", "ja_JP.eucJP"] {
            assert!(is_ascii(&[("LANG", locale)]), "{locale}");
            assert!(is_ascii(&[("LC_CTYPE", locale), ("LANG", "C.UTF-8")]), "{locale}");
            assert!(is_ascii(&[("LC_ALL", locale), ("LC_CTYPE", "C.UTF-8")]), "{locale}");
        }
        for locale in ["C.UTF-8", "en_GB.utf8", "UTF-8", "sr_RS.UTF-8@latin"] {
            assert!(!is_ascii(&[("LC_ALL", locale), ("LANG", "C")]), "{locale}");
        }
    }

    #[test]
    fn every_board_can_be_drawn_in_ascii() {
        for name in Ruleset::builtin_names() {
            let ruleset = Ruleset::builtin(name).unwrap();
            let drawn = in_ascii(&ruleset.draw());
            assert!(drawn.is_ascii(), "{name}: {drawn}");
            assert_eq!(drawn.chars().count(), ruleset.draw().chars().count());
        }
        let text = "extends = \"finkel\"\nname = \"Größe\"\nsafe = [[2, 6], [2, 4]]\nrolls_again = [[2, 4], [2, 7]]";
        let ruleset = Ruleset::from_toml(text, "").unwrap();
        let position = ruleset.parse_position("4,10/8").unwrap();
        let drawn = in_ascii(&ruleset.draw_position(&position));
        assert!(
            drawn.is_ascii() && drawn.contains("| x4  |") && drawn.contains("| x10#|"),
            "{drawn}"
        );
        // What is no picture stays.
        assert_eq!(in_ascii("Größe 名"), "Größe 名");
    }
}
