//! Places of arrays: ranges of values, in order, without overlaps.

use std::ops::Range;

/// Places of arrays, in order, without overlaps.
pub type Places = Vec<Range<usize>>;

/// Puts places in order; those that touch, or are no further than `gap` from each other, are taken together.
pub fn tidy(places: &mut Places, gap: usize) {
    places.retain(|place| !place.is_empty());
    places.sort_unstable_by_key(|place| place.start);
    places.dedup_by(|next, last| {
        let touches = next.start <= last.end + gap;
        if touches {
            last.end = last.end.max(next.end);
        }
        touches
    });
}

/// Those of some places that are not among others.
pub fn without(places: &[Range<usize>], others: &[Range<usize>]) -> Places {
    let mut left = Vec::new();
    for place in places {
        let mut start = place.start;
        let first = others.partition_point(|other| other.end <= start);
        for other in others[first..].iter().take_while(|other| other.start < place.end) {
            if start < other.start {
                left.push(start..other.start);
            }
            start = other.end;
        }
        if start < place.end {
            left.push(start..place.end);
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_touch_are_one() {
        let mut places = vec![500..600, 0..0, 0..10, 5..100, 150..200, 590..700, 1000..1001];
        tidy(&mut places, 64);
        assert_eq!(places, [0..200, 500..700, 1000..1001]);
        tidy(&mut places, 300);
        assert_eq!(places, std::slice::from_ref(&(0..1001)));
    }

    #[test]
    fn places_without_others_are_what_is_left() {
        let places = [0..10, 20..30, 40..50, 60..70];
        assert_eq!(without(&places, &[]), places);
        assert!(without(&places, &[0..50, 50..100]).is_empty());
        let left = without(&places, &[2..4, 6..25, 40..41, 45..62, 69..80]);
        assert_eq!(left, [0..2, 4..6, 25..30, 41..45, 62..69]);
    }
}
