//! What the machine has: the default limit of the budget, and the process's resident memory.
//!
//! The limit is the smaller of the machine's memory (`/proc/meminfo`) and the limits of the control
//! groups that the process is in (version 2 `memory.max` of the group and all above it, version 1
//! `memory.limit_in_bytes`). Inside a container the group's path is the host's and its files stand
//! at the root of the mount, so both places are read. Whatever cannot be read sets no limit.

use std::fs;
use std::path::{Path, PathBuf};

/// Left for page cache, stacks, the allocator's own and everything else.
const SHARE_PERCENT: u64 = 80;
/// Where nothing can be found out: small enough for any machine.
const FALLBACK_BYTES: u64 = 4 << 30;

/// 80 % of what machine or control group allows, in bytes.
pub fn default_limit_bytes() -> u64 {
    machine_limit_bytes() / 100 * SHARE_PERCENT
}

/// What machine or control group allows, in bytes.
pub fn machine_limit_bytes() -> u64 {
    limit_below(Path::new("/")).unwrap_or(FALLBACK_BYTES)
}

/// Resident memory of the process in bytes, if the machine tells.
pub fn resident_bytes() -> Option<u64> {
    field_bytes(&fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")
}

/// Resident memory that is no file's, in bytes, if the machine tells. Allocates nothing: the allocator asks.
#[cfg(target_os = "linux")]
pub(crate) fn own_resident_bytes() -> Option<u64> {
    let mut text = [0u8; 128];
    // SAFETY: a path that ends in a zero byte; the number is a descriptor or negative.
    let file = unsafe { libc::open(c"/proc/self/statm".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if file < 0 {
        return None;
    }
    // SAFETY: the buffer is as long as said.
    let length = unsafe { libc::read(file, text.as_mut_ptr().cast(), text.len()) };
    // SAFETY: the descriptor is ours and is not used after this.
    unsafe { libc::close(file) };
    let text = text.get(..usize::try_from(length).ok()?)?;
    let mut pages = std::str::from_utf8(text).ok()?.split(' ').skip(1).map(str::parse::<u64>);
    let (resident, shared) = (pages.next()?.ok()?, pages.next()?.ok()?);
    // SAFETY: asks a constant of the machine.
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
    resident.saturating_sub(shared).checked_mul(page)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn own_resident_bytes() -> Option<u64> {
    None
}

/// Allows or forbids huge pages in the process's memory from now on, madvise or not.
#[cfg(target_os = "linux")]
pub(crate) fn allow_huge_pages(allowed: bool) {
    // SAFETY: a switch of the process; where the machine does not know it, nothing changes.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, libc::c_ulong::from(!allowed), 0, 0, 0) };
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn allow_huge_pages(_: bool) {}

/// Highest resident memory of the process so far in bytes, if the machine tells.
pub fn peak_resident_bytes() -> Option<u64> {
    field_bytes(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

/// The limit as the files under `root` tell it.
fn limit_below(root: &Path) -> Option<u64> {
    let read = |path: PathBuf| fs::read_to_string(path).ok();
    let total = read(root.join("proc/meminfo")).and_then(|text| field_bytes(&text, "MemTotal:"));
    let groups = read(root.join("proc/self/cgroup")).unwrap_or_default();
    let mut files =
        vec![root.join("sys/fs/cgroup/memory.max"), root.join("sys/fs/cgroup/memory/memory.limit_in_bytes")];
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let (mount, file) = if controllers.is_empty() {
            (root.join("sys/fs/cgroup"), "memory.max")
        } else if controllers.split(',').any(|controller| controller == "memory") {
            (root.join("sys/fs/cgroup/memory"), "memory.limit_in_bytes")
        } else {
            continue;
        };
        let group = mount.join(group.trim_start_matches('/'));
        files.extend(
            group.ancestors().take_while(|path| path.starts_with(&mount)).map(|path| path.join(file)),
        );
    }
    // "max" does not parse; version 1 says "no limit" with a number near 2^63, above any total.
    let limits = files.into_iter().filter_map(|path| read(path)?.trim().parse::<u64>().ok());
    limits.chain(total).filter(|&limit| limit > 0).min()
}

/// The value of a line such as `MemTotal:  123 kB`.
fn field_bytes(text: &str, field: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(name: &str, files: &[(&str, &str)]) -> Option<u64> {
        let root = std::env::temp_dir().join(format!("quickstep-machine-{}-{name}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let limit = limit_below(&root);
        let _ = fs::remove_dir_all(&root);
        limit
    }

    const MEMINFO: (&str, &str) = ("proc/meminfo", "MemFree: 5 kB\nMemTotal:       1000 kB\n");

    #[test]
    fn the_smallest_limit_counts() {
        assert_eq!(machine("none", &[]), None);
        assert_eq!(machine("plain", &[MEMINFO]), Some(1_024_000));
        let nested = [
            MEMINFO,
            ("proc/self/cgroup", "0::/user/query\n"),
            ("sys/fs/cgroup/memory.max", "max\n"),
            ("sys/fs/cgroup/user/memory.max", "500000\n"),
            ("sys/fs/cgroup/user/query/memory.max", "max\n"),
        ];
        assert_eq!(machine("nested", &nested), Some(500_000));
        let container =
            [MEMINFO, ("proc/self/cgroup", "0::/kube/pod7\n"), ("sys/fs/cgroup/memory.max", "400000\n")];
        assert_eq!(machine("container", &container), Some(400_000));
        let first_version = [
            MEMINFO,
            ("proc/self/cgroup", "9:cpu:/a\n4:hugetlb,memory:/a\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "300000\n"),
        ];
        assert_eq!(machine("first", &first_version), Some(300_000));
    }

    #[test]
    fn this_machine_has_memory() {
        assert!(default_limit_bytes() > 100 << 20);
        assert!(resident_bytes().unwrap() <= peak_resident_bytes().unwrap());
        assert!(own_resident_bytes().unwrap() <= peak_resident_bytes().unwrap());
    }
}
