//! Which tests are the slowest, and how many passed?
//!
//! Nextest writes its results as XML, in `junit.xml`. Only one element of it is read, so a full XML parser is not
//! needed.

use std::fmt::Write as _;

/// One test as nextest reports it.
#[derive(Debug, PartialEq)]
pub(crate) struct TestCase {
    /// The test program and the name of the test.
    pub(crate) name: String,
    pub(crate) seconds: f64,
    pub(crate) passed: bool,
}

/// Reads every test in the report.
pub(crate) fn parse(report: &str) -> Vec<TestCase> {
    let cases = report.split("<testcase ").skip(1);
    cases
        .filter_map(|text| {
            let attributes = text.split_once('>')?.0;
            // The elements inside, up to the end of this test; a test without any ends in `/>`.
            let inside = if attributes.ends_with('/') { "" } else { text.split("</testcase>").next()? };
            let program = attribute(attributes, "classname")?;
            Some(TestCase {
                name: format!("{program} {}", attribute(attributes, "name")?),
                seconds: attribute(attributes, "time")?.parse().ok()?,
                passed: !inside.contains("<failure") && !inside.contains("<error"),
            })
        })
        .collect()
}

/// Writes a table of the slowest tests, the slowest first.
pub(crate) fn table(mut cases: Vec<TestCase>) -> String {
    let shown = MAX_SHOWN.min(cases.len());
    cases.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    let all: f64 = cases.iter().map(|case| case.seconds).sum();
    let slowest: f64 = cases[..shown].iter().map(|case| case.seconds).sum();
    let mut table = format!("seconds  the {shown} slowest tests\n");
    for TestCase { name, seconds, .. } in &cases[..shown] {
        let _ = writeln!(table, "{seconds:7.1}  {name}");
    }
    let _ = writeln!(table, "{slowest:7.1}  of {all:.1} s of all {} tests, one after the other", cases.len());
    table
}

fn attribute(attributes: &str, name: &str) -> Option<String> {
    // The space prevents a match of `name` in `classname`.
    let attributes = format!(" {attributes}");
    let (_, rest) = attributes.split_once(&format!(" {name}=\""))?;
    let (value, _) = rest.split_once('"')?;
    Some(value.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&"))
}

const MAX_SHOWN: usize = 30;

#[cfg(test)]
mod tests {
    use super::{TestCase, parse, table};

    const REPORT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="3" failures="1" errors="0" time="4.1">
    <testsuite name="toolway::it" tests="2" disabled="0" errors="0" failures="1">
        <testcase name="a&lt;b" classname="toolway::it" timestamp="2026-01-01T00:00:00Z" time="1.500">
        </testcase>
        <testcase name="breaks" classname="toolway::it" timestamp="2026-01-01T00:00:00Z" time="0.200">
            <failure message="it &lt;testcase" type="test failure">text</failure>
        </testcase>
    </testsuite>
    <testsuite name="xtask" tests="1" disabled="0" errors="0" failures="0">
        <testcase name="quick" classname="xtask" time="0.010"/>
    </testsuite>
</testsuites>"#;

    #[test]
    fn each_test_has_its_program_its_seconds_and_its_verdict() {
        let case = |name: &str, seconds, passed| TestCase { name: name.to_owned(), seconds, passed };
        assert_eq!(
            parse(REPORT),
            [
                case("toolway::it a<b", 1.5, true),
                case("toolway::it breaks", 0.2, false),
                case("xtask quick", 0.01, true)
            ]
        );
    }

    #[test]
    fn the_slowest_stand_first() {
        let mut cases = parse(REPORT);
        cases.reverse();
        let table = table(cases);
        let second = table.lines().nth(1).unwrap();
        assert_eq!(second, "    1.5  toolway::it a<b");
        assert!(table.ends_with("    1.7  of 1.7 s of all 3 tests, one after the other\n"), "{table}");
    }
}
