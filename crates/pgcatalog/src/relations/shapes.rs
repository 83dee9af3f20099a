//! Indices, constraints, types, labels, sequences, rules, and what depends on what.
//!
//! Each function makes the rows of one relation of `pg_catalog` from the statement's view of the catalog; `relations`
//! calls it when the relation is bound. OIDs are those that `classes` gives to the same objects.

use pgproto::oid::describe;
use types::{ReferentialAction, Type, Value};

use super::values::{PG_CLASS, Rows, attribute_numbers, letter, oid, oids, small, smalls, text, truth};
use crate::objects::{Catalog, Class, Column};
use crate::oids::{OWNER, of_table};
use crate::{definitions, fixed};

const PG_CONSTRAINT: u32 = 2606;
const PG_REWRITE: u32 = 2618;

/// The default B-tree operator class of a type, by the type's OID; 0 where there is none here.
fn operator_class(ty: u32) -> u32 {
    let Some(relation) = fixed::relation("pg_opclass") else { return 0 };
    let place = |name: &str| relation.place(name).unwrap_or(0);
    let (method, input, default) = (place("opcmethod"), place("opcintype"), place("opcdefault"));
    // VARCHAR and enums have those of TEXT and of all enums.
    let wanted = match ty {
        1043 => 25,
        other => other,
    };
    let found = fixed::rows(relation).iter().find(|row| {
        row[method].as_i64() == Some(403)
            && row[input].as_i64() == Some(i64::from(wanted))
            && row[default] == Value::Bool(true)
    });
    found.and_then(|row| row[0].as_i64()).and_then(|oid| u32::try_from(oid).ok()).unwrap_or(0)
}

fn collation_of(ty: Type) -> u32 {
    if matches!(ty, Type::Char(_) | Type::Varchar(_) | Type::Text | Type::Collated(_)) { 100 } else { 0 }
}

pub(super) fn indices(catalog: &Catalog, rows: &mut Rows) {
    for class in &catalog.classes {
        let Some(index) = &class.index else { continue };
        let types: Vec<Type> = class.columns.iter().map(|c| c.ty).collect();
        rows.push(vec![
            ("indexrelid", oid(class.oid)),
            ("indrelid", oid(index.table)),
            ("indnatts", small(index.columns.len())),
            ("indnkeyatts", small(index.columns.len())),
            ("indisunique", truth(index.unique)),
            ("indnullsnotdistinct", truth(index.nulls_equal)),
            ("indisprimary", truth(index.primary)),
            ("indimmediate", truth(true)),
            ("indisvalid", truth(true)),
            ("indisready", truth(true)),
            ("indislive", truth(true)),
            ("indkey", super::classes::index_columns(&index.columns)),
            ("indcollation", oids(types.iter().map(|ty| collation_of(*ty)))),
            ("indclass", oids(types.iter().map(|ty| operator_class(describe(*ty, catalog).oid)))),
            ("indoption", smalls(types.iter().map(|_| 0))),
        ]);
    }
}

fn action(action: ReferentialAction) -> char {
    match action {
        ReferentialAction::NoAction => 'a',
        ReferentialAction::Restrict => 'r',
        ReferentialAction::Cascade => 'c',
        ReferentialAction::SetNull => 'n',
        ReferentialAction::SetDefault => 'd',
    }
}

pub(super) fn constraints(catalog: &Catalog, rows: &mut Rows) {
    for constraint in &catalog.constraints {
        let mut row = vec![
            ("oid", oid(constraint.oid)),
            ("conname", text(&constraint.name)),
            ("connamespace", oid(constraint.namespace)),
            ("contype", letter(constraint.kind)),
            ("convalidated", truth(true)),
            ("conrelid", oid(constraint.table)),
            ("conindid", oid(constraint.index)),
            ("conislocal", truth(true)),
            ("connoinherit", truth(constraint.kind != 'c')),
            ("conkey", attribute_numbers(&constraint.columns)),
            ("confupdtype", text(" ")),
            ("confdeltype", text(" ")),
            ("confmatchtype", text(" ")),
        ];
        if let Some(key) = &constraint.foreign {
            row.extend([
                ("confrelid", oid(of_table(key.parent.0))),
                ("confupdtype", letter(action(key.on_update))),
                ("confdeltype", letter(action(key.on_delete))),
                ("confmatchtype", letter(if key.full { 'f' } else { 's' })),
                ("confkey", attribute_numbers(&key.parent_columns)),
            ]);
        }
        if let Some(check) = &constraint.check {
            row.push(("conbin", text(check)));
        }
        rows.push(row);
    }
}

/// Input, output, receiving and sending of a kind of type, as `pg_type` has them.
fn in_and_out(of: [(u32, &str); 4]) -> [(&'static str, Value); 4] {
    let value = |at: usize| types::system_type::reg_value(of[at].0, of[at].1);
    [("typinput", value(0)), ("typoutput", value(1)), ("typreceive", value(2)), ("typsend", value(3))]
}

const ENUM: [(u32, &str); 4] =
    [(3504, "enum_in"), (3505, "enum_out"), (3532, "enum_recv"), (3533, "enum_send")];
const RECORD: [(u32, &str); 4] =
    [(2290, "record_in"), (2291, "record_out"), (2402, "record_recv"), (2403, "record_send")];
const ARRAY: [(u32, &str); 4] =
    [(750, "array_in"), (751, "array_out"), (2400, "array_recv"), (2401, "array_send")];

pub(super) fn types(catalog: &Catalog, rows: &mut Rows) {
    let array = |rows: &mut Rows, own: u32, of: u32, name: &str, namespace: u32| {
        let mut row = vec![
            ("oid", oid(own)),
            ("typname", text(&format!("_{name}"))),
            ("typnamespace", oid(namespace)),
            ("typowner", oid(OWNER)),
            ("typlen", Value::I16(-1)),
            ("typtype", letter('b')),
            ("typcategory", letter('A')),
            ("typisdefined", truth(true)),
            ("typdelim", letter(',')),
            ("typsubscript", types::system_type::reg_value(6179, "array_subscript_handler")),
            ("typanalyze", types::system_type::reg_value(3816, "array_typanalyze")),
            ("typelem", oid(of)),
            ("typalign", letter('i')),
            ("typstorage", letter('x')),
            ("typtypmod", Value::I32(-1)),
        ];
        row.extend(in_and_out(ARRAY));
        rows.push(row);
    };
    for known in &catalog.enumerations {
        let mut row = vec![
            ("oid", oid(known.oid)),
            ("typname", text(&known.name)),
            ("typnamespace", oid(known.namespace)),
            ("typowner", oid(catalog.owner(Some(&access::ObjectKey::Type(known.key.clone()))))),
            ("typlen", Value::I16(4)),
            ("typbyval", truth(true)),
            ("typtype", letter('e')),
            ("typcategory", letter('E')),
            ("typisdefined", truth(true)),
            ("typdelim", letter(',')),
            ("typarray", oid(known.oid + 1)),
            ("typalign", letter('i')),
            ("typstorage", letter('p')),
            ("typtypmod", Value::I32(-1)),
        ];
        row.extend(in_and_out(ENUM));
        rows.push(row);
        array(rows, known.oid + 1, known.oid, &known.name, known.namespace);
    }
    for class in catalog.classes.iter().filter(|class| class.row_type != 0) {
        let mut row = vec![
            ("oid", oid(class.row_type)),
            ("typname", text(&class.name)),
            ("typnamespace", oid(class.namespace)),
            ("typowner", oid(OWNER)),
            ("typlen", Value::I16(-1)),
            ("typtype", letter('c')),
            ("typcategory", letter('C')),
            ("typisdefined", truth(true)),
            ("typdelim", letter(',')),
            ("typrelid", oid(class.oid)),
            ("typarray", oid(class.row_type + 1)),
            ("typalign", letter('d')),
            ("typstorage", letter('x')),
            ("typtypmod", Value::I32(-1)),
        ];
        row.extend(in_and_out(RECORD));
        rows.push(row);
        array(rows, class.row_type + 1, class.row_type, &class.name, class.namespace);
    }
}

pub(super) fn labels(catalog: &Catalog, rows: &mut Rows) {
    for known in &catalog.enumerations {
        for (label, at) in known.ty.labels().unwrap_or_default().iter().zip(1_u32..) {
            rows.push(vec![
                ("oid", oid(known.oid.wrapping_add(0x2000_0000).wrapping_add(at))),
                ("enumtypid", oid(known.oid)),
                ("enumsortorder", Value::F32(at as f32)),
                ("enumlabel", text(label)),
            ]);
        }
    }
}

fn with_sequence(catalog: &Catalog) -> impl Iterator<Item = (&Class, &std::sync::Arc<catalog::Sequence>)> {
    catalog.classes.iter().filter_map(|class| class.sequence.as_ref().map(|sequence| (class, sequence)))
}

pub(super) fn sequences(catalog: &Catalog, rows: &mut Rows) {
    for (class, sequence) in with_sequence(catalog) {
        rows.push(vec![
            ("seqrelid", oid(class.oid)),
            ("seqtypid", oid(20)),
            ("seqstart", Value::I64(sequence.start)),
            ("seqincrement", Value::I64(sequence.increment)),
            ("seqmax", Value::I64(sequence.maximum)),
            ("seqmin", Value::I64(sequence.minimum)),
            ("seqcache", Value::I64(1)),
            ("seqcycle", truth(sequence.cycle)),
        ]);
    }
}

pub(super) fn sequences_shown(catalog: &Catalog, rows: &mut Rows) {
    for (class, sequence) in with_sequence(catalog) {
        let next = sequence.next.load(std::sync::atomic::Ordering::Relaxed);
        let last = if next == sequence.start { Value::Null } else { Value::I64(next - sequence.increment) };
        rows.push(vec![
            ("schemaname", text(catalog.namespace_name(class.namespace))),
            ("sequencename", text(&class.name)),
            ("sequenceowner", text(&super::classes::owner_name(catalog, class))),
            ("data_type", types::system_type::reg_value(20, "bigint")),
            ("start_value", Value::I64(sequence.start)),
            ("min_value", Value::I64(sequence.minimum)),
            ("max_value", Value::I64(sequence.maximum)),
            ("increment_by", Value::I64(sequence.increment)),
            ("cycle", truth(sequence.cycle)),
            ("cache_size", Value::I64(1)),
            ("last_value", last),
        ]);
    }
}

/// `information_schema.sequences`.
pub(super) fn sequences_of_standard(catalog: &Catalog, rows: &mut Rows) {
    for (class, sequence) in with_sequence(catalog) {
        let number = |value: i64| text(&value.to_string());
        rows.push(vec![
            ("sequence_catalog", text(&catalog.around.database)),
            ("sequence_schema", text(catalog.namespace_name(class.namespace))),
            ("sequence_name", text(&class.name)),
            ("data_type", text("bigint")),
            ("numeric_precision", Value::I32(64)),
            ("numeric_precision_radix", Value::I32(2)),
            ("numeric_scale", Value::I32(0)),
            ("start_value", number(sequence.start)),
            ("minimum_value", number(sequence.minimum)),
            ("maximum_value", number(sequence.maximum)),
            ("increment", number(sequence.increment)),
            ("cycle_option", text(if sequence.cycle { "YES" } else { "NO" })),
        ]);
    }
}

/// `information_schema.check_constraints`.
pub(super) fn checks_of_standard(catalog: &Catalog, rows: &mut Rows) {
    for constraint in catalog.constraints.iter().filter(|constraint| constraint.kind == 'c') {
        rows.push(vec![
            ("constraint_catalog", text(&catalog.around.database)),
            ("constraint_schema", text(catalog.namespace_name(constraint.namespace))),
            ("constraint_name", text(&constraint.name)),
            ("check_clause", text(constraint.check.as_deref().unwrap_or_default())),
        ]);
    }
}

/// The OID of a view's rule.
fn rule(class: &Class) -> u32 {
    class.oid + 3
}

pub(super) fn rules(catalog: &Catalog, rows: &mut Rows) {
    for class in catalog.classes.iter().filter(|class| class.kind == 'v' && class.row_type != 0) {
        rows.push(vec![
            ("oid", oid(rule(class))),
            ("rulename", text("_RETURN")),
            ("ev_class", oid(class.oid)),
            ("ev_type", letter('1')),
            ("ev_enabled", letter('O')),
            ("is_instead", truth(true)),
            ("ev_qual", text("<>")),
            ("ev_action", text(definitions::view(class).as_deref().unwrap_or_default())),
        ]);
    }
}

/// What is known here: indices hang on their constraints or tables, sequences on the columns that own them.
pub(super) fn dependencies(catalog: &Catalog, rows: &mut Rows) {
    let mut push = |class: u32, own: u32, on_class: u32, on: u32, column: usize, kind: char| {
        rows.push(vec![
            ("classid", oid(class)),
            ("objid", oid(own)),
            ("refclassid", oid(on_class)),
            ("refobjid", oid(on)),
            ("refobjsubid", Value::I32(column as i32)),
            ("deptype", letter(kind)),
        ]);
    };
    for class in &catalog.classes {
        if let Some(index) = &class.index {
            match index.constraint {
                0 => index.columns.iter().for_each(|at| {
                    push(PG_CLASS, class.oid, PG_CLASS, index.table, at + 1, 'a');
                }),
                constraint => push(PG_CLASS, class.oid, PG_CONSTRAINT, constraint, 0, 'i'),
            }
        }
        if let Some((table, column)) = class.sequence.as_ref().and_then(|sequence| sequence.owner) {
            let table = of_table(table.0);
            let always = |c: &Column| c.default.as_deref().is_some_and(|text| text.ends_with("always */"));
            let owner = catalog.class(table).and_then(|owner| owner.columns.get(column));
            let number = if owner.is_some() { column + 1 } else { 0 };
            push(
                PG_CLASS,
                class.oid,
                PG_CLASS,
                table,
                number,
                if owner.is_some_and(always) { 'i' } else { 'a' },
            );
        }
        if class.kind == 'v' && class.row_type != 0 {
            push(PG_REWRITE, rule(class), PG_CLASS, class.oid, 0, 'i');
        }
    }
    for constraint in &catalog.constraints {
        for at in &constraint.columns {
            push(PG_CONSTRAINT, constraint.oid, PG_CLASS, constraint.table, at + 1, 'a');
        }
        if let Some(key) = &constraint.foreign {
            for at in &key.parent_columns {
                push(PG_CONSTRAINT, constraint.oid, PG_CLASS, of_table(key.parent.0), at + 1, 'n');
            }
        }
    }
}
