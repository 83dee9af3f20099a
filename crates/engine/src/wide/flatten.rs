//! What a wide table consists of: the tables that foreign keys lead to, its columns and their names, and the query that
//! makes its rows.
//!
//! Called by `wide` when a table is made or refreshed: the definition says which tables are reached, and every column
//! has a name that no other has.

use std::collections::HashMap;
use std::fmt::Write;

use catalog::{Snapshot, Table, TableId, WIDE_NODES_MAX, WideTable};
use types::quote;
use types::{Error, Field, Result, SqlState, Type};

/// A wide table's definition.
pub(crate) struct Flattened {
    /// The tables that it is made of, and where each column comes from.
    pub wide: WideTable,
    /// Names and types of its columns.
    pub fields: Vec<Field>,
}

fn table(snapshot: &Snapshot, id: TableId) -> Result<&Table> {
    let found = snapshot.table_by_id(id).map(|table| &**table);
    found.ok_or_else(|| Error::new(SqlState::UndefinedTable, "a table of the wide table was dropped"))
}

fn names(table: &Table, columns: &[usize]) -> String {
    let names: Vec<&str> = columns.iter().map(|c| table.columns.fields()[*c].name.as_str()).collect();
    names.join("_")
}

/// Values of such columns that are equal look the same, so that one of two columns can stand for both.
fn looks_as_it_is(ty: Type) -> bool {
    !matches!(ty, Type::Real | Type::Double) && !ty.is_nested()
}

/// Walks the foreign keys of `fact`.
pub(crate) fn flatten(snapshot: &Snapshot, fact: &Table, only: Option<Vec<TableId>>) -> Result<Flattened> {
    let Some(mut nodes) = WideTable::walk(snapshot, fact, only.as_deref()) else {
        let message = format!("the foreign keys of table \"{}\" lead too far", fact.name);
        return Err(Error::new(SqlState::StatementTooComplex, message)
            .with_detail(format!("a wide table is made of at most {WIDE_NODES_MAX} tables"))
            .with_hint("name the tables: CREATE WIDE TABLE w FROM (a, b, c)"));
    };
    if nodes.len() == 1 {
        let message = format!("table \"{}\" has no foreign key to follow", fact.name);
        return Err(Error::new(SqlState::InvalidParameterValue, message)
            .with_hint("ALTER TABLE ... ADD FOREIGN KEY declares one"));
    }
    let tables: Vec<&Table> = nodes.iter().map(|node| table(snapshot, node.table)).collect::<Result<_>>()?;
    if let Some(temporary) = tables.iter().find(|t| t.is_temporary()) {
        let message = format!("a wide table cannot be made of temporary table \"{}\"", temporary.name);
        return Err(Error::new(SqlState::InvalidParameterValue, message));
    }
    let mut times: HashMap<&str, usize> = HashMap::new();
    let fields = tables.iter().flat_map(|t| t.columns.fields());
    fields.for_each(|field| *times.entry(field.name.as_str()).or_default() += 1);
    let mut columns = Columns::default();
    for at in 0..nodes.len() {
        let node = &nodes[at];
        let own = tables[at].columns.fields();
        let (prefix, absent) = match at {
            0 => (String::new(), false),
            _ => {
                let parent = tables[node.parent].columns.fields();
                let places = &nodes[node.parent].places;
                let absent = node.columns.iter().any(|c| columns.fields[places[*c]].nullable);
                let single = node.columns.len() == 1;
                // A reference that is only partly NULL has no row.
                let shared = single || node.columns.iter().all(|c| !columns.fields[places[*c]].nullable);
                for (column, referenced) in node.columns.iter().zip(&node.referenced) {
                    let same =
                        parent[*column].ty == own[*referenced].ty && looks_as_it_is(own[*referenced].ty);
                    if shared && same {
                        columns.shared.insert((at, *referenced), places[*column]);
                    }
                }
                (names(tables[node.parent], &node.columns), absent)
            }
        };
        let places = (0..own.len()).map(|column| {
            let unique = times.get(own[column].name.as_str()) == Some(&1);
            let prefix = if at == 0 || unique { "" } else { prefix.as_str() };
            columns.place(at, column, &own[column], prefix, absent)
        });
        let places = places.collect();
        nodes[at].places = places;
    }
    if columns.fields.len() > sql::COLUMNS_MAX {
        let message = format!("a table has at most {} columns", sql::COLUMNS_MAX);
        return Err(Error::new(SqlState::StatementTooComplex, message));
    }
    Ok(Flattened { wide: WideTable { only, nodes }, fields: columns.fields })
}

/// The columns found so far; those that foreign keys make equal are shared.
#[derive(Default)]
struct Columns {
    fields: Vec<Field>,
    /// Columns of nodes that are there already.
    shared: HashMap<(usize, usize), usize>,
}

impl Columns {
    fn place(&mut self, node: usize, column: usize, field: &Field, prefix: &str, absent: bool) -> usize {
        if let Some(place) = self.shared.get(&(node, column)) {
            return *place;
        }
        let plain = match prefix {
            "" => field.name.clone(),
            prefix => format!("{prefix}_{}", field.name),
        };
        let taken = |name: &String| self.fields.iter().any(|f| f.name == *name);
        let mut name = plain.clone();
        let mut number = 1;
        while taken(&name) {
            number += 1;
            name = format!("{plain}_{number}");
        }
        self.fields.push(Field::new(name, field.ty, field.nullable || absent));
        self.fields.len() - 1
    }
}

/// The query that makes a wide table's rows of those of its base tables.
pub(crate) fn query(snapshot: &Snapshot, wide: &WideTable, fields: &[Field]) -> Result<String> {
    let column = |node: usize, column: usize| -> Result<String> {
        let name = &table(snapshot, wide.nodes[node].table)?.columns.fields()[column].name;
        Ok(format!("n{node}.{}", quote::name(name)))
    };
    let mut origins: Vec<Option<String>> = vec![None; fields.len()];
    for (at, node) in wide.nodes.iter().enumerate() {
        for (own, place) in node.places.iter().enumerate() {
            // The first node that has a column is the one that refers to the others with it.
            if origins[*place].is_none() {
                origins[*place] = Some(column(at, own)?);
            }
        }
    }
    let listed: Option<Vec<String>> = origins
        .into_iter()
        .zip(fields)
        .map(|(origin, field)| origin.map(|origin| format!("{origin} AS {}", quote::name(&field.name))))
        .collect();
    let listed = listed.ok_or_else(|| Error::internal("a column of a wide table is no table's"))?;
    let mut text = format!("SELECT {}", listed.join(", "));
    for (at, node) in wide.nodes.iter().enumerate() {
        let base = table(snapshot, node.table)?;
        let name = format!("{}.{}", crate::mounts::absolute(snapshot, &base.schema), quote::name(&base.name));
        if at == 0 {
            let _ = write!(text, " FROM {name} AS n0");
            continue;
        }
        let pairs = node.columns.iter().zip(&node.referenced).map(|(child, referenced)| {
            Ok(format!("{} = {}", column(node.parent, *child)?, column(at, *referenced)?))
        });
        let pairs: Vec<String> = pairs.collect::<Result<_>>()?;
        let _ = write!(text, " LEFT JOIN {name} AS n{at} ON {}", pairs.join(" AND "));
    }
    Ok(text)
}
