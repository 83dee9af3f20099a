//! Sessions on the list of those that are open: how each comes on it and off, what it tells of itself there, and what
//! statements of others read of it and ask of it.
//!
//! No state of its own: `Listed` takes a session off the list when it ends; all else reads and changes the `Presence` of
//! the session, for a moment each time.

use std::collections::BTreeSet;
use std::sync::Arc;

use access::{Predefined, RoleId};
use types::{Result, Value};

use super::{
    ClientAddress, Configured, NamedRow, Presence, SessionSignal, SignalHook, TransactionStatus, locked,
};
use crate::access::Identity;
use crate::relations::SessionRelations;
use crate::{Database, Session};

/// A session's place on the list; off it when dropped.
pub(crate) struct Listed {
    database: Arc<crate::database::Shared>,
    number: u64,
}

impl Drop for Listed {
    fn drop(&mut self) {
        locked(&self.database.sessions.open).remove(&self.number);
    }
}

impl Session {
    /// Puts the session on the list of those that are open.
    pub(crate) fn listed(mut self) -> Session {
        let database = self.database.shared.clone();
        locked(&database.sessions.open).insert(self.number, Arc::downgrade(&self.presence));
        self.listed = Some(Listed { database, number: self.number });
        self
    }

    /// The number by which `pg_stat_activity` and `pg_cancel_backend` know the session, as clients know a process.
    pub fn process(&self) -> i32 {
        self.presence.process()
    }

    /// Says where the session's client is, and what takes the signals that other sessions give it.
    pub fn set_client(
        &self,
        client: ClientAddress,
        hook: impl Fn(SessionSignal) -> bool + Send + Sync + 'static,
    ) {
        locked(&self.presence.shown).client = Some(client);
        self.set_signals(hook);
    }

    /// Says what takes the signals that other sessions give this one. An order to end that came before is given now.
    pub fn set_signals(&self, hook: impl Fn(SessionSignal) -> bool + Send + Sync + 'static) {
        let hook: Arc<SignalHook> = Arc::new(hook);
        locked(&self.presence.shown).hook = Some(hook.clone());
        if self.is_terminated() {
            hook(SessionSignal::Terminate);
        }
    }

    /// Whether another session has told this one to end.
    pub fn is_terminated(&self) -> bool {
        self.presence.refuse_terminated().is_err()
    }

    /// Tells what the session is now.
    pub(crate) fn settle_presence(&self) {
        let status = self.transaction_status();
        let settings = self.settings();
        self.presence.settle(settings.identity, settings.client.application_name(), status);
    }

    /// Does what set_config was called for. Its values were checked then.
    pub(crate) fn apply_configured(&self) {
        for Configured { name, value, local } in self.presence.take_configured() {
            let value = value.as_deref();
            _ = if local { self.set_local(&name, value).map(drop) } else { self.set(&name, value).map(drop) };
        }
    }
}

/// Whether the session that asks is told all of another one.
fn may_see(relations: &SessionRelations, identity: Identity) -> bool {
    let (state, own) = (relations.snapshot().access().clone(), relations.session_settings().identity);
    state.may(own.current, Predefined::Monitor)
        || (state.has_role(identity.authenticated)
            && state.has_privileges_of(own.current, identity.authenticated))
}

fn moment(at: Option<i64>) -> Value {
    at.map_or(Value::Null, Value::I64)
}

fn oid(id: RoleId) -> Value {
    Value::I64(i64::from(id.0))
}

/// Rows of `pg_stat_activity`. Of a session of another role its existence, role and application are told to everybody,
/// the rest to who has that role's privileges or monitors.
pub(crate) fn activity(relations: &SessionRelations) -> Vec<NamedRow> {
    let Some(database) = relations.database() else { return vec![] };
    let state = relations.snapshot().access().clone();
    // A session whose rows are still asked for is inside of no call.
    let running: BTreeSet<u64> = database.queries().iter().map(|query| query.session).collect();
    let row = |presence: Arc<Presence>| {
        let shown = locked(&presence.shown);
        let mut row = vec![
            ("datid", Value::I64(i64::from(pgcatalog::database_oid()))),
            ("datname", Value::text(&database.shared.name)),
            ("pid", Value::I32(presence.process())),
            ("usesysid", oid(shown.identity.authenticated)),
            ("usename", Value::text(&state.name(shown.identity.authenticated))),
            ("application_name", Value::text(&shown.application)),
        ];
        if !may_see(relations, shown.identity) {
            row.push(("query", Value::text("<insufficient privilege>")));
            return row;
        }
        match &shown.client {
            Some(ClientAddress::Tcp(address)) => row.extend([
                ("client_addr", Value::text(&address.ip().to_string())),
                ("client_port", Value::I32(i32::from(address.port()))),
            ]),
            Some(ClientAddress::Unix) => row.push(("client_port", Value::I32(-1))),
            None => {}
        }
        let active = shown.active || running.contains(&presence.number);
        let name = match (active, shown.transaction) {
            (true, _) => "active",
            (false, TransactionStatus::Idle) => "idle",
            (false, TransactionStatus::InBlock) => "idle in transaction",
            (false, TransactionStatus::Failed) => "idle in transaction (aborted)",
        };
        let number = i64::try_from(shown.query_number).ok().filter(|number| *number > 0);
        row.extend([
            ("backend_start", Value::I64(presence.begun)),
            ("xact_start", moment(shown.transaction_start)),
            ("query_start", moment(shown.query_start)),
            ("state_change", Value::I64(shown.changed)),
            ("state", Value::text(name)),
            ("query_id", moment(number)),
            ("query", Value::text(&shown.query)),
            ("backend_type", Value::text("client backend")),
        ]);
        row
    };
    database.shared.sessions.all().into_iter().map(row).collect()
}

/// Rows of `pg_locks`. Statements read snapshots and wait for nobody: what a transaction holds is itself.
pub(crate) fn locks(relations: &SessionRelations) -> Vec<NamedRow> {
    let Some(database) = relations.database() else { return vec![] };
    let open = database.shared.sessions.all().into_iter();
    let works = open.filter(|presence| {
        let shown = locked(&presence.shown);
        shown.active || shown.transaction != TransactionStatus::Idle
    });
    let row = |presence: Arc<Presence>| {
        let process = presence.process();
        let number = locked(&presence.shown).query_number;
        let transaction = format!("{process}/{number}");
        vec![
            ("locktype", Value::text("virtualxid")),
            ("virtualxid", Value::text(&transaction)),
            ("virtualtransaction", Value::text(&transaction)),
            ("pid", Value::I32(process)),
            ("mode", Value::text("ExclusiveLock")),
            ("granted", Value::Bool(true)),
            ("fastpath", Value::Bool(true)),
        ]
    };
    works.map(row).collect()
}

/// pg_cancel_backend and pg_terminate_backend: who has the role's privileges may, and members of pg_signal_backend,
/// whom superusers' sessions do not obey. False where there is no such session.
pub(crate) fn signal(
    database: &Database,
    own: Identity,
    process: i32,
    signal: SessionSignal,
) -> Result<bool> {
    let Some(presence) = database.shared.sessions.of_process(process) else { return Ok(false) };
    let snapshot = database.shared.catalog.snapshot();
    let state = snapshot.access();
    let of = locked(&presence.shown).identity.authenticated;
    let what = match signal {
        SessionSignal::Cancel => "cancel a query",
        SessionSignal::Terminate => "terminate a session",
    };
    if state.is_superuser(of) && !state.is_superuser(own.current) {
        return Err(access::denied(format!("permission denied to {what} of a superuser"))
            .with_detail("only superusers may"));
    }
    let may = state.has_privileges_of(own.current, of) || state.may(own.current, Predefined::SignalBackend);
    if !may {
        return Err(access::denied(format!("permission denied to {what} of another role"))
            .with_detail("only members of the role and roles with privileges of \"pg_signal_backend\" may"));
    }
    presence.signal(signal);
    Ok(true)
}
