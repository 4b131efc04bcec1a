//! A column of texts as it stands in a table: counted, not row by row, as it was written (see
//! `chunk`).
//!
//! Source: the encodings of the Parquet format, version 2. Columns in another encoding than
//! `RLE_DICTIONARY` are read by the library.

use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::page::Page;
use parquet::data_type::ByteArrayType;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::RowGroupReader;

/// The texts of a column in a row group.
#[derive(Debug, Default)]
pub(super) struct Texts {
    words: Vec<String>,
    /// Rows in a row with the same text: the row behind them, and the text's number.
    stretches: Vec<(usize, u32)>,
}

impl Texts {
    /// Those of a column.
    pub(super) fn of(group: &dyn RowGroupReader, name: &str) -> Result<Self> {
        let place = super::read::place::<ByteArrayType>(group, name)?;
        let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        let is_full = group
            .metadata()
            .schema_descr()
            .column(place)
            .max_def_level()
            == 0;
        let coded = if is_full { coded(group, place)? } else { None };
        let texts = match coded {
            Some(texts) => texts,
            None => one_by_one(group, name, rows)?,
        };
        let found = texts.stretches.last().map_or(0, |(end, _)| *end);
        if found != rows {
            return Err(broken(&format!(
                "column `{name}` has {found} of {rows} rows"
            )));
        }
        Ok(texts)
    }

    /// The text of a row, and the row behind the last that follows with the same.
    pub(super) fn at(&self, row: usize) -> (&str, usize) {
        let stretch = self.stretches.partition_point(|(end, _)| *end <= row);
        let (end, word) = self.stretches[stretch];
        (&self.words[word as usize], end)
    }

    fn push(&mut self, word: u32, times: usize) -> Result<()> {
        if word as usize >= self.words.len() {
            return Err(broken("a text is not in its dictionary"));
        }
        let start = self.stretches.last().map_or(0, |(end, _)| *end);
        match self.stretches.last_mut() {
            Some((end, last)) if *last == word => *end += times,
            _ => self.stretches.push((start + times, word)),
        }
        Ok(())
    }
}

fn broken(reason: &str) -> ParquetError {
    ParquetError::General(reason.to_owned())
}

/// A column in a dictionary; none when it is not in one throughout.
fn coded(group: &dyn RowGroupReader, place: usize) -> Result<Option<Texts>> {
    let mut pages = group.get_column_page_reader(place)?;
    let mut texts = Texts::default();
    while let Some(page) = pages.get_next_page()? {
        match page {
            Page::DictionaryPage {
                buf, num_values, ..
            } => {
                texts.words = words(&buf, num_values)?;
            }
            Page::DataPage {
                buf,
                num_values,
                encoding: Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY,
                ..
            } => indices(&buf, num_values as usize, &mut texts)?,
            Page::DataPage { .. } | Page::DataPageV2 { .. } => return Ok(None),
        }
    }
    Ok(Some(texts))
}

/// Texts with their lengths before them.
fn words(mut bytes: &[u8], count: u32) -> Result<Vec<String>> {
    let mut words = Vec::new();
    for _ in 0..count {
        let (length, rest) = bytes.split_first_chunk().ok_or_else(cut_off)?;
        let length = u32::from_le_bytes(*length) as usize;
        let (word, rest) = rest.split_at_checked(length).ok_or_else(cut_off)?;
        bytes = rest;
        let word = str::from_utf8(word).map_err(|_| broken("a text is not UTF-8"))?;
        words.push(word.to_owned());
    }
    Ok(words)
}

fn cut_off() -> ParquetError {
    broken("a page is cut off")
}

/// Numbers of so many rows' texts: runs of the same one, and packed bits.
fn indices(page: &Bytes, mut left: usize, texts: &mut Texts) -> Result<()> {
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
            texts.push(u32::from_le_bytes(number), count)?;
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
        unpack(packed, bits, count, texts)?;
        left -= count;
    }
    Ok(())
}

/// So many numbers of so many bits each, the lowest first.
fn unpack(packed: &[u8], bits: u32, count: usize, texts: &mut Texts) -> Result<()> {
    let mut bytes = packed.iter();
    let (mut held, mut there) = (0_u64, 0);
    for _ in 0..count {
        while there < bits {
            held |= u64::from(*bytes.next().ok_or_else(cut_off)?) << there;
            there += 8;
        }
        texts.push((held & ((1 << bits) - 1)) as u32, 1)?;
        held >>= bits;
        there -= bits;
    }
    Ok(())
}

/// A number in groups of seven bits, the lowest first.
fn varint(bytes: &mut &[u8]) -> Result<u64> {
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
fn one_by_one(group: &dyn RowGroupReader, name: &str, rows: usize) -> Result<Texts> {
    let mut texts = Texts::default();
    for value in super::read::column::<ByteArrayType>(group, name, rows)? {
        let value = value.ok_or_else(|| broken(&format!("column `{name}` has empty fields")))?;
        let word = value.as_utf8()?;
        if texts.words.last().is_none_or(|last| last != word) {
            texts.words.push(word.to_owned());
        }
        texts.push(texts.words.len() as u32 - 1, 1)?;
    }
    Ok(texts)
}
