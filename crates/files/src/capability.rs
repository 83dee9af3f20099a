//! What may be opened: files, addresses of stores, secrets, and the streams of the host.
//!
//! Every opener takes a [`Capability`] as an argument: callers are given one and hand it on, and no process-wide one exists. The embedded engine has all of it, since its host may open the same by itself. Paths are compared
//! as the system resolves them, so that neither `..` nor a link leads out of a folder that may be opened.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use types::{Error, Result, SqlState};

/// What its holder may open. Clones are cheap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capability {
    /// Files that may be read and listed.
    reads: Reach,
    /// Files that may be made, changed and removed.
    writes: Reach,
    addresses: Reach,
    secrets: bool,
    streams: bool,
    /// Folders that the engine itself fills for a session, whatever it may open: what COPY FROM STDIN has read.
    own: Arc<[String]>,
}

/// What a role is granted of all that a session may open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    /// Reading and listing files.
    pub reads: bool,
    /// Making, changing and removing files.
    pub writes: bool,
    /// Addresses of stores and web servers.
    pub network: bool,
    /// Secrets.
    pub secrets: bool,
}

/// Which of all files, or of all addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Reach {
    All,
    /// These, and what lies below them.
    Below(Arc<[String]>),
}

impl Reach {
    fn none() -> Reach {
        Reach::Below(Arc::from([]))
    }
}

impl Capability {
    /// All there is.
    pub fn everything() -> Capability {
        Capability {
            reads: Reach::All,
            writes: Reach::All,
            addresses: Reach::All,
            secrets: true,
            streams: true,
            own: Arc::from([]),
        }
    }

    /// Nothing at all; the `with_` methods add to it.
    pub fn nothing() -> Capability {
        Capability {
            reads: Reach::none(),
            writes: Reach::none(),
            addresses: Reach::none(),
            secrets: false,
            streams: false,
            own: Arc::from([]),
        }
    }

    /// Of what this has, what a role is granted; what lies in `own` can be read in any case. Streams stay: they are the
    /// session's own.
    pub fn granted(&self, granted: Granted, own: Option<&Path>) -> Capability {
        let of = |reach: &Reach, granted: bool| if granted { reach.clone() } else { Reach::none() };
        let own = own.map(|own| Arc::from([resolved(own).to_string_lossy().into_owned()]));
        Capability {
            reads: of(&self.reads, granted.reads),
            writes: of(&self.writes, granted.writes),
            addresses: of(&self.addresses, granted.network),
            secrets: self.secrets && granted.secrets,
            streams: self.streams,
            own: own.unwrap_or_else(|| self.own.clone()),
        }
    }

    /// With the files in these folders and below them, or with a file that is named itself, instead of those that it had.
    pub fn with_files_below<P: AsRef<Path>>(self, places: impl IntoIterator<Item = P>) -> Capability {
        let places = places.into_iter().map(|place| resolved(place.as_ref()).to_string_lossy().into_owned());
        let files = Reach::Below(places.collect());
        Capability { reads: files.clone(), writes: files, ..self }
    }

    /// With the objects below these addresses, such as `s3://bucket/folder`, instead of those that it had.
    pub fn with_addresses_below<A: Into<String>>(self, addresses: impl IntoIterator<Item = A>) -> Capability {
        let addresses = addresses.into_iter().map(|address| address.into().trim_end_matches('/').to_owned());
        Capability { addresses: Reach::Below(addresses.collect()), ..self }
    }

    /// With secrets: to make them, see their names, and reach addresses with them.
    pub fn with_secrets(self) -> Capability {
        Capability { secrets: true, ..self }
    }

    /// With the standard input and output of the host.
    pub fn with_streams(self) -> Capability {
        Capability { streams: true, ..self }
    }

    /// Whether the file or folder at a path may be opened to be read, or listed; 42501 if not.
    pub fn file(&self, path: impl AsRef<Path>) -> Result<()> {
        below(&self.reads, &self.own, path.as_ref(), "no files may be opened")
    }

    /// Whether the file or folder at a path may be made, changed or removed; 42501 if not.
    pub fn file_to_write(&self, path: impl AsRef<Path>) -> Result<()> {
        below(&self.writes, &[], path.as_ref(), "no files may be written")
    }

    /// Whether an address, or what lies below it, may be read or written; 42501 if not.
    pub fn address(&self, address: &str) -> Result<()> {
        let Reach::Below(places) = &self.addresses else { return Ok(()) };
        let is_below = |place: &String| {
            let rest = address.strip_prefix(place.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?', '#']))
        };
        // A store takes `..` for a name, a web server may not.
        let plain = !address.split(['/', '?', '#']).any(|part| {
            let part = part.to_ascii_lowercase();
            part == ".." || part.contains("%2e") || part.contains("%2f")
        });
        match plain && places.iter().any(is_below) {
            true => Ok(()),
            false => {
                // What follows may be a signature.
                let shown = address.split(['?', '#']).next().unwrap_or_default();
                let what = format!("the address \"{shown}\"");
                Err(denied(&what, reach_of(places, "no addresses may be opened")))
            }
        }
    }

    /// Whether secrets may be made, listed, dropped and used; 42501 if not. `what` says which, or what is done.
    pub fn secret(&self, what: &str) -> Result<()> {
        match self.secrets {
            true => Ok(()),
            false => Err(denied(what, "no secrets may be used in this session".to_owned())),
        }
    }

    /// Whether secrets may be used.
    pub fn has_secrets(&self) -> bool {
        self.secrets
    }

    /// Whether the host's standard input or output may be taken; 42501 if not.
    pub fn stream(&self, what: &str) -> Result<()> {
        match self.streams {
            true => Ok(()),
            false => Err(denied(what, "no streams of the host may be used in this session".to_owned())),
        }
    }
}

fn below(reach: &Reach, own: &[String], path: &Path, none: &str) -> Result<()> {
    let Reach::Below(places) = reach else { return Ok(()) };
    // Without any there is nothing to be told about the path, not even where its links lead.
    if !places.is_empty() || !own.is_empty() {
        let wanted = resolved(path);
        if places.iter().chain(own).any(|place| wanted.starts_with(place)) {
            return Ok(());
        }
    }
    let shown = path.display();
    Err(denied(&format!("the file \"{shown}\""), reach_of(places, none)))
}

fn denied(what: &str, why: String) -> Error {
    Error::new(SqlState::InsufficientPrivilege, format!("permission denied for {what}")).with_hint(why)
}

fn reach_of(places: &[String], none: &str) -> String {
    match places {
        [] => format!("{none} in this session"),
        some => format!("this session may open what lies below {}", some.join(", ")),
    }
}

/// Links that are followed on the way to one file.
const LINKS_MAX: usize = 64;

/// The path from the root, without links, also those that lead to nothing yet, and without `.` and `..`.
fn resolved(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut found = PathBuf::new();
    let mut links = 0;
    // What is still to come, the next part last.
    let mut rest: Vec<PathBuf> = parts(&whole);
    while let Some(part) = rest.pop() {
        match part.components().next() {
            Some(Component::ParentDir) => drop(found.pop()),
            None | Some(Component::CurDir) => {}
            Some(_) => {
                found.push(part);
                // What is not there is no link; what may not be looked at cannot be opened either.
                if let Ok(target) = std::fs::read_link(&found)
                    && links < LINKS_MAX
                {
                    links += 1;
                    found.pop();
                    rest.extend(parts(&target));
                }
            }
        }
    }
    found
}

/// The parts of a path, the first one last.
fn parts(path: &Path) -> Vec<PathBuf> {
    path.components().rev().map(|part| PathBuf::from(part.as_os_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(outcome: Result<()>) -> Option<SqlState> {
        outcome.err().map(|error| error.state())
    }

    #[test]
    fn everything_and_nothing() {
        let (all, none) = (Capability::everything(), Capability::nothing());
        for (with, expected) in [(&all, None), (&none, Some(SqlState::InsufficientPrivilege))] {
            assert_eq!(state(with.file("/x")), expected);
            assert_eq!(state(with.address("s3://bucket/x")), expected);
            assert_eq!(state(with.secret("the secret")), expected);
            assert_eq!(state(with.stream("standard input")), expected);
        }
        let error = none.file("/data/x.csv").unwrap_err();
        assert_eq!(error.message(), "permission denied for the file \"/data/x.csv\"");
        assert_eq!(error.hint(), Some("no files may be opened in this session"));
    }

    #[test]
    fn a_role_has_no_more_than_its_session() {
        let folder = std::env::temp_dir().join("granted");
        let all = Granted { reads: true, writes: true, network: true, secrets: true };
        let session = Capability::nothing().with_files_below([&folder]).with_addresses_below(["s3://b"]);
        let may = session.granted(all, None);
        assert_eq!(may, session);
        let reads = Capability::everything().granted(Granted { reads: true, ..Granted::default() }, None);
        assert_eq!(state(reads.file("/x")), None);
        for refused in [reads.file_to_write("/x"), reads.address("s3://b/x"), reads.secret("x")] {
            assert_eq!(state(refused), Some(SqlState::InsufficientPrivilege));
        }
        let none = Capability::everything().granted(Granted::default(), Some(&folder));
        assert_eq!(state(none.file(folder.join("input"))), None);
        assert_eq!(state(none.file_to_write(folder.join("input"))), Some(SqlState::InsufficientPrivilege));
        assert_eq!(state(none.file(folder.join("../x"))), Some(SqlState::InsufficientPrivilege));
        assert_eq!(state(none.stream("standard input")), None);
    }

    #[test]
    fn no_path_leads_out_of_a_folder() {
        let folder = std::env::temp_dir().join(format!("capability-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let (open, closed) = (folder.join("open"), folder.join("closed"));
        for made in [&open, &closed] {
            std::fs::create_dir_all(made).unwrap();
            std::fs::write(made.join("x"), "x").unwrap();
        }
        std::os::unix::fs::symlink(&closed, open.join("link")).unwrap();
        std::os::unix::fs::symlink(closed.join("none yet"), open.join("dangling")).unwrap();
        let may = Capability::nothing().with_files_below([&open]);
        for allowed in ["x", "new", "a/b/new", "./x", "a/../x", ""] {
            assert_eq!(state(may.file(open.join(allowed))), None, "{allowed}");
        }
        for refused in
            ["../closed/x", "link/x", "link/new", "..", "../open2/x", "a/../../closed/x", "dangling"]
        {
            let refused = open.join(refused);
            assert_eq!(state(may.file(&refused)), Some(SqlState::InsufficientPrivilege), "{refused:?}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn addresses_end_where_names_do() {
        let may = Capability::nothing().with_addresses_below(["s3://bucket/dir/", "https://server"]);
        for allowed in ["s3://bucket/dir", "s3://bucket/dir/x", "https://server/x?y", "https://server"] {
            assert_eq!(state(may.address(allowed)), None, "{allowed}");
        }
        for refused in [
            "s3://bucket/dir2/x",
            "s3://bucket",
            "s3://bucket/dir/../x",
            "https://server/%2E%2e/x",
            "https://server.other/x",
            "gs://b/x",
        ] {
            assert_eq!(state(may.address(refused)), Some(SqlState::InsufficientPrivilege), "{refused}");
        }
    }
}
