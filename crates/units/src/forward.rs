//! Methods that another value has too.

/// Makes methods of a trait that do what those of another value do.
///
/// ```
/// trait Length {
///     fn len(&self) -> usize;
/// }
/// struct Word(String);
/// impl Length for Word {
///     sojourn_units::forward! { self.0;
///         len(self: &Self) -> usize;
///     }
/// }
/// assert_eq!(Word("four".into()).len(), 4);
/// ```
#[macro_export]
macro_rules! forward {
    ($to:expr;
        $($name:ident($this:ident: $self:ty $(, $arg:ident: $type:ty)*) $(-> $out:ty)?;)+) => {
        $(fn $name($this: $self $(, $arg: $type)*) $(-> $out)? {
            $to.$name($($arg),*)
        })+
    };
}
