//! Types as they are written, in statements and in texts.
//!
//! `Types` turns `syntax::tree::TypeName` into a type; nested types recurse with bounded depth. `named` reads a text
//! outside the statement, so that its errors lose their place; `of_tree` and `row_of` read a part of the statement.
//! Plain names go through `data_type`. Called by `data_type`, CREATE TYPE and the functions of JSON.

use syntax::tree::{Name, TypeKind, TypeName};
use types::{Error, Result, SqlState, Type, json};

use crate::Relations;
use crate::data_type::column_type;
use crate::words::folded;

/// A type by its text, which is no part of the statement's: `STRUCT(a INTEGER[], b MAP(TEXT, DATE))`.
pub(crate) fn named(text: &str, relations: &dyn Relations) -> Result<Type> {
    let types = Types { text, shown: text, relations };
    let ty = syntax::parse_type(text).map_err(|error| types.wrong(error.message))?;
    types.of(&ty, 0).map_err(unplaced)
}

/// An error of a text that is no part of the statement's, without its place there.
fn unplaced(error: Error) -> Error {
    if error.position().is_none() {
        return error;
    }
    let mut told = Error::new(error.state(), error.message());
    if let Some(detail) = error.detail() {
        told = told.with_detail(detail);
    }
    match error.hint() {
        Some(hint) => told.with_hint(hint),
        None => told,
    }
}

/// A type of a statement.
pub(crate) fn of_tree(text: &str, ty: &TypeName, relations: &dyn Relations) -> Result<Type> {
    Types { text, shown: ty.span.of(text), relations }.of(ty, 0)
}

/// A nested type of a statement, without the brackets that make lists of it; its errors have no place.
pub(crate) fn nested(text: &str, ty: &TypeName, relations: &dyn Relations) -> Result<Type> {
    let written = ty.span.of(text);
    let shown = written.rfind(')').and_then(|close| written.get(..=close)).unwrap_or(written);
    let plain = TypeName { kind: ty.kind.clone(), lists: vec![], span: ty.span };
    Types { text, shown, relations }.of(&plain, 0).map_err(unplaced)
}

/// The type of rows with these fields, which stand in a statement.
pub(crate) fn row_of(text: &str, fields: &[(Name, TypeName)], relations: &dyn Relations) -> Result<Type> {
    let ends = fields.first().zip(fields.last());
    let written = ends.map(|(first, last)| first.0.span.to(last.1.span).of(text)).unwrap_or_default();
    let types = Types { text, shown: &format!("STRUCT({written})"), relations };
    types.structure(fields.iter().map(|(name, ty)| (Some(name), ty)), 0)
}

/// From types as they are written to types.
struct Types<'a> {
    /// What spans are of.
    text: &'a str,
    /// The whole type, for errors.
    shown: &'a str,
    relations: &'a dyn Relations,
}

impl Types<'_> {
    fn wrong(&self, detail: String) -> Error {
        Error::new(SqlState::SyntaxError, format!("invalid type: {}", self.shown))
            .with_detail(detail)
            .with_hint("nested types are written INTEGER[], STRUCT(a INTEGER, b TEXT) and MAP(TEXT, INTEGER)")
    }

    fn of(&self, ty: &TypeName, depth: u32) -> Result<Type> {
        if depth > types::nested::NESTING_MAX {
            return Err(self.wrong("it is nested too deeply".to_owned()));
        }
        let TypeName { kind, lists, span } = ty;
        let mut of = match kind {
            TypeKind::List(element) => Type::list(self.of(element, depth + 1)?)?,
            TypeKind::Map(key, value) => {
                let key = self.of(key, depth + 1)?;
                Type::map(key, self.of(value, depth + 1)?)?
            }
            TypeKind::Union(members) => {
                let mut known = Vec::with_capacity(members.len());
                for (name, ty) in members {
                    known.push((folded(name), self.of(ty, depth + 1)?));
                }
                Type::union(known)?
            }
            TypeKind::Struct { row: _, fields } => {
                self.structure(fields.iter().map(|(name, ty)| (name.as_ref(), ty)), depth)?
            }
            TypeKind::Named { .. }
            | TypeKind::Moment { .. }
            | TypeKind::Interval { .. }
            | TypeKind::Enum(_) => {
                let plain = TypeName { kind: kind.clone(), lists: vec![], span: *span };
                column_type(self.text, &plain, self.relations)?
            }
        };
        for length in lists {
            if let Some(length) = length {
                let message =
                    format!("the length {length} of a list inside of another type is not kept here");
                return Err(Error::unsupported(message).with_hint("leave the length out"));
            }
            of = Type::list(of)?;
        }
        Ok(of)
    }

    /// A row's fields have no names.
    fn structure<'t>(
        &self,
        fields: impl Iterator<Item = (Option<&'t Name>, &'t TypeName)>,
        depth: u32,
    ) -> Result<Type> {
        let mut known: Vec<(String, Type)> = Vec::new();
        for (name, ty) in fields {
            let name = name.map(folded).unwrap_or_default();
            if !name.is_empty() && known.iter().any(|(known, _)| *known == name) {
                return Err(self.wrong(format!("the field \"{name}\" comes twice")));
            }
            known.push((name, self.of(ty, depth + 1)?));
        }
        Type::structure(known)
    }
}

/// A type as `from_json` has it: a type's name, or JSON whose leaves are names, `{"a": "INTEGER", "b": ["TEXT"]}`.
pub(crate) fn structure(text: &str, relations: &dyn Relations) -> Result<Type> {
    if !json::is_valid(text) {
        return named(text, relations);
    }
    fn of(part: &str, depth: u32, relations: &dyn Relations) -> Result<Type> {
        if depth > types::nested::NESTING_MAX {
            return Err(Error::new(SqlState::StatementTooComplex, "the structure is nested too deeply"));
        }
        match json::parse(part) {
            // What json_structure says where it saw nothing but null.
            json::Parsed::Text(name) if name == "NULL" => Ok(Type::Null),
            json::Parsed::Text(name) => named(&name, relations),
            json::Parsed::Array(items) => match items.as_slice() {
                [item] => Type::list(of(item.get(), depth + 1, relations)?),
                _ => {
                    Err(Error::new(SqlState::InvalidParameterValue, "a list in a structure has one element"))
                }
            },
            json::Parsed::Object(entries) if !entries.is_empty() => {
                let mut names: Vec<&str> = entries.iter().map(|(name, _)| name.as_str()).collect();
                names.sort_unstable();
                if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
                    let message = format!("a structure has the key \"{}\" twice", twice[0]);
                    return Err(Error::new(SqlState::InvalidParameterValue, message));
                }
                let fields =
                    entries.iter().map(|(name, ty)| Ok((name.clone(), of(ty.get(), depth + 1, relations)?)));
                Type::structure(fields.collect::<Result<_>>()?)
            }
            _ => Err(Error::new(SqlState::InvalidParameterValue, "a structure is made of names of types")
                .with_hint(
                    "write '{\"a\": \"INTEGER\", \"b\": [\"TEXT\"]}' or 'STRUCT(a INTEGER, b TEXT[])'",
                )),
        }
    }
    of(text, 0, relations)
}
