//! A session records what it is asked.

use std::sync::{MutexGuard, PoisonError};
use std::time::Instant;

use catalog::TableId;
use plan::Statement;
use types::{Type, Value};

use super::{Example, Running, TEXT_BYTES_MAX};
use crate::Session;

impl Session {
    /// To be called before a planned statement runs; `None` when it is nothing to record.
    pub(crate) fn begin_record(
        &self,
        planned: &Statement,
        text: &str,
        parameters: &[(Value, Type)],
    ) -> Option<Running> {
        match planned {
            Statement::Query(_)
            | Statement::ChangingQuery(_)
            | Statement::Modify(_)
            | Statement::Insert { .. }
            | Statement::CreateTableAs { .. }
            | Statement::CopyTo { .. } => self.begin_record_of(text, parameters),
            Statement::Execute { name, arguments } => {
                let text = self.prepared().get(name).cloned();
                self.begin_record_of(&text?.text, arguments)
            }
            _ => {
                self.scanned().clear();
                None
            }
        }
    }

    /// As `begin_record`, of a text that is to be recorded.
    pub(crate) fn begin_record_of(&self, text: &str, parameters: &[(Value, Type)]) -> Option<Running> {
        self.scanned().clear();
        let path = {
            let settings = self.settings();
            if !settings.keeps.record_workload {
                return None;
            }
            settings.search_path.clone()
        };
        let bytes: usize = parameters.iter().map(|(value, _)| value.as_bytes().map_or(16, <[u8]>::len)).sum();
        (text.len().max(bytes) <= TEXT_BYTES_MAX).then(|| {
            let example = Example { text: text.to_owned(), parameters: parameters.to_vec(), path };
            Running { example, started: Instant::now() }
        })
    }

    /// To be called when the statement's plan is known: with the tables that it scans, if any.
    pub(crate) fn scanned_by(&self, running: Option<Running>) -> Option<(Running, Vec<TableId>)> {
        let tables = std::mem::take(&mut *self.scanned());
        running.filter(|_| !tables.is_empty()).map(|running| (running, tables))
    }

    /// Notes tables that the running statement scans.
    pub(crate) fn note_scanned(&self, tables: impl Iterator<Item = TableId>) {
        let mut scanned = self.scanned();
        for table in tables {
            if !scanned.contains(&table) {
                scanned.push(table);
            }
        }
    }

    fn scanned(&self) -> MutexGuard<'_, Vec<TableId>> {
        self.scanned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
