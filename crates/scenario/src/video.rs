//! Manifests of videos, in the JSON of the player simulator Sabre.

use serde_json::Value;
use sojourn_apps::dash::{Manifest, big_clip};
use sojourn_units::{Rate, Span};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most chunks of a manifest: a week of two seconds each.
const MOST_CHUNKS: usize = 302_400;

/// Reads a manifest.
///
/// # Errors
/// A sentence with the key, the chunk or the representation, and what should stand there.
pub fn parse(text: &str) -> Result<Manifest, String> {
    let root: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let list = |key: &str| {
        let list = root.get(key).and_then(Value::as_array);
        list.ok_or(format!("`{key}` should be a list"))
    };
    let millis = root.get("segment_duration_ms").and_then(Value::as_u64);
    let millis = millis.ok_or("`segment_duration_ms` should be a whole number")?;
    let mut rates = Vec::new();
    for (at, rate) in list("bitrates_kbps")?.iter().enumerate() {
        let kbps = rate.as_f64().filter(|kbps| *kbps >= 0.0);
        let kbps = kbps.ok_or(format!("`bitrates_kbps[{at}]` should be a number"))?;
        rates.push(Rate::from_bps_f64(kbps * 1000.0));
    }
    let chunks = list("segment_sizes_bits")?;
    if chunks.len() > MOST_CHUNKS {
        return Err(format!("more than {MOST_CHUNKS} chunks"));
    }
    let mut sizes = vec![Vec::with_capacity(chunks.len()); rates.len()];
    for (number, chunk) in chunks.iter().enumerate() {
        let path = format!("segment_sizes_bits[{number}]");
        let row = chunk
            .as_array()
            .ok_or(format!("`{path}` should be a list"))?;
        if row.len() != rates.len() {
            return Err(format!(
                "`{path}` has {} sizes, but there are {} rates",
                row.len(),
                rates.len()
            ));
        }
        for (at, bits) in row.iter().enumerate() {
            let bytes = bits
                .as_u64()
                .and_then(|bits| u32::try_from(bits.div_ceil(8)).ok());
            let bytes = bytes.ok_or(format!(
                "`{path}[{at}]` should be a size in bits, a whole number below 2^35"
            ))?;
            sizes[at].push(bytes);
        }
    }
    Manifest::new(Span::from_millis(millis), rates, sizes).map_err(|error| error.to_string())
}

/// Videos by path, each read once however many cells use it.
#[derive(Debug, Default)]
pub(crate) struct Videos {
    base: PathBuf,
    known: BTreeMap<String, Result<Arc<Manifest>, String>>,
    own: Option<Arc<Manifest>>,
}

impl Videos {
    /// Paths are seen from `base`.
    pub(crate) fn new(base: &Path) -> Self {
        Self {
            base: base.to_owned(),
            ..Self::default()
        }
    }

    /// The video of the manifest at `path`; without a path our own.
    ///
    /// # Errors
    /// A sentence with the file and the place in it.
    pub(crate) fn get(&mut self, path: Option<&str>) -> Result<Arc<Manifest>, String> {
        let Some(path) = path else {
            let own = self.own.get_or_insert_with(|| Arc::new(big_clip()));
            return Ok(Arc::clone(own));
        };
        let full = self.base.join(path);
        let read = || {
            let shown = full.display();
            let text = std::fs::read_to_string(&full)
                .map_err(|error| format!("cannot read the manifest {shown}: {error}"))?;
            let manifest = parse(&text).map_err(|error| format!("{shown}: {error}"))?;
            Ok(Arc::new(manifest))
        };
        self.known
            .entry(path.to_owned())
            .or_insert_with(read)
            .clone()
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn sizes_are_bits_chunk_by_chunk() {
        let text = r#"{ "segment_duration_ms": 2000, "bitrates_kbps": [500, 1000],
            "segment_sizes_bits": [[1000000, 2000000], [0, 2000001]] }"#;
        let manifest = parse(text).unwrap();
        assert_eq!(manifest.size(0, 0), Some(125_000));
        assert_eq!(
            (manifest.size(0, 1), manifest.size(1, 1)),
            (Some(0), Some(250_001))
        );
        let one = r#"{ "segment_duration_ms": 1, "bitrates_kbps": [1],
            "segment_sizes_bits": [[8]] }"#;
        assert_eq!(parse(one).unwrap().rates().len(), 1);
    }

    #[test]
    fn mistakes_are_named() {
        let with = |rates: &str, sizes: &str| {
            let text = format!(
                r#"{{ "segment_duration_ms": 2000, "bitrates_kbps": {rates},
                    "segment_sizes_bits": {sizes} }}"#
            );
            parse(&text).unwrap_err()
        };
        for (rates, sizes, wanted) in [
            (
                "[1, 2]",
                "[[8, 8], [8]]",
                "`segment_sizes_bits[1]` has 1 sizes, but there are 2",
            ),
            (
                "[1, 2]",
                "[[8, null]]",
                "`segment_sizes_bits[0][1]` should be a size in bits",
            ),
            (
                "[1]",
                "[[-8]]",
                "`segment_sizes_bits[0][0]` should be a size in bits",
            ),
            ("[1]", "[]", "no sizes of chunks"),
            ("[]", "[]", "at least one representation"),
            ("[2, 1]", "[[8, 8]]", "representation 1 must be above"),
            ("[\"1\"]", "[[8]]", "`bitrates_kbps[0]` should be a number"),
            ("7", "[[8]]", "`bitrates_kbps` should be a list"),
        ] {
            let error = with(rates, sizes);
            assert!(error.contains(wanted), "{error}");
        }
        assert!(parse("{}").unwrap_err().contains("`segment_duration_ms`"));
        assert!(parse("nothing").is_err());
    }
}
