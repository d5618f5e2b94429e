//! The format of a list of candidates.

/// The operation of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Nothing: it ends the runs of a slab.
    End,
    /// Sets rows to [`Value::NONE`]; the successors for all rows but columns name them.
    FillRows,
    /// The same for columns.
    FillColumns,
    /// Sets rows to those of a source.
    SetRows,
    /// Raises rows to those of a source.
    RaiseRows,
    /// Sets columns to those of a source.
    SetColumns,
    /// Raises columns to those of a source.
    RaiseColumns,
    /// Raises single values to those of a source.
    Picked,
    /// Raises single values to the negated ones of a source.
    Single,
    /// Sets blocks to those of a source, transposed.
    SetTransposed,
    /// Raises blocks to those of a source, transposed.
    RaiseTransposed,
}

pub const KINDS: [Kind; 11] = [
    Kind::End,
    Kind::FillRows,
    Kind::FillColumns,
    Kind::SetRows,
    Kind::RaiseRows,
    Kind::SetColumns,
    Kind::RaiseColumns,
    Kind::Picked,
    Kind::Single,
    Kind::SetTransposed,
    Kind::RaiseTransposed,
];

/// The words before the numbers of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    pub kind: Kind,
    /// The place of the roll among those above 0.
    pub roll: usize,
    /// Which of the roll's offers: of complete and plain ones together, or of those to roll again.
    pub successor: usize,
    /// Which run of rows of one length, if it is rows.
    pub run: usize,
    /// How many numbers follow.
    pub len: usize,
}

impl Head {
    pub const WORDS: usize = 3;
    pub const END: Self = Self { kind: Kind::End, roll: 0, successor: 0, run: 0, len: 0 };

    /// The head in words; `None` if a number in it is too large.
    pub fn pack(self) -> Option<[u16; Self::WORDS]> {
        let byte = |number: usize| u8::try_from(number).ok();
        Some([
            u16::from_le_bytes([self.kind as u8, byte(self.roll)?]),
            u16::from_le_bytes([byte(self.successor)?, byte(self.run)?]),
            u16::try_from(self.len).ok()?,
        ])
    }

    #[inline(always)]
    pub fn unpack([first, second, len]: [u16; Self::WORDS]) -> Self {
        let [kind, roll] = first.to_le_bytes().map(usize::from);
        let [successor, run] = second.to_le_bytes().map(usize::from);
        Self { kind: KINDS[kind % KINDS.len()], roll, successor, run, len: len as usize }
    }
}

/// Reads the candidates of a pair of slabs.
pub struct Reader<'a> {
    pub rest: &'a [u16],
}

impl<'a> Reader<'a> {
    /// Reads a list of candidates from its beginning.
    pub fn new(words: &'a [u16]) -> Self {
        Self { rest: words }
    }

    #[inline(always)]
    pub fn next(&mut self, len: usize) -> &'a [u16] {
        self.rest.split_off(..len).expect("a list of candidates is as long as it says")
    }

    #[inline(always)]
    pub fn head(&mut self) -> Head {
        let words = self.next(Head::WORDS);
        Head::unpack([words[0], words[1], words[2]])
    }

    /// Which of the rows and values that the next block may take from others of its slab it takes.
    #[inline(always)]
    pub fn within(&mut self) -> [&'a [u16]; 2] {
        let counts = self.next(2);
        [self.next(counts[0] as usize), self.next(counts[1] as usize)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_what_was_packed() {
        for kind in KINDS {
            let head = Head { kind, roll: 3, successor: 255, run: 16, len: 65_535 };
            assert_eq!(Head::unpack(head.pack().unwrap()), head);
            assert_eq!(Head { roll: 256, ..head }.pack(), None);
            assert_eq!(Head { len: 65_536, ..head }.pack(), None);
        }
    }
}
