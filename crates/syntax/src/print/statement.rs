//! Printing statements.
//!
//! As in all of `print`, what comes out is read back as the same tree. Kinds with a type of their own print
//! themselves; the small ones are printed here, by what they are about.

use super::{Print, clause, each, in_parens, list, put, word_if};
use crate::tree::{
    Described, Discarded, IfThere, Scope, Set, Show, Statement, StatementKind, SteerVerb, TransactionMode,
};

impl Print for Statement {
    fn print(&self, out: &mut String) {
        self.kind.print(out);
    }
}

impl Print for StatementKind {
    fn print(&self, out: &mut String) {
        match self {
            StatementKind::Query(query) => query.print(out),
            StatementKind::Insert(insert) => insert.print(out),
            StatementKind::Update(update) => update.print(out),
            StatementKind::Delete(delete) => delete.print(out),
            StatementKind::Merge(merge) => merge.print(out),
            StatementKind::Truncate(truncate) => truncate.print(out),
            StatementKind::Copy(copy) => copy.print(out),
            StatementKind::CopyDatabase { from, to, part } => {
                put!(out, "COPY FROM DATABASE ", from, " TO ", to);
                if let Some(part) = part {
                    put!(out, " (", part, ")");
                }
            }
            StatementKind::CreateTable(table) => table.print(out),
            StatementKind::CreateView(view) => view.print(out),
            StatementKind::CreateIndex(index) => index.print(out),
            StatementKind::CreateSequence { if_there, temporary, name, options } => {
                super::create::create(out, *if_there);
                word_if(out, *temporary, "TEMPORARY");
                out.push_str(" SEQUENCE");
                super::create::keep(out, *if_there);
                name.print(out);
                for option in options {
                    put!(out, " ", option);
                }
            }
            StatementKind::CreateSchema { if_there, name, owner } => {
                super::create::create(out, *if_there);
                out.push_str(" SCHEMA");
                super::create::keep(out, *if_there);
                name.print(out);
                clause(out, "AUTHORIZATION", owner.as_ref());
            }
            StatementKind::CreateType(ty) => ty.print(out),
            StatementKind::CreateMacro(made) => made.print(out),
            StatementKind::CreateFunction(function) => function.print(out),
            StatementKind::CreateSecret(secret) => secret.print(out),
            StatementKind::CreateWideTable(table) => table.print(out),
            StatementKind::RefreshWideTable(name) => put!(out, "REFRESH WIDE TABLE ", name),
            StatementKind::AlterTable(alter) => alter.print(out),
            StatementKind::AlterObject(alter) => alter.print(out),
            StatementKind::AlterQuery(query, name, value) => {
                put!(out, "ALTER QUERY ", query, " SET ", name, " = ", value);
            }
            StatementKind::Drop(drop) => drop.print(out),
            StatementKind::Comment(comment) => comment.print(out),
            StatementKind::Explain { analyze, verbose, options, statement } => {
                out.push_str("EXPLAIN");
                word_if(out, *analyze, "ANALYZE");
                word_if(out, *verbose, "VERBOSE");
                in_parens(out, options);
                put!(out, " ", statement);
            }
            StatementKind::Describe { summarize, what } => {
                out.push_str(if *summarize { "SUMMARIZE" } else { "DESCRIBE" });
                match what {
                    None => {}
                    Some(Described::Table(table)) => put!(out, " ", table),
                    Some(Described::File(file)) => put!(out, " ", file),
                    Some(Described::Statement(statement)) => put!(out, " ", statement),
                }
            }
            StatementKind::Show(show) => show.print(out),
            _ => self.print_of_session(out),
        }
    }
}

impl StatementKind {
    /// Statements about what a session has: prepared statements, cursors, settings; and calls.
    fn print_of_session(&self, out: &mut String) {
        match self {
            StatementKind::Prepare { name, types, statement } => {
                put!(out, "PREPARE ", name);
                in_parens(out, types);
                put!(out, " AS ", statement);
            }
            StatementKind::Execute { name, values } => {
                put!(out, "EXECUTE ", name);
                in_parens(out, values);
            }
            StatementKind::Deallocate(Some(name)) => put!(out, "DEALLOCATE ", name),
            StatementKind::Deallocate(None) => out.push_str("DEALLOCATE ALL"),
            StatementKind::DeclareCursor(cursor) => cursor.print(out),
            StatementKind::FetchCursor { moves, motion, name } => {
                put!(out, if *moves { "MOVE " } else { "FETCH " }, motion, " FROM ", name);
            }
            StatementKind::CloseCursor(Some(name)) => put!(out, "CLOSE ", name),
            StatementKind::CloseCursor(None) => out.push_str("CLOSE ALL"),
            StatementKind::Discard(what) => out.push_str(match what {
                Discarded::All => "DISCARD ALL",
                Discarded::Plans => "DISCARD PLANS",
                Discarded::Sequences => "DISCARD SEQUENCES",
                Discarded::Temporary => "DISCARD TEMPORARY",
            }),
            StatementKind::Set(set) => set.print(out),
            StatementKind::Reset { scope: which, name } => {
                out.push_str("RESET");
                scope(out, *which);
                match name {
                    Some(name) => put!(out, " ", name),
                    None => out.push_str(" ALL"),
                }
            }
            StatementKind::ResetVariable(name) => put!(out, "RESET VARIABLE ", name),
            StatementKind::Pragma { name, value, arguments } => {
                put!(out, "PRAGMA ", name);
                if let Some(value) = value {
                    put!(out, " = ", value);
                }
                if let Some(arguments) = arguments {
                    out.push('(');
                    list(out, arguments);
                    out.push(')');
                }
            }
            StatementKind::Call { name, arguments } => {
                put!(out, "CALL ", name, "(");
                list(out, arguments);
                out.push(')');
            }
            _ => self.print_more(out),
        }
    }
    /// Statements about transactions, databases and queries that run.
    fn print_more(&self, out: &mut String) {
        match self {
            StatementKind::Begin { start, modes } => {
                out.push_str(if *start { "START TRANSACTION" } else { "BEGIN" });
                transaction_modes(out, modes);
            }
            StatementKind::Commit { chain: how } => {
                out.push_str("COMMIT");
                chain(out, *how);
            }
            StatementKind::Rollback { chain: how, to } => {
                out.push_str("ROLLBACK");
                chain(out, *how);
                clause(out, "TO SAVEPOINT", to.as_ref());
            }
            StatementKind::Savepoint(name) => put!(out, "SAVEPOINT ", name),
            StatementKind::Release(name) => put!(out, "RELEASE SAVEPOINT ", name),
            StatementKind::SetTransaction(session, modes) => {
                out.push_str(match session {
                    true => "SET SESSION CHARACTERISTICS AS TRANSACTION",
                    false => "SET TRANSACTION",
                });
                transaction_modes(out, modes);
            }
            StatementKind::Attach { if_there, path, name, options } => {
                out.push_str("ATTACH");
                word_if(out, *if_there == IfThere::Replace, "OR REPLACE");
                word_if(out, *if_there == IfThere::Keep, "IF NOT EXISTS");
                put!(out, " ", path);
                clause(out, "AS", name.as_ref());
                in_parens(out, options);
            }
            StatementKind::Detach { if_exists, name } => {
                out.push_str("DETACH");
                word_if(out, *if_exists, "IF EXISTS");
                put!(out, " ", name);
            }
            StatementKind::Use(path) => put!(out, "USE ", path),
            StatementKind::Checkpoint(name) => {
                out.push_str("CHECKPOINT");
                if let Some(name) = name {
                    put!(out, " ", name);
                }
            }
            StatementKind::CheckDatabase => out.push_str("CHECK DATABASE"),
            StatementKind::BackupDatabase(folder) => put!(out, "BACKUP DATABASE TO ", folder),
            StatementKind::ExportDatabase(folder, options) => {
                put!(out, "EXPORT DATABASE ", folder);
                in_parens(out, options);
            }
            StatementKind::ImportDatabase(folder) => put!(out, "IMPORT DATABASE ", folder),
            StatementKind::Analyze(table, columns) => {
                out.push_str("ANALYZE");
                if let Some(table) = table {
                    put!(out, " ", table);
                }
                in_parens(out, columns);
            }
            StatementKind::Vacuum { options, table, columns } => {
                out.push_str("VACUUM");
                in_parens(out, options);
                if let Some(table) = table {
                    put!(out, " ", table);
                }
                in_parens(out, columns);
            }
            StatementKind::Lock { tables, mode, nowait } => {
                out.push_str("LOCK TABLE ");
                each(out, tables, ", ", |out, (only, table)| {
                    if *only {
                        out.push_str("ONLY ");
                    }
                    table.print(out);
                });
                if !mode.is_empty() {
                    out.push_str(" IN ");
                    each(out, mode, " ", |out, word| word.print(out));
                    out.push_str(" MODE");
                }
                word_if(out, *nowait, "NOWAIT");
            }
            StatementKind::SteerQuery(verb, query) => {
                let verb = match verb {
                    SteerVerb::Pause => "PAUSE",
                    SteerVerb::Resume => "RESUME",
                    SteerVerb::Cancel => "CANCEL",
                };
                put!(out, verb, " QUERY ", query);
            }
            StatementKind::Access(access) => access.print(out),
            StatementKind::Unsupported(statement) => statement.text.print(out),
            other => unreachable!("{other:?} is printed above"),
        }
    }
}

fn scope(out: &mut String, scope: Option<Scope>) {
    match scope {
        None => {}
        Some(Scope::Session) => out.push_str(" SESSION"),
        Some(Scope::Local) => out.push_str(" LOCAL"),
        Some(Scope::Global) => out.push_str(" GLOBAL"),
    }
}

fn chain(out: &mut String, chain: Option<bool>) {
    match chain {
        None => {}
        Some(true) => out.push_str(" AND CHAIN"),
        Some(false) => out.push_str(" AND NO CHAIN"),
    }
}

fn transaction_modes(out: &mut String, modes: &[TransactionMode]) {
    for (at, mode) in modes.iter().enumerate() {
        out.push_str(if at > 0 { ", " } else { " " });
        out.push_str(match mode {
            TransactionMode::ReadUncommitted => "ISOLATION LEVEL READ UNCOMMITTED",
            TransactionMode::ReadCommitted => "ISOLATION LEVEL READ COMMITTED",
            TransactionMode::RepeatableRead => "ISOLATION LEVEL REPEATABLE READ",
            TransactionMode::Serializable => "ISOLATION LEVEL SERIALIZABLE",
            TransactionMode::Snapshot => "ISOLATION LEVEL SNAPSHOT",
            TransactionMode::ReadOnly => "READ ONLY",
            TransactionMode::ReadWrite => "READ WRITE",
            TransactionMode::Deferrable => "DEFERRABLE",
            TransactionMode::NotDeferrable => "NOT DEFERRABLE",
        });
    }
}

impl Print for Show {
    fn print(&self, out: &mut String) {
        out.push_str("SHOW");
        match self {
            Show::Nothing => {}
            Show::Tables { all, from, like } => {
                out.push_str(if *all { " ALL TABLES" } else { " TABLES" });
                clause(out, "FROM", from.as_ref());
                clause(out, "LIKE", like.as_ref());
            }
            Show::All => out.push_str(" ALL"),
            Show::Listed { what, from, like } => {
                put!(out, " ", what);
                clause(out, "FROM", from.as_ref());
                clause(out, "LIKE", like.as_ref());
            }
            Show::Name(path) => put!(out, " ", path),
            Show::Query(statement) => put!(out, " ", statement),
        }
    }
}

impl Print for Set {
    fn print(&self, out: &mut String) {
        out.push_str("SET");
        match self {
            Set::Setting { scope: which, name, values } => {
                scope(out, *which);
                put!(out, " ", name, " = ");
                match values.is_empty() {
                    true => out.push_str("DEFAULT"),
                    false => list(out, values),
                }
            }
            Set::Variable(name, value) => put!(out, " VARIABLE ", name, " = ", value),
            Set::TimeZone(which, zone) => {
                scope(out, *which);
                out.push_str(" TIME ZONE ");
                match zone {
                    Some(zone) => zone.print(out),
                    None => out.push_str("DEFAULT"),
                }
            }
            Set::Schema(schema) => put!(out, " SCHEMA ", schema),
            Set::Role { scope: which, authorization, name } => {
                scope(out, *which);
                out.push_str(if *authorization { " AUTHORIZATION " } else { " ROLE " });
                match name {
                    Some(name) => name.print(out),
                    None => out.push_str(if *authorization { "DEFAULT" } else { "NONE" }),
                }
            }
        }
    }
}
