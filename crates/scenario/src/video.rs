//! Manifests of videos, in the JSON of the player simulator Sabre.

use serde_json::Value;
use sojourn_apps::dash::{Manifest, ManifestError};
use sojourn_units::{Rate, Span};

/// Most chunks of a manifest: a week of two seconds each.
const MOST_CHUNKS: usize = 302_400;

/// What is wrong with a manifest: the key, the chunk or the representation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum VideoError {
    /// It is no JSON; why not.
    #[error("{0}")]
    Json(String),
    #[error("`{path}` should be {wanted}")]
    Wants { path: String, wanted: &'static str },
    #[error("more than {MOST_CHUNKS} chunks")]
    TooLong,
    #[error("`{path}` has {sizes} sizes, but there are {rates} rates")]
    Sizes {
        path: String,
        sizes: usize,
        rates: usize,
    },
    #[error("{0}")]
    Manifest(#[from] ManifestError),
}

fn wants<T>(found: Option<T>, path: &str, wanted: &'static str) -> Result<T, VideoError> {
    found.ok_or_else(|| VideoError::Wants {
        path: path.to_owned(),
        wanted,
    })
}

/// Reads a manifest.
///
/// # Errors
/// The first thing that is wrong, and what should stand there.
pub(crate) fn parse(text: &str) -> Result<Manifest, VideoError> {
    let root: Value =
        serde_json::from_str(text).map_err(|error| VideoError::Json(error.to_string()))?;
    let list = |key: &str| wants(root.get(key).and_then(Value::as_array), key, "a list");
    let key = "segment_duration_ms";
    let millis = wants(root.get(key).and_then(Value::as_u64), key, "a whole number")?;
    let mut rates = Vec::new();
    for (at, rate) in list("bitrates_kbps")?.iter().enumerate() {
        let kbps = rate.as_f64().filter(|kbps| *kbps >= 0.0);
        let kbps = wants(kbps, &format!("bitrates_kbps[{at}]"), "a number")?;
        rates.push(Rate::from_bps_f64(kbps * 1000.0));
    }
    let chunks = list("segment_sizes_bits")?;
    if chunks.len() > MOST_CHUNKS {
        return Err(VideoError::TooLong);
    }
    let mut sizes = vec![Vec::with_capacity(chunks.len()); rates.len()];
    for (number, chunk) in chunks.iter().enumerate() {
        let path = format!("segment_sizes_bits[{number}]");
        let row = wants(chunk.as_array(), &path, "a list")?;
        if row.len() != rates.len() {
            let (sizes, rates) = (row.len(), rates.len());
            return Err(VideoError::Sizes { path, sizes, rates });
        }
        for (at, bits) in row.iter().enumerate() {
            let bytes = bits
                .as_u64()
                .and_then(|bits| u32::try_from(bits.div_ceil(8)).ok());
            let wanted = "a size in bits, a whole number below 2^35";
            sizes[at].push(wants(bytes, &format!("{path}[{at}]"), wanted)?);
        }
    }
    Ok(Manifest::new(Span::from_millis(millis), rates, sizes)?)
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
            parse(&text).unwrap_err().to_string()
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
        let error = parse("{}").unwrap_err().to_string();
        assert!(error.contains("`segment_duration_ms`"), "{error}");
        assert!(parse("nothing").is_err());
    }
}
