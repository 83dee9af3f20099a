//! CREATE TABLE, CREATE VIEW, CREATE INDEX and CREATE SCHEMA.
//!
//! PARTITION BY is kept in the asides, and so are column names of CREATE TABLE AS. Clauses that other systems have
//! and that would change what the table holds are refused with a hint. Called by `convert::statement`.

use sqlparser::ast;
use sqlparser::ast::helpers::stmt_create_table::CreateTableBuilder;
use syntax::tree;
use syntax::tree::{IfThere, TableElement};
use types::{Error, Result, SqlState};

use super::option::value;
use super::{Converter, ident, object_name};
use crate::asides::{PartitionClause, PartitionKind};
use crate::place;

/// Clauses that other systems have behind the bracket, which are read among the options.
const CLAUSES: [&str; 5] = ["tablespace", "using", "inherits", "partitioned", "sorted"];

/// What CREATE does not have here.
fn refused(statement: &str, clause: &str) -> Error {
    Error::unsupported(format!("{clause} of {statement} is not supported"))
        .with_hint("leave the clause out")
        .at(place::START)
}

impl Converter<'_> {
    /// CREATE TABLE and CREATE TABLE AS.
    pub(crate) fn create_table(&self, create: &tree::CreateTable) -> Result<ast::Statement> {
        let tree::CreateTable {
            if_there,
            temporary,
            unlogged,
            name,
            elements,
            names,
            partition,
            options,
            on_commit,
            query,
            with_data,
            span: _,
        } = create;
        let refuse = |clause: &str| Err(refused("CREATE TABLE", clause));
        let other = options.iter().find(|option| {
            let name = option.name.text.to_lowercase();
            CLAUSES.contains(&name.as_str()) || name.starts_with("without ")
        });
        match other {
            _ if *unlogged => return refuse("UNLOGGED"),
            _ if *with_data == Some(false) => return refuse("WITH NO DATA"),
            Some(option) => return refuse(&option.name.text.to_uppercase()),
            None => {}
        }
        let (mut columns, mut constraints, mut like) = (vec![], vec![], None);
        for element in elements {
            match element {
                TableElement::Column(column) => columns.push(self.column_def(column, ident(&column.name))?),
                TableElement::Constraint(constraint) if constraint.not_valid => return refuse("NOT VALID"),
                TableElement::Constraint(constraint) => constraints.push(self.constraint(constraint)?),
                TableElement::Like(table, parts) if elements.len() == 1 && parts.is_empty() => {
                    let table = ast::CreateTableLike { name: object_name(table), defaults: None };
                    like = Some(ast::CreateTableLikeKind::Parenthesized(table));
                }
                TableElement::Like(..) => return refuse("LIKE"),
            }
        }
        let query = query.as_ref().map(|query| self.row_query(query)).transpose()?.map(Box::new);
        let partitioning = partition.as_ref().map(|by| self.partitioning(by)).transpose()?;
        {
            let mut asides = self.asides.borrow_mut();
            asides.parsed.column_names = names.iter().map(ident).collect();
            asides.parsed.partitioning = partitioning;
        }
        let made = CreateTableBuilder::new(object_name(name))
            .or_replace(*if_there == IfThere::Replace)
            .if_not_exists(*if_there == IfThere::Keep)
            .temporary(*temporary)
            .columns(columns)
            .constraints(constraints)
            .like(like)
            .query(query)
            .on_commit(on_commit.map(|on_commit| match on_commit {
                tree::OnCommit::Drop => ast::OnCommit::Drop,
                tree::OnCommit::DeleteRows => ast::OnCommit::DeleteRows,
                tree::OnCommit::PreserveRows => ast::OnCommit::PreserveRows,
            }))
            .table_options(self.create_options(options)?);
        Ok(ast::Statement::CreateTable(made.build()))
    }

    fn partitioning(&self, partition: &tree::PartitionBy) -> Result<PartitionClause> {
        let (columns, kind) = match partition {
            tree::PartitionBy::Hash { columns, partitions } => {
                (columns, PartitionKind::Hash(self.text_of(partitions.span).to_owned()))
            }
            tree::PartitionBy::Range { columns, partitions } => {
                let bound = |(name, value): &(tree::Name, Option<tree::Expr>)| {
                    (ident(name), value.as_ref().map(|value| self.text_of(value.span).to_owned()))
                };
                (columns, PartitionKind::Range(partitions.iter().map(bound).collect()))
            }
        };
        match columns.as_slice() {
            [column] => Ok(PartitionClause { column: ident(column), kind }),
            _ => {
                let error = Error::new(SqlState::SyntaxError, "PARTITION BY cannot be read").with_hint(
                    "write PARTITION BY HASH (column) PARTITIONS 4, or \
                     PARTITION BY RANGE (column) (PARTITION name VALUES LESS THAN (value), ...)",
                );
                Err(columns
                    .get(1)
                    .map_or_else(|| error.clone(), |second| self.at(error.clone(), second.span)))
            }
        }
    }

    /// CREATE VIEW.
    pub(crate) fn create_view(&self, create: &tree::CreateView) -> Result<ast::Statement> {
        let tree::CreateView {
            if_there,
            temporary,
            materialized,
            recursive,
            name,
            columns,
            options,
            query,
            query_span: _,
            check_option,
            span: _,
        } = create;
        if *recursive {
            return Err(refused("CREATE VIEW", "RECURSIVE"));
        }
        if *check_option {
            return Err(refused("CREATE VIEW", "WITH CHECK OPTION"));
        }
        let column =
            |name: &tree::Name| ast::ViewColumnDef { name: ident(name), data_type: None, options: None };
        Ok(ast::Statement::CreateView(ast::CreateView {
            or_alter: false,
            or_replace: *if_there == IfThere::Replace,
            materialized: *materialized,
            secure: false,
            name: object_name(name),
            name_before_not_exists: false,
            columns: columns.iter().map(column).collect(),
            query: Box::new(self.query(query)?),
            options: self.create_options(options)?,
            cluster_by: vec![],
            comment: None,
            with_no_schema_binding: false,
            if_not_exists: *if_there == IfThere::Keep,
            temporary: *temporary,
            copy_grants: false,
            to: None,
            params: None,
        }))
    }

    /// CREATE INDEX.
    pub(crate) fn create_index(&self, create: &tree::CreateIndex) -> Result<ast::Statement> {
        let tree::CreateIndex {
            if_there,
            unique,
            concurrently,
            name,
            table,
            method,
            columns,
            include,
            nulls_distinct,
            options,
            condition,
        } = create;
        if *if_there == IfThere::Replace {
            return Err(refused("CREATE INDEX", "OR REPLACE"));
        }
        let column = |item: &tree::OrderItem| {
            self.order_item(item).map(|column| ast::IndexColumn { column, operator_class: None })
        };
        let option = |tree::SetOption { name, value: given }: &tree::SetOption| {
            let right = match given {
                Some(given) => self.option_value(given, name.span)?,
                None => value(ast::Value::Boolean(true), name.span),
            };
            let left = Box::new(ast::Expr::Identifier(ident(name)));
            Ok(ast::Expr::BinaryOp { left, op: ast::BinaryOperator::Eq, right: Box::new(right) })
        };
        Ok(ast::Statement::CreateIndex(ast::CreateIndex {
            name: name.as_ref().map(object_name),
            table_name: object_name(table),
            using: method.as_ref().map(index_type),
            columns: columns.iter().map(column).collect::<Result<_>>()?,
            unique: *unique,
            concurrently: *concurrently,
            if_not_exists: *if_there == IfThere::Keep,
            include: include.iter().map(ident).collect(),
            nulls_distinct: *nulls_distinct,
            with: options.iter().map(option).collect::<Result<_>>()?,
            predicate: condition.as_ref().map(|condition| self.expr(condition)).transpose()?,
            index_options: vec![],
            alter_options: vec![],
        }))
    }

    /// CREATE SCHEMA.
    pub(super) fn create_schema(
        &self,
        if_there: IfThere,
        name: &tree::Path,
        owner: Option<&tree::Name>,
    ) -> Result<ast::Statement> {
        if if_there == IfThere::Replace {
            return Err(refused("CREATE SCHEMA", "OR REPLACE"));
        }
        let schema_name = match owner {
            None => ast::SchemaName::Simple(object_name(name)),
            Some(owner) => ast::SchemaName::NamedAuthorization(object_name(name), ident(owner)),
        };
        Ok(ast::Statement::CreateSchema {
            schema_name,
            if_not_exists: if_there == IfThere::Keep,
            with: None,
            options: None,
            default_collate_spec: None,
            clone: None,
        })
    }
}

/// The kinds of indices that have a name of their own, and others.
fn index_type(name: &tree::Name) -> ast::IndexType {
    match name.text.to_lowercase().as_str() {
        _ if name.quoted => ast::IndexType::Custom(ident(name)),
        "btree" => ast::IndexType::BTree,
        "hash" => ast::IndexType::Hash,
        "gin" => ast::IndexType::GIN,
        "gist" => ast::IndexType::GiST,
        "spgist" => ast::IndexType::SPGiST,
        "brin" => ast::IndexType::BRIN,
        "bloom" => ast::IndexType::Bloom,
        _ => ast::IndexType::Custom(ident(name)),
    }
}
