//! Numbers and texts as bytes, for a process of the same program: lengths stand before what they
//! are of, the least byte first.

use crate::error::Damage;

/// Bytes that grow.
#[derive(Default)]
pub(crate) struct Out(pub(crate) Vec<u8>);

impl Out {
    /// A mark of what follows.
    pub(crate) fn mark(&mut self, mark: u8) {
        self.0.push(mark);
    }

    pub(crate) fn whole(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    pub(crate) fn number(&mut self, number: f64) {
        self.0.extend(number.to_le_bytes());
    }

    pub(crate) fn length(&mut self, length: usize) {
        self.whole(length as u64);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.length(text.len());
        self.0.extend(text.as_bytes());
    }

    /// A text that may be missing.
    pub(crate) fn maybe(&mut self, text: Option<&str>) {
        self.mark(u8::from(text.is_some()));
        if let Some(text) = text {
            self.text(text);
        }
    }

    /// A list.
    pub(crate) fn list<T>(&mut self, list: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.length(list.len());
        for one in list {
            each(self, one);
        }
    }
}

/// Bytes that are read from their beginning.
pub(crate) struct In<'a>(pub(crate) &'a [u8]);

impl<'a> In<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Damage> {
        let (first, rest) = self.0.split_first_chunk().ok_or(Damage::Short)?;
        self.0 = rest;
        Ok(*first)
    }

    pub(crate) fn mark(&mut self) -> Result<u8, Damage> {
        Ok(u8::from_le_bytes(self.take()?))
    }

    /// A mark that says yes or no.
    pub(crate) fn is(&mut self) -> Result<bool, Damage> {
        Ok(self.mark()? != 0)
    }

    pub(crate) fn whole(&mut self) -> Result<u64, Damage> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    pub(crate) fn number(&mut self) -> Result<f64, Damage> {
        Ok(f64::from_le_bytes(self.take()?))
    }

    /// As many as are said to follow, of so many bytes each at least.
    pub(crate) fn length(&mut self, each: usize) -> Result<usize, Damage> {
        let count = usize::try_from(self.whole()?).map_err(|_| Damage::Short)?;
        let fits = count
            .checked_mul(each)
            .is_some_and(|bytes| bytes <= self.0.len());
        if fits { Ok(count) } else { Err(Damage::Short) }
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, Damage> {
        let length = self.length(1)?;
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        str::from_utf8(text).map_err(|_| Damage::Short)
    }

    pub(crate) fn maybe(&mut self) -> Result<Option<String>, Damage> {
        Ok(if self.is()? {
            Some(self.text()?.to_owned())
        } else {
            None
        })
    }

    /// A list of what has so many bytes each at least.
    pub(crate) fn list<T>(
        &mut self,
        each: usize,
        mut read: impl FnMut(&mut Self) -> Result<T, Damage>,
    ) -> Result<Vec<T>, Damage> {
        let count = self.length(each)?;
        let mut list = Vec::with_capacity(count);
        for _ in 0..count {
            list.push(read(self)?);
        }
        Ok(list)
    }
}
