//! A session begins a statement.

use std::sync::Arc;

use scheduler::{Query, QuerySpec};

use super::shortened;
use crate::Session;

impl Session {
    /// Begins a statement.
    pub(crate) fn begin_query(&self, text: &str) -> Arc<Query> {
        let limits = self.limits();
        let settings = self.settings();
        let priority_max = limits.priority.map_or(u32::MAX, |max| u32::try_from(max).unwrap_or(u32::MAX));
        let spec = QuerySpec {
            account: Some(self.account.clone()),
            session: self.number,
            text: Arc::from(shortened(sql::secrets::masked(text).trim().trim_end_matches(';').trim_end())),
            role: settings.role.clone(),
            priority: settings.priority.min(priority_max),
            workers_max: settings.query_workers.unwrap_or(workorder::WORKERS_MAX),
            memory_max: settings.query_bytes.unwrap_or(u64::MAX).min(limits.memory_bytes.unwrap_or(u64::MAX)),
            cancel: self.cancel_token(),
        };
        drop(settings);
        let query = self.database.shared.scheduler.begin(spec);
        self.last_query.store(query.id().0, std::sync::atomic::Ordering::Release);
        query
    }
}
