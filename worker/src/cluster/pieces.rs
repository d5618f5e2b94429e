//! Saved numbers on their way to whoever fetches them: piece by piece, packed.

use std::{iter, ops::Range, time::Duration};

use tokio::time::timeout;
use tonic::{Status, Streaming};
use xxhash_rust::xxh3::Xxh3;
use ziggurat_packing::{pack, unpack};
use ziggurat_rpc::{
    limits::CHUNK_BYTES,
    proto::{FetchReply, Span},
};

/// A piece of numbers of `width` bytes each: at most [`CHUNK_BYTES`]. The last has a checksum of all.
///
/// # Errors
/// If there is no memory to compress it.
pub fn packed(numbers: &[u8], width: usize, checksum: Option<u64>) -> Result<FetchReply, Status> {
    let mut data = Vec::new();
    pack(numbers, width, &mut data).map_err(|error| Status::unavailable(error.to_string()))?;
    Ok(FetchReply { data: data.into(), bytes: numbers.len() as u32, checksum })
}

/// Receives `len` bytes of numbers of `width` bytes each, piece by piece, in order: `take` gets each piece as it came and its
/// numbers. They are right only if this returns well.
///
/// # Errors
/// DEADLINE_EXCEEDED if nothing comes for `silence`, DATA_LOSS if it is not as many bytes or they do not match their checksum.
pub async fn receive(
    mut pieces: Streaming<FetchReply>,
    (len, width): (usize, usize),
    silence: Duration,
    mut take: impl FnMut(&FetchReply, &[u8]),
) -> Result<(), Status> {
    let lost = |what: String| Err(Status::data_loss(what));
    let silent = |_| Status::deadline_exceeded(format!("it has been silent for {silence:?}"));
    let (mut received, mut checksum) = (0, Xxh3::new());
    while let Some(piece) = timeout(silence, pieces.message()).await.map_err(silent)?? {
        let numbers = unpacked(&piece, width)?;
        received += numbers.len();
        if received > len {
            return lost(format!("it sends more than the {len} bytes that it was asked for"));
        }
        checksum.update(&numbers);
        take(&piece, &numbers);
        match piece.checksum {
            None => {}
            Some(_) if received < len => {
                return lost(format!("it sends {received} bytes instead of {len}"));
            }
            Some(told) if told != checksum.digest() => {
                return lost("what it sends does not match its checksum".to_owned());
            }
            Some(_) => {
                // Whoever drops a stream before its end resets it, and a connection bears only so many resets.
                let rest = async { while let Ok(Some(_)) = pieces.message().await {} };
                drop(timeout(silence, rest).await);
                return Ok(());
            }
        }
    }
    lost("it ended without a checksum".to_owned())
}

/// The bytes of a piece of numbers of `width` bytes each.
pub(super) fn unpacked(piece: &FetchReply, width: usize) -> Result<Vec<u8>, Status> {
    let len = piece.bytes as usize;
    if len > CHUNK_BYTES || !len.is_multiple_of(width) {
        return Err(Status::data_loss(format!("a piece of {len} bytes came")));
    }
    let mut numbers = vec![0; len];
    unpack(&piece.data, width, &mut numbers).map_err(Status::data_loss)?;
    Ok(numbers)
}

/// The spans that ask for some places of a range of `len` numbers; none if that is all.
pub fn spans_of(places: &[Range<usize>], len: usize) -> Vec<Span> {
    if matches!(places, [all] if *all == (0..len)) {
        return Vec::new();
    }
    let span = |place: &Range<usize>| Span { start: place.start as u64, count: place.len() as u64 };
    places.iter().map(span).collect()
}

/// The places that spans ask for, of a range of `len` numbers.
///
/// # Errors
/// INVALID_ARGUMENT if there are no such places.
pub fn places_of(spans: &[Span], len: u64) -> Result<Vec<Range<u64>>, Status> {
    if spans.is_empty() {
        return Ok(iter::once(0..len).collect());
    }
    let mut last = 0;
    let place = |&Span { start, count }: &Span| {
        let end = start.checked_add(count).filter(|&end| count > 0 && end <= len);
        let end = end.filter(|_| start >= last);
        last = end.ok_or_else(|| Status::invalid_argument("the range has no such numbers"))?;
        Ok(start..last)
    };
    spans.iter().map(place).collect()
}

/// Of the numbers of a range from place `start` on, as bytes, those at some places.
pub fn chosen(numbers: &[u8], width: usize, start: u64, places: &[Range<u64>]) -> Vec<u8> {
    let end = start + (numbers.len() / width) as u64;
    let first = places.partition_point(|place| place.end <= start);
    let among = places[first..].iter().take_while(|place| place.start < end);
    let byte = |place: u64| (place.clamp(start, end) - start) as usize * width;
    let mut chosen = Vec::with_capacity(numbers.len());
    among.for_each(|p| chosen.extend_from_slice(&numbers[byte(p.start)..byte(p.end)]));
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_back() {
        let numbers: Vec<u8> = (0..4000_u32).flat_map(|i| (i * i).to_le_bytes()).collect();
        let mut piece = packed(&numbers, 4, None).unwrap();
        assert!(piece.data.len() < numbers.len());
        assert_eq!(unpacked(&piece, 4).unwrap(), numbers);
        for wrong in [0, 3, 15_996, 16_004, u32::MAX] {
            piece.bytes = wrong;
            assert!(unpacked(&piece, 4).is_err(), "{wrong}");
        }
    }

    #[test]
    fn spans_ask_for_places() {
        let places = [3..5, 7..8, 8..20];
        let spans = spans_of(&places, 20);
        assert_eq!(places_of(&spans, 20).unwrap(), [3..5, 7..8, 8..20]);
        assert!(places_of(&spans, 19).is_err());
        let all = 0..20;
        assert!(spans_of(std::slice::from_ref(&all), 20).is_empty());
        assert_eq!(places_of(&[], 20).unwrap(), std::slice::from_ref(&(0..20)));
        let wrong = [[(4, 0), (5, 1)], [(4, 2), (5, 1)], [(9, 1), (3, 1)], [(1, 1), (2, u64::MAX)]];
        for spans in wrong.map(|spans| spans.map(|(start, count)| Span { start, count })) {
            assert!(places_of(&spans, 20).is_err(), "{spans:?}");
        }
    }

    #[test]
    fn what_is_chosen_is_at_its_places() {
        let numbers: Vec<u8> = (10..20_u16).flat_map(u16::to_le_bytes).collect();
        let chosen: Vec<u16> = chosen(&numbers, 2, 10, &[0..3, 5..12, 14..15, 18..30, 40..41])
            .chunks(2)
            .map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
            .collect();
        assert_eq!(chosen, [10, 11, 14, 18, 19]);
    }
}
