//! CREATE TABLE and CREATE TABLE AS.
//!
//! Columns, keys, checks and foreign keys are gathered in `TableOptions`; names in them must exist, each once.
//! Defaults, CHECKs and generated columns are kept as texts and bound here once, so that a fault is an error of
//! CREATE TABLE. Clauses that the engine does not keep are refused, not ignored. `alter` uses `column`, `check` and
//! `added_key` for what it adds.

use std::collections::HashSet;
use std::ops::ControlFlow;

use plan::statement::{AddedKey, Check, ForeignKey, ObjectName, Statement, TableOptions, UniqueKey};
use plan::{ColumnId, LogicalPlan, LogicalQuery};
use syntax::tree::walk::{Node, walk};
use syntax::tree::{
    ColumnClause, ColumnClauseKind, ColumnDef, Constraint, ConstraintKind, CreateTable, Expr as Ast,
    ExprKind as AstKind, Name as Written, PartitionBy, ReferenceAction, References, SequenceOption,
    SetOption, TableElement, Timing, TypeName,
};
use types::quote;
use types::{Error, Field, ReferentialAction, Result, SqlState, Type};

use super::clauses::{refuse_timing, told};
use super::{Context, refused, sequence};
use crate::RelationInfo;
use crate::bind::expression::collations;
use crate::bind::{folded, place_of};
use crate::data_type::{self, Limit};
use crate::names::Name;
use crate::place::Placed;

/// Columns of a table. Blocks keep an extent and statistics for each, so that many more would be mostly headers.
pub const COLUMNS_MAX: usize = 10_000;

/// Clauses that other systems have behind the bracket, which are read among the options.
const CLAUSES: [&str; 5] = ["tablespace", "using", "inherits", "partitioned", "sorted"];

/// The first name that has been there before.
fn repeated<'n>(names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let mut seen = HashSet::new();
    let mut names = names;
    names.find(|name| !seen.insert(*name))
}

/// What a column of type `INTEGER[3]` asks of its lists.
fn length_check(table: &str, column: &str, length: u64) -> Check {
    let text = format!("len({}) = {length}", quote::name(column));
    let name = Some(format!("{table}_{column}_length"));
    Check { name, text, columns: vec![column.to_owned()] }
}

fn check_width(columns: usize) -> Result<()> {
    if columns <= COLUMNS_MAX {
        return Ok(());
    }
    let message = format!("a table has at most {COLUMNS_MAX} columns, not {columns}");
    Err(Error::new(SqlState::StatementTooComplex, message))
}

/// What stands in the brackets of CREATE TABLE, and the comments of columns that are like those of another table.
struct Elements<'a> {
    columns: Vec<&'a ColumnDef>,
    constraints: Vec<&'a Constraint>,
    comments: Vec<(String, String)>,
}

impl<'a> Context<'a> {
    /// CREATE TABLE, with columns or AS a query.
    pub(super) fn create_table(&self, create: &'a CreateTable) -> Result<Statement> {
        let CreateTable {
            if_there,
            temporary,
            unlogged,
            name,
            elements,
            names,
            partition,
            options: given,
            on_commit,
            query,
            with_data,
            span: _,
        } = create;
        let clauses = [(*unlogged, "UNLOGGED"), (on_commit.is_some(), "ON COMMIT")];
        if let Some((_, clause)) = clauses.iter().find(|(there, _)| *there) {
            return Err(refused("CREATE TABLE", clause));
        }
        refuse_options(given)?;
        let Elements { columns, constraints, comments } = self.elements(elements)?;
        if let Some(partition) = partition {
            self.partition_column(partition)?;
        }
        let (name, _) = self.object_name(name)?;
        let options = TableOptions {
            with: self.option_values(given)?,
            temporary: *temporary,
            if_exists: super::if_exists(*if_there),
            comments,
            ..TableOptions::default()
        };
        let Some(statement) = query else {
            return self.create_with(name, (&columns, &constraints), options, partition.as_ref());
        };
        if !constraints.is_empty() || columns.iter().any(|c| !c.clauses.is_empty()) {
            return Err(Error::unsupported("constraints in CREATE TABLE AS are not supported")
                .with_hint("create the table first, then INSERT INTO it"));
        }
        if let Some(column) = columns.first() {
            let error = Error::new(SqlState::SyntaxError, "CREATE TABLE AS takes column names without types")
                .with_hint("the query's columns have types already; cast them there");
            return Err(self.at(error, column.name.span));
        }
        let planned = self.made_of(statement)?;
        let mut made = self.create_as(name, names, planned, options, partition.as_ref())?;
        if let (Some(false), Statement::CreateTableAs { query, .. }) = (with_data, &mut made) {
            let input = std::mem::replace(&mut query.plan, LogicalPlan::placeholder());
            query.plan = LogicalPlan::Limit { input: Box::new(input), offset: 0, count: Some(0) };
        }
        Ok(made)
    }

    /// Columns and constraints, once what none has here has been refused.
    fn elements(&self, elements: &'a [TableElement]) -> Result<Elements<'a>> {
        let (mut columns, mut constraints, mut comments) = (vec![], vec![], vec![]);
        for element in elements {
            match element {
                TableElement::Column(column) => {
                    self.refuse_column(column)?;
                    columns.push(column);
                }
                TableElement::Constraint(constraint) if constraint.not_valid => {
                    return Err(refused("CREATE TABLE", "NOT VALID"));
                }
                TableElement::Constraint(constraint) => {
                    self.refuse_constraint(constraint)?;
                    constraints.push(constraint);
                }
                TableElement::Like(table, parts) => {
                    let like = self.like(table, parts)?;
                    for element in like.elements {
                        match element {
                            TableElement::Column(column) => columns.push(column),
                            TableElement::Constraint(constraint) => constraints.push(constraint),
                            TableElement::Like(..) => {}
                        }
                    }
                    comments.extend(like.comments);
                }
            }
        }
        Ok(Elements { columns, constraints, comments })
    }

    /// A table of the rows of a query.
    pub(super) fn create_as(
        &self,
        name: ObjectName,
        names: &[Written],
        mut query: LogicalQuery,
        mut options: TableOptions,
        partition: Option<&PartitionBy>,
    ) -> Result<Statement> {
        if let Some(extra) = names.get(query.output.len()) {
            return Err(self.wrong("CREATE TABLE AS has more column names than columns", extra.span));
        }
        for (name, (_, heading)) in names.iter().zip(&mut query.output) {
            *heading = folded(name);
        }
        check_width(query.output.len())?;
        if let Some(name) = repeated(query.output.iter().map(|(_, name)| name.as_str())) {
            return Err(duplicate(name).with_hint("give one of them an alias"));
        }
        let field = |(id, heading): &(ColumnId, String)| Field::new(heading, query.columns.get(*id).ty, true);
        let fields: Vec<Field> = query.output.iter().map(field).collect();
        options.partitioning = self.partitioning(partition, &fields)?;
        Ok(Statement::CreateTableAs { name, query, options })
    }

    /// A table of columns and constraints.
    fn create_with(
        &self,
        name: ObjectName,
        (written, constraints): (&[&'a ColumnDef], &[&'a Constraint]),
        mut options: TableOptions,
        partition: Option<&PartitionBy>,
    ) -> Result<Statement> {
        if written.is_empty() {
            return Err(Error::unsupported("a table needs at least one column"));
        }
        check_width(written.len())?;
        let mut columns: Vec<Field> = Vec::with_capacity(written.len());
        let mut seen = HashSet::with_capacity(written.len());
        for column in written {
            let field = self.column(column, &mut options)?;
            if !seen.insert(field.name.clone()) {
                return Err(self.at(duplicate(&field.name), column.name.span));
            }
            columns.push(field);
        }
        for constraint in constraints {
            self.constraint(constraint, &columns, &mut options)?;
        }
        for (at, identity) in options.identities.iter().enumerate() {
            let column = &identity.column;
            let defaults = options.defaults.iter().any(|(name, _)| name == column);
            if defaults || options.identities[..at].iter().any(|other| other.column == *column) {
                let message = format!("multiple default values specified for column \"{column}\"");
                return Err(Error::new(SqlState::SyntaxError, message));
            }
        }
        self.check_keys(&mut columns, &options)?;
        self.check_generated(&name.name, written, &mut columns, &mut options)?;
        options.partitioning = self.partitioning(partition, &columns)?;
        let table = name.name.as_str();
        for column in written {
            if let Some((_, Some(Limit::Length(length)))) = column.ty.as_ref().map(data_type::limited) {
                options.checks.push(length_check(table, &folded(&column.name), length));
            }
            for clause in &column.clauses {
                if let ColumnClauseKind::Check(condition) = &clause.kind {
                    options.checks.push(self.check(table, &columns, clause.name.as_ref(), condition)?);
                }
            }
        }
        for constraint in constraints {
            if let ConstraintKind::Check(condition, _) = &constraint.kind {
                options.checks.push(self.check(table, &columns, constraint.name.as_ref(), condition)?);
            }
        }
        Ok(Statement::CreateTable { name, columns, options })
    }

    /// The type that a column is written with, without a list's length, which is kept by a CHECK once all columns are
    /// there.
    fn declared(&self, name: &Written, ty: &TypeName) -> Result<Type> {
        let (plain, limit) = data_type::limited(ty);
        let declared = if matches!(limit, Some(Limit::Length(_))) { plain.as_ref() } else { ty };
        data_type::column_type(self.text, declared, self.relations).placed(self.text, name.span)
    }

    /// The type of a column with the collation that it is declared with.
    fn collated(&self, column: &ColumnDef, ty: Type) -> Result<Type> {
        let clauses = column.clauses.iter();
        let found = clauses.filter_map(|clause| match &clause.kind {
            ColumnClauseKind::Collate(path) => Some(path),
            _ => None,
        });
        let mut ty = ty;
        for path in found {
            let is_generated =
                |clause: &ColumnClause| matches!(clause.kind, ColumnClauseKind::Generated { .. });
            let collation = collations::named(path).placed(self.text, path.span())?;
            if column.clauses.iter().any(is_generated) && !collation.is_binary() {
                let message = "COLLATE of a generated column";
                return Err(self.unsupported(message, column.name.span));
            }
            ty = collations::declared(ty, collation).placed(self.text, path.span())?;
        }
        Ok(ty)
    }

    /// A column's field; its constraints and defaults are added to `options`.
    pub(super) fn column(&self, column: &'a ColumnDef, options: &mut TableOptions) -> Result<Field> {
        let name = folded(&column.name);
        let serial = column.ty.as_ref().and_then(sequence::serial);
        let ty = match (serial, &column.ty) {
            (Some(ty), _) => ty,
            (None, Some(ty)) => self.declared(&column.name, ty)?,
            // That of the expression is known when all columns are.
            (None, None) => Type::Null,
        };
        let ty = self.collated(column, ty)?;
        let mut nullable = serial.is_none();
        if serial.is_some() {
            options.identities.push(sequence::identity(&name, ty, &[], false)?);
        }
        let identity = |given: &[SequenceOption], always: bool| {
            sequence::identity(&name, ty, given, always).placed(self.text, column.name.span)
        };
        for clause in &column.clauses {
            let ColumnClause { name: constraint, kind, span: _ } = clause;
            let constraint = constraint.as_ref().map(folded);
            match kind {
                ColumnClauseKind::Null => {}
                ColumnClauseKind::NotNull => nullable = false,
                ColumnClauseKind::PrimaryKey(timing) => {
                    refuse_timing(*timing)?;
                    options.primary_key_name = constraint;
                    if options.primary_key.is_some() {
                        return Err(self.at(two_primary_keys(), column.name.span));
                    }
                    options.primary_key = Some(vec![name.clone()]);
                    nullable = false;
                }
                ColumnClauseKind::Unique { nulls_distinct, timing } => {
                    refuse_timing(*timing)?;
                    let nulls_equal = *nulls_distinct == Some(false);
                    let columns = vec![name.clone()];
                    options.unique.push(UniqueKey { name: constraint, columns, nulls_equal });
                }
                ColumnClauseKind::References(references) => {
                    let columns = vec![name.clone()];
                    let key = self.foreign_key(constraint, references, references.timing, columns, &[])?;
                    options.foreign_keys.push(key);
                }
                ColumnClauseKind::Default(value) => {
                    let field = Field::new(&name, ty, true);
                    options.defaults.push((name.clone(), self.default_text(value, &field)?));
                }
                // All columns have to be there first.
                ColumnClauseKind::Check(_) => {}
                // Values of generated columns are kept, STORED or VIRTUAL; the text is known when all columns are
                // there.
                ColumnClauseKind::Generated { value: _, stored: _ } => {
                    options.generated.push((name.clone(), String::new()));
                }
                ColumnClauseKind::Identity { always, options: given } => {
                    nullable = false;
                    options.identities.push(identity(given, *always)?);
                }
                ColumnClauseKind::AutoIncrement => {
                    nullable = false;
                    options.identities.push(identity(&[], false)?);
                }
                // It is a part of the type.
                ColumnClauseKind::Collate(_) => {}
                ColumnClauseKind::Compression(_) | ColumnClauseKind::Comment(_) => {
                    return Err(self.unsupported(told(clause, self.text), column.name.span));
                }
            }
        }
        Ok(Field::new(name, ty, nullable))
    }

    /// The text of a default that can be evaluated, whenever it is wanted.
    pub(super) fn default_text(&self, value: &Ast, field: &Field) -> Result<String> {
        let text = value.to_string();
        self.binder().default_value(&text, field, place_of(value))?;
        Ok(text)
    }

    fn foreign_key(
        &self,
        name: Option<String>,
        references: &References,
        timing: Timing,
        columns: Vec<String>,
        own: &[Field],
    ) -> Result<ForeignKey> {
        let References { table, columns: referred, matching, on_delete, on_update, timing: _ } = references;
        let action = |action: &Option<ReferenceAction>| match action {
            None | Some(ReferenceAction::NoAction) => ReferentialAction::NoAction,
            Some(ReferenceAction::Restrict) => ReferentialAction::Restrict,
            Some(ReferenceAction::Cascade) => ReferentialAction::Cascade,
            Some(ReferenceAction::SetNull(_)) => ReferentialAction::SetNull,
            Some(ReferenceAction::SetDefault(_)) => ReferentialAction::SetDefault,
        };
        refuse_timing(timing)?;
        let is = |wanted: &str| matching.as_ref().is_some_and(|word| word.text.eq_ignore_ascii_case(wanted));
        if is("partial") {
            return Err(Error::unsupported("MATCH PARTIAL is not supported")
                .with_hint("MATCH SIMPLE and MATCH FULL are")
                .at(crate::place::START));
        }
        let full = is("full");
        let (on_delete, on_update) = (action(on_delete), action(on_update));
        let (parent, _) = self.existing_name(table)?;
        // A table that refers to itself is not there yet.
        let known = self.relations.table(parent.schema.as_deref(), &parent.name).ok().flatten();
        let known = known.as_ref().map_or(own, |info| info.columns.fields());
        let parent_columns = referred.iter().map(|name| spelled(known, name)).collect::<Result<Vec<_>>>()?;
        if !parent_columns.is_empty() && parent_columns.len() != columns.len() {
            return Err(Error::new(
                SqlState::SyntaxError,
                "number of referencing and referenced columns for foreign key disagree",
            ));
        }
        Ok(ForeignKey { name, columns, parent, parent_columns, on_delete, on_update, full })
    }

    fn constraint(
        &self,
        constraint: &Constraint,
        columns: &[Field],
        options: &mut TableOptions,
    ) -> Result<()> {
        let Constraint { name, kind, timing, not_valid: _, span: _ } = constraint;
        let name = name.as_ref().map(folded);
        let all = |names: &[Written]| {
            names.iter().map(|name| spelled(columns, name)).collect::<Result<Vec<String>>>()
        };
        match kind {
            ConstraintKind::PrimaryKey(names) => {
                refuse_timing(*timing)?;
                options.primary_key_name = name;
                if options.primary_key.is_some() {
                    return Err(two_primary_keys());
                }
                options.primary_key = Some(all(names)?);
            }
            ConstraintKind::Unique { nulls_distinct, columns: names } => {
                let columns = all(names)?;
                refuse_timing(*timing)?;
                let nulls_equal = *nulls_distinct == Some(false);
                options.unique.push(UniqueKey { name, columns, nulls_equal });
            }
            ConstraintKind::ForeignKey(names, references) => {
                let key = self.foreign_key(name, references, *timing, all(names)?, columns)?;
                options.foreign_keys.push(key);
            }
            // Its columns' types have to be known first.
            ConstraintKind::Check(..) => {}
        }
        Ok(())
    }

    /// ADD CONSTRAINT: the key and its name.
    pub(super) fn added_key(
        &self,
        constraint: &'a Constraint,
        info: &RelationInfo,
    ) -> Result<(Option<String>, AddedKey)> {
        if let ConstraintKind::Check(condition, _) = &constraint.kind {
            let fields = info.columns.fields();
            let check = self.check(&info.name, fields, constraint.name.as_ref(), condition)?;
            return Ok((check.name.clone(), AddedKey::Check(check)));
        }
        let mut options = TableOptions::default();
        self.constraint(constraint, info.columns.fields(), &mut options)?;
        let key = match (options.primary_key, options.unique.pop(), options.foreign_keys.pop()) {
            (Some(columns), ..) => AddedKey::Primary(columns),
            (_, Some(columns), _) => AddedKey::Unique(columns),
            (_, _, Some(key)) => AddedKey::Foreign(key),
            _ => return Err(Error::unsupported("this table constraint is not supported")),
        };
        if let AddedKey::Foreign(key) = &key {
            self.check_added_key(info, key)?;
        }
        Ok((constraint.name.as_ref().map(folded), key))
    }

    /// CHECK (condition) over the columns of a table.
    fn check(
        &self,
        table: &str,
        columns: &[Field],
        name: Option<&Written>,
        condition: &Ast,
    ) -> Result<Check> {
        let text = without_table(table, columns, condition);
        let bound = self.binder().check_condition(table, columns, &text, place_of(condition))?;
        let used = (0..columns.len()).filter(|at| bound.columns().contains(&ColumnId(*at as u32)));
        let columns = used.map(|at| columns[at].name.clone()).collect();
        Ok(Check { name: name.map(folded), text, columns })
    }

    /// Keys name existing columns, each once; a primary key's are NOT NULL.
    fn check_keys(&self, columns: &mut [Field], options: &TableOptions) -> Result<()> {
        let lists = options
            .primary_key
            .iter()
            .chain(options.unique.iter().map(|k| &k.columns))
            .chain(options.foreign_keys.iter().map(|k| &k.columns));
        for list in lists {
            for (at, name) in list.iter().enumerate() {
                if !columns.iter().any(|f| f.name == *name) {
                    return Err(Error::new(
                        SqlState::UndefinedColumn,
                        format!("column \"{name}\" named in key does not exist"),
                    ));
                }
                if list[..at].contains(name) {
                    return Err(Error::new(
                        SqlState::DuplicateColumn,
                        format!("column \"{name}\" appears twice in a key"),
                    ));
                }
            }
        }
        for name in options.primary_key.iter().flatten() {
            for field in columns.iter_mut().filter(|f| f.name == *name) {
                field.nullable = false;
            }
        }
        Ok(())
    }
}

fn refuse_options(options: &[SetOption]) -> Result<()> {
    let other = options.iter().find(|option| {
        let name = option.name.text.to_lowercase();
        CLAUSES.contains(&name.as_str()) || name.starts_with("without ")
    });
    match other {
        Some(option) => Err(refused("CREATE TABLE", &option.name.text.to_uppercase())),
        None => Ok(()),
    }
}

/// The text of an expression over a table's columns, which do not name the table: it may get another name.
pub(super) fn without_table(table: &str, columns: &[Field], expression: &Ast) -> String {
    let text = expression.to_string();
    let Ok(read) = syntax::parse_expr(&text) else { return text };
    let mut cuts: Vec<(usize, usize)> = Vec::new();
    let _: ControlFlow<()> = walk([Node::Expr(&read)], &mut |node| {
        if let Node::Expr(Ast { kind: AstKind::Column(path), span }) = node {
            let names = path.names.as_slice();
            let named = names.iter().position(|name| folded(name) == table).filter(|at| *at < 2);
            if let Some(column) = named.and_then(|at| names.get(at + 1))
                && columns.iter().any(|field| field.name == folded(column))
            {
                cuts.push((span.start as usize, column.span.start as usize));
            }
        }
        ControlFlow::Continue(())
    });
    cuts.sort_unstable();
    let mut kept = String::with_capacity(text.len());
    let mut from = 0;
    for (start, end) in cuts {
        kept.push_str(text.get(from..start).unwrap_or_default());
        from = end;
    }
    kept.push_str(text.get(from..).unwrap_or_default());
    kept
}

/// A column's name as the table spells it; as it was written where the table has none like it.
pub(super) fn spelled(columns: &[Field], name: &Written) -> Result<String> {
    let name = Name::of(name);
    let at = name.position(columns.iter().map(|f| f.name.as_str()), "column")?;
    Ok(at.map_or(name.text, |at| columns[at].name.clone()))
}

fn duplicate(name: &str) -> Error {
    Error::new(SqlState::DuplicateColumn, format!("column \"{name}\" specified more than once"))
}

fn two_primary_keys() -> Error {
    Error::new(SqlState::SyntaxError, "multiple primary keys for a table are not allowed")
}
