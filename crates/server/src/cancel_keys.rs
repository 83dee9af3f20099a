//! The keys by which another connection asks to cancel what one does.
//!
//! A key is the session's number, which `pg_stat_activity` shows as its process, and a secret of random bytes: four in
//! protocol 3.0, which has room for no more, 32 in 3.2. The secret is compared in constant time, and a request that names
//! nothing answers as one that does: the connection is closed without a word.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::link::Link;

/// Every connection that can be cancelled.
#[derive(Default)]
pub struct CancelKeys {
    keys: Mutex<HashMap<i32, Entry>>,
}

struct Entry {
    secret: Vec<u8>,
    link: Weak<Link>,
}

/// A connection's key; it is forgotten with it.
pub struct CancelKey {
    keys: Arc<CancelKeys>,
    /// The number that a client knows as the backend's process.
    pub process: i32,
    /// What proves the right to cancel.
    pub secret: Vec<u8>,
}

impl CancelKeys {
    fn lock(&self) -> MutexGuard<'_, HashMap<i32, Entry>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new key for a session by its process' number, which no other one has, with so many bytes as the connection's
    /// version of the protocol has. Fails when the system has no random bytes.
    pub fn add(
        self: &Arc<Self>,
        link: &Arc<Link>,
        process: i32,
        secret_bytes: usize,
    ) -> std::io::Result<CancelKey> {
        let mut secret = vec![0; secret_bytes];
        getrandom::fill(&mut secret).map_err(std::io::Error::other)?;
        self.lock().insert(process, Entry { secret: secret.clone(), link: Arc::downgrade(link) });
        Ok(CancelKey { keys: self.clone(), process, secret })
    }

    /// Cancels what the connection with this key does; true when it did something.
    pub fn cancel(&self, process: i32, secret: &[u8]) -> bool {
        let link = {
            let keys = self.lock();
            let Some(entry) = keys.get(&process) else { return false };
            if !same(&entry.secret, secret) {
                return false;
            }
            entry.link.upgrade()
        };
        link.is_some_and(|link| link.cancel())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.lock().len()
    }
}

impl Drop for CancelKey {
    fn drop(&mut self) {
        self.keys.lock().remove(&self.process);
    }
}

/// Compares without telling by time where two secrets differ.
fn same(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len() && left.iter().zip(right).fold(0, |all, (l, r)| all | (l ^ r)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_secret_cancels_and_only_what_works() {
        let keys = Arc::new(CancelKeys::default());
        for bytes in [4, 32] {
            let link = Arc::new(Link::default());
            let key = keys.add(&link, 7, bytes).unwrap();
            assert_eq!(key.secret.len(), bytes);
            assert!(!keys.cancel(key.process, &key.secret), "nothing runs");
            link.cancel.begin();
            let mut wrong = key.secret.clone();
            wrong[3] ^= 1;
            assert!(!keys.cancel(key.process, &wrong) && !keys.cancel(key.process, &key.secret[..3]));
            assert!(!keys.cancel(key.process, &[]) && !link.cancel.is_raised());
            assert!(keys.cancel(key.process, &key.secret) && link.cancel.is_raised());
            let process = key.process;
            drop(key);
            assert!(!keys.cancel(process, &wrong) && keys.count() == 0);
        }
    }
}
