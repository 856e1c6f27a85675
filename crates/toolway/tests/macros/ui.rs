//! Is every mistake of an author reported in our words, at the right place?
//!
//! A file of `ui/` contains mistakes. The comments `//~ sentence` below a line are what the compiler must say
//! about that line, in an error or in one of its notes. An error that no comment expects fails the test. The rest of
//! rustc's output is not compared, because it changes with each version. Where rustc adds unavoidable errors of its
//! own, the file says `//~ and more`.
//!
//! The files are the programs of a separate package, in the temporary folder of the build. It has the default features
//! of `toolway`, like the project of a new user, and `tower`; one call of cargo checks all of them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

#[test]
fn mistakes_are_told_where_they_stand() {
    let package = Package::write();
    let mut told = package.check();
    let mut wrong = String::new();
    for (name, path) in &package.programs {
        let text = std::fs::read_to_string(path).expect("a file of ui");
        let errors = told.remove(name).unwrap_or_default();
        for complaint in Expected::read(&text).compare(errors) {
            write!(wrong, "\n{}: {complaint}", path.display()).expect("a text takes everything");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The package that contains the files as programs.
struct Package {
    folder: PathBuf,
    /// The files, by the names of their programs.
    programs: BTreeMap<String, PathBuf>,
}

impl Package {
    fn write() -> Self {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let workspace = here.join("../..").canonicalize().expect("the workspace");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ui");
        std::fs::create_dir_all(&folder).expect("a folder for the package");
        let mut programs = BTreeMap::new();
        for group in entries(&here.join("tests/macros/ui")) {
            for file in entries(&group) {
                let part = |path: &Path| path.file_stem().expect("a name").to_string_lossy().into_owned();
                programs.insert(format!("{}-{}", part(&group), part(&file)), file);
            }
        }
        let mut manifest = format!(
            "[package]\nname = \"mistakes\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
             schemars = {{ version = \"1\", default-features = false, features = [\"derive\", \"std\"] }}\n\
             serde = {{ version = \"1\", features = [\"derive\"] }}\n\
             serde_json = \"1\"\n\
             toolway = {{ path = {:?}, features = [\"tower\"] }}\n\
             tower = {{ version = \"0.5\", default-features = false, features = [\"limit\"] }}\n",
            workspace.join("crates/toolway").to_string_lossy()
        );
        for (name, path) in &programs {
            let path = path.to_string_lossy();
            write!(manifest, "\n[[bin]]\nname = {name:?}\npath = {path:?}\n")
                .expect("a text takes everything");
        }
        // The versions that everything else is tested with, so that nothing is downloaded.
        std::fs::copy(workspace.join("Cargo.lock"), folder.join("Cargo.lock")).expect("the lock file");
        std::fs::write(folder.join("Cargo.toml"), manifest).expect("the manifest");
        Self { folder, programs }
    }

    /// Returns the errors of all programs, by program name.
    fn check(&self) -> BTreeMap<String, Vec<Told>> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .current_dir(&self.folder)
            .args(["check", "--bins", "--keep-going", "--offline", "--quiet", "--message-format=json"])
            .args(["--target-dir", "target"])
            .stdin(Stdio::null())
            .output()
            .expect("cargo");
        let mut told: BTreeMap<String, Vec<Told>> = BTreeMap::new();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let message: Value = serde_json::from_str(line).expect("a message of cargo is JSON");
            let name = message["target"]["name"].as_str().unwrap_or_default();
            if message["reason"] != "compiler-message" || message["message"]["level"] != "error" {
                continue;
            }
            let error = Told::read(&message["message"]);
            assert!(self.programs.contains_key(name), "{name} does not compile:\n{}", error.rendered);
            told.entry(name.to_owned()).or_default().extend((!error.lines.is_empty()).then_some(error));
        }
        assert!(!told.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        told
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of tests/ui");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

/// An error of the compiler.
struct Told {
    /// All of its sentences.
    sentences: Vec<String>,
    /// The lines that it is about; empty for the count at the end.
    lines: Vec<u64>,
    rendered: String,
}

impl Told {
    fn read(message: &Value) -> Self {
        let children = message["children"].as_array().into_iter().flatten();
        let labels = message["spans"].as_array().into_iter().flatten().map(|span| &span["label"]);
        let texts = std::iter::once(&message["message"]).chain(children.map(|child| &child["message"]));
        let spans = message["spans"].as_array().into_iter().flatten();
        Self {
            sentences: texts.chain(labels).filter_map(Value::as_str).map(str::to_owned).collect(),
            lines: spans.filter(|span| span["is_primary"] == true).filter_map(line).collect(),
            rendered: message["rendered"].as_str().unwrap_or_default().to_owned(),
        }
    }
}

/// Returns the line of a span; for a span inside a macro, the line that uses the macro.
fn line(mut span: &Value) -> Option<u64> {
    while !span["expansion"].is_null() {
        span = &span["expansion"]["span"];
    }
    span["line_start"].as_u64()
}

/// The errors that a file expects.
struct Expected {
    /// Line numbers, and the sentences expected for them.
    sentences: Vec<(u64, String)>,
    allows_more: bool,
}

impl Expected {
    fn read(text: &str) -> Self {
        let mut expected = Self { sentences: Vec::new(), allows_more: false };
        let mut above = 0;
        for (number, line) in (1..).zip(text.lines()) {
            match line.trim_start().strip_prefix("//~ ") {
                Some("and more") => expected.allows_more = true,
                Some(sentence) => expected.sentences.push((above, sentence.to_owned())),
                None => above = number,
            }
        }
        expected
    }

    /// Returns the sentences that are missing and the errors that are not expected.
    fn compare(self, mut errors: Vec<Told>) -> Vec<String> {
        let mut complaints = Vec::new();
        if self.sentences.is_empty() {
            complaints.push("expects nothing".to_owned());
        }
        let fits = |error: &Told, line: u64, sentence: &str| {
            error.lines.contains(&line) && error.sentences.iter().any(|told| told.contains(sentence))
        };
        for (line, sentence) in &self.sentences {
            if !errors.iter().any(|error| fits(error, *line, sentence)) {
                complaints.push(format!("nothing says about line {line}: {sentence}"));
            }
        }
        errors.retain(|error| !self.sentences.iter().any(|(line, sentence)| fits(error, *line, sentence)));
        if complaints.is_empty() && self.allows_more {
            errors.clear();
        }
        complaints.extend(errors.iter().map(|error| format!("not expected:\n{}", error.rendered)));
        complaints
    }
}
