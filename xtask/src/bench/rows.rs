//! The figures of a run: what the load generator has written, one JSON object per line.

use serde_json::Value;

use crate::run::Result;

/// The medians are taken over the rounds; a ratio is taken inside a round, never between rounds.
#[derive(Debug, Default)]
pub(super) struct Rows(Vec<Value>);

/// Names a figure: of which work in which mode, and the key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figure {
    pub(super) mode: &'static str,
    pub(super) work: &'static str,
    pub(super) key: &'static str,
}

/// The median over the rounds, with the lowest and the highest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) low: f64,
    pub(super) median: f64,
    pub(super) high: f64,
}

impl Spread {
    pub(super) fn of(mut values: Vec<f64>) -> Option<Self> {
        values.retain(|value| value.is_finite());
        values.sort_by(f64::total_cmp);
        let (low, high) = (*values.first()?, *values.last()?);
        let median = f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2]);
        Some(Self { low, median, high })
    }

    pub(super) fn scaled(self, by: f64) -> Self {
        Self { low: self.low * by, median: self.median * by, high: self.high * by }
    }

    /// Writes `13.3 (12.9–14.0)`, or only the number if there is one round.
    pub(super) fn text(self) -> String {
        let Self { low, median, high } = self;
        if low.to_bits() == high.to_bits() {
            number(median)
        } else {
            format!("{} ({}–{})", number(median), number(low), number(high))
        }
    }
}

impl Rows {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let rows = text.lines().map(serde_json::from_str).collect::<std::result::Result<_, _>>();
        Ok(Self(rows.map_err(|error| format!("a line of the rounds is not JSON: {error}"))?))
    }

    /// What is written once for the whole run, such as the machine.
    pub(super) fn fact(&self, name: &str) -> &Value {
        self.0.iter().rev().map(|row| &row[name]).find(|fact| !fact.is_null()).unwrap_or(&Value::Null)
    }

    pub(super) fn rounds(&self) -> u64 {
        self.0.iter().filter_map(|row| row["round"].as_u64()).max().map_or(0, |last| last + 1)
    }

    /// The measurements that failed.
    pub(super) fn errors(&self) -> Vec<String> {
        let failed = self.0.iter().filter(|row| row["error"].is_string());
        failed
            .map(|row| {
                let word = |key: &str| row[key].as_str().unwrap_or("?").to_owned();
                format!(
                    "round {}, {}, {}, {}: {}",
                    row["round"],
                    word("peer"),
                    word("mode"),
                    word("work"),
                    word("error")
                )
            })
            .collect()
    }

    fn of<'a>(&'a self, peer: &'a str, figure: Figure) -> impl Iterator<Item = &'a Value> {
        self.0.iter().filter(move |row| {
            row["peer"] == peer && row["work"] == figure.work && row["mode"] == figure.mode
        })
    }

    pub(super) fn spread(&self, peer: &str, figure: Figure) -> Option<Spread> {
        Spread::of(self.of(peer, figure).filter_map(|row| row[figure.key].as_f64()).collect())
    }

    /// What the peer needs of what the other one needs.
    pub(super) fn ratio(&self, peer: &str, other: &str, figure: Figure) -> Option<Spread> {
        let ratios = self.of(peer, figure).filter_map(|row| {
            let base = self.of(other, figure).find(|base| base["round"] == row["round"])?;
            Some(row[figure.key].as_f64()? / base[figure.key].as_f64()?)
        });
        Spread::of(ratios.collect())
    }

    /// The sizes at which the growth of something was measured, with the figure.
    pub(super) fn growth(&self, peer: &str, of: &str, key: &str) -> Vec<(f64, Spread)> {
        let rows =
            self.0.iter().filter(|row| row["peer"] == peer && row["work"] == "growth" && row["of"] == of);
        let rows: Vec<&Value> = rows.collect();
        let mut sizes: Vec<u64> = rows.iter().filter_map(|row| row["size"].as_u64()).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let at = |size: u64| {
            let values = rows.iter().filter(|row| row["size"] == size).filter_map(|row| row[key].as_f64());
            #[expect(clippy::cast_precision_loss, reason = "sizes are small")]
            Spread::of(values.collect()).map(|spread| (size as f64, spread))
        };
        sizes.into_iter().filter_map(at).collect()
    }
}

/// Writes a number with three digits that mean something.
pub(super) fn number(value: f64) -> String {
    match value {
        value if value >= 99.95 => format!("{value:.0}"),
        value if value >= 9.995 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Figure, Rows, Spread, number};

    const CALL: Figure = Figure { mode: "2026", work: "W2", key: "cpu_us" };

    fn rows() -> Rows {
        Rows::parse(
            r#"{"machine":{"cores":2}}
{"round":0,"peer":"toolway","mode":"2026","work":"W2","cpu_us":12.0}
{"round":0,"peer":"rmcp","mode":"2026","work":"W2","cpu_us":48.0}
{"round":1,"peer":"rmcp","mode":"2026","work":"W2","cpu_us":40.0}
{"round":1,"peer":"toolway","mode":"2026","work":"W2","cpu_us":20.0}
{"round":1,"peer":"toolway","mode":"2026","work":"W3","error":"it broke"}
{"round":0,"peer":"toolway","mode":"2026","work":"growth","of":"tools","size":100,"cpu_us":14.0}
{"round":0,"peer":"toolway","mode":"2026","work":"growth","of":"tools","size":1,"cpu_us":13.0}"#,
        )
        .unwrap()
    }

    #[test]
    fn a_figure_is_the_median_of_the_rounds_and_a_ratio_is_taken_inside_a_round() {
        let rows = rows();
        let spread = rows.spread("toolway", CALL).unwrap();
        assert_eq!(spread, Spread { low: 12.0, median: 16.0, high: 20.0 });
        assert_eq!(spread.text(), "16.0 (12.0–20.0)");
        assert_eq!(rows.ratio("toolway", "rmcp", CALL).unwrap().text(), "0.38 (0.25–0.50)");
        assert_eq!(rows.spread("unknown", CALL), None);
        assert_eq!(rows.rounds(), 2);
        assert_eq!(rows.fact("machine")["cores"], 2);
    }

    #[test]
    fn what_failed_is_told() {
        assert_eq!(rows().errors(), ["round 1, toolway, 2026, W3: it broke"]);
    }

    #[test]
    fn growth_is_in_the_order_of_sizes() {
        let growth = rows().growth("toolway", "tools", "cpu_us");
        let plain: Vec<_> = growth.iter().map(|(size, spread)| (*size, spread.median)).collect();
        assert_eq!(plain, [(1.0, 13.0), (100.0, 14.0)]);
    }

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!([0.123, 9.999, 99.96, 12345.6].map(number), ["0.12", "10.0", "100", "12346"]);
    }
}
