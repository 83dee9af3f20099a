//! Functions that stand in FROM.

use super::Section;

pub(super) const SECTIONS: &[Section] = &[
    Section {
        kind: "table",
        category: "rows",
        entries: &[
            (
                "generate_series",
                "generate_series(start, stop [, step])",
                "The numbers or moments from start to stop, both included.",
                "SELECT * FROM generate_series(1, 7, 3)",
                "1, 4, 7",
            ),
            (
                "range",
                "range([start,] stop [, step])",
                "The numbers or moments from start, or from 0, to before stop.",
                "SELECT * FROM range(3)",
                "0, 1, 2",
            ),
            ("unnest", "unnest(list, ...) [WITH ORDINALITY]", "A row for each element; lists side by side, the shorter ones filled up with NULL.", "SELECT * FROM unnest([1, 2], ['a'])", "1, a, 2, NULL"),
            ("json_each", "json_each(json)", "The keys and values of an object.", "SELECT * FROM json_each('{\"a\": 1, \"b\": \"x\"}')", "a, 1, b, \"x\""),
            ("json_each_text", "json_each_text(json)", "The keys and values of an object, the values as texts.", "SELECT * FROM json_each_text('{\"a\": 1, \"b\": \"x\"}')", "a, 1, b, x"),
            ("json_array_elements", "json_array_elements(json)", "The elements of an array.", "SELECT * FROM json_array_elements('[1, \"x\"]')", "1, \"x\""),
            ("json_array_elements_text", "json_array_elements_text(json)", "The elements of an array as texts.", "SELECT * FROM json_array_elements_text('[1, \"x\"]')", "1, x"),
            ("json_object_keys", "json_object_keys(json)", "The keys of an object.", "SELECT * FROM json_object_keys('{\"a\": 1, \"b\": 2}')", "a, b"),
            ("jsonb_each", "jsonb_each(json)", "Another name of json_each.", "SELECT * FROM jsonb_each('{\"a\": 1}')", "a, 1"),
            ("jsonb_each_text", "jsonb_each_text(json)", "Another name of json_each_text.", "SELECT * FROM jsonb_each_text('{\"a\": 1}')", "a, 1"),
            ("jsonb_array_elements", "jsonb_array_elements(json)", "Another name of json_array_elements.", "SELECT * FROM jsonb_array_elements('[1, 2]')", "1, 2"),
            ("jsonb_array_elements_text", "jsonb_array_elements_text(json)", "Another name of json_array_elements_text.", "SELECT * FROM jsonb_array_elements_text('[1, 2]')", "1, 2"),
            ("jsonb_object_keys", "jsonb_object_keys(json)", "Another name of json_object_keys.", "SELECT * FROM jsonb_object_keys('{\"a\": 1}')", "a"),
        ],
    },
    Section {
        kind: "table",
        category: "files",
        entries: &[
            (
                "read_arrow",
                "read_arrow('file' [, option => value, ...])",
                "The rows of Arrow IPC files; the name may be a pattern with * and ?.",
                "SELECT * FROM read_arrow('data/*.arrow')",
                "",
            ),
            (
                "read_csv",
                "read_csv('file' [, option => value, ...])",
                "The rows of CSV files; what no option says is found by looking at the first rows.",
                "SELECT * FROM read_csv('data/*.csv', header => true)",
                "",
            ),
            ("read_json", "read_json('file' [, option => value, ...])", "The rows of JSON files: objects one a line, in an array or one after the other.", "SELECT * FROM read_json('data/*.json')", ""),
            ("read_ndjson", "read_ndjson('file' [, option => value, ...])", "The rows of files with a JSON object on each line.", "SELECT * FROM read_ndjson('data/*.ndjson')", ""),
            (
                "read_parquet",
                "read_parquet('file' [, option => value, ...])",
                "The rows of Parquet files; only the row groups and columns that a query needs are read.",
                "SELECT count(*) FROM read_parquet('data/*.parquet')",
                "",
            ),
            (
                "read_tbl",
                "read_tbl('file' [, option => value, ...])",
                "The rows of files as the TPC generators write them, with | behind every value.",
                "SELECT * FROM read_tbl('lineitem.tbl')",
                "",
            ),
            ("sniff_csv", "sniff_csv('file' [, option => value, ...])", "What is found by looking at a CSV file: its delimiter, quote, header and types, with a call that says so.", "SELECT * FROM sniff_csv('data/lines.csv')", ""),
        ],
    },
];
