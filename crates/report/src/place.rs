//! Reading a file at a place, whoever else reads it: each system has its own call for that.

use std::fs::File;
use std::io::{self, ErrorKind};

/// As much as one call reads from a place on.
pub(crate) fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    #[cfg(windows)]
    return std::os::windows::fs::FileExt::seek_read(file, bytes, at);
    #[cfg(not(windows))]
    std::os::unix::fs::FileExt::read_at(file, bytes, at)
}

/// All bytes from a place on.
pub(crate) fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match read_at(file, &mut bytes[done..], at + done as u64) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => done += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
