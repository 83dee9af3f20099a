//! Functions about the system and about values as such.

use super::Section;

/// The entries, by kind and category.
pub(super) const SECTIONS: &[Section] = &[Section {
    kind: "scalar",
    category: "system",
    entries: &[
        ("current_catalog", "current_catalog", "The name of the database.", "current_catalog", "memory"),
        (
            "current_database",
            "current_database()",
            "The name of the database.",
            "current_database()",
            "memory",
        ),
        (
            "current_role",
            "current_role",
            "The name of the role that the session goes by.",
            "current_role()",
            "quickstep",
        ),
        (
            "current_schema",
            "current_schema()",
            "The schema in which names without one are looked up first.",
            "current_schema()",
            "main",
        ),
        (
            "current_setting",
            "current_setting(name)",
            "The value of a setting.",
            "current_setting('unit_of_transfer') IS NOT NULL",
            "true",
        ),
        (
            "current_user",
            "current_user",
            "The name of the role that the session goes by.",
            "current_user",
            "quickstep",
        ),
        (
            "gen_random_uuid",
            "gen_random_uuid()",
            "A random UUID, another one each row.",
            "length(gen_random_uuid()::text)",
            "36",
        ),
        (
            "enum_first",
            "enum_first(value)",
            "The first label of the value's enum type.",
            "enum_first(NULL::ENUM('sad', 'ok'))",
            "sad",
        ),
        (
            "enum_last",
            "enum_last(value)",
            "The last label of the value's enum type.",
            "enum_last(NULL::ENUM('sad', 'ok'))",
            "ok",
        ),
        (
            "enum_range",
            "enum_range(value [, last])",
            "All labels of the value's enum type, or those from the first value to the last.",
            "enum_range(NULL::ENUM('sad', 'ok'))",
            "[sad, ok]",
        ),
        (
            "enum_range_boundary",
            "enum_range_boundary(first, last)",
            "The labels from one to another; NULL is the first, or last, of the type.",
            "enum_range_boundary('ok'::ENUM('sad', 'ok', 'happy'), NULL)",
            "[ok, happy]",
        ),
        (
            "pg_typeof",
            "pg_typeof(value)",
            "The type of the value, as PostgreSQL writes it.",
            "pg_typeof(1.5)",
            "decimal(2,1)",
        ),
        (
            "session_user",
            "session_user",
            "The name of the role that the session goes by.",
            "session_user",
            "quickstep",
        ),
        ("typeof", "typeof(value)", "The type of the value.", "typeof(DATE '2024-02-03')", "DATE"),
        ("user", "user", "The name of the role that the session goes by.", "user", "quickstep"),
        ("uuidv4", "uuidv4()", "Another name of uuid.", "length(uuidv4()::text)", "36"),
        (
            "version",
            "version()",
            "The name and version of the system.",
            "version() LIKE 'PostgreSQL 15%(Quickstep%'",
            "true",
        ),
        ("uuid", "uuid()", "A random UUID, another one each row.", "length(uuid()::text)", "36"),
    ],
}];
