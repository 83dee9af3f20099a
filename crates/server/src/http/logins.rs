//! Secrets that let in: the token that is printed at the start, and cookies that browsers were given.
//!
//! A cookie's value is made up for each login and says nothing; it is gone when the server ends. Its name has the port in
//! it, because browsers send cookies of one host to all ports of it.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::http::{HeaderMap, HeaderValue, header};
use engine::{Error, Result};

/// Bytes of a secret.
const SECRET_BYTES: usize = 32;
/// Cookies that are known at a time; the oldest go first.
const COOKIES_MAX: usize = 1000;

/// Who is let in by what.
pub struct Logins {
    token: String,
    cookie_name: String,
    cookies: Mutex<VecDeque<Cookie>>,
}

/// A role that was let in by its password, and the verifier that this was proved against.
pub type LoggedIn = (String, String);

struct Cookie {
    value: String,
    /// `None`: the superuser, by the token.
    login: Option<LoggedIn>,
}

/// A request that is let in.
pub struct Known {
    /// `None`: the superuser.
    pub login: Option<LoggedIn>,
    /// A browser may have sent it without its user's knowing.
    pub by_cookie: bool,
}

/// Compares without telling by its time where two secrets differ.
fn is_same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

/// A secret that nobody guesses.
pub fn secret() -> Result<String> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| Error::internal(format!("no random bytes: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl Logins {
    /// With a new token.
    pub fn new(port: u16) -> Result<Logins> {
        Ok(Logins { token: secret()?, cookie_name: format!("quickstep_{port}"), cookies: Mutex::default() })
    }

    /// The token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Whether this is the token.
    pub fn is_token(&self, given: &str) -> bool {
        is_same(given, &self.token)
    }

    fn cookies(&self) -> MutexGuard<'_, VecDeque<Cookie>> {
        self.cookies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The header that gives a browser a cookie; under TLS it is sent back under TLS alone.
    pub fn new_cookie(&self, login: Option<LoggedIn>, secured: bool) -> Result<HeaderValue> {
        let value = secret()?;
        let secure = if secured { "; Secure" } else { "" };
        let header = format!("{}={value}; HttpOnly; SameSite=Strict; Path=/{secure}", self.cookie_name);
        let mut cookies = self.cookies();
        if cookies.len() >= COOKIES_MAX {
            cookies.pop_front();
        }
        cookies.push_back(Cookie { value, login });
        HeaderValue::from_str(&header).map_err(|error| Error::internal(error.to_string()))
    }

    /// Whom a request's headers let in.
    pub fn know(&self, headers: &HeaderMap) -> Option<Known> {
        if let Some(given) = headers.get(header::AUTHORIZATION) {
            // Who says who he is does not come in as somebody else.
            let (scheme, token) = given.to_str().ok()?.split_once(' ')?;
            let known = scheme.eq_ignore_ascii_case("bearer") && self.is_token(token.trim());
            return known.then_some(Known { login: None, by_cookie: false });
        }
        let sent = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = sent.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let given = pairs.find_map(|(name, value)| (name == self.cookie_name).then_some(value))?;
        let cookies = self.cookies();
        let cookie = cookies.iter().find(|cookie| is_same(&cookie.value, given))?;
        Some(Known { login: cookie.login.clone(), by_cookie: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: header::HeaderName, value: &str) -> HeaderMap {
        [(name, HeaderValue::from_str(value).unwrap())].into_iter().collect()
    }

    #[test]
    fn a_token_or_a_cookie_lets_in_and_nothing_like_them() {
        let logins = Logins::new(8080).unwrap();
        let bearer = |text: &str| logins.know(&headers(header::AUTHORIZATION, text)).is_some();
        let token = logins.token().to_owned();
        assert!(
            token.len() == 64 && bearer(&format!("Bearer {token}")) && bearer(&format!("bearer {token}"))
        );
        assert!(
            !bearer(&format!("Basic {token}"))
                && !bearer(&token)
                && !bearer("Bearer ")
                && !bearer(&format!("Bearer {}", &token[1..]))
        );
        let set = logins.new_cookie(Some(("ada".to_owned(), "v".to_owned())), false).unwrap();
        let set = set.to_str().unwrap();
        assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict") && !set.contains(&token));
        let pair = set.split(';').next().unwrap();
        let cookie = |text: &str| logins.know(&headers(header::COOKIE, text));
        let known = cookie(&format!("other=1; {pair}")).unwrap();
        assert!(known.by_cookie && known.login.is_some_and(|(role, _)| role == "ada"));
        assert!(cookie("quickstep_8080=").is_none() && cookie(&pair.replace("8080", "8081")).is_none());
    }

    #[test]
    fn the_oldest_cookies_go() {
        let logins = Logins::new(1).unwrap();
        let first = logins.new_cookie(None, true).unwrap();
        (0..COOKIES_MAX).for_each(|_| drop(logins.new_cookie(None, true).unwrap()));
        let pair = first.to_str().unwrap().split(';').next().unwrap();
        assert!(logins.know(&headers(header::COOKIE, pair)).is_none());
        assert_eq!(logins.cookies().len(), COOKIES_MAX);
    }
}
