//! The socket of a connection, whatever kind it is, and TLS.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use engine::{Error, Result, SqlState};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

use crate::config::TlsFiles;

/// What a client that begins with TLS at once names as its protocol.
pub const ALPN: &[u8] = b"postgresql";

/// A connection's socket.
pub enum Transport {
    /// TCP in the clear.
    Tcp(TcpStream),
    /// A Unix socket.
    Unix(UnixStream),
    /// TCP under TLS.
    Tls(Box<TlsStream<TcpStream>>),
}

/// What a server shows its clients, read from a configuration's files.
pub fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor> {
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
        .with_single_cert(certificates, key);
    let mut config = config.map_err(|error| unusable("certificate", &files.certificate, &error))?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
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
