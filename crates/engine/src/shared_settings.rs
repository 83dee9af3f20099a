//! Setting what all sessions share: how work is scheduled, and how memory and files are used.
//!
//! Each function takes a setting's name and value, `None` for the default, and says whether the setting is one of its
//! own; `Session::set` asks one after the other.

use files::DirectReads;
use files::packed::Packing;
use types::{Error, Result, SqlState};

use crate::placement::WorkerAffinity;
use crate::session::Session;
use crate::{settings, traces};

fn invalid(setting: &str, value: &str, expected: &str) -> Error {
    Error::new(
        SqlState::InvalidParameterValue,
        format!("invalid value for setting \"{setting}\": \"{value}\""),
    )
    .with_hint(expected)
}

impl Session {
    /// Sets workers, where they run, and which query goes first.
    pub(crate) fn set_of_work(&self, name: &str, value: Option<&str>) -> Result<bool> {
        match name {
            "workers" => {
                let workers = match value {
                    Some(text) => text
                        .trim()
                        .parse()
                        .map_err(|_| invalid("workers", text, "expected a number from 1 to 1024"))?,
                    None => self.database.shared.opened_with.1,
                };
                self.database.set_workers(workers)?;
            }
            "worker_affinity" => {
                let name = value.unwrap_or("none").trim().to_ascii_lowercase();
                let affinity = WorkerAffinity::from_name(&name)
                    .ok_or_else(|| invalid("worker_affinity", &name, "expected none, cores or nodes"))?;
                self.database.set_worker_affinity(affinity);
            }
            "node_scheduling" => {
                let name = value.unwrap_or("stealing").trim().to_ascii_lowercase();
                let mode = scheduler::NodeScheduling::from_name(&name)
                    .ok_or_else(|| invalid("node_scheduling", &name, "expected stealing, strict or off"))?;
                self.database.set_node_scheduling(mode);
            }
            "policy" => {
                let name = value.unwrap_or("priority").trim().to_ascii_lowercase();
                let policy = scheduler::policy(&name)
                    .ok_or_else(|| invalid("policy", &name, "expected priority, fair or proportional"))?;
                self.database.shared.scheduler.set_policy(policy);
            }
            "active_queries" => {
                let queries = match value.map(str::trim) {
                    None | Some("auto") => None,
                    Some(text) => Some(text.parse().ok().filter(|n| *n >= 1).ok_or_else(|| {
                        invalid("active_queries", text, "expected a number of queries from 1, or auto")
                    })?),
                };
                self.database.shared.scheduler.set_active_queries_max(queries);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Sets the limit of memory, what is kept in it, and how files are read and written.
    pub(crate) fn set_of_storage(&self, name: &str, value: Option<&str>) -> Result<bool> {
        match name {
            "memory_limit" => {
                let bytes = match value {
                    Some(text) => settings::parse_bytes(text).filter(|b| *b >= 1 << 20).ok_or_else(|| {
                        invalid("memory_limit", text, "expected a size of at least 1MB, such as '8GB'")
                    })?,
                    None => self.database.shared.opened_with.0,
                };
                self.database.set_memory_limit(bytes);
            }
            "temp_directory" => {
                let environment = self.environment();
                value.map_or(Ok(()), |folder| environment.capability().file_to_write(folder))?;
                self.database.set_temp_directory(value)?;
            }
            "trace_memory" => {
                let bytes = match value {
                    None => traces::HISTORY_BYTES,
                    Some(text) => settings::parse_bytes(text).ok_or_else(|| {
                        invalid("trace_memory", text, "expected a size such as '32MB'; 0 keeps no traces")
                    })?,
                };
                self.database.shared.seen.history.set_bytes_max(bytes);
            }
            "replacement" => {
                let name = value.unwrap_or("lru");
                let policy = pool::replacement(name).ok_or_else(|| {
                    invalid("replacement", name, "expected lru-1, lru-2, lru-3, lru-4 or random")
                })?;
                self.database.shared.pool.set_replacement(policy);
            }
            "file_compression" => {
                let name = value.map_or("fast", str::trim);
                let packing = Packing::from_name(name)
                    .ok_or_else(|| invalid("file_compression", name, "expected none, fast or small"))?;
                self.database.shared.stores().iter().for_each(|store| store.set_packing(packing));
            }
            "direct_reads" => {
                let name = value.map_or("auto", str::trim);
                let reads = DirectReads::from_name(name)
                    .ok_or_else(|| invalid("direct_reads", name, "expected auto, on or off"))?;
                self.database.shared.stores().iter().for_each(|store| store.set_direct_reads(reads));
            }
            "simd" => {
                let level = match value.map(str::trim) {
                    None | Some("auto") => None,
                    Some(text) => Some(
                        simd::Level::from_name(text)
                            .ok_or_else(|| invalid("simd", text, "expected auto, avx512, avx2 or scalar"))?,
                    ),
                };
                simd::set_level(level);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}
