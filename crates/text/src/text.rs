//! Texts that people name: read whole, but no further than is sensible, whatever stands there.

use crate::missing::explained;
#[cfg(unix)]
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Why a text cannot be read: a sentence without its subject.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// The file system refused.
    #[error("cannot be read: {0}")]
    Refused(io::Error),
    /// It is a folder.
    #[error("is a folder, where a file is wanted")]
    Folder,
    /// It has no end, or one that is too far away.
    #[error("has more than {0} bytes, the most that is read")]
    TooLong(u64),
    /// It is not UTF-8 from this byte on.
    #[error("is not a text file (byte {0} is not UTF-8)")]
    NotText(usize),
    /// A named pipe without a writer, which would be waited for without end.
    #[error("is a pipe that nobody writes to")]
    NoWriter,
}

/// The sentence has the error's own words: as its source it would be told twice.
impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Self {
        Self::Refused(error)
    }
}

/// The text of a file, of at most so many bytes. Devices and pipes (`<(command)`) are read too.
///
/// # Errors
/// Why there is none.
pub fn read_text(file: &Path, most: u64) -> Result<String, Unreadable> {
    let text = String::from_utf8(read_bytes(file, most)?);
    text.map_err(|error| Unreadable::NotText(error.utf8_error().valid_up_to()))
}

/// The same of a file that a spreadsheet may have written: UTF-16 with a byte order mark, UTF-8, or
/// else Windows-1252.
///
/// # Errors
/// As [`read_text`], but for the encoding.
pub fn read_any_text(file: &Path, most: u64) -> Result<String, Unreadable> {
    Ok(decode(read_bytes(file, most)?))
}

/// What Windows-1252 has from 0x80 to 0x9f, where ISO 8859-1 has control characters; what it leaves
/// free stays what it is there (WHATWG Encoding Standard).
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

fn decode(bytes: Vec<u8>) -> String {
    let utf16 = |word: fn([u8; 2]) -> u16| {
        let pairs = bytes[2..].chunks_exact(2);
        let words = pairs.map(|pair| word([pair[0], pair[1]]));
        let all = char::decode_utf16(words);
        all.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect()
    };
    match bytes[..] {
        [0xff, 0xfe, ..] => return utf16(u16::from_le_bytes),
        [0xfe, 0xff, ..] => return utf16(u16::from_be_bytes),
        _ => {}
    }
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let western = error.as_bytes().iter().map(|&byte| match byte {
            0x80..=0x9f => WINDOWS_1252[usize::from(byte - 0x80)],
            byte => char::from(byte),
        });
        western.collect()
    })
}

fn read_bytes(file: &Path, most: u64) -> Result<Vec<u8>, Unreadable> {
    let (file, mut bytes) = open(file).map_err(|why| match why {
        Unreadable::Refused(error) => explained(file, error).into(),
        other => other,
    })?;
    file.take(most + 1 - bytes.len() as u64)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(Unreadable::TooLong(most));
    }
    Ok(bytes)
}

/// A file, and what was read of it to find out whether anybody writes to it.
#[cfg(unix)]
fn open(file: &Path) -> Result<(File, Vec<u8>), Unreadable> {
    use rustix::io::Errno;
    use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};

    // Opening a pipe waits for its writer unless told not to.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(file)?;
    let mut first = [0; 1];
    let is_pipe = file.metadata()?.file_type().is_fifo();
    let bytes = match (&file).read(&mut first) {
        // Without a writer a pipe ends at once; with one it has nothing yet.
        Ok(0) if is_pipe => return Err(Unreadable::NoWriter),
        Ok(count) => first[..count].to_vec(),
        Err(error) if error.raw_os_error() == Some(Errno::AGAIN.raw_os_error()) => Vec::new(),
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
            return Err(Unreadable::Folder);
        }
        Err(error) => return Err(error.into()),
    };
    wait(&file)?;
    Ok((file, bytes))
}

/// A browser has no files, and says so.
#[cfg(not(unix))]
fn open(file: &Path) -> Result<(File, Vec<u8>), Unreadable> {
    Ok((File::open(file)?, Vec::new()))
}

/// From now on reading waits for data.
#[cfg(unix)]
fn wait(file: &File) -> io::Result<()> {
    let flags = fcntl_getfl(file)?;
    Ok(fcntl_setfl(file, flags - OFlags::NONBLOCK)?)
}

#[cfg(test)]
mod tests {
    use super::decode;

    /// Encoded by `iconv -t` of glibc.
    #[test]
    fn spreadsheets_are_read_as_they_write() {
        let little = b"\xff\xfeC\0a\0f\0\xe9\0 \0\xac\x20\x3d\xd8\xe1\xdc";
        let big = b"\xfe\xff\0C\0a\0f\0\xe9\0 \x20\xac\xd8\x3d\xdc\xe1";
        for (bytes, text) in [
            (&little[..], "Café €\u{1f4e1}"),
            (&big[..], "Café €\u{1f4e1}"),
            ("Café €".as_bytes(), "Café €"),
            (b"Caf\xe9 \x80 \x93Stra\xdfe\x94", "Café € “Straße”"),
            (b"\xff\xfe", ""),
            (b"\xfe\xffx", ""),
            (b"", ""),
        ] {
            assert_eq!(decode(bytes.to_vec()), text);
        }
    }
}
