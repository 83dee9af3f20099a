//! A connection: TLS or not, HTTP/1.1 or 2, and its bounds: how many there are, how long a request's head may take and how
//! large it may be, how many requests share one, how long it may be idle.
//!
//! ```text
//!  the first byte is TLS' --> handshake, ALPN h2 or http/1.1 --> HTTP/2 or HTTP/1.1
//!  HTTP/2's preface, or anything else, from loopback ----------> HTTP/2 or HTTP/1.1
//!  in the clear from elsewhere: closed
//! ```

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;
use axum::{Extension, Router};
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use super::guard::Secured;
use crate::server::{Counted, Phase, Shared};
use crate::transport::{ALPN_HTTP2, TLS_HANDSHAKE};

/// What HTTP/2 begins with, as far as no request of HTTP/1.1 begins so.
const PREFACE: &[u8; 6] = b"PRI * ";
/// How often a client that has sent a part of it is looked at.
const PREFACE_LOOKS: Duration = Duration::from_millis(10);

/// Connections of one address at a time. A browser opens six, and a page that draws holds two of them.
const CONNECTIONS_MAX: usize = 256;
/// From the first byte of a request, or the end of the one before, to the last of its head.
const HEAD_PATIENCE: Duration = Duration::from_secs(15);
/// Headers of a request, at most.
const HEADERS_MAX: usize = 64;
/// Bytes of a request's head, at most.
const HEAD_BYTES_MAX: usize = 32 << 10;
/// Requests of a connection of HTTP/2 at a time.
const STREAMS_MAX: u32 = 64;
/// Bytes of an answer that wait for a client of HTTP/2.
const SEND_BYTES_MAX: usize = 1 << 20;
/// How often a client of HTTP/2 is asked whether it is still there.
const PING_EVERY: Duration = Duration::from_secs(30);
/// A connection of HTTP/2 without a request for so long takes no further one. gRPC's clients then make another.
const IDLE_MAX: Duration = Duration::from_secs(900);
/// How long answers that are under way may go on when the server has begun to stop what runs.
const STOP_PATIENCE: Duration = Duration::from_secs(2);

/// Paths whose requests need a secret.
const GUARDED: [&str; 3] = ["/v1/", "/metrics", "/arrow.flight."];

/// When a connection of HTTP/2 was last of use, and whether a request of it was ever let in: until then it may be idle no
/// longer than a request's head may take, as a connection of HTTP/1.1.
struct Used {
    last: Instant,
    is_known: bool,
}

/// Whether the answer is one to a client that has a secret of this server; gRPC says so in a header of its own.
fn was_let_in(response: &Response) -> bool {
    const GRPC_UNAUTHENTICATED: &str = "16";
    let refused = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN, StatusCode::MISDIRECTED_REQUEST];
    let by_grpc = response.headers().get("grpc-status").is_some_and(|code| code == GRPC_UNAUTHENTICATED);
    !refused.contains(&response.status()) && !by_grpc
}

/// Lets connections in until the server drains.
pub async fn accept(listener: TcpListener, router: Router, shared: Arc<Shared>) {
    let mut phase = shared.phase.subscribe();
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        // Those for whom there is no place wait in the system's queue, which is bounded.
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let accepted = tokio::select! {
            () = reaches(&mut phase, Phase::Draining) => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((socket, _)) => {
                let Some(counted) = Counted::new(&shared) else { continue };
                let (router, shared) = (router.clone(), shared.clone());
                tokio::spawn(async move {
                    serve(socket, router, shared).await;
                    drop((place, counted));
                });
            }
            Err(error) => {
                tracing::warn!("a connection was not accepted: {error}");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// Waits until the server has come so far towards its end.
pub async fn reaches(phase: &mut watch::Receiver<Phase>, wanted: Phase) {
    // The sender lives as long as the server's connections do.
    let _ = phase.wait_for(|phase| *phase >= wanted).await;
}

/// What comes of a connection's beginning, unless it takes too long or the server drains.
async fn in_time<T>(begun: impl Future<Output = T>, shared: &Shared) -> Option<T> {
    let mut phase = shared.phase.subscribe();
    tokio::select! {
        begun = tokio::time::timeout(HEAD_PATIENCE, begun) => begun.ok(),
        () = reaches(&mut phase, Phase::Draining) => None,
    }
}

/// Serves a connection: its first bytes say whether it comes under TLS, and what HTTP it speaks.
async fn serve(socket: TcpStream, router: Router, shared: Arc<Shared>) {
    // Answers are written whole: waiting for more to send would only delay them.
    let _ = socket.set_nodelay(true);
    let mut first = [0; PREFACE.len()];
    let begun = async {
        loop {
            let seen = socket.peek(&mut first).await?;
            if seen == 0 || seen >= PREFACE.len() || first[..seen] != PREFACE[..seen] {
                return io::Result::Ok(seen);
            }
            // A part of what HTTP/2 begins with: there is nothing that tells when more has come.
            tokio::time::sleep(PREFACE_LOOKS).await;
        }
    };
    let Some(Ok(seen @ 1..)) = in_time(begun, &shared).await else { return };
    let phase = shared.phase.subscribe();
    if first[0] == TLS_HANDSHAKE {
        let Some(acceptor) = shared.http_tls() else { return };
        let Some(Ok(socket)) = in_time(acceptor.accept(socket), &shared).await else {
            return;
        };
        let second = socket.get_ref().1.alpn_protocol() == Some(ALPN_HTTP2);
        return converse(socket, second, router.layer(Extension(Secured(true))), phase).await;
    }
    // In the clear only what does not leave the machine.
    if !socket.peer_addr().is_ok_and(|peer| peer.ip().to_canonical().is_loopback()) {
        return;
    }
    let second = seen >= PREFACE.len() && first == *PREFACE;
    converse(socket, second, router.layer(Extension(Secured(false))), phase).await;
}

/// Answers a connection's requests until it ends or the server does.
async fn converse<S>(socket: S, second: bool, router: Router, phase: watch::Receiver<Phase>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let socket = TokioIo::new(socket);
    match second {
        false => {
            let mut builder = http1::Builder::new();
            builder
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_PATIENCE)
                .max_headers(HEADERS_MAX)
                .max_buf_size(HEAD_BYTES_MAX);
            let connection = builder.serve_connection(socket, TowerToHyperService::new(router));
            until_end(connection, |connection| connection.graceful_shutdown(), std::future::pending(), phase)
                .await;
        }
        true => {
            let used = Arc::new(Mutex::new(Used { last: Instant::now(), is_known: false }));
            let noted = used.clone();
            let router = router.layer(axum::middleware::from_fn(move |request: Request, next: Next| {
                let noted = noted.clone();
                async move {
                    let path = request.uri().path();
                    let is_guarded = GUARDED.iter().any(|guarded| path.starts_with(guarded));
                    let response = next.run(request).await;
                    let mut used = noted.lock().unwrap_or_else(PoisonError::into_inner);
                    used.is_known |= is_guarded && was_let_in(&response);
                    if used.is_known {
                        used.last = Instant::now();
                    }
                    drop(used);
                    response
                }
            }));
            let mut builder = http2::Builder::new(TokioExecutor::new());
            builder
                .timer(TokioTimer::new())
                .keep_alive_interval(PING_EVERY)
                .keep_alive_timeout(HEAD_PATIENCE)
                .max_concurrent_streams(STREAMS_MAX)
                .max_header_list_size(HEAD_BYTES_MAX as u32)
                .max_send_buf_size(SEND_BYTES_MAX);
            let connection = builder.serve_connection(socket, TowerToHyperService::new(router));
            let idle = async move {
                loop {
                    let (since, patience) = {
                        let used = used.lock().unwrap_or_else(PoisonError::into_inner);
                        (used.last.elapsed(), if used.is_known { IDLE_MAX } else { HEAD_PATIENCE })
                    };
                    match patience.checked_sub(since) {
                        Some(left) => tokio::time::sleep(left.max(Duration::from_millis(1))).await,
                        // One that was never let in is not waited for.
                        None => return patience == HEAD_PATIENCE,
                    }
                }
            };
            until_end(connection, |connection| connection.graceful_shutdown(), idle, phase).await;
        }
    }
}

/// Drives a connection. When the server drains, or the connection is idle for too long, no further request is taken; where
/// `idle` gives true, it is closed soon after, whatever its client does.
async fn until_end<C>(
    connection: C,
    shut_down: impl Fn(Pin<&mut C>),
    idle: impl Future<Output = bool>,
    mut phase: watch::Receiver<Phase>,
) where
    C: Future<Output = hyper::Result<()>>,
{
    let mut connection = std::pin::pin!(connection);
    let mut phases = phase.clone();
    let closes = async {
        tokio::select! {
            () = reaches(&mut phase, Phase::Draining) => false,
            closes = idle => closes,
        }
    };
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        closes = closes => {
            shut_down(connection.as_mut());
            let stopped = async {
                if !closes {
                    reaches(&mut phases, Phase::Stopping).await;
                }
                tokio::time::sleep(STOP_PATIENCE).await;
            };
            tokio::select! {
                ended = connection.as_mut() => ended,
                // Dropped, it drops the bodies of its answers, and they cancel their statements.
                () = stopped => return,
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!("an HTTP connection ended: {error}");
    }
}
