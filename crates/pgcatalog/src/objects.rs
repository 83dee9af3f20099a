//! What a database holds, as PostgreSQL's catalog calls it: schemas, relations, constraints and types with their OIDs.
//!
//! [`Catalog`] is gathered from one snapshot and never changes. `relations` and `functions` read it; lookups by OID and
//! by name go through maps that are made with it.

use std::collections::HashMap;
use std::sync::Arc;

use access::{ObjectKey, Role, RoleId, State};
use catalog::{Commented, ForeignKey, Sequence, Snapshot, Table};
use types::{Schema, Type};

use crate::names::quoted;
use crate::oids::{self, INFORMATION_SCHEMA, Names, OWNER, PG_CATALOG, PUBLIC};
use crate::relations::values::DATABASE;
use crate::relations::{PG_DATABASE, PG_NAMESPACE, PG_TYPE};
use crate::{fixed, names};

/// The temporary schema, as PostgreSQL names a session's.
const TEMPORARY: &str = "pg_temp_1";

/// A view of the database: its schema, name, text and, where its query can be bound, its columns.
#[derive(Clone, Debug)]
pub struct ViewShape {
    /// The schema's key in the snapshot.
    pub schema: String,
    /// Without the schema.
    pub name: String,
    /// Its query.
    pub text: String,
    /// What its query gives; `None` where it cannot be bound.
    pub columns: Option<Schema>,
    /// COMMENT ON VIEW.
    pub comment: Option<String>,
}

/// What the session that asks knows and the snapshot does not.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// The database's name.
    pub database: String,
    /// The current role, which asks.
    pub role: u32,
    /// The name by which the default schema is shown, `main` or `public`; both mean it.
    pub default_schema: String,
    /// Schemas by their keys, in which names without one are looked for, the default one included.
    pub path: Vec<String>,
    /// Views of the database.
    pub views: Vec<ViewShape>,
    /// Settings: name, value, description.
    pub settings: Vec<(String, String, String)>,
    /// When the server started, in microseconds since 1970.
    pub started: i64,
}

/// A schema.
#[derive(Clone, Debug)]
pub(crate) struct Namespace {
    pub oid: u32,
    pub name: String,
    /// What privileges on it are kept under; `None` for the system's, which everybody may use and nobody else.
    pub key: Option<ObjectKey>,
}

/// A column of a relation.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub name: String,
    pub ty: Type,
    pub not_null: bool,
    pub default: Option<String>,
    pub generated: Option<String>,
    pub comment: Option<String>,
}

/// An index of a table: one that keeps a key, or one of CREATE INDEX.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    pub table: u32,
    pub columns: Vec<usize>,
    pub unique: bool,
    pub primary: bool,
    pub nulls_equal: bool,
    /// The constraint that it keeps; 0 for none.
    pub constraint: u32,
}

/// A relation: `relkind` says which of the last parts it has.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    pub oid: u32,
    pub name: String,
    pub namespace: u32,
    /// What privileges on it are kept under; `None` for the system's relations, which everybody may read, and indices.
    pub key: Option<ObjectKey>,
    /// `r`, `v`, `i`, `S`.
    pub kind: char,
    /// The OID of its row type, 0 for none; that of its array is the next one.
    pub row_type: u32,
    pub columns: Vec<Column>,
    pub comment: Option<String>,
    pub temporary: bool,
    pub table: Option<Arc<Table>>,
    pub query: Option<String>,
    pub index: Option<Index>,
    pub sequence: Option<Arc<Sequence>>,
}

/// A constraint of a table.
#[derive(Clone, Debug)]
pub(crate) struct Constraint {
    pub oid: u32,
    pub name: String,
    pub namespace: u32,
    /// `p`, `u`, `f` or `c`.
    pub kind: char,
    pub table: u32,
    /// The index that keeps it, or of a foreign key the one that it refers to; 0 for none.
    pub index: u32,
    pub columns: Vec<usize>,
    /// A CHECK's condition.
    pub check: Option<String>,
    pub foreign: Option<ForeignKey>,
}

/// A type of CREATE TYPE.
#[derive(Clone, Debug)]
pub(crate) struct Enumeration {
    /// The array's is the next one.
    pub oid: u32,
    /// In the snapshot.
    pub key: String,
    pub name: String,
    pub namespace: u32,
    pub ty: Type,
}

/// A database's objects with their OIDs, and who asks.
#[derive(Debug, Default)]
pub struct Catalog {
    pub(crate) around: Surroundings,
    /// Roles and what each may do.
    pub(crate) access: Arc<State>,
    pub(crate) namespaces: Vec<Namespace>,
    pub(crate) classes: Vec<Class>,
    pub(crate) constraints: Vec<Constraint>,
    pub(crate) enumerations: Vec<Enumeration>,
    /// Comments on what is no relation: the OIDs of the catalog and of the object, and the text.
    pub(crate) comments: Vec<(u32, u32, String)>,
    by_oid: HashMap<u32, usize>,
    /// Namespaces in the order in which names are looked for.
    path: Vec<u32>,
}

impl pgproto::oid::TypeOids for Catalog {
    fn of_enum(&self, ty: Type) -> Option<pgproto::oid::EnumOids> {
        let found = self.enumerations.iter().find(|known| known.ty == ty)?;
        Some(pgproto::oid::EnumOids { oid: found.oid, array: found.oid + 1 })
    }
}

impl Catalog {
    /// Gathers a database's objects. Those of attached databases are not in it, as in PostgreSQL.
    pub fn new(snapshot: &Snapshot, around: Surroundings) -> Catalog {
        let mut catalog = Catalog { around, access: snapshot.access().clone(), ..Catalog::default() };
        let mut names = Names::default();
        catalog.namespace(PG_CATALOG, "pg_catalog", None);
        catalog.namespace(INFORMATION_SCHEMA, "information_schema", None);
        let mut schemas = HashMap::new();
        let shown = catalog.around.default_schema.clone();
        // Keys with a point are schemas of attached databases.
        for key in snapshot.schemas().keys().filter(|key| !key.contains('.')) {
            let (oid, name) = match key.as_str() {
                catalog::DEFAULT_SCHEMA => (PUBLIC, shown.as_str()),
                catalog::TEMPORARY_SCHEMA => (names.of("schema", key, 0), TEMPORARY),
                key => (names.of("schema", key, 0), key),
            };
            catalog.namespace(oid, name, Some(ObjectKey::Schema(key.clone())));
            schemas.insert(key.clone(), oid);
        }
        catalog.system_relations();
        for (key, held) in snapshot.schemas().iter().filter(|(key, _)| schemas.contains_key(*key)) {
            let namespace = schemas[key];
            for table in held.tables.values() {
                catalog.table(table, namespace, &mut names);
            }
            for (name, sequence) in &held.sequences {
                let oid = names.of("sequence", &format!("{key}.{name}"), 0);
                catalog.sequence(oid, (key, name), namespace, sequence);
            }
        }
        for view in std::mem::take(&mut catalog.around.views) {
            let Some(namespace) = schemas.get(&view.schema) else { continue };
            let oid = names.of("view", &format!("{}.{}", view.schema, view.name), 2);
            catalog.view(oid, *namespace, view);
        }
        for (key, ty) in snapshot.types() {
            let (schema, name) = snapshot.place_of(key);
            let Some(namespace) = schemas.get(&schema) else { continue };
            let oid = names.of("type", key, 1);
            let known =
                Enumeration { oid, key: key.clone(), name: name.to_owned(), namespace: *namespace, ty: **ty };
            catalog.enumerations.push(known);
        }
        catalog.comment(snapshot, &schemas);
        catalog.by_oid = catalog.classes.iter().enumerate().map(|(at, class)| (class.oid, at)).collect();
        catalog.refer(snapshot);
        let path = catalog.around.path.iter().filter_map(|key| schemas.get(key).copied());
        let temporary = schemas.get(catalog::TEMPORARY_SCHEMA).copied();
        catalog.path = temporary.into_iter().chain([PG_CATALOG]).chain(path).collect();
        catalog
    }

    /// Comments that stand beside the definitions of what they are about.
    fn comment(&mut self, snapshot: &Snapshot, schemas: &HashMap<String, u32>) {
        for entry in snapshot.comments() {
            if entry.of == Commented::Database {
                if !entry.schema.contains('.') {
                    self.comments.push((PG_DATABASE, DATABASE, entry.text.to_owned()));
                }
                continue;
            }
            let schema = if entry.of == Commented::Schema { entry.name } else { entry.schema.as_str() };
            let Some(namespace) = schemas.get(schema).copied() else { continue };
            let (name, column) = Commented::view_and_column(entry.name);
            let kind = match entry.of {
                Commented::Index => 'i',
                Commented::Sequence => 'S',
                _ => 'v',
            };
            let of_name = |c: &&mut Class| c.namespace == namespace && c.kind == kind && c.name == name;
            match entry.of {
                Commented::Index | Commented::Sequence => {
                    if let Some(class) = self.classes.iter_mut().find(of_name) {
                        class.comment = Some(entry.text.to_owned());
                    }
                }
                Commented::ViewColumn => {
                    let view = self.classes.iter_mut().find(of_name);
                    let columns = view.into_iter().flat_map(|view| &mut view.columns);
                    columns
                        .filter(|c| c.name == column)
                        .for_each(|c| c.comment = Some(entry.text.to_owned()));
                }
                Commented::Schema => self.comments.push((PG_NAMESPACE, namespace, entry.text.to_owned())),
                Commented::Type => {
                    let of_name = |e: &&Enumeration| e.namespace == namespace && e.name == entry.name;
                    if let Some(oid) = self.enumerations.iter().find(of_name).map(|e| e.oid) {
                        self.comments.push((PG_TYPE, oid, entry.text.to_owned()));
                    }
                }
                // Macros have no OIDs.
                Commented::Macro | Commented::Database => {}
            }
        }
    }

    fn namespace(&mut self, oid: u32, name: &str, key: Option<ObjectKey>) {
        self.namespaces.push(Namespace { oid, name: name.to_owned(), key });
    }

    fn system_relations(&mut self) {
        for relation in fixed::all() {
            let namespace = match relation.schema_name {
                "pg_catalog" => PG_CATALOG,
                _ => INFORMATION_SCHEMA,
            };
            self.classes.push(Class {
                columns: columns_of(&relation.schema),
                kind: if relation.is_view { 'v' } else { 'r' },
                ..class(relation.oid, relation.name, namespace)
            });
        }
    }

    fn table(&mut self, table: &Arc<Table>, namespace: u32, names: &mut Names) {
        let oid = oids::of_table(table.id.0);
        let mut columns = columns_of(&table.columns);
        for (column, attributes) in columns.iter_mut().zip(&table.attributes) {
            column.default.clone_from(&attributes.default);
            column.generated.clone_from(&attributes.generated);
            column.comment.clone_from(&attributes.comment);
        }
        self.classes.push(Class {
            columns,
            kind: 'r',
            key: Some(ObjectKey::Table(table.id.0)),
            row_type: oid + 1,
            comment: table.comment.clone(),
            temporary: table.is_temporary(),
            table: Some(table.clone()),
            ..class(oid, &table.name, namespace)
        });
        let id = table.id.0;
        for key in &table.keys {
            let name = key.constraint_name(&table.name, &table.columns);
            // An unnamed key is known by its columns: its name changes with the table's.
            let identity = key.name.clone().unwrap_or_else(|| format!("{:?}", key.columns));
            let constraint = names.of("key", &format!("{id} {identity}"), 1);
            let index = Index {
                table: oid,
                columns: key.columns.clone(),
                unique: true,
                primary: key.primary,
                nulls_equal: key.nulls_equal,
                constraint,
            };
            self.index(constraint + 1, &name, namespace, table, index);
            self.constraints.push(Constraint {
                index: constraint + 1,
                columns: key.columns.clone(),
                ..self::constraint(constraint, name, namespace, if key.primary { 'p' } else { 'u' }, oid)
            });
        }
        for check in &table.checks {
            let own = names.of("check", &format!("{id} {}", check.name), 0);
            self.constraints.push(Constraint {
                columns: check.columns.iter().map(|(_, at)| *at).collect(),
                check: Some(check.text.clone()),
                ..constraint(own, check.name.clone(), namespace, 'c', oid)
            });
        }
        for key in &table.foreign_keys {
            let name = key.constraint_name(&table.name, &table.columns);
            let identity = key.name.clone().unwrap_or_else(|| format!("{:?}", key.columns));
            let own = names.of("foreign key", &format!("{id} {identity}"), 0);
            self.constraints.push(Constraint {
                columns: key.columns.clone(),
                foreign: Some(key.clone()),
                ..constraint(own, name, namespace, 'f', oid)
            });
        }
        let mut first = 0;
        while let Some(index) = table.indices.get(first) {
            // Indices over several columns stand next to each other under one name.
            let columns: Vec<usize> = table.indices[first..]
                .iter()
                .take_while(|i| i.name == index.name)
                .map(|i| i.column)
                .collect();
            first += columns.len();
            let own = names.of("index", &format!("{id} {}", index.name), 0);
            let (unique, primary, nulls_equal, constraint) = (false, false, false, 0);
            let made = Index { table: oid, columns, unique, primary, nulls_equal, constraint };
            self.index(own, &index.name, namespace, table, made);
        }
    }

    fn index(&mut self, oid: u32, name: &str, namespace: u32, table: &Table, index: Index) {
        let fields = table.columns.fields();
        let columns = index.columns.iter().filter_map(|at| fields.get(*at));
        let columns = columns.map(|field| column(&field.name, field.ty, true)).collect();
        let temporary = table.is_temporary();
        let made = class(oid, name, namespace);
        self.classes.push(Class { columns, kind: 'i', index: Some(index), temporary, ..made });
    }

    fn sequence(&mut self, oid: u32, (schema, name): (&str, &str), namespace: u32, sequence: &Arc<Sequence>) {
        let columns = vec![
            column("last_value", Type::BigInt, true),
            column("log_cnt", Type::BigInt, true),
            column("is_called", Type::Boolean, true),
        ];
        let key = Some(ObjectKey::Sequence(schema.to_owned(), name.to_owned()));
        let made = class(oid, name, namespace);
        self.classes.push(Class { columns, kind: 'S', sequence: Some(sequence.clone()), key, ..made });
    }

    fn view(&mut self, oid: u32, namespace: u32, view: ViewShape) {
        let mut columns = view.columns.as_ref().map(columns_of).unwrap_or_default();
        columns.iter_mut().for_each(|column| column.not_null = false);
        self.classes.push(Class {
            columns,
            kind: 'v',
            key: Some(ObjectKey::View(view.schema.clone(), view.name.clone())),
            row_type: oid + 1,
            comment: view.comment,
            temporary: self.namespace_name(namespace) == TEMPORARY,
            query: Some(view.text),
            ..class(oid, &view.name, namespace)
        });
    }

    /// Finds the keys that foreign keys refer to.
    fn refer(&mut self, snapshot: &Snapshot) {
        let referred = |constraints: &[Constraint], key: &ForeignKey| {
            let table = oids::of_table(key.parent.0);
            snapshot.table_by_id(key.parent)?;
            let same = |c: &&Constraint| {
                c.table == table
                    && matches!(c.kind, 'p' | 'u')
                    && c.columns.len() == key.parent_columns.len()
                    && c.columns.iter().all(|at| key.parent_columns.contains(at))
            };
            constraints.iter().find(same).map(|c| c.index)
        };
        for at in 0..self.constraints.len() {
            let found =
                self.constraints[at].foreign.as_ref().and_then(|key| referred(&self.constraints, key));
            if let Some(index) = found {
                self.constraints[at].index = index;
            }
        }
    }

    /// A relation by its OID.
    pub(crate) fn class(&self, oid: u32) -> Option<&Class> {
        self.by_oid.get(&oid).map(|at| &self.classes[*at])
    }
    /// A schema's name by its OID.
    pub(crate) fn namespace_name(&self, oid: u32) -> &str {
        self.namespaces.iter().find(|n| n.oid == oid).map_or("", |n| n.name.as_str())
    }
    /// Whether names of a schema need none of their own.
    pub(crate) fn in_path(&self, namespace: u32) -> bool {
        self.path.contains(&namespace)
    }
    /// Whether a relation's name alone means it.
    pub(crate) fn is_visible(&self, class: &Class) -> bool {
        self.find_class(None, &class.name).is_some_and(|found| found.oid == class.oid)
    }
    /// The relation that a name means.
    pub(crate) fn find_class(&self, schema: Option<&str>, name: &str) -> Option<&Class> {
        let within = |namespace: u32| {
            self.classes.iter().find(|class| class.namespace == namespace && class.name == name)
        };
        match schema {
            Some(schema) => within(self.namespace_named(schema)?),
            None => self.path.iter().find_map(|namespace| within(*namespace)),
        }
    }
    /// A schema's OID by its name; `main` and `public` are one.
    pub(crate) fn namespace_named(&self, name: &str) -> Option<u32> {
        if matches!(name, catalog::DEFAULT_SCHEMA | "public") {
            return Some(PUBLIC);
        }
        self.namespaces.iter().find(|n| n.name == name).map(|n| n.oid)
    }
    /// Names of the schemas in which names are looked for, `pg_catalog` where it is asked for.
    pub(crate) fn path_names(&self, implicit: bool) -> Vec<&str> {
        let shown = self.path.iter().filter(|oid| **oid != PG_CATALOG || implicit);
        let shown = shown.map(|oid| self.namespace_name(*oid));
        // The temporary schema is there once something is in it.
        shown.filter(|name| *name != TEMPORARY).collect()
    }
    /// A relation's name as `regclass` shows it.
    pub(crate) fn class_shown(&self, class: &Class) -> String {
        match self.is_visible(class) {
            true => quoted(&class.name),
            false => self.qualified(class.namespace, &class.name),
        }
    }
    /// A name with its schema, both as SQL has them.
    pub(crate) fn qualified(&self, namespace: u32, name: &str) -> String {
        format!("{}.{}", quoted(self.namespace_name(namespace)), quoted(name))
    }
    /// Schema and name of a text; a database before them is left out.
    pub(crate) fn split(text: &str) -> types::Result<(Option<String>, String)> {
        let mut parts = names::parts(text)?;
        let name = parts.pop().unwrap_or_default();
        Ok((parts.pop(), name))
    }
    /// Roles by OID: the numbers that the catalog knows them by.
    pub(crate) fn roles(&self) -> Vec<(u32, Role)> {
        self.access.roles().into_iter().map(|(id, role)| (id.0, role)).collect()
    }
    /// A role's name; `None` where there is no such role.
    pub(crate) fn role_name(&self, oid: u32) -> Option<String> {
        self.access.role(RoleId(oid)).map(|role| role.name)
    }
    /// The current role.
    pub(crate) fn asking(&self) -> RoleId {
        RoleId(self.around.role)
    }
    /// Who owns what privileges are kept of under a key; the superuser that every database has owns the rest.
    pub(crate) fn owner(&self, key: Option<&ObjectKey>) -> u32 {
        key.map_or(OWNER, |key| self.access.owner(key).0)
    }
}

fn class(oid: u32, name: &str, namespace: u32) -> Class {
    Class {
        oid,
        name: name.to_owned(),
        namespace,
        key: None,
        kind: 'r',
        row_type: 0,
        columns: vec![],
        comment: None,
        temporary: false,
        table: None,
        query: None,
        index: None,
        sequence: None,
    }
}

fn constraint(oid: u32, name: String, namespace: u32, kind: char, table: u32) -> Constraint {
    let (index, columns, check, foreign) = (0, vec![], None, None);
    Constraint { oid, name, namespace, kind, table, index, columns, check, foreign }
}

fn column(name: &str, ty: Type, not_null: bool) -> Column {
    Column { name: name.to_owned(), ty, not_null, default: None, generated: None, comment: None }
}

fn columns_of(schema: &Schema) -> Vec<Column> {
    schema.fields().iter().map(|field| column(&field.name, field.ty, !field.nullable)).collect()
}
