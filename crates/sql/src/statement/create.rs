//! CREATE TABLE and CREATE TABLE AS.
//!
//! Columns, keys, checks and foreign keys are gathered in `TableOptions`; names in them must exist, each once.
//! Defaults, CHECKs and generated columns are kept as texts and bound here once, so that a fault is an error of
//! CREATE TABLE. Clauses that the engine does not keep are refused, not ignored. `alter` uses `column`, `check` and
//! `added_key` for what it adds.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::ControlFlow;

use plan::ColumnId;
use plan::statement::{
    AddedKey, Check, ForeignKey, IfExists, PartitionKind, Partitioning, Statement, TableOptions, UniqueKey,
};
use sqlparser::ast::{
    ColumnDef, ColumnOption, ConstraintCharacteristics, ConstraintReferenceMatchKind, CreateTable,
    CreateTableOptions, DeferrableInitial, Expr as Ast, ForeignKeyConstraint, GeneratedAs, Ident,
    IndexColumn, KeyOrIndexDisplay, NullsDistinctOption, PrimaryKeyConstraint, Spanned, SqlOption,
    TableConstraint, UniqueConstraint, visit_expressions_mut,
};
use types::{Error, Field, ReferentialAction, Result, SqlState, Type};

use super::{Context, word};
use crate::RelationInfo;
use crate::asides::PartitionKind as Clause;
use crate::bind::folded;
use crate::data_type::{self, Limit};
use crate::names::Name;
use crate::place::Placed;

/// Columns of a table. Blocks keep an extent and statistics for each, so that many more would be mostly headers.
pub const COLUMNS_MAX: usize = 10_000;

/// The first name that has been there before.
fn repeated<'n>(names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let mut seen = HashSet::new();
    let mut names = names;
    names.find(|name| !seen.insert(*name))
}

/// What a column of type `INTEGER[3]` asks of its lists.
fn length_check(table: &str, column: &str, length: u64) -> Check {
    let text = format!("len({}) = {length}", Ident::with_quote('"', column));
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

impl Context<'_> {
    /// CREATE TABLE, with columns or AS a query.
    pub(super) fn create_table(&self, create: &CreateTable) -> Result<Statement> {
        let (name, _) = self.object_name(&create.name)?;
        let mut options = TableOptions {
            with: self.table_options(&create.table_options)?,
            temporary: create.temporary,
            if_exists: match (create.or_replace, create.if_not_exists) {
                (true, true) => {
                    return Err(Error::new(
                        SqlState::SyntaxError,
                        "OR REPLACE and IF NOT EXISTS exclude each other",
                    ));
                }
                (true, false) => IfExists::Replace,
                (false, true) => IfExists::Keep,
                (false, false) => IfExists::Error,
            },
            ..TableOptions::default()
        };
        if let Some(query) = &create.query {
            if !create.constraints.is_empty() || create.columns.iter().any(|c| !c.options.is_empty()) {
                return Err(Error::unsupported("constraints in CREATE TABLE AS are not supported")
                    .with_hint("create the table first, then INSERT INTO it"));
            }
            if let Some(column) = create.columns.first() {
                let error =
                    Error::new(SqlState::SyntaxError, "CREATE TABLE AS takes column names without types")
                        .with_hint("the query's columns have types already; cast them there");
                return Err(self.at(error, column.name.span));
            }
            let mut query = self.top_query(query)?;
            if let Some(extra) = self.column_names.get(query.output.len()) {
                let error =
                    Error::new(SqlState::SyntaxError, "CREATE TABLE AS has more column names than columns");
                return Err(self.at(error, extra.span));
            }
            for (name, (_, heading)) in self.column_names.iter().zip(&mut query.output) {
                *heading = folded(name);
            }
            check_width(query.output.len())?;
            if let Some(name) = repeated(query.output.iter().map(|(_, name)| name.as_str())) {
                return Err(duplicate(name).with_hint("give one of them an alias"));
            }
            let fields: Vec<Field> = query
                .output
                .iter()
                .map(|(id, heading)| Field::new(heading, query.columns.get(*id).ty, true))
                .collect();
            options.partitioning = self.partitioning(&fields)?;
            return Ok(Statement::CreateTableAs { name, query, options });
        }
        if create.columns.is_empty() {
            return Err(Error::unsupported("a table needs at least one column"));
        }
        check_width(create.columns.len())?;
        let mut columns: Vec<Field> = Vec::with_capacity(create.columns.len());
        let mut seen = HashSet::with_capacity(create.columns.len());
        for column in &create.columns {
            let field = self.column(column, &mut options)?;
            if !seen.insert(field.name.clone()) {
                return Err(self.at(duplicate(&field.name), column.name.span));
            }
            columns.push(field);
        }
        for constraint in &create.constraints {
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
        self.check_generated(&name.name, create, &mut columns, &mut options)?;
        options.partitioning = self.partitioning(&columns)?;
        let table = name.name.as_str();
        for column in &create.columns {
            if let (_, Some(Limit::Length(length))) = data_type::limited(&column.data_type) {
                options.checks.push(length_check(table, &folded(&column.name), length));
            }
            for option in &column.options {
                if let ColumnOption::Check(check) = &option.option {
                    let name = option.name.as_ref().or(check.name.as_ref());
                    options.checks.push(self.check(table, &columns, name, &check.expr)?);
                }
            }
        }
        for constraint in &create.constraints {
            if let TableConstraint::Check(check) = constraint {
                options.checks.push(self.check(table, &columns, check.name.as_ref(), &check.expr)?);
            }
        }
        Ok(Statement::CreateTable { name, columns, options })
    }

    /// PARTITION BY, its values as those of its column.
    fn partitioning(&self, columns: &[Field]) -> Result<Option<Partitioning>> {
        let Some(clause) = &self.parsed.partitioning else { return Ok(None) };
        let column = spelled(columns, &clause.column)?;
        let Some(field) = columns.iter().find(|f| f.name == column) else {
            let message = format!("column \"{column}\" named in partition key does not exist");
            return Err(self.at(Error::new(SqlState::UndefinedColumn, message), clause.column.span));
        };
        let kind = match &clause.kind {
            Clause::Hash(digits) => PartitionKind::Hash { count: digits.parse().unwrap_or(u64::MAX) },
            Clause::Range(partitions) => {
                let bound = |(name, text): &(Ident, Option<String>)| {
                    let Some(text) = text else { return Ok((folded(name), None)) };
                    let value = self.binder().default_value(text, field, name.span)?;
                    match value.as_literal() {
                        Some(value) if !value.is_null() => Ok((folded(name), Some(value.clone()))),
                        _ => {
                            let message =
                                format!("the bound of partition \"{}\" is not a constant", name.value);
                            Err(self.at(Error::new(SqlState::InvalidTableDefinition, message), name.span))
                        }
                    }
                };
                PartitionKind::Range(partitions.iter().map(bound).collect::<Result<_>>()?)
            }
        };
        Ok(Some(Partitioning { column, kind }))
    }

    fn table_options(&self, options: &CreateTableOptions) -> Result<Vec<(String, String)>> {
        let list = match options {
            CreateTableOptions::None => return Ok(vec![]),
            CreateTableOptions::With(list) => list,
            _ => return Err(Error::unsupported("table options are written WITH (name = value)")),
        };
        self.option_values(list)
    }

    /// `name = value` in brackets.
    pub(super) fn option_values(&self, list: &[SqlOption]) -> Result<Vec<(String, String)>> {
        let mut out = Vec::with_capacity(list.len());
        for option in list {
            let SqlOption::KeyValue { key, value } = option else {
                return Err(Error::new(SqlState::SyntaxError, format!("table option {option} has no value")));
            };
            out.push((folded(key), word(value).placed(self.text, key.span)?));
        }
        Ok(out)
    }

    /// A column's field; its constraints and defaults are added to `options`.
    pub(super) fn column(&self, column: &ColumnDef, options: &mut TableOptions) -> Result<Field> {
        let name = folded(&column.name);
        let serial = super::sequence::serial(&column.data_type);
        // A list's length is kept by a CHECK, which is made when all columns are there.
        let declared = match data_type::limited(&column.data_type) {
            (plain, Some(Limit::Length(_))) => plain,
            _ => Cow::Borrowed(&column.data_type),
        };
        let ty = match serial {
            Some(ty) => ty,
            // It is known when all columns are.
            None if is_of_expression(column) => Type::Null,
            None => data_type::column_type(&declared, self.relations).placed(self.text, column.name.span)?,
        };
        let mut nullable = serial.is_none();
        if serial.is_some() {
            options.identities.push(super::sequence::identity(&name, ty, None, false)?);
        }
        for option in &column.options {
            let refuse = |what: &str| {
                let error = Error::unsupported(format!("{what} is not supported"));
                Err(self.at(error, column.name.span))
            };
            match &option.option {
                ColumnOption::Null => {}
                ColumnOption::NotNull => nullable = false,
                ColumnOption::PrimaryKey(key) => {
                    refuse_unread_primary(key)?;
                    options.primary_key_name = option.name.as_ref().or(key.name.as_ref()).map(folded);
                    if options.primary_key.is_some() {
                        return Err(self.at(two_primary_keys(), column.name.span));
                    }
                    options.primary_key = Some(vec![name.clone()]);
                    nullable = false;
                }
                ColumnOption::Unique(key) => options.unique.push(UniqueKey {
                    name: option.name.as_ref().or(key.name.as_ref()).map(folded),
                    columns: vec![name.clone()],
                    nulls_equal: nulls_equal(key)?,
                }),
                ColumnOption::ForeignKey(key) => {
                    let mut key = self.foreign_key(key, vec![name.clone()], &[])?;
                    key.name = key.name.or(option.name.as_ref().map(folded));
                    options.foreign_keys.push(key);
                }
                ColumnOption::Default(value) => {
                    let field = Field::new(&name, ty, true);
                    options.defaults.push((name.clone(), self.default_text(value, &field)?));
                }
                ColumnOption::Generated { generated_as, sequence_options, generation_expr: None, .. } => {
                    let always = matches!(generated_as, GeneratedAs::Always);
                    let given = sequence_options.as_deref();
                    nullable = false;
                    let identity = super::sequence::identity(&name, ty, given, always);
                    options.identities.push(identity.placed(self.text, column.name.span)?);
                }
                // All columns have to be there first.
                ColumnOption::Check(_) => {}
                // Its text is known when all columns are there.
                ColumnOption::Generated { generation_expr: Some(_), .. } => {
                    options.generated.push((name.clone(), String::new()));
                }
                ColumnOption::Identity(_) => return refuse("an identity column of this form"),
                ColumnOption::Collation(name)
                    if name.to_string().trim_matches('"').eq_ignore_ascii_case("c") => {}
                other => return refuse(&other.to_string()),
            }
        }
        Ok(Field::new(name, ty, nullable))
    }

    /// The text of a default that can be evaluated, whenever it is wanted.
    pub(super) fn default_text(&self, value: &Ast, field: &Field) -> Result<String> {
        let text = value.to_string();
        self.binder().default_value(&text, field, value.span())?;
        Ok(text)
    }

    fn foreign_key(
        &self,
        key: &ForeignKeyConstraint,
        columns: Vec<String>,
        own: &[Field],
    ) -> Result<ForeignKey> {
        use sqlparser::ast::ReferentialAction as R;
        let action = |action: Option<R>| match action {
            None | Some(R::NoAction) => ReferentialAction::NoAction,
            Some(R::Restrict) => ReferentialAction::Restrict,
            Some(R::Cascade) => ReferentialAction::Cascade,
            Some(R::SetNull) => ReferentialAction::SetNull,
            Some(R::SetDefault) => ReferentialAction::SetDefault,
        };
        let ForeignKeyConstraint {
            name,
            index_name,
            columns: _,
            foreign_table: _,
            referred_columns: _,
            on_delete,
            on_update,
            match_kind,
            characteristics,
        } = key;
        refuse_characteristics(characteristics.as_ref())?;
        if index_name.is_some() {
            return Err(Error::unsupported("a foreign key has no index of a name").at(crate::place::START));
        }
        let full = match match_kind {
            None | Some(ConstraintReferenceMatchKind::Simple) => false,
            Some(ConstraintReferenceMatchKind::Full) => true,
            Some(ConstraintReferenceMatchKind::Partial) => {
                return Err(Error::unsupported("MATCH PARTIAL is not supported")
                    .with_hint("MATCH SIMPLE and MATCH FULL are")
                    .at(crate::place::START));
            }
        };
        let name = name.as_ref().map(folded);
        let (on_delete, on_update) = (action(*on_delete), action(*on_update));
        let (parent, _) = self.existing_name(&key.foreign_table)?;
        // A table that refers to itself is not there yet.
        let known = self.relations.table(parent.schema.as_deref(), &parent.name).ok().flatten();
        let known = known.as_ref().map_or(own, |info| info.columns.fields());
        let parent_columns: Result<Vec<String>> =
            key.referred_columns.iter().map(|name| spelled(known, name)).collect();
        let parent_columns = parent_columns?;
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
        constraint: &TableConstraint,
        columns: &[Field],
        options: &mut TableOptions,
    ) -> Result<()> {
        match constraint {
            TableConstraint::PrimaryKey(key) => {
                refuse_unread_primary(key)?;
                options.primary_key_name = key.name.as_ref().map(folded);
                if options.primary_key.is_some() {
                    return Err(two_primary_keys());
                }
                options.primary_key = Some(key_columns(columns, &key.columns)?);
            }
            TableConstraint::Unique(key) => {
                options.unique.push(UniqueKey {
                    name: key.name.as_ref().map(folded),
                    columns: key_columns(columns, &key.columns)?,
                    nulls_equal: nulls_equal(key)?,
                });
            }
            TableConstraint::ForeignKey(key) => {
                let keyed: Result<_> = key.columns.iter().map(|name| spelled(columns, name)).collect();
                let key = self.foreign_key(key, keyed?, columns)?;
                options.foreign_keys.push(key);
            }
            // Its columns' types have to be known first.
            TableConstraint::Check(_) => {}
            _ => return Err(Error::unsupported("this table constraint is not supported")),
        }
        Ok(())
    }

    /// ADD CONSTRAINT: the key and its name.
    pub(super) fn added_key(
        &self,
        constraint: &TableConstraint,
        info: &RelationInfo,
    ) -> Result<(Option<String>, AddedKey)> {
        if let TableConstraint::Check(check) = constraint {
            let check = self.check(&info.name, info.columns.fields(), check.name.as_ref(), &check.expr)?;
            return Ok((check.name.clone(), AddedKey::Check(check)));
        }
        let mut options = TableOptions::default();
        self.constraint(constraint, info.columns.fields(), &mut options)?;
        let name = match constraint {
            TableConstraint::PrimaryKey(key) => key.name.as_ref(),
            TableConstraint::Unique(key) => key.name.as_ref(),
            TableConstraint::ForeignKey(key) => key.name.as_ref(),
            _ => None,
        };
        let key = match (options.primary_key, options.unique.pop(), options.foreign_keys.pop()) {
            (Some(columns), ..) => AddedKey::Primary(columns),
            (_, Some(columns), _) => AddedKey::Unique(columns),
            (_, _, Some(key)) => AddedKey::Foreign(key),
            _ => return Err(Error::unsupported("this table constraint is not supported")),
        };
        if let AddedKey::Foreign(key) = &key {
            self.check_added_key(info, key)?;
        }
        Ok((name.map(folded), key))
    }

    /// CHECK (condition) over the columns of a table.
    fn check(&self, table: &str, columns: &[Field], name: Option<&Ident>, condition: &Ast) -> Result<Check> {
        let text = without_table(table, columns, condition);
        let bound = self.binder().check_condition(table, columns, &text, condition.span())?;
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

/// The text of an expression over a table's columns, which do not name the table: it may get another name.
pub(super) fn without_table(table: &str, columns: &[Field], expression: &Ast) -> String {
    let mut expression = expression.clone();
    let _ = visit_expressions_mut(&mut expression, |part: &mut Ast| {
        if let Ast::CompoundIdentifier(names) = part
            && let Some(at) = names.iter().position(|name| folded(name) == table)
            && at < 2
            && names.get(at + 1).is_some_and(|name| columns.iter().any(|field| field.name == folded(name)))
        {
            names.drain(..=at);
            if let [only] = names.as_slice() {
                *part = Ast::Identifier(only.clone());
            }
        }
        ControlFlow::<()>::Continue(())
    });
    expression.to_string()
}

/// A generated column that was written without a type.
fn is_of_expression(column: &ColumnDef) -> bool {
    let generated =
        |option: &ColumnOption| matches!(option, ColumnOption::Generated { generation_expr: Some(_), .. });
    column.data_type.to_string().contains(super::generated::TYPE_OF_EXPRESSION)
        && column.options.iter().any(|option| generated(&option.option))
}

/// A column's name as the table spells it; as it was written where the table has none like it.
pub(super) fn spelled(columns: &[Field], ident: &Ident) -> Result<String> {
    let name = Name::of(ident);
    let at = name.position(columns.iter().map(|f| f.name.as_str()), "column")?;
    Ok(at.map_or(name.text, |at| columns[at].name.clone()))
}

/// Constraints are checked at the end of each statement; what says otherwise is refused.
fn refuse_characteristics(said: Option<&ConstraintCharacteristics>) -> Result<()> {
    let Some(ConstraintCharacteristics { deferrable, initially, enforced }) = said else { return Ok(()) };
    let refused = match (deferrable, initially, enforced) {
        (Some(true), ..) => "DEFERRABLE",
        (_, Some(DeferrableInitial::Deferred), _) => "INITIALLY DEFERRED",
        (_, _, Some(false)) => "NOT ENFORCED",
        _ => return Ok(()),
    };
    Err(Error::unsupported(format!("{refused} constraints are not supported"))
        .with_hint("constraints are checked at the end of each statement: leave the word out")
        .at(crate::place::START))
}

fn refuse_unread_primary(key: &PrimaryKeyConstraint) -> Result<()> {
    let PrimaryKeyConstraint { name: _, index_name, index_type, columns: _, index_options, characteristics } =
        key;
    refuse_characteristics(characteristics.as_ref())?;
    refuse_index(index_name.is_some() || index_type.is_some() || !index_options.is_empty())
}

fn nulls_equal(key: &UniqueConstraint) -> Result<bool> {
    let UniqueConstraint {
        name: _,
        index_name,
        index_type_display,
        index_type,
        columns: _,
        index_options,
        characteristics,
        nulls_distinct,
    } = key;
    refuse_characteristics(characteristics.as_ref())?;
    let index = index_name.is_some() || index_type.is_some() || !index_options.is_empty();
    refuse_index(index || !matches!(index_type_display, KeyOrIndexDisplay::None))?;
    Ok(matches!(nulls_distinct, NullsDistinctOption::NotDistinct))
}

fn refuse_index(said: bool) -> Result<()> {
    match said {
        false => Ok(()),
        true => Err(Error::unsupported("a constraint has no index with a name, a kind or options")
            .with_hint("CREATE INDEX makes indices")
            .at(crate::place::START)),
    }
}

fn key_columns(columns: &[Field], key: &[IndexColumn]) -> Result<Vec<String>> {
    key.iter()
        .map(|c| match &c.column.expr {
            other
                if c.operator_class.is_some()
                    || c.column.options.asc.is_some()
                    || c.column.options.nulls_first.is_some() =>
            {
                let message = format!("the column {other} of a key has no order");
                Err(Error::new(SqlState::SyntaxError, message).at(crate::place::START))
            }
            Ast::Identifier(ident) => spelled(columns, ident),
            other => Err(Error::new(SqlState::SyntaxError, format!("{other} is not a column name"))),
        })
        .collect()
}

fn duplicate(name: &str) -> Error {
    Error::new(SqlState::DuplicateColumn, format!("column \"{name}\" specified more than once"))
}

fn two_primary_keys() -> Error {
    Error::new(SqlState::SyntaxError, "multiple primary keys for a table are not allowed")
}
