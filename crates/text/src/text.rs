//! Texts that people name: read whole, but no further than is sensible, whatever stands there.

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
    Refused(#[from] io::Error),
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

/// The text of a file, of at most so many bytes. Devices and pipes (`<(command)`) are read too.
///
/// # Errors
/// Why there is none.
pub fn read_text(file: &Path, most: u64) -> Result<String, Unreadable> {
    let (file, mut bytes) = open(file)?;
    file.take(most + 1 - bytes.len() as u64)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(Unreadable::TooLong(most));
    }
    let text = String::from_utf8(bytes);
    text.map_err(|error| Unreadable::NotText(error.utf8_error().valid_up_to()))
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
