//! Addresses, and how sockets are tuned.
//!
//! Of all options of TCP the paper found only SACK to help, which is on by default and stays so. What is set here: no
//! delay, so that permits leave at once; the buffers, for at least twice the bandwidth-delay product; the limit for unsent
//! bytes; and the times after which a silent link is an error, which together with pings stay below five seconds.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use socket2::{SockAddr, Socket, TcpKeepalive};

use crate::error::NetworkError;

/// Where a node listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A TCP port.
    Tcp(SocketAddr),
    /// A path of this machine.
    Unix(PathBuf),
}

impl Address {
    /// Whether other machines can reach it.
    pub fn is_exposed(&self) -> bool {
        matches!(self, Address::Tcp(address) if !address.ip().is_loopback())
    }

    pub(super) fn as_socket_address(&self) -> Result<SockAddr, NetworkError> {
        match self {
            Address::Tcp(address) => Ok(SockAddr::from(*address)),
            Address::Unix(path) => SockAddr::unix(path).map_err(|error| NetworkError::System {
                what: "a path of a socket",
                cause: error.to_string(),
            }),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => write!(f, "{address}"),
            Address::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Whether a listener that other machines can reach is meant to be there without authentication of the links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposure {
    /// Only loopback addresses and paths.
    Loopback,
    /// Any address: the user has said so.
    Meant,
}

/// How sockets are set.
#[derive(Clone, Debug)]
pub struct SocketOptions {
    /// Connections for each direction of a pair; more than one only where one stream does not fill the link.
    pub streams: usize,
    /// Send buffer in bytes; none: the system's choice, which grows with need.
    pub send_buffer: Option<usize>,
    /// Receive buffer in bytes, likewise.
    pub receive_buffer: Option<usize>,
    /// Between processes of one machine, over Unix sockets: messages lie in shared memory, 4 slots for each directed pair.
    pub shared_memory: bool,
    /// Bytes that may wait in the kernel unsent.
    pub unsent: u32,
    /// Congestion control by name; none: the system's.
    pub congestion: Option<String>,
    /// Sent bytes that nobody acknowledges for so long end the connection.
    pub user_timeout: Duration,
    /// How long a peer may take to come up.
    pub connect_within: Duration,
}

impl Default for SocketOptions {
    fn default() -> Self {
        SocketOptions {
            streams: 1,
            send_buffer: None,
            receive_buffer: None,
            shared_memory: false,
            unsent: 128 << 10,
            congestion: None,
            user_timeout: Duration::from_secs(3),
            connect_within: Duration::from_secs(10),
        }
    }
}

impl SocketOptions {
    fn set<T>(what: &'static str, result: std::io::Result<T>) -> Result<T, NetworkError> {
        result.map_err(|error| NetworkError::System { what, cause: error.to_string() })
    }

    /// Buffers: of a listener too, since they are inherited and scale the window at the handshake.
    pub(super) fn apply_buffers(&self, socket: &Socket) -> Result<(), NetworkError> {
        if let Some(bytes) = self.send_buffer {
            Self::set("a send buffer", socket.set_send_buffer_size(bytes))?;
        }
        if let Some(bytes) = self.receive_buffer {
            Self::set("a receive buffer", socket.set_recv_buffer_size(bytes))?;
        }
        Ok(())
    }

    pub(super) fn apply(&self, socket: &Socket, tcp: bool) -> Result<(), NetworkError> {
        self.apply_buffers(socket)?;
        if !tcp {
            return Ok(());
        }
        Self::set("TCP_NODELAY", socket.set_tcp_nodelay(true))?;
        Self::set("TCP_NOTSENT_LOWAT", socket.set_tcp_notsent_lowat(self.unsent))?;
        Self::set("TCP_USER_TIMEOUT", socket.set_tcp_user_timeout(Some(self.user_timeout)))?;
        let second = Duration::from_secs(1);
        let keepalive = TcpKeepalive::new().with_time(second).with_interval(second).with_retries(3);
        Self::set("keep-alive", socket.set_tcp_keepalive(&keepalive))?;
        if let Some(name) = &self.congestion {
            Self::set("congestion control", socket.set_tcp_congestion(name.as_bytes()))?;
        }
        Ok(())
    }
}
