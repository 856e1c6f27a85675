//! Which arguments do words become?

use serde_json::{Value, json};
use toolway::RawJson;
use toolway::types::{Prompt, PromptArgument, Tool};

use super::{for_prompt, for_tool, prompt_usage, tool_line, tool_usage};

fn tool() -> Tool {
    let schema = r##"{
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "Any text."},
            "count": {"type": "integer", "description": "How often."},
            "ratio": {"type": "number", "default": 0.5},
            "loud": {"type": "boolean"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "sizes": {"type": "array", "items": {"type": "integer"}},
            "maybe": {"type": ["string", "null"]},
            "age": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "unit": {"$ref": "#/$defs/Unit"},
            "place": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}]},
            "free": {"type": "object"},
            "any": {},
            "a.b": {"type": "integer"},
            "mix": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
        },
        "required": ["text"],
        "additionalProperties": false,
        "$defs": {
            "Unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "description": "A scale."},
            "Place": {"type": "object", "properties": {"city": {"type": "string"}, "zip": {"type": "string"}}, "required": ["city"]}
        }
    }"##;
    Tool::new("measure", RawJson::parse(schema).unwrap()).with_description("Measure something.\nTwice.")
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn read(pairs: &[&str]) -> Result<String, String> {
    let words = words(&[&["text=t"], pairs].concat());
    let arguments = for_tool(&tool(), &words, None);
    arguments.map(|arguments| arguments.as_str().to_owned()).map_err(|failure| failure.to_text("toolway"))
}

#[test]
fn words_are_read_as_the_schema_wants_them() {
    let rows: &[(&[&str], &str)] = &[
        (&["count=5"], r#""count":5"#),
        (&["count=-5"], r#""count":-5"#),
        (&["count=12345678901234567890123"], r#""count":12345678901234567890123"#),
        (&["ratio=1.50"], r#""ratio":1.50"#),
        (&["ratio=.5"], r#""ratio":0.5"#),
        (&["ratio=2"], r#""ratio":2"#),
        (&["loud=true"], r#""loud":true"#),
        (&["loud=No"], r#""loud":false"#),
        (&["tags=a, b,c"], r#""tags":["a","b","c"]"#),
        (&[r#"tags=["a,b"]"#], r#""tags":["a,b"]"#),
        (&["tags="], r#""tags":[]"#),
        (&["tags=a", "tags=b,c"], r#""tags":["a","b","c"]"#),
        (&["sizes=1,2"], r#""sizes":[1,2]"#),
        (&["maybe=null"], r#""maybe":"null""#),
        (&["maybe:=null"], r#""maybe":null"#),
        (&["age=null"], r#""age":null"#),
        (&["age=7"], r#""age":7"#),
        (&["unit=Celsius"], r#""unit":"celsius""#),
        (&[r#"place={"city":"Lisbon"}"#], r#""place":{"city":"Lisbon"}"#),
        (&["place.city=Lisbon", "place.zip=1000"], r#""place":{"city":"Lisbon","zip":"1000"}"#),
        (&["place=null"], r#""place":null"#),
        (&["free.a.b=1", "free.c=x"], r#""free":{"a":{"b":1},"c":"x"}"#),
        (&["any=x"], r#""any":"x""#),
        (&["any=[1]"], r#""any":[1]"#),
        (&["a.b=3"], r#""a.b":3"#),
        (&["mix=a,b"], r#""mix":"a,b""#),
        (&[r#"mix=["a"]"#], r#""mix":["a"]"#),
        (&["maybe=a=b"], r#""maybe":"a=b""#),
        (&["maybe=@@ada"], r#""maybe":"@ada""#),
        (&[r#"any:={"z": 1, "a": 2}"#], r#""any":{"z": 1, "a": 2}"#),
    ];
    for (pairs, expected) in rows {
        assert_eq!(read(pairs).as_deref(), Ok(&*format!(r#"{{"text":"t",{expected}}}"#)), "{pairs:?}");
    }
}

#[test]
fn text_stays_text_whatever_it_looks_like() {
    for text in ["5", "true", "null", "[1]", "{}", " a ", ""] {
        let arguments = for_tool(&tool(), &words(&[&format!("text={text}")]), None).unwrap();
        assert_eq!(arguments.decode::<Value>().unwrap(), json!({"text": text}));
    }
}

#[test]
fn a_mistake_is_named_with_what_was_expected() {
    let rows = [
        ("count=x", "toolway: the argument `count`: expected integer, got `x`\n"),
        ("count=1.5", "toolway: the argument `count`: expected integer, got `1.5`\n"),
        ("ratio=NaN", "toolway: the argument `ratio`: expected number, got `NaN`\n"),
        ("loud=maybe", "toolway: the argument `loud`: expected boolean, got `maybe`; write true or false\n"),
        ("sizes=1,x", "toolway: the argument `sizes`: expected integer, got `x`\n"),
        ("unit=kelvin", "toolway: the argument `unit`: expected one of celsius, fahrenheit, got `kelvin`\n"),
        (
            "unit=fahrenhiet",
            "toolway: the argument `unit`: expected one of celsius, fahrenheit, got `fahrenhiet`; did you mean `fahrenheit`?\n",
        ),
        (
            "place=Lisbon",
            "toolway: the argument `place`: expected object or null, got `Lisbon`; write JSON, such as {\"a\": 1}, or name a member: a.b=1\n",
        ),
        ("cuont=1", "toolway: the tool `measure` has no argument `cuont`; did you mean `count`?\n"),
        ("weather=1", "toolway: the tool `measure` has no argument `weather`\n"),
        ("place.ctiy=x", "toolway: `place` has no argument `ctiy`; did you mean `city`?\n"),
        ("count.x=1", "toolway: `count` has no argument `x`\n"),
        ("text=again", "toolway: the argument `text`: it is given twice\n"),
        ("any:={", "toolway: the argument `any`: `{` is not valid JSON: "),
        ("lonely", "toolway: `lonely` is not an argument: write arguments as key=value\n"),
        ("text", "toolway: `text` is not an argument: write arguments as key=value\n"),
        ("any=@/no/such/file", "toolway: the argument `any`: `/no/such/file` cannot be read: "),
    ];
    for (pair, expected) in rows {
        let failure = read(&[pair]).unwrap_err();
        assert!(failure.starts_with(expected), "{pair}: {failure}");
        assert!(failure.ends_with(&format!("\n\n{}\n", tool_usage(&tool()))), "{pair}: {failure}");
    }
}

#[test]
fn what_is_missing_is_named_with_the_signature() {
    let failure = for_tool(&tool(), &words(&["count=1"]), None).unwrap_err();
    let signature = tool_usage(&tool());
    assert_eq!(
        failure.to_text("toolway"),
        format!("toolway: the tool `measure` needs the argument `text`\n\n{signature}\n")
    );
    assert_eq!(failure.fault.exit_code(), 1);
}

#[test]
fn whole_json_is_sent_as_it_stands() {
    let text = r#"{"z":1, "text":5}"#;
    assert_eq!(for_tool(&tool(), &words(&[text]), None).unwrap().as_str(), text);
    assert_eq!(for_tool(&tool(), &[], Some(text)).unwrap().as_str(), text);
    let both = for_tool(&tool(), &words(&["text=a"]), Some("{}")).unwrap_err().to_text("toolway");
    assert_eq!(
        both,
        "toolway: `text=a` and --input-json cannot be used together: give the arguments in one way only\n"
    );
    let array = for_tool(&tool(), &[], Some("[1]")).unwrap_err().to_text("toolway");
    assert_eq!(array, "toolway: --input-json: it must be a JSON object, such as {\"a\": 1}\n");
}

#[test]
fn signatures_say_what_to_write() {
    assert_eq!(
        tool_line(&tool()),
        "measure text=STRING [count=INTEGER] [ratio=NUMBER] [loud=BOOLEAN] [tags=STRING,…] [sizes=INTEGER,…] \
         [maybe=STRING] [age=INTEGER] [unit=celsius|fahrenheit] [place=JSON] [free=JSON] [any=VALUE] [a.b=INTEGER] [mix=VALUE]"
    );
    let table = tool_usage(&tool());
    let lines: Vec<_> = table.lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            "  Measure something.",
            "  Twice.",
            "",
            "  text   string, required            Any text.",
            "  count  integer                     How often.",
            "  ratio  number, default 0.5",
            "  loud   boolean",
            "  tags   list of string",
            "  sizes  list of integer",
            "  maybe  string or null",
            "  age    integer or null",
            "  unit   one of celsius, fahrenheit  A scale.",
            "  place  object or null",
            "  free   object",
            "  any    anything",
            "  a.b    integer",
            "  mix    string or list of string",
        ]
    );
}

#[test]
fn schemas_of_strangers_are_read_in_bounded_time() {
    let schemas = [
        r##"{"properties":{"a":{"type":"array","items":{"$ref":"#/properties/a"}}}}"##,
        r##"{"properties":{"a":{"$ref":"#/properties/a"}}}"##,
        r##"{"properties":{"a":{"anyOf":[{"$ref":"#/properties/a"},{"$ref":"#/properties/a"}]}}}"##,
        r##"{"properties":{"a":{"allOf":[{"$ref":"#/properties/a"},{"$ref":"#/properties/a"}]}}}"##,
        r##"{"properties":{"a":{"$ref":"#/nowhere/9"}}}"##,
        r#"{"properties":{"a":{"$ref":"https://example.com/a"}}}"#,
        r#"{"properties":[1],"required":{"a":1},"type":7,"anyOf":3}"#,
        r#"{"properties":{"a":true},"required":[1,"a"]}"#,
        "[]",
        "true",
        "7",
    ];
    for schema in schemas {
        let tool = Tool::new("strange", RawJson::parse(schema).unwrap());
        let _ = tool_usage(&tool);
        let _ = for_tool(&tool, &words(&["a=1"]), None).map_err(|failure| failure.to_text("toolway"));
    }
}

#[test]
fn prompts_take_texts() {
    let prompt = Prompt::new("review").with_description("Review code.").with_arguments(vec![
        PromptArgument::new("code").with_required(true).with_description("The code."),
        PromptArgument::new("style"),
    ]);
    let read =
        |given: &[&str]| for_prompt(&prompt, &words(given)).map_err(|failure| failure.to_text("toolway"));
    assert_eq!(
        read(&["code=a=1", "style=5"]).unwrap(),
        [("code".to_owned(), "a=1".to_owned()), ("style".to_owned(), "5".to_owned())]
    );
    assert_eq!(read(&[r#"{"code":1}"#]).unwrap(), [("code".to_owned(), "1".to_owned())]);
    let signature =
        "review code=TEXT [style=TEXT]\n  Review code.\n\n  code   required  The code.\n  style  optional";
    assert_eq!(prompt_usage(&prompt), signature);
    let rows = [
        (&["style=a"][..], "the prompt `review` needs the argument `code`"),
        (&["coed=1"], "the prompt `review` has no argument `coed`; did you mean `code`?"),
        (&["code=1", "code=2"], "the argument `code` is given twice"),
        (&["code"], "`code` is not an argument: write arguments as key=value"),
    ];
    for (given, expected) in rows {
        assert_eq!(read(given).unwrap_err(), format!("toolway: {expected}\n\n{signature}\n"));
    }
}
