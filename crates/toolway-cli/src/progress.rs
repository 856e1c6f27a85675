//! How is the progress of a request shown?

use std::io::Write;

use toolway::types::Progress;

use crate::terminal::escape_to_line;

/// The width of the bar, in characters.
const BAR_WIDTH: usize = 24;
/// The maximum width of the whole line, in characters, before it is truncated.
const MAX_LINE_WIDTH: usize = 78;

/// A progress bar on the last line of a terminal.
#[derive(Debug)]
pub(crate) struct Bar {
    /// `true` if stderr is a terminal.
    pub(crate) is_enabled: bool,
    text: Option<String>,
    is_drawn: bool,
}

impl Bar {
    pub(crate) fn new(is_on: bool) -> Self {
        Self { is_enabled: is_on, text: None, is_drawn: false }
    }

    pub(crate) fn set(&mut self, progress: &Progress) {
        self.text = Some(render(progress));
    }

    pub(crate) fn redraw(&mut self, to: &mut impl Write) {
        if let Some(text) = &self.text {
            let _ = write!(to, "\r\x1b[K{text}").and_then(|()| to.flush());
            self.is_drawn = true;
        }
    }

    pub(crate) fn clear(&mut self, to: &mut impl Write) {
        if self.is_drawn {
            let _ = write!(to, "\r\x1b[K").and_then(|()| to.flush());
            self.is_drawn = false;
        }
    }

    pub(crate) fn reset(&mut self) {
        self.text = None;
    }
}

/// Formats progress for output without a terminal.
pub(crate) fn format_line(progress: &Progress) -> String {
    let total = progress.total.as_ref().map(|total| format!("/{total}")).unwrap_or_default();
    let message = message(progress);
    format!("progress: {}{total}{message}", progress.progress)
}

fn message(progress: &Progress) -> String {
    match progress.message.as_deref().map(escape_to_line) {
        Some(message) if !message.is_empty() => format!(" {message}"),
        _ => String::new(),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share between 0 and 1 becomes a few characters"
)]
fn render(progress: &Progress) -> String {
    let share = || {
        let (done, total) = (progress.progress.as_f64()?, progress.total.as_ref()?.as_f64()?);
        (total > 0.0).then(|| (done / total).clamp(0.0, 1.0))
    };
    let message = message(progress);
    let text = match share() {
        Some(share) => {
            let filled = (share * BAR_WIDTH as f64).round() as usize;
            let bar = ["#".repeat(filled), "-".repeat(BAR_WIDTH - filled)].concat();
            format!("[{bar}] {:3.0} %{message}", share * 100.0)
        }
        None => format!("… {}{message}", progress.progress),
    };
    match text.char_indices().nth(MAX_LINE_WIDTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use toolway::types::Progress;

    use super::*;

    fn progress(text: &str) -> Progress {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_bar_shows_the_share_and_what_is_said() {
        let half = progress(r#"{"progressToken":1,"progress":5,"total":10,"message":"half\n\u001b[2J"}"#);
        assert_eq!(render(&half), "[############------------]  50 % half \\u001b[2J");
        assert_eq!(format_line(&half), "progress: 5/10 half \\u001b[2J");
        let some = progress(r#"{"progressToken":1,"progress":5}"#);
        assert_eq!(render(&some), "… 5");
        assert_eq!(format_line(&some), "progress: 5");
        let over = progress(r#"{"progressToken":1,"progress":50,"total":10}"#);
        assert_eq!(render(&over), "[########################] 100 %");
        let odd = progress(r#"{"progressToken":1,"progress":-1,"total":0}"#);
        assert_eq!(render(&odd), "… -1");
        let long =
            progress(&format!(r#"{{"progressToken":1,"progress":1,"message":"{}"}}"#, "é".repeat(500)));
        assert_eq!(render(&long).chars().count(), MAX_LINE_WIDTH + 1);
    }

    #[test]
    fn the_bar_goes_before_something_else_is_written() {
        let mut bar = Bar::new(true);
        let mut written = Vec::new();
        bar.clear(&mut written);
        assert_eq!(written, b"");
        bar.set(&progress(r#"{"progressToken":1,"progress":1}"#));
        bar.redraw(&mut written);
        bar.clear(&mut written);
        bar.clear(&mut written);
        bar.reset();
        bar.redraw(&mut written);
        assert_eq!(String::from_utf8(written).unwrap(), "\r\x1b[K… 1\r\x1b[K");
    }
}
