//! Bearer tokens that a handshake gives for a name and a password.
//!
//! A token says nothing and is made up for each handshake. It ends with the process, with the password that it was given
//! for, after half a day without use, and when there are too many: those unused for longest go first.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use engine::Result;

use crate::http::logins::{LoggedIn, secret};

/// Tokens that are known at a time.
const TOKENS_MAX: usize = 10_000;
/// A token that was not used for so long is gone.
const IDLE_MAX: Duration = Duration::from_secs(12 * 3600);

/// Who was let in by what.
#[derive(Default)]
pub struct Tokens(Mutex<HashMap<String, Token>>);

struct Token {
    login: LoggedIn,
    used: Instant,
}

impl Tokens {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Token>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new token for a role and the verifier that its password was proved against.
    pub fn give(&self, login: LoggedIn) -> Result<String> {
        let token = secret()?;
        let mut tokens = self.lock();
        if tokens.len() >= TOKENS_MAX
            && let Some(oldest) =
                tokens.iter().min_by_key(|(_, token)| token.used).map(|(name, _)| name.clone())
        {
            tokens.remove(&oldest);
        }
        tokens.insert(token.clone(), Token { login, used: Instant::now() });
        Ok(token)
    }

    /// The login that a token was given for. It is found by its hash: a guess of a part of it tells nothing by its time.
    pub fn login(&self, token: &str) -> Option<LoggedIn> {
        let mut tokens = self.lock();
        let known = tokens.get_mut(token)?;
        known.used = Instant::now();
        Some(known.login.clone())
    }

    /// Forgets those that were not used for long.
    pub fn sweep(&self) {
        self.lock().retain(|_, token| token.used.elapsed() <= IDLE_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_until_it_is_forgotten_and_the_least_used_goes() {
        let tokens = Tokens::default();
        let of = |name: &str| (name.to_owned(), "v".to_owned());
        let first = tokens.give(of("ada")).unwrap();
        let second = tokens.give(of("grace")).unwrap();
        assert_eq!(tokens.login(&first).unwrap().0, "ada");
        assert!(tokens.login("").is_none() && tokens.login(&first[1..]).is_none());
        (2..TOKENS_MAX).for_each(|_| drop(tokens.give(of("x")).unwrap()));
        tokens.login(&first);
        tokens.give(of("x")).unwrap();
        assert!(tokens.login(&second).is_none() && tokens.login(&first).is_some());
        tokens.sweep();
        assert!(tokens.login(&first).is_some(), "it was used a moment ago");
    }
}
