//! Loopback's addresses and a port that is free on them.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

use engine::{Error, Result, SqlState};

/// Ports that are tried where none was named.
const PORTS_TRIED: u16 = 100;

/// Opens both loopback addresses on one port; the second one only where the machine has it.
pub fn open(named: Option<u16>) -> Result<(Vec<TcpListener>, u16)> {
    let first = named.unwrap_or(super::PORT_DEFAULT);
    let tries = if named.is_some() { 1 } else { PORTS_TRIED };
    for port in (first..=u16::MAX).take(usize::from(tries)) {
        match open_at(port) {
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

fn open_at(port: u16) -> io::Result<(Vec<TcpListener>, u16)> {
    let bind = |address: IpAddr, port| {
        let listener = TcpListener::bind(SocketAddr::new(address, port))?;
        listener.set_nonblocking(true)?;
        io::Result::Ok(listener)
    };
    let first = bind(Ipv4Addr::LOCALHOST.into(), port)?;
    let port = first.local_addr()?.port();
    match bind(Ipv6Addr::LOCALHOST.into(), port) {
        Ok(second) => Ok((vec![first, second], port)),
        // `localhost` may mean this address: it must not be another program's.
        Err(error) if error.kind() == ErrorKind::AddrInUse => Err(error),
        Err(_) => Ok((vec![first], port)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_was_named_is_taken_or_nothing_and_another_is_found_where_none_was() {
        let (held, port) = open(None).unwrap();
        assert!(port >= crate::http::PORT_DEFAULT);
        assert!(open(Some(port)).unwrap_err().message().contains("in use"));
        let (_other, next) = open(None).unwrap();
        assert_ne!(next, port);
        drop(held);
        assert_ne!(open(Some(0)).unwrap().1, 0);
    }
}
