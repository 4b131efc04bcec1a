//! What only the inside shows.
