//! Columns of a row group as Parquet has them in a file.
//!
//! Texts and whole numbers of a column follow each other unchanged for many rows, so they are
//! counted, not looked at row by row: a dictionary, and indices into it as runs (encoding
//! `RLE_DICTIONARY`). Fractions stand as they are (`PLAIN`). A column is one page of data, packed
//! with Snappy.
//! Source: the encodings of the Parquet format, version 2.

use indexmap::IndexSet;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{CompressedPage, Page, PageWriter as _};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use snap::raw::Encoder;
use std::hash::Hash;

/// A column of a row group, as it stands in a file, and what the file's end says of it.
pub(super) type Chunk = (bytes::Bytes, ColumnCloseResult);

/// Small numbers of which many in a row are the same.
#[derive(Default)]
struct Repeated(Vec<(u32, usize)>);

impl Repeated {
    fn push(&mut self, number: u32, times: usize) {
        if times == 0 {
            return;
        }
        match self.0.last_mut() {
            Some((last, count)) if *last == number => *count += times,
            _ => self.0.push((number, times)),
        }
    }

    /// Appends them, of so many bits each, as Parquet's hybrid of runs and packed bits: a run where
    /// eight or more are the same.
    fn write(&self, bits: u32, to: &mut Vec<u8>) {
        let mut packed = Vec::new();
        for &(number, mut times) in &self.0 {
            // Packed bits come in eights.
            let missing = packed.len().next_multiple_of(8) - packed.len();
            let filling = missing.min(times);
            packed.resize(packed.len() + filling, number);
            times -= filling;
            if times >= 8 {
                pack(&mut packed, bits, to);
                varint((times as u64) << 1, to);
                to.extend(&number.to_le_bytes()[..bits.div_ceil(8) as usize]);
            } else {
                packed.resize(packed.len() + times, number);
            }
        }
        packed.resize(packed.len().next_multiple_of(8), 0);
        pack(&mut packed, bits, to);
    }
}

/// Appends numbers bit by bit, the lowest first, and takes them away.
fn pack(numbers: &mut Vec<u32>, bits: u32, to: &mut Vec<u8>) {
    if numbers.is_empty() {
        return;
    }
    varint((numbers.len() as u64 / 8) << 1 | 1, to);
    let (mut held, mut count) = (0_u64, 0);
    for number in numbers.drain(..) {
        held |= u64::from(number) << count;
        count += bits;
        while count >= 8 {
            to.push(held as u8);
            held >>= 8;
            count -= 8;
        }
    }
}

/// Appends a number in groups of seven bits, the lowest first.
fn varint(mut number: u64, to: &mut Vec<u8>) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// What a dictionary holds.
pub(super) trait Entry: Copy + Eq + Ord + Hash {
    /// Appends it, in the encoding `PLAIN`.
    fn plain(self, to: &mut Vec<u8>);

    /// About a column with these least and largest ones, and so many rows without any.
    fn statistics(least: Option<Self>, largest: Option<Self>, empty: u64) -> Statistics;
}

impl Entry for &str {
    fn plain(self, to: &mut Vec<u8>) {
        to.extend((self.len() as u32).to_le_bytes());
        to.extend(self.as_bytes());
    }

    fn statistics(least: Option<Self>, largest: Option<Self>, empty: u64) -> Statistics {
        let bytes = |text: Option<Self>| text.map(ByteArray::from);
        Statistics::byte_array(bytes(least), bytes(largest), None, Some(empty), false)
    }
}

impl Entry for i32 {
    fn plain(self, to: &mut Vec<u8>) {
        to.extend(self.to_le_bytes());
    }

    fn statistics(least: Option<Self>, largest: Option<Self>, empty: u64) -> Statistics {
        Statistics::int32(least, largest, None, Some(empty), false)
    }
}

impl Entry for u64 {
    fn plain(self, to: &mut Vec<u8>) {
        to.extend(self.to_le_bytes());
    }

    fn statistics(least: Option<Self>, largest: Option<Self>, empty: u64) -> Statistics {
        let signed = |number: Option<Self>| number.map(Self::cast_signed);
        Statistics::int64(signed(least), signed(largest), None, Some(empty), false)
    }
}

/// Which rows have a value, where some may have none.
#[derive(Default)]
struct Levels {
    known: Repeated,
    /// Rows behind those, all with a value.
    full: usize,
}

impl Levels {
    /// Adds rows with a value.
    const fn fill(&mut self, times: usize) {
        self.full += times;
    }

    /// Adds rows without one.
    fn skip(&mut self, times: usize) {
        self.known.push(1, std::mem::take(&mut self.full));
        self.known.push(0, times);
    }

    fn write(&mut self, to: &mut Vec<u8>) {
        self.known.push(1, std::mem::take(&mut self.full));
        let mut levels = Vec::new();
        self.known.write(1, &mut levels);
        to.extend((levels.len() as u32).to_le_bytes());
        to.extend(levels);
    }
}

/// A column of entries that repeat.
pub(super) struct Coded<T> {
    entries: IndexSet<T>,
    /// Of each entry, by its index, the one that came behind it last: mostly the same comes again.
    behind: Vec<u32>,
    indices: Repeated,
    levels: Levels,
    last: u32,
    rows: usize,
    empty: usize,
}

impl<T: Entry> Coded<T> {
    pub(super) fn new() -> Self {
        Self {
            entries: IndexSet::new(),
            behind: Vec::new(),
            indices: Repeated::default(),
            levels: Levels::default(),
            last: 0,
            rows: 0,
            empty: 0,
        }
    }

    /// Adds so many rows with an entry.
    pub(super) fn push(&mut self, entry: T, times: usize) {
        if times == 0 {
            return;
        }
        let index = self.index(entry);
        self.last = index;
        self.indices.push(index, times);
        self.levels.fill(times);
        self.rows += times;
    }

    fn index(&mut self, entry: T) -> u32 {
        let is_it = |index: u32| self.entries.get_index(index as usize) == Some(&entry);
        let last = self.last as usize;
        if is_it(self.last) {
            return self.last;
        }
        if let Some(behind) = self.behind.get(last).copied().filter(|next| is_it(*next)) {
            return behind;
        }
        let index = self.entries.insert_full(entry).0 as u32;
        self.behind.resize(self.entries.len(), 0);
        self.behind[last] = index;
        index
    }

    /// Adds so many rows without one.
    pub(super) fn skip(&mut self, times: usize) {
        if times > 0 {
            self.levels.skip(times);
            self.rows += times;
            self.empty += times;
        }
    }

    pub(super) fn finish(mut self, column: ColumnDescPtr) -> Result<Chunk> {
        let mut data = Vec::new();
        if column.max_def_level() > 0 {
            self.levels.write(&mut data);
        }
        let (least, largest) = (self.entries.iter().min(), self.entries.iter().max());
        let statistics = T::statistics(least.copied(), largest.copied(), self.empty as u64);
        if self.entries.is_empty() {
            return chunk(column, None, &data, self.rows, statistics);
        }
        let last = self.entries.len().saturating_sub(1) as u32;
        let bits = (u32::BITS - last.leading_zeros()).max(1);
        data.push(bits as u8);
        self.indices.write(bits, &mut data);
        let mut dictionary = Vec::new();
        for entry in &self.entries {
            entry.plain(&mut dictionary);
        }
        chunk(
            column,
            Some((&dictionary, self.entries.len())),
            &data,
            self.rows,
            statistics,
        )
    }
}

/// A column of fractions.
#[derive(Default)]
pub(super) struct Numbers {
    values: Vec<u8>,
    levels: Levels,
    /// Of the values, if there are any.
    least: f64,
    largest: f64,
    rows: usize,
}

impl Numbers {
    /// Adds a row. A number that is not finite is none.
    pub(super) fn push(&mut self, number: f64) {
        self.extend(std::iter::once(number));
    }

    /// Adds rows.
    pub(super) fn extend(&mut self, numbers: impl ExactSizeIterator<Item = f64>) {
        self.values.reserve(numbers.len() * size_of::<f64>());
        let mut there = 0;
        for number in numbers {
            if !number.is_finite() {
                self.levels.fill(std::mem::take(&mut there));
                self.levels.skip(1);
                self.rows += 1;
                continue;
            }
            self.values.extend(number.to_le_bytes());
            if self.rows_of_values() == 1 {
                (self.least, self.largest) = (number, number);
            }
            if number < self.least {
                self.least = number;
            }
            if number > self.largest {
                self.largest = number;
            }
            there += 1;
            self.rows += 1;
        }
        self.levels.fill(there);
    }

    const fn rows_of_values(&self) -> usize {
        self.values.len() / size_of::<f64>()
    }

    /// Adds so many rows without one.
    pub(super) fn skip(&mut self, times: usize) {
        if times > 0 {
            self.levels.skip(times);
            self.rows += times;
        }
    }

    pub(super) fn finish(mut self, column: ColumnDescPtr) -> Result<Chunk> {
        let mut data = Vec::new();
        self.levels.write(&mut data);
        data.extend(&self.values);
        let empty = (self.rows - self.rows_of_values()) as u64;
        let of_values = |number| (self.rows_of_values() > 0).then_some(number);
        // Zero has two signs, which compare as different where order is that of the bits.
        let least = of_values(if self.least == 0.0 { -0.0 } else { self.least });
        let largest = of_values(self.largest + 0.0);
        let statistics = Statistics::double(least, largest, None, Some(empty), false);
        chunk(column, None, &data, self.rows, statistics)
    }
}

/// A size as the file's end has it.
const fn signed(size: usize) -> i64 {
    (size as u64).cast_signed()
}

/// Puts a column together: its dictionary with the number of entries, and its data.
fn chunk(
    column: ColumnDescPtr,
    dictionary: Option<(&[u8], usize)>,
    data: &[u8],
    rows: usize,
    statistics: Statistics,
) -> Result<Chunk> {
    let mut sink = TrackedWrite::new(Vec::new());
    let mut pages = SerializedPageWriter::new(&mut sink);
    let mut snappy = Encoder::new();
    let mut packed = |bytes: &[u8]| {
        let packed = snappy.compress_vec(bytes);
        packed.map_err(|error| ParquetError::External(Box::new(error)))
    };
    let mut encodings = vec![Encoding::PLAIN, Encoding::RLE];
    let mut unpacked = 0;
    if let Some((bytes, entries)) = dictionary {
        let page = Page::DictionaryPage {
            buf: packed(bytes)?.into(),
            num_values: entries as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        let written = pages.write_page(CompressedPage::new(page, bytes.len()))?;
        unpacked += written.uncompressed_size;
        encodings.push(Encoding::RLE_DICTIONARY);
    }
    let page = Page::DataPage {
        buf: packed(data)?.into(),
        num_values: rows as u32,
        encoding: match dictionary {
            Some(_) => Encoding::RLE_DICTIONARY,
            None => Encoding::PLAIN,
        },
        def_level_encoding: Encoding::RLE,
        rep_level_encoding: Encoding::RLE,
        statistics: None,
    };
    let written = pages.write_page(CompressedPage::new(page, data.len()))?;
    unpacked += written.uncompressed_size;
    let bytes = sink.into_inner()?;
    let metadata = ColumnChunkMetaData::builder(column)
        .set_compression(Compression::SNAPPY)
        .set_encodings(encodings)
        .set_total_compressed_size(signed(bytes.len()))
        .set_total_uncompressed_size(signed(unpacked))
        .set_num_values(signed(rows))
        .set_dictionary_page_offset(dictionary.map(|_| 0))
        .set_data_page_offset(written.offset.cast_signed())
        .set_statistics(statistics)
        .build()?;
    let close = ColumnCloseResult {
        bytes_written: bytes.len() as u64,
        rows_written: rows as u64,
        metadata,
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    };
    Ok((bytes.into(), close))
}
