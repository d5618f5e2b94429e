//! Noticing that the HTTP/2 implementation gives up on a peer: it then sends a GOAWAY frame with an error
//! code (RFC 9113, section 6.8), which is looked for among the frames that are sent.

/// Length in 3 bytes, type, flags, stream in 4 bytes.
const HEADER_BYTES: usize = 9;

/// The header, the last stream in 4 bytes, the error code in 4 bytes.
const GOODBYE_BYTES: usize = HEADER_BYTES + 8;

const GOAWAY: u8 = 7;

/// Where in the frames that are sent the next byte stands.
#[derive(Debug, Default)]
pub(crate) struct Goodbyes {
    /// The beginning of a frame, as far as it was sent.
    start: [u8; GOODBYE_BYTES],
    started: usize,
    /// Bytes until the next frame begins.
    skip: usize,
}

impl Goodbyes {
    /// Looks through the next bytes that are sent. Returns the error code of a GOAWAY frame that tells one.
    pub fn look(&mut self, mut sent: &[u8]) -> Option<u32> {
        let mut found = None;
        loop {
            let skipped = self.skip.min(sent.len());
            (self.skip, sent) = (self.skip - skipped, &sent[skipped..]);
            let Some((&byte, rest)) = sent.split_first() else { return found };
            sent = rest;
            self.start[self.started] = byte;
            self.started += 1;
            let is_goodbye = self.started >= HEADER_BYTES && self.start[3] == GOAWAY;
            let wanted = if is_goodbye { GOODBYE_BYTES } else { HEADER_BYTES };
            if self.started == wanted {
                let [a, b, c, ..] = self.start;
                let length = u32::from_be_bytes([0, a, b, c]) as usize;
                self.skip = (HEADER_BYTES + length).saturating_sub(wanted);
                self.started = 0;
                if is_goodbye && let [.., e, f, g, h] = self.start {
                    let code = u32::from_be_bytes([e, f, g, h]);
                    found = found.or((code != 0).then_some(code));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
        let length = (payload.len() as u32).to_be_bytes();
        [&length[1..], &[kind, 0, 0, 0, 0, 0], payload].concat()
    }

    #[test]
    fn an_error_is_found_wherever_the_bytes_are_cut() {
        let protocol_error = frame(GOAWAY, b"\0\0\0\x05\0\0\0\x01because");
        let sent = [frame(4, &[]), frame(0, &[7; 300]), protocol_error, frame(6, &[0; 8])].concat();
        for cut in 0..=sent.len() {
            let mut goodbyes = Goodbyes::default();
            let found = [&sent[..cut], &sent[cut..]].map(|part| goodbyes.look(part));
            assert_eq!(found.into_iter().flatten().collect::<Vec<_>>(), [1], "cut at {cut}");
        }
    }

    #[test]
    fn a_shutdown_without_error_is_none() {
        let sent = frame(GOAWAY, &[0; 8]);
        assert_eq!(Goodbyes::default().look(&sent), None);
    }
}
