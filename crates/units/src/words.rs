//! Enums whose variants are known by a word each.

/// Makes an enum with the word of each variant beside it, and from these `ALL`, `WORDS` and `word`.
///
/// ```
/// sojourn_units::words! {
///     /// An end of a queue.
///     #[derive(Clone, Copy, Debug, PartialEq)]
///     pub enum End {
///         /// Where the oldest packet is.
///         Head = "head",
///         /// Where packets arrive.
///         Tail = "tail",
///     }
/// }
/// assert_eq!(End::ALL.map(End::word), ["head", "tail"]);
/// ```
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* pub enum $name:ident {
        $($(#[$doc:meta])* $variant:ident = $word:literal,)+
    }) => {
        $(#[$meta])*
        pub enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            /// All of them, in their order.
            pub const ALL: [Self; Self::WORDS.len()] = [$(Self::$variant),+];

            /// Their words, in the same order.
            pub const WORDS: [&'static str; [$($word),+].len()] = [$($word),+];

            /// Its word.
            pub const fn word(self) -> &'static str {
                Self::WORDS[self as usize]
            }
        }
    };
}
