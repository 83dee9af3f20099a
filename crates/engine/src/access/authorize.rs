//! What statements need, apart from the columns and rows that they read and write, which binding has checked.
//!
//! The match is over all kinds of statements and has no arm for the rest: a new kind does not compile without a
//! decision. Sub-statements (EXPLAIN, EXECUTE) are authorized as what they are.

use access::{ObjectKey, Predefined, Privilege, denied};
use catalog::{Snapshot, TEMPORARY_SCHEMA};
use plan::Statement;
use plan::statement::{AddedKey, AlterAction, CommentKind, CommentTarget, ObjectName, TableOptions};
use types::{Result, Value};

use super::guard::{self, Decision};
use super::{Identity, needs, objects};
use crate::Session;
use crate::database::Database;

/// One statement's check.
struct Check<'a> {
    snapshot: &'a Snapshot,
    identity: Identity,
    path: &'a [String],
    database: &'a Database,
    session: u64,
}

impl Session {
    /// 42501 where the current role may not do what a statement does. Names have their schemas.
    pub(crate) fn authorize(&self, statement: &Statement) -> Result<()> {
        let (snapshot, identity) = (self.snapshot(), self.identity());
        if snapshot.access().is_superuser(identity.current) {
            return Ok(());
        }
        let path = self.settings().search_path.clone();
        let check = Check {
            snapshot: &snapshot,
            identity,
            path: &path,
            database: &self.database,
            session: self.number,
        };
        check.statement(statement)
    }
}

impl Check<'_> {
    fn statement(&self, statement: &Statement) -> Result<()> {
        match statement {
            // Columns, rows and files: asked for where they are bound and opened.
            Statement::Query(_)
            | Statement::ChangingQuery(_)
            | Statement::Insert { .. }
            | Statement::Modify(_)
            | Statement::CopyFrom { .. }
            | Statement::CopyTo { .. } => Ok(()),
            // Of the session alone.
            Statement::Prepare { .. }
            | Statement::Execute { .. }
            | Statement::Deallocate { .. }
            | Statement::Transaction(_)
            | Statement::Cursor(_)
            | Statement::Discard(_)
            | Statement::Show { .. } => Ok(()),
            // Checks itself, where the catalog is changed.
            Statement::Access(_) => Ok(()),
            Statement::Explain { statement, .. } => self.statement(statement),
            Statement::Set { name, .. } | Statement::SetLocal { name, .. } => self.setting(name),
            Statement::Call { procedure, arguments } => {
                self.procedure(procedure, arguments.first().map(|(_, value, _)| value))
            }
            Statement::Attach(_) | Statement::Detach { .. } | Statement::CopyDatabase { .. } => {
                self.superuser("attach, detach and copy databases")
            }
            Statement::Truncate { tables, cascade, .. } => self.truncate(tables, *cascade),
            other => self.definition(other),
        }
    }

    /// What OR REPLACE takes away must be the role's own.
    fn own_if_replaced(&self, if_exists: plan::statement::IfExists, name: &ObjectName) -> Result<()> {
        match if_exists {
            plan::statement::IfExists::Replace => self.own_if_there(name),
            _ => Ok(()),
        }
    }

    /// Statements that make, change and drop objects.
    fn definition(&self, statement: &Statement) -> Result<()> {
        match statement {
            Statement::CreateTable { name, options, .. } | Statement::CreateTableAs { name, options, .. } => {
                self.create_table(name, options)
            }
            Statement::CreateView { name, if_exists, .. } => {
                self.create_in(name.schema.as_deref())?;
                self.own_if_replaced(*if_exists, name)
            }
            Statement::CreateSequence(create) => {
                let schema =
                    if create.temporary { Some(TEMPORARY_SCHEMA) } else { create.name.schema.as_deref() };
                self.create_in(schema)?;
                self.own_if_replaced(create.if_exists, &create.name)
            }
            Statement::CreateType { name, .. } => {
                self.create_in(name.schema.as_deref())?;
                self.own_type(name)
            }
            // The session's own macros are nobody else's.
            Statement::CreateMacro { temporary: true, .. } => Ok(()),
            Statement::CreateMacro { name, .. } => {
                self.create_in(name.schema.as_deref())?;
                self.own_macro(name)
            }
            Statement::CreateSchema { .. } => {
                let state = self.snapshot.access();
                state.check(
                    self.identity.current,
                    &ObjectKey::Database,
                    Privilege::Create,
                    &self.database.shared.name,
                )
            }
            Statement::CreateIndex { table, .. } => self.own(table),
            Statement::AlterTable { name, actions, .. } => {
                self.own_if_there(name)?;
                actions.iter().try_for_each(|action| match action {
                    AlterAction::AddConstraint { key: AddedKey::Foreign(key), .. } => {
                        self.references(name, &key.parent, &key.parent_columns)
                    }
                    AlterAction::RenameTable { .. } => self.create_in(name.schema.as_deref()),
                    _ => Ok(()),
                })
            }
            Statement::AlterTypes { name, .. } | Statement::Reorganize { name, .. } => self.own(name),
            Statement::RenameView { name, .. } => {
                self.own(name)?;
                self.create_in(name.schema.as_deref())
            }
            Statement::AlterSequence(alter) => self.own_if_there(&alter.name),
            Statement::Comment { on, .. } => self.comment(on),
            Statement::DropTable { names, .. }
            | Statement::DropView { names, .. }
            | Statement::DropSequence { names, .. } => {
                names.iter().try_for_each(|name| self.own_if_there(name))
            }
            Statement::DropIndex { names, .. } => names.iter().try_for_each(|name| self.own_index(name)),
            Statement::DropSchema { name, cascade, .. } => self.drop_schema(name, *cascade),
            Statement::DropType { names, .. } => names.iter().try_for_each(|name| self.own_type(name)),
            Statement::DropMacro { name, .. } => self.own_macro(name),
            Statement::DropFunction { name, .. } => {
                self.own_macro(name)?;
                match self.database.shared.definitions.external(&name.name) {
                    Some(_) => self.superuser("drop functions of the host program"),
                    None => Ok(()),
                }
            }
            // What is about rows and the session was decided before.
            Statement::Query(_)
            | Statement::ChangingQuery(_)
            | Statement::Insert { .. }
            | Statement::Modify(_)
            | Statement::CopyFrom { .. }
            | Statement::CopyTo { .. }
            | Statement::Prepare { .. }
            | Statement::Execute { .. }
            | Statement::Deallocate { .. }
            | Statement::Transaction(_)
            | Statement::Show { .. }
            | Statement::Access(_)
            | Statement::Explain { .. }
            | Statement::Set { .. }
            | Statement::SetLocal { .. }
            | Statement::Cursor(_)
            | Statement::Discard(_)
            | Statement::Call { .. }
            | Statement::Attach(_)
            | Statement::Detach { .. }
            | Statement::CopyDatabase { .. }
            | Statement::Truncate { .. } => Ok(()),
        }
    }

    fn create_table(&self, name: &ObjectName, options: &TableOptions) -> Result<()> {
        let schema = if options.temporary { Some(TEMPORARY_SCHEMA) } else { name.schema.as_deref() };
        self.create_in(schema)?;
        if options.if_exists == plan::statement::IfExists::Replace {
            self.own_if_there(name)?;
        }
        let keys = options.foreign_keys.iter();
        keys.into_iter().try_for_each(|key| self.references(name, &key.parent, &key.parent_columns))
    }

    fn superuser(&self, what: &str) -> Result<()> {
        Err(denied(format!("permission denied: must be superuser to {what}")))
    }

    fn schema_of<'s>(&'s self, schema: Option<&'s str>) -> &'s str {
        schema.unwrap_or_else(|| crate::search_path::current(self.path))
    }

    fn create_in(&self, schema: Option<&str>) -> Result<()> {
        objects::check_schema(self.snapshot, self.identity.current, self.schema_of(schema), Privilege::Create)
    }

    fn key(&self, name: &ObjectName) -> Option<ObjectKey> {
        self.snapshot.relation_key(name.schema.as_deref(), &name.name)
    }

    /// The owner of a relation may alter and drop it.
    fn own(&self, name: &ObjectName) -> Result<()> {
        match self.key(name) {
            Some(key) => objects::check_owner(self.snapshot.access(), self.identity, &key, &name.name),
            // Where it is not there, the statement says so.
            None => Ok(()),
        }
    }

    fn own_if_there(&self, name: &ObjectName) -> Result<()> {
        self.own(name)
    }

    /// COMMENT ON asks for the object's owner.
    fn comment(&self, on: &CommentTarget) -> Result<()> {
        match on {
            CommentTarget::Table(name) | CommentTarget::View(name) => self.own(name),
            CommentTarget::Column { table, .. } => self.own(table),
            CommentTarget::Object(CommentKind::Index, name) => self.own_index(name),
            CommentTarget::Object(CommentKind::Sequence, name) => self.own(name),
            CommentTarget::Object(CommentKind::Type, name) => self.own_type(name),
            CommentTarget::Object(CommentKind::Macro, name) => self.own_macro(name),
            CommentTarget::Object(CommentKind::Schema, name) => self.drop_schema(&name.name, false),
            CommentTarget::Object(CommentKind::Database, _) => self.superuser("comment on a database"),
        }
    }

    fn own_index(&self, name: &ObjectName) -> Result<()> {
        let tables = self.snapshot.tables().filter(|table| {
            table.indices.iter().any(|index| index.name == name.name)
                || table.keys.iter().any(|key| key.constraint_name(&table.name, &table.columns) == name.name)
        });
        let wanted = name.schema.as_deref().map(Snapshot::canonical_schema);
        tables.filter(|table| wanted.is_none_or(|schema| table.schema == schema)).try_for_each(|table| {
            let key = ObjectKey::Table(table.id.0);
            objects::check_owner(self.snapshot.access(), self.identity, &key, &table.name)
        })
    }

    fn own_macro(&self, name: &ObjectName) -> Result<()> {
        let key = self.snapshot.object_key(self.schema_of(name.schema.as_deref()), &name.name);
        let keys = [key, name.name.clone()];
        keys.into_iter().filter(|key| self.snapshot.macros().contains_key(key)).try_for_each(|key| {
            let key = ObjectKey::Routine(key);
            objects::check_owner(self.snapshot.access(), self.identity, &key, &name.name)
        })
    }

    fn own_type(&self, name: &ObjectName) -> Result<()> {
        let key = self.snapshot.object_key(self.schema_of(name.schema.as_deref()), &name.name);
        let keys = [key, name.name.clone()];
        keys.into_iter().filter(|key| self.snapshot.types().contains_key(key)).try_for_each(|key| {
            let key = ObjectKey::Type(key);
            objects::check_owner(self.snapshot.access(), self.identity, &key, &name.name)
        })
    }

    fn drop_schema(&self, name: &str, _cascade: bool) -> Result<()> {
        let name = Snapshot::canonical_schema(name);
        match self.snapshot.schemas().contains_key(name) {
            // Its owner may drop it with what others have made in it, as in PostgreSQL.
            true => {
                let key = ObjectKey::Schema(name.to_owned());
                objects::check_owner(self.snapshot.access(), self.identity, &key, name)
            }
            false => Ok(()),
        }
    }

    /// A foreign key needs REFERENCES on the columns that it refers to.
    fn references(&self, child: &ObjectName, parent: &ObjectName, columns: &[String]) -> Result<()> {
        if child == parent {
            return Ok(());
        }
        let Some(table) = self.snapshot.find(parent.schema.as_deref(), &parent.name) else { return Ok(()) };
        let key = ObjectKey::Table(table.id.0);
        let primary: Vec<String> = match columns {
            [] => {
                let key = table.keys.iter().find(|key| key.primary);
                let columns = key.into_iter().flat_map(|key| &key.columns);
                columns.map(|at| table.columns.fields()[*at].name.clone()).collect()
            }
            some => some.to_vec(),
        };
        let columns: Vec<&str> = primary.iter().map(String::as_str).collect();
        let place = (&key, table.schema.as_str(), table.name.as_str());
        objects::check_relation(self.snapshot, self.identity.current, place, Privilege::References, &columns)
    }

    /// TRUNCATE ... CASCADE empties tables that it does not name.
    fn truncate(&self, tables: &[(plan::TableId, ObjectName)], cascade: bool) -> Result<()> {
        if !cascade {
            return Ok(());
        }
        let mut open: Vec<catalog::TableId> = tables.iter().map(|(id, _)| catalog::TableId(id.0)).collect();
        let mut seen = open.clone();
        while let Some(id) = open.pop() {
            for child in self.snapshot.dependents(id) {
                if seen.contains(&child.id) {
                    continue;
                }
                let place = (&ObjectKey::Table(child.id.0), child.schema.as_str(), child.name.as_str());
                objects::check_relation(
                    self.snapshot,
                    self.identity.current,
                    place,
                    Privilege::Truncate,
                    &[],
                )?;
                seen.push(child.id);
                open.push(child.id);
            }
        }
        Ok(())
    }

    fn setting(&self, name: &str) -> Result<()> {
        let name = crate::settings::own_name(name);
        self.decided(guard::setting(name), &format!("set parameter \"{name}\""))
    }

    fn procedure(&self, procedure: &str, first: Option<&Value>) -> Result<()> {
        let procedure = procedure.to_ascii_lowercase();
        match guard::procedure(&procedure) {
            Decision::OwnQuery => self.own_query(first),
            other => self.decided(other, &format!("call {procedure}")),
        }
    }

    fn decided(&self, decision: Decision, what: &str) -> Result<()> {
        match decision {
            Decision::Everyone | Decision::OwnRows | Decision::OwnQuery | Decision::WhereOpened => Ok(()),
            Decision::Superuser => Err(denied(format!("permission denied to {what}"))),
            Decision::Needs(role) => needs(self.snapshot.access(), self.identity, role, what),
        }
    }

    /// A query may be stopped by the role that runs it; by others with pg_signal_backend, which does not reach those of
    /// superusers.
    fn own_query(&self, id: Option<&Value>) -> Result<()> {
        let id = id.and_then(|value| value.as_i64()).and_then(|id| u64::try_from(id).ok());
        let query = id.and_then(|id| self.database.shared.scheduler.query(workorder::QueryId(id)));
        // Where there is none, the statement says so.
        let Some(query) = query else { return Ok(()) };
        let state = self.snapshot.access();
        if query.session() == self.session {
            return Ok(());
        }
        let owner = query.role().and_then(|name| state.find(name)).unwrap_or(access::RoleId::BOOTSTRAP);
        if state.is_superuser(owner) {
            return Err(denied("permission denied to signal a statement of a superuser"));
        }
        match state.has_privileges_of(self.identity.current, owner) {
            true => Ok(()),
            false => {
                needs(state, self.identity, Predefined::SignalBackend, "signal a statement of another role")
            }
        }
    }
}
