//! Parameters of a statement, by place or by name.
//!
//! What a caller gives becomes [`Parameters`]: a list by place, or pairs by name. `bound` matches them with the
//! markers in the text, and rewrites names into numbers, which are all that the SQL front end knows. A wrong count is
//! an error with SQLSTATE 42P02.

use std::collections::{BTreeMap, HashMap};

use sql::markers::{Marked, Marker};
use types::{Error, Result, SqlState, Type, Value};

use super::to_sql::ToSql;

/// Parameters as they are bound: values with their types.
#[doc(hidden)]
pub enum Parameters {
    /// For `?` and `$1`, in order.
    Placed(Vec<(Value, Type)>),
    /// For `$name` and `:name`: the name without its mark, and the value.
    Named(Vec<(String, (Value, Type))>),
}

/// What may be given for a statement's parameters.
///
/// * by place, for `?` and `$1`: `()` or `[]` for none, tuples, arrays, slices and vectors of values, and
///   [`params!`](crate::params) for values of different types;
/// * by name, for `$name` and `:name`: [`named_params!`](crate::named_params), slices and arrays of pairs, maps.
///
/// ```
/// use engine::{Connection, named_params, params};
///
/// let connection = Connection::open_in_memory()?;
/// let sum = "SELECT CAST($1 + $2 AS INTEGER)";
/// let three = |row: &engine::Row| row.get::<i32>(0);
/// assert_eq!(connection.query_row(sum, (1, 2i64), three)?, 3);
/// assert_eq!(connection.query_row(sum, [1, 2], three)?, 3);
/// assert_eq!(connection.query_row(sum, params![1u8, "2"], three)?, 3);
/// assert_eq!(connection.query_row("SELECT :a - $b", named_params! { "a": 5, ":b": 2 }, three)?, 3);
/// # Ok::<(), engine::Error>(())
/// ```
pub trait Params {
    #[doc(hidden)]
    fn into_parameters(self) -> Result<Parameters>;
}

fn placed<T: ToSql>(values: &[T]) -> Result<Parameters> {
    values.iter().map(T::to_sql).collect::<Result<Vec<_>>>().map(Parameters::Placed)
}

fn named<K: AsRef<str>, V: ToSql>(values: impl IntoIterator<Item = (K, V)>) -> Result<Parameters> {
    let pair = |(name, value): (K, V)| {
        let name = name.as_ref();
        let name = name.strip_prefix([':', '$', '@']).unwrap_or(name).to_owned();
        value.to_sql().map(|value| (name, value))
    };
    values.into_iter().map(pair).collect::<Result<Vec<_>>>().map(Parameters::Named)
}

impl Params for Parameters {
    fn into_parameters(self) -> Result<Parameters> {
        Ok(self)
    }
}

impl Params for () {
    fn into_parameters(self) -> Result<Parameters> {
        Ok(Parameters::Placed(vec![]))
    }
}

// One concrete array type, so that `[]` needs no annotation.
impl Params for [&dyn ToSql; 0] {
    fn into_parameters(self) -> Result<Parameters> {
        Ok(Parameters::Placed(vec![]))
    }
}

macro_rules! arrays {
    ($($length:literal)*) => {
        $(impl<T: ToSql> Params for [T; $length] {
            fn into_parameters(self) -> Result<Parameters> {
                placed(&self)
            }
        })*
    };
}

arrays!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);

impl<T: ToSql> Params for &[T] {
    fn into_parameters(self) -> Result<Parameters> {
        placed(self)
    }
}

impl<T: ToSql, const N: usize> Params for &[T; N] {
    fn into_parameters(self) -> Result<Parameters> {
        placed(self)
    }
}

impl<T: ToSql> Params for Vec<T> {
    fn into_parameters(self) -> Result<Parameters> {
        placed(&self)
    }
}

impl<T: ToSql> Params for &Vec<T> {
    fn into_parameters(self) -> Result<Parameters> {
        placed(self)
    }
}

impl<V: ToSql> Params for &[(&str, V)] {
    fn into_parameters(self) -> Result<Parameters> {
        named(self.iter().map(|(name, value)| (name, value)))
    }
}

impl<V: ToSql, const N: usize> Params for &[(&str, V); N] {
    fn into_parameters(self) -> Result<Parameters> {
        named(self.iter().map(|(name, value)| (name, value)))
    }
}

impl<K: AsRef<str>, V: ToSql> Params for &BTreeMap<K, V> {
    fn into_parameters(self) -> Result<Parameters> {
        named(self)
    }
}

impl<K: AsRef<str>, V: ToSql> Params for &HashMap<K, V> {
    fn into_parameters(self) -> Result<Parameters> {
        named(self)
    }
}

macro_rules! tuples {
    ($(($($value:ident)*))*) => {
        $(impl<$($value: ToSql),*> Params for ($($value,)*) {
            fn into_parameters(self) -> Result<Parameters> {
                #[allow(non_snake_case)]
                let ($($value,)*) = self;
                Ok(Parameters::Placed(vec![$($value.to_sql()?),*]))
            }
        })*
    };
}

tuples! {
    (A)
    (A B)
    (A B C)
    (A B C D)
    (A B C D E)
    (A B C D E F)
    (A B C D E F G)
    (A B C D E F G H)
    (A B C D E F G H I)
    (A B C D E F G H I J)
    (A B C D E F G H I J K)
    (A B C D E F G H I J K L)
    (A B C D E F G H I J K L M)
    (A B C D E F G H I J K L M N)
    (A B C D E F G H I J K L M N O)
    (A B C D E F G H I J K L M N O P)
}

/// Values of different types for the parameters of a statement, by place: `params![1, "two", None::<f64>]`.
#[macro_export]
macro_rules! params {
    () => { &[] as &[&dyn $crate::ToSql] };
    ($($value:expr),+ $(,)?) => { &[$(&$value as &dyn $crate::ToSql),+] as &[&dyn $crate::ToSql] };
}

/// Values of different types for the parameters of a statement, by name: `named_params! { "id": 1, "name": "Ada" }`.
#[macro_export]
macro_rules! named_params {
    () => { &[] as &[(&str, &dyn $crate::ToSql)] };
    ($($name:literal : $value:expr),+ $(,)?) => {
        &[$(($name, &$value as &dyn $crate::ToSql)),+] as &[(&str, &dyn $crate::ToSql)]
    };
}

/// A statement's text with numbers for its parameters, and their values: as many as it has.
pub(crate) fn bound(
    text: &str,
    markers: &[Marker],
    parameters: Parameters,
) -> Result<(Option<String>, Vec<(Value, Type)>)> {
    match parameters {
        Parameters::Placed(values) => {
            if let Some(marker) = markers
                .iter()
                .find(|m| matches!(m.marked, Marked::Name(_)) && text[m.range.clone()].starts_with('$'))
            {
                let message = format!("parameter {} is given by name", &text[marker.range.clone()]);
                return Err(Error::new(SqlState::UndefinedParameter, message)
                    .with_hint("named_params! { \"name\": value } gives values by name"));
            }
            let wanted = sql::markers::parameters_wanted(markers);
            if values.len() != wanted {
                let message = format!("the statement has {}, {} given", counted(wanted), are(values.len()));
                return Err(Error::new(SqlState::UndefinedParameter, message)
                    .with_hint("give one value for each ?, or for $1 to the highest number"));
            }
            Ok((None, values))
        }
        Parameters::Named(pairs) => {
            let (names, values): (Vec<String>, Vec<_>) = pairs.into_iter().unzip();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            Ok((Some(sql::markers::numbered(text, &names)?), values))
        }
    }
}

fn counted(parameters: usize) -> String {
    match parameters {
        0 => "no parameters".to_owned(),
        1 => "1 parameter".to_owned(),
        n => format!("{n} parameters"),
    }
}

fn are(values: usize) -> String {
    if values == 1 { "1 is".to_owned() } else { format!("{values} are") }
}
