//! What `\d` and `\dt` print: the catalog's own table functions, laid out for a terminal.
//!
//! Nothing is read from the catalog directly: every piece is a query that a user could write. Names are resolved as
//! SQL resolves them, temporary tables first; a name with several parts may begin with a schema or with a database.

use engine::{Error, Result, ResultSet, Session, Value};
use types::quote;

/// A result as text, row by row; NULL is `None`.
fn rows(session: &Session, query: &str) -> Result<Vec<Vec<Option<String>>>> {
    let result: ResultSet = session.query(query)?;
    let fields = result.schema().fields();
    let shown = |row: usize, column: usize| match result.value(row, column) {
        Value::Null => None,
        value => Some(value.display(fields[column].ty)),
    };
    Ok((0..result.rows()).map(|row| (0..fields.len()).map(|column| shown(row, column)).collect()).collect())
}

fn cell(row: &[Option<String>], at: usize) -> &str {
    row.get(at).and_then(Option::as_deref).unwrap_or_default()
}

fn number(row: &[Option<String>], at: usize) -> u64 {
    cell(row, at).parse().unwrap_or(0)
}

/// Which relation a name means, as a condition on a list of them: temporary tables hide those of the default schema.
fn wanted(name: &str, column: &str) -> String {
    let folded = |part: &str| match part.strip_prefix('"').and_then(|p| p.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\"\"", "\""),
        None => part.to_lowercase(),
    };
    let parts: Vec<String> = name.split('.').map(folded).collect();
    let schema = |name: &str| quote::text(if name == "public" { "main" } else { name });
    match parts.as_slice() {
        [database, within, name] => format!(
            "database_name = {} AND schema_name = {} AND {column} = {}",
            quote::text(database),
            schema(within),
            quote::text(name)
        ),
        // The database in use has such a schema, or there is a database of that name.
        [within, name] => format!(
            "(database_name = current_database() AND schema_name = {0} OR database_name = {1} AND schema_name = 'main' \
             OR schema_name = 'temp' AND schema_name = {0}) AND {column} = {2}",
            schema(within),
            quote::text(within),
            quote::text(name)
        ),
        _ => format!(
            "(database_name = current_database() AND schema_name IN ('main', current_schema()) \
             OR schema_name = 'temp') AND {column} = {}",
            quote::text(&folded(name))
        ),
    }
}

/// What `\d NAME` prints.
pub fn describe(session: &Session, name: &str) -> Result<String> {
    let columns = rows(session, &format!("DESCRIBE {name}")).map_err(|error| {
        // The error's position is one in generated text, so it is dropped.
        let told = Error::new(error.state(), error.message());
        error.hint().map_or_else(|| told.clone(), |hint| told.clone().with_hint(hint))
    })?;
    let tables = rows(
        session,
        &format!(
            "SELECT schema_name, table_name, rows, bytes, blocks, comment FROM quickstep_tables() WHERE {} \
             ORDER BY temporary DESC LIMIT 1",
            wanted(name, "table_name")
        ),
    )?;
    let mut text = String::new();
    let table = tables.first();
    match table {
        Some(table) => {
            let blocks = number(table, 4);
            text.push_str(&format!(
                "{}.{}: {} rows, {} in {blocks} block{}\n",
                cell(table, 0),
                cell(table, 1),
                cell(table, 2),
                megabytes(number(table, 3)),
                if blocks == 1 { "" } else { "s" },
            ));
            if let Some(Some(comment)) = table.get(5) {
                text.push_str(&format!("  {comment}\n"));
            }
        }
        None => text.push_str(&format!("{name}:\n")),
    }
    let width = columns.iter().map(|c| cell(c, 0).chars().count()).max().unwrap_or(0);
    let types = columns.iter().map(|c| cell(c, 1).chars().count()).max().unwrap_or(0);
    let comments = match table {
        Some(table) => comments(session, cell(table, 0), cell(table, 1))?,
        None => vec![],
    };
    for (at, column) in columns.iter().enumerate() {
        let mut rest = String::new();
        if cell(column, 2) == "NO" && table.is_some() {
            rest.push_str("not null  ");
        }
        if let Some(Some(default)) = column.get(4) {
            rest.push_str(&format!("default {default}  "));
        }
        if let Some(Some(comment)) = comments.get(at).and_then(|row| row.first()) {
            rest.push_str(&format!("-- {comment}"));
        }
        let line = format!("  {:width$}  {:types$}  {rest}", cell(column, 0), cell(column, 1));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    if let Some(table) = table {
        text.push_str(&constraints(session, cell(table, 0), cell(table, 1))?);
    } else if let Some(view) =
        rows(session, &format!("SELECT sql FROM quickstep_views() WHERE {}", wanted(name, "view_name")))?
            .first()
    {
        text.push_str(&format!("view: {}\n", cell(view, 0)));
    }
    Ok(text)
}

/// By column, in their order.
fn comments(session: &Session, schema: &str, table: &str) -> Result<Vec<Vec<Option<String>>>> {
    let query = format!(
        "SELECT comment FROM quickstep_columns() WHERE schema_name = {} AND table_name = {} ORDER BY column_index",
        quote::text(schema),
        quote::text(table)
    );
    rows(session, &query)
}

fn constraints(session: &Session, schema: &str, table: &str) -> Result<String> {
    let listed = rows(
        session,
        &format!(
            "SELECT constraint_type, string_agg(column_name, ', '), referenced_table, \
             string_agg(referenced_column, ', ') FROM quickstep_constraints() \
             WHERE schema_name = {} AND table_name = {} \
             GROUP BY constraint_name, constraint_type, referenced_table \
             ORDER BY constraint_type <> 'PRIMARY KEY', constraint_type DESC, constraint_name",
            quote::text(schema),
            quote::text(table)
        ),
    )?;
    let line = |row: &Vec<Option<String>>| {
        let kind = cell(row, 0).to_lowercase();
        match row.get(2) {
            Some(Some(parent)) => {
                format!("{kind} ({}) references {parent} ({})\n", cell(row, 1), cell(row, 3))
            }
            _ => format!("{kind} ({})\n", cell(row, 1)),
        }
    };
    Ok(listed.iter().map(line).collect())
}

/// What `\dt` prints.
pub fn list_tables(session: &Session) -> Result<String> {
    let mut lines = vec![["table", "rows", "columns", "memory", "blocks"].map(str::to_owned)];
    let tables = rows(
        session,
        "SELECT CASE WHEN database_name <> current_database() THEN database_name || '.' ELSE '' END || \
         CASE WHEN schema_name = 'main' THEN table_name ELSE schema_name || '.' || table_name END, \
         rows, columns, bytes, blocks FROM quickstep_tables() \
         ORDER BY database_name <> current_database(), database_name, schema_name, table_name",
    )?;
    lines.extend(tables.iter().map(|t| {
        let text = |at: usize| cell(t, at).to_owned();
        [text(0), text(1), text(2), megabytes(number(t, 3)), text(4)]
    }));
    let views = rows(
        session,
        "SELECT CASE WHEN database_name <> current_database() THEN database_name || '.' ELSE '' END || \
         CASE WHEN schema_name = 'main' THEN view_name ELSE schema_name || '.' || view_name END \
         FROM quickstep_views() \
         ORDER BY database_name <> current_database(), database_name, schema_name, view_name",
    )?;
    lines.extend(views.iter().map(|v| [cell(v, 0), "view", "", "", ""].map(str::to_owned)));
    if lines.len() == 1 {
        return Ok("No tables. CALL tpch(scale => 0.1); makes some to try.\n".to_owned());
    }
    let widths: Vec<usize> =
        (0..5).map(|c| lines.iter().map(|r| r[c].chars().count()).max().unwrap_or(0)).collect();
    let line = |r: &[String; 5]| {
        let numbers: Vec<String> = (1..5).map(|c| format!("{:>w$}", r[c], w = widths[c])).collect();
        let line = format!("  {:w$}  {}", r[0], numbers.join("  "), w = widths[0]);
        format!("{}\n", line.trim_end())
    };
    Ok(lines.iter().map(line).collect())
}

fn megabytes(bytes: u64) -> String {
    if bytes < 1 << 20 {
        format!("{} kB", bytes.div_ceil(1 << 10))
    } else {
        format!("{:.1} MB", bytes as f64 / (1 << 20) as f64)
    }
}
