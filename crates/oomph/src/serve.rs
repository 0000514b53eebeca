//! A page for the browser of this machine's user and for nobody else.
//!
//! The server listens on loopback only. Other users of the machine can reach that too, so every address begins with a
//! random token. A page from elsewhere that is open in the same browser is refused by the `Host` and `Origin` that the
//! browser sends with its requests, and gets nothing to read in any case.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, Method, Response, StatusCode, header};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Bytes for a path and a query, or the reason why there are none.
pub type Answer = Result<Content, (StatusCode, String)>;

#[derive(Debug)]
pub struct Content {
    pub content_type: &'static str,
    pub bytes: Vec<u8>,
}

pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    token: String,
    stop: [Signal; 2],
}

/// Sent with everything: nothing may be loaded from elsewhere, framed, kept or guessed at.
const HEADERS: [(&str, &str); 6] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("cache-control", "no-store"),
];

impl Server {
    /// Port 0 is any free one. From here on Ctrl-C and SIGTERM wait for [`Server::run`], which ends at once.
    pub fn bind(port: u16) -> io::Result<Server> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let stop = {
            let _inside = runtime.enter();
            [signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?]
        };
        Ok(Server { runtime, listener, token: token()?, stop })
    }

    pub fn port(&self) -> io::Result<u16> {
        Ok(self.listener.local_addr()?.port())
    }

    pub fn url(&self) -> io::Result<String> {
        Ok(format!("http://127.0.0.1:{}/{}/", self.port()?, self.token))
    }

    /// Answers until Ctrl-C or SIGTERM comes.
    pub fn run(self, answer: impl Fn(&str, &str) -> Answer + Send + Sync + 'static) -> io::Result<()> {
        let Server { runtime, listener, token, stop: [mut interrupt, mut terminate] } = self;
        let ended = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let (token, answer) = (Arc::<str>::from(token), Arc::new(answer));
            let app =
                axum::Router::new().fallback(move |request: Request| handle(token.clone(), answer.clone(), request));
            tokio::select! {
                ended = async { axum::serve(listener, app).await } => ended,
                _ = interrupt.recv() => Ok(()),
                _ = terminate.recv() => Ok(()),
            }
        });
        // A request that is still being answered must not keep us.
        runtime.shutdown_background();
        ended
    }
}

async fn handle(
    token: Arc<str>,
    answer: Arc<impl Fn(&str, &str) -> Answer + Send + Sync + 'static>,
    request: Request,
) -> Response<Body> {
    let path = match admitted(request.method(), request.headers(), request.uri().path(), &token) {
        Ok(path) => path.to_owned(),
        Err(status) => return refusal(status, ""),
    };
    let query = request.uri().query().unwrap_or("").to_owned();
    // Answers take milliseconds of work: not on the thread that reads sockets.
    match tokio::task::spawn_blocking(move || answer(&path, &query)).await {
        Ok(Ok(content)) => reply(StatusCode::OK, content.content_type, content.bytes.into()),
        Ok(Err((status, why))) => refusal(status, &why),
        Err(_) => refusal(StatusCode::INTERNAL_SERVER_ERROR, "the answer failed"),
    }
}

fn refusal(status: StatusCode, why: &str) -> Response<Body> {
    let why = if why.is_empty() { status.canonical_reason().unwrap_or("refused") } else { why };
    reply(status, "text/plain; charset=utf-8", format!("{why}\n").into())
}

fn reply(status: StatusCode, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::builder().status(status).header(header::CONTENT_TYPE, content_type);
    for (name, value) in HEADERS {
        response = response.header(name, value);
    }
    response.body(body).expect("all headers are constant and valid")
}

/// The path behind the token, for requests of the page itself.
fn admitted<'a>(method: &Method, headers: &HeaderMap, path: &'a str, token: &str) -> Result<&'a str, StatusCode> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    // A name that somebody else's DNS makes point to 127.0.0.1 is still somebody else's.
    if !text(header::HOST).is_some_and(is_loopback) {
        return Err(StatusCode::FORBIDDEN);
    }
    if text(header::ORIGIN).is_some_and(|origin| !origin.strip_prefix("http://").is_some_and(is_loopback)) {
        return Err(StatusCode::FORBIDDEN);
    }
    if method != Method::GET && method != Method::HEAD {
        return Err(StatusCode::METHOD_NOT_ALLOWED);
    }
    let rest = path.strip_prefix('/').and_then(|path| path.strip_prefix(token)).filter(|rest| rest.starts_with('/'));
    rest.ok_or(StatusCode::NOT_FOUND)
}

/// Any port: with `ssh -L` the browser sees another one than we do.
fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|c| c.is_ascii_digit()) => name,
        _ => host,
    };
    matches!(name, "127.0.0.1" | "localhost" | "[::1]")
}

/// 128 bits nobody can guess.
fn token() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(host: &str, origin: Option<&str>, path: &str) -> Result<String, StatusCode> {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        admitted(&Method::GET, &headers, path, "secret").map(str::to_owned)
    }

    #[test]
    fn the_page_itself_is_admitted() {
        assert_eq!(ask("127.0.0.1:8000", None, "/secret/tile"), Ok("/tile".into()));
        assert_eq!(ask("localhost:1234", Some("http://localhost:1234"), "/secret/"), Ok("/".into()));
        assert_eq!(ask("[::1]:80", None, "/secret/"), Ok("/".into()));
    }

    #[test]
    fn others_are_refused() {
        assert_eq!(ask("evil.example", None, "/secret/"), Err(StatusCode::FORBIDDEN));
        assert_eq!(ask("127.0.0.1.evil.example:80", None, "/secret/"), Err(StatusCode::FORBIDDEN));
        assert_eq!(ask("127.0.0.1:80", Some("https://evil.example"), "/secret/"), Err(StatusCode::FORBIDDEN));
        assert_eq!(ask("127.0.0.1:80", Some("null"), "/secret/"), Err(StatusCode::FORBIDDEN));
        assert_eq!(admitted(&Method::GET, &HeaderMap::new(), "/secret/", "secret"), Err(StatusCode::FORBIDDEN));
    }

    #[test]
    fn without_the_token_nothing_is_there() {
        for path in ["/", "/tile", "/secre/tile", "/secrets/tile", "/wrong/", "/secret"] {
            assert_eq!(ask("127.0.0.1:80", None, path), Err(StatusCode::NOT_FOUND), "{path}");
        }
    }

    #[test]
    fn only_questions_are_answered() {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, "localhost".parse().unwrap());
        assert_eq!(admitted(&Method::POST, &headers, "/secret/", "secret"), Err(StatusCode::METHOD_NOT_ALLOWED));
    }

    #[test]
    fn tokens_differ() {
        let (one, other) = (token().unwrap(), token().unwrap());
        assert_eq!(one.len(), 32);
        assert_ne!(one, other);
    }
}
