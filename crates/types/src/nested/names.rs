//! Nested types from their names: `STRUCT(a INTEGER, "b c" TEXT[])`, `MAP(TEXT, BIGINT)`, `DOUBLE[]`.

use super::{NESTING_MAX, NestedId, Shape};
use crate::Type;

/// Begins the name of a type that is told by its number.
const NUMBER_MARK: char = '#';

impl Type {
    /// A name by which `from_sql_name` finds a nested type or an enum whatever the catalog calls it, as long as the
    /// process runs; `None` for a type that has no number.
    pub fn number_name(self) -> Option<String> {
        let id = match self {
            Type::List(id) | Type::Struct(id) | Type::Map(id) | Type::Union(id) | Type::Enum(id) => id,
            _ => return None,
        };
        Some(format!("{NUMBER_MARK}{}", id.number()))
    }

    /// The nested type or enum of that number, if there is one.
    fn of_number(number: u32) -> Option<Type> {
        let id = NestedId::from_number(number)?;
        Some(match id.get().shape {
            Shape::List(_) | Shape::Vector(_) => Type::List(id),
            Shape::Struct(_) => Type::Struct(id),
            Shape::Map(..) => Type::Map(id),
            Shape::Union(_) => Type::Union(id),
            Shape::Enum { .. } => Type::Enum(id),
        })
    }
}

/// The type of that name, nested or not.
pub(crate) fn from_name(name: &str, depth: u32) -> Option<Type> {
    let name = name.trim();
    if depth > NESTING_MAX {
        return None;
    }
    if let Some(number) = name.strip_prefix(NUMBER_MARK) {
        return Type::of_number(number.parse().ok()?);
    }
    if let Some(element) = name.strip_suffix("[]") {
        return Type::list(from_name(element, depth + 1)?).ok();
    }
    let Some((word, inner)) = name.strip_suffix(')').and_then(|name| name.split_once('(')) else {
        return Type::plain_from_sql_name(name);
    };
    match word.trim().to_ascii_uppercase().as_str() {
        "STRUCT" | "ROW" => {
            let fields = parts(inner)?.into_iter().map(|part| {
                let (name, ty) = field(part.trim())?;
                Some((name, from_name(ty, depth + 1)?))
            });
            Type::structure(fields.collect::<Option<_>>()?).ok()
        }
        "UNION" => {
            let members = parts(inner)?.into_iter().map(|part| {
                let (name, ty) = field(part.trim())?;
                Some((name, from_name(ty, depth + 1)?))
            });
            Type::union(members.collect::<Option<_>>()?).ok()
        }
        "MAP" => match parts(inner)?.as_slice() {
            [key, value] => Type::map(from_name(key, depth + 1)?, from_name(value, depth + 1)?).ok(),
            _ => None,
        },
        "ENUM" => {
            let label = |part: &str| {
                let quoted = part.trim().strip_prefix('\'')?.strip_suffix('\'')?;
                // A quote inside is written twice.
                let plain = quoted.replace("''", "");
                (!plain.contains('\'')).then(|| quoted.replace("''", "'"))
            };
            let labels = parts(inner)?.into_iter().map(label).collect::<Option<_>>()?;
            Type::enumeration(None, labels).ok()
        }
        _ => Type::plain_from_sql_name(name),
    }
}

/// What commas outside of brackets and quotes separate; `None` where brackets or quotes do not close.
fn parts(text: &str) -> Option<Vec<&str>> {
    let (mut parts, mut begin, mut depth) = (Vec::new(), 0, 0_u32);
    let mut quoted: Option<u8> = None;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if quoted.is_some_and(|quote| quote != byte) => {}
            b'"' | b'\'' => quoted = if quoted.is_some() { None } else { Some(byte) },
            b'(' => depth += 1,
            b')' => depth = depth.checked_sub(1)?,
            b',' if depth == 0 => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    (depth == 0 && quoted.is_none()).then_some(parts)
}

/// A field's name, in quotes or in lower case, and the rest.
fn field(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let (name, rest) = text.split_once(char::is_whitespace)?;
        return Some((name.to_lowercase(), rest));
    };
    // A quote inside is written twice.
    let mut at = 0;
    loop {
        at += quoted.get(at..)?.find('"')?;
        if !quoted[at + 1..].starts_with('"') {
            return Some((quoted[..at].replace("\"\"", "\""), &quoted[at + 1..]));
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_types_name_is_read_back() {
        for name in [
            "STRUCT(x INTEGER, y DOUBLE PRECISION)",
            "STRUCT(sku TEXT, n BIGINT)[]",
            "MAP(TEXT, STRUCT(a DECIMAL(10,2), b DATE[])[])",
            "STRUCT(\"A b\" TEXT, \"c,\"\"d(\" JSON)",
            "BIGINT[][]",
            "UNION(num INTEGER, str TEXT)[]",
            "MAP(TEXT, TIMESTAMP_NS)",
        ] {
            let ty = Type::from_sql_name(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(ty.sql_name(), name);
        }
        for wrong in
            ["STRUCT()", "STRUCT(a)", "STRUCT(a INTEGER", "MAP(TEXT)", "STRUCT(a NOTHING)", "LIST(TEXT)", "["]
        {
            assert_eq!(Type::from_sql_name(wrong), None, "{wrong}");
        }
        let deep = format!("{}INTEGER{}", "STRUCT(a ".repeat(5000), ")".repeat(5000));
        assert_eq!(Type::from_sql_name(&deep), None);
    }
}
