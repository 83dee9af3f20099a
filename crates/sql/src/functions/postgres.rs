//! Functions that PostgreSQL has of arrays, of JSONB, and of numbers in templates.
//!
//! One entry for each name, with its category: usage, description, example and its result as text. A test runs every
//! example. The calls are bound in `bind::postgres_calls`.

use super::Section;

/// The entries, by kind and category.
pub(super) const SECTIONS: &[Section] = &[
    Section {
        kind: "scalar",
        category: "list",
        entries: &[
            (
                "array_dims",
                "array_dims(list)",
                "How long a list, and the first list in it, is along every dimension; NULL for an empty one.",
                "array_dims([[1, 2, 3], [4, 5, 6]])",
                "[1:2][1:3]",
            ),
            (
                "array_fill",
                "array_fill(value, lengths)",
                "A list that has the value so many times, as the only number of the second list says.",
                "array_fill(7, [3])",
                "[7, 7, 7]",
            ),
            (
                "array_lower",
                "array_lower(list, dimension)",
                "The first index along a dimension, which is 1; NULL where there is nothing.",
                "array_lower([5, 6], 1)",
                "1",
            ),
            (
                "array_ndims",
                "array_ndims(list)",
                "How many dimensions a list has; NULL for an empty one.",
                "array_ndims([[1, 2], [3, 4]])",
                "2",
            ),
            (
                "array_positions",
                "array_positions(list, value)",
                "The places of a value in a list; NULL is a value, too.",
                "array_positions(['a', 'b', 'a'], 'a')",
                "[1, 3]",
            ),
            (
                "array_remove",
                "array_remove(list, value)",
                "The list without the elements that are the value; NULL is a value, too.",
                "array_remove([1, 2, 1], 1)",
                "[2]",
            ),
            (
                "array_replace",
                "array_replace(list, value, other)",
                "The list with another value in place of one.",
                "array_replace([1, 2, 1], 1, 9)",
                "[9, 2, 9]",
            ),
            (
                "array_upper",
                "array_upper(list, dimension)",
                "The last index along a dimension; NULL where there is nothing.",
                "array_upper([5, 6], 1)",
                "2",
            ),
            (
                "trim_array",
                "trim_array(list, count)",
                "The list without its last elements.",
                "trim_array([1, 2, 3], 2)",
                "[1]",
            ),
        ],
    },
    Section {
        kind: "scalar",
        category: "json",
        entries: &[
            (
                "json_strip_nulls",
                "json_strip_nulls(json)",
                "The JSON without the entries of objects that are null.",
                "json_strip_nulls('{\"a\": null, \"b\": [null]}')",
                "{\"b\":[null]}",
            ),
            (
                "jsonb_insert",
                "jsonb_insert(jsonb, path, value [, behind])",
                "With a value before, or behind, the element that a path leads to, or under a new key.",
                "jsonb_insert('{\"a\": [1, 2]}', '{a, 1}', '9')",
                "{\"a\": [1, 9, 2]}",
            ),
            (
                "jsonb_pretty",
                "jsonb_pretty(jsonb)",
                "The text with a line for each element and entry.",
                "jsonb_pretty('[]')",
                "[\n]",
            ),
            (
                "jsonb_set",
                "jsonb_set(jsonb, path, value [, create])",
                "With another value where a path leads; unless create is false, one that is missing there is made.",
                "jsonb_set('{\"a\": [1, 2]}', '{a, 0}', '9')",
                "{\"a\": [9, 2]}",
            ),
            (
                "jsonb_set_lax",
                "jsonb_set_lax(jsonb, path, value [, create [, treatment]])",
                "As jsonb_set; of a NULL, 'use_json_null' (or nothing) makes null, 'delete_key', 'return_target' and 'raise_exception' do as they say.",
                "jsonb_set_lax('{\"a\": 1, \"b\": 2}', '{a}', NULL, true, 'delete_key')",
                "{\"b\": 2}",
            ),
            (
                "jsonb_strip_nulls",
                "jsonb_strip_nulls(jsonb)",
                "The value without the entries of objects that are null.",
                "jsonb_strip_nulls('{\"a\": null, \"b\": [null]}')",
                "{\"b\": [null]}",
            ),
        ],
    },
    Section { kind: "scalar", category: "numeric", entries: &[] },
    Section {
        kind: "scalar",
        category: "regular expression",
        entries: &[(
            "regexp_extract_all",
            "regexp_extract_all(text, pattern [, group [, flags]]); regexp_extract_all(text, pattern, names [, flags])",
            "Every match of the pattern, or of a group in it; with a list of names, its groups as structs of those fields.",
            "regexp_extract_all('a1b22', '([a-z])([0-9]+)', 2)",
            "[1, 22]",
        )],
    },
    Section {
        kind: "table",
        category: "rows",
        entries: &[
            (
                "generate_subscripts",
                "generate_subscripts(list, dimension [, backwards])",
                "The indices along a dimension of a list.",
                "SELECT * FROM generate_subscripts(['a', 'b'], 1)",
                "1, 2",
            ),
            (
                "json_to_record",
                "json_to_record(json) AS x(column type, ...)",
                "The values of an object's keys, one row of the columns that the alias says.",
                "SELECT * FROM json_to_record('{\"a\": 1, \"b\": [2]}') AS x(a INTEGER, b TEXT, c DATE)",
                "1, [2], NULL",
            ),
            (
                "json_to_recordset",
                "json_to_recordset(json) AS x(column type, ...)",
                "The values of the keys of an array's objects, a row for each of them.",
                "SELECT * FROM json_to_recordset('[{\"a\": 1}, {\"a\": \"2\"}]') AS x(a INTEGER)",
                "1, 2",
            ),
            (
                "jsonb_to_record",
                "jsonb_to_record(jsonb) AS x(column type, ...)",
                "Another name of json_to_record.",
                "SELECT * FROM jsonb_to_record('{\"a\": 1}') AS x(a INTEGER)",
                "1",
            ),
            (
                "jsonb_to_recordset",
                "jsonb_to_recordset(jsonb) AS x(column type, ...)",
                "Another name of json_to_recordset.",
                "SELECT * FROM jsonb_to_recordset('[{\"a\": 1}]') AS x(a INTEGER)",
                "1",
            ),
            (
                "regexp_split_to_table",
                "regexp_split_to_table(text, pattern [, flags])",
                "The parts of a text between matches of a pattern.",
                "SELECT * FROM regexp_split_to_table('a1b2c', '[0-9]')",
                "a, b, c",
            ),
            (
                "string_to_table",
                "string_to_table(text, separator [, null])",
                "The parts of a text between separators; those that are the third argument are NULL.",
                "SELECT * FROM string_to_table('a,b', ',')",
                "a, b",
            ),
        ],
    },
];
