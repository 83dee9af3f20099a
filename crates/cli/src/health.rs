//! `quickstep health`: whether a server of this machine takes requests, by its exit status. For what watches over
//! servers in images that have no other client: containers, load balancers, scripts.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use clap::Args;

use crate::Failed;

/// Bytes of an answer, at most: a status and a line of JSON.
const ANSWER_BYTES_MAX: u64 = 16 << 10;

/// Which server is asked.
#[derive(Args)]
pub struct HealthArguments {
    /// The server's port of HTTP
    #[arg(long, default_value_t = 8080)]
    pub port: u16,
    /// Seconds to wait for its answer
    #[arg(long, default_value_t = 3)]
    pub timeout: u64,
}

/// Asks the server on loopback; says what it said where that is not that all is well.
pub fn run(arguments: &HealthArguments) -> Result<(), Failed> {
    match asked(arguments) {
        Ok(status) if status.contains(" 200 ") => Ok(()),
        Ok(status) => {
            eprintln!("quickstep: the server on port {} answers: {status}", arguments.port);
            Err(Failed::Reported)
        }
        Err(error) => {
            eprintln!("quickstep: no server answers on port {}: {error}", arguments.port);
            Err(Failed::Reported)
        }
    }
}

/// The first line of the answer to `GET /health`.
fn asked(arguments: &HealthArguments) -> io::Result<String> {
    let patience = Duration::from_secs(arguments.timeout.max(1));
    let until = Instant::now() + patience;
    let place = SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.port));
    let mut server = TcpStream::connect_timeout(&place, patience)?;
    let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
    server.set_read_timeout(Some(left))?;
    server.set_write_timeout(Some(left))?;
    // In one piece: a server may look at what its first read brings.
    let request = format!("GET /health HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n\r\n");
    server.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    // Who sends a byte now and then is not waited for longer than all of its answer may take.
    let mut server = server.take(ANSWER_BYTES_MAX);
    let mut piece = [0; 512];
    while !answer.contains(&b'\n') {
        match server.read(&mut piece)? {
            0 => break,
            bytes => answer.extend_from_slice(&piece[..bytes]),
        }
        if Instant::now() >= until {
            return Err(ErrorKind::TimedOut.into());
        }
    }
    let line = answer.split(|byte| *byte == b'\n').next().unwrap_or_default();
    Ok(String::from_utf8_lossy(line).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// What comes of asking a server that says this.
    fn asked_of(says: &'static str) -> bool {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let mut request = String::new();
            while !request.ends_with("\r\n\r\n") {
                let mut piece = [0; 512];
                let bytes = client.read(&mut piece).unwrap();
                assert_ne!(bytes, 0, "{request}");
                request.push_str(&String::from_utf8_lossy(&piece[..bytes]));
            }
            assert!(request.starts_with("GET /health HTTP/1.1\r\n"), "{request}");
            assert!(request.contains(&format!("Host: 127.0.0.1:{port}\r\n")), "{request}");
            client.write_all(says.as_bytes()).unwrap();
        });
        let outcome = run(&HealthArguments { port, timeout: 5 }).is_ok();
        server.join().unwrap();
        outcome
    }

    #[test]
    fn only_a_server_that_takes_requests_is_well() {
        assert!(asked_of("HTTP/1.1 200 OK\r\n\r\n{}"));
        assert!(!asked_of("HTTP/1.1 503 Service Unavailable\r\n\r\n"));
        assert!(!asked_of(""));
        // Privileged, so that no other test is given it for its server.
        assert!(run(&HealthArguments { port: 1, timeout: 1 }).is_err());
    }

    #[test]
    fn a_server_that_says_nothing_is_not_waited_for() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(run(&HealthArguments { port, timeout: 1 }).is_err());
    }
}
