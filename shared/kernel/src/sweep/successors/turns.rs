//! The turns of pairs of positions: those of one turn neither read nor write what another one writes.

/// The turns in which the values of a unit are read and written.
pub struct Turns {
    read: Vec<u32>,
    written: Vec<u32>,
}

impl Turns {
    /// Nobody has had a turn, of so many values.
    pub fn new(values: usize) -> Self {
        Self { read: vec![0; values], written: vec![0; values] }
    }

    /// The turn of a pair that reads some values and writes some: the first one after those that write what it reads,
    /// and those that read or write what it writes. Turns count from 1.
    pub fn next(
        &mut self,
        reads: impl Iterator<Item = usize> + Clone,
        writes: impl Iterator<Item = usize> + Clone,
    ) -> u32 {
        let last_writer = reads.clone().map(|value| self.written[value]);
        let last_user = writes.clone().map(|value| self.written[value].max(self.read[value]));
        let turn = last_writer.chain(last_user).max().unwrap_or(0) + 1;
        reads.for_each(|value| self.read[value] = self.read[value].max(turn));
        writes.for_each(|value| self.written[value] = turn);
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_comes_after_all_that_it_depends_on() {
        let mut turns = Turns::new(4);
        let mut next = |reads: &[usize], writes: usize| {
            turns.next(reads.iter().copied(), std::iter::once(writes))
        };
        assert_eq!(next(&[1, 2], 0), 1);
        assert_eq!(next(&[1], 3), 1); // independent
        assert_eq!(next(&[0, 1], 2), 2); // reads what the first has written, and writes what it has read
        assert_eq!(next(&[3], 1), 3); // writes what the others have read, the last of them in turn 2
        assert_eq!(next(&[2], 2), 3); // its own value is no obstacle, but the turn that wrote it
    }
}
