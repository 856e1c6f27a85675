//! Which trace and which span does a `traceparent` name? W3C Trace Context, section 3.2.
//!
//! The text is parsed strictly, because it comes from a client and goes to the operator's tracing system.

/// A well-formed `traceparent`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TraceParent(pub(crate) String);

impl TraceParent {
    /// Parses a `traceparent` by W3C Trace Context, section 3.2: `00-TRACE-PARENT-FLAGS` in lower-case hexadecimal
    /// digits, where neither id is zero. A later version may have more parts after another dash.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(5, '-');
        let mut next = |length| digits(parts.next()?, length);
        let (version, trace_id, span_id) = (next(2)?, next(32)?, next(16)?);
        next(2)?;
        let is_right = version != 0xff && (version != 0 || parts.next().is_none());
        (is_right && trace_id != 0 && span_id != 0).then(|| Self(text.to_owned()))
    }

    /// Returns the id of the trace, in hexadecimal digits.
    pub(crate) fn trace_id(&self) -> &str {
        &self.0[3..35]
    }
}

fn digits(text: &str, length: usize) -> Option<u128> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_right = text.len() == length && text.bytes().all(is_digit);
    is_right.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RIGHT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_traceparent_is_read_to_the_letter() {
        let parent = TraceParent::parse(RIGHT).unwrap();
        assert_eq!(parent.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert!(
            TraceParent::parse(&format!("{}-and-more", RIGHT.replacen("00", "cc", 1))).is_some(),
            "a later version"
        );
        let wrong = [
            String::new(),
            "-".repeat(60),
            RIGHT.to_uppercase(),
            RIGHT.replacen("00", "ff", 1),
            RIGHT.replacen("00", "+0", 1),
            RIGHT.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            RIGHT.replace("00f067aa0ba902b7", &"0".repeat(16)),
            RIGHT.replace("-01", "-1"),
            RIGHT.replace("-01", ""),
            format!("{RIGHT}-"),
            format!("{RIGHT}0"),
            format!(" {RIGHT}"),
            RIGHT.replace('4', "é"),
            "0".repeat(1 << 20),
        ];
        for text in wrong {
            assert_eq!(TraceParent::parse(&text), None, "{text:.80}");
        }
    }
}
