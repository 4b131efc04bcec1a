//! Loss recovery, segment by segment.
