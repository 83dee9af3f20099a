//! Which files of a log are read for a version: the latest whole checkpoint up to it, and the commits behind that.
//!
//! Names alone decide. A version is read only if every commit behind the checkpoint is there, or from the first one on: a
//! gap is an error, never an older table. Where folders are not listed, the hint in the log says where to begin, and
//! commits are asked for one by one until one is not there. Called by `describe` and `append`.

use std::collections::BTreeMap;

use formats::Environment;
use formats::lake::{Folder, Listed};
use serde::Deserialize;
use types::{Error, Result, SqlState};

use super::actions::Line;
use super::{LOG, no_version, replay};
use crate::table::damaged;

/// Which state of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The latest.
    Latest,
    /// The one after that commit.
    Version(i64),
    /// The one at a time, in microseconds since 1970.
    Time(i64),
}

/// The files that make up a version; names are paths in the table's folder.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The checkpoint's files; none where the log is read from its beginning.
    pub checkpoint: Vec<String>,
    /// Commits behind it, ascending.
    pub commits: Vec<String>,
    /// The version that they make up.
    pub version: i64,
}

/// What a name in the log's folder says.
#[derive(Debug, PartialEq, Eq)]
enum Name {
    Commit(i64),
    /// With number and count of its parts, from 1, where it has some.
    Checkpoint(i64, Option<(u32, u32)>),
}

/// Digits of a version in a name.
const VERSION_DIGITS: usize = 20;
/// Commits that are asked for one after the other where a folder is not listed.
const PROBED_MAX: i64 = 100_000;

fn name(text: &str) -> Option<Name> {
    let (version, rest) = text.split_at_checked(VERSION_DIGITS)?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(version) {
        return None;
    }
    let version = version.parse().ok()?;
    if rest == ".json" {
        return Some(Name::Commit(version));
    }
    let rest = rest.strip_prefix(".checkpoint.")?;
    let parts: Vec<&str> = rest.split('.').collect();
    match parts.as_slice() {
        ["parquet"] => Some(Name::Checkpoint(version, None)),
        [part, of, "parquet"] if digits(part) && digits(of) => {
            Some(Name::Checkpoint(version, Some((part.parse().ok()?, of.parse().ok()?))))
        }
        [unique, "parquet" | "json"] if !unique.is_empty() => Some(Name::Checkpoint(version, None)),
        _ => None,
    }
}

/// Whether a name is one of a log's.
pub(crate) fn is_of_log(text: &str) -> bool {
    name(text).is_some()
}

/// A log's commits and whole checkpoints, by version.
#[derive(Default)]
struct Log {
    commits: BTreeMap<i64, String>,
    checkpoints: BTreeMap<i64, Vec<String>>,
}

impl Log {
    fn of(names: &[String]) -> Log {
        let mut log = Log::default();
        // By version and number of parts, since two writers may have cut it differently.
        let mut parts: BTreeMap<(i64, u32), BTreeMap<u32, String>> = BTreeMap::new();
        for text in names {
            let path = format!("{LOG}/{text}");
            match name(text) {
                Some(Name::Commit(version)) => drop(log.commits.insert(version, path)),
                Some(Name::Checkpoint(version, None)) => {
                    log.checkpoints.entry(version).or_insert_with(|| vec![path]);
                }
                Some(Name::Checkpoint(version, Some((part, of)))) => {
                    parts.entry((version, of)).or_default().insert(part, path);
                }
                None => {}
            }
        }
        for ((version, of), held) in parts {
            if held.len() == of as usize && held.keys().copied().eq(1..=of) {
                log.checkpoints.entry(version).or_insert_with(|| held.into_values().collect());
            }
        }
        log
    }

    fn latest(&self) -> Option<i64> {
        self.commits.keys().next_back().max(self.checkpoints.keys().next_back()).copied()
    }
}

/// What `_last_checkpoint` says.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hint {
    version: i64,
    parts: Option<u32>,
    v2_checkpoint: Option<HintOfV2>,
}

#[derive(Deserialize)]
struct HintOfV2 {
    path: String,
}

/// The names of a log whose folder cannot be listed: what its hint names, and commits until one is not there.
fn probed(environment: &Environment, folder: &Folder, wanted: Wanted) -> Result<Vec<String>> {
    let hint = folder.read(environment, &format!("{LOG}/_last_checkpoint"))?;
    let hint: Option<Hint> = hint.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let before = |version: i64| !matches!(wanted, Wanted::Version(n) if n < version);
    let usable = hint.filter(|hint| before(hint.version) && !matches!(wanted, Wanted::Time(_)));
    let mut names = Vec::new();
    let mut next = 0;
    if let Some(hint) = usable {
        let version = format!("{:020}", hint.version);
        match (hint.v2_checkpoint, hint.parts) {
            (Some(v2), _) => names.push(v2.path.rsplit('/').next().unwrap_or_default().to_owned()),
            (None, Some(parts)) if parts <= 100_000 => {
                names.extend(
                    (1..=parts).map(|part| format!("{version}.checkpoint.{part:010}.{parts:010}.parquet")),
                );
            }
            _ => names.push(format!("{version}.checkpoint.parquet")),
        }
        next = hint.version.saturating_add(1);
    }
    let last = if let Wanted::Version(n) = wanted { n } else { i64::MAX };
    while next <= last {
        let name = format!("{next:020}.json");
        match folder.modified(environment, &format!("{LOG}/{name}")) {
            Err(error) if error.state() == SqlState::UndefinedFile => break,
            found => drop(found?),
        }
        names.push(name);
        next += 1;
        if names.len() as i64 > PROBED_MAX {
            return Err(Error::unsupported(format!(
                "the log of \"{}\" has more than {PROBED_MAX} commits behind its checkpoint",
                folder.path()
            )));
        }
    }
    Ok(names)
}

fn read(environment: &Environment, folder: &Folder, wanted: Wanted) -> Result<Log> {
    let names = match folder.list(environment, LOG)? {
        Listed::Names(names) => names,
        Listed::Unlisted => probed(environment, folder, wanted)?,
    };
    Ok(Log::of(&names))
}

/// The error for a folder without a log.
pub(crate) fn no_table(folder: &Folder) -> Error {
    let message = format!("there is no Delta table at \"{}\"", folder.path());
    Error::new(SqlState::UndefinedFile, message).with_hint(format!("a table's folder has a folder {LOG}"))
}

/// The commits of a log, ascending.
pub(crate) fn commits(environment: &Environment, folder: &Folder) -> Result<Vec<(i64, String)>> {
    Ok(read(environment, folder, Wanted::Latest)?.commits.into_iter().collect())
}

/// What is read for a state of the table.
pub(crate) fn find(environment: &Environment, folder: &Folder, wanted: Wanted) -> Result<Segment> {
    let log = read(environment, folder, wanted)?;
    let latest = log.latest().ok_or_else(|| no_table(folder))?;
    let version = match wanted {
        Wanted::Latest => latest,
        Wanted::Version(version) if (0..=latest).contains(&version) => version,
        Wanted::Version(version) => {
            return Err(no_version(
                folder,
                &format!("version {version}"),
                format!("its latest version is {latest}"),
            ));
        }
        Wanted::Time(time) => at_time(environment, folder, &log, time)?,
    };
    let checkpoint = log.checkpoints.range(..=version).next_back();
    let first = checkpoint.map_or(0, |(at, _)| at.saturating_add(1));
    let mut commits = Vec::new();
    let behind = log.commits.range(first..).take_while(|(at, _)| **at <= version);
    for (next, (at, path)) in (first..).zip(behind) {
        if *at != next {
            return Err(lacking(folder, next));
        }
        commits.push(path.clone());
    }
    let next = first.saturating_add(commits.len() as i64);
    if next <= version && checkpoint.is_none_or(|(at, _)| *at < version) {
        return Err(lacking(folder, next));
    }
    Ok(Segment {
        checkpoint: checkpoint.map(|(_, paths)| paths.clone()).unwrap_or_default(),
        commits,
        version,
    })
}

fn lacking(folder: &Folder, version: i64) -> Error {
    damaged(
        &folder.join(LOG),
        format!("the commit of version {version} is missing, and no checkpoint stands for it"),
    )
    .with_hint("old versions cannot be read once their part of the log was cleaned up")
}

/// The latest version whose commit is no later than a time.
fn at_time(environment: &Environment, folder: &Folder, log: &Log, time: i64) -> Result<i64> {
    for (version, path) in log.commits.iter().rev() {
        let mut stated = None;
        replay::lines(environment, folder, path, &mut |line: Line| {
            let info = line.commit_info.and_then(|info| info.in_commit_timestamp);
            stated = stated.or(info);
            Ok(())
        })?;
        let made = match stated {
            Some(millis) => millis.checked_mul(1000),
            None => folder.modified(environment, path)?,
        };
        if made.is_some_and(|made| made <= time) {
            return Ok(*version);
        }
    }
    Err(no_version(
        folder,
        "commit as old as that in its log",
        "delta_history('path') lists versions and times".into(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_log() {
        let v = "00000000000000000010";
        assert_eq!(name(&format!("{v}.json")), Some(Name::Commit(10)));
        assert_eq!(name(&format!("{v}.checkpoint.parquet")), Some(Name::Checkpoint(10, None)));
        assert_eq!(
            name(&format!("{v}.checkpoint.0000000001.0000000002.parquet")),
            Some(Name::Checkpoint(10, Some((1, 2))))
        );
        assert_eq!(name(&format!("{v}.checkpoint.80a083e8-7026.json")), Some(Name::Checkpoint(10, None)));
        for other in
            ["_last_checkpoint", "10.json", &format!("{v}.crc"), &format!("{v}.{v}.compacted.json"), "ä"]
        {
            assert_eq!(name(other), None, "{other}");
        }
    }

    #[test]
    fn checkpoints_of_several_parts_count_when_they_are_whole() {
        let part = |n: u32| format!("00000000000000000002.checkpoint.{n:010}.0000000002.parquet");
        assert!(Log::of(&[part(1)]).checkpoints.is_empty());
        assert_eq!(Log::of(&[part(2), part(1)]).checkpoints[&2].len(), 2);
    }
}
