//! The session's settings of a cluster: how many nodes, and how rows go between them.

use types::Result;

use crate::settings::invalid;

/// Most nodes that a process may have.
const NODES_MAX: u32 = 64;
const MESSAGE_BYTES: std::ops::RangeInclusive<u64> = 64 << 10..=1 << 20;

/// Name and meaning of each.
pub(crate) const MEANINGS: [(&str, &str); 5] = [
    ("cluster_nodes", "1 to 64: engines of this process that run each query together; 1 for this one alone"),
    (
        "cluster_transport",
        "memory or tcp: how rows go between the engines of one process, over shared memory and Unix sockets or over TCP on the loopback interface",
    ),
    ("cluster_message_size", "bytes of a message of rows between engines, 64KB to 1MB"),
    (
        "cluster_memory",
        "bytes of an engine's messages, sent and received together; auto: a sixteenth of memory_limit for all engines",
    ),
    (
        "cluster_small_size",
        "bytes up to which every engine reads the smaller side of a join as a whole; a quarter of it for groups that one engine puts together",
    ),
];

/// How messages go from node to node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    /// Unix sockets, with messages in shared memory.
    SharedMemory,
    /// TCP over the loopback interface.
    Tcp,
}

/// The settings, parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClusterSettings {
    pub nodes: u32,
    pub transport: Transport,
    pub message_bytes: usize,
    /// `None`: by the memory limit.
    pub memory_bytes: Option<usize>,
    /// What is so small is read by all nodes instead of being sent.
    pub small_bytes: u64,
}

impl Default for ClusterSettings {
    fn default() -> Self {
        ClusterSettings {
            nodes: 1,
            transport: Transport::SharedMemory,
            message_bytes: 128 << 10,
            memory_bytes: None,
            small_bytes: 256 << 10,
        }
    }
}

impl ClusterSettings {
    /// The value of a setting as text; `None` when it is another one's.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        Some(match name {
            "cluster_nodes" => self.nodes.to_string(),
            "cluster_transport" => match self.transport {
                Transport::SharedMemory => "memory".to_owned(),
                Transport::Tcp => "tcp".to_owned(),
            },
            "cluster_message_size" => self.message_bytes.to_string(),
            "cluster_memory" => self.memory_bytes.map_or("auto".to_owned(), |bytes| bytes.to_string()),
            "cluster_small_size" => self.small_bytes.to_string(),
            _ => return None,
        })
    }

    /// Sets a setting from text; `false` when it is another one's.
    pub(crate) fn set(&mut self, name: &str, text: &str) -> Result<bool> {
        let text = text.trim();
        match name {
            "cluster_nodes" => {
                let nodes = text.parse().ok().filter(|nodes| (1..=NODES_MAX).contains(nodes));
                self.nodes = nodes.ok_or_else(|| invalid(name, text, "a number from 1 to 64"))?;
            }
            "cluster_transport" => {
                self.transport = match text.to_ascii_lowercase().as_str() {
                    "memory" => Transport::SharedMemory,
                    "tcp" => Transport::Tcp,
                    _ => return Err(invalid(name, text, "memory or tcp")),
                };
            }
            "cluster_message_size" => {
                let bytes = crate::settings::parse_bytes(text).filter(|bytes| MESSAGE_BYTES.contains(bytes));
                let bytes = bytes.ok_or_else(|| invalid(name, text, "a size from 64KB to 1MB"))?;
                // Whole pages.
                self.message_bytes = (bytes as usize).next_multiple_of(4096);
            }
            "cluster_memory" => {
                self.memory_bytes = match text.eq_ignore_ascii_case("auto") {
                    true => None,
                    false => {
                        let bytes = crate::settings::parse_bytes(text).filter(|bytes| *bytes >= 1 << 20);
                        let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
                        Some(bytes.ok_or_else(|| invalid(name, text, "a size of at least 1MB, or auto"))?)
                    }
                };
            }
            "cluster_small_size" => {
                let bytes = crate::settings::parse_bytes(text);
                self.small_bytes = bytes.ok_or_else(|| invalid(name, text, "a size, such as 256KB"))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::SqlState;

    #[test]
    fn values_out_of_range_are_refused_with_what_is_expected() {
        let mut settings = ClusterSettings::default();
        for (name, text) in [
            ("cluster_nodes", "0"),
            ("cluster_nodes", "65"),
            ("cluster_transport", "pigeons"),
            ("cluster_message_size", "1KB"),
            ("cluster_memory", "12"),
        ] {
            let error = settings.set(name, text).expect_err("is refused");
            assert_eq!(error.state(), SqlState::InvalidParameterValue, "{name}");
        }
        assert!(settings.set("cluster_nodes", " 3 ").expect("is taken") && settings.nodes == 3);
        assert!(!settings.set("batch_rows", "3").expect("is another one's"));
    }
}
