//! Statements about roles, privileges and row policies, printed.
//!
//! As in all of `print`, what comes out is read back as the
//! same tree.

use super::create::cascade;
use super::{Print, clause, in_parens, list, put, word_if};
use crate::tree::{
    AccessStatement, DefaultPrivileges, DefinePolicy, DefineRole, Grant, GrantTarget, Granted, LimitValue,
    PrivilegeItem, RoleOption, RoleWord,
};

impl Print for AccessStatement {
    fn print(&self, out: &mut String) {
        match self {
            AccessStatement::Role(role) => role.print(out),
            AccessStatement::Grant(grant) => grant.print(out),
            AccessStatement::Defaults(defaults) => defaults.print(out),
            AccessStatement::Policy(policy) => policy.print(out),
            AccessStatement::DropOwned { roles, cascade: how } => {
                out.push_str("DROP OWNED BY ");
                list(out, roles);
                cascade(out, *how);
            }
            AccessStatement::ReassignOwned { roles, to } => {
                out.push_str("REASSIGN OWNED BY ");
                list(out, roles);
                put!(out, " TO ", to);
            }
        }
    }
}

impl Print for DefineRole {
    fn print(&self, out: &mut String) {
        out.push_str(if self.alter { "ALTER " } else { "CREATE " });
        out.push_str(match self.word {
            RoleWord::Role => "ROLE ",
            RoleWord::User => "USER ",
            RoleWord::Group => "GROUP ",
        });
        self.name.print(out);
        for option in &self.options {
            put!(out, " ", option);
        }
    }
}

impl Print for RoleOption {
    fn print(&self, out: &mut String) {
        match self {
            RoleOption::Flag(word) => word.print(out),
            RoleOption::Password(None) => out.push_str("PASSWORD NULL"),
            RoleOption::Password(Some(password)) => put!(out, "PASSWORD ", password),
            RoleOption::ValidUntil(time) => put!(out, "VALID UNTIL ", time),
            RoleOption::Limit(name, LimitValue::Number(value)) => put!(out, name, " LIMIT ", value),
            RoleOption::Limit(name, LimitValue::Text(value)) => put!(out, name, " LIMIT ", value),
            RoleOption::In(roles) => {
                out.push_str("IN ROLE ");
                list(out, roles);
            }
            RoleOption::Members(roles) => {
                out.push_str("ROLE ");
                list(out, roles);
            }
            RoleOption::Admins(roles) => {
                out.push_str("ADMIN ");
                list(out, roles);
            }
        }
    }
}

impl Print for PrivilegeItem {
    fn print(&self, out: &mut String) {
        match &self.name {
            Some(name) => name.print(out),
            None => out.push_str("ALL"),
        }
        in_parens(out, &self.columns);
    }
}

impl Print for GrantTarget {
    fn print(&self, out: &mut String) {
        if self.all_in_schemas {
            out.push_str("ALL ");
        }
        if let Some(kind) = &self.kind {
            kind.print(out);
            if !self.names.is_empty() {
                out.push_str(if self.all_in_schemas { " IN SCHEMA " } else { " " });
            }
        }
        list(out, &self.names);
    }
}

impl Print for Grant {
    fn print(&self, out: &mut String) {
        out.push_str(if self.revoke { "REVOKE " } else { "GRANT " });
        let of_roles = matches!(self.what, Granted::Roles(_));
        let option = if of_roles { "ADMIN OPTION" } else { "GRANT OPTION" };
        if self.revoke && self.option {
            put!(out, option, " FOR ");
        }
        match &self.what {
            Granted::Roles(roles) => list(out, roles),
            Granted::Privileges { privileges, on } => {
                match privileges.as_slice() {
                    [] => out.push_str("ALL"),
                    [PrivilegeItem { name: None, columns }] => {
                        out.push_str("ALL PRIVILEGES");
                        in_parens(out, columns);
                    }
                    some => list(out, some),
                }
                put!(out, " ON ", on);
            }
        }
        out.push_str(if self.revoke { " FROM " } else { " TO " });
        list(out, &self.roles);
        if !self.revoke && self.option {
            put!(out, " WITH ", option);
        }
        clause(out, "GRANTED BY", self.by.as_ref());
        cascade(out, self.cascade);
    }
}

impl Print for DefaultPrivileges {
    fn print(&self, out: &mut String) {
        out.push_str("ALTER DEFAULT PRIVILEGES ");
        if !self.roles.is_empty() {
            out.push_str("FOR ROLE ");
            list(out, &self.roles);
            out.push(' ');
        }
        if !self.schemas.is_empty() {
            out.push_str("IN SCHEMA ");
            list(out, &self.schemas);
            out.push(' ');
        }
        self.grant.print(out);
    }
}

impl Print for DefinePolicy {
    fn print(&self, out: &mut String) {
        out.push_str(if self.alter { "ALTER" } else { "CREATE" });
        put!(out, " POLICY ", self.name, " ON ", self.table);
        clause(out, "RENAME TO", self.rename.as_ref());
        clause(out, "AS", self.kind.as_ref());
        clause(out, "FOR", self.command.as_ref());
        if !self.roles.is_empty() {
            out.push_str(" TO ");
            list(out, &self.roles);
        }
        for (word, condition) in [("USING", &self.using), ("WITH CHECK", &self.check)] {
            word_if(out, condition.is_some(), word);
            if let Some(condition) = condition {
                put!(out, " (", condition, ")");
            }
        }
    }
}
