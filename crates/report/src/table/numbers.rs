//! A column of fractions as it was written (see `chunk`): which rows have one, and the fractions
//! one behind the other.
//!
//! Source: the encodings of the Parquet format, version 2. Pages in other encodings than `PLAIN`
//! with levels as `RLE` are read by the library.

use super::read::{column, place};
use super::texts::{cut_off, varint};
use parquet::basic::Encoding;
use parquet::column::page::Page;
use parquet::data_type::DoubleType;
use parquet::errors::Result;
use parquet::file::reader::RowGroupReader;

/// The fractions of so many rows; NaN where there is none.
pub(super) fn numbers(group: &dyn RowGroupReader, name: &str, rows: usize) -> Result<Vec<f64>> {
    let place = place::<DoubleType>(group, name)?;
    let column_of = || group.metadata().schema_descr().column(place);
    let mut all = Vec::with_capacity(rows);
    let mut pages = group.get_column_page_reader(place)?;
    while let Some(page) = pages.get_next_page()? {
        match page {
            Page::DataPage {
                buf,
                num_values,
                encoding: Encoding::PLAIN,
                def_level_encoding: Encoding::RLE,
                ..
            } if column_of().max_def_level() == 1 => plain(&buf, num_values as usize, &mut all)?,
            _ => {
                let numbers = column::<DoubleType>(group, name, rows)?.into_iter();
                return Ok(numbers.map(|number| number.unwrap_or(f64::NAN)).collect());
            }
        }
    }
    if all.len() == rows {
        Ok(all)
    } else {
        Err(cut_off())
    }
}

/// Adds the fractions of a page of so many rows.
fn plain(page: &[u8], count: usize, to: &mut Vec<f64>) -> Result<()> {
    let (length, rest) = page.split_first_chunk().ok_or_else(cut_off)?;
    let length = u32::from_le_bytes(*length) as usize;
    let (mut levels, values) = rest.split_at_checked(length).ok_or_else(cut_off)?;
    let (mut values, _) = values.as_chunks();
    let mut add = |is_there: bool, times: usize| {
        if !is_there {
            to.resize(to.len() + times, f64::NAN);
            return Some(());
        }
        let (these, rest) = values.split_at_checked(times)?;
        values = rest;
        to.extend(these.iter().map(|bytes| f64::from_le_bytes(*bytes)));
        Some(())
    };
    let mut left = count;
    while left > 0 {
        let header = varint(&mut levels)?;
        let several = usize::try_from(header >> 1).map_err(|_| cut_off())?;
        if header & 1 == 0 {
            let (level, rest) = levels.split_first().ok_or_else(cut_off)?;
            levels = rest;
            let times = several.min(left);
            if times == 0 {
                return Err(cut_off());
            }
            add(*level == 1, times).ok_or_else(cut_off)?;
            left -= times;
            continue;
        }
        // Eight rows a byte, the lowest bit first.
        let (packed, rest) = levels.split_at_checked(several).ok_or_else(cut_off)?;
        levels = rest;
        let times = several.saturating_mul(8).min(left);
        if times == 0 {
            return Err(cut_off());
        }
        for row in 0..times {
            let is_there = packed[row / 8] >> (row % 8) & 1 == 1;
            add(is_there, 1).ok_or_else(cut_off)?;
        }
        left -= times;
    }
    Ok(())
}
