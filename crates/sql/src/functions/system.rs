//! Functions about the system and about values as such.

use super::Section;

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
            "The name of the user, of whom there is one.",
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
            "The name of the user, of whom there is one.",
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
            "hash",
            "hash(value, ...)",
            "A whole number of 63 bits that equal values share, for samples and shares; it may differ between versions.",
            "hash('a', 1) = hash('a', 1)",
            "true",
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
            "The name of the user, of whom there is one.",
            "session_user",
            "quickstep",
        ),
        ("typeof", "typeof(value)", "The type of the value.", "typeof(DATE '2024-02-03')", "DATE"),
        ("user", "user", "The name of the user, of whom there is one.", "user", "quickstep"),
        ("uuidv4", "uuidv4()", "Another name of uuid.", "length(uuidv4()::text)", "36"),
        (
            "version",
            "version()",
            "The name and version of the system.",
            "version() LIKE 'Quickstep%'",
            "true",
        ),
        ("uuid", "uuid()", "A random UUID, another one each row.", "length(uuid()::text)", "36"),
    ],
}];
