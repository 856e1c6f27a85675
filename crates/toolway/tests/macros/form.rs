//! What `#[derive(Form)]` makes of structs and enums: the schema that a client gets, and the values read from its
//! answer.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::{Value, json};
use toolway::server::ask::FormChoice;
use toolway::{Form, ProtocolVersion};
use toolway_protocol::json::{Encode, Encoder};

/// Returns the fields in order, each as it is written for the newest revision.
fn told<F: Form>() -> Vec<String> {
    let fields = F::schema().properties.0;
    let text = |(name, field)| {
        let mut out = Vec::new();
        Encode::encode(&field, &mut Encoder::new(&mut out, ProtocolVersion::LATEST));
        format!("{name} {}", String::from_utf8(out).expect("JSON is text"))
    };
    fields.into_iter().map(text).collect()
}

fn required<F: Form>() -> Vec<String> {
    F::schema().required.unwrap_or_default()
}

fn content(json: Value) -> BTreeMap<String, Value> {
    match json {
        Value::Object(members) => members.into_iter().collect(),
        other => panic!("{other} is no content"),
    }
}

#[derive(Debug, PartialEq, Form)]
struct Confirm {
    /// Type the name to confirm.
    name: String,
    #[form(default = true)]
    backup: bool,
}

#[test]
fn a_struct_becomes_a_form() {
    assert_eq!(Confirm::name(), "Confirm");
    assert_eq!(
        told::<Confirm>(),
        [
            r#"name {"type":"string","description":"Type the name to confirm."}"#,
            r#"backup {"type":"boolean","default":true}"#,
        ]
    );
    assert_eq!(required::<Confirm>(), ["name"]);
    let confirm = Confirm::fill_in(content(json!({"name": "db"})));
    assert_eq!(confirm, Ok(Confirm { name: "db".to_owned(), backup: true }));
    let confirm = Confirm::fill_in(content(json!({"name": "db", "backup": false, "more": 1})));
    assert_eq!(confirm, Ok(Confirm { name: "db".to_owned(), backup: false }));
    let told = Confirm::fill_in(content(json!({"backup": "yes"})));
    let expected = "field `name` is missing; field `backup`: expected a boolean, got the string \"yes\"";
    assert_eq!(told, Err(expected.to_owned()));
}

const LONGEST: usize = 40;
const AUTHOR: &str = "somebody";

/// Not in the form.
#[derive(Debug, PartialEq, Form)]
#[form(name = "everything")]
struct Everything {
    #[form(title = "Title", description = "Said.", min_length = 1, max_length = LONGEST)]
    /// Not said.
    z: String,
    #[form(format = "email")]
    #[form(rename = "e-mail")]
    email: Option<String>,
    #[form(default = AUTHOR)]
    author: String,
    #[form(min = 0.5, maximum = 1, default = 0.75)]
    share: f64,
    #[form(min = -5, default = -3)]
    floor: i32,
    small: u8,
    #[form(max = 18_446_744_073_709_551_615)]
    large: u64,
    count: Option<i64>,
    #[form(choices = ["a", "b"], default = "b")]
    letter: String,
    #[form(choices = [("a", "Letter A"), ("b", "Letter B")])]
    r#type: Option<String>,
    #[form(choices = ["a", "b"], min_items = 1, max_items = 2)]
    letters: Vec<String>,
    #[form(choices = [("a", "Letter A"), ("b", "Letter B")], default = [])]
    set: BTreeSet<String>,
}

#[test]
fn everything_that_can_be_said_about_a_field_is_told_in_order() {
    assert_eq!(Everything::name(), "everything");
    assert_eq!(
        told::<Everything>(),
        [
            r#"z {"type":"string","title":"Title","description":"Said.","minLength":1,"maxLength":40}"#,
            r#"e-mail {"type":"string","format":"email"}"#,
            r#"author {"type":"string","default":"somebody"}"#,
            r#"share {"type":"number","default":0.75,"minimum":0.5,"maximum":1}"#,
            r#"floor {"type":"integer","default":-3,"minimum":-5,"maximum":2147483647}"#,
            r#"small {"type":"integer","minimum":0,"maximum":255}"#,
            r#"large {"type":"integer","minimum":0,"maximum":18446744073709551615}"#,
            r#"count {"type":"integer"}"#,
            r#"letter {"type":"string","default":"b","enum":["a","b"]}"#,
            concat!(
                r#"type {"type":"string","oneOf":[{"const":"a","title":"Letter A"},"#,
                r#"{"const":"b","title":"Letter B"}]}"#
            ),
            r#"letters {"type":"array","items":{"type":"string","enum":["a","b"]},"minItems":1,"maxItems":2}"#,
            concat!(
                r#"set {"type":"array","default":[],"items":{"anyOf":[{"const":"a","title":"Letter A"},"#,
                r#"{"const":"b","title":"Letter B"}]}}"#
            ),
        ]
    );
    assert_eq!(required::<Everything>(), ["z", "small", "large", "letters"]);
    assert_eq!(Everything::mistakes(), [""; 0]);
}

#[test]
fn what_was_filled_in_is_read_by_the_names_that_were_told() {
    let sent = json!({"z": "t", "e-mail": "a@b.example", "small": 3.0, "large": u64::MAX, "letters": ["b"]});
    let read = Everything::fill_in(content(sent));
    assert_eq!(
        read,
        Ok(Everything {
            z: "t".to_owned(),
            email: Some("a@b.example".to_owned()),
            author: "somebody".to_owned(),
            share: 0.75,
            floor: -3,
            small: 3,
            large: u64::MAX,
            count: None,
            letter: "b".to_owned(),
            r#type: None,
            letters: vec!["b".to_owned()],
            set: BTreeSet::new(),
        })
    );
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Form)]
enum Colour {
    /// Not a title.
    Red,
    #[form(rename = "dark-green")]
    DarkGreen,
}

#[derive(Debug, PartialEq, Eq, Hash, Form)]
enum Size {
    #[form(title = "Small (up to 10 GB)")]
    Small,
    Large,
}

#[derive(Debug, PartialEq, Form)]
struct Paint {
    #[form(default = Colour::DarkGreen)]
    colour: Colour,
    size: Option<Size>,
    #[form(default = [Colour::Red, Colour::DarkGreen], min_items = 1)]
    colours: Vec<Colour>,
    #[form(default = "Large")]
    other: Size,
    #[form(default = ["Small"])]
    sizes: HashSet<Size>,
    set: BTreeSet<Colour>,
}

#[test]
fn an_enum_is_a_choice() {
    assert_eq!(Colour::CHOICES, [("Red", None), ("dark-green", None)]);
    assert_eq!(Colour::from_value("dark-green"), Some(Colour::DarkGreen));
    assert_eq!(Colour::from_value("DarkGreen"), None);
    assert_eq!(Size::Small.value(), "Small");
    let sizes = r#"[{"const":"Small","title":"Small (up to 10 GB)"},{"const":"Large","title":"Large"}]"#;
    assert_eq!(
        told::<Paint>(),
        [
            r#"colour {"type":"string","default":"dark-green","enum":["Red","dark-green"]}"#.to_owned(),
            format!(r#"size {{"type":"string","oneOf":{sizes}}}"#),
            concat!(
                r#"colours {"type":"array","default":["Red","dark-green"],"#,
                r#""items":{"type":"string","enum":["Red","dark-green"]},"minItems":1}"#
            )
            .to_owned(),
            format!(r#"other {{"type":"string","default":"Large","oneOf":{sizes}}}"#),
            format!(r#"sizes {{"type":"array","default":["Small"],"items":{{"anyOf":{sizes}}}}}"#),
            r#"set {"type":"array","items":{"type":"string","enum":["Red","dark-green"]}}"#.to_owned(),
        ]
    );
    assert_eq!(required::<Paint>(), ["set"]);
    assert_eq!(Paint::mistakes(), [""; 0]);
    let read = Paint::fill_in(content(json!({"colours": ["dark-green"], "set": ["Red", "Red"]})));
    assert_eq!(
        read,
        Ok(Paint {
            colour: Colour::DarkGreen,
            size: None,
            colours: vec![Colour::DarkGreen],
            other: Size::Large,
            sizes: HashSet::from([Size::Small]),
            set: BTreeSet::from([Colour::Red]),
        })
    );
    let told = Paint::fill_in(content(json!({"colour": "Green", "set": []}))).unwrap_err();
    assert_eq!(told, "field `colour`: expected one of \"Red\", \"dark-green\", got \"Green\"");
}

#[derive(Form)]
struct Mistaken {
    #[form(default = Size::Small)]
    colour: Colour,
    #[form(min_length = 3)]
    size: Size,
    #[form(format = "uri", default = "nowhere")]
    home: String,
}

#[test]
fn what_the_macro_cannot_see_is_told_by_the_form() {
    assert_eq!(
        Mistaken::mistakes(),
        [
            "the default of field `colour`: expected one of \"Red\", \"dark-green\", got \"Small\"",
            "field `size`: `min_length` does not apply to a field with choices",
            "the default of field `home`: expected a URI with its scheme, got \"nowhere\"",
        ]
    );
    let Mistaken { colour, size, home } =
        Mistaken::fill_in(content(json!({"colour": "Red", "size": "Large", "home": "a:b"}))).ok().unwrap();
    assert_eq!((colour, size, home), (Colour::Red, Size::Large, "a:b".to_owned()));
}

#[derive(Debug, PartialEq, Form)]
struct Nothing {}

#[test]
fn a_form_may_be_empty() {
    assert_eq!(told::<Nothing>(), [""; 0]);
    assert_eq!(Nothing::schema().required, None);
    assert_eq!(Nothing::fill_in(content(json!({"a": 1}))), Ok(Nothing {}));
}

macro_rules! make_form {
    ($name:ident, $field:ident, $type:ty, $default:expr) => {
        #[derive(Form)]
        struct $name {
            #[form(default = $default)]
            $field: $type,
        }
    };
}

make_form!(Made, count, u8, 7);

#[test]
fn a_macro_can_write_a_form() {
    assert_eq!(told::<Made>(), [r#"count {"type":"integer","default":7,"minimum":0,"maximum":255}"#]);
    assert_eq!(Made::fill_in(BTreeMap::new()).map(|made| made.count), Ok(7));
}

#[test]
fn whatever_comes_nothing_panics_and_what_is_left_out_is_forgiven_only_where_it_may_be() {
    let (mut read, mut refused) = (0, 0);
    let mut random = Random(7);
    for _ in 0..2_000 {
        let sent = any_content(&mut random);
        let _ = (Everything::read(sent.clone()), Paint::read(sent.clone()), Confirm::read(sent.clone()));
        for is_read in [
            Everything::fill_in(sent.clone()).is_ok(),
            Paint::fill_in(sent.clone()).is_ok(),
            Confirm::fill_in(sent.clone()).is_ok(),
        ] {
            *(if is_read { &mut read } else { &mut refused }) += 1;
        }
        if Paint::fill_in(sent.clone()).is_ok() {
            assert!(sent.contains_key("set"), "{sent:?}");
        }
    }
    assert!(read > 500 && refused > 500, "{read} were read, {refused} refused");
}

fn any_content(random: &mut Random) -> BTreeMap<String, Value> {
    let names =
        ["name", "backup", "z", "small", "large", "letters", "colour", "set", "sizes", "other", "floor"];
    let mut content = BTreeMap::new();
    for name in names {
        if random.below(3) > 0 {
            content.insert(name.to_owned(), any_value(random, name));
        }
    }
    content
}

fn any_value(random: &mut Random, name: &str) -> Value {
    let good = match name {
        "backup" => json!(true),
        "small" | "large" | "floor" => json!(3),
        "letters" => json!(["a"]),
        "set" => json!(["Red"]),
        "sizes" => json!(["Large", "Small"]),
        "colour" => json!("Red"),
        "other" => json!("Small"),
        _ => json!("text"),
    };
    let strange =
        [json!(null), json!(-1), json!(1e300), json!("Red"), json!([]), json!([1]), json!({}), json!(2.5)];
    if random.below(4) > 0 { good } else { strange[random.below(strange.len())].clone() }
}

/// A repeatable source of random numbers (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        usize::try_from((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) % limit as u64)
            .expect("it is small")
    }
}
