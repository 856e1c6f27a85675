//! Questions and answers of a request that needs several rounds (stateless era).

use serde::de::{self, Deserialize, Deserializer};

use super::{CreateMessage, CreateMessageResult, Elicit, ElicitResult, ListRootsResult, Told};
use crate::json::{Encode, Encoder, RawJson};
use crate::method::Method;
use crate::wire::wire;

/// Something that the client is asked before a request can be answered. It is no JSON-RPC message: it has a
/// method and parameters, but no id.
///
/// ```
/// use toolway_protocol::types::InputRequest;
///
/// assert_eq!(InputRequest::ListRoots(None).method().name(), "roots/list");
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum InputRequest {
    /// Ask the user.
    Elicit(Elicit),
    /// Ask the model.
    CreateMessage(Box<CreateMessage>),
    /// Tell the roots.
    ListRoots(Option<Told>),
}

impl InputRequest {
    /// The method that stands for this question.
    pub fn method(&self) -> Method {
        match self {
            Self::Elicit(_) => Method::Elicit,
            Self::CreateMessage(_) => Method::CreateMessage,
            Self::ListRoots(_) => Method::ListRoots,
        }
    }
}

impl Encode for InputRequest {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.object(|members| {
            members.put("method", self.method().name());
            match self {
                Self::Elicit(elicit) => members.put("params", elicit),
                Self::CreateMessage(create) => members.put("params", create),
                Self::ListRoots(params) => members.maybe("params", params.as_ref()),
            }
        });
    }
}

impl<'de> Deserialize<'de> for InputRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let question = Question::deserialize(deserializer)?;
        let params = || question.params.as_ref().ok_or_else(|| de::Error::missing_field("params"));
        match Method::from_name(&question.method) {
            Method::Elicit => params()?.decode().map(Self::Elicit).map_err(de::Error::custom),
            Method::CreateMessage => params()?.decode().map(Self::CreateMessage).map_err(de::Error::custom),
            Method::ListRoots => {
                let params = question.params.as_ref().map(RawJson::decode).transpose();
                params.map(Self::ListRoots).map_err(de::Error::custom)
            }
            other => Err(de::Error::custom(format_args!("`{}` is no question to a client", other.name()))),
        }
    }
}

wire! {
    /// A question whose kind is not known yet.
    ///
    /// ```
    /// use toolway_protocol::types::Question;
    ///
    /// assert_eq!(Question::new("roots/list").method, "roots/list");
    /// ```
    pub struct Question {
        fixed {}
        required {
            /// Its kind.
            method: String = "method";
        }
        optional {
            /// Its parameters.
            params (with_params): RawJson = "params";
        }
    }
}

/// The client's answer to one question; which kind it is follows from the question.
///
/// ```
/// use toolway_protocol::types::{InputRequest, InputResponse};
/// use toolway_protocol::RawJson;
///
/// let answer = RawJson::parse(r#"{"roots":[]}"#)?;
/// let answer = InputResponse::decode(&InputRequest::ListRoots(None), &answer)?;
/// assert!(matches!(answer, InputResponse::ListRoots(_)));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum InputResponse {
    /// What the user answered.
    Elicit(ElicitResult),
    /// What the model answered.
    CreateMessage(Box<CreateMessageResult>),
    /// The roots.
    ListRoots(ListRootsResult),
}

impl InputResponse {
    /// Reads the answer to `question`.
    pub fn decode(question: &InputRequest, answer: &RawJson) -> Result<Self, serde_json::Error> {
        match question {
            InputRequest::Elicit(_) => answer.decode().map(Self::Elicit),
            InputRequest::CreateMessage(_) => answer.decode().map(Self::CreateMessage),
            InputRequest::ListRoots(_) => answer.decode().map(Self::ListRoots),
        }
    }
}

impl Encode for InputResponse {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self {
            Self::Elicit(answer) => answer.encode(to),
            Self::CreateMessage(answer) => answer.encode(to),
            Self::ListRoots(answer) => answer.encode(to),
        }
    }
}

/// Values by key, in order: the questions of a round, or the answers to them.
///
/// ```
/// use toolway_protocol::types::Keyed;
///
/// let answers = Keyed::from(vec![("who".to_owned(), "Ada")]);
/// assert_eq!(answers.get("who"), Some(&"Ada"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Keyed<T>(pub Vec<(String, T)>);

impl<T> Default for Keyed<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Keyed<T> {
    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<&T> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }
}

impl<T> From<Vec<(String, T)>> for Keyed<T> {
    fn from(entries: Vec<(String, T)>) -> Self {
        Self(entries)
    }
}

impl<T: Encode> Encode for Keyed<T> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.object(|members| {
            for (key, value) in &self.0 {
                members.put_foreign(key, value);
            }
        });
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Keyed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::wire::entries(deserializer).map(Self)
    }
}

wire! {
    /// A round that ended in questions instead of an answer.
    ///
    /// ```
    /// use toolway_protocol::types::{InputRequest, InputRequired, Keyed};
    ///
    /// let questions = Keyed::from(vec![("roots".to_owned(), InputRequest::ListRoots(None))]);
    /// let required = InputRequired::new().with_input_requests(questions).with_request_state("sealed");
    /// assert!(required.input_requests.is_some());
    /// ```
    pub struct InputRequired {
        fixed {}
        required {}
        optional {
            /// The questions.
            input_requests (with_input_requests): Keyed<InputRequest> = "inputRequests";
            /// What the client must send back as it is.
            request_state (with_request_state): String = "requestState";
            /// Anything else.
            meta (with_meta): crate::capability::Settings = "_meta";
        }
        frame { "resultType" }
    }
}
