use crate::dash::{Manifest, ManifestError};
use sojourn_units::{Rate, Span};
use std::string::ToString;
use std::vec::Vec;

fn manifest(kbps: &[u64], sizes: &[&[u32]]) -> Result<Manifest, ManifestError> {
    let rates: Vec<Rate> = kbps.iter().map(|k| Rate::from_bps(k * 1000)).collect();
    let sizes = sizes.iter().map(|row| row.to_vec()).collect();
    Manifest::new(Span::from_secs(2), rates, sizes)
}

#[test]
fn what_is_missing_is_named() {
    let error = |kbps: &[u64], sizes: &[&[u32]]| manifest(kbps, sizes).unwrap_err();
    assert_eq!(error(&[], &[]), ManifestError::NoRepresentation);
    assert_eq!(error(&[0], &[&[1]]), ManifestError::NotRising(0));
    assert_eq!(error(&[2, 2], &[&[1], &[1]]), ManifestError::NotRising(1));
    assert_eq!(error(&[1, 2], &[&[1]]), ManifestError::Unsized(1, 2));
    assert_eq!(error(&[1, 2], &[&[], &[]]), ManifestError::NoChunks);
    let missing = error(&[1, 2, 3], &[&[1, 2], &[1, 2], &[1]]);
    assert_eq!(missing, ManifestError::Missing(2, 1, 2));
    assert!(missing.to_string().contains("representation 2 has 1 sizes"));
    let none = Manifest::new(Span::ZERO, Vec::new(), Vec::new());
    assert_eq!(none, Err(ManifestError::NoLength));
}

#[test]
fn one_rate_and_empty_chunks_are_a_video_too() {
    assert!(manifest(&[500], &[&[0, 0, 0]]).is_ok());
    let one = manifest(&[500], &[&[125_000]]).unwrap();
    assert_eq!((one.fitting(1.0), one.fitting(1e9)), (0, 0));
}
