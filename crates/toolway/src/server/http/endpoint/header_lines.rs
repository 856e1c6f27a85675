//! Which lines do several headers have? Found in one walk, because each look-up of one header hashes its name.

use ::http::header::{HeaderMap, HeaderName, HeaderValue};
use toolway_protocol::http::header::MirroredHeader;

/// The lines of one header of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeaderLines<'h> {
    /// The header was not sent.
    Absent,
    One(&'h HeaderValue),
    /// The header was sent more than once.
    Several,
}

impl<'h> HeaderLines<'h> {
    /// Returns the value of a header that may occur at most once.
    pub(crate) fn single_value(self) -> Result<Option<&'h str>, ()> {
        match self {
            Self::Absent => Ok(None),
            Self::One(line) => line.to_str().map(Some).map_err(drop),
            Self::Several => Err(()),
        }
    }

    /// Returns the header as one that repeats a part of the body.
    pub(crate) fn mirrored(self) -> MirroredHeader<'h> {
        match self {
            Self::Absent => MirroredHeader::Absent,
            Self::One(line) => MirroredHeader::from_lines([line.as_bytes()].into_iter()),
            Self::Several => MirroredHeader::Unreadable,
        }
    }
}

/// Finds the lines of these headers.
pub(crate) fn lines_of<'h, const N: usize>(
    headers: &'h HeaderMap,
    names: [&HeaderName; N],
) -> [HeaderLines<'h>; N] {
    let mut found = [HeaderLines::Absent; N];
    for (name, line) in headers {
        if let Some(at) = names.iter().position(|wanted| *wanted == name) {
            found[at] =
                if found[at] == HeaderLines::Absent { HeaderLines::One(line) } else { HeaderLines::Several };
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use ::http::header::{ACCEPT, CONTENT_TYPE, HOST, ORIGIN};

    use super::*;

    #[test]
    fn one_walk_finds_what_looking_up_each_header_finds() {
        static CUSTOM: HeaderName = HeaderName::from_static("mcp-method");
        let names = [&HOST, &CUSTOM, &ORIGIN, &ACCEPT, &CONTENT_TYPE];
        let others = [HeaderName::from_static("mcp-methods"), HeaderName::from_static("hosts")];
        let mut seen = [0_u32; 3];
        for seed in 0_u64..100_000 {
            let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
            let mut draw = |count: usize| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                usize::try_from(state % count as u64).unwrap()
            };
            let mut headers = HeaderMap::new();
            for number in 0..draw(8) {
                let name = names.into_iter().chain(&others).nth(draw(names.len() + others.len())).unwrap();
                let value = HeaderValue::from(number);
                match draw(3) {
                    0 => drop(headers.insert(name.clone(), value)),
                    1 => drop(headers.append(name.clone(), value)),
                    _ => drop(headers.remove(name)),
                }
            }
            for (name, lines) in names.into_iter().zip(lines_of(&headers, names)) {
                let each: Vec<_> = headers.get_all(name).iter().collect();
                let expected = match each[..] {
                    [] => HeaderLines::Absent,
                    [line] => HeaderLines::One(line),
                    _ => HeaderLines::Several,
                };
                assert_eq!(lines, expected, "seed {seed}: {name} in {headers:?}");
                seen[each.len().min(2)] += 1;
            }
        }
        assert!(seen.iter().all(|count| *count > 10_000), "{seen:?}");
    }
}
