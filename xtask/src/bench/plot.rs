//! Draws figures as SVG: bars and lines, without scripts, for a light and a dark page. The same figures give the same bytes.

use std::fmt::Write as _;

use super::rows::{Spread, number};

/// Bars from left to right; each group has the same series in the same order.
#[derive(Debug)]
pub(super) struct Bars {
    pub(super) title: String,
    pub(super) unit: &'static str,
    /// The names of the bars inside a group; one without a name needs no legend.
    pub(super) series: Vec<&'static str>,
    pub(super) groups: Vec<(String, Vec<Option<Spread>>)>,
}

/// Lines over sizes, which grow by factors.
#[derive(Debug)]
pub(super) struct Lines {
    pub(super) title: String,
    /// What grows, in words for the axis.
    pub(super) size: &'static str,
    pub(super) unit: &'static str,
    /// A line of slope 1 is linear then; otherwise the figures begin at zero, and flat is flat.
    pub(super) logarithmic: bool,
    pub(super) series: Vec<(String, Vec<(f64, Spread)>)>,
}

impl Bars {
    pub(super) fn svg(&self) -> String {
        let shown = |bars: &[Option<Spread>]| bars.iter().flatten().count();
        let groups: Vec<_> = self.groups.iter().filter(|(_, bars)| shown(bars) > 0).collect();
        let top = groups.iter().flat_map(|(_, bars)| bars.iter().flatten()).map(|bar| bar.high);
        let scale = (WIDTH - LEFT - RIGHT) / top.fold(f64::MIN_POSITIVE, f64::max);
        let legend = if self.series.len() > 1 { LEGEND } else { 0.0 };
        let mut y = TITLE + legend;
        let mut drawing = String::new();
        for (name, bars) in groups {
            let height = BAR * f64::from(u32::try_from(shown(bars)).unwrap_or(1));
            text(&mut drawing, (LEFT - 10.0, y + height / 2.0 + 4.0), "end", "ink", name);
            for (index, bar) in bars.iter().enumerate() {
                let Some(bar) = bar else { continue };
                let (middle, end) = (y + BAR / 2.0, LEFT + bar.high * scale);
                let _ = writeln!(
                    drawing,
                    r#"<rect class="c{}" x="{LEFT}" y="{:.1}" width="{:.1}" height="{:.1}"/>"#,
                    index % COLOURS.len(),
                    y + 2.0,
                    (bar.median * scale).max(1.0),
                    BAR - 4.0
                );
                if bar.low < bar.high {
                    let start = LEFT + bar.low * scale;
                    line(&mut drawing, "whisker", [(start, middle), (end, middle)]);
                }
                let label = format!("{} {}", number(bar.median), self.unit);
                text(&mut drawing, (end + 6.0, middle + 4.0), "start", "ink", &label);
                y += BAR;
            }
            y += GAP;
        }
        let mut names = String::new();
        if legend > 0.0 {
            let labels: Vec<String> = self.series.iter().map(ToString::to_string).collect();
            draw_legend(&mut names, TITLE + 4.0, &labels);
        }
        frame(&self.title, y + 6.0, &(names + &drawing))
    }
}

impl Lines {
    pub(super) fn svg(&self) -> String {
        let lines: Vec<_> = self.series.iter().filter(|(_, points)| !points.is_empty()).collect();
        let points = || lines.iter().flat_map(|(_, points)| points);
        let range = |values: &mut dyn Iterator<Item = f64>| {
            values.fold((f64::MAX, f64::MIN_POSITIVE), |(low, high), value| (low.min(value), high.max(value)))
        };
        let (first, last) = range(&mut points().map(|(size, _)| *size));
        let (low, high) = range(&mut points().map(|(_, spread)| spread.median));
        let bottom = TITLE + LEGEND + 10.0 + PLOT;
        let share = |value: f64, low: f64, high: f64| {
            if high > low { (value / low).ln() / (high / low).ln() } else { 0.5 }
        };
        let across = |size: f64| LEFT + (WIDTH - LEFT - RIGHT) * share(size, first, last);
        let up = |value: f64| {
            let height = if self.logarithmic { share(value, low, high) } else { value / high };
            bottom - PLOT * height
        };
        let mut drawing = String::new();
        let ticks = if self.logarithmic { [low, (low * high).sqrt(), high] } else { [0.0, high / 2.0, high] };
        for tick in ticks {
            line(&mut drawing, "grid", [(LEFT, up(tick)), (WIDTH - RIGHT, up(tick))]);
            let label = format!("{} {}", number(tick), self.unit);
            text(&mut drawing, (LEFT - 10.0, up(tick) + 4.0), "end", "ink", &label);
        }
        let mut sizes: Vec<f64> = points().map(|(size, _)| *size).collect();
        sizes.sort_by(f64::total_cmp);
        sizes.dedup();
        for size in sizes {
            text(&mut drawing, (across(size), bottom + 20.0), "middle", "ink", &grouped(size));
        }
        let axis = format!("{}{}", self.size, if self.logarithmic { " (both axes logarithmic)" } else { "" });
        text(&mut drawing, (f64::midpoint(LEFT, WIDTH - RIGHT), bottom + 40.0), "middle", "ink", &axis);
        for (index, (_, points)) in lines.iter().enumerate() {
            let path: Vec<String> = points
                .iter()
                .map(|(size, at)| format!("{:.1},{:.1}", across(*size), up(at.median)))
                .collect();
            let colour = index % COLOURS.len();
            let _ = writeln!(drawing, r#"<polyline class="l{colour}" points="{}"/>"#, path.join(" "));
            for (size, at) in points {
                let (x, y) = (across(*size), up(at.median));
                let _ = writeln!(drawing, r#"<circle class="c{colour}" cx="{x:.1}" cy="{y:.1}" r="4"/>"#);
            }
        }
        let names: Vec<String> = lines.iter().map(|(name, _)| name.clone()).collect();
        draw_legend(&mut drawing, TITLE + 4.0, &names);
        frame(&self.title, bottom + 54.0, &drawing)
    }
}

/// Wraps a drawing, with the colours for both kinds of page. A viewer that does not know the preference of its user shows
/// the light one, on its own background.
fn frame(title: &str, height: f64, drawing: &str) -> String {
    let mut style =
        String::from(".bg{fill:#fff}.ink{fill:#1f2328}.grid{stroke:#d1d9e0}.whisker{stroke:#1f2328}");
    let mut dark =
        String::from(".bg{fill:#0d1117}.ink{fill:#e6edf3}.grid{stroke:#3d444d}.whisker{stroke:#e6edf3}");
    for (index, (light, on_dark)) in COLOURS.iter().enumerate() {
        let _ = write!(style, ".c{index}{{fill:{light}}}.l{index}{{stroke:{light}}}");
        let _ = write!(dark, ".c{index}{{fill:{on_dark}}}.l{index}{{stroke:{on_dark}}}");
    }
    let mut head = String::new();
    text(&mut head, (16.0, 26.0), "start", "ink title", title);
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0}" width="{WIDTH}" height="{height:.0}" role="img">
<title>{}</title>
<style>text{{font:13px system-ui,sans-serif}}.title{{font-size:15px;font-weight:600}}polyline{{fill:none;stroke-width:2}}{style}@media(prefers-color-scheme:dark){{{dark}}}</style>
<rect class="bg" width="{WIDTH}" height="{height:.0}"/>
{head}{drawing}</svg>
"#,
        escaped(title)
    )
}

fn draw_legend(drawing: &mut String, y: f64, names: &[String]) {
    let mut x = LEFT;
    for (index, name) in names.iter().enumerate() {
        let colour = index % COLOURS.len();
        let _ =
            writeln!(drawing, r#"<rect class="c{colour}" x="{x:.1}" y="{y:.1}" width="12" height="12"/>"#);
        text(drawing, (x + 18.0, y + 11.0), "start", "ink", name);
        // The letters of an unknown font are at most this wide.
        x += 44.0 + 7.5 * f64::from(u32::try_from(name.chars().count()).unwrap_or(0));
    }
}

fn text(drawing: &mut String, (x, y): (f64, f64), anchor: &str, class: &str, words: &str) {
    let words = escaped(words);
    let _ = writeln!(
        drawing,
        r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{words}</text>"#
    );
}

fn line(drawing: &mut String, class: &str, [(x1, y1), (x2, y2)]: [(f64, f64); 2]) {
    let _ =
        writeln!(drawing, r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#);
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Writes a size with its thousands apart: `10,000`.
pub(super) fn grouped(size: f64) -> String {
    let digits = format!("{size:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// For a light and for a dark page; told apart also by readers who see no red or no green.
const COLOURS: [(&str, &str); 4] =
    [("#0969da", "#58a6ff"), ("#bc6c00", "#e3a13c"), ("#8250df", "#bc8cff"), ("#57606a", "#9198a1")];
const WIDTH: f64 = 720.0;
/// Room for the names, and for the figures behind the longest bar.
const LEFT: f64 = 130.0;
const RIGHT: f64 = 90.0;
const TITLE: f64 = 42.0;
const LEGEND: f64 = 26.0;
const BAR: f64 = 22.0;
const GAP: f64 = 10.0;
const PLOT: f64 = 220.0;

#[cfg(test)]
mod tests {
    use super::{Bars, Lines, Spread, grouped};

    fn one(value: f64) -> Spread {
        Spread { low: value, median: value, high: value }
    }

    #[test]
    fn the_longest_bar_fills_the_width_and_one_that_was_not_measured_is_left_out() {
        let bars = Bars {
            title: "A & B".to_owned(),
            unit: "µs",
            series: vec!["calls", "lists"],
            groups: vec![
                ("ours".to_owned(), vec![Some(one(25.0)), None]),
                (
                    "theirs".to_owned(),
                    vec![Some(one(50.0)), Some(Spread { low: 90.0, median: 95.0, high: 100.0 })],
                ),
                ("absent".to_owned(), vec![None, None]),
            ],
        };
        let svg = bars.svg();
        assert!(svg.contains("<title>A &amp; B</title>"), "{svg}");
        assert!(svg.contains(r#"width="125.0""#) && svg.contains(r#"width="475.0""#), "{svg}");
        assert!(svg.contains(">95.0 µs</text>") && svg.contains(r#"class="whisker""#), "{svg}");
        assert!(!svg.contains("absent") && !svg.contains("<script"), "{svg}");
        assert_eq!(svg.matches("<rect class=\"c").count(), 3 + 2, "{svg}");
        assert_eq!(svg, bars.svg());
    }

    #[test]
    fn flat_lines_are_flat_and_linear_ones_rise_evenly() {
        let line = |logarithmic, values: [f64; 3]| {
            let points = [1.0, 10.0, 100.0].into_iter().zip(values.map(one)).collect();
            let series = vec![("ours".to_owned(), points)];
            Lines { title: "Growth".to_owned(), size: "tools", unit: "µs", logarithmic, series }.svg()
        };
        let flat = line(false, [5.0; 3]);
        assert!(flat.contains(r#"points="130.0,78.0 380.0,78.0 630.0,78.0""#), "{flat}");
        let linear = line(true, [3.0, 30.0, 300.0]);
        assert!(linear.contains(r#"points="130.0,298.0 380.0,188.0 630.0,78.0""#), "{linear}");
    }

    #[test]
    fn sizes_are_grouped() {
        assert_eq!(
            [1.0, 999.0, 1000.0, 10_000.0, 1_234_567.0].map(grouped),
            ["1", "999", "1,000", "10,000", "1,234,567"]
        );
    }
}
