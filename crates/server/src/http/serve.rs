//! A connection's bounds: how many there are, how long its request's head may take and how large it may be.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use crate::server::{Counted, Phase, Shared};

/// Connections of one address at a time. A browser opens six, and a page that draws holds two of them.
const CONNECTIONS_MAX: usize = 256;
/// From the first byte of a request, or the end of the one before, to the last of its head.
const HEAD_PATIENCE: Duration = Duration::from_secs(15);
/// Headers of a request, at most.
const HEADERS_MAX: usize = 64;
/// Bytes of a request's head, at most.
const HEAD_BYTES_MAX: usize = 32 << 10;
/// How long answers that are under way may go on when the server has begun to stop what runs.
const STOP_PATIENCE: Duration = Duration::from_secs(2);

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
                let (router, phase) = (router.clone(), shared.phase.subscribe());
                tokio::spawn(async move {
                    serve(socket, router, phase).await;
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

async fn serve(socket: TcpStream, router: Router, mut phase: watch::Receiver<Phase>) {
    // Answers are written whole: waiting for more to send would only delay them.
    let _ = socket.set_nodelay(true);
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEAD_BYTES_MAX);
    let connection = builder.serve_connection(TokioIo::new(socket), TowerToHyperService::new(router));
    let mut connection = std::pin::pin!(connection);
    let mut phases = phase.clone();
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = reaches(&mut phase, Phase::Draining) => {
            connection.as_mut().graceful_shutdown();
            let stopped = async {
                reaches(&mut phases, Phase::Stopping).await;
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
