//! A column of words, texts or seeds, as it stands in a table: counted, not row by row, as it was
//! written (see `chunk`).
//!
//! Source: the encodings of the Parquet format, version 2. Columns in another encoding than
//! `RLE_DICTIONARY` are read by the library.

use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::page::Page;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::RowGroupReader;

/// What a column may hold.
pub(super) trait Word: Sized + PartialEq {
    /// The column's type.
    type Parquet: DataType;

    /// Takes one from bytes in the encoding `PLAIN`; none when they are cut off.
    fn take(bytes: &mut &[u8]) -> Option<Result<Self>>;

    /// One that the library has read.
    fn of(value: &<Self::Parquet as DataType>::T) -> Result<Self>;
}

impl Word for String {
    type Parquet = ByteArrayType;

    fn take(bytes: &mut &[u8]) -> Option<Result<Self>> {
        let (length, rest) = bytes.split_first_chunk()?;
        let (word, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        *bytes = rest;
        let text = str::from_utf8(word).map_err(|_| broken("a text is not UTF-8"));
        Some(text.map(str::to_owned))
    }

    fn of(value: &ByteArray) -> Result<Self> {
        Ok(value.as_utf8()?.to_owned())
    }
}

impl Word for i64 {
    type Parquet = Int64Type;

    fn take(bytes: &mut &[u8]) -> Option<Result<Self>> {
        let (word, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        Some(Ok(Self::from_le_bytes(*word)))
    }

    fn of(value: &Self) -> Result<Self> {
        Ok(*value)
    }
}

/// The words of a column in a row group.
#[derive(Debug)]
pub(super) struct Words<T> {
    words: Vec<T>,
    /// Rows in a row with the same word: the row behind them, and the word's number.
    stretches: Vec<(usize, u32)>,
}

/// A column of texts.
pub(super) type Texts = Words<String>;

impl<T: Word> Words<T> {
    /// Those of a column.
    pub(super) fn of(group: &dyn RowGroupReader, name: &str) -> Result<Self> {
        let place = super::read::place::<T::Parquet>(group, name)?;
        let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        let is_full = group
            .metadata()
            .schema_descr()
            .column(place)
            .max_def_level()
            == 0;
        let coded = if is_full { coded(group, place)? } else { None };
        let words = match coded {
            Some(words) => words,
            None => one_by_one(group, name, rows)?,
        };
        let found = words.stretches.last().map_or(0, |(end, _)| *end);
        if found != rows {
            return Err(broken(&format!(
                "column `{name}` has {found} of {rows} rows"
            )));
        }
        Ok(words)
    }

    /// From a row on.
    pub(super) fn from(&self, row: usize) -> Along<'_, T> {
        Along {
            all: self,
            stretch: self.stretches.partition_point(|(end, _)| *end <= row),
        }
    }

    const fn new() -> Self {
        Self {
            words: Vec::new(),
            stretches: Vec::new(),
        }
    }

    fn push(&mut self, word: u32, times: usize) -> Result<()> {
        if word as usize >= self.words.len() {
            return Err(broken("a word is not in its dictionary"));
        }
        let start = self.stretches.last().map_or(0, |(end, _)| *end);
        match self.stretches.last_mut() {
            Some((end, last)) if *last == word => *end += times,
            _ => self.stretches.push((start + times, word)),
        }
        Ok(())
    }
}

/// A column that is read from one row to the next.
pub(super) struct Along<'a, T> {
    all: &'a Words<T>,
    /// Index of the stretch of the row that was asked for last.
    stretch: usize,
}

impl<'a, T> Along<'a, T> {
    /// The word of a row, which is not before the one asked for last, and the row behind the last
    /// that follows with the same.
    pub(super) fn at(&mut self, row: usize) -> (&'a T, usize) {
        while self.all.stretches[self.stretch].0 <= row {
            self.stretch += 1;
        }
        let (end, word) = self.all.stretches[self.stretch];
        (&self.all.words[word as usize], end)
    }
}

fn broken(reason: &str) -> ParquetError {
    ParquetError::General(reason.to_owned())
}

/// A column in a dictionary; none when it is not in one throughout.
fn coded<T: Word>(group: &dyn RowGroupReader, place: usize) -> Result<Option<Words<T>>> {
    let mut pages = group.get_column_page_reader(place)?;
    let mut words = Words::new();
    while let Some(page) = pages.get_next_page()? {
        match page {
            Page::DictionaryPage {
                buf, num_values, ..
            } => {
                let mut bytes = &buf[..];
                let entries = (0..num_values).map(|_| T::take(&mut bytes).ok_or_else(cut_off)?);
                words.words = entries.collect::<Result<_>>()?;
            }
            Page::DataPage {
                buf,
                num_values,
                encoding: Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY,
                ..
            } => indices(&buf, num_values as usize, &mut words)?,
            Page::DataPage { .. } | Page::DataPageV2 { .. } => return Ok(None),
        }
    }
    Ok(Some(words))
}

pub(super) fn cut_off() -> ParquetError {
    broken("a page is cut off")
}

/// Numbers of so many rows' words: runs of the same one, and packed bits.
fn indices<T: Word>(page: &Bytes, mut left: usize, words: &mut Words<T>) -> Result<()> {
    let (bits, mut bytes) = page.split_first().ok_or_else(cut_off)?;
    let bits = u32::from(*bits);
    if bits > u32::BITS {
        return Err(broken("a page has numbers that are too long"));
    }
    while left > 0 {
        let header = varint(&mut bytes)?;
        let count = usize::try_from(header >> 1).map_err(|_| cut_off())?;
        if header & 1 == 0 {
            let size = bits.div_ceil(8) as usize;
            let (value, rest) = bytes.split_at_checked(size).ok_or_else(cut_off)?;
            bytes = rest;
            let mut number = [0; 4];
            number[..size].copy_from_slice(value);
            let count = count.min(left);
            if count == 0 {
                return Err(cut_off());
            }
            words.push(u32::from_le_bytes(number), count)?;
            left -= count;
            continue;
        }
        let size = count.checked_mul(bits as usize).ok_or_else(cut_off)?;
        let (packed, rest) = bytes.split_at_checked(size).ok_or_else(cut_off)?;
        bytes = rest;
        let count = count.saturating_mul(8).min(left);
        if count == 0 {
            return Err(cut_off());
        }
        unpack(packed, bits, count, words)?;
        left -= count;
    }
    Ok(())
}

/// So many numbers of so many bits each, the lowest first.
fn unpack<T: Word>(packed: &[u8], bits: u32, count: usize, words: &mut Words<T>) -> Result<()> {
    let mut bytes = packed.iter();
    let (mut held, mut there) = (0_u64, 0);
    for _ in 0..count {
        while there < bits {
            held |= u64::from(*bytes.next().ok_or_else(cut_off)?) << there;
            there += 8;
        }
        words.push((held & ((1 << bits) - 1)) as u32, 1)?;
        held >>= bits;
        there -= bits;
    }
    Ok(())
}

/// A number in groups of seven bits, the lowest first.
pub(super) fn varint(bytes: &mut &[u8]) -> Result<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or_else(cut_off)?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(cut_off())
}

/// The same of a column in another encoding.
fn one_by_one<T: Word>(group: &dyn RowGroupReader, name: &str, rows: usize) -> Result<Words<T>> {
    let mut words = Words::new();
    for value in super::read::column::<T::Parquet>(group, name, rows)? {
        let value = value.ok_or_else(|| broken(&format!("column `{name}` has empty fields")))?;
        let word = T::of(&value)?;
        if words.words.last().is_none_or(|last| *last != word) {
            words.words.push(word);
        }
        words.push(words.words.len() as u32 - 1, 1)?;
    }
    Ok(words)
}
