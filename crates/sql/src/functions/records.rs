//! Functions of maps and structs.
//!
//! One entry for each name, with its category: usage, description, example and its result as text. A test runs every
//! example. Types of arguments and results are decided in `bind::nested_calls`.

use super::Section;

/// The entries, by kind and category.
pub(super) const SECTIONS: &[Section] = &[
    Section {
        kind: "scalar",
        category: "map",
        entries: &[
            (
                "element_at",
                "element_at(map, key)",
                "A list with the value of the key, empty where there is none.",
                "element_at(MAP {'a': 1}, 'a')",
                "[1]",
            ),
            (
                "map",
                "map(keys, values); map()",
                "The map of two lists; MAP {key: value, ...} is a map too.",
                "map(['a', 'b'], [1, 2])",
                "{a=1, b=2}",
            ),
            (
                "map_concat",
                "map_concat(map, ...)",
                "The entries of all maps, of equal keys those of the last.",
                "map_concat(MAP {'a': 1}, MAP {'a': 2, 'b': 3})",
                "{a=2, b=3}",
            ),
            (
                "map_contains_value",
                "map_contains_value(map, value)",
                "Whether a key of the map has the value.",
                "map_contains_value(MAP {'a': 1}, 1)",
                "true",
            ),
            (
                "map_contains",
                "map_contains(map, key)",
                "Whether the map has the key.",
                "map_contains(MAP {'a': 1}, 'a')",
                "true",
            ),
            (
                "map_contains_key",
                "map_contains_key(map, key)",
                "Another name of map_contains.",
                "map_contains_key(MAP {'a': 1}, 'b')",
                "false",
            ),
            (
                "map_entries",
                "map_entries(map)",
                "The keys and values as a list of structs.",
                "map_entries(MAP {'a': 1})",
                "[{'key': a, 'value': 1}]",
            ),
            (
                "map_extract",
                "map_extract(map, key)",
                "Another name of element_at.",
                "map_extract(MAP {'a': 1}, 'b')",
                "[]",
            ),
            (
                "map_extract_value",
                "map_extract_value(map, key)",
                "The value of the key; map[key] is the same.",
                "map_extract_value(MAP {'a': 1}, 'a')",
                "1",
            ),
            (
                "map_from_entries",
                "map_from_entries(list)",
                "The map of a list of keys and values.",
                "map_from_entries([('k', 1), ('l', 2)])",
                "{k=1, l=2}",
            ),
            ("map_keys", "map_keys(map)", "The keys.", "map_keys(MAP {'a': 1, 'b': 2})", "[a, b]"),
            ("map_values", "map_values(map)", "The values.", "map_values(MAP {'a': 1, 'b': 2})", "[1, 2]"),
        ],
    },
    Section {
        kind: "scalar",
        category: "struct",
        entries: &[
            (
                "row",
                "row(value, ...)",
                "A struct without names; (a, b) is the same.",
                "row(1, 'a')",
                "(1, a)",
            ),
            (
                "struct_concat",
                "struct_concat(struct, ...)",
                "The fields of all structs, one after the other.",
                "struct_concat({'a': 1}, {'b': 2})",
                "{'a': 1, 'b': 2}",
            ),
            (
                "struct_contains",
                "struct_contains(struct, value)",
                "Whether a field of the struct is equal to the value.",
                "struct_contains(ROW(1, 2), 2)",
                "true",
            ),
            (
                "struct_extract",
                "struct_extract(struct, 'name' or number)",
                "A field, by its name or its number from 1; struct.name is the same.",
                "struct_extract({'a': 1}, 'a')",
                "1",
            ),
            (
                "struct_extract_at",
                "struct_extract_at(struct, number)",
                "Another name of struct_extract.",
                "struct_extract_at(row(5, 6), 2)",
                "6",
            ),
            (
                "struct_has",
                "struct_has(struct, value)",
                "Another name of struct_contains.",
                "struct_has(ROW(1, 2), 3)",
                "false",
            ),
            (
                "struct_indexof",
                "struct_indexof(struct, value)",
                "Another name of struct_position.",
                "struct_indexof(ROW('a', 'b'), 'b')",
                "2",
            ),
            (
                "struct_insert",
                "struct_insert(struct, name := value, ...)",
                "The struct with further fields.",
                "struct_insert({'a': 1}, b := 2)",
                "{'a': 1, 'b': 2}",
            ),
            (
                "struct_keys",
                "struct_keys(struct)",
                "The names of the fields.",
                "struct_keys({'a': 1, 'b': 2})",
                "[a, b]",
            ),
            (
                "struct_pack",
                "struct_pack(name := value, ...)",
                "A struct; {'name': value, ...} is the same.",
                "struct_pack(a := 1, b := 'x')",
                "{'a': 1, 'b': x}",
            ),
            (
                "struct_position",
                "struct_position(struct, value)",
                "The place of the first field that is equal to the value, from 1; NULL where none is.",
                "struct_position(ROW(7, 2, 5), 2)",
                "2",
            ),
            (
                "struct_update",
                "struct_update(struct, name := value, ...)",
                "The struct with these values: in place of the fields of these names, or behind all.",
                "struct_update({'a': 1, 'b': 2}, a := 'x', c := 3)",
                "{'a': x, 'b': 2, 'c': 3}",
            ),
            (
                "struct_values",
                "struct_values(struct)",
                "The values of the struct without their names.",
                "struct_values({'a': 1, 'b': 'x'})",
                "(1, x)",
            ),
        ],
    },
];
