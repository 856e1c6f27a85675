//! Elicitation: which questions can a user be asked, and what are the answers?

use std::collections::BTreeMap;

use serde::de::{self, Deserialize, Deserializer};
use serde_json::Value;

use crate::capability::JsonObject;
use crate::json::{Encode, Encoder, Members, OrderedMap, RawJson};
use crate::version::since;
use crate::wire::{names, wire};

wire! {
    /// A form to fill in.
    ///
    /// ```
    /// use toolway_protocol::types::{ElicitForm, Field, FieldKind, Fields, FormSchema};
    ///
    /// let fields = Fields(vec![("name".to_owned(), Field::new(FieldKind::String))]);
    /// let form = ElicitForm::new("Who are you?", FormSchema::new(fields));
    /// assert_eq!(form.message, "Who are you?");
    /// ```
    pub struct ElicitForm {
        frame "mode";
        /// The text that explains the form.
        message: String = "message";
        /// The fields.
        requested_schema: FormSchema = "requestedSchema";
    }

    /// A task for the user on a web page.
    ///
    /// ```
    /// use toolway_protocol::types::ElicitUrl;
    ///
    /// assert_eq!(ElicitUrl::new("Please pay.", "https://pay.example").url, "https://pay.example");
    /// ```
    pub struct ElicitUrl {
        frame "mode";
        /// The text that explains the task.
        message: String = "message";
        /// The URL of the page.
        url: String = "url";
        /// The id that the completion notification refers to.
        elicitation_id (with_elicitation_id): Option<String> = "elicitationId", since ELICITATION_ID;
    }
}

/// A question to the user.
///
/// ```
/// use toolway_protocol::types::{Elicit, ElicitUrl};
///
/// let ask = Elicit::Url(ElicitUrl::new("Please pay.", "https://pay.example"));
/// assert!(matches!(ask, Elicit::Url(_)));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Elicit {
    /// Asks the user to fill in a form.
    Form(ElicitForm),
    /// Asks the user to visit a web page.
    Url(ElicitUrl),
}

impl Elicit {
    /// Writes the members of the object.
    pub(crate) fn put(&self, members: &mut Members<'_, '_>) {
        match self {
            Self::Form(form) => {
                if members.encoder().supports(since::FORM_CHOICES) {
                    members.put("mode", "form");
                }
                form.put(members);
            }
            Self::Url(url) => {
                members.put("mode", "url");
                url.put(members);
            }
        }
    }
}

impl Encode for Elicit {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.object(|members| self.put(members));
    }
}

impl<'de> Deserialize<'de> for Elicit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = RawJson::deserialize(deserializer)?;
        match text.tag("mode").map_err(de::Error::custom)?.as_deref() {
            // The first revision with elicitation had only forms, and no `mode`.
            None | Some("form") => text.decode().map(Self::Form).map_err(de::Error::custom),
            Some("url") => text.decode().map(Self::Url).map_err(de::Error::custom),
            Some(other) => Err(de::Error::unknown_variant(other, &["form", "url"])),
        }
    }
}

wire! {
    /// The schema of a form: an object without nested objects.
    ///
    /// ```
    /// use toolway_protocol::types::{Field, FieldKind, Fields, FormSchema};
    ///
    /// let fields = Fields(vec![("ok".to_owned(), Field::new(FieldKind::Boolean))]);
    /// let schema = FormSchema::new(fields).with_required(vec!["ok".to_owned()]);
    /// assert_eq!(schema.properties.0.len(), 1);
    /// ```
    pub struct FormSchema {
        "type": "object";
        /// The fields, in the order in which they are shown.
        properties: Fields = "properties";
        /// The fields that must be filled in.
        required (with_required): Option<Vec<String>> = "required";
        /// The dialect of JSON Schema.
        dialect (with_dialect): Option<String> = "$schema", since FORM_DEFAULTS;
    }
}

/// The fields of a form by name, in order.
///
/// ```
/// use toolway_protocol::types::{Field, FieldKind, Fields};
///
/// let fields = Fields(vec![("ok".to_owned(), Field::new(FieldKind::Boolean))]);
/// assert_eq!(fields.0[0].0, "ok");
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fields(pub Vec<(String, Field)>);

impl Encode for Fields {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.entries(&self.0);
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        OrderedMap::deserialize(deserializer).map(|OrderedMap(fields)| Self(fields))
    }
}

wire! {
    /// One field: text, a number, a boolean, a single choice, or a multiple choice.
    ///
    /// `type` decides which of the members have a meaning. All kinds of fields share this struct.
    ///
    /// ```
    /// use toolway_protocol::types::{Field, FieldKind};
    ///
    /// let age = Field::new(FieldKind::Integer).with_minimum(0).with_default(30);
    /// assert_eq!(age.kind, FieldKind::Integer);
    /// ```
    pub struct Field {
        /// `string`, `number`, `integer`, `boolean` or `array`.
        kind: FieldKind = "type";
        /// The display name.
        title (with_title): Option<String> = "title";
        /// The description.
        description (with_description): Option<String> = "description";
        /// The initial value.
        default (with_default): Option<Value> = "default", if default_fits;
        /// The format of a text.
        format (with_format): Option<String> = "format";
        /// The minimum length of a text.
        min_length (with_min_length): Option<i64> = "minLength";
        /// The maximum length of a text.
        max_length (with_max_length): Option<i64> = "maxLength";
        /// The minimum of a number.
        minimum (with_minimum): Option<serde_json::Number> = "minimum";
        /// The maximum of a number.
        maximum (with_maximum): Option<serde_json::Number> = "maximum";
        /// The choices.
        choices (with_choices): Option<Vec<String>> = "enum";
        /// The names of the choices, in the shape of 2025-06-18.
        choice_names (with_choice_names): Option<Vec<String>> = "enumNames";
        /// The choices with names.
        one_of (with_one_of): Option<Vec<Choice>> = "oneOf", since FORM_CHOICES;
        /// The choices of a multiple-choice field.
        items (with_items): Option<Choices> = "items", since FORM_CHOICES;
        /// The minimum number of choices to select.
        min_items (with_min_items): Option<i64> = "minItems", since FORM_CHOICES;
        /// The maximum number of choices to select.
        max_items (with_max_items): Option<i64> = "maxItems", since FORM_CHOICES;
    }
}

/// Returns whether the revision allows this default. The first revision with forms allowed only booleans.
fn default_fits(value: &Value, to: &Encoder<'_>) -> bool {
    value.is_boolean() || to.supports(since::FORM_DEFAULTS)
}

names! {
    /// The kind of a field.
    ///
    /// ```
    /// use toolway_protocol::types::FieldKind;
    ///
    /// assert_eq!(FieldKind::from("array"), FieldKind::Array);
    /// ```
    pub enum FieldKind {
        /// Text, or a single choice.
        String = "string",
        /// A number.
        Number = "number",
        /// An integer.
        Integer = "integer",
        /// A boolean.
        Boolean = "boolean",
        /// A multiple choice.
        Array = "array",
    }
}

wire! {
    /// A choice with a name.
    ///
    /// ```
    /// use toolway_protocol::types::Choice;
    ///
    /// assert_eq!(Choice::new("r", "Red").title, "Red");
    /// ```
    pub struct Choice {
        /// The value that is sent.
        value: String = "const";
        /// The text that is displayed.
        title: String = "title";
    }

    /// The choices of a multiple-choice field.
    ///
    /// ```
    /// use toolway_protocol::types::{Choice, Choices};
    ///
    /// let colours = Choices::new().with_any_of(vec![Choice::new("r", "Red")]);
    /// assert_eq!(colours.any_of.unwrap().len(), 1);
    /// ```
    pub struct Choices {
        /// `string`, if the choices have no names.
        kind (with_kind): Option<FieldKind> = "type";
        /// The choices.
        choices (with_choices): Option<Vec<String>> = "enum";
        /// The choices with names.
        any_of (with_any_of): Option<Vec<Choice>> = "anyOf";
    }

    /// The user's answer.
    ///
    /// ```
    /// use toolway_protocol::types::{ElicitAction, ElicitResult};
    ///
    /// let answer = ElicitResult::new(ElicitAction::Decline);
    /// assert!(answer.content.is_none());
    /// ```
    pub struct ElicitResult {
        /// The user's reaction to the question.
        action: ElicitAction = "action";
        /// The values of the fields, if the user submitted the form.
        content (with_content): Option<BTreeMap<String, Value>> = "content";
        /// Additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta", since ANSWER_META;
    }
}

names! {
    /// The user's reaction to a question.
    ///
    /// ```
    /// use toolway_protocol::types::ElicitAction;
    ///
    /// assert_eq!(ElicitAction::Accept.as_str(), "accept");
    /// ```
    pub enum ElicitAction {
        /// The user answered.
        Accept = "accept",
        /// The user declined to answer.
        Decline = "decline",
        /// The user closed the question without a decision.
        Cancel = "cancel",
    }
}
