//! Metrics over HTTP, for Prometheus: `GET /metrics` and nothing else.
//!
//! A scrape is one small request on one connection, so this is not a web server and shall not become one: the head is
//! read up to a bound and a deadline, only its first line means anything, the answer closes the connection. A client
//! that is slow, sends too much or exceeds the limit of connections costs a thread for some seconds at most.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use engine::Database;

use crate::Failed;

/// Bytes of a request's head, at most. Heads that Prometheus sends have some 300.
const HEAD_BYTES_MAX: usize = 8 << 10;
/// From the first byte of a request to the last of its answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Connections at a time.
const CONNECTIONS_MAX: usize = 16;

/// Serves until it is dropped.
pub struct MetricsServer {
    shared: Arc<Shared>,
    address: SocketAddr,
}

struct Shared {
    /// Taken out when the server ends: connections that are still open do not keep the database.
    database: Mutex<Option<Database>>,
    ended: AtomicBool,
    connections: AtomicUsize,
}

impl MetricsServer {
    /// Listens at `address`: a port of this machine, or address and port. Port 0 is any that is free.
    pub fn start(address: &str, database: &Database) -> Result<Self, Failed> {
        let full = match address.parse::<u16>() {
            Ok(port) => format!("127.0.0.1:{port}"),
            Err(_) => address.to_owned(),
        };
        let refused = |error: io::Error| {
            eprintln!(
                "quickstep: cannot serve metrics at \"{address}\": {error}; expected a port such as 9187, or address:port"
            );
            Failed::Reported
        };
        let addresses: Vec<SocketAddr> = full.to_socket_addrs().map_err(refused)?.collect();
        let listener = TcpListener::bind(&*addresses).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let shared = Arc::new(Shared {
            database: Mutex::new(Some(database.clone())),
            ended: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
        });
        let server = MetricsServer { shared: shared.clone(), address };
        let thread = std::thread::Builder::new().name("metrics".to_owned());
        thread.spawn(move || accept(&listener, &shared)).map_err(refused)?;
        if full.ends_with(":0") {
            eprintln!("metrics at http://{address}/metrics");
        }
        Ok(server)
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        *self.shared.database.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.shared.ended.store(true, SeqCst);
        // Wakes the thread, which then ends. If that fails, the thread holds nothing that others wait for.
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip([127, 0, 0, 1].into());
        }
        let _ = TcpStream::connect_timeout(&address, Duration::from_millis(100));
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        let accepted = listener.accept();
        if shared.ended.load(SeqCst) {
            return;
        }
        let Ok((stream, _)) = accepted else {
            // Too many open files, as a rule; they will be fewer.
            std::thread::sleep(Duration::from_millis(50));
            continue;
        };
        let busy = shared.connections.fetch_add(1, SeqCst) >= CONNECTIONS_MAX;
        let guard = Connection(shared.clone());
        let work = move || {
            // A client that goes away in the midst is no event.
            let _ = if busy { refuse(stream) } else { answer(stream, &guard.0) };
            drop(guard);
        };
        if busy {
            work();
        } else {
            // Without a thread the connection is closed.
            let _ = std::thread::Builder::new().name("metrics request".to_owned()).spawn(work);
        }
    }
}

/// Counts a connection until it ends.
struct Connection(Arc<Shared>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, SeqCst);
    }
}

fn refuse(mut stream: TcpStream) -> io::Result<()> {
    stream.set_write_timeout(Some(Duration::from_millis(50)))?;
    stream.write_all(response("503 Service Unavailable", "", "too many connections\n", false).as_bytes())
}

fn answer(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    let head = read_head(&mut stream, deadline)?;
    let metrics = || {
        let database = shared.database.lock().unwrap_or_else(PoisonError::into_inner).clone();
        database.map(|database| database.metrics())
    };
    let text = respond(&head, metrics);
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(text.as_bytes())?;
    stream.flush()?;
    // What was not read would make the kernel reset the connection before the answer has arrived.
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut rest = [0; 1 << 10];
    let mut left = 64;
    stream.set_read_timeout(Some(Duration::from_millis(200)))?;
    while left > 0 && stream.read(&mut rest)? > 0 {
        left -= 1;
    }
    Ok(())
}

/// What was sent up to the empty line, or to one of the bounds.
fn read_head(stream: &mut TcpStream, deadline: Instant) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut part = [0; 1 << 10];
    while !is_whole(&head) && head.len() < HEAD_BYTES_MAX {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part) {
            Ok(0) => break,
            Ok(read) => head.extend_from_slice(&part[..read]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(head)
}

fn is_whole(head: &[u8]) -> bool {
    head.windows(4).any(|end| end == b"\r\n\r\n") || head.windows(2).any(|end| end == b"\n\n")
}

/// The answer to a request's head, whatever it is.
fn respond(head: &[u8], metrics: impl FnOnce() -> Option<String>) -> String {
    if !is_whole(head) {
        return match head.len() >= HEAD_BYTES_MAX {
            true => {
                response("431 Request Header Fields Too Large", "", "the request's head is too long\n", false)
            }
            false => response("400 Bad Request", "", "the request is not whole\n", false),
        };
    }
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = std::str::from_utf8(line).unwrap_or_default().trim_end_matches('\r');
    let words: Vec<&str> = line.split(' ').collect();
    let [method, target, version] = words[..] else {
        return response("400 Bad Request", "", "the request line has other words than three\n", false);
    };
    if !version.starts_with("HTTP/1.") {
        return response("505 HTTP Version Not Supported", "", "only HTTP/1 is spoken here\n", false);
    }
    let bodiless = method == "HEAD";
    if !matches!(method, "GET" | "HEAD") {
        return response("405 Method Not Allowed", "Allow: GET, HEAD\r\n", "only GET is answered\n", false);
    }
    match target.split(['?', '#']).next().unwrap_or_default() {
        "/metrics" => match metrics() {
            Some(text) => response("200 OK", "", &text, bodiless),
            None => response("503 Service Unavailable", "", "the database is closed\n", bodiless),
        },
        "/" => response("200 OK", "", "metrics are at /metrics\n", bodiless),
        _ => response("404 Not Found", "", "metrics are at /metrics\n", bodiless),
    }
}

fn response(status: &str, headers: &str, body: &str, bodiless: bool) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\n\
         {headers}Connection: close\r\n\r\n{}",
        body.len(),
        if bodiless { "" } else { body }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(head: &[u8]) -> String {
        let text = respond(head, || Some("quickstep_up 1\n".to_owned()));
        check(&text);
        text.split(' ').nth(1).unwrap().to_owned()
    }

    /// A client finds the end of what it is sent.
    fn check(text: &str) {
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let length = head.split("Content-Length: ").nth(1).unwrap().split("\r\n").next().unwrap();
        assert!(head.starts_with("HTTP/1.1 ") && head.contains("Connection: close"), "{head}");
        assert!(body.is_empty() || length.parse::<usize>().unwrap() == body.len(), "{text}");
    }

    #[test]
    fn requests_are_answered_by_the_book() {
        for (request, expected) in [
            ("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "200"),
            ("GET /metrics?name=a HTTP/1.0\r\n\r\n", "200"),
            ("HEAD /metrics HTTP/1.1\r\n\r\n", "200"),
            ("GET / HTTP/1.1\n\n", "200"),
            ("GET /etc/passwd HTTP/1.1\r\n\r\n", "404"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
            ("GET /metrics HTTP/2\r\n\r\n", "505"),
            ("GET /metrics\r\n\r\n", "400"),
            ("GET  /metrics HTTP/1.1\r\n\r\n", "400"),
            ("GET /metrics HTTP/1.1\r\n", "400"),
            ("", "400"),
        ] {
            assert_eq!(status(request.as_bytes()), expected, "{request:?}");
        }
        assert_eq!(status(&[b'x'; HEAD_BYTES_MAX]), "431");
        let closed = respond(b"GET /metrics HTTP/1.1\r\n\r\n", || None);
        assert!(closed.starts_with("HTTP/1.1 503"));
        let head = respond(b"HEAD /metrics HTTP/1.1\r\n\r\n", || Some("x".into()));
        assert!(head.ends_with("\r\n\r\n") && head.contains("Content-Length: 1\r\n"));
    }

    /// Mutated requests: each gets an answer, and none a panic.
    #[test]
    fn malformed_requests_get_an_answer() {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut next = move |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % below as u64) as usize
        };
        let seed = b"GET /metrics HTTP/1.1\r\nHost: localhost:9187\r\nAccept: */*\r\n\r\n";
        for _ in 0..100_000 {
            let mut request = seed.to_vec();
            for _ in 0..=next(6) {
                let at = next(request.len() + 1);
                match next(4) {
                    0 if at < request.len() => _ = request.remove(at),
                    1 => request.insert(at, [0, b'\n', b'\r', b' ', 0xff, b'/'][next(6)]),
                    2 => request.truncate(at),
                    _ if at < request.len() => request[at] = next(256) as u8,
                    _ => {}
                }
            }
            let status = status(&request);
            assert!(["200", "400", "404", "405", "505"].contains(&status.as_str()), "{status}: {request:?}");
        }
    }
}
