//! Functions that choose among values.

use super::Section;

/// The entries, by kind and category.
pub(super) const SECTIONS: &[Section] = &[Section {
    kind: "scalar",
    category: "conditional",
    entries: &[
        (
            "if",
            "if(condition, value, otherwise)",
            "The value where the condition holds, else the other one.",
            "if(2 > 1, 'yes', 'no')",
            "yes",
        ),
        (
            "iif",
            "iif(condition, value, otherwise)",
            "The value where the condition holds, else the other one.",
            "iif(NULL, 'yes', 'no')",
            "no",
        ),
        (
            "coalesce",
            "coalesce(value, ...)",
            "The first value that is not NULL; later ones are not evaluated.",
            "coalesce(NULL, 2, 3)",
            "2",
        ),
        (
            "greatest",
            "greatest(value, ...)",
            "The greatest value; NULLs do not count.",
            "greatest(3, NULL, 7)",
            "7",
        ),
        (
            "ifnull",
            "ifnull(value, otherwise)",
            "The value, or the other one where it is NULL.",
            "ifnull(NULL, 'none')",
            "none",
        ),
        ("least", "least(value, ...)", "The least value; NULLs do not count.", "least(3, NULL, 7)", "3"),
        (
            "nullif",
            "nullif(value, other)",
            "The value, or NULL where it equals the other.",
            "nullif(5, 5)",
            "NULL",
        ),
        (
            "is_histogram_other_bin",
            "is_histogram_other_bin(bin)",
            "Whether it is the bin that histogram counts values in that are in no other.",
            "is_histogram_other_bin(2147483647)",
            "true",
        ),
        (
            "try",
            "try(expression)",
            "The expression's value, or NULL for a row whose values are at fault: a division by zero, an overflow, a text \
             that a cast cannot read, an argument out of range.",
            "try('twelve'::integer)",
            "NULL",
        ),
        (
            "nvl",
            "nvl(value, otherwise)",
            "The value, or the other one where it is NULL.",
            "nvl(NULL, 'none')",
            "none",
        ),
        (
            "nvl2",
            "nvl2(value, otherwise, if_null)",
            "The second argument where the first is not NULL, else the third.",
            "nvl2('x', 'there', 'missing')",
            "there",
        ),
    ],
}];
