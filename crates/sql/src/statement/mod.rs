//! Statements: the syntax tree's to ours.
//!
//! `plan` builds a `Context` for one statement and dispatches by kind. Statements whose syntax `syntax::tree` has in
//! full are planned before, in `of_tree` (`own`), without the binder's tree. Clauses that no planner reads are
//! refused first (`refusals`), so that nothing is ignored silently. Queries go to `bind`; the other files resolve
//! names and options and return `plan::Statement`.

mod alter;
mod alter_fields;
mod attach;
mod create;
mod define;
mod function;
mod generated;
mod index;
mod load;
mod modify;
mod own;
mod refusals;
mod sequence;
mod session;
mod transaction;
mod user_type;

pub(crate) use generated::TYPE_OF_EXPRESSION;
use plan::statement::{ExplainFormat, IfExists, ObjectName, Statement};
use sqlparser::ast::{
    AnalyzeFormat, AnalyzeFormatKind, Expr as Ast, Ident, ObjectName as NameSyntax, ObjectType, SchemaName,
    Statement as Syntax, UtilityOption, Value as AstValue,
};
use sqlparser::tokenizer::Span;
use syntax::tree::IfThere;
use types::{Error, Result, SqlState, Type, Value};

use crate::asides::Parsed;
use crate::bind::modify::column_position;
use crate::bind::{Binder, folded};
use crate::names::Name;
use crate::texts::Texts;
use crate::{RelationInfo, Relations, place};

pub(crate) use alter_fields::JOINT;
pub use create::COLUMNS_MAX;
pub(crate) use own::{fault, kept, of_tree};

/// Plans one parsed statement.
pub(crate) fn plan(
    text: &str,
    parsed: &Parsed,
    relations: &dyn Relations,
    values: &[(Value, Type)],
) -> Result<Statement> {
    let texts = Texts::default();
    let context = Context {
        text,
        relations,
        column_names: &parsed.column_names,
        parsed,
        values,
        texts: &texts,
        copy_options: &parsed.copy_options,
        summarize: parsed.summarize,
        alter_view: parsed.alter_view,
    };
    context.plan(&parsed.statement)
}

/// What planning any statement needs.
struct Context<'a> {
    text: &'a str,
    relations: &'a dyn Relations,
    column_names: &'a [Ident],
    parsed: &'a Parsed,
    values: &'a [(Value, Type)],
    texts: &'a Texts,
    copy_options: &'a [(String, String)],
    summarize: bool,
    alter_view: bool,
}

impl Context<'_> {
    fn binder(&self) -> Binder<'_> {
        let mut binder = Binder::new(self.text, self.relations, self.texts).with_asides(self.parsed);
        binder.values = self.values;
        binder
    }

    fn plan(&self, syntax: &Syntax) -> Result<Statement> {
        refusals::refuse_unread(syntax)?;
        let mut binder = self.binder();
        if let Some(relation) = binder.inspect(syntax, self.summarize)? {
            return Ok(Statement::Query(binder.finish(relation)?));
        }
        if let Some(transaction) = self.transaction(syntax) {
            return transaction;
        }
        match syntax {
            Syntax::Query(query) => match self.modifying_query(query) {
                Some(statement) => statement,
                None => match self.changing_query(query) {
                    Some(statement) => statement,
                    None => Ok(Statement::Query(self.binder().query(query)?)),
                },
            },
            Syntax::CreateTable(create) => self.create_table(create),
            Syntax::CreateSchema { schema_name, if_not_exists, .. } => {
                let SchemaName::Simple(name) = schema_name else {
                    return Err(Error::unsupported("CREATE SCHEMA AUTHORIZATION is not supported"));
                };
                Ok(Statement::CreateSchema { name: self.schema_name(name)?, if_not_exists: *if_not_exists })
            }
            Syntax::Drop { object_type, if_exists, names, cascade, .. } => {
                self.drop(object_type, *if_exists, names, *cascade)
            }
            Syntax::AlterTable(alter) => self.alter_table(alter),
            Syntax::CreateIndex(create) => self.create_index(create),
            Syntax::Comment { object_type, object_name, comment, .. } => {
                self.comment(object_type, object_name, comment.as_deref())
            }
            Syntax::CreateView(view) => self.create_view(view),
            Syntax::Prepare { name, data_types, statement: _ } => self.prepare(name, data_types),
            Syntax::Execute { name, parameters, .. } => self.execute(name.as_ref(), parameters),
            Syntax::Deallocate { name, .. } => {
                Ok(Statement::Deallocate { name: Some(folded(name)).filter(|n| n != "all") })
            }
            Syntax::Insert(insert) => self.insert_with(insert, None),
            Syntax::Update(update) => self.update(update, None),
            Syntax::Delete(delete) => self.delete(delete, None),
            Syntax::Merge(merge) => self.merge(merge, None),
            Syntax::Truncate(truncate) => self.truncate(truncate),
            Syntax::Copy { source, to, target, options, legacy_options, .. } => {
                self.copy(source, *to, target, options, legacy_options)
            }
            Syntax::Explain { analyze, verbose: _, statement, format, options, .. } => {
                self.explain(*analyze, statement, format.as_ref(), options.as_deref().unwrap_or_default())
            }
            Syntax::Set(set) => self.set(set),
            Syntax::Reset(reset) => self.reset(reset),
            Syntax::ShowVariable { variable } => self.show(variable),
            Syntax::Call(call) => self.call(call),
            other => {
                let shown = other.to_string();
                let verb: Vec<&str> = shown.split_whitespace().take(2).collect();
                Err(Error::unsupported(format!("{} is not supported", verb.join(" "))).at(place::START))
            }
        }
    }

    /// The text that the statement keeps.
    fn kept(&self) -> Option<&str> {
        self.parsed.kept.map(|span| span.of(self.text))
    }

    fn at(&self, error: Error, span: Span) -> Error {
        place::at(error, self.text, span)
    }

    fn object_name(&self, name: &NameSyntax) -> Result<(ObjectName, Span)> {
        let idents: Vec<&Ident> = name.0.iter().filter_map(|p| p.as_ident()).collect();
        let span = Span::union_iter(idents.iter().map(|i| i.span));
        let names: Vec<Name> = idents.iter().map(|i| Name::of(i)).collect();
        let (schema, name) = self.binder().placed(&names).map_err(|e| self.at(e, span))?;
        Ok((ObjectName { schema: schema.map(|schema| schema.text), name: name.text }, span))
    }

    /// The schema that CREATE SCHEMA and DROP SCHEMA are about.
    fn schema_name(&self, name: &NameSyntax) -> Result<String> {
        let idents: Vec<&Ident> = name.0.iter().filter_map(|p| p.as_ident()).collect();
        let span = Span::union_iter(idents.iter().map(|i| i.span));
        let names: Vec<String> = idents.iter().map(|i| folded(i)).collect();
        let schema = match names.as_slice() {
            [name] => self.relations.schema_to_change(None, name),
            [database, name] => self.relations.schema_to_change(Some(database), name),
            _ => Err(Error::new(SqlState::SyntaxError, "a schema has at most a database and a name")),
        };
        schema.map_err(|e| self.at(e, span))
    }

    /// A name as it was written, a schema in front of it or none.
    fn written_name(&self, name: &NameSyntax) -> Result<(ObjectName, Span)> {
        let idents: Vec<&Ident> = name.0.iter().filter_map(|p| p.as_ident()).collect();
        let span = Span::union_iter(idents.iter().map(|i| i.span));
        let names: Vec<String> = idents.iter().map(|i| folded(i)).collect();
        match names.as_slice() {
            [name] => Ok((ObjectName { schema: None, name: name.clone() }, span)),
            [schema, name] => Ok((ObjectName { schema: Some(schema.clone()), name: name.clone() }, span)),
            _ => Err(self.at(Error::unsupported("a name has at most a schema and a name here"), span)),
        }
    }

    fn simple_name(&self, name: &NameSyntax) -> Result<String> {
        let (name, span) = self.written_name(name)?;
        match name.schema {
            None => Ok(name.name),
            Some(_) => Err(self.at(Error::new(SqlState::SyntaxError, "a simple name is expected"), span)),
        }
    }

    /// The name of something that exists, as that is spelled; the name as it was written where nothing is called so.
    fn existing_name(&self, name: &NameSyntax) -> Result<(ObjectName, Span)> {
        let (written, span) = self.object_name(name)?;
        let schema = written.schema.as_deref();
        let known = self.relations.view(schema, &written.name).is_some()
            || self.relations.names_in(schema).contains(&written.name);
        if known {
            return Ok((written, span));
        }
        let names: Vec<Name> = name.0.iter().filter_map(|p| p.as_ident()).map(Name::of).collect();
        let (schema, name) = self.binder().placed(&names).map_err(|e| self.at(e, span))?;
        let found = self.binder().respelled(schema.as_ref(), &name).map_err(|e| self.at(e, span))?;
        Ok((found.map_or(written, |(schema, name)| ObjectName { schema, name }), span))
    }

    /// An existing table.
    fn table(&self, name: &NameSyntax) -> Result<(ObjectName, RelationInfo)> {
        let (name, span) = self.existing_name(name)?;
        let found = self.relations.table(name.schema.as_deref(), &name.name).map_err(|e| self.at(e, span))?;
        match found {
            Some(info) => Ok((name, info)),
            None => {
                let unknown = self.binder().unknown_table(name.schema.as_deref(), &name.name);
                Err(self.at(unknown, span))
            }
        }
    }

    /// Positions of named columns in a table; all of them, in order, when none are named.
    fn columns(&self, info: &RelationInfo, names: &[&Ident]) -> Result<Vec<usize>> {
        if names.is_empty() {
            return Ok((0..info.columns.len()).collect());
        }
        let mut positions = Vec::with_capacity(names.len());
        for ident in names {
            let position = column_position(info, ident).map_err(|e| self.at(e, ident.span))?;
            let name = &info.columns.fields()[position].name;
            if positions.contains(&position) {
                let error = Error::new(
                    SqlState::DuplicateColumn,
                    format!("column \"{name}\" specified more than once"),
                );
                return Err(self.at(error, ident.span));
            }
            positions.push(position);
        }
        Ok(positions)
    }

    fn drop(
        &self,
        kind: &ObjectType,
        if_exists: bool,
        names: &[NameSyntax],
        cascade: bool,
    ) -> Result<Statement> {
        match kind {
            ObjectType::Table => {
                let names =
                    names.iter().map(|n| self.existing_name(n).map(|(n, _)| n)).collect::<Result<_>>()?;
                Ok(Statement::DropTable { names, if_exists, cascade })
            }
            ObjectType::View => self.drop_views(if_exists, names),
            ObjectType::Index => self.drop_indices(if_exists, names),
            ObjectType::Type => self.drop_types(names, if_exists, cascade),
            ObjectType::Schema => match names {
                [name] => Ok(Statement::DropSchema { name: self.schema_name(name)?, if_exists, cascade }),
                _ => Err(Error::unsupported("DROP SCHEMA takes one schema")),
            },
            other => Err(Error::unsupported(format!("DROP {other} is not supported")).at(place::START)),
        }
    }

    fn explain(
        &self,
        analyze: bool,
        statement: &Syntax,
        format: Option<&AnalyzeFormatKind>,
        options: &[UtilityOption],
    ) -> Result<Statement> {
        let mut analyze = analyze;
        let mut out = match format {
            None => ExplainFormat::Text,
            Some(AnalyzeFormatKind::Keyword(f) | AnalyzeFormatKind::Assignment(f)) => match f {
                AnalyzeFormat::TEXT => ExplainFormat::Text,
                AnalyzeFormat::JSON => ExplainFormat::Json,
                AnalyzeFormat::GRAPHVIZ => ExplainFormat::Dot,
                other => return Err(Error::unsupported(format!("EXPLAIN format {other} is not supported"))),
            },
        };
        for option in options {
            let value = option.arg.as_ref().map(word).transpose()?.unwrap_or_else(|| "true".into());
            match (folded(&option.name).as_str(), value.to_lowercase().as_str()) {
                ("analyze", v) => analyze = truth(v, option.name.span, self)?,
                ("format", name) => {
                    out = ExplainFormat::named(name).ok_or_else(|| {
                        let message = format!("unrecognized value for EXPLAIN option \"format\": \"{name}\"");
                        let error = Error::new(SqlState::InvalidParameterValue, message)
                            .with_hint("expected text, json, dot or html");
                        self.at(error, option.name.span)
                    })?;
                }
                ("verbose" | "costs" | "timing" | "buffers" | "summary", _) => {}
                (name, value) => {
                    let error = Error::new(
                        SqlState::SyntaxError,
                        format!("unrecognized EXPLAIN option {name} {value}"),
                    );
                    return Err(self.at(error, option.name.span));
                }
            }
        }
        if matches!(statement, Syntax::Explain { .. }) {
            return Err(Error::new(SqlState::SyntaxError, "EXPLAIN of EXPLAIN is not possible"));
        }
        let planned = self.plan(statement)?;
        match planned {
            Statement::Query(_)
            | Statement::ChangingQuery(_)
            | Statement::Insert { .. }
            | Statement::Modify(_)
            | Statement::CopyFrom { .. }
            | Statement::CopyTo { .. }
            | Statement::CreateTableAs { .. } => {
                Ok(Statement::Explain { analyze, format: out, statement: Box::new(planned) })
            }
            _ => Err(Error::new(SqlState::SyntaxError, "EXPLAIN needs a statement that has a plan")
                .at(place::START)),
        }
    }
}

fn if_exists(if_there: IfThere) -> IfExists {
    match if_there {
        IfThere::Error => IfExists::Error,
        IfThere::Replace => IfExists::Replace,
        IfThere::Keep => IfExists::Keep,
    }
}

fn truth(value: &str, span: Span, context: &Context<'_>) -> Result<bool> {
    match value {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => {
            let error = Error::new(SqlState::SyntaxError, format!("\"{value}\" is neither true nor false"));
            Err(context.at(error, span))
        }
    }
}

/// An option's value as text: a word, a string or a number, as it was written.
fn word(ast: &Ast) -> Result<String> {
    use sqlparser::ast::UnaryOperator;
    match ast {
        Ast::Identifier(ident) => Ok(ident.value.clone()),
        Ast::Value(value) => match &value.value {
            AstValue::Number(text, _) => Ok(text.clone()),
            AstValue::SingleQuotedString(s) | AstValue::EscapedStringLiteral(s) => Ok(s.clone()),
            AstValue::Boolean(b) => Ok(b.to_string()),
            other => Ok(other.to_string()),
        },
        Ast::UnaryOp { op: UnaryOperator::Minus, expr } => word(expr).map(|w| format!("-{w}")),
        Ast::Nested(inner) => word(inner),
        other => Err(Error::unsupported(format!("{other} is not a plain value"))),
    }
}
