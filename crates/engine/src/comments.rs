//! COMMENT ON indices, sequences, types, macros, schemas, the database and columns of views.
//!
//! Finds which object is meant and puts the comment into the catalog, under the key that `catalog::Commented` gives it; holds
//! no state. A comment may outlive its object, so that readers only see `known` ones, whose objects are there. Called by
//! statements (`alter`), by EXPORT, and by the system's listings.

use std::fmt::Write;

use catalog::{CommentEntry, Commented, Draft, Snapshot};
use plan::statement::{CommentKind, ObjectName};
use types::{Error, Result, SqlState, quote};

use crate::Session;
use crate::definable::shown;
use crate::relations::SessionRelations;
use crate::result::ResultSet;

impl Session {
    /// COMMENT ON an object that is no table and no view; `None` removes the comment.
    pub(crate) fn comment_on_object(
        &self,
        kind: CommentKind,
        name: &ObjectName,
        text: Option<String>,
    ) -> Result<ResultSet> {
        crate::definitions::refuse_system(name.schema.as_deref())?;
        let snapshot = self.snapshot();
        let of = match kind {
            CommentKind::Index => Commented::Index,
            CommentKind::Sequence => Commented::Sequence,
            CommentKind::Type => Commented::Type,
            CommentKind::Macro => Commented::Macro,
            CommentKind::Schema => Commented::Schema,
            CommentKind::Database => Commented::Database,
        };
        let keyed = |key: Option<String>| {
            key.map(|key| {
                let (schema, own) = snapshot.place_of(&key);
                (schema, own.to_owned())
            })
        };
        let found = match kind {
            CommentKind::Index => self.index_place(&snapshot, name),
            CommentKind::Sequence => crate::sequences::place_of_known(&snapshot, name),
            CommentKind::Type => keyed(self.key_to_drop(&snapshot, name, snapshot.types())),
            CommentKind::Macro => keyed(self.key_to_drop(&snapshot, name, snapshot.macros())),
            CommentKind::Schema => {
                let schema = Snapshot::canonical_schema(&name.name);
                snapshot.schemas().contains_key(schema).then(|| (schema.to_owned(), schema.to_owned()))
            }
            CommentKind::Database => self.database_place(&snapshot, &name.name),
        };
        let Some((schema, own)) = found else {
            let state = match kind {
                CommentKind::Schema => SqlState::UndefinedSchema,
                CommentKind::Sequence => SqlState::UndefinedTable,
                CommentKind::Macro => SqlState::UndefinedFunction,
                _ => SqlState::UndefinedObject,
            };
            let error = Error::new(state, format!("{} \"{}\" does not exist", of.name(), shown(name)));
            return Err(match kind {
                CommentKind::Macro if self.settings().macros.contains_key(&name.name) => {
                    Error::unsupported("macros of a session have no comments")
                }
                CommentKind::Index => error.with_hint("a unique index is a constraint, which has no comment"),
                _ => error,
            });
        };
        self.commit(|draft| {
            draft.set_comment(of, &schema, &own, text);
            Ok(())
        })?;
        Ok(ResultSet::done("COMMENT"))
    }

    /// COMMENT ON COLUMN of a view.
    pub(crate) fn comment_on_view_column(
        &self,
        view: &ObjectName,
        column: &str,
        text: Option<String>,
        relations: &SessionRelations,
    ) -> Result<ResultSet> {
        let schema = view.schema.as_deref().unwrap_or(catalog::DEFAULT_SCHEMA);
        let schema = Snapshot::canonical_schema(schema);
        let columns = relations.view_columns(schema, &view.name);
        if columns.is_some_and(|columns| columns.fields().iter().all(|field| field.name != column)) {
            let message = format!("column \"{column}\" of relation \"{}\" does not exist", shown(view));
            return Err(Error::new(SqlState::UndefinedColumn, message));
        }
        self.commit(|draft| {
            draft.set_comment(Commented::ViewColumn, schema, &Commented::column(&view.name, column), text);
            Ok(())
        })?;
        Ok(ResultSet::done("COMMENT"))
    }

    /// The place of a database's comment: the one in use, or an attached one.
    fn database_place(&self, snapshot: &Snapshot, name: &str) -> Option<(String, String)> {
        if snapshot.mount(name).is_some() {
            return Some((format!("{name}.{}", catalog::DEFAULT_SCHEMA), name.to_owned()));
        }
        (*name == *self.database.shared.name).then(|| (catalog::DEFAULT_SCHEMA.to_owned(), name.to_owned()))
    }
}

/// The comments about objects that are there.
pub(crate) fn known(snapshot: &Snapshot) -> impl Iterator<Item = CommentEntry<'_>> {
    snapshot.comments().filter(|comment| is_there(snapshot, comment))
}

fn is_there(snapshot: &Snapshot, CommentEntry { of, schema, name, .. }: &CommentEntry<'_>) -> bool {
    let entry = snapshot.schemas().get(schema.as_str());
    match of {
        Commented::Index => snapshot
            .tables()
            .any(|table| table.schema == *schema && table.indices.iter().any(|index| index.name == *name)),
        Commented::Sequence => entry.is_some_and(|entry| entry.sequences.contains_key(*name)),
        Commented::Type => snapshot.types().contains_key(&snapshot.object_key(schema, name)),
        Commented::Macro => snapshot.macros().contains_key(&snapshot.object_key(schema, name)),
        Commented::Schema | Commented::Database => entry.is_some(),
        Commented::ViewColumn => {
            let (view, _) = Commented::view_and_column(name);
            entry.is_some_and(|entry| entry.views.contains_key(view))
        }
    }
}

/// Comments of a view's columns go with the view's name.
pub(crate) fn rename_view(draft: &mut Draft, schema: Option<&str>, from: &str, to: &str) {
    let schema = Snapshot::canonical_schema(schema.unwrap_or(catalog::DEFAULT_SCHEMA)).to_owned();
    let columns: Vec<String> =
        of_view(draft.snapshot(), &schema, from).map(|(column, _)| column.to_owned()).collect();
    for column in columns {
        let [from, to] = [from, to].map(|view| Commented::column(view, &column));
        draft.move_comment(Commented::ViewColumn, &schema, &from, &to);
    }
}

/// The columns of a view that have a comment.
fn of_view<'s>(
    snapshot: &'s Snapshot,
    schema: &'s str,
    view: &'s str,
) -> impl Iterator<Item = (&'s str, &'s str)> {
    let all = snapshot.comments().filter(move |c| c.of == Commented::ViewColumn && c.schema == schema);
    all.map(|comment| (Commented::view_and_column(comment.name), comment.text))
        .filter(move |((own, _), _)| *own == view)
        .map(|((_, column), text)| (column, text))
}

/// The statements that make the comments anew in another database.
pub(crate) fn statements(snapshot: &Snapshot) -> String {
    let mut text = String::new();
    for comment in known(snapshot) {
        let name = quote::qualified(&comment.schema, comment.name);
        let (kind, name) = match comment.of {
            Commented::Schema => ("SCHEMA", quote::name(comment.name)),
            // The other one has a name of its own.
            Commented::Database => continue,
            Commented::ViewColumn => {
                let (view, column) = Commented::view_and_column(comment.name);
                ("COLUMN", format!("{}.{}", quote::qualified(&comment.schema, view), quote::name(column)))
            }
            Commented::Index => ("INDEX", name),
            Commented::Sequence => ("SEQUENCE", name),
            Commented::Type => ("TYPE", name),
            Commented::Macro => ("MACRO", name),
        };
        let _ = writeln!(text, "COMMENT ON {kind} {name} IS {};", quote::text(comment.text));
    }
    text
}
