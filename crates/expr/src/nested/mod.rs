//! Functions of lists, structs and maps, and of JSON, called by name over vectors as the library's are.
//!
//! A list's elements are looked at where they lie: equal values have equal bytes, and bytes order as values do, so that
//! searching, sorting, cutting and joining lists needs no element's value. Arguments come with the types that the binder
//! cast them to: two lists of one call have the same elements.

mod array;
mod distance;
mod file_names;
mod fixed;
mod fold;
mod gathered;
mod growing;
mod json;
mod json_change;
mod json_paths;
mod json_shape;
mod jsonb;
mod lambda;
mod list;
mod moments;
mod record;
mod regular;
mod rows;
mod text;

pub(crate) use growing::replaced_bytes;
pub(crate) use json_shape::pretty_bytes;
pub(crate) use lambda::{LambdaBody, LambdaCall};
pub(crate) use moments::moments_bytes;
pub(crate) use regular::replaced_by_pattern;
pub(crate) use rows::Kernel;
use rows::{booleans, bytes, integers, invalid, payload, text, whole};

/// The function of that name.
pub(crate) fn named(name: &str) -> Option<Kernel> {
    list::named(name)
        .or_else(|| record::named(name))
        .or_else(|| regular::named(name))
        .or_else(|| text::named(name))
        .or_else(|| fold::named(name))
        .or_else(|| gathered::named(name))
        .or_else(|| distance::named(name))
        .or_else(|| json::named(name))
        .or_else(|| json_change::named(name))
        .or_else(|| json_paths::named(name))
        .or_else(|| json_shape::named(name))
        .or_else(|| file_names::named(name))
        .or_else(|| moments::named(name))
        .or_else(|| jsonb::named(name))
        .or_else(|| array::named(name))
        .or_else(|| growing::named(name))
        .or_else(|| crate::own::kernel_of(name))
}
