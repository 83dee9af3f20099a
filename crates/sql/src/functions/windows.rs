//! Functions over a window of rows.

use super::Section;

/// The entries, by kind and category.
pub(super) const SECTIONS: &[Section] = &[Section {
    kind: "window",
    category: "window",
    entries: &[
        (
            "cume_dist",
            "cume_dist() OVER (...)",
            "The share of rows that come before the row or are its peers.",
            "cume_dist() OVER (ORDER BY x)",
            "0.25, 0.5, 0.75, 1",
        ),
        (
            "dense_rank",
            "dense_rank() OVER (...)",
            "The rank of the row, without gaps behind peers.",
            "dense_rank() OVER (ORDER BY s)",
            "1, 2, 1, 3",
        ),
        (
            "fill",
            "fill(value [ORDER BY key]) OVER (...)",
            "The value, and in the place of NULL what lies on the line through the nearest rows that have one, by the key or by the window's order.",
            "fill(y) OVER (ORDER BY x)",
            "10.0, 20.0, 30.0, 40.0",
        ),
        (
            "first_value",
            "first_value(value) [IGNORE NULLS] OVER (...)",
            "The value of the frame's first row.",
            "first_value(s) OVER (ORDER BY x)",
            "a, a, a, a",
        ),
        (
            "lag",
            "lag(value [, offset [, default]]) [IGNORE NULLS] OVER (...)",
            "The value of the row that many rows before, by default the one before.",
            "lag(x) OVER (ORDER BY x)",
            "NULL, 1, 2, 3",
        ),
        (
            "last_value",
            "last_value(value) [IGNORE NULLS] OVER (...)",
            "The value of the frame's last row.",
            "last_value(y) IGNORE NULLS OVER (ORDER BY x)",
            "10.0, 20.0, 20.0, 40.0",
        ),
        (
            "lead",
            "lead(value [, offset [, default]]) [IGNORE NULLS] OVER (...)",
            "The value of the row that many rows after, by default the next one.",
            "lead(x, 1, 0) OVER (ORDER BY x)",
            "2, 3, 4, 0",
        ),
        (
            "nth_value",
            "nth_value(value, n) [IGNORE NULLS] OVER (...)",
            "The value of the frame's n-th row.",
            "nth_value(x, 2) OVER (ORDER BY x)",
            "NULL, 2, 2, 2",
        ),
        (
            "ntile",
            "ntile(n) OVER (...)",
            "The number of the row's part when the partition is cut into n parts as even as can be.",
            "ntile(2) OVER (ORDER BY x)",
            "1, 1, 2, 2",
        ),
        (
            "percent_rank",
            "percent_rank() OVER (...)",
            "(rank - 1) / (rows - 1).",
            "percent_rank() OVER (ORDER BY s DESC)",
            "0.6666666666666666, 0.3333333333333333, 0.6666666666666666, 0",
        ),
        (
            "rank",
            "rank() OVER (...)",
            "The rank of the row, with gaps behind peers.",
            "rank() OVER (ORDER BY s)",
            "1, 3, 1, 4",
        ),
        (
            "row_number",
            "row_number() OVER (...)",
            "The number of the row in its partition, from 1.",
            "row_number() OVER (PARTITION BY s ORDER BY x)",
            "1, 1, 2, 1",
        ),
    ],
}];
