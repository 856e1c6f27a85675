//! What does a person see and type, and what does the server receive?

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolway::client::Answer;
use toolway::types::FormSchema;

use super::{form, page};

/// Returns the output and the answer. The input ends after the typed lines.
async fn fill(schema: &str, typed: &[&str]) -> (String, Answer) {
    fill_after("Who are you?", schema, typed).await
}

async fn fill_after(message: &str, schema: &str, typed: &[&str]) -> (String, Answer) {
    let form: FormSchema = serde_json::from_str(schema).unwrap();
    let (sender, mut lines) = mpsc::channel(64);
    for line in typed {
        sender.send((*line).to_owned()).await.unwrap();
    }
    drop(sender);
    let mut said = String::new();
    let mut say = |text: &str| said.push_str(text);
    let filling = form::fill(message, &form, &mut lines, &mut say);
    let answer = tokio::time::timeout(Duration::from_secs(10), filling).await.unwrap();
    (said, answer)
}

fn one(field: &Value, is_required: bool) -> String {
    let required = if is_required { json!(["it"]) } else { json!([]) };
    json!({"type": "object", "properties": {"it": field}, "required": required}).to_string()
}

#[tokio::test]
async fn a_form_is_asked_field_by_field_and_shown_once_more() {
    let schema = r#"{
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Name", "description": "For the badge."},
            "age": {"type": "integer", "minimum": 0, "maximum": 150},
            "colour": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}], "default": "g"},
            "days": {"type": "array", "items": {"type": "string", "enum": ["mon", "tue", "wed"]}},
            "news": {"type": "boolean", "default": false}
        },
        "required": ["name", "age"]
    }"#;
    let typed = ["", "Ada", "200", "36", "", "1, wed", "Y", "maybe", "n", "Ada", "37", "red", "", "", "y"];
    let (said, answer) = fill(schema, &typed).await;
    assert_eq!(answer, Answer::accept(json!({"name": "Ada", "age": 37, "colour": "r", "news": false})));
    assert_eq!(
        said,
        "\nThe server asks: Who are you?
(Enter accepts the value in brackets; :d declines, :c cancels.)

Name (text)
  For the badge.
> A value is required.
> 
age (whole number from 0 to 150)
> Please write a whole number from 0 to 150.
> 
colour (one of these, optional)
  1. Red
  2. Green
> [Green] 
days (some of these, separated by commas, optional)
  1. mon
  2. tue
  3. wed
> 
news (y/n, optional)
> [n] 
  Name: Ada
  age: 36
  colour: Green
  days: mon, wed
  news: y
Send it? (y, or n to begin again) [y] Please answer y or n.
Send it? (y, or n to begin again) [y] 
Name (text)
  For the badge.
> 
age (whole number from 0 to 150)
> 
colour (one of these, optional)
  1. Red
  2. Green
> [Green] 
days (some of these, separated by commas, optional)
  1. mon
  2. tue
  3. wed
> 
news (y/n, optional)
> [n] 
  Name: Ada
  age: 37
  colour: Red
  news: n
Send it? (y, or n to begin again) [y] "
    );
}

#[tokio::test]
async fn what_does_not_fit_is_asked_again() {
    let rows = [
        (json!({"type": "integer"}), &["1.5", "x", "7"][..], json!(7)),
        (json!({"type": "number", "maximum": 1}), &["2", "NaN", "0.5"], json!(0.5)),
        (json!({"type": "boolean"}), &["7", "Yes"], json!(true)),
        (json!({"type": "string", "minLength": 2, "maxLength": 3}), &["a", "abcd", "äöü"], json!("äöü")),
        (json!({"type": "string", "format": "email"}), &["ada", "@b", "a@b"], json!("a@b")),
        (json!({"type": "string", "format": "uri"}), &["example", "1:b", "https://b"], json!("https://b")),
        (
            json!({"type": "string", "format": "date"}),
            &["14.3.2027", "2027-13-01", "2027-03-14"],
            json!("2027-03-14"),
        ),
        (
            json!({"type": "string", "format": "date-time"}),
            &["2027-03-14", "2027-03-14T09:30:00", "2027-03-14T09:30:00Z"],
            json!("2027-03-14T09:30:00Z"),
        ),
        (json!({"type": "string", "enum": ["a", "b"]}), &["0", "3", "c", "2"], json!("b")),
        (
            json!({"type": "string", "enum": ["a", "b"], "enumNames": ["One", "Two"]}),
            &["Tow", "two"],
            json!("b"),
        ),
        (json!({"type": "string", "enum": ["2", "1"]}), &["1"], json!("1")),
        (
            json!({"type": "array", "items": {"anyOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]}, "minItems": 1, "maxItems": 1}),
            &["1,2", ",", "2,2"],
            json!(["g"]),
        ),
        (json!({"type": "string"}), &["::d"], json!(":d")),
    ];
    for (field, typed, expected) in rows {
        let (said, answer) = fill(&one(&field, true), typed).await;
        assert_eq!(answer, Answer::accept(json!({"it": expected})), "{field}: {said}");
        assert_eq!(said.matches("> ").count(), typed.len(), "{field}: {said}");
    }
}

#[tokio::test]
async fn a_question_can_be_declined_and_left() {
    let text = one(&json!({"type": "string"}), true);
    assert_eq!(fill(&text, &[":d"]).await.1, Answer::decline());
    assert_eq!(fill(&text, &[":c"]).await.1, Answer::cancel());
    assert_eq!(fill(&text, &[""]).await.1, Answer::cancel(), "the end of the input");
    assert_eq!(fill(&one(&json!({"type": "string"}), false), &[""]).await.1, Answer::accept(json!({})));
    let nothing = r#"{"type": "object", "properties": {}}"#;
    for (typed, expected) in [
        ("y", Answer::accept(json!({}))),
        ("n", Answer::decline()),
        (":d", Answer::decline()),
        (":c", Answer::cancel()),
    ] {
        assert_eq!(fill(nothing, &["what?", typed]).await.1, expected);
    }
}

#[tokio::test]
async fn a_page_is_shown_whole_with_its_real_host() {
    let rows = [
        ("https://pay.example/x?y=1", "y", Answer::consent(), "It is at pay.example. "),
        ("https://bank.example@evil.example/", "n", Answer::decline(), "It is at evil.example. "),
        ("mailto:x", ":c", Answer::cancel(), "If you trust it"),
    ];
    for (url, typed, expected, words) in rows {
        let (sender, mut lines) = mpsc::channel(2);
        sender.send("perhaps".to_owned()).await.unwrap();
        sender.send(typed.to_owned()).await.unwrap();
        let mut said = String::new();
        let answer =
            page::confirm_page("Please pay.", url, &mut lines, &mut |text: &str| said.push_str(text)).await;
        assert_eq!(answer, expected);
        assert!(said.contains(&format!("\n  {url}\n")), "{said}");
        assert!(said.contains(words), "{said}");
        assert!(said.contains("Please answer y or n.\n"), "{said}");
    }
}

#[tokio::test]
async fn a_text_of_the_server_cannot_look_like_a_line_of_ours() {
    let trick =
        "Hello.\r\nSend it? (y, or n to begin again) [y] \n> yes\u{ad}\u{2028}\n\nDo you agree? (y/n) ";
    let shown = "\nThe server asks: Hello.
  | Send it? (y, or n to begin again) [y] 
  | > yes\\u00ad\\u2028
  | 
  | Do you agree? (y/n)
";
    let field = json!({"type": "string", "title": format!("a\n{}> b", "x".repeat(75)), "description": "c\n> d\u{3164}"});
    let (said, _) = fill_after(trick, &one(&field, true), &["x"]).await;
    let (begin, rest) = said.split_at(shown.len());
    assert_eq!(begin, shown);
    let (sender, mut lines) = mpsc::channel(1);
    sender.send("y".to_owned()).await.unwrap();
    let mut page = String::new();
    let mut say = |text: &str| page.push_str(text);
    page::confirm_page(trick, "https://a.example", &mut lines, &mut say).await;
    assert!(page.starts_with(shown), "{page}");
    // Titles and descriptions are on lines of their own, which begin neither with a prompt nor with words of ours.
    assert_eq!(rest.matches("\n> ").count(), 1, "{rest}");
    assert!(rest.contains("\n  c > d\\u3164\n"), "{rest}");
}
