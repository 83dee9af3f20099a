//! Functions of the paths and sizes of files, and of the characters that people see.

use super::Section;

/// The entries, by kind and category.
pub(super) const SECTIONS: &[Section] = &[Section {
    kind: "scalar",
    category: "text",
    entries: &[
        (
            "parse_formatted_bytes",
            "parse_formatted_bytes(text)",
            "The bytes of a size as format_bytes and settings write it.",
            "parse_formatted_bytes('1.5 KiB')",
            "1536",
        ),
        (
            "parse_path",
            "parse_path(path [, separator])",
            "The names of the path. The separator is 'both_slash', which is the default, 'forward_slash', 'backslash' or 'system'.",
            "parse_path('/path/to/file.csv')",
            "[/, path, to, file.csv]",
        ),
        (
            "path_join",
            "path_join(path, path, ...)",
            "The path that the others lead to from the first, without . and .. on the way.",
            "path_join('dir/sub', '../file.csv')",
            "dir/file.csv",
        ),
    ],
}];
