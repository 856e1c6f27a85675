//! Writes `RESULTS.md` and the plots from the figures of a run.

use std::fmt::Write as _;

use serde_json::Value;

use super::growth::SERIES;
use super::plot::Bars;
use super::rows::{Figure, Rows, Spread, number};

/// A figure for which peers are compared.
struct Compared {
    title: &'static str,
    figure: Figure,
    /// From the unit of the rounds to that of the table.
    scale: f64,
}

/// A page and its pictures.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) text: String,
    /// The names of the files and their contents.
    pub(super) plots: Vec<(&'static str, String)>,
    /// What grows worse than it should.
    pub(super) wrong: Vec<String>,
}

/// Makes the report. `tables` are those of the load generator, with every figure.
pub(super) fn make(rows: &Rows, tables: &str) -> Report {
    let peers: Vec<&str> = names(rows.fact("peers"));
    let native: Vec<&str> = names(rows.fact("native"));
    let plots = plots(rows, &native);
    let mut text = head(rows, &plots);
    text.push_str(
        "\n## In short\n\nMedians over the rounds (lowest–highest). `×` compares inside each round.\n\n",
    );
    let others: Vec<&str> = BASELINES.into_iter().filter(|base| peers.contains(base)).collect();
    let mut titles: Vec<String> = peers.iter().map(ToString::to_string).collect();
    titles.extend(others.iter().map(|base| format!("{OURS} ×{base}")));
    let _ = writeln!(text, "| | {} |", titles.join(" | "));
    let _ = writeln!(text, "|{}", "---|".repeat(1 + titles.len()));
    for Compared { title, figure, scale } in &COMPARED {
        let cell = |spread: Option<Spread>, scale: f64| {
            spread.map_or_else(|| " – |".to_owned(), |found| format!(" {} |", found.scaled(scale).text()))
        };
        let figures: String = peers.iter().map(|peer| cell(rows.spread(peer, *figure), *scale)).collect();
        let ratios: String = others.iter().map(|base| cell(rows.ratio(OURS, base, *figure), 1.0)).collect();
        let _ = writeln!(text, "| {title} |{figures}{ratios}");
    }
    let mut wrong = Vec::new();
    let verdicts = SERIES.iter().flat_map(|series| native.iter().filter_map(|peer| series.judge(rows, peer)));
    let mut table = String::new();
    for verdict in verdicts {
        let _ = writeln!(table, "{}", verdict.row);
        wrong.extend(verdict.wrong.filter(|what| what.starts_with(&format!("{OURS}:"))));
    }
    if !table.is_empty() {
        let _ = write!(
            text,
            "\n## Growth\n\nMore tools, sessions and bytes. The power is that of the size with which the figure grows: 0 is flat, 1 is linear. \
             `cargo xtask bench` fails if a figure of {OURS} grows faster than the last column says.\n\n\
             | figure | server | measured | power | grows |\n|---|---|---|---|---|\n{table}"
        );
    }
    let _ = write!(text, "\n## Every figure\n\n{}\n", tables.trim());
    Report { text, plots, wrong }
}

fn head(rows: &Rows, plots: &[(&str, String)]) -> String {
    let machine = rows.fact("machine");
    let word = |key: &str| {
        machine[key].as_str().map_or_else(|| machine[key].to_string(), |text| text.trim().to_owned())
    };
    let mut text = format!(
        "# Results, {}\n\nWritten by `cargo xtask bench`; the [README](README.md) says what is measured and how. {} of all servers in \
         turn.\n\n",
        word("date"),
        if rows.rounds() == 1 { "One round".to_owned() } else { format!("{} rounds", rows.rounds()) }
    );
    for (name, is_true) in [
        ("**The machine was busy: read only the order of magnitude.**", machine["busy"] == true),
        ("**A quick run, to show that it works: the figures mean nothing.**", machine["quick"] == true),
    ] {
        if is_true {
            let _ = writeln!(text, "{name}\n");
        }
    }
    let _ = writeln!(text, "| | |\n|---|---|");
    let _ = writeln!(text, "| processor | {}, {} cores, {} |", word("cpu"), word("cores"), word("memory"));
    let _ = writeln!(text, "| system | Linux {} |", word("kernel"));
    let _ = writeln!(text, "| compiler | {}, `--release` as cargo has it |", word("rustc"));
    let _ = writeln!(text, "| {OURS} | commit {}, {} |", word("commit"), word("versions"));
    let _ = writeln!(text, "| others | {} |", word("others"));
    let _ = writeln!(text, "| load at the begin | {} |", word("load"));
    let _ = writeln!(
        text,
        "| placement | {} |",
        if machine["pinned"] == true { "servers on one core, the load generator on another" } else { "free" }
    );
    for left_out in rows.fact("left_out").as_array().into_iter().flatten() {
        let _ = writeln!(text, "| left out | {} |", left_out.as_str().unwrap_or_default().replace('|', "/"));
    }
    let errors = rows.errors();
    if !errors.is_empty() {
        let _ = writeln!(text, "\n{} measurements failed; the last section names them.", errors.len());
    }
    text.push('\n');
    for (file, svg) in plots {
        let title = svg.split_once("<title>").and_then(|(_, rest)| rest.split("</title>").next());
        let _ = writeln!(text, "![{}](plots/{file})", title.unwrap_or_default());
    }
    text
}

fn plots(rows: &Rows, native: &[&str]) -> Vec<(&'static str, String)> {
    let bars = |file: &'static str, title: &str, unit, scale: f64, figures: &[(&'static str, Figure)]| {
        let groups: Vec<(String, Vec<Option<Spread>>)> = native
            .iter()
            .map(|peer| {
                let bars = figures
                    .iter()
                    .map(|(_, figure)| rows.spread(peer, *figure).map(|found| found.scaled(scale)));
                ((*peer).to_owned(), bars.collect())
            })
            .collect();
        let any = groups.iter().any(|(_, bars)| bars.iter().any(Option::is_some));
        let series = figures.iter().map(|(name, _)| *name).collect();
        any.then(|| (file, Bars { title: title.to_owned(), unit, series, groups }.svg()))
    };
    let mut plots: Vec<(&'static str, String)> = [
        bars(
            "cpu-per-call.svg",
            "CPU time of the server for one call over HTTP (less is better)",
            "µs",
            1.0,
            &[("2026-07-28, stateless", CALL), ("2025-11-25, in a session", SESSION_CALL)],
        ),
        bars(
            "memory-per-session.svg",
            "Memory of an idle session with its event stream (less is better)",
            "KiB",
            1.0,
            &[("", IDLE_SESSION)],
        ),
        bars("stripped-size.svg", "Size of the server, stripped (less is better)", "MiB", 1.0, &[("", SIZE)]),
        bars(
            "build-cpu.svg",
            "CPU time of a release build from nothing (less is better)",
            "s",
            1.0,
            &[("", BUILD)],
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    let grown = SERIES.iter().filter_map(|series| Some((series.file, series.plot(rows, native)?.svg())));
    plots.extend(grown);
    plots
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Writes a line of the machine's table about the other peers.
pub(super) fn versions_line(others: &[(String, String)]) -> String {
    others.iter().map(|(name, version)| format!("{name} {version}")).collect::<Vec<_>>().join(", ")
}

/// Tells how long a run took.
pub(super) fn minutes(seconds: f64) -> String {
    format!("{} min", number(seconds / 60.0))
}

const OURS: &str = super::peers::OURS;
/// What our figures are compared with: no SDK at all, and the official one.
const BASELINES: [&str; 2] = ["limit-hyper", "rmcp"];

const CALL: Figure = Figure { mode: "2026", work: "W2", key: "cpu_us" };
const SESSION_CALL: Figure = Figure { mode: "2025 session", work: "W2", key: "cpu_us" };
const IDLE_SESSION: Figure = Figure { mode: "2025 session", work: "W5", key: "kib_per_session" };
const SIZE: Figure = Figure { mode: "stdio", work: "W7", key: "binary_mib" };
/// Written by this command and not by the load generator.
pub(super) const BUILD: Figure = Figure { mode: "build", work: "build", key: "cpu_s" };
const COMPARED: [Compared; 12] = [
    Compared { title: "call, 2026-07-28, CPU µs", figure: CALL, scale: 1.0 },
    Compared { title: "call in a session, 2025-11-25, CPU µs", figure: SESSION_CALL, scale: 1.0 },
    Compared {
        title: "calls a second, 32 connections, 2026-07-28",
        figure: Figure { key: "rps", ..CALL },
        scale: 1.0,
    },
    Compared {
        title: "one call after the other, p50 µs, 2026-07-28",
        figure: Figure { work: "W1", key: "p50_us", ..CALL },
        scale: 1.0,
    },
    Compared {
        title: "list of 100 tools, 2026-07-28, CPU µs",
        figure: Figure { work: "W3", ..CALL },
        scale: 1.0,
    },
    Compared {
        title: "echo of 1 MiB, 2026-07-28, CPU ms",
        figure: Figure { work: "W6", ..CALL },
        scale: 0.001,
    },
    Compared {
        title: "stdio, 64 in flight, CPU µs",
        figure: Figure { mode: "stdio", work: "W4", key: "cpu_us" },
        scale: 1.0,
    },
    Compared {
        title: "stdio, one after the other, p50 µs",
        figure: Figure { mode: "stdio", work: "W4", key: "p50_us" },
        scale: 1.0,
    },
    Compared {
        title: "start to first answer, stdio, ms",
        figure: Figure { mode: "stdio", work: "W7", key: "start_ms" },
        scale: 1.0,
    },
    Compared { title: "idle session with its event stream, KiB", figure: IDLE_SESSION, scale: 1.0 },
    Compared { title: "stripped server, MiB", figure: SIZE, scale: 1.0 },
    Compared { title: "release build from nothing, CPU s", figure: BUILD, scale: 1.0 },
];

#[cfg(test)]
mod tests {
    use super::{Rows, make};

    const RUN: &str = r#"{"machine":{"date":"2026-11-19","cpu":"A fast one","cores":2,"memory":"8 GiB","kernel":"6.1","rustc":"rustc 1.95","commit":"abc","versions":"hyper 1.12.0","others":"rmcp 3.8.0","load":0.1,"pinned":true}}
{"peers":["toolway","rmcp","py-mcp"],"native":["toolway","rmcp"],"left_out":["pmcp: no | network"]}
{"round":0,"peer":"toolway","mode":"2026","work":"W2","cpu_us":12.0}
{"round":0,"peer":"rmcp","mode":"2026","work":"W2","cpu_us":48.0}
{"round":0,"peer":"py-mcp","mode":"2026","work":"W2","cpu_us":900.0}
{"round":0,"peer":"toolway","mode":"build","work":"build","cpu_s":120.0}
{"round":0,"peer":"toolway","mode":"2026","work":"growth","of":"tools","size":1,"cpu_us":12.0}
{"round":0,"peer":"toolway","mode":"2026","work":"growth","of":"tools","size":1000,"cpu_us":120.0}"#;

    #[test]
    fn the_report_has_the_machine_the_comparison_and_the_plots() {
        let report = make(&Rows::parse(RUN).unwrap(), "### W2\n");
        let text = &report.text;
        for line in [
            "# Results, 2026-11-19",
            "| processor | A fast one, 2 cores, 8 GiB |",
            "| left out | pmcp: no / network |",
            "| call, 2026-07-28, CPU µs | 12.0 | 48.0 | 900 | 0.25 |",
            "| release build from nothing, CPU s | 120 | – | – | – |",
            "![CPU time of the server for one call over HTTP (less is better)](plots/cpu-per-call.svg)",
            "### W2",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(!text.contains("busy"), "{text}");
        let files: Vec<&str> = report.plots.iter().map(|(file, _)| *file).collect();
        assert_eq!(files, ["cpu-per-call.svg", "build-cpu.svg", "growth-tools-call.svg"]);
        assert_eq!(report.wrong.len(), 1, "{:?}", report.wrong);
        // Interpreters would make all other bars too short to see.
        assert!(!report.plots[0].1.contains("py-mcp"));
    }

    #[test]
    fn a_busy_machine_is_told_first() {
        let busy = RUN.replace(r#""pinned":true"#, r#""busy":true"#);
        let report = make(&Rows::parse(&busy).unwrap(), "");
        let (before, _) = report.text.split_once("| processor").unwrap();
        assert!(before.contains("**The machine was busy"), "{}", report.text);
    }
}
