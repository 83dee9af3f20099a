//! Where a server listens: addresses that are safe, and ports that are free.
//!
//! All addresses and the socket share one port. Where none was named, ports from 5432 on are tried, so that a second
//! server starts beside a first one or a PostgreSQL; a port that was named is taken or the start fails.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use engine::{Error, Result, SqlState};

use crate::config::{Config, PORT_DEFAULT};

/// Ports that are tried where none was named.
const PORTS_TRIED: u16 = 100;
/// Linux's number for it.
const AFNOSUPPORT: i32 = 97;

/// What was opened.
pub struct Listeners {
    /// One for each address.
    pub tcp: Vec<TcpListener>,
    /// The Unix socket.
    pub unix: Option<(UnixListener, SocketFile)>,
    /// The port of all of them.
    pub port: u16,
}

/// A socket's file; it is removed with this.
pub struct SocketFile {
    path: PathBuf,
}

impl SocketFile {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn refused(message: String) -> Error {
    Error::new(SqlState::InvalidParameterValue, message)
}

/// The addresses that a configuration names, in its order. `passwords`: somebody has one.
pub fn addresses(config: &Config, passwords: bool) -> Result<Vec<IpAddr>> {
    let mut addresses = Vec::new();
    for name in &config.listen {
        let found = (name.as_str(), 0).to_socket_addrs().map_err(|error| {
            refused(format!("cannot listen on \"{name}\": {error}"))
                .with_hint("expected an address such as 127.0.0.1, or a name of this machine")
        })?;
        addresses.extend(found.map(|address| address.ip()));
    }
    addresses.dedup();
    for address in addresses.iter().filter(|address| !address.is_loopback()) {
        let lacks = match (config.tls.is_some(), passwords) {
            (true, true) if !config.trust => continue,
            (true, true) => "trust is for loopback addresses alone",
            (false, _) => "others can reach it, and there is no TLS",
            (true, false) => "others can reach it, and no role has a password",
        };
        return Err(refused(format!("does not listen on {address}: {lacks}")).with_hint(
            "give --tls-cert and --tls-key, and a role a password: ALTER ROLE ... PASSWORD; or listen on 127.0.0.1",
        ));
    }
    Ok(addresses)
}

/// Opens what a configuration names.
pub fn open(config: &Config, passwords: bool) -> Result<Listeners> {
    let addresses = addresses(config, passwords)?;
    if addresses.is_empty() && config.socket_directory.is_none() {
        return Err(refused("there is neither an address nor a socket to listen on".to_owned()));
    }
    let first = config.port.unwrap_or(PORT_DEFAULT);
    let tries = if config.port.is_some() { 1 } else { PORTS_TRIED };
    let mut last = None;
    for port in (first..=u16::MAX).take(usize::from(tries)) {
        match open_at(&addresses, config.socket_directory.as_deref(), port) {
            Ok(listeners) => return Ok(listeners),
            Err((error, place)) if error.kind() == io::ErrorKind::AddrInUse => last = Some((error, place)),
            Err((error, place)) => return Err(refused(format!("cannot listen on {place}: {error}"))),
        }
    }
    let place = last.map_or_else(String::new, |(_, place)| place);
    Err(refused(format!("cannot listen on {place}: it is in use")).with_hint("name another port with --port"))
}

fn open_at(
    addresses: &[IpAddr],
    folder: Option<&Path>,
    wanted: u16,
) -> std::result::Result<Listeners, (io::Error, String)> {
    let (mut tcp, mut port): (Vec<TcpListener>, u16) = (Vec::new(), wanted);
    for address in addresses {
        let place = SocketAddr::new(*address, port);
        let told = |error| (error, place.to_string());
        match bind(place) {
            Ok(listener) => {
                port = listener.local_addr().map_err(told)?.port();
                tcp.push(listener);
            }
            // A machine without IPv6 still has the other loopback address.
            Err(error) if is_lacking(&error) && address.is_loopback() && addresses.len() > 1 => {}
            Err(error) => return Err(told(error)),
        }
    }
    if tcp.is_empty() && !addresses.is_empty() {
        return Err((io::ErrorKind::AddrNotAvailable.into(), "any loopback address".to_owned()));
    }
    let unix = match folder {
        None => None,
        Some(folder) => {
            let path = folder.join(format!(".s.PGSQL.{port}"));
            Some(open_socket(&path).map_err(|error| (error, path.display().to_string()))?)
        }
    };
    Ok(Listeners { tcp, unix, port })
}

fn is_lacking(error: &io::Error) -> bool {
    // No such family of addresses, which the standard library has no name for on its own.
    matches!(error.kind(), io::ErrorKind::AddrNotAvailable | io::ErrorKind::Unsupported)
        || error.raw_os_error() == Some(AFNOSUPPORT)
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    // The standard library sets SO_REUSEADDR, so that a server that was stopped can be started at once.
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Opens a Unix socket for the server's own user. A file that a server of this user left behind is replaced.
fn open_socket(path: &Path) -> io::Result<(UnixListener, SocketFile)> {
    let listener = match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_left_behind(path) => {
            fs::remove_file(path)?;
            UnixListener::bind(path)?
        }
        other => other?,
    };
    let file = SocketFile { path: path.to_owned() };
    // Who comes between the two calls is asked for the same credentials.
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    listener.set_nonblocking(true)?;
    Ok((listener, file))
}

/// Whether nobody listens at a socket's file, which is this user's.
fn is_left_behind(path: &Path) -> bool {
    let own = fs::symlink_metadata(path).is_ok_and(|metadata| {
        metadata.file_type().is_socket()
            && fs::metadata("/proc/self").is_ok_and(|own| own.uid() == metadata.uid())
    });
    own && UnixStream::connect(path).is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::TlsFiles;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("quickstep-listen-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn other_addresses_want_tls_and_a_password() {
        let tls = Some(TlsFiles { certificate: "c".into(), key: "k".into() });
        let others = Config { listen: vec!["0.0.0.0".to_owned()], ..Config::default() };
        let with_tls = Config { tls, ..others.clone() };
        assert!(addresses(&others, true).unwrap_err().message().contains("no TLS"));
        assert!(addresses(&with_tls, false).unwrap_err().message().contains("password"));
        assert!(addresses(&with_tls, true).is_ok());
        let trusting = Config { trust: true, ..with_tls };
        assert!(addresses(&trusting, true).unwrap_err().message().contains("loopback"));
        assert!(addresses(&Config { trust: true, ..Config::default() }, false).is_ok());
    }

    #[test]
    fn a_port_that_was_named_is_taken_or_nothing_and_another_is_found_where_none_was() {
        let folder = folder("ports");
        let base = Config { socket_directory: Some(folder.clone()), ..Config::default() };
        let first = open(&base, false).unwrap();
        assert!(first.port >= PORT_DEFAULT);
        let named = Config { port: Some(first.port), ..base.clone() };
        assert!(open(&named, false).err().unwrap().message().contains("in use"));
        let second = open(&base, false).unwrap();
        assert!(second.port > first.port);
        let any = open(&Config { port: Some(0), ..base }, false).unwrap();
        assert!(any.port != 0 && any.tcp.iter().all(|l| l.local_addr().unwrap().port() == any.port));
        drop((first, second, any));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "the sockets' files are removed");
        let _ = fs::remove_dir(folder);
    }

    #[test]
    fn a_socket_that_was_left_behind_is_replaced_and_is_its_owners() {
        let folder = folder("left");
        let path = folder.join(".s.PGSQL.1");
        let (left, file) = open_socket(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        assert!(open_socket(&path).is_err(), "somebody listens");
        drop(left);
        std::mem::forget(file);
        drop(open_socket(&path).unwrap());
        fs::write(&path, "no socket").unwrap();
        assert!(open_socket(&path).is_err() && path.exists(), "what is no socket stays");
        let _ = fs::remove_dir_all(folder);
    }
}
