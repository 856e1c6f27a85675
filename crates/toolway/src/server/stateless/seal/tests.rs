//! Can a sealed state be opened only by the right server, for the right call, and in time?

use std::ffi::OsString;

use serde_json::json;
use toolway_protocol::RawJson;

use super::{Binding, MAX_STATE, OpenError, OpenedState, SealKeys};

const NOW: u64 = 1_800_000_000;
const LATER: u64 = NOW + 60;
/// The latest time at which a state may expire.
const LATEST: u64 = LATER;

const BOUND: Binding<'static> = Binding {
    principal: Some("ada"),
    server: "shop",
    method: "tools/call",
    target: "order",
    arguments: None,
};

fn keys<const N: usize>(seeds: [u8; N]) -> SealKeys {
    SealKeys::from_texts(seeds.map(|seed| format!("{seed:02x}").repeat(32))).unwrap()
}

fn foreign(keys: &SealKeys, bound: &Binding<'_>, text: &str) -> bool {
    keys.open(bound, text, NOW..LATEST) == Err(OpenError::Foreign)
}

#[test]
fn what_was_sealed_can_be_opened() {
    let keys = SealKeys::random();
    for plain in [&b""[..], b"state", &[0; 1000]] {
        let text = keys.seal(&BOUND, plain, LATER);
        assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)), "{text}");
        let OpenedState { plain: opened, id, expires } = keys.open(&BOUND, &text, NOW..LATEST).unwrap();
        assert_eq!((&*opened, expires), (plain, LATER));
        assert_eq!(id, keys.open(&BOUND, &text, NOW..LATEST).unwrap().id, "it is the same state");
    }
}

#[test]
fn the_same_state_is_sealed_differently_each_time() {
    let keys = SealKeys::random();
    let [one, other] = [(); 2].map(|()| keys.seal(&BOUND, b"state", LATER));
    assert_ne!(one, other);
    assert_ne!(one[60..], other[60..], "not only the nonce");
    let id = |text: &str| keys.open(&BOUND, text, NOW..LATEST).unwrap().id;
    assert_ne!(id(&one), id(&other));
}

#[test]
fn a_state_with_a_flipped_bit_is_foreign() {
    let keys = SealKeys::random();
    // Three lengths, for the three ways in which base64 can end.
    for plain in [&b"stat"[..], b"state", b"states"] {
        let text = keys.seal(&BOUND, plain, LATER).into_bytes();
        for place in 0..text.len() {
            for bit in 0..8 {
                let mut flipped = text.clone();
                flipped[place] ^= 1 << bit;
                let flipped = String::from_utf8_lossy(&flipped);
                assert!(foreign(&keys, &BOUND, &flipped), "bit {bit} at {place} of {}", text.len());
            }
        }
    }
}

#[test]
fn a_state_that_is_cut_or_continued_is_foreign() {
    let keys = SealKeys::random();
    let text = keys.seal(&BOUND, b"state", LATER);
    for end in 0..text.len() {
        assert!(foreign(&keys, &BOUND, &text[..end]), "cut at {end}");
        assert!(foreign(&keys, &BOUND, &text[text.len() - end..]), "the last {end}");
    }
    for more in ["A", "AA", "AAAA", "=", " ", "\n"] {
        assert!(foreign(&keys, &BOUND, &format!("{text}{more}")), "{more:?}");
        assert!(foreign(&keys, &BOUND, &format!("{more}{text}")), "{more:?}");
    }
}

#[test]
fn two_states_spliced_are_foreign() {
    let keys = SealKeys::random();
    let [one, other] = [&b"one"[..], b"two"].map(|plain| keys.seal(&BOUND, plain, LATER));
    assert_eq!(one.len(), other.len());
    for place in 0..=one.len() {
        let spliced = format!("{}{}", &one[..place], &other[place..]);
        // The format and the key are the same in both states.
        let is_whole = spliced == one || spliced == other;
        assert_eq!(foreign(&keys, &BOUND, &spliced), !is_whole, "spliced at {place}");
    }
}

#[test]
fn rubbish_is_foreign() {
    let keys = SealKeys::random();
    for text in ["", "A", "state", "é", "....", "null", &"A".repeat(500), &"A".repeat(MAX_STATE + 1)] {
        assert!(foreign(&keys, &BOUND, text), "{text}");
    }
}

#[test]
fn a_state_is_good_for_its_call_only() {
    let keys = SealKeys::random();
    let arguments = RawJson::from(json!({"a": 1}));
    let others = RawJson::from(json!({"a": 2}));
    let bound = Binding { arguments: Some(&arguments), ..BOUND };
    let text = keys.seal(&bound, b"state", LATER);
    assert!(keys.open(&bound, &text, NOW..LATEST).is_ok());
    for other in [
        Binding { principal: Some("bob"), ..bound },
        Binding { principal: Some(""), ..bound },
        Binding { principal: None, ..bound },
        Binding { server: "stop", ..bound },
        Binding { method: "prompts/get", ..bound },
        Binding { target: "cancel", ..bound },
        Binding { arguments: Some(&others), ..bound },
        Binding { arguments: None, ..bound },
        // The same letters, but divided into other parts.
        Binding { server: "shopt", method: "ools/call", ..bound },
        Binding { method: "tools/callorder", target: "", ..bound },
    ] {
        assert!(foreign(&keys, &other, &text), "{other:?}");
    }
    let spelled = RawJson::parse(r#"{ "\u0061": 1.0 }"#).unwrap();
    assert!(keys.open(&Binding { arguments: Some(&spelled), ..bound }, &text, NOW..LATEST).is_ok());
}

#[test]
fn nobody_is_not_somebody_without_a_name() {
    let keys = SealKeys::random();
    let nobody = Binding { principal: None, ..BOUND };
    let nameless = Binding { principal: Some(""), ..BOUND };
    let text = keys.seal(&nobody, b"state", LATER);
    assert!(keys.open(&nobody, &text, NOW..LATEST).is_ok() && foreign(&keys, &nameless, &text));
    let text = keys.seal(&nameless, b"state", LATER);
    assert!(keys.open(&nameless, &text, NOW..LATEST).is_ok() && foreign(&keys, &nobody, &text));
}

#[test]
fn a_state_expires_at_its_second() {
    let keys = SealKeys::random();
    let text = keys.seal(&BOUND, b"state", LATER);
    assert!(keys.open(&BOUND, &text, LATER - 1..LATEST).is_ok());
    assert_eq!(keys.open(&BOUND, &text, LATER..LATEST), Err(OpenError::Expired));
    assert_eq!(keys.open(&BOUND, &text, u64::MAX..u64::MAX), Err(OpenError::Expired));
    // A state of a server whose clock is ahead.
    assert!(keys.open(&BOUND, &text, NOW..LATER).is_ok());
    assert_eq!(keys.open(&BOUND, &text, NOW..LATER - 1), Err(OpenError::TooLong));
    let day_ahead = keys.seal(&BOUND, b"state", LATER + 24 * 60 * 60);
    assert_eq!(keys.open(&BOUND, &day_ahead, NOW..LATEST), Err(OpenError::TooLong));
    // The binding is checked before the expiry.
    assert_eq!(
        keys.open(&Binding { target: "other", ..BOUND }, &text, LATER..LATEST),
        Err(OpenError::Foreign)
    );
}

#[test]
fn keys_can_be_replaced_without_losing_what_they_sealed() {
    let (old, both, new) = (keys([1]), keys([2, 1]), keys([2]));
    let before = old.seal(&BOUND, b"state", LATER);
    let meanwhile = both.seal(&BOUND, b"state", LATER);
    assert!(both.open(&BOUND, &before, NOW..LATEST).is_ok(), "the old key opens");
    assert!(new.open(&BOUND, &meanwhile, NOW..LATEST).is_ok(), "the new key seals");
    assert!(foreign(&old, &BOUND, &meanwhile));
    assert!(foreign(&new, &BOUND, &before), "a key that was taken away opens nothing");
    assert!(foreign(&SealKeys::random(), &BOUND, &before));
}

#[test]
fn the_longest_state_that_fits_is_as_long_as_allowed() {
    let keys = SealKeys::random();
    let longest = (0..MAX_STATE).rev().find(|length| SealKeys::fits(*length)).unwrap();
    let text = keys.seal(&BOUND, &vec![7; longest], LATER);
    assert_eq!(text.len(), MAX_STATE);
    assert!(keys.open(&BOUND, &text, NOW..LATEST).is_ok());
    let text = keys.seal(&BOUND, &vec![7; longest + 1], LATER);
    assert!(foreign(&keys, &BOUND, &text), "it is not even looked at");
}

#[test]
fn keys_are_read_in_every_usual_spelling() {
    let bytes: Vec<u8> = (0..32).map(|byte| byte * 8 + 3).collect();
    let hex = bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    let spellings = [
        base64_simd::STANDARD.encode_to_string(&bytes),
        base64_simd::STANDARD_NO_PAD.encode_to_string(&bytes),
        base64_simd::URL_SAFE.encode_to_string(&bytes),
        base64_simd::URL_SAFE_NO_PAD.encode_to_string(&bytes),
        format!(" {}\n", base64_simd::STANDARD.encode_to_string(&bytes)),
        hex.to_uppercase(),
        hex,
    ];
    assert_ne!(spellings[0], spellings[2], "the alphabets differ in this key");
    let text = SealKeys::from_texts(&spellings[..1]).unwrap().seal(&BOUND, b"state", LATER);
    for spelling in &spellings {
        let keys = SealKeys::from_texts([spelling]).unwrap();
        assert!(keys.open(&BOUND, &text, NOW..LATEST).is_ok(), "{spelling}");
    }
}

#[test]
fn a_wrong_key_is_told_by_its_place_and_never_shown() {
    let right = "00".repeat(32);
    let rows = [
        "secret".to_owned(),
        "zz".repeat(32),
        "00".repeat(31),
        "A".repeat(42),
        "A".repeat(45),
        "A".repeat(43) + "==",
    ];
    for wrong in rows {
        let mistake = SealKeys::from_texts([&right, &wrong]).unwrap_err();
        assert!(mistake.starts_with("seal key 2 is neither"), "{mistake}");
        assert!(mistake.contains("openssl rand -base64 32") && !mistake.contains(&wrong), "{mistake}");
    }
    assert!(SealKeys::from_texts([""; 0]).unwrap_err().starts_with("there is no seal key"));
}

#[test]
fn the_environment_has_keys_with_commas_or_spaces_between_them() {
    let [one, two] = ["01", "02"].map(|byte| byte.repeat(32));
    let text = keys([1]).seal(&BOUND, b"state", LATER);
    for variable in [format!("{two},{one}"), format!(" {two} ,\n{one},"), format!("{two}\t{one}")] {
        let keys = SealKeys::from_variable(OsString::from(variable)).unwrap().unwrap();
        assert!(keys.open(&BOUND, &text, NOW..LATEST).is_ok());
        assert!(foreign(&self::keys([1]), &BOUND, &keys.seal(&BOUND, b"state", LATER)), "the first seals");
    }
    for empty in ["", " ", ",", " ,\n"] {
        assert!(SealKeys::from_variable(OsString::from(empty)).is_none(), "{empty:?} is not set");
    }
    let mistake = SealKeys::from_variable(OsString::from(format!("{one},no"))).unwrap().unwrap_err();
    assert!(mistake.starts_with("in TOOLWAY_SEAL_KEYS: seal key 2 is neither"), "{mistake}");
}

#[test]
fn debug_shows_neither_keys_nor_states() {
    assert_eq!(format!("{:?}", keys([0xab])), "SealKeys");
    let keys = SealKeys::random();
    let opened = keys.open(&BOUND, &keys.seal(&BOUND, b"state", LATER), NOW..LATEST).unwrap();
    assert_eq!(format!("{opened:?}"), format!("OpenedState {{ id: {:?}, expires: {LATER}, .. }}", opened.id));
}
