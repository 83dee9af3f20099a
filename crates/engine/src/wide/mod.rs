//! CREATE WIDE TABLE, REFRESH WIDE TABLE, and the upkeep of wide tables when rows come (`catalog::WideTable`).
//!
//! A wide table is a table whose rows the database makes. Rows that are added to its fact table bring their wide rows
//! with the same commit: the query that made the table runs over the new rows alone. Every other change of a base
//! table takes the wide table its build, and it is not read until it is built anew; nothing is built unasked, because
//! only the user knows when the time of a whole pass is well spent.

mod flatten;

use std::fmt::Write;
use std::sync::Arc;

use catalog::{ColumnAttributes, NewTable, SealedBlock, Snapshot, Table, TableData, TableId, TableIndex};
use plan::Statement;
use plan::statement::{IfExists, ObjectName};
use types::quote;
use types::{Error, Result, Schema, SqlState, Type};

use crate::Session;
pub(crate) use crate::definable::refuse_wide;
use crate::insert::existing;
use crate::mounts::Places;
use crate::relations::SessionRelations;
use crate::result::ResultSet;
use crate::session::shown;
use crate::statement::Within;
use crate::storage_options;

pub(crate) use flatten::{Flattened, flatten};

/// CREATE WIDE TABLE as it was said.
struct NewWide {
    name: ObjectName,
    if_exists: IfExists,
    /// All tables of a schema, instead of `tables`.
    schema: Option<String>,
    /// One in no brackets is the fact table.
    tables: Vec<ObjectName>,
    alone: bool,
    with: Vec<(String, String)>,
}

impl NewWide {
    /// The arguments that the converter of `sql` makes of the statement.
    fn of(texts: &[&str]) -> Option<NewWide> {
        let name = |schema: &str, name: &str| ObjectName {
            schema: (!schema.is_empty()).then(|| schema.to_owned()),
            name: name.to_owned(),
        };
        let [mode, schema, own, source, count, rest @ ..] = texts else { return None };
        let (tables, with) = rest.split_at_checked(count.parse::<usize>().ok()?.checked_mul(2)?)?;
        let tables: Vec<ObjectName> = tables.chunks_exact(2).map(|pair| name(pair[0], pair[1])).collect();
        Some(NewWide {
            name: name(schema, own),
            if_exists: match *mode {
                "keep" => IfExists::Keep,
                "replace" => IfExists::Replace,
                _ => IfExists::Error,
            },
            schema: (*source == "schema").then(|| tables.first().map(|t| t.name.clone())).flatten(),
            tables,
            alone: *source == "table",
            with: with.chunks_exact(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())).collect(),
        })
    }
}

/// The fact table, and what else is wanted if not all that it leads to.
type Source = (Arc<Table>, Option<Vec<TableId>>);

impl Session {
    /// CREATE WIDE TABLE, from the arguments of `create_wide_table`.
    pub(crate) fn create_wide_table(&self, texts: &[&str], statement: Within<'_>) -> Result<ResultSet> {
        let Some(mut wanted) = NewWide::of(texts) else {
            return Err(Error::new(SqlState::SyntaxError, "write CREATE WIDE TABLE name FROM tables"));
        };
        self.resolve(&mut wanted)?;
        let NewWide { name, if_exists, with, .. } = &wanted;
        crate::definitions::refuse_system(name.schema.as_deref())?;
        let options = plan::statement::TableOptions { if_exists: *if_exists, ..Default::default() };
        if *if_exists != IfExists::Replace && self.exists_already(name, &[], &options)?.is_some() {
            return Ok(ResultSet::done("CREATE WIDE TABLE"));
        }
        self.refuse_name_of_view(name.schema.as_deref(), &name.name)?;
        let snapshot = self.snapshot();
        let (fact, only) = source(&snapshot, &wanted)?;
        let Flattened { wide, fields } = flatten(&snapshot, &fact, only)?;
        let mut stored = catalog::TableOptions {
            layout: catalog::LayoutKind::CompressedColumnStore,
            sorted_by: None,
            block_bytes: self.settings().block_bytes,
        };
        let mut indices = Vec::new();
        storage_options::apply(&name.name, &fields, with, &mut stored, &mut indices)?;
        let mut new = NewTable::new(name.name.clone(), Schema::new(fields));
        new.schema.clone_from(&name.schema);
        let text = flatten::query(&snapshot, &wide, new.columns.fields())?;
        let writer = catalog::writer_options(&stored, &indices);
        let blocks = self.wide_rows(
            &shown(name),
            &new.columns,
            writer,
            &text,
            &self.relations_of(statement.cloned()),
        )?;
        new.data = Some(wide_data(&new.columns, &fact, blocks)?);
        (new.options, new.indices) = (stored, indices);
        (new.wide, new.build) = (Some(Arc::new(wide)), Some(catalog::next_build()));
        let rows = fact.rows();
        self.commit(|draft| draft.create_table(new, existing(*if_exists)))?;
        Ok(ResultSet::done(format!("CREATE WIDE TABLE {rows}")))
    }

    /// Gives the names their schemas, as far as databases and the search path say more than the default does.
    fn resolve(&self, wanted: &mut NewWide) -> Result<()> {
        let path = self.settings().search_path.clone();
        let snapshot = self.snapshot();
        if path.is_empty() && snapshot.mounts().next().is_none() {
            return Ok(());
        }
        let places = Places { snapshot: &snapshot, path: &path, main: &self.database.shared.name };
        if let Some(schema) = &mut wanted.schema {
            *schema = places.key(None, schema)?;
        }
        match &mut wanted.name.schema {
            Some(schema) => *schema = places.key(None, schema)?,
            None if path.is_empty() => {}
            None => wanted.name.schema = Some(crate::search_path::current(&path).to_owned()),
        }
        for name in &mut wanted.tables {
            match &mut name.schema {
                Some(schema) => *schema = places.key(None, schema)?,
                None => name.schema = crate::search_path::find(&places, &name.name),
            }
        }
        Ok(())
    }

    /// REFRESH WIDE TABLE: foreign keys are followed anew and all rows are made again, whether the table is stale or
    /// not.
    pub(crate) fn refresh_wide_table(
        &self,
        schema: &str,
        name: &str,
        statement: Within<'_>,
    ) -> Result<ResultSet> {
        let snapshot = self.snapshot();
        let path = self.settings().search_path.clone();
        let places = Places { snapshot: &snapshot, path: &path, main: &self.database.shared.name };
        let schema = match schema {
            "" => crate::search_path::find(&places, name),
            schema => Some(places.key(None, schema)?),
        };
        let table = snapshot.table(schema.as_deref(), name)?.clone();
        let Some(wide) = &table.wide else {
            let message = format!("\"{name}\" is not a wide table");
            return Err(Error::new(SqlState::WrongObjectType, message));
        };
        let fact = crate::verify::table(&snapshot, wide.fact())?;
        let Flattened { wide, fields } = flatten(&snapshot, &fact, wide.only.clone())?;
        let columns = Schema::new(fields);
        let moved = |column: usize| columns.position(&table.columns.fields()[column].name);
        // What was asked of columns that are gone is gone with them.
        let indices: Vec<TableIndex> = table
            .indices
            .iter()
            .filter_map(|index| Some(TableIndex { column: moved(index.column)?, ..index.clone() }))
            .filter(|index| index.kind.suits(columns.fields()[index.column].ty))
            .collect();
        let options =
            catalog::TableOptions { sorted_by: table.options.sorted_by.and_then(moved), ..table.options };
        let attributes = |field: &types::Field| {
            let before = table.columns.position(&field.name);
            before.map_or_else(ColumnAttributes::default, |at| table.attributes[at].clone())
        };
        let attributes = columns.fields().iter().map(attributes).collect();
        let text = flatten::query(&snapshot, &wide, columns.fields())?;
        let writer = catalog::writer_options(&options, &indices);
        let blocks = self.wide_rows(name, &columns, writer, &text, &self.relations_of(statement.cloned()))?;
        let data = Arc::new(wide_data(&columns, &fact, blocks)?);
        let mut rebuilt = (*table).clone();
        (rebuilt.columns, rebuilt.attributes, rebuilt.data) = (columns, attributes, data);
        (rebuilt.options, rebuilt.indices, rebuilt.wide) = (options, indices, Some(Arc::new(wide)));
        if !self.commit(|draft| draft.rebuild_wide(rebuilt, &snapshot))? {
            return Err(crate::alter::changed_meanwhile(name));
        }
        self.reclaim_afterwards();
        Ok(ResultSet::done(format!("REFRESH WIDE TABLE {}", fact.rows())))
    }

    /// Adds the wide rows of rows that have just been added to `id`. `before` is the state without those.
    pub(crate) fn extend_wide_tables(
        &self,
        before: &Snapshot,
        id: TableId,
        added: &[SealedBlock],
        statement: Within<'_>,
    ) -> Result<()> {
        let shown = before.wide_over(id).filter_map(|table| Some((table.id, table.build?)));
        let concerned: Vec<(TableId, u64)> = shown.collect();
        for (wide_id, build) in concerned {
            let after = self.snapshot();
            let table = crate::verify::table(&after, wide_id)?;
            let Some(wide) = table.wide.as_ref().filter(|wide| wide.fact() == id) else { continue };
            let types = crate::verify::table(&after, id)?.data.types().to_vec();
            let rows = TableData::from_blocks(&types, added.to_vec());
            let Some(asked) = after.with_rows(id, rows) else { continue };
            let text = flatten::query(&asked, wide, table.columns.fields())?;
            let settings = self.settings_now();
            let (environment, standard) = (self.environment(), self.standard.clone());
            let asked = Arc::new(asked);
            let relations = SessionRelations::new(&self.database, environment, asked, settings, standard)
                .with_statement(statement.cloned());
            let made = self.wide_rows(&table.name, &table.columns, table.writer_options(), &text, &relations);
            let blocks = match made {
                Ok(blocks) => blocks,
                // The rows themselves have found room: the wide table does without these, and is not read any more.
                Err(error) if error.state() == SqlState::OutOfMemory => continue,
                Err(error) => return Err(error),
            };
            let pool = &self.database.shared.pool;
            self.commit(|draft| draft.extend_wide(wide_id, build, &after, blocks, pool))?;
        }
        Ok(())
    }

    fn wide_rows(
        &self,
        name: &str,
        columns: &Schema,
        options: pool::WriterOptions,
        text: &str,
        relations: &SessionRelations,
    ) -> Result<Vec<SealedBlock>> {
        match sql::plan_one(text, relations)? {
            Statement::Query(query) => self.blocks_of(name, columns, options, query, relations),
            _ => Err(Error::internal("the rows of a wide table are no query's")),
        }
    }
}

/// One row for each of the fact table's, or the keys that were declared do not hold.
fn wide_data(columns: &Schema, fact: &Table, blocks: Vec<SealedBlock>) -> Result<TableData> {
    let types: Vec<Type> = columns.fields().iter().map(|f| f.ty).collect();
    let data = TableData::from_blocks(&types, blocks);
    match data.rows() == fact.rows() {
        true => Ok(data),
        false => Err(Error::internal("a wide table has other rows than its fact table")),
    }
}

/// The error for reading a wide table that does not show its base tables as they are.
pub(crate) fn refuse_stale(table: &Table) -> Result<()> {
    if table.wide.is_none() || table.build.is_some() {
        return Ok(());
    }
    let message = format!("wide table \"{}\" is stale", table.name);
    Err(Error::new(SqlState::NotInPrerequisiteState, message)
        .with_detail("a table that it is made of has changed otherwise than by rows that were added")
        .with_hint(format!("REFRESH WIDE TABLE {} builds it anew", table.name)))
}

fn source(snapshot: &Snapshot, wanted: &NewWide) -> Result<Source> {
    let first = wanted.tables.first();
    if let (true, Some(name)) = (wanted.alone, first) {
        let is_schema = name.schema.is_none()
            && snapshot.find(None, &name.name).is_none()
            && snapshot.schema(&name.name).is_ok();
        if !is_schema {
            let fact = snapshot.table(name.schema.as_deref(), &name.name)?;
            refuse_wide(fact, "make a wide table of")?;
            return Ok((fact.clone(), None));
        }
        return of_schema(snapshot, &name.name);
    }
    if let Some(schema) = &wanted.schema {
        return of_schema(snapshot, schema);
    }
    let mut tables: Vec<Arc<Table>> = Vec::new();
    for name in &wanted.tables {
        let table = snapshot.table(name.schema.as_deref(), &name.name)?;
        refuse_wide(table, "make a wide table of")?;
        if tables.iter().any(|known| known.id == table.id) {
            let message = format!("table \"{}\" is named twice", name.name);
            return Err(Error::new(SqlState::DuplicateAlias, message));
        }
        tables.push(table.clone());
    }
    let only: Vec<TableId> = tables.iter().map(|t| t.id).collect();
    let fact = root(&tables, "the tables")?;
    let reached = flatten(snapshot, &fact, Some(only.clone()))?.wide;
    if let Some(lost) = tables.iter().find(|t| !reached.has_base(t.id)) {
        let message = format!("no foreign key leads from table \"{}\" to table \"{}\"", fact.name, lost.name);
        return Err(Error::new(SqlState::InvalidParameterValue, message)
            .with_hint("declare it, or name the tables between them too"));
    }
    Ok((fact, Some(only)))
}

fn of_schema(snapshot: &Snapshot, schema: &str) -> Result<Source> {
    let entry = snapshot.schema(schema)?;
    let tables: Vec<Arc<Table>> = entry.tables.values().filter(|t| t.wide.is_none()).cloned().collect();
    let fact = root(&tables, &format!("schema \"{schema}\""))?;
    Ok((fact, Some(tables.iter().map(|t| t.id).collect())))
}

/// The one table with foreign keys to others that none of the others refers to.
fn root(tables: &[Arc<Table>], of: &str) -> Result<Arc<Table>> {
    let refers =
        |from: &Table, to: TableId| from.id != to && from.foreign_keys.iter().any(|k| k.parent == to);
    let is_root = |t: &&Arc<Table>| {
        tables.iter().any(|other| refers(t, other.id)) && !tables.iter().any(|other| refers(other, t.id))
    };
    let roots: Vec<&Arc<Table>> = tables.iter().filter(is_root).collect();
    match roots.as_slice() {
        [one] => Ok((*one).clone()),
        [] => Err(Error::new(SqlState::InvalidParameterValue, format!("{of} have no fact table"))
            .with_detail("none has foreign keys to others of them and is not referred to itself")
            .with_hint("declare foreign keys, or write CREATE WIDE TABLE w FROM fact_table")),
        several => {
            let names: Vec<&str> = several.iter().map(|t| t.name.as_str()).collect();
            Err(Error::new(SqlState::InvalidParameterValue, format!("{of} have several fact tables"))
                .with_detail(format!("they are {}", names.join(", ")))
                .with_hint("write CREATE WIDE TABLE w FROM fact_table"))
        }
    }
}

/// CREATE WIDE TABLE of a table that is there, for EXPORT DATABASE.
pub(crate) fn definition(snapshot: &Snapshot, table: &Table) -> Option<String> {
    let wide = table.wide.as_ref()?;
    let name = |id: TableId| {
        let table = snapshot.table_by_id(id)?;
        Some(quote::qualified(&table.schema, &table.name))
    };
    let from = match &wide.only {
        None => name(wide.fact())?,
        // Tables that have been dropped since were none of its parts.
        Some(_) => {
            format!("({})", wide.tables().into_iter().map(name).collect::<Option<Vec<_>>>()?.join(", "))
        }
    };
    let options = &table.options;
    let mut text = format!(
        "CREATE WIDE TABLE {} FROM {from} WITH (layout = '{}', block_size = {}",
        quote::qualified(&table.schema, &table.name),
        options.layout.name(),
        options.block_bytes
    );
    if let Some(column) = options.sorted_by {
        let _ = write!(text, ", sort = {}", quote::text(&table.columns.fields()[column].name));
    }
    text.push_str(");\n");
    Some(text)
}
