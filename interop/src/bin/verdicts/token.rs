//! How is a token written, and how can it be written differently?

use base64_simd::URL_SAFE_NO_PAD;

use crate::random::Random;

/// The members of a header or of claims: their names, and their values as JSON. A name may occur twice.
#[derive(Debug, Clone)]
pub(crate) struct Members(Vec<(String, String)>);

impl Members {
    pub(crate) fn new(members: &[(&str, String)]) -> Self {
        Self(members.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
    }

    /// Sets a value, or removes the member if there is none.
    pub(crate) fn set(&mut self, name: &str, value: Option<&str>) {
        let at = self.0.iter().position(|(known, _)| known == name);
        match (at, value) {
            (Some(at), Some(value)) => value.clone_into(&mut self.0[at].1),
            (Some(at), None) => drop(self.0.remove(at)),
            (None, Some(value)) => self.0.push((name.to_owned(), value.to_owned())),
            (None, None) => {}
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn to_json(&self) -> String {
        let members: Vec<_> = self.0.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
        format!("{{{}}}", members.join(","))
    }
}

/// How the JSON of a header or of claims is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writing {
    Plain,
    Spaces,
    Escapes,
    SameTwice,
    OtherTwice,
    TwiceInside,
    TwiceEscaped,
    Comma,
    Comment,
    After,
    Mark,
    Utf16,
    Latin1,
    Surrogate,
    Control,
    NotANumber,
    HugeNumber,
    Deep,
    Array,
    Text,
    Nothing,
    Proto,
}

impl Writing {
    pub(crate) const CHANGED: [Self; 21] = [
        Self::Spaces,
        Self::Escapes,
        Self::SameTwice,
        Self::OtherTwice,
        Self::TwiceInside,
        Self::TwiceEscaped,
        Self::Comma,
        Self::Comment,
        Self::After,
        Self::Mark,
        Self::Utf16,
        Self::Latin1,
        Self::Surrogate,
        Self::Control,
        Self::NotANumber,
        Self::HugeNumber,
        Self::Deep,
        Self::Array,
        Self::Text,
        Self::Nothing,
        Self::Proto,
    ];

    pub(crate) fn apply(self, members: &Members, random: &mut Random) -> Vec<u8> {
        let plain = members.to_json();
        let inside = &plain[1..plain.len() - 1];
        let with = |member: String| {
            let comma = if inside.is_empty() { "" } else { "," };
            format!("{{{inside}{comma}{member}}}")
        };
        let (name, value) = match members.0.len() {
            0 => ("a", "1"),
            count => {
                let (name, value) = &members.0[random.below(count)];
                (name.as_str(), value.as_str())
            }
        };
        let text = match self {
            Self::Plain => plain,
            Self::Spaces => format!(" \n{}\t", plain.replace("\":", "\" : ").replace(",\"", " ,\r\n\"")),
            Self::Escapes => plain.replacen('a', "\\u0061", 1).replacen('/', "\\/", 1),
            Self::SameTwice => with(format!("\"{name}\":{value}")),
            Self::OtherTwice => with(format!("\"{name}\":\"other\"")),
            Self::TwiceInside => with("\"inside\":{\"a\":1,\"a\":2}".to_owned()),
            Self::TwiceEscaped => {
                let (first, rest) = name.split_at(1);
                with(format!("\"\\u{:04x}{rest}\":{value}", first.as_bytes()[0]))
            }
            Self::Comma => format!("{{{inside},}}"),
            Self::Comment => format!("{{/* */{inside}}}"),
            Self::After => format!("{plain}{{}}"),
            Self::Mark => format!("\u{feff}{plain}"),
            Self::Utf16 => return plain.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            Self::Latin1 => {
                let text = with("\"more\":\"?\"".to_owned()).into_bytes();
                return text.into_iter().map(|byte| if byte == b'?' { 0xe9 } else { byte }).collect();
            }
            Self::Surrogate => with("\"more\":\"\\ud800\"".to_owned()),
            Self::Control => with("\"more\":\"\u{1}\"".to_owned()),
            Self::NotANumber => with("\"more\":NaN".to_owned()),
            Self::HugeNumber => with("\"more\":1e999".to_owned()),
            Self::Deep => with(format!("\"more\":{}{}", "[".repeat(200), "]".repeat(200))),
            Self::Array => format!("[{plain}]"),
            Self::Text => random.pick(&["null", "true", "1", "\"text\"", "text"]).to_owned(),
            Self::Nothing => String::new(),
            Self::Proto => with("\"__proto__\":{\"alg\":\"none\",\"exp\":1}".to_owned()),
        };
        text.into_bytes()
    }
}

/// How a part of a token is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Plain,
    Padded,
    OnePad,
    /// Bits that have no meaning are set.
    LooseBits,
    /// With `+` and `/`.
    Standard,
    Space,
    Tab,
    Line,
    Mark,
    Percent,
    Unicode,
    Longer,
    Shorter,
    Empty,
}

impl Encoding {
    pub(crate) const CHANGED: [Self; 13] = [
        Self::Padded,
        Self::OnePad,
        Self::LooseBits,
        Self::Standard,
        Self::Space,
        Self::Tab,
        Self::Line,
        Self::Mark,
        Self::Percent,
        Self::Unicode,
        Self::Longer,
        Self::Shorter,
        Self::Empty,
    ];

    pub(crate) fn apply(self, bytes: &[u8], random: &mut Random) -> String {
        let mut text = URL_SAFE_NO_PAD.encode_to_string(bytes);
        // Not at an end, where HTTP allows spaces.
        let at = if text.len() < 2 { text.len() } else { 1 + random.below(text.len() - 1) };
        match self {
            Self::Plain => {}
            Self::Padded => text.push_str(["", "", "==", "="][text.len() % 4]),
            Self::OnePad => text.push('='),
            Self::LooseBits if !text.len().is_multiple_of(4) => {
                // The last letter stands for two or four bits; the next letter differs only in the others.
                let last = text.pop().unwrap_or('A');
                let index = LETTERS.find(last).unwrap_or_default();
                text.push_str(&LETTERS[index + 1..index + 2]);
            }
            // All bits have a meaning, unless there is one more byte.
            Self::LooseBits => text.push('B'),
            Self::Standard => text = text.replace('-', "+").replace('_', "/"),
            Self::Space => text.insert(at, ' '),
            Self::Tab => text.insert(at, '\t'),
            Self::Line => text.insert(at, '\n'),
            Self::Mark => text.insert(at, random.pick(&['!', ',', '*', '~', '"'])),
            Self::Percent => text.insert_str(at, "%3D"),
            Self::Unicode => text.insert(at, 'é'),
            Self::Longer => text.push('A'),
            Self::Shorter => drop(text.pop()),
            Self::Empty => text.clear(),
        }
        text
    }
}

/// What happens to the whole token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Plain,
    FourParts,
    FiveParts,
    TwoParts,
    OnePart,
    DotBefore,
    DotAfter,
    TwoDots,
    Quoted,
}

impl Shape {
    pub(crate) const CHANGED: [Self; 8] = [
        Self::FourParts,
        Self::FiveParts,
        Self::TwoParts,
        Self::OnePart,
        Self::DotBefore,
        Self::DotAfter,
        Self::TwoDots,
        Self::Quoted,
    ];

    pub(crate) fn apply(self, signed: &str, signature: &str) -> String {
        match self {
            Self::Plain => format!("{signed}.{signature}"),
            Self::FourParts => format!("{signed}.{signature}.AAAA"),
            Self::FiveParts => format!("{signed}.{signature}.AAAA.AAAA"),
            Self::TwoParts => signed.to_owned(),
            Self::OnePart => signed.replace('.', ""),
            Self::DotBefore => format!(".{signed}.{signature}"),
            Self::DotAfter => format!("{signed}.{signature}."),
            Self::TwoDots => format!("{signed}..{signature}"),
            Self::Quoted => format!("\"{signed}.{signature}\""),
        }
    }
}

const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
