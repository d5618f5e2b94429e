//! The keyboard.
//!
//! A thread of its own waits for what is typed: the terminal's library would look for it in a loop that, once the terminal
//! is closed, never ends.

use std::{
    io::{self, Read},
    sync::mpsc::{self, Receiver},
    thread,
};

/// What `Ctrl-C` types where it is no signal.
const CONTROL_C: u8 = 3;

/// What begins the sequences that other keys type.
const ESCAPE: u8 = 27;

/// A key that means something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Key {
    /// `q` or Ctrl-C.
    Leaves,
}

/// Tells the keys that are typed. The channel closes when nothing can be typed any more.
pub fn listen() -> Receiver<Key> {
    let (sender, keys) = mpsc::channel();
    thread::spawn(move || {
        tell(io::stdin(), |key| sender.send(key).is_ok());
    });
    keys
}

/// Tells keys until nothing more can be read, or `tell` returns false.
fn tell(mut typed: impl Read, mut tell: impl FnMut(Key) -> bool) {
    let mut bytes = [0; 256];
    loop {
        match typed.read(&mut bytes) {
            Ok(0) => return,
            Ok(read) if is_leaving(&bytes[..read]) && !tell(Key::Leaves) => return,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

fn is_leaving(typed: &[u8]) -> bool {
    typed[0] != ESCAPE && typed.iter().any(|&key| matches!(key, b'q' | CONTROL_C))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q_and_control_c_leave_and_other_keys_do_not() {
        for (leaves, typed) in [
            (true, &b"q"[..]),
            (true, b"\x03"),
            (true, b"xq"),
            (false, b"x"),
            (false, b"Q"),
            (false, b"\x1b"),
            // A function key, and with Alt.
            (false, b"\x1b[15~"),
            (false, b"\x1bq"),
        ] {
            assert_eq!(is_leaving(typed), leaves, "{typed:?}");
        }
    }

    #[test]
    fn a_terminal_that_is_gone_ends_the_listening() {
        struct Gone;
        impl Read for Gone {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::from_raw_os_error(5))
            }
        }
        let mut told = 0;
        tell(b"q".as_slice().chain(Gone), |key| {
            told += usize::from(key == Key::Leaves);
            true
        });
        assert_eq!(told, 1);
    }
}
