//! Cycles of files inside a crate: files each of which needs all others, by the paths they name.
//!
//! A file needs the file that defines what a path of it names. Paths are followed as the compiler follows them, as far
//! as names show it: through `use`, re-exports and globs, from `crate`, `self`, `super` or a name in scope. A file that
//! only re-exports is passed through, so that `crate::Session` leads to where `Session` is defined and not to the root.
//! Declaring a module is no need, macros and tests do not count, and calls of methods cannot be seen without types.
//!
//! [`FILES_MAX`] files are the most that a cycle may have; crates that have larger ones are listed with the size of their
//! largest, which may only become smaller.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use crate::Finding;
use crate::tokens::{Token, tokens};

/// Files of a cycle at most.
const FILES_MAX: usize = 4;

/// Crates whose cycles are still to be opened: the files of the largest.
const TO_BE_OPENED: &[(&str, usize)] = &[("sql", 34), ("syntax", 9)];

/// Cycles that are larger than allowed, or smaller than listed.
pub fn check(root: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, cycles) in cycles(root) {
        let place = format!("crates/{name}/src");
        let largest = cycles.first().map_or(1, Vec::len);
        let listed = TO_BE_OPENED.iter().find(|(listed, _)| *listed == name).map(|(_, files)| *files);
        let allowed = listed.unwrap_or(FILES_MAX);
        if largest > allowed {
            let files = cycles.first().map(|files| files.join(", ")).unwrap_or_default();
            findings.push(Finding::new(
                &place,
                format!(
                    "{largest} files need each other, {allowed} may: {files}; move what they share below them"
                ),
            ));
        }
        if listed.is_some_and(|listed| largest < listed) {
            let entry = if largest > FILES_MAX { "lower its entry" } else { "take it from the list" };
            findings.push(Finding::new(
                &place,
                format!("its largest cycle has {largest} files: {entry} in xtask/src/cycles.rs"),
            ));
        }
    }
    findings
}

/// The largest cycles of each crate, largest first, as text for people.
pub fn report(root: &Path, only: Option<&str>) -> String {
    let mut text = String::new();
    for (name, cycles) in cycles(root) {
        if only.is_some_and(|only| only != name) {
            continue;
        }
        text.push_str(&format!("{name}: {}\n", cycles.first().map_or(1, Vec::len)));
        for files in cycles.iter().filter(|files| only.is_some() || files.len() > FILES_MAX) {
            text.push_str(&format!("    {} files: {}\n", files.len(), files.join(" ")));
        }
        if only.is_some() {
            let sources = Crate::read(&root.join("crates").join(&name).join("src"));
            for ((from, to), names) in sources.needs() {
                let within = cycles.iter().any(|c| {
                    c.len() > FILES_MAX && c.contains(&sources.files[from]) && c.contains(&sources.files[to])
                });
                if within {
                    let names: Vec<String> = names.into_iter().collect();
                    text.push_str(&format!(
                        "        {} -> {}: {}\n",
                        sources.files[from],
                        sources.files[to],
                        names.join(", ")
                    ));
                }
            }
        }
    }
    text
}

/// The cycles of each crate, largest first, by their files' names.
fn cycles(root: &Path) -> BTreeMap<String, Vec<Vec<String>>> {
    let mut found = BTreeMap::new();
    let Ok(entries) = std::fs::read_dir(root.join("crates")) else { return found };
    for entry in entries.flatten() {
        let source = entry.path().join("src");
        if source.is_dir() {
            let sources = Crate::read(&source);
            found.insert(entry.file_name().to_string_lossy().into_owned(), sources.cycles());
        }
    }
    found
}

/// What a name stands for in a module.
enum Meaning {
    /// A module of the crate.
    Module(usize),
    /// Defined here.
    Item,
    /// A path, read in this module.
    Import(Vec<String>),
}

#[derive(Default)]
struct Module {
    parent: Option<usize>,
    file: usize,
    names: HashMap<String, Meaning>,
    /// Paths whose names are all in scope.
    globs: Vec<Vec<String>>,
    /// Paths that its code names.
    paths: Vec<Vec<String>>,
}

/// The modules of a crate.
#[derive(Default)]
struct Crate {
    files: Vec<String>,
    modules: Vec<Module>,
}

/// Names that are being looked up, and where: one that comes again is a circle of re-exports and globs.
type Seen = Vec<(usize, String)>;

impl Crate {
    /// Reads the files that a crate's roots lead to.
    fn read(source: &Path) -> Crate {
        let mut read = Crate::default();
        for root in ["lib.rs", "main.rs"] {
            if source.join(root).is_file() {
                read.file(source, PathBuf::from(root), None, PathBuf::new());
            }
        }
        read
    }

    /// Reads a file as a module whose own modules lie in `folder`.
    fn file(&mut self, source: &Path, file: PathBuf, parent: Option<usize>, folder: PathBuf) -> usize {
        let text = std::fs::read_to_string(source.join(&file)).unwrap_or_default();
        self.files.push(file.to_string_lossy().into_owned());
        self.module(&tokens(&text), self.files.len() - 1, parent, &mut |read, module, name| {
            let folder = folder.join(name);
            let file = [folder.with_extension("rs"), folder.join("mod.rs")]
                .into_iter()
                .find(|file| source.join(file).is_file())?;
            Some(read.file(source, file, Some(module), folder))
        })
    }

    /// Adds a module of these tokens; `outside` reads one that lies in a file of its own.
    fn module(
        &mut self,
        tokens: &[Token],
        file: usize,
        parent: Option<usize>,
        outside: &mut dyn FnMut(&mut Crate, usize, &str) -> Option<usize>,
    ) -> usize {
        let module = self.modules.len();
        self.modules.push(Module { parent, file, ..Module::default() });
        let mut at = 0;
        let mut depth = 0;
        while at < tokens.len() {
            if is_test(&tokens[at..]) {
                at += item_length(&tokens[at..]);
                continue;
            }
            let next = tokens.get(at + 1).and_then(Token::name);
            match (tokens[at].text(), next) {
                ("use", _) => {
                    let end = at + tokens[at..].iter().position(|t| t.text() == ";").unwrap_or(0);
                    let passed_on = at > 0 && matches!(tokens[at - 1].text(), "pub" | ")");
                    self.import(module, &mut Vec::new(), &tokens[at + 1..end.max(at + 1)], passed_on);
                    at = end.max(at);
                }
                ("mod", Some(name)) if tokens.get(at + 2).is_some_and(|t| t.text() == ";") => {
                    if let Some(inner) = outside(self, module, name) {
                        self.modules[module].names.insert(name.to_owned(), Meaning::Module(inner));
                    }
                    at += 2;
                }
                ("mod", Some(name)) if tokens.get(at + 2).is_some_and(|t| t.text() == "{") => {
                    let length = item_length(&tokens[at..]);
                    let body = &tokens[at + 3..at + length - 1];
                    let inner = self.module(body, file, Some(module), &mut |_, _, _| None);
                    self.modules[module].names.insert(name.to_owned(), Meaning::Module(inner));
                    at += length - 1;
                }
                ("fn" | "struct" | "enum" | "union" | "trait" | "type" | "const" | "static", Some(name))
                    if depth == 0 =>
                {
                    let name = if name == "mut" { "" } else { name };
                    // A module may have a function's name: paths lead through the module.
                    self.modules[module].names.entry(name.to_owned()).or_insert(Meaning::Item);
                    at += 1;
                }
                ("{", _) => depth += 1,
                ("}", _) => depth -= 1,
                _ => {
                    let path = path(&tokens[at..]);
                    if !path.is_empty() && (at == 0 || !matches!(tokens[at - 1].text(), "." | "::")) {
                        at += path.len() * 2 - 2;
                        // `format!(…)` is a macro's name, whatever else is called so.
                        if !is_macro(&tokens[at + 1..]) {
                            self.modules[module].paths.push(path);
                        }
                    }
                }
            }
            at += 1;
        }
        module
    }

    /// Takes the tree of a `use` apart.
    fn import(&mut self, module: usize, before: &mut Vec<String>, tree: &[Token], passed_on: bool) {
        let length = before.len();
        let mut at = 0;
        while at < tree.len() {
            match tree[at].text() {
                "{" => {
                    let mut depth = 0;
                    let mut begin = at + 1;
                    for (end, token) in tree.iter().enumerate().skip(at) {
                        match token.text() {
                            "{" => depth += 1,
                            "}" => depth -= 1,
                            _ => {}
                        }
                        if (token.text() == "," && depth == 1) || depth == 0 {
                            self.import(module, before, &tree[begin..end], passed_on);
                            begin = end + 1;
                        }
                    }
                    before.truncate(length);
                    return;
                }
                "*" => {
                    self.modules[module].globs.push(before.clone());
                    before.truncate(length);
                    return;
                }
                "as" => {
                    let name = tree.get(at + 1).map_or("_", Token::text).to_owned();
                    self.imported(module, name, before.clone(), passed_on);
                    before.truncate(length);
                    return;
                }
                "self" if !before.is_empty() => {}
                "::" => {}
                name => before.push(name.to_owned()),
            }
            at += 1;
        }
        if let Some(name) = before.last().filter(|_| before.len() > length || tree.len() == 1).cloned() {
            self.imported(module, name, before.clone(), passed_on);
        }
        before.truncate(length);
    }

    fn imported(&mut self, module: usize, name: String, path: Vec<String>, passed_on: bool) {
        if !passed_on {
            self.modules[module].paths.push(path.clone());
        }
        // A trait may be imported under no name; `use x::x` names another crate's.
        let known = matches!(self.modules[module].names.get(&name), Some(Meaning::Module(_)));
        if name != "_" && !known && path.first().is_some_and(|first| path.len() > 1 || *first != name) {
            self.modules[module].names.insert(name, Meaning::Import(path));
        }
    }

    /// The module that defines what a path names, read in `module`; `None` for what is not the crate's.
    fn resolve(&self, module: usize, path: &[String], seen: &mut Seen) -> Option<Found> {
        let first = path.first()?;
        let (mut at, mut rest) = match first.as_str() {
            "crate" => (self.root_of(module), &path[1..]),
            "self" => (module, &path[1..]),
            "super" => (self.modules[module].parent?, &path[1..]),
            _ => (module, path),
        };
        while rest.first().is_some_and(|name| name == "super") {
            at = self.modules[at].parent?;
            rest = &rest[1..];
        }
        let Some(name) = rest.first() else { return Some(Found::Module(at)) };
        if seen.iter().any(|(module, known)| *module == at && known == name) {
            return None;
        }
        seen.push((at, name.clone()));
        match self.modules[at].names.get(name) {
            Some(Meaning::Item) => Some(Found::Item(at)),
            Some(Meaning::Module(inner)) => self.onward(*inner, &rest[1..], seen),
            Some(Meaning::Import(import)) => match self.resolve(at, import, seen)? {
                Found::Module(inner) => self.onward(inner, &rest[1..], seen),
                item => Some(item),
            },
            None => self.modules[at].globs.iter().find_map(|glob| match self.resolve(at, glob, seen)? {
                Found::Module(inner) if inner != at => self.resolve_in(inner, rest, seen),
                _ => None,
            }),
        }
    }

    /// The rest of a path inside a module; names that are not found are those of macros and the like.
    fn onward(&self, module: usize, rest: &[String], seen: &mut Seen) -> Option<Found> {
        match rest.is_empty() {
            true => Some(Found::Module(module)),
            false => self.resolve_in(module, rest, seen),
        }
    }

    fn resolve_in(&self, module: usize, rest: &[String], seen: &mut Seen) -> Option<Found> {
        let mut path = vec!["self".to_owned()];
        path.extend_from_slice(rest);
        self.resolve(module, &path, seen)
    }

    fn root_of(&self, mut module: usize) -> usize {
        while let Some(parent) = self.modules[module].parent {
            module = parent;
        }
        module
    }

    /// Which file needs which, and what of it.
    fn needs(&self) -> BTreeMap<(usize, usize), BTreeSet<String>> {
        let mut needs: BTreeMap<(usize, usize), BTreeSet<String>> = BTreeMap::new();
        for (at, module) in self.modules.iter().enumerate() {
            for path in &module.paths {
                if let Some(Found::Item(found)) = self.resolve(at, path, &mut Seen::new()) {
                    let file = self.modules[found].file;
                    if file != module.file {
                        needs.entry((module.file, file)).or_default().insert(path.join("::"));
                    }
                }
            }
        }
        needs
    }

    /// Sets of files each of which needs all others, with two members or more, largest first.
    fn cycles(&self) -> Vec<Vec<String>> {
        let mut reached: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); self.files.len()];
        let needs = self.needs();
        for (from, reached) in reached.iter_mut().enumerate() {
            let mut open = vec![from];
            while let Some(file) = open.pop() {
                for ((_, to), _) in needs.range((file, 0)..(file + 1, 0)) {
                    if reached.insert(*to) {
                        open.push(*to);
                    }
                }
            }
        }
        let mut cycles: BTreeSet<Vec<usize>> = BTreeSet::new();
        for file in 0..self.files.len() {
            let with: Vec<usize> =
                reached[file].iter().copied().filter(|other| reached[*other].contains(&file)).collect();
            if with.len() > 1 {
                cycles.insert(with);
            }
        }
        let name = |files: Vec<usize>| files.into_iter().map(|file| self.files[file].clone()).collect();
        let mut cycles: Vec<Vec<String>> = cycles.into_iter().map(name).collect();
        cycles.sort_by_key(|files| std::cmp::Reverse(files.len()));
        cycles
    }
}

/// Where a path leads.
enum Found {
    Module(usize),
    /// Something that the module defines.
    Item(usize),
}

/// The path that begins here: names with `::` between them.
fn path(tokens: &[Token]) -> Vec<String> {
    let mut path = Vec::new();
    let mut at = 0;
    while let Some(name) = tokens.get(at).and_then(Token::name) {
        path.push(name.to_owned());
        if tokens.get(at + 1).is_none_or(|t| t.text() != "::") {
            break;
        }
        at += 2;
    }
    path
}

/// Whether what stands before this is the name of a macro that is called.
fn is_macro(tokens: &[Token]) -> bool {
    let next = |at: usize| tokens.get(at).map(Token::text);
    next(0) == Some("!") && matches!(next(1), Some("(" | "[" | "{"))
}

/// Whether an attribute begins here that leaves what follows to tests.
fn is_test(tokens: &[Token]) -> bool {
    let texts: Vec<&str> = tokens.iter().take(8).map(Token::text).collect();
    matches!(texts.as_slice(), ["#", "[", "cfg", "(", "test" | "all", ..])
        && tokens.iter().take_while(|t| t.text() != "]").any(|t| t.text() == "test")
}

/// Tokens of the item that begins here, with its attributes: up to its `;`, or the brace that closes it.
fn item_length(tokens: &[Token]) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate() {
        match token.text() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => {
                depth -= 1;
                if depth == 0 && token.text() == "}" {
                    return at + 1;
                }
            }
            ";" if depth == 0 => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A crate of files in memory: each a module of the root by its name.
    fn sources(files: &[(&str, &str)]) -> Crate {
        let mut read = Crate::default();
        let texts: HashMap<&str, &str> = files.iter().copied().collect();
        read.files.push("lib".to_owned());
        let root: String = files.iter().map(|(name, _)| format!("mod {name};")).collect();
        let root = root + "pub use a::A;";
        read.module(&tokens(&root), 0, None, &mut |read, module, name| {
            read.files.push(name.to_owned());
            let file = read.files.len() - 1;
            Some(read.module(&tokens(texts[name]), file, Some(module), &mut |_, _, _| None))
        });
        read
    }

    fn largest(files: &[(&str, &str)]) -> usize {
        sources(files).cycles().first().map_or(1, Vec::len)
    }

    #[test]
    fn planted_cycles_are_found() {
        let b = ("b", "pub fn f(a: crate::A) {}");
        assert_eq!(largest(&[("a", "pub struct A;"), b]), 1);
        assert_eq!(largest(&[("a", "pub struct A; fn g() { crate::b::f(A) }"), b]), 2, "by a path");
        assert_eq!(largest(&[("a", "use crate::b; pub struct A; fn g() { b::f(A) }"), b]), 2, "by a module");
        assert_eq!(largest(&[("a", "use super::b::{self, f}; pub struct A;"), b]), 2, "by a tree");
        assert_eq!(largest(&[("a", "use crate::b::*; pub struct A; fn g() { f(A) }"), b]), 2, "by a glob");
        assert_eq!(largest(&[("a", "mod x { fn g() { crate::b::f() } } pub struct A;"), b]), 2, "inline");
        let three = [("a", "use crate::c::C; pub struct A;"), ("c", "use crate::b::f; pub struct C;"), b];
        assert_eq!(largest(&three), 3);
    }

    #[test]
    fn tests_texts_and_remarks_need_nothing() {
        let b = ("b", "pub fn f(a: crate::A) {}");
        for text in [
            "pub struct A; #[cfg(test)] mod tests { use crate::b::f; }",
            "pub struct A; #[cfg(test)] use crate::b::f;",
            "pub struct A; const T: &str = \"crate::b::f\"; // crate::b::f",
            "pub struct A; /* crate::b::f */ fn g(x: X) { x.b::<u8>() }",
            "pub struct A; pub use crate::b::f; fn g() { f!(A) }",
        ] {
            assert_eq!(largest(&[("a", text), b]), 1, "{text}");
        }
    }
}
