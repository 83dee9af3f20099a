//! All relations at one moment.
//!
//! A `Snapshot` does not change once a commit has published it; a `Draft` changes a copy. Copies share tables, views
//! and sequences by `Arc`, so that the same pointer in two snapshots means "unchanged": the differences that commits
//! and the log are made of rely on it. Sessions take a snapshot per statement or transaction; binding, planning and
//! scans read it.

use std::collections::BTreeMap;
use std::sync::Arc;

use types::{Error, Result, SqlState, Type};

use crate::composition::Composition;
use crate::{DEFAULT_SCHEMA, Macro, Sequence, TEMPORARY_SCHEMA, Table, TableId, View};
use types::names::did_you_mean;

/// What a schema holds, by name. Tables, views and sequences share their names.
#[derive(Clone, Debug, Default)]
pub struct SchemaEntry {
    /// Tables by name, wide ones included.
    pub tables: BTreeMap<String, Arc<Table>>,
    /// Views by name.
    pub views: BTreeMap<String, Arc<View>>,
    /// Sequences by name.
    pub sequences: BTreeMap<String, Arc<Sequence>>,
}

/// All relations at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub(crate) version: u64,
    pub(crate) schemas: BTreeMap<String, SchemaEntry>,
    pub(crate) macros: BTreeMap<String, Arc<Macro>>,
    pub(crate) types: BTreeMap<String, Arc<Type>>,
    /// By kind, schema and name of what they are about (`comments`).
    pub(crate) comments: BTreeMap<String, Arc<String>>,
    /// Roles, privileges and policies.
    pub(crate) access: Arc<access::State>,
    /// Tables that could not be read when the database was opened.
    pub(crate) damaged: Arc<[DamagedTable]>,
    /// The parts of a state of several databases (`mounts`); `None` for one database.
    pub(crate) composition: Option<Arc<Composition>>,
}

/// A table whose bytes are damaged: all that is left of it is why.
#[derive(Clone, Debug)]
pub struct DamagedTable {
    /// Its name in the log and checkpoint.
    pub id: TableId,
    /// The schema it was in, as far as that could be read; else the default one.
    pub schema: String,
    /// Its name, or `table <id>` where even that could not be read.
    pub name: String,
    /// What every use of the table reports.
    pub error: Error,
}

impl Snapshot {
    pub(crate) fn new() -> Self {
        let schemas = [DEFAULT_SCHEMA, TEMPORARY_SCHEMA].map(|s| (s.to_owned(), SchemaEntry::default()));
        let (macros, types) = (BTreeMap::new(), BTreeMap::new());
        Snapshot {
            version: 0,
            schemas: schemas.into(),
            macros,
            types,
            comments: BTreeMap::new(),
            access: Arc::default(),
            damaged: [].into(),
            composition: None,
        }
    }
    /// Rises with every commit.
    pub fn version(&self) -> u64 {
        self.version
    }
    /// All schemas by name, the temporary one included.
    pub fn schemas(&self) -> &BTreeMap<String, SchemaEntry> {
        &self.schemas
    }
    /// What is defined, without rows: to be compared with later states by `same_definitions`.
    pub fn definitions(&self) -> Snapshot {
        let mut copy = self.clone();
        for table in copy.schemas.values_mut().flat_map(|schema| schema.tables.values_mut()) {
            *table = Arc::new(table.without_rows());
        }
        copy
    }
    /// Whether names mean the same here and there, and what they mean is defined alike: only rows differ.
    pub fn same_definitions(&self, other: &Snapshot) -> bool {
        fn alike<T>(a: &BTreeMap<String, T>, b: &BTreeMap<String, T>, same: impl Fn(&T, &T) -> bool) -> bool {
            a.len() == b.len() && a.iter().zip(b).all(|((n, x), (m, y))| n == m && same(x, y))
        }
        let table =
            |a: &Arc<Table>, b: &Arc<Table>| Arc::ptr_eq(a, b) || (a.id == b.id && a.same_definition(b));
        let schema = |a: &SchemaEntry, b: &SchemaEntry| {
            alike(&a.tables, &b.tables, table)
                && alike(&a.views, &b.views, Arc::ptr_eq)
                && alike(&a.sequences, &b.sequences, |_, _| true)
        };
        self.composition.is_none()
            && other.composition.is_none()
            && Arc::ptr_eq(&self.access, &other.access)
            && Arc::ptr_eq(&self.damaged, &other.damaged)
            && alike(&self.macros, &other.macros, Arc::ptr_eq)
            && alike(&self.types, &other.types, Arc::ptr_eq)
            && alike(&self.comments, &other.comments, Arc::ptr_eq)
            && alike(&self.schemas, &other.schemas, schema)
    }
    /// The tables of all schemas, temporary ones included, by schema and name.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.schemas.values().flat_map(|s| s.tables.values())
    }
    /// `None` when the table is not in this state. Searches all tables.
    pub fn table_by_id(&self, id: TableId) -> Option<&Arc<Table>> {
        self.tables().find(|t| t.id == id)
    }
    /// The schema's own name: `public` is the default schema.
    pub fn canonical_schema(name: &str) -> &str {
        if name == "public" { DEFAULT_SCHEMA } else { name }
    }
    /// Finds a table; without a schema, temporary tables come first.
    pub fn find(&self, schema: Option<&str>, name: &str) -> Option<&Arc<Table>> {
        let within = |schema: &str| self.schemas.get(schema).and_then(|s| s.tables.get(name));
        match schema {
            Some(schema) => within(Self::canonical_schema(schema)),
            None => within(TEMPORARY_SCHEMA).or_else(|| within(DEFAULT_SCHEMA)),
        }
    }
    /// Finds a table, or says what is missing and which name is near.
    pub fn table(&self, schema: Option<&str>, name: &str) -> Result<&Arc<Table>> {
        if let Some(table) = self.find(schema, name) {
            return Ok(table);
        }
        if let Some(schema) = schema {
            self.schema(schema)?;
        }
        let within = Self::canonical_schema(schema.unwrap_or(DEFAULT_SCHEMA));
        if let Some(damaged) = self.damaged.iter().find(|d| d.schema == within && d.name == name) {
            return Err(damaged.error.clone());
        }
        let shown = schema.map_or_else(|| name.to_owned(), |s| format!("{s}.{name}"));
        let error = Error::new(SqlState::UndefinedTable, format!("relation \"{shown}\" does not exist"));
        let hint = match schema {
            Some(schema) => {
                let tables = self.schemas.get(Self::canonical_schema(schema));
                did_you_mean(name, tables.iter().flat_map(|s| s.tables.keys().map(String::as_str)))
            }
            None => did_you_mean(name, self.tables().map(|t| t.name.as_str())),
        };
        Err(match hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        })
    }
    /// A view; without a schema, of the default one.
    pub fn view(&self, schema: Option<&str>, name: &str) -> Option<&Arc<View>> {
        let within = |schema: &str| self.entry(Some(schema))?.views.get(name);
        match schema {
            Some(schema) => within(schema),
            None => within(TEMPORARY_SCHEMA).or_else(|| within(DEFAULT_SCHEMA)),
        }
    }
    /// A sequence; without a schema, of the default one.
    pub fn sequence(&self, schema: Option<&str>, name: &str) -> Option<&Arc<Sequence>> {
        self.entry(schema)?.sequences.get(name)
    }
    /// Fails where the name is that of a relation of another kind than `wanted`, which is to be dropped: a table, a view
    /// or a sequence.
    pub fn refuse_other_kind(&self, schema: Option<&str>, name: &str, wanted: &str) -> Result<()> {
        let within = match schema {
            Some(schema) => vec![Self::canonical_schema(schema)],
            None => vec![TEMPORARY_SCHEMA, DEFAULT_SCHEMA],
        };
        let kinds = within.iter().filter_map(|schema| self.schemas.get(*schema)).find_map(|held| {
            let kinds = [
                ("table", held.tables.contains_key(name)),
                ("view", held.views.contains_key(name)),
                ("sequence", held.sequences.contains_key(name)),
            ];
            kinds.into_iter().find(|(_, there)| *there)
        });
        match kinds {
            Some((kind, _)) if kind != wanted => {
                let message = format!("\"{name}\" is not a {wanted}");
                let hint = format!("it is a {kind}: use DROP {}", kind.to_uppercase());
                Err(Error::new(SqlState::WrongObjectType, message).with_hint(hint))
            }
            _ => Ok(()),
        }
    }
    /// Tables that could not be read when the database was opened.
    pub fn damaged(&self) -> &[DamagedTable] {
        &self.damaged
    }
    /// Macros by name; they belong to no schema.
    pub fn macros(&self) -> &BTreeMap<String, Arc<Macro>> {
        &self.macros
    }
    /// The types that CREATE TYPE has given names.
    pub fn types(&self) -> &BTreeMap<String, Arc<Type>> {
        &self.types
    }
    /// The first column, of the tables that are `wanted`, that holds values of a type which CREATE TYPE has made.
    pub fn column_of(&self, ty: Type, wanted: impl Fn(&Table) -> bool) -> Option<(&Arc<Table>, &str)> {
        self.tables().filter(|table| wanted(table)).find_map(|table| {
            let field = table.columns.fields().iter().find(|f| f.ty.holds(&|inner| inner == ty))?;
            Some((table, field.name.as_str()))
        })
    }
    fn entry(&self, schema: Option<&str>) -> Option<&SchemaEntry> {
        self.schemas.get(Self::canonical_schema(schema.unwrap_or(DEFAULT_SCHEMA)))
    }
    /// A schema by name, `public` being the default one; SQLSTATE 3F000, with a near name as hint, where there is
    /// none.
    pub fn schema(&self, name: &str) -> Result<&SchemaEntry> {
        self.schemas.get(Self::canonical_schema(name)).ok_or_else(|| {
            let error = Error::new(SqlState::UndefinedSchema, format!("schema \"{name}\" does not exist"));
            match did_you_mean(name, self.schemas.keys().map(String::as_str)) {
                Some(hint) => error.with_hint(hint),
                None => error,
            }
        })
    }
    /// Tables with a foreign key to this one, itself aside.
    pub fn dependents(&self, id: TableId) -> Vec<&Arc<Table>> {
        self.tables().filter(|t| t.id != id && t.foreign_keys.iter().any(|f| f.parent == id)).collect()
    }
}
