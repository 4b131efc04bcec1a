//! Files that may be packed with gzip (RFC 1952), as captures often are.

use flate2::read::MultiGzDecoder;
use std::io::{self, Chain, Cursor, ErrorKind, Read};

/// How the ways to pack that are known by name begin, but for gzip.
const OTHERS: [(&[u8], &str); 4] = [
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"PK\x03\x04", "zip"),
];
/// The longest of these beginnings.
const BEGINNING: usize = 6;

/// A file's bytes, unpacked where they were packed.
#[derive(Debug)]
pub enum Unpacked<R> {
    /// As they are.
    Plain(Chain<Cursor<Vec<u8>>, R>),
    /// Packed with gzip.
    Gzip(Box<MultiGzDecoder<Chain<Cursor<Vec<u8>>, R>>>),
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(input) => input.read(buffer),
            Self::Gzip(input) => input.read(buffer),
        }
    }
}

/// Looks whether a file is packed. Give it a buffered reader.
///
/// # Errors
/// When it cannot be read, or is packed in another way than gzip, which the message names.
pub fn unpacked<R: Read>(mut input: R) -> io::Result<Unpacked<R>> {
    let mut begins = Vec::new();
    input
        .by_ref()
        .take(BEGINNING as u64)
        .read_to_end(&mut begins)?;
    if let Some((_, way)) = OTHERS.iter().find(|(start, _)| begins.starts_with(start)) {
        let message = format!("is packed with {way}; unpack it first");
        return Err(io::Error::new(ErrorKind::InvalidData, message));
    }
    let is_gzip = begins.starts_with(&[0x1f, 0x8b]);
    let input = Cursor::new(begins).chain(input);
    Ok(if is_gzip {
        Unpacked::Gzip(Box::new(MultiGzDecoder::new(input)))
    } else {
        Unpacked::Plain(input)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut read = Vec::new();
        unpacked(bytes)?.read_to_end(&mut read)?;
        Ok(read)
    }

    #[test]
    fn gzip_is_unpacked_and_the_rest_left_as_it_is() {
        let level = flate2::Compression::default();
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), level);
        packer.write_all(b"some text").unwrap();
        let mut packed = packer.finish().unwrap();
        assert_eq!(read(&packed).unwrap(), b"some text");
        // Of several members all count, as gzip has it.
        packed.extend(packed.clone());
        assert_eq!(read(&packed).unwrap(), b"some textsome text");
        for plain in [&b""[..], b"abc", b"some text"] {
            assert_eq!(read(plain).unwrap(), plain);
        }
    }

    #[test]
    fn other_ways_to_pack_are_named() {
        for (begins, way) in OTHERS {
            let said = read(begins).unwrap_err().to_string();
            assert!(said.contains(way), "{said}");
        }
    }
}
