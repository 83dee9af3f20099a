//! What a statement uses of which relation, for the check of privileges.
//!
//! Every mention of a column in an expression goes through [`Binder::column`], which marks it; what merely hands columns
//! on uses [`Binder::passed`] and does not. A view's query is bound in a context of its own, under the role that owns
//! the view: a column may have one id inside and outside of it, and is marked in each context by itself. `finish` asks
//! the engine about each relation that was read, with the columns that were marked in its context. A mark too many can
//! deny what might be allowed; a mark too few is not possible while expressions get columns from `column` alone.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::Rc;

use access::{PolicyCommand, Privilege, RoleId};
use plan::{ColumnId, Expr, LogicalPlan};
use syntax::Span;
use types::{Error, Result};

use super::expression::{Clause, ExprBinder, operator};
use super::scope::{Entry, Scope};
use super::{Binder, Relation};
use crate::RelationInfo;
pub use crate::relations::Used;

/// One use of a relation.
struct Use {
    context: u32,
    role: Option<RoleId>,
    used: Used,
    columns: Vec<(Rc<str>, ColumnId)>,
    /// Read even if none of its columns is: its rows are counted.
    always: bool,
}

/// The uses of a statement that is being bound.
#[derive(Default)]
pub(crate) struct Uses {
    marked: RefCell<HashSet<(u32, ColumnId)>>,
    uses: RefCell<Vec<Use>>,
    context: Cell<u32>,
    contexts: Cell<u32>,
    role: Cell<Option<RoleId>>,
}

/// The context around a view, to be gone back to.
pub(crate) struct Around {
    context: u32,
    role: Option<RoleId>,
    own_names: bool,
}

impl Binder<'_> {
    /// A column as an expression of its type, which counts as read.
    pub fn column(&self, id: ColumnId) -> Expr {
        self.mark(id);
        self.columns.expr(id)
    }

    /// A column that is handed on as it is.
    pub fn passed(&self, id: ColumnId) -> Expr {
        self.columns.expr(id)
    }

    /// A column counts as read.
    pub(crate) fn mark(&self, id: ColumnId) {
        self.uses.marked.borrow_mut().insert((self.uses.context.get(), id));
    }

    /// A relation is read; with `always` even where none of its columns is.
    pub(crate) fn note_use(&self, used: Used, relation: &Relation, always: bool) {
        let (context, role) = (self.uses.context.get(), self.uses.role.get());
        let columns = relation.columns.clone();
        self.uses.uses.borrow_mut().push(Use { context, role, used, columns, always });
    }

    /// The role under which what is bound now is checked; `None` is the session's.
    pub(crate) fn checked_role(&self) -> Option<RoleId> {
        self.uses.role.get()
    }

    /// From here on a view's query is bound, under its owner's privileges.
    pub(crate) fn enter_view(&self, owner: RoleId) -> Around {
        let own_names = self.relations.hide_own_names(owner);
        let around = Around { context: self.uses.context.get(), role: self.uses.role.get(), own_names };
        self.uses.contexts.set(self.uses.contexts.get() + 1);
        self.uses.context.set(self.uses.contexts.get());
        self.uses.role.set(Some(owner));
        around
    }

    /// From here on a part is bound in which columns are counted by themselves, under the same role.
    pub(crate) fn enter_part(&self) -> Around {
        let own_names = self.relations.own_names();
        let around = Around { context: self.uses.context.get(), role: self.uses.role.get(), own_names };
        self.uses.contexts.set(self.uses.contexts.get() + 1);
        self.uses.context.set(self.uses.contexts.get());
        around
    }

    /// The view's query, or the part, is bound.
    pub(crate) fn leave_view(&self, around: Around) {
        self.uses.context.set(around.context);
        self.uses.role.set(around.role);
        self.relations.show_own_names(around.own_names);
    }

    /// A scan of a table with the rows alone that its row policies let pass for a command.
    ///
    /// What the statement does with the rows must not run before the policy has decided: a division by a value that may
    /// not be seen would tell of it by its error. So the rows that pass are computed before the query, as those of a
    /// materialized common table expression are, and nothing is pushed below that.
    pub(crate) fn rows_let_pass(
        &mut self,
        info: &RelationInfo,
        relation: Relation,
        command: PolicyCommand,
    ) -> Result<Relation> {
        let role = self.checked_role();
        let Some(policy) = self.relations.row_policy(info.id, command, role)? else { return Ok(relation) };
        let entry = |(name, id): &(Rc<str>, ColumnId)| Entry {
            table: Some(info.name.as_str().into()),
            schema: None,
            name: name.clone(),
            id: *id,
            plain: true,
            hidden: false,
        };
        let mut scope = Scope::new(None);
        scope.entries = relation.columns.iter().map(entry).collect();
        let around = self.enter_view(policy.owner);
        self.uses.role.set(role);
        let condition = self.policy_condition(&info.name, &policy.condition, scope);
        self.leave_view(around);
        let predicate = condition?;
        let plan = LogicalPlan::Filter { input: Box::new(relation.plan), predicate };
        Ok(Relation { plan: self.rows_of_one_run(plan)?, columns: relation.columns })
    }

    fn policy_condition(&mut self, table: &str, text: &str, scope: Scope) -> Result<Expr> {
        // Parameters and subqueries are those of the statement, and none of the policy's business.
        let (values, subqueries) = (std::mem::take(&mut self.values), self.subqueries.len());
        let path = self.relations.search_in(vec![]);
        let mut binder = ExprBinder::new(self, Rc::new(scope), Clause::Values);
        let what = format!("a row policy of table \"{table}\"");
        let bound = binder.bind_inside(what, format!("SELECT {text}"), Span::default());
        let pending = !binder.pending.is_empty();
        self.relations.search_in(path);
        self.values = values;
        let bound = bound?;
        if pending || self.subqueries.len() > subqueries {
            return Err(Error::unsupported("a row policy cannot hold a subquery"));
        }
        super::check_depth(&bound.expr)?;
        let condition = operator::condition(bound, "a row policy", self.text)?;
        Ok(super::expression::fold::fold(condition))
    }

    /// Asks about every relation that is read.
    pub(crate) fn check_uses(&self) -> Result<()> {
        let marked = self.uses.marked.borrow();
        for Use { context, role, used, columns, always } in self.uses.uses.borrow().iter() {
            let read: Vec<&str> = columns
                .iter()
                .filter(|(_, id)| marked.contains(&(*context, *id)))
                .map(|(name, _)| &**name)
                .collect();
            if *always || !read.is_empty() {
                self.relations.check_use(used, Privilege::Select, &read, *role)?;
            }
        }
        Ok(())
    }
}
