//! Numbers with the interval in which the true one lies.

/// A number that was computed, and between which two the true one lies.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bounded {
    /// What was computed.
    pub value: f64,
    /// The true number is no less.
    pub low: f64,
    /// The true number is no more.
    pub high: f64,
}

impl Bounded {
    /// A number that is no further than `error` from the true one.
    pub fn within(value: f64, error: f64) -> Self {
        Self { value, low: value - error, high: value + error }
    }

    /// The largest distance that the true number may have from the computed one.
    pub fn error(&self) -> f64 {
        (self.high - self.value).max(self.value - self.low)
    }

    /// Whether a number may be the true one.
    pub fn contains(&self, number: f64) -> bool {
        (self.low..=self.high).contains(&number)
    }

    /// The standard deviation of what has this mean and this second moment, none below 0.
    pub(crate) fn deviation(mean: Self, square: Self) -> Self {
        let root = |square: f64, mean: f64| (square - mean * mean).max(0.0).sqrt();
        Self {
            value: root(square.value, mean.value),
            low: root(square.low, mean.high),
            high: root(square.high, mean.low),
        }
    }
}
