//! The socket of a connection, whatever kind it is, and TLS.
//!
//! [`Tls`] is read from the configuration's files at the start and on SIGHUP, once for both protocols, which differ in what
//! clients name by ALPN. A [`Transport`] is owned by its connection's task.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use engine::{ClientAddress, Error, Result, SqlState};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

use crate::config::TlsFiles;
use crate::end_point::end_point;

/// What a client that begins with TLS at once names as its protocol.
pub const ALPN: &[u8] = b"postgresql";

/// What HTTP's clients name as theirs, the one that is preferred first.
pub const ALPN_HTTP: [&[u8]; 2] = [ALPN_HTTP2, b"http/1.1"];
/// HTTP/2 among them.
pub const ALPN_HTTP2: &[u8] = b"h2";
/// The first byte of TLS.
pub const TLS_HANDSHAKE: u8 = 0x16;

/// A connection's socket.
pub enum Transport {
    /// TCP in the clear.
    Tcp(TcpStream),
    /// A Unix socket.
    Unix(UnixStream),
    /// TCP under TLS.
    Tls(Box<TlsStream<TcpStream>>),
}

/// TLS as the server begins it.
#[derive(Clone)]
pub struct Tls {
    /// For PostgreSQL's protocol.
    pub postgresql: TlsAcceptor,
    /// For HTTP.
    pub http: TlsAcceptor,
    /// What binds a SCRAM exchange to the server's certificate (tls-server-end-point); `None` for one that is signed by
    /// an algorithm for which there is no such binding.
    pub end_point: Option<Vec<u8>>,
}

/// What a server shows its clients, read from a configuration's files.
pub fn tls(files: &TlsFiles) -> Result<Tls> {
    let unusable = |what: &str, path: &std::path::Path, error: &dyn std::fmt::Display| {
        let message = format!("cannot use the {what} \"{}\": {error}", path.display());
        Error::new(SqlState::InvalidParameterValue, message).with_hint("expected a file in PEM form")
    };
    let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect)
        .map_err(|error| unusable("certificate", &files.certificate, &error))?;
    let key =
        PrivateKeyDer::from_pem_file(&files.key).map_err(|error| unusable("key", &files.key, &error))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::internal(format!("TLS: {error}")))?
        .with_no_client_auth()
        .with_single_cert(certificates.clone(), key);
    let config = config.map_err(|error| unusable("certificate", &files.certificate, &error))?;
    let acceptor = |protocols: &[&[u8]]| {
        let mut config = config.clone();
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        TlsAcceptor::from(Arc::new(config))
    };
    let end_point = certificates.first().and_then(|certificate| end_point(certificate));
    Ok(Tls { postgresql: acceptor(&[ALPN]), http: acceptor(&ALPN_HTTP), end_point })
}

/// The user that this process runs as, as the other end of a socket of its own.
pub fn own_user() -> io::Result<u32> {
    let (one, _other) = UnixStream::pair()?;
    Ok(one.peer_cred()?.uid())
}

impl Transport {
    /// The user at the other end of a Unix socket.
    pub fn peer_user(&self) -> Option<u32> {
        match self {
            Transport::Unix(socket) => socket.peer_cred().ok().map(|credentials| credentials.uid()),
            _ => None,
        }
    }

    /// Whether the other end is on this machine.
    pub fn is_local(&self) -> bool {
        match self {
            Transport::Unix(_) => true,
            Transport::Tcp(socket) => socket.peer_addr().is_ok_and(|peer| peer.ip().is_loopback()),
            Transport::Tls(socket) => {
                socket.get_ref().0.peer_addr().is_ok_and(|peer| peer.ip().is_loopback())
            }
        }
    }

    /// Whether nobody on the way reads along.
    pub fn is_encrypted(&self) -> bool {
        matches!(self, Transport::Tls(_))
    }

    /// The other end, as other sessions are shown it. An address that the system does not tell is that of a client that
    /// is gone already.
    pub fn client(&self) -> ClientAddress {
        let of = |socket: &TcpStream| socket.peer_addr().map_or(ClientAddress::Unix, ClientAddress::Tcp);
        match self {
            Transport::Tcp(socket) => of(socket),
            Transport::Tls(socket) => of(socket.get_ref().0),
            Transport::Unix(_) => ClientAddress::Unix,
        }
    }

    /// The other end, for the log.
    pub fn peer(&self) -> String {
        let shown = |socket: &TcpStream| {
            socket.peer_addr().map_or_else(|_| "a client".to_owned(), |address| address.to_string())
        };
        match self {
            Transport::Tcp(socket) => shown(socket),
            Transport::Tls(socket) => shown(socket.get_ref().0),
            Transport::Unix(_) => "the socket".to_owned(),
        }
    }
}

impl AsyncRead for Transport {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Tcp(socket) => Pin::new(socket).poll_read(cx, buf),
            Transport::Unix(socket) => Pin::new(socket).poll_read(cx, buf),
            Transport::Tls(socket) => Pin::new(socket.as_mut()).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Transport {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Transport::Tcp(socket) => Pin::new(socket).poll_write(cx, buf),
            Transport::Unix(socket) => Pin::new(socket).poll_write(cx, buf),
            Transport::Tls(socket) => Pin::new(socket.as_mut()).poll_write(cx, buf),
        }
    }
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Tcp(socket) => Pin::new(socket).poll_flush(cx),
            Transport::Unix(socket) => Pin::new(socket).poll_flush(cx),
            Transport::Tls(socket) => Pin::new(socket.as_mut()).poll_flush(cx),
        }
    }
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Tcp(socket) => Pin::new(socket).poll_shutdown(cx),
            Transport::Unix(socket) => Pin::new(socket).poll_shutdown(cx),
            Transport::Tls(socket) => Pin::new(socket.as_mut()).poll_shutdown(cx),
        }
    }
}
