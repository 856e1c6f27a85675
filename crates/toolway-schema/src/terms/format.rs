//! Does a text match its `format`?
//!
//! Eight formats are checked, each by the grammar of its RFC. Any other format is only an annotation.

use std::net::{Ipv4Addr, Ipv6Addr};

/// A format that is checked: its name, a noun for its values, and the check.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    pub(crate) name: &'static str,
    pub(crate) noun: &'static str,
    pub(crate) check: fn(&str) -> bool,
}

impl Format {
    /// Returns the format with this name, if it is checked.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// Returns whether a text matches this format.
    pub fn fits(&self, text: &str) -> bool {
        (self.check)(text)
    }
}

pub(crate) const FORMATS: [Format; 8] = [
    Format { name: "email", noun: "an email address", check: is_email },
    Format { name: "uri", noun: "a URI with its scheme", check: is_uri },
    Format { name: "date", noun: "a date such as 2024-02-29", check: is_date },
    Format { name: "time", noun: "a time with its offset such as 23:20:50Z", check: is_time },
    Format { name: "date-time", noun: "a date and time such as 2024-02-29T23:20:50Z", check: is_date_time },
    Format { name: "uuid", noun: "a UUID", check: is_uuid },
    Format { name: "ipv4", noun: "an IPv4 address", check: |text| text.parse::<Ipv4Addr>().is_ok() },
    Format { name: "ipv6", noun: "an IPv6 address", check: |text| text.parse::<Ipv6Addr>().is_ok() },
];

/// Checks a `Mailbox` of RFC 5321.
fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let is_atom = |atom: &str| {
        !atom.is_empty() && atom.chars().all(|letter| letter.is_alphanumeric() || is_mailbox_symbol(letter))
    };
    let is_mark_free = local.split('.').all(is_atom);
    local.len() <= 64
        && (is_mark_free || is_quoted(local))
        && (is_domain(domain) || is_address_literal(domain))
}

fn is_mailbox_symbol(letter: char) -> bool {
    "!#$%&'*+-/=?^_`{|}~".contains(letter)
}

fn is_quoted(local: &str) -> bool {
    let Some(inside) = local.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else { return false };
    let mut letters = inside.chars();
    while let Some(letter) = letters.next() {
        let quoted =
            if letter == '\\' { letters.next() } else { Some(letter).filter(|letter| *letter != '"') };
        if quoted.is_none_or(char::is_control) {
            return false;
        }
    }
    true
}

fn is_domain(domain: &str) -> bool {
    domain.len() <= 255
        && domain.split('.').all(|label| {
            (1..=63).contains(&label.len())
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.chars().all(|letter| letter.is_alphanumeric() || letter == '-')
        })
}

/// Checks an address literal, `[192.0.2.1]` or `[IPv6:2001:db8::1]`.
fn is_address_literal(domain: &str) -> bool {
    let inside = domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inside.is_some_and(|address| match address.strip_prefix("IPv6:") {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => address.parse::<Ipv4Addr>().is_ok(),
    })
}

/// Checks a `URI` of RFC 3986. A scheme is required, so a relative reference does not match.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_scheme = scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (hierarchy, query) = rest.split_once('?').unwrap_or((rest, ""));
    let path = match hierarchy.strip_prefix("//") {
        None => hierarchy,
        Some(rest) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            if !is_authority(authority) {
                return false;
            }
            path
        }
    };
    is_scheme && is_made_of(path, b":@/") && is_made_of(query, b":@/?") && is_made_of(fragment, b":@/?")
}

fn is_authority(authority: &str) -> bool {
    let (user, place) = authority.rsplit_once('@').unwrap_or(("", authority));
    if !is_made_of(user, b":") {
        return false;
    }
    let (is_host, port) = match place.strip_prefix('[') {
        Some(rest) => {
            let Some((address, port)) = rest.split_once(']') else { return false };
            let is_future = address
                .strip_prefix(['v', 'V'])
                .and_then(|rest| rest.split_once('.'))
                .is_some_and(|(version, name)| {
                    !version.is_empty()
                        && version.bytes().all(|byte| byte.is_ascii_hexdigit())
                        && !name.is_empty()
                        && !name.contains('%')
                        && is_made_of(name, b":")
                });
            (is_future || address.parse::<Ipv6Addr>().is_ok(), port)
        }
        None => {
            let (host, port) = place.split_at(place.find(':').unwrap_or(place.len()));
            (is_made_of(host, b""), port)
        }
    };
    let is_port = port.is_empty()
        || port.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    is_host && is_port
}

/// Returns whether a part of a URI contains only unreserved characters, `sub-delims`, percent-encoded bytes and the
/// bytes in `also`.
fn is_made_of(part: &str, also: &[u8]) -> bool {
    let mut bytes = part.bytes();
    while let Some(byte) = bytes.next() {
        let is_fine = match byte {
            b'%' => (0..2).all(|_| bytes.next().is_some_and(|digit| digit.is_ascii_hexdigit())),
            _ => byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(&byte) || also.contains(&byte),
        };
        if !is_fine {
            return false;
        }
    }
    true
}

/// Checks a `full-date` of RFC 3339.
fn is_date(text: &str) -> bool {
    let [year, month, day] = [text.get(..4), text.get(5..7), text.get(8..)].map(|part| part.and_then(digits));
    let (Some(year), Some(month), Some(day)) = (year, month, day) else { return false };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    let bytes = text.as_bytes();
    text.len() == 10 && bytes[4] == b'-' && bytes[7] == b'-' && (1..=last).contains(&day)
}

/// Checks a `full-time` of RFC 3339, which includes the offset.
fn is_time(text: &str) -> bool {
    if !text.is_ascii() || text.len() < 9 {
        return false;
    }
    let (clock, rest) = text.split_at(8);
    let [hour, minute, second] = [&clock[..2], &clock[3..5], &clock[6..]].map(digits);
    let (Some(hour), Some(minute), Some(second)) = (hour, minute, second) else { return false };
    let fraction = rest.strip_prefix('.').map(|rest| rest.bytes().take_while(u8::is_ascii_digit).count());
    let offset = match fraction {
        None => rest,
        Some(0) => return false,
        Some(count) => &rest[1 + count..],
    };
    let Some(east) = minutes_east(offset) else { return false };
    // A leap second is inserted before midnight UTC, whatever the local time is.
    let is_leap = second == 60 && (hour * 60 + minute - east).rem_euclid(24 * 60) == 23 * 60 + 59;
    let colons = [clock.as_bytes()[2], clock.as_bytes()[5]];
    colons == *b"::" && hour < 24 && minute < 60 && (second < 60 || is_leap)
}

fn minutes_east(offset: &str) -> Option<i32> {
    if matches!(offset, "Z" | "z") {
        return Some(0);
    }
    let sign = match offset.as_bytes() {
        [b'+', _, _, b':', _, _] => 1,
        [b'-', _, _, b':', _, _] => -1,
        _ => return None,
    };
    let (hour, minute) = (digits(&offset[1..3])?, digits(&offset[4..])?);
    (hour < 24 && minute < 60).then_some(sign * (hour * 60 + minute))
}

fn is_date_time(text: &str) -> bool {
    let Some((date, rest)) = text.split_at_checked(10) else { return false };
    is_date(date) && rest.strip_prefix(['T', 't']).is_some_and(is_time)
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Parses a number that consists only of digits; `parse` alone would accept a sign.
fn digits(text: &str) -> Option<i32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_take_what_their_grammar_takes() {
        for (name, good, bad) in [
            (
                "email",
                "a@b.c a.b+c@example.org \"a\\\"b\"@x.y jo@[192.0.2.1] jo@[IPv6:::1] o'neil@x müller@straße.de",
                "x @b.c a@ a@@b a..b@c .a@b a.@b a@-b.c a@b..c a@b_c a@[1] \"a@b.c a@b.c.",
            ),
            (
                "uri",
                "https://example.com/a?b#c urn:isbn:1 mailto:a@b http://[::1]:80/ file:///etc x:%20 h://u:p@h:1 a:",
                "example.com /a //h/p http://a[b/ x:%2 x:%zz 1x:y http://h:x x:#a#b http://[::1 x:é x:\"",
            ),
            (
                "date",
                "2024-02-29 2000-02-29 0000-01-01 1999-12-31",
                "2023-02-29 1900-02-29 2024-13-01 2024-1-1 2024-04-31 2024-00-01 2024-01-00 20240101 +024-01-01 2024-01-+1 2024-01-011",
            ),
            (
                "time",
                "23:20:50Z 23:20:50.52z 00:00:00+05:30 23:59:60Z 15:59:60-08:00",
                "23:20:50 24:00:00Z 23:60:00Z 23:59:61Z 22:59:60Z 23:20:50.Z 23:20Z 1:2:3Z 23:20:50+5:30 23:20:50+24:00 23-20-50Z",
            ),
            (
                "date-time",
                "1985-04-12T23:20:50.52Z 1990-12-31t23:59:60z",
                "1985-04-12 1985-04-12T23:20:50 1985-04-31T23:20:50Z 1985-04-12_23:20:50Z",
            ),
            (
                "uuid",
                "67e55044-10b1-426f-9247-bb680e5fe0c8 67E55044-10B1-426F-9247-BB680E5FE0C8",
                "67e5504410b1426f9247bb680e5fe0c8 67e55044-10b1-426f-9247-bb680e5fe0cg {67e55044-10b1-426f-9247-bb680e5fe0c}",
            ),
            ("ipv4", "127.0.0.1 255.255.255.255", "256.0.0.1 1.2.3 01.2.3.4 1.2.3.4.5"),
            ("ipv6", "::1 2001:db8::ff00:42:8329 ::ffff:1.2.3.4", "1 ::1::2 fe80::1%eth0 12345::"),
        ] {
            let fits = Format::from_name(name).unwrap().check;
            for text in good.split(' ') {
                assert!(fits(text), "{name} refuses {text}");
            }
            for text in bad.split(' ') {
                assert!(!fits(text), "{name} takes {text}");
            }
            assert!(!fits(""), "{name} takes no text");
            assert!(!fits("ééééééééééé"), "{name} takes anything");
        }
    }
}
