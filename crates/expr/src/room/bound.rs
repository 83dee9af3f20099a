//! How many bytes the result of a node may have at most, by its inputs.

use plan::Function;
use types::{Type, Value};
use vector::{Data, Vector};

use super::{ASKED_BYTES_MIN, TREE_SHARE, text_bytes};
use crate::graph::{Node, Operation};

/// At most so many bytes, its own working memory included, does the operation take for flat or constant inputs.
pub(crate) fn bound(node: &Node, inputs: &[Vector], rows: usize) -> u64 {
    let given = || inputs.iter().map(text_bytes).fold(0, u64::saturating_add);
    match &node.operation {
        Operation::Function(Function::Concatenate) => given().saturating_mul(2),
        Operation::Function(Function::Lower | Function::Upper) => given().saturating_mul(3),
        // Parts of a flat vector are views into it.
        Operation::Function(Function::Substring) => match inputs[0].data() {
            Data::Constant(_) => text_bytes(&inputs[0]),
            _ => 0,
        },
        Operation::Cast { .. } if node.ty.is_text() || node.ty.is_nested() || node.ty == Type::Bytea => {
            match inputs[0].ty().is_text() && node.ty.is_text() {
                true if node.ty == Type::Jsonb && inputs[0].ty() != Type::Jsonb => given()
                    .saturating_mul(3)
                    .saturating_add(largest(&inputs[0], rows).saturating_mul(TREE_SHARE)),
                true => 0,
                false => given().saturating_mul(4),
            }
        }
        // A match of one byte may have as many groups as there are names.
        Operation::Library(call) if call.name() == "regexp_extract_all_named" => {
            let names = node.ty.element().and_then(Type::fields).map_or(1, <[_]>::len) as u64;
            text_bytes(&inputs[0]).saturating_mul(names.saturating_mul(8).saturating_add(3))
        }
        Operation::Library(call) => library(call.name(), inputs, rows, given),
        _ => 0,
    }
}

fn library(name: &str, inputs: &[Vector], rows: usize, given: impl Fn() -> u64) -> u64 {
    let count = |at: usize, row: usize| inputs.get(at).map_or(0, |v| whole(v, row));
    match (name, inputs.len()) {
        ("repeat", 2) => sum(rows, |row| row_bytes(&inputs[0], row).saturating_mul(count(1, row))),
        // A character takes at most four bytes.
        ("lpad" | "rpad", 2..) => {
            let widest = |row| if inputs.get(2).is_some_and(|fill| row_bytes(fill, row) > 1) { 4 } else { 1 };
            sum(rows, |row| {
                row_bytes(&inputs[0], row).saturating_add(count(1, row).saturating_mul(widest(row)))
            })
        }
        ("replace", 3) => sum(rows, |row| {
            let (text, from) = (row_bytes(&inputs[0], row), row_bytes(&inputs[1], row).max(1));
            let most = text.saturating_add((text / from).saturating_mul(row_bytes(&inputs[2], row)));
            if most < ASKED_BYTES_MIN { most } else { crate::nested::replaced_bytes(inputs, row) }
        }),
        ("list_range", 3..) => sum(rows, |row| {
            let at = |n: usize| i128::from(inputs[n].value(row).as_i64().unwrap_or(0));
            let step = at(2).abs().max(1);
            u64::try_from(((at(1) - at(0)).abs() / step + 1) * 27).unwrap_or(u64::MAX)
        }),
        // As many bytes as items may have (`jsonpath`), and as their list.
        ("jsonb_path_items" | "jsonb_path_query_array" | "jsonb_path_query_first", 4..) => {
            given().saturating_mul(36).saturating_add(largest(&inputs[0], rows).saturating_mul(TREE_SHARE))
        }
        (
            "jsonb_path_exists" | "jsonb_path_match" | "jsonb_path_exists_opr" | "jsonb_path_match_opr",
            2..,
        ) => largest(&inputs[0], rows).saturating_mul(TREE_SHARE),
        ("list_of_moments", 4) => sum(rows, |row| crate::nested::moments_bytes(inputs, row)),
        ("json_pretty" | "jsonb_pretty", 1) => sum(rows, |row| crate::nested::pretty_bytes(inputs, row)),
        ("list_resize", 2..) => sum(rows, |row| {
            if inputs[0].is_null(row) {
                return 0;
            }
            let filler = inputs.get(2).map_or(1, |v| row_bytes(v, row).max(16));
            row_bytes(&inputs[0], row).saturating_add(count(1, row).saturating_mul(filler)).saturating_mul(2)
        }),
        ("array_fill", 2) => sum(rows, |row| {
            let lengths = inputs[1].value(row);
            let count = lengths.as_bytes().and_then(|list| first_whole(inputs[1].ty(), list)).unwrap_or(0);
            count.saturating_mul(row_bytes(&inputs[0], row).max(16))
        }),
        ("regexp_replace", 3..) => sum(rows, |row| {
            let text = row_bytes(&inputs[0], row);
            let (replacement, groups) = (row_bytes(&inputs[2], row), backslashes(&inputs[2], row));
            // A replacement may stand at every character where all matches are replaced; matches do not overlap, so
            // that what its groups stand for is the text once for each of them.
            let times = if inputs.len() > 3 { text + 1 } else { 1 };
            let most = text.saturating_mul(groups + 1).saturating_add(times.saturating_mul(replacement));
            if most < ASKED_BYTES_MIN { most } else { crate::nested::replaced_by_pattern(inputs, row) }
        }),
        // Characters, and lines of numbers as long as a text.
        // A number for each pair of characters.
        ("damerau_levenshtein", 2) => sum(rows, |row| {
            let pairs = (row_bytes(&inputs[0], row) + 2).saturating_mul(row_bytes(&inputs[1], row) + 2);
            pairs.saturating_mul(8)
        }),
        ("levenshtein" | "jaro_similarity" | "jaro_winkler_similarity", 2) => given().saturating_mul(24),
        ("space", 1) => sum(rows, |row| count(0, row)),
        ("bin", 1) => given().saturating_mul(10),
        // Taken apart row by row: a value of JSONB into all that it holds, one of JSON a level at a time.
        (name, 1..) if name.starts_with("json") => {
            let share = if name.starts_with("jsonb") { TREE_SHARE } else { TREE_SHARE / 2 };
            given().saturating_mul(3).saturating_add(largest(&inputs[0], rows).saturating_mul(share))
        }
        // A list's elements taken apart are a pointer and a length each.
        (name, _) if name.starts_with("list_") => given().saturating_mul(4),
        _ => given().saturating_mul(3),
    }
}

/// The first element of a list of BIGINT.
fn first_whole(ty: Type, list: &[u8]) -> Option<u64> {
    let slot = types::nested::encoding::elements(ty, list).next()??;
    u64::try_from(types::nested::encoding::value_of(slot, Type::BigInt).as_i64()?).ok()
}

fn whole(vector: &Vector, row: usize) -> u64 {
    let value = vector.value(row).as_i64().unwrap_or(0);
    u64::try_from(value).unwrap_or(0)
}

fn row_bytes(vector: &Vector, row: usize) -> u64 {
    match vector.data() {
        Data::Constant(Value::Bytes(bytes)) => bytes.len() as u64,
        Data::Bytes(strings) => strings.get(row).len() as u64,
        _ => 0,
    }
}

/// Groups that a replacement may name.
fn backslashes(vector: &Vector, row: usize) -> u64 {
    let count = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\\').count() as u64;
    match vector.data() {
        Data::Constant(Value::Bytes(bytes)) => count(bytes),
        Data::Bytes(strings) => count(strings.get(row)),
        _ => 0,
    }
}

/// Bytes of the longest of a vector's texts.
fn largest(vector: &Vector, rows: usize) -> u64 {
    (0..rows).map(|row| row_bytes(vector, row)).max().unwrap_or(0)
}

/// The sum of a bound for each row.
fn sum(rows: usize, bound: impl Fn(usize) -> u64) -> u64 {
    (0..rows).fold(0, |sum, row| sum.saturating_add(bound(row)))
}
