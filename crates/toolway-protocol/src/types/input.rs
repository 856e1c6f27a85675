//! Questions and answers of a request that needs several rounds (stateless era).

use serde::de::{self, Deserialize, DeserializeOwned, Deserializer};

use super::{CreateMessage, CreateMessageResult, Elicit, ElicitResult, ListRootsResult, Told};
use crate::capability::ClientCapabilities;
use crate::json::{Encode, Encoder, Keyed, RawJson};
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
        /// Something that the client is asked before a request can be answered. It is no JSON-RPC message: it has a
        /// method and parameters, but no id.
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
            /// The method that stands for this question.
            pub fn method(&self) -> Method {
                match self {
                    $(Self::$variant(_) => Method::$variant,)*
                }
            }

            /// Reads a request of a server that is a question. `Ok(None)`: it is not one, or one of a kind that the
            /// client did not declare.
            ///
            /// # Errors
            ///
            /// The parameters are not those of the method.
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

            /// Reads a question that is a part of a result. `Ok(None)`: no client is asked that.
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
        pub enum InputResponse {
            $(
                #[doc = concat!("What `", $name, "` gives back.")]
                $variant($answer),
            )*
        }

        impl InputResponse {
            /// Reads the answer to `question`.
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
        let question = Question::deserialize(deserializer)?;
        let method = Method::from_name(&question.method);
        Self::of_parts(&method, question.params.as_ref()).map_err(de::Error::custom)?.ok_or_else(|| {
            de::Error::custom(format_args!("`{}` is no question to a client", question.method))
        })
    }
}

/// The parameters of a question, which may be missing.
trait AskedParams: Sized {
    /// What is written of them.
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
    /// A question whose kind is not known yet.
    ///
    /// ```
    /// use toolway_protocol::types::Question;
    ///
    /// assert_eq!(Question::new("roots/list").method, "roots/list");
    /// ```
    pub struct Question {
        /// Its kind.
        method: String = "method";
        /// Its parameters.
        params (with_params): Option<RawJson> = "params";
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
        /// The questions.
        input_requests (with_input_requests): Option<Keyed<InputRequest>> = "inputRequests";
        /// What the client must send back as it is.
        request_state (with_request_state): Option<String> = "requestState";
        /// Anything else.
        meta (with_meta): Option<crate::capability::Settings> = "_meta";
        frame "resultType";
    }
}
