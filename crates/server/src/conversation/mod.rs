//! A conversation with a client that was let in: its session, and the protocol's states.
//!
//! ```text
//!            Query ----------------------> statements, ReadyForQuery
//!   ready    Parse, Bind, Describe, ... -> answers are gathered
//!    ^  |        | an error: skipping, all is passed over up to Sync
//!    |  |    Sync: what the pipeline has done is committed or taken back, ReadyForQuery, all is sent
//!    +--+    Flush: what was gathered is sent
//! ```
//! One ReadyForQuery answers each Query and each Sync, whatever happened. Messages of COPY that come outside of one
//! are passed over: a client may send them before it knows that its COPY has failed. Everything here runs on a thread of
//! the executor and takes turns with the task that owns the socket (`link`).

mod copy;
mod extended;
mod output;
mod parameters;
mod rows;
mod simple;
mod wire_copy;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use engine::{Session, SessionSignal};
use pgproto::TransactionStatus;
use pgproto::backend::{Authentication, Severity};
use pgproto::frontend::{self, Frontend};
use types::{Error, Result, SqlState};

use crate::cancel_keys::CancelKey;
use crate::link::{FAULT, Frame, Link};
use crate::server::{self, Shared};
use crate::startup::Login;
use copy::{ClientStreams, CopyState};
use extended::{Portal, Prepared};
use output::Output;
use parameters::Reported;

/// What came of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The unit of work goes on.
    Within,
    /// Its answer is complete.
    UnitDone,
    /// The connection ends.
    Ended,
}

/// A client's session and what the protocol remembers of it.
pub struct Conversation {
    session: Arc<Session>,
    link: Arc<Link>,
    shared: Arc<Shared>,
    output: Arc<Output>,
    copy: Arc<Mutex<CopyState>>,
    statements: HashMap<String, Arc<Prepared>>,
    portals: HashMap<String, Portal>,
    /// An error was told: messages up to Sync are passed over.
    skipping: bool,
    /// A statement of the pipeline that is open was bound.
    pipelined: bool,
    reported: Reported,
    /// It is forgotten with the conversation.
    _key: CancelKey,
}

impl Conversation {
    /// Makes a session for a client and greets it; `None` when it was told why not.
    pub fn open(shared: &Arc<Shared>, link: &Arc<Link>, login: Login) -> Option<Conversation> {
        let output = Arc::new(Output::new(link, shared));
        let opened = Self::begin(shared, link, &output, &login);
        if let Err(error) = &opened {
            if let Some(audit) = shared.audit() {
                audit.refused(&login.role, &login.client, error);
            }
            output.messages().report(Severity::Fatal, error, "");
        }
        output.send();
        opened.ok()
    }

    fn begin(
        shared: &Arc<Shared>,
        link: &Arc<Link>,
        output: &Arc<Output>,
        login: &Login,
    ) -> Result<Conversation> {
        let session = Arc::new(server::session(shared, &login.role, &login.settings)?);
        let (streams, copy) = ClientStreams::new(link, shared, output);
        session.set_copy_streams(streams);
        let lending = Arc::downgrade(link);
        link.cancel.watch(&session, move || {
            if let Some(link) = lending.upgrade() {
                link.direct.tick();
            }
        });
        let signalled = Arc::downgrade(link);
        session.set_client(login.client.clone(), move |signal| {
            let Some(link) = signalled.upgrade() else { return false };
            match signal {
                SessionSignal::Cancel => link.cancel(),
                SessionSignal::Terminate => {
                    link.terminated.notify_one();
                    link.direct.recall();
                    true
                }
            }
        });
        session.tell_login();
        let key = shared.keys.add(link, session.process(), login.version.cancel_key_bytes());
        let key = key.map_err(|error| Error::internal(format!("no random bytes: {error}")))?;
        let mut reported = Reported::default();
        let mut out = output.messages();
        out.authentication(Authentication::Ok);
        reported.report(&session, &mut out);
        out.backend_key_data(key.process, &key.secret);
        out.ready_for_query(TransactionStatus::Idle);
        drop(out);
        Ok(Conversation {
            session,
            link: link.clone(),
            shared: shared.clone(),
            output: output.clone(),
            copy,
            statements: HashMap::new(),
            portals: HashMap::new(),
            skipping: false,
            pipelined: false,
            reported,
            _key: key,
        })
    }

    /// Whether its work is done even when the queue of statements is full: others may wait for its transaction's end.
    pub fn is_urgent(&self) -> bool {
        self.session.transaction_status() != engine::TransactionStatus::Idle
    }

    /// Handles a message.
    pub fn handle(&mut self, frame: Frame) -> Flow {
        self.link.cancel.begin_within();
        if frame.kind == FAULT {
            let fault = String::from_utf8_lossy(&frame.bytes).into_owned();
            return self.fatal(&Error::new(SqlState::ProtocolViolation, fault));
        }
        // Outside of COPY its messages mean nothing.
        if matches!(frame.kind, b'd' | b'c' | b'f') || (self.skipping && frame.kind != b'S') {
            return Flow::Within;
        }
        match (frontend::decode(&frame.bytes), frame.kind) {
            (Ok(message), _) => self.message(message),
            (Err(error), b'Q' | b'F') => {
                self.report(&error, "");
                self.ready(false)
            }
            (Err(error), b'S') => {
                self.report(&error, "");
                self.sync()
            }
            (Err(error), _) => self.failed(&error, ""),
        }
    }

    fn message(&mut self, message: Frontend<'_>) -> Flow {
        match message {
            Frontend::Query(text) => self.query(text),
            Frontend::Parse(parse) => self.in_pipeline(parse.query, |this| this.parse(&parse)),
            Frontend::Bind(bind) => self.in_pipeline("", |this| this.bind(&bind)),
            Frontend::Describe(target, name) => self.in_pipeline("", |this| this.describe(target, name)),
            Frontend::Execute(portal, rows) => self.in_pipeline("", |this| this.execute(portal, rows)),
            Frontend::Close(target, name) => self.in_pipeline("", |this| this.close(target, name)),
            Frontend::Flush => {
                self.output.send();
                Flow::Within
            }
            Frontend::Sync => self.sync(),
            Frontend::FunctionCall => {
                self.report(&frontend::function_call_refused(), "");
                self.ready(false)
            }
            Frontend::Password(_) => {
                let error = Error::new(SqlState::ProtocolViolation, "nobody has asked for a password");
                self.fatal(&error)
            }
            Frontend::CopyData(_) | Frontend::CopyDone | Frontend::CopyFail(_) => Flow::Within,
            Frontend::Terminate => Flow::Ended,
        }
    }

    /// Tells that there is no room for another statement, if a message would begin one. True when the unit is answered.
    pub fn refuse(&mut self, frame: &Frame) -> bool {
        let error = || {
            Error::new(SqlState::ConfigurationLimitExceeded, "too many statements wait to be executed")
                .with_hint("try again later, or raise queued_statements_max")
        };
        match frame.kind {
            b'Q' | b'F' => {
                self.report(&error(), "");
                self.ready(false);
                true
            }
            b'S' => {
                if !std::mem::take(&mut self.skipping) {
                    self.report(&error(), "");
                }
                self.ready(false);
                true
            }
            _ => {
                if !self.skipping && !matches!(frame.kind, b'd' | b'c' | b'f' | b'H') {
                    self.failed(&error(), "");
                    self.output.send();
                }
                false
            }
        }
    }

    /// Does what a message of the extended protocol asks for.
    fn in_pipeline(&mut self, text: &str, work: impl FnOnce(&mut Self) -> Result<()>) -> Flow {
        match work(self) {
            Ok(()) => Flow::Within,
            Err(error) => self.failed(&error, text),
        }
    }

    /// Tells an error of the extended protocol.
    fn failed(&mut self, error: &Error, text: &str) -> Flow {
        self.report(error, text);
        self.skipping = true;
        Flow::Within
    }

    fn report(&mut self, error: &Error, text: &str) {
        self.output.messages().report(Severity::Error, error, text);
    }

    /// Ends a unit of work: what it has done is kept, or taken back.
    fn ready(&mut self, commit: bool) -> Flow {
        // What ends here is not what was cancelled.
        self.link.cancel.told();
        self.pipelined = false;
        // What was not to be kept has had its error.
        if let Err(error) = self.session.end_implicit(commit)
            && commit
        {
            self.report(&error, "");
        }
        if self.session.transaction_status() == engine::TransactionStatus::Idle {
            self.portals.clear();
        }
        let status = match self.session.transaction_status() {
            engine::TransactionStatus::Idle => TransactionStatus::Idle,
            engine::TransactionStatus::InBlock => TransactionStatus::InTransaction,
            engine::TransactionStatus::Failed => TransactionStatus::Failed,
        };
        let mut out = self.output.messages();
        self.reported.report_changes(&self.session, &mut out);
        out.ready_for_query(status);
        drop(out);
        // First it is over, then the client knows it: what it cancels afterwards is not this.
        self.link.cancel.end();
        if self.link.inbox.has_frames() {
            self.link.cancel.begin();
        }
        self.output.send();
        Flow::UnitDone
    }

    /// Tells what a statement did not do as it was told.
    fn warn(&self, warning: Option<&str>) {
        let Some(warning) = warning.filter(|_| self.session.sends_notices().0) else { return };
        self.output.messages().notice(Severity::Warning, "01000", warning, None);
    }

    fn fatal(&mut self, error: &Error) -> Flow {
        self.output.messages().report(Severity::Fatal, error, "");
        self.output.send();
        Flow::Ended
    }
}
