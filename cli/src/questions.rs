//! Questions on standard input, a line each, answered as they come.
//!
//! A thread reads lines ahead while others are answered. Those that are there are answered together, so that a file of many is
//! looked up in the order of the table; a line that comes alone is answered at once.

use std::{
    io::{self, BufRead, Read},
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread,
};

use ziggurat_game::without_mark;

use crate::{
    failure::{Explain, Failure},
    output,
};

/// So many lines are read ahead, and answered together, at the most.
const MOST_LINES: usize = 1 << 17;

/// Longer lines are refused: no position is that long.
const MOST_LINE_BYTES: u64 = 1 << 12;

/// A line without its end, or what is wrong with it, and its number from 1.
type Line = (u64, Result<String, Failure>);

/// Parses the lines of standard input but empty ones, and answers them in their order. All lines before one that is wrong are
/// answered.
///
/// # Errors
/// If standard input cannot be read, a line is wrong (the error has its number), or an answer fails.
pub fn answer<Q>(
    parse: impl Fn(&str) -> Result<Q, Failure>,
    mut answer: impl FnMut(&[Q]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let lines = lines_ahead();
    while let Some(group) = next_group(&lines) {
        let mut questions = Vec::with_capacity(group.len());
        let mut wrong = Ok(());
        for (number, line) in group {
            match line.and_then(|line| parse(line.trim())) {
                Ok(question) => questions.push(question),
                Err(failure) => {
                    wrong = Err(failure).context(format!("line {number} of standard input"));
                    break;
                }
            }
        }
        if !questions.is_empty() {
            answer(&questions)?;
        }
        wrong?;
        if output::reader_is_gone() {
            break;
        }
    }
    Ok(())
}

/// The lines that are there; `None` if there are no more.
fn next_group(lines: &Receiver<Line>) -> Option<Vec<Line>> {
    let mut group = vec![lines.recv().ok()?];
    group.extend(lines.try_iter().take(MOST_LINES - 1));
    Some(group)
}

/// The lines of standard input but empty ones, as they come.
fn lines_ahead() -> Receiver<Line> {
    let (sender, receiver) = sync_channel(MOST_LINES);
    // It is not waited for: it may be reading when nobody wants to know any more.
    thread::spawn(move || read_lines(io::stdin().lock(), &sender));
    receiver
}

fn read_lines(mut input: impl BufRead, to: &SyncSender<Line>) {
    for number in 1.. {
        let line = match read_line(&mut input) {
            Ok(None) => break,
            Ok(Some(line)) if number == 1 => Ok(without_mark(&line).to_owned()),
            Ok(Some(line)) => Ok(line),
            Err(failure) => Err(failure),
        };
        let is_empty = line.as_ref().is_ok_and(|line| line.trim().is_empty());
        let is_wrong = line.is_err();
        if !is_empty && to.send((number, line)).is_err() || is_wrong {
            break;
        }
    }
}

fn read_line(input: &mut impl BufRead) -> Result<Option<String>, Failure> {
    let mut line = Vec::new();
    let read = input.take(MOST_LINE_BYTES + 1).read_until(b'\n', &mut line);
    match read.context("cannot be read")? {
        0 => Ok(None),
        _ if line.len() as u64 > MOST_LINE_BYTES => {
            Err(Failure::bad_input(format!("more than {MOST_LINE_BYTES} bytes"))
                .help("write one position on each line"))
        }
        _ => {
            let line = String::from_utf8(line).context("not a text in UTF-8").or_bad_input()?;
            Ok(Some(line))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Vec<(u64, Result<String, String>)> {
        let (sender, receiver) = sync_channel(100);
        read_lines(bytes, &sender);
        drop(sender);
        let shown = |(number, line): Line| {
            (number, line.map(|line| line.trim().to_owned()).map_err(|failure| failure.report()))
        };
        receiver.into_iter().map(shown).collect()
    }

    #[test]
    fn lines_are_numbered_whatever_they_end_in() {
        let lines =
            [(1, Ok("start".to_owned())), (4, Ok("4/-".to_owned())), (5, Ok("-/3".to_owned()))];
        assert_eq!(read("\u{feff}start\r\n\r\n \n4/-\n-/3".as_bytes()), lines);
        assert_eq!(read(b""), []);
    }

    #[test]
    fn lines_that_cannot_be_read_end_the_reading() {
        let lines = read(b"start\n\xff\xfe\nstart\n");
        assert_eq!(lines.len(), 2);
        assert!(lines[1].1.as_ref().unwrap_err().contains("not a text in UTF-8"), "{lines:?}");
        let long = [&b"start\n"[..], &[b'4'; 1 << 13]].concat();
        let lines = read(&long);
        assert_eq!((lines.len(), lines[1].0), (2, 2));
        assert!(lines[1].1.as_ref().unwrap_err().contains("more than 4096 bytes"), "{lines:?}");
    }
}
