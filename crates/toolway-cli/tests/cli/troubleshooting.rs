//! Are the errors that a user sees in a terminal on the page that explains them?
//!
//! `words.rs` and `doctor.rs` keep the real output of commands in `tests/golden`; this test looks up every error in
//! there.

#[path = "../../../toolway/tests/troubleshooting/page.rs"]
mod page;

use std::path::Path;

#[test]
fn every_error_of_the_transcripts_is_on_the_page() {
    // The command names its own options where the library names its methods.
    let options = [
        ("`Http::header` or `Http::bearer`", "--header or --bearer"),
        ("`bearer`", "--bearer"),
        ("sign in with `oauth`, or give", "give"),
    ];
    let in_our_words =
        |message: String| options.iter().fold(message, |words, (theirs, ours)| words.replace(theirs, ours));
    let messages: Vec<_> = page::messages().into_iter().map(in_our_words).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let (mut errors, mut missing) = (0, Vec::new());
    for file in std::fs::read_dir(folder).unwrap() {
        let file = file.unwrap().path();
        let text = std::fs::read_to_string(&file).unwrap();
        for line in text.lines() {
            let Some(error) = error_of(line) else { continue };
            errors += 1;
            let is_known = parts(error).any(|part| messages.iter().any(|message| page::says(message, part)));
            // Messages of the system and of the server are not on the page.
            if !is_known && !error.contains("(os error") && !error.contains(" (-32") {
                missing.push(format!("{}: {error}", file.file_name().unwrap().display()));
            }
        }
    }
    assert!(errors > 30, "the transcripts have errors");
    assert!(missing.is_empty(), "not in docs/troubleshooting.md:\n{}", missing.join("\n"));
}

/// Splits an error into itself and the sentences that it is composed of.
fn parts(error: &str) -> impl Iterator<Item = &str> {
    let ends = |mark| error.match_indices(mark).map(|(at, _): (usize, &str)| at);
    let cuts: Vec<usize> = ends(": ").chain(ends("; ")).collect();
    let starts: Vec<usize> = std::iter::once(0).chain(cuts.iter().map(|at| at + 2)).collect();
    let ends: Vec<usize> = cuts.into_iter().chain([error.len()]).collect();
    starts.into_iter().flat_map(move |start| {
        ends.clone().into_iter().filter(move |end| *end > start).map(move |end| &error[start..end])
    })
}

/// Returns the error, or the advice about one, in a line of a transcript.
fn error_of(line: &str) -> Option<&str> {
    if let Some(error) = line.strip_prefix("toolway: ") {
        return Some(error);
    }
    let line = line.trim_start();
    if let Some(fix) = line.strip_prefix("→ ") {
        return Some(fix);
    }
    // `✗ tcp      …`, `! tool `add`: …`
    let error = line.strip_prefix("✗ ").or(line.strip_prefix("! "))?;
    Some(error.split_once("  ").map_or(error, |(_, error)| error.trim_start()))
}
