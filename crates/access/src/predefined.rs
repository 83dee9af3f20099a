//! Roles that every database has. They cannot log in, be changed or be dropped, and are not written to disk; a role
//! gets what one of them may by being made its member.

use crate::RoleId;

/// A role that every database has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Predefined {
    /// Reads all tables, views and sequences.
    ReadAllData = 6181,
    /// Changes the rows of all tables.
    WriteAllData = 6182,
    /// Sees what others run, have run and have set.
    Monitor = 3373,
    /// Stops, pauses and steers what others run.
    SignalBackend = 4200,
    /// Reads files of the machine.
    ReadServerFiles = 4569,
    /// Writes files of the machine.
    WriteServerFiles = 4570,
    /// Checkpoints.
    Checkpoint = 4544,
    /// Reaches object stores and web servers.
    Network = 9001,
    /// Makes, drops and uses secrets.
    Secrets = 9002,
    /// Calls functions that the host program has registered.
    HostFunctions = 9003,
    /// Changes settings of the whole process.
    Settings = 9004,
    /// Makes benchmark data and asks the advisor, which take as much of the machine as there is.
    Resources = 9005,
}

impl Predefined {
    /// All of them.
    pub const ALL: [Predefined; 12] = [
        Self::ReadAllData,
        Self::WriteAllData,
        Self::Monitor,
        Self::SignalBackend,
        Self::ReadServerFiles,
        Self::WriteServerFiles,
        Self::Checkpoint,
        Self::Network,
        Self::Secrets,
        Self::HostFunctions,
        Self::Settings,
        Self::Resources,
    ];

    /// Its number: PostgreSQL's where PostgreSQL has the role.
    pub fn id(self) -> RoleId {
        RoleId(self as u32)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadAllData => "pg_read_all_data",
            Self::WriteAllData => "pg_write_all_data",
            Self::Monitor => "pg_monitor",
            Self::SignalBackend => "pg_signal_backend",
            Self::ReadServerFiles => "pg_read_server_files",
            Self::WriteServerFiles => "pg_write_server_files",
            Self::Checkpoint => "pg_checkpoint",
            Self::Network => "quickstep_network",
            Self::Secrets => "quickstep_secrets",
            Self::HostFunctions => "quickstep_host_functions",
            Self::Settings => "quickstep_settings",
            Self::Resources => "quickstep_resources",
        }
    }

    /// What its members may do.
    pub fn about(self) -> &'static str {
        match self {
            Self::ReadAllData => "read all tables, views and sequences",
            Self::WriteAllData => "insert, update and delete rows of all tables",
            Self::Monitor => "see statements, history and settings of others",
            Self::SignalBackend => "cancel, pause and steer statements of others",
            Self::ReadServerFiles => "read files of the server's machine",
            Self::WriteServerFiles => "write files of the server's machine",
            Self::Checkpoint => "run CHECKPOINT",
            Self::Network => "read and write addresses such as s3:// and https://",
            Self::Secrets => "create, list, drop and use secrets",
            Self::HostFunctions => "call functions that the host program has registered",
            Self::Settings => "change settings of the whole process",
            Self::Resources => "generate benchmark data, ask the advisor, reorganize",
        }
    }

    /// By name.
    pub fn named(name: &str) -> Option<Predefined> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }

    /// By number.
    pub fn of(id: RoleId) -> Option<Predefined> {
        Self::ALL.into_iter().find(|role| role.id() == id)
    }
}
