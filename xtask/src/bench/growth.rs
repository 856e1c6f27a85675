//! Is a server with more tools, sessions or bytes as cheap as it should be?

use super::plot::{Lines, grouped};
use super::rows::{Rows, Spread, number};

/// How a figure may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Flat,
    Linear,
}

/// A figure that was measured at several sizes.
#[derive(Debug)]
pub(super) struct Series {
    pub(super) file: &'static str,
    pub(super) title: &'static str,
    of: &'static str,
    size: &'static str,
    key: &'static str,
    unit: &'static str,
    /// Smaller sizes say more about the start of the process.
    from: f64,
    shape: Shape,
}

/// What is measured.
pub(super) const SERIES: [Series; 6] = [
    Series {
        file: "growth-tools-call.svg",
        title: "CPU time of a call, by the number of tools",
        of: "tools",
        size: "tools",
        key: "cpu_us",
        unit: "µs",
        from: 0.0,
        shape: Shape::Flat,
    },
    Series {
        file: "growth-tools-list.svg",
        title: "CPU time of a list of all tools",
        of: "tools",
        size: "tools",
        key: "list_cpu_us",
        unit: "µs",
        from: 0.0,
        shape: Shape::Linear,
    },
    Series {
        file: "growth-tools-memory.svg",
        title: "Memory of the process, by the number of tools",
        of: "tools",
        size: "tools",
        key: "memory_mib",
        unit: "MiB",
        from: 0.0,
        shape: Shape::Linear,
    },
    Series {
        file: "growth-sessions-call.svg",
        title: "CPU time of a call, by the number of open sessions",
        of: "sessions",
        size: "sessions",
        key: "cpu_us",
        unit: "µs",
        from: 0.0,
        shape: Shape::Flat,
    },
    Series {
        file: "growth-sessions-memory.svg",
        title: "Memory of one idle session, by the number of open sessions",
        of: "sessions",
        size: "sessions",
        key: "kib_per_session",
        unit: "KiB",
        from: 1000.0,
        shape: Shape::Flat,
    },
    Series {
        file: "growth-body.svg",
        title: "CPU time of a call, by the length of its text and of the answer's",
        of: "body",
        size: "KiB",
        key: "cpu_us",
        unit: "µs",
        from: 0.0,
        shape: Shape::Linear,
    },
];

/// A row of the table, and whether its figure grows as it should.
#[derive(Debug)]
pub(super) struct Verdict {
    pub(super) row: String,
    pub(super) wrong: Option<String>,
}

impl Series {
    fn points(&self, rows: &Rows, peer: &str) -> Vec<(f64, Spread)> {
        let mut points = rows.growth(peer, self.of, self.key);
        points.retain(|(size, _)| *size >= self.from);
        points
    }

    /// Draws the figure for the peers that have it.
    pub(super) fn plot(&self, rows: &Rows, peers: &[&str]) -> Option<Lines> {
        let series: Vec<_> = peers.iter().map(|peer| ((*peer).to_owned(), self.points(rows, peer))).collect();
        series.iter().any(|(_, points)| points.len() > 1).then(|| Lines {
            title: self.title.to_owned(),
            size: self.size,
            unit: self.unit,
            logarithmic: self.shape == Shape::Linear,
            series,
        })
    }

    /// Judges the figure of one peer.
    pub(super) fn judge(&self, rows: &Rows, peer: &str) -> Option<Verdict> {
        let points = self.points(rows, peer);
        let figures: Vec<(f64, f64)> = points.iter().map(|(size, at)| (*size, at.median)).collect();
        let exponent = exponent(*figures.first()?, *figures.last()?)?;
        let steepest = figures.windows(2).filter_map(|pair| self::exponent(pair[0], pair[1]));
        let steepest = steepest.fold(f64::MIN, f64::max);
        let (word, is_wrong) = match self.shape {
            Shape::Flat => ("flat", exponent > MAX_FLAT),
            Shape::Linear => ("at most linear", exponent > MAX_LINEAR || steepest > MAX_LINEAR_STEP),
        };
        let cells: Vec<String> = points
            .iter()
            .map(|(size, at)| format!("{} {}: {} {}", grouped(*size), self.size, at.text(), self.unit))
            .collect();
        let row = format!(
            "| {} | {peer} | {} | {exponent:.2} | {} |",
            self.title,
            cells.join("; "),
            if is_wrong { format!("**not {word}**") } else { word.to_owned() }
        );
        let wrong = is_wrong.then(|| {
            let (first, last) = (figures[0], figures[figures.len() - 1]);
            format!(
                "{peer}: {} is not {word}: {} {} at {}, {} {} at {}",
                self.title,
                number(first.1),
                self.unit,
                grouped(first.0),
                number(last.1),
                self.unit,
                grouped(last.0)
            )
        });
        Some(Verdict { row, wrong })
    }
}

/// The power of the size with which the figure grows: 0 is flat, 1 is linear, 2 is quadratic.
fn exponent((size, figure): (f64, f64), (next, then): (f64, f64)) -> Option<f64> {
    let exponent = (then / figure).ln() / (next / size).ln();
    exponent.is_finite().then_some(exponent)
}

/// A figure may grow 2.3 times while the size grows a thousand times: more memory is in use than the caches hold.
const MAX_FLAT: f64 = 0.12;
/// Times vary from one run to the next.
const MAX_LINEAR: f64 = 1.1;
const MAX_LINEAR_STEP: f64 = 1.25;

#[cfg(test)]
mod tests {
    use super::SERIES;
    use crate::bench::rows::Rows;

    /// Judges the three figures over the number of tools, at 1, 100 and 1,000 of them.
    fn wrong(call: [f64; 3], list: [f64; 3], memory: [f64; 3]) -> Vec<String> {
        let row = |at: usize| {
            format!(
                r#"{{"round":0,"peer":"toolway","work":"growth","of":"tools","size":{},"cpu_us":{},"list_cpu_us":{},"memory_mib":{}}}"#,
                [1, 100, 1000][at],
                call[at],
                list[at],
                memory[at]
            )
        };
        let rows = Rows::parse(&[0, 1, 2].map(row).join("\n")).unwrap();
        SERIES.iter().filter_map(|series| series.judge(&rows, "toolway")?.wrong).collect()
    }

    #[test]
    fn flat_and_linear_figures_pass_and_worse_ones_fail() {
        let (flat, linear) = ([12.0, 13.0, 14.0], [10.0, 120.0, 1100.0]);
        assert_eq!(wrong(flat, linear, linear), [""; 0]);
        let searched = wrong([12.0, 15.0, 60.0], linear, linear);
        assert_eq!(
            searched,
            [
                "toolway: CPU time of a call, by the number of tools is not flat: 12.0 µs at 1, 60.0 µs at 1,000"
            ]
        );
        // Each tool compared with each other one: most of the growth is in the last step.
        assert_eq!(wrong(flat, [10.0, 30.0, 3000.0], linear).len(), 1);
        assert_eq!(wrong(flat, linear, [5.0, 6.0, 200.0]).len(), 1);
    }

    #[test]
    fn what_was_not_measured_is_not_judged() {
        let rows = Rows::parse("").unwrap();
        assert!(SERIES.iter().all(|series| series.judge(&rows, "toolway").is_none()));
        assert!(SERIES.iter().all(|series| series.plot(&rows, &["toolway"]).is_none()));
    }
}
