//! The rows of the relations of `pg_catalog`.
//!
//! A relation's columns come from `fixed`; here are the rows. What is not said of a column is the empty value of its
//! type where PostgreSQL declares it NOT NULL, and NULL elsewhere. Columns are named, so that a row reads as what it is.

mod classes;
pub(crate) mod people;
mod shapes;
pub(crate) mod values;

pub(crate) use values::{PG_CLASS, PG_DATABASE, PG_NAMESPACE, PG_TYPE};

use types::Value;

use crate::fixed::Relation;
use crate::objects::Catalog;
use values::Rows;

/// Rows by columns' names.
pub(crate) fn rows_given(
    relation: &'static Relation,
    given: Vec<Vec<(&'static str, Value)>>,
) -> Vec<Vec<Value>> {
    let mut rows = Rows::new(relation);
    given.into_iter().for_each(|row| rows.push(row));
    rows.rows
}

/// All rows of a relation.
pub(crate) fn rows(catalog: &Catalog, relation: &'static Relation) -> Vec<Vec<Value>> {
    let mut rows = Rows::new(relation);
    match relation.name {
        "pg_namespace" => classes::namespaces(catalog, &mut rows),
        "pg_class" => classes::classes(catalog, &mut rows),
        "pg_attribute" => classes::attributes(catalog, &mut rows),
        "pg_attrdef" => classes::defaults(catalog, &mut rows),
        "pg_index" => shapes::indices(catalog, &mut rows),
        "pg_constraint" => shapes::constraints(catalog, &mut rows),
        "pg_type" => shapes::types(catalog, &mut rows),
        "pg_enum" => shapes::labels(catalog, &mut rows),
        "pg_sequence" => shapes::sequences(catalog, &mut rows),
        "pg_sequences" => shapes::sequences_shown(catalog, &mut rows),
        "pg_depend" => shapes::dependencies(catalog, &mut rows),
        "pg_rewrite" => shapes::rules(catalog, &mut rows),
        "pg_description" => classes::comments(catalog, &mut rows),
        "pg_shdescription" => classes::shared_comments(catalog, &mut rows),
        "pg_tables" => classes::tables_shown(catalog, &mut rows),
        "pg_views" => classes::views_shown(catalog, &mut rows),
        "pg_indexes" => classes::indices_shown(catalog, &mut rows),
        "pg_stat_all_tables" | "pg_stat_user_tables" | "pg_stat_sys_tables" => {
            classes::statistics(catalog, &mut rows);
        }
        "pg_database" => people::databases(catalog, &mut rows),
        "pg_authid" | "pg_roles" => people::roles(catalog, &mut rows),
        "pg_user" | "pg_shadow" => people::users(catalog, &mut rows),
        "pg_group" => people::groups(catalog, &mut rows),
        "pg_auth_members" => people::memberships(catalog, &mut rows),
        "pg_db_role_setting" => people::role_settings(catalog, &mut rows),
        "pg_policy" => people::policies(catalog, &mut rows),
        "pg_policies" => people::policies_shown(catalog, &mut rows),
        "sequences" => shapes::sequences_of_standard(catalog, &mut rows),
        "check_constraints" => shapes::checks_of_standard(catalog, &mut rows),
        "information_schema_catalog_name" => people::catalog_name(catalog, &mut rows),
        "role_table_grants" | "table_privileges" => people::table_grants(catalog, &mut rows),
        "role_column_grants" | "column_privileges" => people::column_grants(catalog, &mut rows),
        "enabled_roles" | "applicable_roles" => people::enabled_roles(catalog, &mut rows),
        "pg_settings" => people::settings(catalog, &mut rows),
        _ => {}
    }
    rows.rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Surroundings, fixed};

    #[test]
    fn every_relation_has_rows_of_its_columns() {
        let catalog = catalog::Catalog::new();
        let snapshot = catalog.snapshot();
        let objects = Catalog::new(&snapshot, Surroundings::default());
        for relation in fixed::all() {
            for row in rows(&objects, relation) {
                assert_eq!(row.len(), relation.schema.len(), "{}", relation.name);
                for (value, field) in row.iter().zip(relation.schema.fields()) {
                    let fits = value.physical().is_none_or(|physical| physical == field.ty.physical());
                    assert!(fits, "{}.{} is {value:?}", relation.name, field.name);
                }
            }
        }
        let classes = rows(&objects, fixed::relation("pg_class").unwrap());
        assert!(classes.iter().any(|row| row[1].as_text() == Some("pg_class")));
    }
}
