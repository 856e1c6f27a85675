//! Questions that a server returns instead of a result, and the client's answers (stateless era). The client sends the
//! request again with the answers.

use serde::de::{self, Deserialize, DeserializeOwned, Deserializer};

use super::{CreateMessage, CreateMessageResult, Elicit, ElicitResult, EmptyParams, ListRootsResult};
use crate::capability::ClientCapabilities;
use crate::json::{Encode, Encoder, OrderedMap, RawJson};
use crate::jsonrpc::{Params, RpcError};
use crate::method::{Method, methods};
use crate::wire::wire;

macro_rules! question {
    (
        requests {$($(#[$request_doc:meta])* $request:ident $request_row:tt)*}
        conversation {$($(#[$conversation_doc:meta])* $conversation:ident $conversation_row:tt)*}
        questions {$(
            $(#[doc = $doc:literal])* $variant:ident {
                $name:literal: ($params:ty) -> $answer:ty, $first:ident..=$last:ident, needs $capability:ident
            }
        )*}
        notifications {$($(#[$notification_doc:meta])* $notification:ident $notification_row:tt)*}
    ) => {
        /// A question that the client must answer before the server can complete a request. It is not a JSON-RPC
        /// message: it has a method and parameters, but no id.
        ///
        /// ```
        /// use toolway_protocol::types::InputRequest;
        ///
        /// assert_eq!(InputRequest::ListRoots(None).method().name(), "roots/list");
        /// ```
        #[derive(Debug, Clone, PartialEq)]
        pub enum InputRequest {
            $($(#[doc = $doc])* $variant($params),)*
        }

        impl InputRequest {
            /// Returns the method that names the kind of the question.
            pub fn method(&self) -> Method {
                match self {
                    $(Self::$variant(_) => Method::$variant,)*
                }
            }

            /// Reads a question from a request of a server. Returns `Ok(None)` if the request is not a question, or
            /// if the client did not declare the capability for it.
            ///
            /// # Errors
            ///
            /// The parameters do not fit the method.
            pub fn of_request(
                method: &Method,
                params: &Params,
                declared: &ClientCapabilities,
            ) -> Result<Option<Self>, RpcError> {
                match method {
                    $(Method::$variant if declared.$capability.is_some() => {
                        params.decode().map(Self::$variant).map(Some)
                    })*
                    $(Method::$variant)|* => Ok(None),
                    $(Method::$request)|* | $(Method::$conversation)|* | $(Method::$notification)|* | Method::Other(_) => {
                        Ok(None)
                    }
                }
            }

            /// Reads a question that is a part of a result. Returns `Ok(None)` if the method is not a question.
            fn of_parts(method: &Method, params: Option<&RawJson>) -> Result<Option<Self>, serde_json::Error> {
                Ok(Some(match method {
                    $(Method::$variant => Self::$variant(AskedParams::read(params)?),)*
                    $(Method::$request)|* | $(Method::$conversation)|* | $(Method::$notification)|* | Method::Other(_) => {
                        return Ok(None);
                    }
                }))
            }
        }

        impl Encode for InputRequest {
            fn encode(&self, to: &mut Encoder<'_>) {
                to.object(|members| {
                    members.put("method", self.method().name());
                    match self {
                        $(Self::$variant(params) => members.maybe("params", params.written()),)*
                    }
                });
            }
        }

        /// The client's answer to one question. The type of the answer follows from the question.
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
        pub enum InputResponse {
            $(
                #[doc = concat!("The answer to `", $name, "`.")]
                $variant($answer),
            )*
        }

        impl InputResponse {
            /// Decodes the answer to `question`.
            pub fn decode(question: &InputRequest, answer: &RawJson) -> Result<Self, serde_json::Error> {
                match question {
                    $(InputRequest::$variant(_) => answer.decode().map(Self::$variant),)*
                }
            }
        }

        impl Encode for InputResponse {
            fn encode(&self, to: &mut Encoder<'_>) {
                match self {
                    $(Self::$variant(answer) => answer.encode(to),)*
                }
            }
        }
    };
}
methods!(question);

impl<'de> Deserialize<'de> for InputRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let question = RawInputRequest::deserialize(deserializer)?;
        let method = Method::from_name(&question.method);
        Self::of_parts(&method, question.params.as_ref()).map_err(de::Error::custom)?.ok_or_else(|| {
            de::Error::custom(format_args!("`{}` is not a request to a client", question.method))
        })
    }
}

/// The parameters of a question. They may be missing.
trait AskedParams: Sized {
    /// The type that is written as JSON.
    type Written: Encode;

    fn read(params: Option<&RawJson>) -> Result<Self, serde_json::Error>;

    fn written(&self) -> Option<&Self::Written>;
}

impl<T: DeserializeOwned + Encode> AskedParams for Option<T> {
    type Written = T;

    fn read(params: Option<&RawJson>) -> Result<Self, serde_json::Error> {
        params.map(RawJson::decode).transpose()
    }

    fn written(&self) -> Option<&T> {
        self.as_ref()
    }
}

macro_rules! asked_always {
    ($($type:ty),*) => {$(
        impl AskedParams for $type {
            type Written = Self;

            fn read(params: Option<&RawJson>) -> Result<Self, serde_json::Error> {
                params.ok_or_else(|| de::Error::missing_field("params"))?.decode()
            }

            fn written(&self) -> Option<&Self> {
                Some(self)
            }
        }
    )*};
}
asked_always!(Elicit, Box<CreateMessage>);

wire! {
    /// A question before its kind is known: the method is a name, and the parameters are text.
    ///
    /// ```
    /// use toolway_protocol::types::RawInputRequest;
    ///
    /// assert_eq!(RawInputRequest::new("roots/list").method, "roots/list");
    /// ```
    pub struct RawInputRequest {
        /// The method that names the kind of the question.
        method: String = "method";
        /// The parameters of the question.
        params (with_params): Option<RawJson> = "params";
    }
}

wire! {
    /// The questions that a server returns instead of a result.
    ///
    /// ```
    /// use toolway_protocol::types::{InputRequest, InputRequired, OrderedMap};
    ///
    /// let questions = OrderedMap::from(vec![("roots".to_owned(), InputRequest::ListRoots(None))]);
    /// let required = InputRequired::new().with_input_requests(questions).with_request_state("sealed");
    /// assert!(required.input_requests.is_some());
    /// ```
    pub struct InputRequired {
        /// The questions.
        input_requests (with_input_requests): Option<OrderedMap<InputRequest>> = "inputRequests";
        /// The state that the client must send back unchanged.
        request_state (with_request_state): Option<String> = "requestState";
        /// Additional metadata.
        meta (with_meta): Option<crate::capability::JsonObject> = "_meta";
        frame "resultType";
    }
}
