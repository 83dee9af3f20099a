//! The foreman's part in what sessions and queries tell it: it takes their messages from the mailbox and carries them out
//! (`messages.rs`), and answers what its queries ask (`overseer.rs`).

use std::sync::Arc;

use bus::ReceiveOptions;
use workorder::QueryId;

use crate::foreman::Foreman;
use crate::lock::lock;
use crate::messages::{BATCH, Control, Mailbox};
use crate::overseer::Overseer;
use crate::policy::{POLICIES, policy};

impl Foreman {
    /// Sends a message, and returns when it was carried out.
    pub(crate) fn tell(self: &Arc<Self>, control: Control) {
        match &self.mailbox {
            Some(mailbox) if mailbox.send(control) => self.attend(mailbox),
            _ => self.carry_out(control),
        }
    }

    fn attend(self: &Arc<Self>, mailbox: &Mailbox) {
        let options = ReceiveOptions::batch(BATCH).deleting();
        let mut received = lock(&mailbox.received);
        loop {
            received.clear();
            if !matches!(mailbox.bus.receive(mailbox.foreman, &options, &mut received), Ok(1..)) {
                return;
            }
            for control in received.iter().filter_map(|message| Control::decoded(&message.body)) {
                self.carry_out(control);
            }
        }
    }

    fn carry_out(self: &Arc<Self>, control: Control) {
        match control {
            Control::Arrived(id) => return self.admission.admit(id, self.now()),
            Control::Left(id) => return self.admission.leave(id, self.now()),
            _ => {}
        }
        if let Some(id) = control.query() {
            // One that has ended meanwhile needs nothing.
            if let Some(query) = self.admission.query(id) {
                query.obey(control);
            }
            return;
        }
        match control {
            Control::Policy(at) => {
                let named = usize::try_from(at).ok().and_then(|at| POLICIES.get(at));
                if let Some(policy) = named.and_then(|name| policy(name)) {
                    self.apply_policy(policy);
                }
            }
            Control::Workers(workers) => self.set_workers(workers as usize),
            Control::ActiveQueriesMax(queries) => {
                self.admission.set_limits(self.now(), |limits| limits.active_max = queries as usize);
            }
            Control::Memory(bytes) => self.admission.set_limits(self.now(), |limits| limits.memory = bytes),
            Control::Completed(orders) => self.admission.completed(orders, self.now()),
            _ => {}
        }
    }
}

impl Overseer for Foreman {
    fn tell(self: Arc<Self>, control: Control) {
        Foreman::tell(&self, control);
    }

    fn pause_changed(&self, query: QueryId, paused: bool) {
        self.admission.set_paused(query, paused, self.now());
    }

    fn rows_flow(&self, query: QueryId) {
        self.admission.set_exempt(query, self.now());
    }

    fn priority_changed(&self, query: QueryId, priority: u32) {
        self.admission.set_priority(query, priority, self.now());
    }

    fn recount(&self) {
        Foreman::recount(self);
    }

    fn wake(self: Arc<Self>, hands: usize) {
        Foreman::wake(&self, hands);
    }

    fn now(&self) -> u64 {
        Foreman::now(self)
    }

    fn thread_bytes(&self) -> i64 {
        Foreman::thread_bytes(self)
    }

    fn node(&self) -> Option<usize> {
        self.nodes.near().own()
    }

    fn begin_unadmitted(&self) -> bool {
        self.admission.begin_unadmitted()
    }

    fn end_unadmitted(&self) {
        self.admission.end_unadmitted();
    }

    fn workers(&self) -> usize {
        self.worker_slots.limit()
    }
}
