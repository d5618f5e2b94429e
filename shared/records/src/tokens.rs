//! Pieces of a text with their places.

use crate::Place;

/// A word of a text and where it begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token<'t> {
    pub(crate) text: &'t str,
    pub(crate) place: Place,
}

/// The words of a text, split at spaces and line breaks, from a place on.
#[derive(Clone, Debug)]
pub(crate) struct Tokens<'t> {
    rest: &'t str,
    place: Place,
}

impl<'t> Tokens<'t> {
    pub(crate) fn new(text: &'t str, place: Place) -> Self {
        Self { rest: text, place }
    }

    /// Where the next word would begin: after all spaces.
    pub(crate) fn place(&self) -> Place {
        let mut ahead = self.clone();
        ahead.skip_spaces();
        ahead.place
    }

    pub(crate) fn peek(&self) -> Option<Token<'t>> {
        self.clone().next()
    }

    fn skip_spaces(&mut self) {
        let rest = self.rest.trim_start();
        for c in self.rest[..self.rest.len() - rest.len()].chars() {
            self.place = match c {
                '\n' => Place { line: self.place.line + 1, column: 1 },
                _ => Place { column: self.place.column + 1, ..self.place },
            };
        }
        self.rest = rest;
    }
}

impl<'t> Iterator for Tokens<'t> {
    type Item = Token<'t>;

    fn next(&mut self) -> Option<Token<'t>> {
        self.skip_spaces();
        let place = self.place;
        let end = self.rest.find(char::is_whitespace).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.place.column += text.chars().count();
        (!text.is_empty()).then_some(Token { text, place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_their_lines_and_columns() {
        let tokens = Tokens::new("a  bc\r\n\n ü d", Place { line: 3, column: 5 });
        let found: Vec<(&str, usize, usize)> =
            tokens.map(|it| (it.text, it.place.line, it.place.column)).collect();
        assert_eq!(found, [("a", 3, 5), ("bc", 3, 8), ("ü", 5, 2), ("d", 5, 4)]);
    }
}
