//! What came of a check, and how is it told?
//!
//! One line a check: `ok   ERA REVISION GROUP: WHAT`, or `FAIL` or `n/a ` with ` -- WHY` after it. What passed may have something
//! to tell in the same place.

use std::fmt::Debug;
use std::time::Duration;

use toolway::Chain;

/// How a check ends.
pub(crate) type Checked<T = ()> = Result<T, Unmet>;

/// Why a check has not passed.
#[derive(Clone, Debug)]
pub(crate) enum Unmet {
    /// Something else came than what must come.
    Failed(String),
    /// The server cannot be asked this.
    NotHere(String),
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

/// The server cannot be asked this, for a reason that a reader of the table must know.
pub(crate) fn not_here<T>(why: &str) -> Checked<T> {
    Err(Unmet::NotHere(why.to_owned()))
}

/// Both must be equal.
pub(crate) fn same<T: PartialEq<U> + Debug + ?Sized, U: Debug + ?Sized>(got: &T, wanted: &U) -> Checked {
    if got == wanted {
        Ok(())
    } else {
        Err(format!("{} came instead of {}", shown(got), shown(wanted)).into())
    }
}

/// The text must have this in it.
pub(crate) fn says(text: &str, wanted: &str) -> Checked {
    if text.contains(wanted) { Ok(()) } else { Err(format!("no {wanted:?} in {}", shown(text)).into()) }
}

/// This must be so; `why` tells what is wrong otherwise.
pub(crate) fn holds(so: bool, why: impl Into<String>) -> Checked {
    if so { Ok(()) } else { Err(Unmet::Failed(why.into())) }
}

/// A value on one line, and not a whole book of it.
pub(crate) fn shown<T: Debug + ?Sized>(value: &T) -> String {
    let text = format!("{value:?}");
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Waits for a check, and not for ever.
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

    /// Does a check and tells what came of it.
    pub(crate) async fn check(&mut self, group: &str, what: &str, work: impl Future<Output = Checked>) {
        let outcome = in_time(Box::pin(work)).await;
        self.tell(group, what, outcome);
    }

    /// Does a check that counts something, and tells that as well.
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

    /// A check and, where it passed, what it has counted.
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

/// Starting a server takes its time on a busy machine, and some checks start two.
const LIMIT: Duration = PATIENCE.saturating_mul(2);
/// How long one server may take to start or to answer. Nothing is meant to take so long; a machine may be slow.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2 * 60);
const LONGEST: usize = 300;
