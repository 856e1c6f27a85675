//! How does a check end, and how is the result printed?
//!
//! Prints one line per check: `ok   ERA REVISION GROUP: WHAT`, or `FAIL` or `n/a ` with ` -- WHY` after it. A passed
//! check may add a remark in the same place.

use std::fmt::{self, Debug};
use std::time::Duration;

use toolway::Chain;

/// The result of a check.
pub(crate) type Checked<T = ()> = Result<T, Unmet>;

/// The reason why a check did not pass.
#[derive(Clone, Debug)]
pub(crate) enum Unmet {
    /// The result differs from the expected one.
    Failed(String),
    /// The check does not apply to this server.
    NotHere(String),
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Failed(why) | Self::NotHere(why)) = self;
        f.write_str(why)
    }
}

impl From<String> for Unmet {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

impl From<&str> for Unmet {
    fn from(why: &str) -> Self {
        Self::Failed(why.to_owned())
    }
}

impl From<toolway::Error> for Unmet {
    fn from(error: toolway::Error) -> Self {
        Self::Failed(Chain(&error).to_string())
    }
}

impl From<serde_json::Error> for Unmet {
    fn from(error: serde_json::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<std::io::Error> for Unmet {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Reports that the check does not apply to this server, with the reason for the reader of the table.
pub(crate) fn not_here<T>(why: &str) -> Checked<T> {
    Err(Unmet::NotHere(why.to_owned()))
}

/// Checks that both are equal.
pub(crate) fn same<T: PartialEq<U> + Debug + ?Sized, U: Debug + ?Sized>(got: &T, wanted: &U) -> Checked {
    if got == wanted {
        Ok(())
    } else {
        Err(format!("{} came instead of {}", shown(got), shown(wanted)).into())
    }
}

/// Checks that the text contains `wanted`.
pub(crate) fn says(text: &str, wanted: &str) -> Checked {
    if text.contains(wanted) { Ok(()) } else { Err(format!("no {wanted:?} in {}", shown(text)).into()) }
}

/// Checks a condition; `why` describes the failure.
pub(crate) fn holds(so: bool, why: impl Into<String>) -> Checked {
    if so { Ok(()) } else { Err(Unmet::Failed(why.into())) }
}

/// Formats a value on one line, cut to a maximum length.
pub(crate) fn shown<T: Debug + ?Sized>(value: &T) -> String {
    let text = format!("{value:?}");
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Waits for a check, with a time limit.
pub(crate) async fn in_time<T>(work: impl Future<Output = Checked<T>>) -> Checked<T> {
    match tokio::time::timeout(LIMIT, work).await {
        Ok(outcome) => outcome,
        Err(_) => Err(format!("not done after {} s", LIMIT.as_secs()).into()),
    }
}

/// The checks of one column of the table.
#[derive(Debug)]
pub(crate) struct Report {
    /// The era and the revision.
    column: String,
    passed: bool,
}

impl Report {
    pub(crate) fn new(column: impl ToString) -> Self {
        Self { column: column.to_string(), passed: true }
    }

    pub(crate) fn passed(&self) -> bool {
        self.passed
    }

    /// Runs a check and prints its result.
    pub(crate) async fn check(&mut self, group: &str, what: &str, work: impl Future<Output = Checked>) {
        let outcome = in_time(Box::pin(work)).await;
        self.tell(group, what, outcome);
    }

    /// Runs a check that counts something, and prints the count as well.
    pub(crate) async fn check_told(
        &mut self,
        group: &str,
        what: &str,
        work: impl Future<Output = Checked<String>>,
    ) {
        let outcome = in_time(Box::pin(work)).await;
        self.tell_more(group, what, outcome);
    }

    pub(crate) fn tell(&mut self, group: &str, what: &str, outcome: Checked) {
        self.tell_more(group, what, outcome.map(|()| String::new()));
    }

    /// Prints the result of a check and, if it passed, what it counted.
    pub(crate) fn tell_more(&mut self, group: &str, what: &str, outcome: Checked<String>) {
        let (kind, why) = match outcome {
            Ok(told) if told.is_empty() => ("ok  ", told),
            Ok(told) => ("ok  ", format!(" -- {told}")),
            Err(Unmet::NotHere(why)) => ("n/a ", format!(" -- {why}")),
            Err(Unmet::Failed(why)) => {
                self.passed = false;
                ("FAIL", format!(" -- {}", why.replace('\n', " ⏎ ")))
            }
        };
        println!("{kind} {} {group}: {what}{why}", self.column);
    }
}

/// Starting a server takes time on a busy machine, and some checks start two.
const LIMIT: Duration = PATIENCE.saturating_mul(2);
/// How long one server may take to start or to answer. No check should need this long; the value allows for a slow
/// machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2 * 60);
const LONGEST: usize = 300;
