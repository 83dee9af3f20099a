//! Query: a text of any number of statements, which are one transaction unless they say otherwise.

use engine::ScriptStatement;
use types::Result;

use super::wire_copy::WireCopy;
use super::{Conversation, Flow, copy};

impl Conversation {
    /// Answers a Query.
    pub(super) fn query(&mut self, text: &str) -> Flow {
        // As in PostgreSQL, it takes the places of the unnamed statement and portal.
        self.statements.remove("");
        self.portals.remove("");
        let outcome = self.script(text);
        if let Err(error) = &outcome {
            self.report(error, text);
        }
        self.ready(outcome.is_ok())
    }

    fn script(&mut self, text: &str) -> Result<()> {
        let statements = self.session.script(text)?;
        if statements.is_empty() {
            self.output.messages().empty_query_response();
            return Ok(());
        }
        for (at, statement) in statements.iter().enumerate() {
            if statements.len() > 1 {
                self.session.begin_implicit();
            }
            let is_last = at + 1 == statements.len();
            let tag = self.statement(text, statement, statements.len() == 1)?;
            if is_last {
                // The client is not told of success before it is one.
                self.link.cancel.told();
                self.session.end_implicit(true)?;
            }
            self.output.messages().command_complete(&tag);
        }
        Ok(())
    }

    /// Runs one statement, sends its rows and gives its tag.
    fn statement(&mut self, text: &str, statement: &ScriptStatement, alone: bool) -> Result<String> {
        if let Some(copy) = statement.is_copy(text)?.then(|| WireCopy::of(statement.of(text))).flatten() {
            let outcome = self.wire_copy(&copy);
            return self.end_copy(outcome);
        }
        let outcome = self.session.run_of_script(text, statement, alone).and_then(|stream| {
            self.warn(stream.warning());
            match stream.has_rows() {
                true => self.send_all(stream),
                false => Ok(stream.tag().to_owned()),
            }
        });
        self.end_copy(outcome)
    }

    /// What is to be said when a statement that may have been a COPY has ended.
    pub(super) fn end_copy<T>(&self, outcome: Result<T>) -> Result<T> {
        let (writes, failure) = copy::ended(&self.copy);
        match (outcome, failure) {
            (Ok(value), _) => {
                if writes {
                    self.output.messages().copy_done();
                }
                Ok(value)
            }
            // The engine knows only that it could not read.
            (Err(_), Some(failure)) => Err(failure),
            (Err(error), None) => Err(error),
        }
    }
}
