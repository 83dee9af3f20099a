//! Loopback's addresses, those others that the server listens on, and a port that is free on all of them.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

use engine::{Error, Result, SqlState};

/// The port that is tried first where none was named.
pub const PORT_DEFAULT: u16 = 8080;

/// Ports that are tried where none was named.
const PORTS_TRIED: u16 = 100;

/// Opens both loopback addresses on one port, the second one only where the machine has it, and those of `others` that are
/// not loopback.
pub fn open(named: Option<u16>, others: &[IpAddr]) -> Result<(Vec<TcpListener>, u16)> {
    let first = named.unwrap_or(PORT_DEFAULT);
    let tries = if named.is_some() { 1 } else { PORTS_TRIED };
    for port in (first..=u16::MAX).take(usize::from(tries)) {
        match open_at(port, others) {
            Ok(opened) => return Ok(opened),
            Err(error) if error.kind() == ErrorKind::AddrInUse => {}
            Err(error) => {
                let message = format!("cannot listen for HTTP on port {port}: {error}");
                return Err(Error::new(SqlState::InvalidParameterValue, message));
            }
        }
    }
    let message = format!("cannot listen for HTTP on port {first}: it is in use");
    Err(Error::new(SqlState::InvalidParameterValue, message).with_hint("name another port with --http-port"))
}

fn open_at(port: u16, others: &[IpAddr]) -> io::Result<(Vec<TcpListener>, u16)> {
    let bind = |address: IpAddr, port| {
        let listener = TcpListener::bind(SocketAddr::new(address, port))?;
        listener.set_nonblocking(true)?;
        io::Result::Ok(listener)
    };
    let (mut listeners, mut port) = (Vec::new(), port);
    // An address that stands for all of a family stands for loopback's, too; one of IPv6 for those of IPv4 as well.
    let v6 = others.contains(&Ipv6Addr::UNSPECIFIED.into());
    let v4 = v6 || others.contains(&Ipv4Addr::UNSPECIFIED.into());
    for address in others.iter().filter(|address| !address.is_loopback()) {
        let listener = match bind(*address, port) {
            // That of IPv6 has it.
            Err(error)
                if v6
                    && address.is_unspecified()
                    && error.kind() == ErrorKind::AddrInUse
                    && !listeners.is_empty() =>
            {
                continue;
            }
            bound => bound?,
        };
        port = listener.local_addr()?.port();
        listeners.push(listener);
    }
    if !v4 {
        let listener = bind(Ipv4Addr::LOCALHOST.into(), port)?;
        port = listener.local_addr()?.port();
        listeners.push(listener);
    }
    if !v6 {
        match bind(Ipv6Addr::LOCALHOST.into(), port) {
            Ok(listener) => listeners.push(listener),
            // `localhost` may mean this address: it must not be another program's.
            Err(error) if error.kind() == ErrorKind::AddrInUse => return Err(error),
            Err(_) => {}
        }
    }
    Ok((listeners, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_was_named_is_taken_or_nothing_and_another_is_found_where_none_was() {
        let (held, port) = open(None, &[]).unwrap();
        assert!(port >= crate::http::PORT_DEFAULT);
        assert!(open(Some(port), &[]).unwrap_err().message().contains("in use"));
        let (_other, next) = open(None, &[]).unwrap();
        assert_ne!(next, port);
        drop(held);
        assert_ne!(open(Some(0), &[]).unwrap().1, 0);
    }
}
