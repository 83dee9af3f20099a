//! Random statements that change rows: what they leave is what a query over the table before would give, which the
//! reference answers.
//!
//! | statement | the table after it |
//! | --- | --- |
//! | `DELETE FROM t WHERE p` | `SELECT * FROM t WHERE (p) IS NOT TRUE` |
//! | `UPDATE t SET c = e WHERE p` | `SELECT ..., CASE WHEN p THEN e ELSE c END FROM t` |
//! | `INSERT INTO t SELECT e FROM u WHERE p` | `SELECT * FROM t UNION ALL SELECT e FROM u WHERE p` |
//!
//! The rows that the reference gives also tell whether the statement should have failed: by a NULL where none may be,
//! or by a key that comes twice.

use std::collections::HashSet;

use engine::Session;
use types::{SqlState, Type, Value};

use super::expressions::{Column, Generator};
use super::judge::{Outcome, Rows, Verdict, compare};
use super::round::{actual, rows_of};
use super::tables::FuzzTable;
use super::tree::Family;
use random::Random;

/// A statement, the table it changes, and the query for what that has afterwards.
#[derive(Clone, Debug)]
pub struct Change {
    /// The position of the changed table among the tables of the seed.
    pub table: usize,
    /// The statement, as SQL.
    pub statement: String,
    /// A query over the unchanged tables whose rows are those that the statement must leave.
    pub after: String,
}

/// A random change; `None` when rounding could make its outcome another one.
pub fn random_change(random: &mut Random, tables: &[FuzzTable]) -> Option<Change> {
    let kind = random.weighted(&[35, 40, 25]);
    let table = random.below(tables.len());
    let source = if kind == 2 { random.below(tables.len()) } else { table };
    let columns = |table: &FuzzTable| -> Vec<Column> {
        let column = |at: usize| Column {
            text: format!("{}.{}", table.name, table.fields[at].name),
            family: table.family(at),
            volatile: false,
        };
        (0..table.fields.len()).map(column).collect()
    };
    let mut generator = Generator {
        random,
        tables,
        portable: false,
        scopes: vec![columns(&tables[source])],
        aliases: 0,
        nesting: 0,
        inexact: false,
        exact_only: true,
        plain: false,
        nested: false,
        rewrites: false,
    };
    let FuzzTable { name, fields, .. } = &tables[table];
    let condition = generator.expr(Family::Boolean, 2);
    let value = |generator: &mut Generator<'_>, at: usize| {
        let family = tables[table].family(at);
        let value =
            if generator.random.chance(30) { generator.leaf(family) } else { generator.expr(family, 2) };
        format!("CAST({value} AS {})", fields[at].ty)
    };
    let (statement, after) = match kind {
        0 => (
            format!("DELETE FROM {name} WHERE {condition}"),
            format!("SELECT * FROM {name} WHERE ({condition}) IS NOT TRUE"),
        ),
        1 => {
            let assigned = generator.random.below(fields.len());
            let value = value(&mut generator, assigned);
            let items: Vec<String> = fields
                .iter()
                .enumerate()
                .map(|(at, field)| match at == assigned {
                    true => format!("CASE WHEN {condition} THEN {value} ELSE {name}.{} END", field.name),
                    false => format!("{name}.{}", field.name),
                })
                .collect();
            (
                format!("UPDATE {name} SET {} = {value} WHERE {condition}", fields[assigned].name),
                format!("SELECT {} FROM {name}", items.join(", ")),
            )
        }
        _ => {
            let items: Vec<String> = (0..fields.len()).map(|at| value(&mut generator, at)).collect();
            let query = format!("SELECT {} FROM {} WHERE {condition}", items.join(", "), tables[source].name);
            (format!("INSERT INTO {name} {query}"), format!("SELECT * FROM {name} UNION ALL ({query})"))
        }
    };
    (!generator.inexact).then_some(Change { table, statement, after })
}

/// The state of the error by which a statement that leaves these rows has to fail.
pub fn violation(table: &FuzzTable, rows: &[Vec<Value>]) -> Option<SqlState> {
    let is_key = |at: usize| at == 0 && table.keyed;
    let refuses = |at: usize| is_key(at) || !table.fields[at].nullable;
    let missing = |row: &Vec<Value>| row.iter().enumerate().any(|(at, value)| value.is_null() && refuses(at));
    if rows.iter().any(missing) {
        return Some(SqlState::NotNullViolation);
    }
    let mut seen = HashSet::new();
    let twice = table.keyed && rows.iter().any(|row| !seen.insert(&row[0]));
    twice.then_some(SqlState::UniqueViolation)
}

/// Runs a change in a transaction of its own and looks at what it left, where `known` is what the reference says.
/// True when the rows are those; the transaction is open then. False when the statement had to fail, or may; nothing
/// has changed then. Otherwise what is different.
pub fn judge_change(
    session: &Session,
    change: &Change,
    table: &FuzzTable,
    known: &Rows,
) -> Result<bool, String> {
    let types: Vec<Type> = table.fields.iter().map(|field| field.ty).collect();
    let all = format!("SELECT * FROM {}", table.name);
    let run = |sql: &str| session.query(sql).map_err(|e| format!("{sql}: {e}"));
    let before = rows_of(&run(&all)?);
    run("BEGIN")?;
    let broken = violation(table, known);
    let ran = session.query(&change.statement);
    let Err(error) = ran else {
        if let Some(state) = broken {
            return Err(format!("it should have failed with {}", state.code()));
        }
        let known = Ok(known.clone());
        return match compare(&known, &actual(session, &all, &types), &types, false) {
            Verdict::Different(difference) => Err(difference),
            _ => Ok(true),
        };
    };
    run("ROLLBACK")?;
    let expected = [SqlState::NotNullViolation, SqlState::UniqueViolation].contains(&error.state());
    if expected != broken.is_some() {
        let failed: Outcome = Err(error);
        if let Verdict::Different(difference) = compare(&Ok(known.clone()), &failed, &types, false) {
            return Err(difference);
        }
    }
    match compare(&Ok(before), &actual(session, &all, &types), &types, false) {
        Verdict::Different(difference) => Err(format!("it failed, and yet: {difference}")),
        _ => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use types::Field;

    use super::*;
    use crate::configuration;
    use crate::fuzz::round::session_with;

    fn table() -> FuzzTable {
        let fields = vec![Field::new("a", Type::Integer, false), Field::new("b", Type::Integer, true)];
        let row = |a, b| vec![Value::I32(a), Value::I32(b)];
        FuzzTable { name: "t0".into(), fields, keyed: true, rows: vec![row(1, 10), row(2, 20), row(3, 30)] }
    }

    #[test]
    fn planted_faults_are_found() {
        let table = table();
        let session = || session_with(&configuration::standard(), std::slice::from_ref(&table)).unwrap();
        let change = |statement: &str| Change { table: 0, statement: statement.into(), after: String::new() };
        let judged = |statement: &str, rows: &[Vec<Value>]| {
            judge_change(&session(), &change(statement), &table, &rows.to_vec())
        };
        assert_eq!(
            judged("DELETE FROM t0 WHERE a = 2", &[table.rows[0].clone(), table.rows[2].clone()]),
            Ok(true)
        );
        // A row too many, a value of another row, a failure that did not come, one that should not have.
        assert!(judged("DELETE FROM t0 WHERE a = 2", &table.rows).is_err());
        let mut other = table.rows.clone();
        other[0][1] = Value::I32(11);
        assert!(judged("UPDATE t0 SET b = 12 WHERE a = 1", &other).is_err());
        let twice = [table.rows.clone(), vec![table.rows[0].clone()]].concat();
        assert!(judged("DELETE FROM t0 WHERE false", &twice).is_err());
        assert_eq!(judged("INSERT INTO t0 SELECT * FROM t0 WHERE a = 1", &twice), Ok(false));
        assert!(judged("INSERT INTO t0 SELECT * FROM t0 WHERE a = 1", &table.rows).is_err());
    }
}
