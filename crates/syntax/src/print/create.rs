//! Printing definitions.
//!
//! As in all of `print`, what comes out is read back as the same tree. Clauses of columns keep their order; `create`
//! and `keep` write OR REPLACE, TEMPORARY and IF NOT EXISTS for every kind.

use super::{Print, clause, each, in_parens, list, put, word_if};
use crate::tree::{
    AlterObject, AlterTable, ColumnChange, ColumnClause, ColumnClauseKind, ColumnDef, Comment, Constraint,
    ConstraintKind, CreateFunction, CreateIndex, CreateMacro, CreateSecret, CreateTable, CreateType,
    CreateTypeKind, CreateView, CreateWideTable, Drop, FunctionBody, FunctionReturns, IfThere, MacroBody,
    MacroParameter, Name, ObjectChange, ObjectKind, OnCommit, ParameterMode, PartitionBy, ReferenceAction,
    References, SequenceOption, SetOption, TableChange, TableElement, Timing, TypeName, WideSource,
};

pub(crate) fn cascade(out: &mut String, cascade: Option<bool>) {
    match cascade {
        Some(true) => out.push_str(" CASCADE"),
        Some(false) => out.push_str(" RESTRICT"),
        None => {}
    }
}

/// `CREATE [OR REPLACE]`.
pub(crate) fn create(out: &mut String, if_there: IfThere) {
    out.push_str("CREATE");
    word_if(out, if_there == IfThere::Replace, "OR REPLACE");
}

/// ` IF NOT EXISTS `.
pub(crate) fn keep(out: &mut String, if_there: IfThere) {
    word_if(out, if_there == IfThere::Keep, "IF NOT EXISTS");
    out.push(' ');
}

fn nulls_distinct(out: &mut String, distinct: Option<bool>) {
    match distinct {
        Some(true) => out.push_str(" NULLS DISTINCT"),
        Some(false) => out.push_str(" NULLS NOT DISTINCT"),
        None => {}
    }
}

fn with_options(out: &mut String, options: &[SetOption]) {
    if !options.is_empty() {
        out.push_str(" WITH");
        in_parens(out, options);
    }
}

fn fields(out: &mut String, fields: &[(Name, TypeName)]) {
    out.push('(');
    each(out, fields, ", ", |out, (name, ty)| put!(out, name, " ", ty));
    out.push(')');
}

impl Print for CreateTable {
    fn print(&self, out: &mut String) {
        create(out, self.if_there);
        word_if(out, self.temporary, "TEMPORARY");
        word_if(out, self.unlogged, "UNLOGGED");
        out.push_str(" TABLE");
        keep(out, self.if_there);
        self.name.print(out);
        if self.names.is_empty() && (self.query.is_none() || !self.elements.is_empty()) {
            out.push_str(" (");
            list(out, &self.elements);
            out.push(')');
        }
        in_parens(out, &self.names);
        if let Some(partition) = &self.partition {
            put!(out, " ", partition);
        }
        let (with, behind): (Vec<SetOption>, Vec<SetOption>) =
            self.options.iter().cloned().partition(|o| !is_table_clause(&o.name));
        with_options(out, &with);
        for option in &behind {
            let partitioned =
                ["partitioned", "sorted"].iter().any(|w| option.name.text.eq_ignore_ascii_case(w));
            put!(out, " ", option.name);
            word_if(out, partitioned, "BY");
            if let Some(value) = &option.value {
                put!(out, " ", value);
            }
        }
        match self.on_commit {
            None => {}
            Some(OnCommit::Drop) => out.push_str(" ON COMMIT DROP"),
            Some(OnCommit::DeleteRows) => out.push_str(" ON COMMIT DELETE ROWS"),
            Some(OnCommit::PreserveRows) => out.push_str(" ON COMMIT PRESERVE ROWS"),
        }
        clause(out, "AS", self.query.as_ref());
        match self.with_data {
            None => {}
            Some(true) => out.push_str(" WITH DATA"),
            Some(false) => out.push_str(" WITH NO DATA"),
        }
    }
}

/// Whether an option stands behind the bracket with a word of its own.
fn is_table_clause(name: &Name) -> bool {
    let text = name.text.to_ascii_lowercase();
    !name.quoted
        && (matches!(text.as_str(), "tablespace" | "using" | "inherits" | "partitioned" | "sorted")
            || text.starts_with("without "))
}

impl Print for TableElement {
    fn print(&self, out: &mut String) {
        match self {
            TableElement::Column(column) => column.print(out),
            TableElement::Constraint(constraint) => constraint.print(out),
            TableElement::Like(table, parts) => {
                put!(out, "LIKE ", table);
                for (including, part) in parts {
                    put!(out, if *including { " INCLUDING " } else { " EXCLUDING " }, part);
                }
            }
        }
    }
}

impl Print for ColumnDef {
    fn print(&self, out: &mut String) {
        self.name.print(out);
        if let Some(ty) = &self.ty {
            put!(out, " ", ty);
        }
        for clause in &self.clauses {
            put!(out, " ", clause);
        }
    }
}

impl Print for ColumnClause {
    fn print(&self, out: &mut String) {
        if let Some(name) = &self.name {
            put!(out, "CONSTRAINT ", name, " ");
        }
        match &self.kind {
            ColumnClauseKind::Null => out.push_str("NULL"),
            ColumnClauseKind::NotNull => out.push_str("NOT NULL"),
            ColumnClauseKind::Default(value) => put!(out, "DEFAULT ", value),
            ColumnClauseKind::PrimaryKey(timing) => put!(out, "PRIMARY KEY", timing),
            ColumnClauseKind::Unique { nulls_distinct: distinct, timing } => {
                out.push_str("UNIQUE");
                nulls_distinct(out, *distinct);
                timing.print(out);
            }
            ColumnClauseKind::Check(condition) => put!(out, "CHECK (", condition, ")"),
            ColumnClauseKind::References(references) => put!(out, references, references.timing),
            ColumnClauseKind::Collate(collation) => put!(out, "COLLATE ", collation),
            ColumnClauseKind::Generated { value, stored } => {
                put!(out, "GENERATED ALWAYS AS (", value, ")");
                match stored {
                    Some(true) => out.push_str(" STORED"),
                    Some(false) => out.push_str(" VIRTUAL"),
                    None => {}
                }
            }
            ColumnClauseKind::Identity { always, options } => identity(out, "GENERATED", *always, options),
            ColumnClauseKind::AutoIncrement => out.push_str("AUTO_INCREMENT"),
            ColumnClauseKind::Compression(name) => put!(out, "USING COMPRESSION ", name),
            ColumnClauseKind::Comment(text) => put!(out, "COMMENT ", text),
        }
    }
}

fn identity(out: &mut String, word: &str, always: bool, options: &[SequenceOption]) {
    put!(out, word, if always { " ALWAYS AS IDENTITY" } else { " BY DEFAULT AS IDENTITY" });
    if !options.is_empty() {
        out.push_str(" (");
        each(out, options, " ", |out, option| option.print(out));
        out.push(')');
    }
}

impl Print for Timing {
    fn print(&self, out: &mut String) {
        match self.deferrable {
            Some(true) => out.push_str(" DEFERRABLE"),
            Some(false) => out.push_str(" NOT DEFERRABLE"),
            None => {}
        }
        match self.deferred {
            Some(true) => out.push_str(" INITIALLY DEFERRED"),
            Some(false) => out.push_str(" INITIALLY IMMEDIATE"),
            None => {}
        }
    }
}

impl Print for References {
    fn print(&self, out: &mut String) {
        put!(out, "REFERENCES ", self.table);
        in_parens(out, &self.columns);
        clause(out, "MATCH", self.matching.as_ref());
        clause(out, "ON DELETE", self.on_delete.as_ref());
        clause(out, "ON UPDATE", self.on_update.as_ref());
    }
}

impl Print for ReferenceAction {
    fn print(&self, out: &mut String) {
        match self {
            ReferenceAction::NoAction => out.push_str("NO ACTION"),
            ReferenceAction::Restrict => out.push_str("RESTRICT"),
            ReferenceAction::Cascade => out.push_str("CASCADE"),
            ReferenceAction::SetNull(columns) => {
                out.push_str("SET NULL");
                in_parens(out, columns);
            }
            ReferenceAction::SetDefault(columns) => {
                out.push_str("SET DEFAULT");
                in_parens(out, columns);
            }
        }
    }
}

impl Print for Constraint {
    fn print(&self, out: &mut String) {
        if let Some(name) = &self.name {
            put!(out, "CONSTRAINT ", name, " ");
        }
        match &self.kind {
            ConstraintKind::PrimaryKey(columns) => {
                out.push_str("PRIMARY KEY");
                in_parens(out, columns);
            }
            ConstraintKind::Unique { nulls_distinct: distinct, columns } => {
                out.push_str("UNIQUE");
                nulls_distinct(out, *distinct);
                in_parens(out, columns);
            }
            ConstraintKind::Check(condition, no_inherit) => {
                put!(out, "CHECK (", condition, ")");
                word_if(out, *no_inherit, "NO INHERIT");
            }
            ConstraintKind::ForeignKey(columns, references) => {
                out.push_str("FOREIGN KEY");
                in_parens(out, columns);
                put!(out, " ", references);
            }
        }
        self.timing.print(out);
        word_if(out, self.not_valid, "NOT VALID");
    }
}

impl Print for PartitionBy {
    fn print(&self, out: &mut String) {
        match self {
            PartitionBy::Hash { columns, partitions } => {
                out.push_str("PARTITION BY HASH");
                in_parens(out, columns);
                put!(out, " PARTITIONS ", partitions);
            }
            PartitionBy::Range { columns, partitions } => {
                out.push_str("PARTITION BY RANGE");
                in_parens(out, columns);
                out.push_str(" (");
                each(out, partitions, ", ", |out, (name, bound)| {
                    put!(out, "PARTITION ", name, " VALUES LESS THAN (");
                    match bound {
                        Some(bound) => bound.print(out),
                        None => out.push_str("MAXVALUE"),
                    }
                    out.push(')');
                });
                out.push(')');
            }
        }
    }
}

impl Print for CreateView {
    fn print(&self, out: &mut String) {
        create(out, self.if_there);
        word_if(out, self.temporary, "TEMPORARY");
        word_if(out, self.recursive, "RECURSIVE");
        word_if(out, self.materialized, "MATERIALIZED");
        out.push_str(" VIEW");
        keep(out, self.if_there);
        self.name.print(out);
        in_parens(out, &self.columns);
        with_options(out, &self.options);
        put!(out, " AS ", self.query);
        word_if(out, self.check_option, "WITH CHECK OPTION");
    }
}

impl Print for CreateIndex {
    fn print(&self, out: &mut String) {
        create(out, self.if_there);
        word_if(out, self.unique, "UNIQUE");
        out.push_str(" INDEX");
        word_if(out, self.concurrently, "CONCURRENTLY");
        keep(out, self.if_there);
        if let Some(name) = &self.name {
            put!(out, name, " ");
        }
        put!(out, "ON ", self.table);
        clause(out, "USING", self.method.as_ref());
        in_parens(out, &self.columns);
        if !self.include.is_empty() {
            out.push_str(" INCLUDE");
            in_parens(out, &self.include);
        }
        nulls_distinct(out, self.nulls_distinct);
        with_options(out, &self.options);
        clause(out, "WHERE", self.condition.as_ref());
    }
}

impl Print for SequenceOption {
    fn print(&self, out: &mut String) {
        match self {
            SequenceOption::As(ty) => put!(out, "AS ", ty),
            SequenceOption::Increment(by) => put!(out, "INCREMENT BY ", by),
            SequenceOption::Min(Some(value)) => put!(out, "MINVALUE ", value),
            SequenceOption::Min(None) => out.push_str("NO MINVALUE"),
            SequenceOption::Max(Some(value)) => put!(out, "MAXVALUE ", value),
            SequenceOption::Max(None) => out.push_str("NO MAXVALUE"),
            SequenceOption::Start(value) => put!(out, "START WITH ", value),
            SequenceOption::Restart(Some(value)) => put!(out, "RESTART WITH ", value),
            SequenceOption::Restart(None) => out.push_str("RESTART"),
            SequenceOption::Cache(value) => put!(out, "CACHE ", value),
            SequenceOption::Cycle(true) => out.push_str("CYCLE"),
            SequenceOption::Cycle(false) => out.push_str("NO CYCLE"),
            SequenceOption::OwnedBy(Some(column)) => put!(out, "OWNED BY ", column),
            SequenceOption::OwnedBy(None) => out.push_str("OWNED BY NONE"),
            SequenceOption::Name(name) => put!(out, "SEQUENCE NAME ", name),
        }
    }
}

impl Print for CreateType {
    fn print(&self, out: &mut String) {
        create(out, self.if_there);
        word_if(out, self.temporary, "TEMPORARY");
        out.push_str(" TYPE");
        keep(out, self.if_there);
        put!(out, self.name, " AS ");
        match &self.kind {
            CreateTypeKind::Enum(values) => {
                out.push_str("ENUM (");
                list(out, values);
                out.push(')');
            }
            CreateTypeKind::EnumOf(query) => put!(out, "ENUM (", query, ")"),
            CreateTypeKind::Alias(ty) => ty.print(out),
            CreateTypeKind::Composite(parts) => fields(out, parts),
        }
    }
}

impl Print for MacroParameter {
    fn print(&self, out: &mut String) {
        // One that is called as a way is needs the word before it.
        let called = !self.name.quoted
            && ["in", "out", "inout", "variadic"].iter().any(|w| self.name.text.eq_ignore_ascii_case(w));
        out.push_str(match self.mode {
            ParameterMode::In if called => "IN ",
            ParameterMode::In => "",
            ParameterMode::Out => "OUT ",
            ParameterMode::InOut => "INOUT ",
            ParameterMode::Variadic => "VARIADIC ",
        });
        if !self.name.text.is_empty() {
            self.name.print(out);
            if self.ty.is_some() {
                out.push(' ');
            }
        }
        if let Some(ty) = &self.ty {
            ty.print(out);
        }
        if let Some(default) = &self.default {
            put!(out, " := ", default);
        }
    }
}

fn parameters(out: &mut String, parameters: &[MacroParameter]) {
    out.push('(');
    list(out, parameters);
    out.push(')');
}

impl Print for CreateMacro {
    fn print(&self, out: &mut String) {
        create(out, self.if_there);
        word_if(out, self.temporary, "TEMPORARY");
        out.push_str(if self.function { " FUNCTION" } else { " MACRO" });
        keep(out, self.if_there);
        self.name.print(out);
        each(out, &self.forms, ", ", |out, form| {
            parameters(out, &form.parameters);
            match &form.body {
                MacroBody::Expr(value) => put!(out, " AS ", value),
                MacroBody::Table(query) => put!(out, " AS TABLE ", query),
            }
        });
    }
}

impl Print for CreateFunction {
    fn print(&self, out: &mut String) {
        create(out, self.if_there);
        word_if(out, self.temporary, "TEMPORARY");
        out.push_str(" FUNCTION");
        keep(out, self.if_there);
        self.name.print(out);
        parameters(out, &self.parameters);
        match &self.returns {
            None => {}
            Some(FunctionReturns::Type { set, ty }) => {
                out.push_str(" RETURNS ");
                if *set {
                    out.push_str("SETOF ");
                }
                ty.print(out);
            }
            Some(FunctionReturns::Table(columns)) => {
                out.push_str(" RETURNS TABLE ");
                fields(out, columns);
            }
        }
        for clause in &self.clauses {
            put!(out, " ", clause.name.text);
            if let Some(value) = &clause.value {
                put!(out, " ", value);
            }
        }
        match &self.body {
            None => {}
            Some(FunctionBody::Text(text)) => put!(out, " AS ", text),
            Some(FunctionBody::Return(value)) => put!(out, " RETURN ", value),
        }
    }
}

impl Print for CreateSecret {
    fn print(&self, out: &mut String) {
        create(out, self.if_there);
        match self.persistent {
            Some(true) => out.push_str(" PERSISTENT"),
            Some(false) => out.push_str(" TEMPORARY"),
            None => {}
        }
        out.push_str(" SECRET");
        word_if(out, self.if_there == IfThere::Keep, "IF NOT EXISTS");
        if let Some(name) = &self.name {
            put!(out, " ", name);
        }
        clause(out, "IN", self.storage.as_ref());
        out.push_str(" (");
        list(out, &self.options);
        out.push(')');
    }
}

impl Print for CreateWideTable {
    fn print(&self, out: &mut String) {
        create(out, self.if_there);
        out.push_str(" WIDE TABLE");
        keep(out, self.if_there);
        put!(out, self.name, " FROM ");
        match &self.source {
            WideSource::Tables(tables, true) => {
                out.push('(');
                list(out, tables);
                out.push(')');
            }
            WideSource::Tables(tables, false) => list(out, tables),
            WideSource::Schema(schema, true) => put!(out, "(SCHEMA ", schema, ")"),
            WideSource::Schema(schema, false) => put!(out, "SCHEMA ", schema),
        }
        with_options(out, &self.options);
    }
}

impl Print for ObjectKind {
    fn print(&self, out: &mut String) {
        out.push_str(match self {
            ObjectKind::Table => "TABLE",
            ObjectKind::WideTable => "WIDE TABLE",
            ObjectKind::View => "VIEW",
            ObjectKind::MaterializedView => "MATERIALIZED VIEW",
            ObjectKind::Index => "INDEX",
            ObjectKind::Sequence => "SEQUENCE",
            ObjectKind::Schema => "SCHEMA",
            ObjectKind::Type => "TYPE",
            ObjectKind::Macro => "MACRO",
            ObjectKind::MacroTable => "MACRO TABLE",
            ObjectKind::Function => "FUNCTION",
            ObjectKind::Secret => "SECRET",
            ObjectKind::Column => "COLUMN",
            ObjectKind::Constraint => "CONSTRAINT",
            ObjectKind::Database => "DATABASE",
            ObjectKind::Role => "ROLE",
            ObjectKind::Policy => "POLICY",
            ObjectKind::Trigger => "TRIGGER",
            ObjectKind::Domain => "DOMAIN",
        });
    }
}

impl Print for Drop {
    fn print(&self, out: &mut String) {
        out.push_str("DROP");
        match self.persistent {
            Some(true) => out.push_str(" PERSISTENT"),
            Some(false) => out.push_str(" TEMPORARY"),
            None => {}
        }
        put!(out, " ", self.kind);
        word_if(out, self.concurrently, "CONCURRENTLY");
        word_if(out, self.if_exists, "IF EXISTS");
        out.push(' ');
        each(out, &self.names, ", ", |out, (name, types)| {
            name.print(out);
            if let Some(types) = types {
                out.push('(');
                list(out, types);
                out.push(')');
            }
        });
        clause(out, "ON", self.on.as_ref());
        cascade(out, self.cascade);
    }
}

impl Print for AlterTable {
    fn print(&self, out: &mut String) {
        out.push_str(if self.view { "ALTER VIEW" } else { "ALTER TABLE" });
        word_if(out, self.if_exists, "IF EXISTS");
        word_if(out, self.only, "ONLY");
        put!(out, " ", self.name, " ");
        list(out, &self.changes);
    }
}

impl Print for TableChange {
    fn print(&self, out: &mut String) {
        match self {
            TableChange::AddColumn { if_not_exists, within, column } => {
                out.push_str("ADD COLUMN");
                word_if(out, *if_not_exists, "IF NOT EXISTS");
                out.push(' ');
                for name in within {
                    put!(out, name, ".");
                }
                column.print(out);
            }
            TableChange::AddConstraint(constraint) => put!(out, "ADD ", constraint),
            TableChange::DropColumn { if_exists, name, cascade: how } => {
                out.push_str("DROP COLUMN");
                word_if(out, *if_exists, "IF EXISTS");
                put!(out, " ", name);
                cascade(out, *how);
            }
            TableChange::DropConstraint { if_exists, name, cascade: how } => {
                out.push_str("DROP CONSTRAINT");
                word_if(out, *if_exists, "IF EXISTS");
                put!(out, " ", name);
                cascade(out, *how);
            }
            TableChange::Rename(name) => put!(out, "RENAME TO ", name),
            TableChange::RenameColumn(from, to) => put!(out, "RENAME COLUMN ", from, " TO ", to),
            TableChange::RenameConstraint(from, to) => put!(out, "RENAME CONSTRAINT ", from, " TO ", to),
            TableChange::AlterColumn(column, change) => put!(out, "ALTER COLUMN ", column, " ", change),
            TableChange::SetSchema(schema) => put!(out, "SET SCHEMA ", schema),
            TableChange::SetOptions(options, condition) => {
                out.push_str("SET (");
                list(out, options);
                out.push(')');
                clause(out, "WHERE", condition.as_ref());
            }
            TableChange::ResetOptions(names) => {
                out.push_str("RESET");
                in_parens(out, names);
            }
            TableChange::SetSorted(items) => {
                out.push_str("SET SORTED BY");
                in_parens(out, items);
            }
            TableChange::ValidateConstraint(name) => put!(out, "VALIDATE CONSTRAINT ", name),
            TableChange::OwnerTo(role) => put!(out, "OWNER TO ", role),
            TableChange::Other(words) => each(out, words, " ", |out, word| word.print(out)),
        }
    }
}

impl Print for ColumnChange {
    fn print(&self, out: &mut String) {
        match self {
            ColumnChange::Type { set_data, ty, collate, using } => {
                out.push_str(if *set_data { "SET DATA TYPE" } else { "TYPE" });
                if let Some(ty) = ty {
                    put!(out, " ", ty);
                }
                clause(out, "COLLATE", collate.as_ref());
                clause(out, "USING", using.as_ref());
            }
            ColumnChange::SetDefault(value) => put!(out, "SET DEFAULT ", value),
            ColumnChange::DropDefault => out.push_str("DROP DEFAULT"),
            ColumnChange::SetNotNull => out.push_str("SET NOT NULL"),
            ColumnChange::DropNotNull => out.push_str("DROP NOT NULL"),
            ColumnChange::AddIdentity { always, options } => identity(out, "ADD GENERATED", *always, options),
            ColumnChange::DropIdentity { if_exists } => {
                out.push_str("DROP IDENTITY");
                word_if(out, *if_exists, "IF EXISTS");
            }
            ColumnChange::DropExpression { if_exists } => {
                out.push_str("DROP EXPRESSION");
                word_if(out, *if_exists, "IF EXISTS");
            }
            ColumnChange::Statistics(value) => put!(out, "SET STATISTICS ", value),
        }
    }
}

impl Print for AlterObject {
    fn print(&self, out: &mut String) {
        put!(out, "ALTER ", self.kind);
        word_if(out, self.if_exists, "IF EXISTS");
        put!(out, " ", self.name, " ");
        match &self.change {
            ObjectChange::Rename(name) => put!(out, "RENAME TO ", name),
            ObjectChange::SetSchema(schema) => put!(out, "SET SCHEMA ", schema),
            ObjectChange::OwnerTo(role) => put!(out, "OWNER TO ", role),
            ObjectChange::Sequence(options) => each(out, options, " ", |out, option| option.print(out)),
            ObjectChange::AddValue { if_not_exists, value, place } => {
                out.push_str("ADD VALUE");
                word_if(out, *if_not_exists, "IF NOT EXISTS");
                put!(out, " ", value);
                if let Some((before, other)) = place {
                    put!(out, if *before { " BEFORE " } else { " AFTER " }, other);
                }
            }
            ObjectChange::RenameValue(from, to) => put!(out, "RENAME VALUE ", from, " TO ", to),
            ObjectChange::Set(name, value) => put!(out, "SET ", name, " = ", value),
            ObjectChange::Reset(Some(name)) => put!(out, "RESET ", name),
            ObjectChange::Reset(None) => out.push_str("RESET ALL"),
        }
    }
}

impl Print for Comment {
    fn print(&self, out: &mut String) {
        put!(out, "COMMENT ON ", self.kind);
        word_if(out, self.if_exists, "IF EXISTS");
        put!(out, " ", self.name);
        in_parens(out, &self.arguments);
        out.push_str(" IS ");
        match &self.text {
            Some(text) => text.print(out),
            None => out.push_str("NULL"),
        }
    }
}
