//! Switches: settings of a few named values, most of them on or off, declared one line each.
//!
//! `switches!` makes of such lines a struct with the defaults, and what SET, SHOW and the listing of settings ask of
//! it: a name, a value and a meaning are written nowhere else. The optimizer's rules, the execution's techniques and
//! the session's own switches are three such structs.

use crate::{Error, Result, SqlState};

/// The kind of a switch: a type of few values with names.
pub trait Switch: Copy + PartialEq + 'static {
    /// The values and their names, as SET takes and SHOW prints them. The first is the plain one: the technique off.
    const VALUES: &'static [(&'static str, Self)];
    /// Names of values that there will be: SET refuses them as not supported, not as unknown.
    const PLANNED: &'static [&'static str] = &[];

    /// The value of that name; letter case and spaces around it do not count.
    fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        Self::VALUES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, value)| *value)
    }

    /// The value's name; the plain one's for a value that the list lacks.
    fn shown(self) -> &'static str {
        Self::VALUES.iter().find(|(_, value)| *value == self).map_or(Self::VALUES[0].0, |(name, _)| name)
    }
}

impl Switch for bool {
    const VALUES: &'static [(&'static str, Self)] = &[("off", false), ("on", true)];

    fn read(text: &str) -> Option<Self> {
        parse(text)
    }
}

/// On, true, 1, yes, or off, false, 0, no, in any case; `None` for other texts.
pub fn parse(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "on" | "true" | "1" | "yes" => Some(true),
        "off" | "false" | "0" | "no" => Some(false),
        _ => None,
    }
}

/// The switch's value from the text of a SET.
///
/// # Errors
/// `InvalidParameterValue`, or `FeatureNotSupported` for a planned value, with the names of the values as its hint.
pub fn read<S: Switch>(name: &str, text: &str) -> Result<S> {
    S::read(text).ok_or_else(|| {
        let names: Vec<&str> = S::VALUES.iter().rev().map(|(name, _)| *name).collect();
        let error = match S::PLANNED.iter().any(|planned| planned.eq_ignore_ascii_case(text.trim())) {
            true => Error::unsupported(format!("setting \"{name}\" to \"{}\"", text.trim())),
            false => Error::new(
                SqlState::InvalidParameterValue,
                format!("invalid value for setting \"{name}\": \"{text}\""),
            ),
        };
        error.with_hint(format!("expected {}", names.join(" or ")))
    })
}

/// Declares a struct of switches: a line of each, with its meaning as its documentation, its type and its default.
#[macro_export]
macro_rules! switches {
    ($(#[$outer:meta])* pub struct $table:ident {
        $($(#[doc = $doc:literal])+ $name:ident: $kind:ty = $default:expr),* $(,)?
    }) => {
        $(#[$outer])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $table {
            $($(#[doc = $doc])+ pub $name: $kind,)*
        }

        impl Default for $table {
            fn default() -> Self {
                $table { $($name: $default,)* }
            }
        }

        impl $table {
            /// Name and meaning of every switch, for SHOW ALL.
            pub const MEANINGS: &'static [(&'static str, &'static str)] =
                &[$((stringify!($name), concat!($($doc),+)),)*];

            /// Every switch, by name, with the value that turns its technique off.
            pub const OFF: &'static [(&'static str, &'static str)] =
                &[$((stringify!($name), <$kind as $crate::switch::Switch>::VALUES[0].0),)*];

            /// Every technique off.
            pub fn all_off() -> Self {
                $table { $($name: <$kind as $crate::switch::Switch>::VALUES[0].1,)* }
            }

            /// The value as SHOW prints it; `None` for a name that is no switch of these.
            pub fn get(&self, name: &str) -> Option<&'static str> {
                match name {
                    $(stringify!($name) => Some($crate::switch::Switch::shown(self.$name)),)*
                    _ => None,
                }
            }

            /// Sets a switch; `Ok(false)` for a name that is no switch of these.
            ///
            /// # Errors
            /// `InvalidParameterValue` for a text that is none of the switch's values.
            pub fn set(&mut self, name: &str, text: &str) -> $crate::Result<bool> {
                match name {
                    $(stringify!($name) => self.$name = $crate::switch::read(name, text)?,)*
                    _ => return Ok(false),
                }
                Ok(true)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Side {
        /// One.
        Left,
        /// The other.
        Right,
    }

    impl Switch for Side {
        const VALUES: &'static [(&'static str, Self)] = &[("left", Side::Left), ("right", Side::Right)];
        const PLANNED: &'static [&'static str] = &["middle"];
    }

    crate::switches! {
        /// Switches of a test.
        pub struct Few {
            /// Whether it is fast.
            fast: bool = true,
            /// The side,
            /// of two.
            side: Side = Side::Right,
        }
    }

    #[test]
    fn one_line_gives_default_name_value_and_meaning() {
        let mut few = Few::default();
        assert_eq!((few.get("fast"), few.get("side"), few.get("other")), (Some("on"), Some("right"), None));
        assert_eq!(Few::OFF, [("fast", "off"), ("side", "left")]);
        assert_eq!(Few::MEANINGS, [("fast", " Whether it is fast."), ("side", " The side, of two.")]);
        for (name, off) in Few::OFF {
            assert!(few.set(name, &format!(" {} ", off.to_uppercase())).unwrap());
        }
        assert_eq!(few, Few::all_off());
        assert!(!few.set("other", "on").unwrap());
        let error = few.set("side", "up").unwrap_err();
        assert_eq!(
            (error.state(), error.hint()),
            (SqlState::InvalidParameterValue, Some("expected right or left"))
        );
        assert_eq!(few.set("side", "Middle").unwrap_err().state(), SqlState::FeatureNotSupported);
    }
}
