//! Printing a tree as text, in one form for all that means the same: `parse(print(tree)) = tree`.
//!
//! Parentheses of expressions are nodes of the tree, so that none is added or lost here.
//! `Display` of the tree's types is this; views, macros and the tests' configuration "printed" go by it.

mod access;
mod create;
mod cursor;
mod expr;
mod modify;
mod query;
mod statement;

use std::fmt;

use crate::tree::{
    Expr, Name, OptionValue, OrderItem, Path, Query, SetOption, Statement, TextLiteral, TypeKind, TypeName,
};

/// What can be written into a text.
pub(crate) trait Print {
    fn print(&self, out: &mut String);
}

impl<T: Print> Print for Box<T> {
    fn print(&self, out: &mut String) {
        (**self).print(out);
    }
}

/// Writes several things behind each other.
macro_rules! put {
    ($out:expr, $($part:expr),+ $(,)?) => {{
        $($crate::print::Print::print(&$part, $out);)+
    }};
}
pub(crate) use put;

impl Print for &str {
    fn print(&self, out: &mut String) {
        out.push_str(self);
    }
}

impl<T: Print> Print for &T {
    fn print(&self, out: &mut String) {
        (**self).print(out);
    }
}

impl Print for Box<str> {
    fn print(&self, out: &mut String) {
        out.push_str(self);
    }
}

/// Writes things with a separator between them.
pub(crate) fn list<T: Print>(out: &mut String, items: &[T]) {
    each(out, items, ", ", |out, item| item.print(out));
}

pub(crate) fn each<T>(
    out: &mut String,
    items: &[T],
    separator: &str,
    mut print: impl FnMut(&mut String, &T),
) {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push_str(separator);
        }
        print(out, item);
    }
}

/// ` WORD thing`, where there is one.
pub(crate) fn clause<T: Print>(out: &mut String, word: &str, thing: Option<&T>) {
    if let Some(thing) = thing {
        put!(out, " ", word, " ", thing);
    }
}

/// ` WORD`, where it is so.
pub(crate) fn word_if(out: &mut String, is: bool, word: &str) {
    if is {
        put!(out, " ", word);
    }
}

/// ` (a, b)`, where there are some.
pub(crate) fn in_parens<T: Print>(out: &mut String, items: &[T]) {
    if !items.is_empty() {
        out.push_str(" (");
        list(out, items);
        out.push(')');
    }
}

/// A text in single quotes.
pub(crate) fn quoted(out: &mut String, text: &str) {
    out.push('\'');
    for part in text.split_inclusive('\'') {
        out.push_str(part);
        if part.ends_with('\'') {
            out.push('\'');
        }
    }
    out.push('\'');
}

impl Print for Name {
    fn print(&self, out: &mut String) {
        if !self.quoted {
            return out.push_str(&self.text);
        }
        out.push('"');
        out.push_str(&self.text.replace('"', "\"\""));
        out.push('"');
    }
}

impl Print for Path {
    fn print(&self, out: &mut String) {
        each(out, &self.names, ".", |out, name| name.print(out));
    }
}

impl Print for TextLiteral {
    fn print(&self, out: &mut String) {
        quoted(out, &self.text);
    }
}

impl Print for SetOption {
    fn print(&self, out: &mut String) {
        self.name.print(out);
        if let Some(value) = &self.value {
            if !self.name.text.is_empty() {
                out.push_str(" = ");
            }
            value.print(out);
        }
    }
}

impl Print for OptionValue {
    fn print(&self, out: &mut String) {
        match self {
            OptionValue::Word(name) => name.print(out),
            OptionValue::Expr(expr) => expr.print(out),
            OptionValue::List(entries) => {
                out.push('(');
                list(out, entries);
                out.push(')');
            }
            OptionValue::Star(_) => out.push('*'),
            OptionValue::Order(items) => {
                out.push('(');
                list(out, items);
                out.push(')');
            }
        }
    }
}

impl Print for TypeName {
    fn print(&self, out: &mut String) {
        self.kind.print(out);
        for length in &self.lists {
            match length {
                None => out.push_str("[]"),
                Some(length) => put!(out, "[", length.to_string().as_str(), "]"),
            }
        }
    }
}

fn precision(out: &mut String, digits: Option<u32>) {
    if let Some(digits) = digits {
        put!(out, "(", digits.to_string().as_str(), ")");
    }
}

impl Print for TypeKind {
    fn print(&self, out: &mut String) {
        match self {
            TypeKind::Named { name, modifiers } => {
                name.print(out);
                if !modifiers.is_empty() {
                    out.push('(');
                    list(out, modifiers);
                    out.push(')');
                }
            }
            TypeKind::Moment { name, precision: digits, zone } => {
                name.print(out);
                precision(out, *digits);
                match zone {
                    None => {}
                    Some(true) => out.push_str(" WITH TIME ZONE"),
                    Some(false) => out.push_str(" WITHOUT TIME ZONE"),
                }
            }
            TypeKind::Interval { fields, precision: digits } => {
                out.push_str("INTERVAL");
                precision(out, *digits);
                if let Some(fields) = fields {
                    put!(out, " ", fields);
                }
            }
            TypeKind::Struct { row, fields } => {
                out.push_str(if *row { "ROW(" } else { "STRUCT(" });
                each(out, fields, ", ", |out, (name, ty)| {
                    if let Some(name) = name {
                        put!(out, name, " ");
                    }
                    ty.print(out);
                });
                out.push(')');
            }
            TypeKind::Map(key, value) => put!(out, "MAP(", key, ", ", value, ")"),
            TypeKind::List(element) => put!(out, "LIST(", element, ")"),
            TypeKind::Union(members) => {
                out.push_str("UNION(");
                each(out, members, ", ", |out, (name, ty)| put!(out, name, " ", ty));
                out.push(')');
            }
            TypeKind::Enum(values) => {
                out.push_str("ENUM(");
                list(out, values);
                out.push(')');
            }
        }
    }
}

macro_rules! display {
    ($($ty:ty),+) => {
        $(impl fmt::Display for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut out = String::new();
                self.print(&mut out);
                f.write_str(&out)
            }
        })+
    };
}

display!(Statement, Expr, TypeName, Query, OrderItem, Path, Name);
