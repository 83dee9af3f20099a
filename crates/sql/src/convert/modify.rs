//! INSERT, UPDATE and DELETE.
//!
//! OVERRIDING and BY NAME are kept in the asides. A statement after WITH is converted here, too, and then wrapped as
//! the body of a query (`query::behind_with`). Called by `convert::statement`.

use sqlparser::ast;
use syntax::tree::{self, ExprKind};
use types::Result;

use super::from::{Behind, named_factor};
use super::query::attached;
use super::{Converter, ident, object_name};
use crate::asides::InsertBy;
use crate::asides::Overriding;

impl Converter<'_> {
    /// An INSERT with its WITH, ON CONFLICT and RETURNING.
    pub(crate) fn insert(&self, insert: &tree::Insert) -> Result<ast::Statement> {
        let tree::Insert {
            with,
            or,
            table,
            alias,
            by_name,
            columns,
            overriding_system,
            source,
            conflict,
            returning,
            span,
        } = insert;
        if *by_name == Some(true) {
            self.asides.borrow_mut().parsed.insert_by = InsertBy::Name;
        }
        self.keep_overriding(*overriding_system);
        if let (None, Some(first)) = (source, columns.first()) {
            return Err(self.wrong("DEFAULT VALUES takes no list of columns", first.path.span()));
        }
        let statement = ast::Insert {
            insert_token: attached(*span),
            optimizer_hints: vec![],
            or: or.map(|or| match or {
                tree::InsertOr::Replace => ast::SqliteOnConflict::Replace,
                tree::InsertOr::Ignore => ast::SqliteOnConflict::Ignore,
            }),
            ignore: false,
            into: true,
            table: ast::TableObject::TableName(object_name(table)),
            table_alias: alias
                .as_ref()
                .map(|alias| ast::TableAliasWithoutColumns { explicit: true, alias: ident(alias) }),
            columns: self.targets(columns)?,
            overwrite: false,
            source: source.as_ref().map(|source| self.query(source).map(Box::new)).transpose()?,
            assignments: vec![],
            partitioned: None,
            after_columns: vec![],
            has_table_keyword: false,
            on: conflict.as_ref().map(|conflict| self.conflict(conflict)).transpose()?,
            returning: self.returning(returning)?,
            output: None,
            replace_into: false,
            priority: None,
            insert_alias: None,
            settings: None,
            format_clause: None,
            multi_table_insert_type: None,
            multi_table_into_clauses: vec![],
            multi_table_when_clauses: vec![],
            multi_table_else_clause: None,
        };
        self.behind_with(with.as_ref(), statement.into())
    }

    /// OVERRIDING, which a statement has once.
    pub(super) fn keep_overriding(&self, system: Option<bool>) {
        if let Some(system) = system {
            let overriding = if system { Overriding::System } else { Overriding::User };
            self.asides.borrow_mut().parsed.overriding = overriding;
        }
    }

    /// The items of RETURNING; `None` where there are none.
    pub(super) fn returning(&self, items: &[tree::SelectItem]) -> Result<Option<Vec<ast::SelectItem>>> {
        match items.is_empty() {
            true => Ok(None),
            false => items.iter().map(|item| self.select_item(item)).collect::<Result<_>>().map(Some),
        }
    }

    fn conflict(&self, conflict: &tree::OnConflict) -> Result<ast::OnInsert> {
        let tree::OnConflict { target, target_condition, constraint, update, span: _ } = conflict;
        if let Some(condition) = target_condition {
            return Err(self.unsupported("WHERE behind the columns of ON CONFLICT", condition.span));
        }
        let mut columns = Vec::with_capacity(target.len());
        for column in target {
            match &column.kind {
                ExprKind::Column(path) if let Some(name) = path.single() => columns.push(ident(name)),
                _ => return Err(self.unsupported("an expression in ON CONFLICT", column.span)),
            }
        }
        let conflict_target = match constraint {
            Some(name) => Some(ast::ConflictTarget::OnConstraint(ident(name).into())),
            None if columns.is_empty() => None,
            None => Some(ast::ConflictTarget::Columns(columns)),
        };
        let action = match update {
            None => ast::OnConflictAction::DoNothing,
            Some(tree::ConflictUpdate { set, condition }) => ast::OnConflictAction::DoUpdate(ast::DoUpdate {
                assignments: self.assignments(set)?,
                selection: self.optional(condition.as_ref())?,
            }),
        };
        Ok(ast::OnInsert::OnConflict(ast::OnConflict { conflict_target, action }))
    }

    /// The columns that a statement assigns to.
    pub(super) fn targets(&self, targets: &[tree::Target]) -> Result<Vec<ast::ObjectName>> {
        targets.iter().map(|target| self.target(target)).collect()
    }

    fn target(&self, target: &tree::Target) -> Result<ast::ObjectName> {
        let tree::Target { path, places } = target;
        match places.first() {
            Some(_) => {
                Err(self.at(types::Error::unsupported("a part of a list cannot be assigned to"), path.span()))
            }
            None => Ok(object_name(path)),
        }
    }

    /// The assignments of SET.
    pub(super) fn assignments(&self, set: &[tree::Assignment]) -> Result<Vec<ast::Assignment>> {
        let assignment = |assignment: &tree::Assignment| {
            let tree::Assignment { targets, row, value } = assignment;
            let target = match targets.as_slice() {
                [one] if !row => ast::AssignmentTarget::ColumnName(self.target(one)?),
                several => ast::AssignmentTarget::Tuple(self.targets(several)?),
            };
            Ok(ast::Assignment { target, value: self.expr(value)? })
        };
        set.iter().map(assignment).collect()
    }

    /// A table whose rows are changed; ONLY takes nothing away, as tables have no heirs.
    fn changed(&self, table: &tree::Path, alias: Option<&tree::TableAlias>) -> Result<ast::TableWithJoins> {
        let alias = alias.map(|alias| self.table_alias(alias)).transpose()?;
        let relation = named_factor(object_name(table), None, false, Behind { alias, sample: None });
        Ok(ast::TableWithJoins { relation, joins: vec![] })
    }

    /// An UPDATE with its WITH and RETURNING.
    pub(crate) fn update(&self, update: &tree::Update) -> Result<ast::Statement> {
        let tree::Update {
            with,
            only: _,
            table,
            alias,
            set,
            from,
            condition,
            order_by,
            limit,
            returning,
            span,
        } = update;
        let statement = ast::Update {
            update_token: attached(*span),
            optimizer_hints: vec![],
            table: self.changed(table, alias.as_ref())?,
            assignments: self.assignments(set)?,
            from: match from.is_empty() {
                true => None,
                false => Some(ast::UpdateTableFromKind::AfterSet(self.tables(from)?)),
            },
            selection: self.optional(condition.as_ref())?,
            returning: self.returning(returning)?,
            output: None,
            or: None,
            order_by: order_by.iter().map(|item| self.order_item(item)).collect::<Result<_>>()?,
            limit: self.optional(limit.as_ref())?,
        };
        self.behind_with(with.as_ref(), statement.into())
    }

    /// A DELETE with its WITH and RETURNING.
    pub(crate) fn delete(&self, delete: &tree::Delete) -> Result<ast::Statement> {
        let tree::Delete { with, only: _, table, alias, using, condition, order_by, limit, returning, span } =
            delete;
        let statement = ast::Delete {
            delete_token: attached(*span),
            optimizer_hints: vec![],
            tables: vec![],
            from: ast::FromTable::WithFromKeyword(vec![self.changed(table, alias.as_ref())?]),
            using: match using.is_empty() {
                true => None,
                false => Some(self.tables(using)?),
            },
            selection: self.optional(condition.as_ref())?,
            returning: self.returning(returning)?,
            output: None,
            order_by: order_by.iter().map(|item| self.order_item(item)).collect::<Result<_>>()?,
            limit: self.optional(limit.as_ref())?,
        };
        self.behind_with(with.as_ref(), ast::Statement::Delete(statement))
    }
}
