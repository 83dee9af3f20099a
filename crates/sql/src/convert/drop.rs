//! DROP, TRUNCATE and COMMENT ON.
//!
//! The binder's tree has DROP for some kinds of objects; the other kinds become calls of procedures, or are refused
//! with a hint from `elsewhere`. Called by `convert::statement`.

use sqlparser::ast;
use syntax::Span;
use syntax::tree;
use syntax::tree::ObjectKind;
use types::{Error, Result, SqlState};

use super::option::{folded, own_call, text_value};
use super::{Converter, object_name};
use crate::{elsewhere, place};

/// A kind of object as it is written.
pub(super) fn kind_name(kind: ObjectKind) -> &'static str {
    match kind {
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
        ObjectKind::Trigger => "TRIGGER",
        ObjectKind::Domain => "DOMAIN",
    }
}

impl Converter<'_> {
    /// DROP of any kind of object.
    pub(super) fn drop_statement(&self, drop: &tree::Drop, at: Span) -> Result<ast::Statement> {
        let tree::Drop { kind, if_exists, names, cascade, concurrently, persistent, on } = drop;
        let object_type = match kind {
            ObjectKind::Table | ObjectKind::WideTable => ast::ObjectType::Table,
            ObjectKind::View => ast::ObjectType::View,
            ObjectKind::MaterializedView => ast::ObjectType::MaterializedView,
            ObjectKind::Index => ast::ObjectType::Index,
            ObjectKind::Schema => ast::ObjectType::Schema,
            ObjectKind::Type => ast::ObjectType::Type,
            ObjectKind::Role => ast::ObjectType::Role,
            ObjectKind::Secret => return self.drop_secret(drop, *persistent, at),
            ObjectKind::Sequence
            | ObjectKind::Macro
            | ObjectKind::MacroTable
            | ObjectKind::Function
            | ObjectKind::Column
            | ObjectKind::Constraint
            | ObjectKind::Database
            | ObjectKind::Trigger
            | ObjectKind::Domain => {
                let own = elsewhere::error_of(&["drop", kind_name(*kind)]).map(|error| self.at(error, at));
                return Err(own.unwrap_or_else(|| {
                    Error::unsupported(format!("DROP {} is not supported", kind_name(*kind))).at(place::START)
                }));
            }
        };
        if *concurrently {
            return Err(Error::unsupported("CONCURRENTLY of DROP INDEX is not supported").at(place::START));
        }
        if let Some((name, _)) = names.iter().find(|(_, types)| types.is_some()) {
            return Err(self.unsupported("a list of types behind this name", name.span()));
        }
        Ok(ast::Statement::Drop {
            object_type,
            if_exists: *if_exists,
            names: names.iter().map(|(name, _)| object_name(name)).collect(),
            cascade: *cascade == Some(true),
            restrict: *cascade == Some(false),
            purge: false,
            temporary: false,
            table: on.as_ref().map(object_name),
        })
    }

    fn drop_secret(&self, drop: &tree::Drop, persistent: Option<bool>, at: Span) -> Result<ast::Statement> {
        let tree::Drop { kind: _, if_exists, names, cascade, concurrently: _, persistent: _, on } = drop;
        let name = match names.as_slice() {
            [(name, None)] if cascade.is_none() && on.is_none() => name.single(),
            _ => None,
        };
        let Some(name) = name else {
            let message = "syntax error in a statement about a secret: the secret's name is expected";
            return Err(self.at(Error::new(SqlState::SyntaxError, message), at));
        };
        let kept = if *if_exists { "keep" } else { "error" };
        let lasting = match persistent {
            None => "any",
            Some(true) => "persistent",
            Some(false) => "temporary",
        };
        let values =
            vec![text_value(kept, at), text_value(lasting, at), text_value(&folded(name), name.span)];
        Ok(own_call("drop_secret", at, values))
    }

    /// TRUNCATE.
    pub(super) fn truncate(&self, truncate: &tree::Truncate) -> ast::Statement {
        let tree::Truncate { tables, restart_identity, cascade } = truncate;
        let target = |(only, name): &(bool, tree::Path)| ast::TruncateTableTarget {
            name: object_name(name),
            only: *only,
            has_asterisk: false,
        };
        ast::Statement::Truncate(ast::Truncate {
            table_names: tables.iter().map(target).collect(),
            partitions: None,
            table: true,
            if_exists: false,
            identity: restart_identity.map(|restart| match restart {
                true => ast::TruncateIdentityOption::Restart,
                false => ast::TruncateIdentityOption::Continue,
            }),
            cascade: cascade.map(|cascade| match cascade {
                true => ast::CascadeOption::Cascade,
                false => ast::CascadeOption::Restrict,
            }),
            on_cluster: None,
        })
    }

    /// COMMENT ON.
    pub(super) fn comment(&self, comment: &tree::Comment) -> Result<ast::Statement> {
        let tree::Comment { kind, if_exists, name, text, arguments } = comment;
        let object_type = match kind {
            ObjectKind::Table | ObjectKind::WideTable => ast::CommentObject::Table,
            ObjectKind::View => ast::CommentObject::View,
            ObjectKind::MaterializedView => ast::CommentObject::MaterializedView,
            ObjectKind::Index => ast::CommentObject::Index,
            ObjectKind::Sequence => ast::CommentObject::Sequence,
            ObjectKind::Schema => ast::CommentObject::Schema,
            ObjectKind::Type => ast::CommentObject::Type,
            ObjectKind::Function => ast::CommentObject::Function,
            ObjectKind::Column => ast::CommentObject::Column,
            ObjectKind::Database => ast::CommentObject::Database,
            ObjectKind::Role => ast::CommentObject::Role,
            ObjectKind::Domain => ast::CommentObject::Domain,
            ObjectKind::Macro
            | ObjectKind::MacroTable
            | ObjectKind::Secret
            | ObjectKind::Constraint
            | ObjectKind::Trigger => {
                let message = format!("COMMENT ON {} is not supported", kind_name(*kind));
                return Err(Error::unsupported(message).at(place::START));
            }
        };
        if !arguments.is_empty() {
            return Err(self.unsupported("COMMENT ON something with arguments", name.span()));
        }
        Ok(ast::Statement::Comment {
            object_type,
            object_name: object_name(name),
            comment: text.as_ref().map(|text| text.text.to_string()),
            if_exists: *if_exists,
        })
    }
}
