//! Do documents name tests that exist, and are tests named after what they test?
//!
//! A test is named by a code span with its file and its function: `path/to/file.rs::name`.

use super::paths::{code_spans, paths_in};
use super::{forbid, root, sources};

/// The folders with sources that contain tests.
const SOURCES: [&str; 4] = ["crates", "conformance", "examples", "xtask"];
/// Words that say where a requirement came from. Names of tests and of their files are about behaviour.
const ORIGINS: [&str; 5] = ["row", "ruby", "phantom", "php", "second_look"];
/// Documents about safety, and how each of their parts begins. A part names a test, or says that it has none.
const SAFETY: [(&str, &str); 3] =
    [("docs/advisories.md", "## A"), ("docs/scoreboard.md", "# "), ("docs/design/guards.md", "| ")];
/// What a part without a test says.
const WITHOUT_TEST: [&str; 2] = ["does not apply", "no test"];

#[test]
fn the_feature_table_names_tests_that_exist() {
    let page = std::fs::read_to_string(root().join("docs/features.md")).unwrap();
    let mut rows = Vec::new();
    let mut broken = Vec::new();
    for line in page.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")) {
        let cells: Vec<_> = line.split(" | ").map(str::trim).collect();
        let Ok(row) = cells[0].parse::<usize>() else { continue };
        let [_, _, since, guide, test] = cells[..] else { panic!("a row has five cells: {line}") };
        rows.push(row);
        for (is_right, cell) in
            [(is_version(since), since), (is_page(guide), guide), (is_code_of_test(test), test)]
        {
            if !is_right {
                broken.push(format!("row {row}: {cell}"));
            }
        }
    }
    assert_eq!(rows, (1..=321).collect::<Vec<_>>(), "all rows, in order");
    forbid("docs/features.md names versions, pages and tests that exist", broken);
}

#[test]
fn each_rule_of_authorization_names_a_test() {
    let page = std::fs::read_to_string(root().join("docs/features.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| A-")?.strip_suffix(" |"));
    let rows: Vec<Vec<_>> = rows.map(|row| row.split(" | ").collect()).collect();
    let rules: Vec<u32> = rows.iter().map(|row| row[0].parse().unwrap()).collect();
    let (clients, servers) = ((1..=16).chain([40, 41, 42, 44, 45]), (20..=26).chain([43]));
    assert_eq!(rules, clients.chain(servers).collect::<Vec<_>>(), "all rules, in order");
    let broken = rows.iter().filter(|row| !is_code_of_test(row[2])).map(|row| row.join(" | "));
    forbid("docs/features.md names a test for each rule", broken);
}

#[test]
fn documents_about_safety_name_tests_that_exist() {
    let mut broken = Vec::new();
    for (document, start) in SAFETY {
        let page = std::fs::read_to_string(root().join(document)).unwrap();
        // The part that has no test so far, with the number of its first line.
        let mut untested = None;
        let mut parts = 0;
        let no_test = |line: usize| format!("{document}:{line}: neither a test nor a reason for having none");
        for (line, text) in page.lines().enumerate().map(|(index, text)| (index + 1, text)) {
            if text.starts_with(start) && !text.starts_with("| guard ") {
                broken.extend(untested.replace(line).map(no_test));
                parts += 1;
            }
            let tests: Vec<_> = code_spans(text).filter(|span| span.contains(".rs::")).collect();
            let files = paths_in(text, &[".rs"]);
            let missing = tests.iter().filter(|path| !is_path_of_test(path)).map(ToString::to_string);
            let missing = missing.chain(files.into_iter().filter(|file| !root().join(file).is_file()));
            broken.extend(missing.map(|path| format!("{document}:{line}: {path}")));
            if !tests.is_empty() || WITHOUT_TEST.iter().any(|words| text.contains(words)) {
                untested = None;
            }
        }
        broken.extend(untested.map(no_test));
        assert!(parts > 0, "{document} has parts that begin with {start:?}");
    }
    forbid("documents about safety name files and tests that exist, and a test in each part", broken);
}

#[test]
fn tests_are_named_after_what_they_test() {
    let mut broken = Vec::new();
    for source in sources(&SOURCES) {
        let file = source.path.split_once("/tests/").map(|(_, file)| file.trim_end_matches(".rs"));
        let names = file.into_iter().flat_map(|file| file.split('/')).chain(tests_in(&source.text));
        let wrong = names.filter(|name| {
            // Whole words only: a name may contain "grow" or "narrow".
            let words = format!("_{name}_");
            ORIGINS.iter().any(|origin| words.contains(&format!("_{origin}_")))
        });
        broken.extend(wrong.map(|name| format!("{}: {name}", source.path)));
    }
    forbid("the name of a test says what it tests, and not where the requirement came from", broken);
}

/// Checks a version like `0.1`.
fn is_version(text: &str) -> bool {
    text.contains('.') && text.split('.').all(|part| part.parse::<u32>().is_ok())
}

/// Checks a link to a page of `docs/`.
fn is_page(link: &str) -> bool {
    let target = link.strip_prefix('[').and_then(|link| link.strip_suffix(')')?.split_once("]("));
    target.is_some_and(|(_, target)| {
        let page = target.split('#').next().unwrap_or(target);
        root().join("docs").join(page).is_file()
    })
}

/// Checks a cell that is the path of a test, as code.
fn is_code_of_test(cell: &str) -> bool {
    cell.strip_prefix('`').and_then(|code| code.strip_suffix('`')).is_some_and(is_path_of_test)
}

/// Checks the path of a test: `path/to/file.rs::name`.
fn is_path_of_test(path: &str) -> bool {
    path.split_once("::").is_some_and(|(file, name)| {
        let text = std::fs::read_to_string(root().join(file)).unwrap_or_default();
        tests_in(&text).contains(&name)
    })
}

/// Returns the names of the functions that have a test attribute.
fn tests_in(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut is_test = false;
    for line in text.lines().map(str::trim_start) {
        is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        if let Some(function) = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ") {
            names.extend(function.split('(').next().filter(|_| is_test));
            is_test = false;
        }
    }
    names
}
