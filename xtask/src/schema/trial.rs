//! What happens to the values of one revision?
//!
//! Each is read and written by the type in the table. Failures are recorded in the report, unless the allow-list has
//! them. At the end the allow-list is compared with what happened, so that unneeded entries are reported.

use std::collections::BTreeSet;

use serde_json::Value;

use super::SEED;
use super::allow_list::AllowList;
use super::compare::{self, Difference};
use super::examples::Example;
use super::generate::{Generator, OptionalContent};
use super::report::{Report, line};
use super::strict;
use super::validate::Document;
use crate::run::Result;

/// Reads a value of a definition in a revision and writes it again; see `table.rs`.
pub(super) type Rewrite = fn(&str, &str, &[u8]) -> Option<Result<Vec<u8>>>;

/// Sends generated values of every definition, and the examples, through our types.
pub(super) fn run(
    document: &Document,
    examples: &[Example],
    seed: u64,
    rewrite: Rewrite,
    allowed: &AllowList,
) -> Result<Report> {
    let report = Report::new(&document.revision);
    let mut trial =
        Trial { document, rewrite, allowed, report, losses: BTreeSet::new(), flawed: BTreeSet::new() };
    for definition in document.definitions() {
        trial.definition(definition, seed)?;
    }
    for example in examples {
        trial.example(example)?;
    }
    trial.uncovered();
    trial.report_unused_examples();
    // With another seed a rare loss may not occur, so its entry may still be needed.
    if seed == SEED {
        trial.report_unused_losses();
    }
    Ok(trial.report)
}

struct Trial<'d> {
    document: &'d Document,
    rewrite: Rewrite,
    allowed: &'d AllowList,
    report: Report,
    /// The entries that were needed, by their index: losses with the place that was lost, and flawed examples.
    losses: BTreeSet<(usize, &'static str)>,
    flawed: BTreeSet<usize>,
}

impl Trial<'_> {
    fn definition(&mut self, definition: &str, seed: u64) -> Result {
        self.report.definitions += 1;
        let mut generator = Generator::new(self.document, definition, seed);
        let mut covered = false;
        for number in 0..VALUES {
            let measure = match number {
                0 => OptionalContent::None,
                1 => OptionalContent::All,
                _ => OptionalContent::Random,
            };
            let value = match generator.value(definition, measure) {
                Ok(value) => value,
                Err(why) => {
                    self.report.fail(definition, "xtask cannot make a value of it", why);
                    continue;
                }
            };
            self.report.generated += 1;
            let mistakes = self.document.mistakes(definition, &value)?;
            let input = Input { value: &value, origin: "a generated value", mistakes };
            for mistake in &input.mistakes {
                let details = format!("{mistake}\n{}", line("the value", &value));
                self.report.fail(definition, "xtask made a value that is not valid", details);
            }
            if self.round_trip(definition, &input)? == RoundTrip::Written {
                self.report.written += 1;
                covered = true;
            }
        }
        if covered {
            self.report.covered += 1;
        } else {
            self.report.uncovered.push(definition.to_owned());
        }
        Ok(())
    }

    fn example(&mut self, example: &Example) -> Result {
        let Example { definition, name, value } = example;
        if !self.document.has(definition) {
            self.report.fail(definition, "there are examples, but no such definition", name);
            return Ok(());
        }
        let flawed = self.allowed.flawed.iter().position(|flawed| {
            flawed.definition == definition
                && flawed.name == name
                && flawed.revision == self.document.revision
        });
        let origin = format!("the example {name}");
        let mistakes = self.document.mistakes(definition, value)?;
        let input = Input { value, origin: &origin, mistakes };
        for mistake in &input.mistakes {
            match flawed {
                Some(index) => drop(self.flawed.insert(index)),
                None => self.report.fail(definition, format!("{origin} is not valid"), mistake),
            }
        }
        if self.round_trip(definition, &input)? == RoundTrip::Written {
            self.report.examples += 1;
        }
        Ok(())
    }

    /// Reads a value with our type, writes it again, and checks the output.
    fn round_trip(&mut self, definition: &str, input: &Input<'_>) -> Result<RoundTrip> {
        let Input { value, origin, mistakes } = input;
        let text = value.to_string();
        let Some(written) = (self.rewrite)(definition, &self.document.revision, text.as_bytes()) else {
            return Ok(RoundTrip::NotCovered);
        };
        let read = line(origin, value);
        let written = match written {
            Ok(written) => written,
            Err(why) => {
                self.report.fail(definition, "the value is refused", format!("{why}\n{read}"));
                return Ok(RoundTrip::Written);
            }
        };
        let written = match strict::parse(&written) {
            Ok(written) => written,
            Err(why) => {
                let written = String::from_utf8_lossy(&written);
                let details = format!("{why}\nwritten: {written}\n{read}");
                self.report.fail(definition, "the written text is not valid JSON", details);
                return Ok(RoundTrip::Written);
            }
        };
        if mistakes.is_empty() {
            for mistake in self.document.mistakes(definition, &written)? {
                let details = format!("{mistake}\n{}{read}", line("written", &written));
                self.report.fail(definition, "the written value is not valid", details);
            }
        }
        for difference in compare::differences(self.document, definition, value, &written)? {
            // What is added to a flawed value is what the value lacked.
            let mends = difference.input.is_none() && !mistakes.is_empty();
            if !mends && !self.is_allowed(&difference) {
                let Difference { path, places, input, output } = &difference;
                let verdict = match (input, output) {
                    (Some(_), Some(_)) => "is changed",
                    (Some(_), None) => "is lost",
                    (None, _) => "is added, which this revision does not know",
                };
                let what = format!("{} {verdict}", places.join(" or "));
                let input = input.as_ref().map(|input| line("in", input)).unwrap_or_default();
                let output = output.as_ref().map(|output| line("out", output)).unwrap_or_default();
                self.report.fail(definition, what, format!("at {path}\n{input}{output}{read}"));
            }
        }
        Ok(RoundTrip::Written)
    }

    fn is_allowed(&mut self, difference: &Difference) -> bool {
        let Difference { places, input, .. } = difference;
        for (index, loss) in self.allowed.losses.iter().enumerate() {
            let is_it = |only: &str| {
                let only: Option<Value> = serde_json::from_str(only).ok();
                only.is_some() && only == *input
            };
            let applies =
                loss.revisions.contains(&self.document.revision.as_str()) && loss.value.is_none_or(is_it);
            let place = loss.places.iter().find(|listed| places.iter().any(|place| place == **listed));
            if let Some(place) = place.filter(|_| applies) {
                self.losses.insert((index, place));
                return true;
            }
        }
        false
    }

    /// Compares the definitions without a type with the list of them, in both directions.
    fn uncovered(&mut self) {
        let revision = self.document.revision.as_str();
        let entries = || self.allowed.uncovered.iter().filter(|entry| entry.revisions.contains(&revision));
        let is_listed = |name: &str| entries().any(|entry| entry.definitions.contains(&name));
        let uncovered = self.report.uncovered.clone();
        for definition in uncovered.iter().filter(|name| !is_listed(name)) {
            let advice =
                "give it a line in xtask/src/schema/table.rs, or list it in allow.rs with the reason";
            self.report.fail(definition, "no type covers it", advice);
        }
        for entry in entries() {
            for definition in entry.definitions {
                if !uncovered.iter().any(|name| name == definition) {
                    let what = if self.document.has(definition) {
                        "is listed as uncovered, but a type covers it"
                    } else {
                        "is listed as uncovered, but does not exist"
                    };
                    self.report.fail(definition, what, unused_entry_message(entry.reason));
                }
            }
        }
    }

    fn report_unused_losses(&mut self) {
        for (index, loss) in self.allowed.losses.iter().enumerate() {
            if loss.revisions.contains(&self.document.revision.as_str()) {
                for place in loss.places.iter().filter(|place| !self.losses.contains(&(index, **place))) {
                    let what = "is listed as a loss, but was kept each time";
                    self.report.fail(place, what, unused_entry_message(loss.reason));
                }
            }
        }
    }

    fn report_unused_examples(&mut self) {
        for (index, flawed) in self.allowed.flawed.iter().enumerate() {
            if flawed.revision == self.document.revision && !self.flawed.contains(&index) {
                let what = format!("the example {} is listed as flawed, but is valid or gone", flawed.name);
                self.report.fail(flawed.definition, what, unused_entry_message(flawed.reason));
            }
        }
    }
}

fn unused_entry_message(reason: &str) -> String {
    format!("remove it from xtask/src/schema/allow_list.rs; it was listed because: {reason}")
}

/// A value to read and write.
struct Input<'v> {
    value: &'v Value,
    /// Its origin, as failures print it.
    origin: &'v str,
    /// The mistakes in the value itself. If there are any, the output need not be valid either.
    mistakes: Vec<String>,
}

/// The outcome of reading and writing a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RoundTrip {
    /// A type read and wrote it; failures are in the report.
    Written,
    /// No type covers the definition.
    NotCovered,
}

/// The number of values generated from each definition: one minimal, one with everything, the others random.
const VALUES: usize = 128;

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Rewrite, SEED, run};
    use crate::schema::allow_list::{AllowList, FlawedExample, Loss, UncoveredDefinitions};
    use crate::schema::examples::Example;
    use crate::schema::report::render;
    use crate::schema::validate::Document;

    const TOOL: UncoveredDefinitions =
        UncoveredDefinitions { definitions: &["Tool"], revisions: &["R"], reason: "a test" };
    const HINT: Loss =
        Loss { places: &["Tool/hint"], value: Some("false"), revisions: &["R"], reason: "a test" };
    const SPARE: FlawedExample =
        FlawedExample { definition: "Tool", revision: "R", name: "spare.json", reason: "a test" };

    /// Returns the report of a revision with one definition and one example.
    fn report_text(example: Value, rewrite: Rewrite, allowed: &AllowList) -> String {
        let schema = json!({
            "type": "object",
            "properties": {"name": {"type": "string"}, "hint": {"type": "boolean"}},
            "required": ["name"],
        });
        let document = Document::new("R", json!({"$defs": {"Tool": schema}}), &[]).unwrap();
        let example =
            Example { definition: "Tool".to_owned(), name: "spare.json".to_owned(), value: example };
        let report = run(&document, &[example], SEED, rewrite, allowed).unwrap();
        render(&[report]).0
    }

    fn right() -> Value {
        json!({"name": "a"})
    }

    const NOTHING: AllowList = AllowList { uncovered: &[], losses: &[], flawed: &[] };

    const NOWHERE: Rewrite = |_, _, _| None;
    const COPY: Rewrite = |_, _, value| Some(Ok(value.to_vec()));
    const REFUSE: Rewrite = |_, _, _| Some(Err("no thanks".to_owned()));
    const GARBLE: Rewrite = |_, _, _| Some(Ok(b"{".to_vec()));
    const LOSE_NAME: Rewrite = |_, _, value| Some(Ok(without("name", |_| true, value)));
    const LOSE_FALSE: Rewrite = |_, _, value| Some(Ok(without("hint", |hint| *hint == false, value)));

    fn without(key: &str, if_it: fn(&Value) -> bool, value: &[u8]) -> Vec<u8> {
        let mut value: Value = serde_json::from_slice(value).unwrap();
        value.as_object_mut().unwrap().retain(|name, member| name != key || !if_it(member));
        value.to_string().into_bytes()
    }

    #[test]
    fn what_comes_back_whole_passes() {
        let text = report_text(right(), COPY, &NOTHING);
        assert!(text.ends_with("schema: 1 definitions, 128 values, 1 examples, 0 failed\n"), "{text}");
    }

    #[test]
    fn every_way_to_fail_is_told() {
        let rows: [(Rewrite, &str); 5] = [
            (NOWHERE, "Tool: no type covers it\n"),
            (REFUSE, "Tool: the value is refused, 129 times\n    no thanks\n"),
            (GARBLE, "Tool: the written text is not valid JSON, 129 times\n"),
            (LOSE_NAME, "Tool: Tool/name is lost, 129 times\n    at /name\n"),
            (LOSE_NAME, "Tool: the written value is not valid, 129 times\n    the whole: "),
        ];
        for (rewrite, expected) in rows {
            let text = report_text(right(), rewrite, &NOTHING);
            assert!(text.contains(expected), "{text}");
        }
        let text = report_text(json!({}), COPY, &NOTHING);
        assert!(text.contains("Tool: the example spare.json is not valid\n"), "{text}");
    }

    #[test]
    fn what_is_listed_passes_and_an_entry_that_nothing_needs_fails() {
        let uncovered = AllowList { uncovered: &[TOOL], ..NOTHING };
        let losses = AllowList { losses: &[HINT], ..NOTHING };
        let flawed = AllowList { flawed: &[SPARE], ..NOTHING };
        let rows: [(Rewrite, Value, &AllowList, &str); 6] = [
            (NOWHERE, right(), &uncovered, " 0 failed"),
            (COPY, right(), &uncovered, "Tool: is listed as uncovered, but a type covers it\n"),
            (LOSE_FALSE, right(), &losses, " 0 failed"),
            (COPY, right(), &losses, "Tool/hint: is listed as a loss, but was kept each time\n"),
            (COPY, json!({}), &flawed, " 0 failed"),
            (
                COPY,
                right(),
                &flawed,
                "Tool: the example spare.json is listed as flawed, but is valid or gone\n",
            ),
        ];
        for (rewrite, example, allowed, expected) in rows {
            let text = report_text(example, rewrite, allowed);
            assert!(text.contains(expected), "{expected}\n{text}");
        }
    }
}
