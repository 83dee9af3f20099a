//! A folder for the files of one test.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{FileType, Mode};

/// A folder of its own, which goes away with the test.
pub struct Folder(pub PathBuf);

impl Folder {
    /// A new, empty one; `name` is a part of its name.
    pub fn new(name: &str) -> Folder {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("quickstep-{name}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        // A killed process with the same number may have left one.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    /// The path of what has that name in it.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }

    /// Writes a file, with the folders that its name has; returns its path.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, bytes).expect("a file");
        path.to_string_lossy().into_owned()
    }

    /// Makes a pipe that has a name; returns its path. No process is started for it: between its fork and its exec, a
    /// child holds the ends of the pipes of other tests that run meanwhile, so that a writer finds a reader who is gone.
    pub fn pipe(&self, name: &str) -> String {
        let path = self.path(name);
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, mode, 0).expect("a pipe");
        path
    }

    /// The names of what is in it.
    pub fn names(&self) -> Vec<String> {
        let listed = fs::read_dir(&self.0).expect("a folder");
        let mut names: Vec<String> =
            listed.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Files in it and below it, by their paths in it. Links are files.
    pub fn files(&self) -> Vec<String> {
        let mut open = vec![self.0.clone()];
        let mut files = Vec::new();
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                let shown = path.strip_prefix(&self.0).expect("below").to_string_lossy().into_owned();
                match fs::symlink_metadata(&path).expect("there").is_dir() {
                    true => open.push(path),
                    false => files.push(shown),
                }
            }
        }
        files.sort();
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
