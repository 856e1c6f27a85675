//! What does one operation cost, by the tools of valgrind?
//!
//! They count and do not measure time, so the load of the machine does not matter. Each case runs twice with different
//! numbers of operations; the difference leaves out the start and the end of the process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::run::{self, Result};

/// Finds a number in what valgrind has said, and in the file that it has written.
type Reading = fn(said: &str, written: &Path) -> Option<u64>;

/// A way to count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tool {
    arguments: &'static [&'static str],
    /// The option that names the file to write.
    out_file: &'static str,
    read: Reading,
}

/// Instructions in user space.
pub(super) const CALLGRIND: Tool = Tool {
    arguments: &["--tool=callgrind"],
    out_file: "--callgrind-out-file",
    read: |said, _| parse_instruction_count(said),
};

/// Bytes that `memcpy` and `memmove` carry. Most of them are futures that are moved into their place.
pub(super) const COPIES: Tool = Tool {
    arguments: &["--tool=dhat", "--mode=copy"],
    out_file: "--dhat-out-file",
    read: |_, written| sum_of_places(&fs::read_to_string(written).ok()?, "tb"),
};

/// Allocations on the heap.
pub(super) const ALLOCATIONS: Tool = Tool {
    arguments: &["--tool=dhat"],
    out_file: "--dhat-out-file",
    read: |_, written| sum_of_places(&fs::read_to_string(written).ok()?, "tbk"),
};

/// The program that runs a case a number of times.
#[derive(Debug)]
pub(super) struct Counter {
    pub(super) program: PathBuf,
    /// A folder for the files of valgrind.
    pub(super) folder: PathBuf,
}

impl Counter {
    /// Returns what one operation of the case costs.
    pub(super) fn count(&self, tool: Tool, case: &str) -> Result<u64> {
        let few = self.total(tool, case, FEW_OPERATIONS)?;
        let many = self.total(tool, case, MANY_OPERATIONS)?;
        Ok(many.saturating_sub(few) / (MANY_OPERATIONS - FEW_OPERATIONS))
    }

    fn total(&self, tool: Tool, case: &str, operations: u64) -> Result<u64> {
        let file = self.folder.join(format!("counts-{}.out", std::process::id()));
        let mut command = Command::new("valgrind");
        command.args(tool.arguments).arg(format!("{}={}", tool.out_file, file.display()));
        command.arg(&self.program).arg(case).arg(operations.to_string());
        // Valgrind prints on standard error, so this does not use `run::output`.
        let output = command.output().map_err(|error| format!("could not start valgrind: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        let text = run::command_text(&command);
        if !output.status.success() {
            return Err(format!("`{text}` failed with {}\n{said}", run::describe_exit(output.status)));
        }
        let count = (tool.read)(&said, &file);
        let _ = fs::remove_file(&file);
        count.ok_or_else(|| format!("`{text}` did not write a count\n{said}"))
    }
}

/// Finds the number in a line like `==42== Collected : 123456`.
fn parse_instruction_count(said: &str) -> Option<u64> {
    let (_, rest) = said.lines().find_map(|line| line.split_once("Collected :"))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// Adds up one figure of all places in the program that dhat has seen.
fn sum_of_places(written: &str, figure: &str) -> Option<u64> {
    let file: Value = serde_json::from_str(written).ok()?;
    file["pps"].as_array()?.iter().map(|place| place[figure].as_u64()).sum()
}

const FEW_OPERATIONS: u64 = 200;
const MANY_OPERATIONS: u64 = 1200;

#[cfg(test)]
mod tests {
    use super::{parse_instruction_count, sum_of_places};

    #[test]
    fn the_count_is_found_in_what_callgrind_says() {
        assert_eq!(
            parse_instruction_count("==7== Events    : Ir\n==7== Collected : 4711\n==7== \n"),
            Some(4711)
        );
        assert_eq!(parse_instruction_count("==7== nothing"), None);
    }

    #[test]
    fn the_places_that_dhat_has_seen_are_added_up() {
        let written =
            r#"{"dhatFileVersion":2,"pps":[{"tb":100,"tbk":2,"fs":[1]},{"tb":23,"tbk":1,"fs":[2]}]}"#;
        assert_eq!(sum_of_places(written, "tb"), Some(123));
        assert_eq!(sum_of_places(written, "tbk"), Some(3));
        assert_eq!(sum_of_places(written, "gb"), None);
        assert_eq!(sum_of_places("half a fi", "tb"), None);
    }
}
