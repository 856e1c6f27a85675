//! Items that `macro_rules!` generates can be marked: names, types, texts and whole items may come from the macro's
//! caller.

use crate::support::{ask, call};
use serde_json::json;
use toolway::prelude::*;
use toolway::server::{CompletionRequest, ResourceError, Run};

macro_rules! doubled {
    ($name:ident, $argument:ident: $type:ty => $output:ty, $body:expr) => {
        /// Works on a value.
        #[tool]
        async fn $name(#[arg(description = "what to work on")] $argument: $type, ctx: &Ctx) -> $output {
            let _ = ctx.peer();
            $body
        }
    };
}
doubled!(double, number: i64 => i64, number * 2);
doubled!(shout, text: &str => Result<String, ToolError>, Ok(text.to_uppercase()));
doubled!(maybe, text: Option<String> => Option<Json<Vec<String>>>, text.map(|text| Json(vec![text])));

macro_rules! runs {
    ($mark:ident, $(($uri:literal),)? $name:ident { $($field:ident: $type:ty),* } => $output:ty, $body:expr) => {
        /// Runs.
        #[$mark $((uri = $uri))?]
        #[derive(serde::Deserialize, schemars::JsonSchema)]
        struct $name {
            $($field: $type),*
        }

        impl Run for $name {
            type Output = $output;

            async fn run(self, _: Ctx) -> $output {
                let run: fn(Self) -> $output = $body;
                run(self)
            }
        }
    };
}
runs!(tool, Add { a: i64, b: i64 } => i64, |add| add.a + add.b);
runs!(prompt, Praise { name: String } => String, |praise| format!("Praise {}.", praise.name));
runs!(resource, ("page://{number}"), Page { number: u8 } => Result<String, ResourceError>, |page| {
    Ok(format!("page {}", page.number))
});

macro_rules! told {
    ($name:ident, $argument:ident: $type:ty => $output:ty, $choices:expr, $default:expr) => {
        /// Tells something.
        #[prompt]
        fn $name(#[arg(complete = $choices, default = $default)] $argument: $type) -> $output {
            <$output>::from(format!("tell me {}", $argument))
        }
    };
}
told!(tell, what: &str => String, ["one", "two"], "all");

macro_rules! kept {
    ($name:ident, $uri:literal, $argument:ident: $type:ty => $output:ty) => {
        /// Keeps something.
        #[resource($uri)]
        async fn $name($argument: $type) -> $output {
            Some(format!("kept {}", $argument))
        }
    };
}
kept!(kept, "kept://{+place}", place: &str => Option<String>);

macro_rules! serves {
    ($service:ident { $method:ident, $argument:ident: $type:ty => $output:ty, $body:expr }) => {
        #[derive(Default)]
        struct $service;

        #[service]
        impl $service {
            /// A tool.
            #[tool]
            fn $method(&self, $argument: $type) -> $output {
                $body
            }

            /// A prompt.
            #[prompt]
            fn ask(&self, #[arg(complete = Self::choices)] $argument: $type) -> String {
                format!("ask {}", $argument)
            }

            /// A resource.
            #[resource("served://{id}")]
            fn served(&self, id: $type) -> Option<String> {
                Some(format!("served {id}"))
            }

            async fn choices(&self, typed: CompletionRequest) -> Vec<String> {
                typed.filter(["seven"])
            }
        }
    };
}
serves!(Served { echo, said: &str => String, said.to_owned() });

/// The items come from the caller, the attributes from the macro.
macro_rules! marked {
    ($($item:item)*) => { $(#[tool] $item)* };
}
marked! {
    /// Negates.
    fn negate(number: i64) -> i64 {
        -number
    }
}

/// The other way round: the block comes from the caller, the names in it from the macro.
macro_rules! constants {
    ($($name:ident = $value:literal;)*) => {$(
        #[doc = concat!("Gives ", stringify!($name))]
        #[tool(name = $value)]
        fn $name() -> &'static str {
            let __value = $value;
            __value
        }
    )*};
}
constants! { gives_one = "one"; gives_two = "two"; }

fn server() -> Server {
    Server::new("macros", "1")
        .tools(tools![double, shout, maybe, Add, negate, gives_one, gives_two])
        .prompts(prompts![Praise, tell])
        .resources(resources![Page, kept])
        .service(Served)
        .build()
        .expect("a server without mistakes")
}

#[tokio::test]
async fn tools_that_a_macro_writes_work() {
    let server = server();
    for (name, arguments, expected) in [
        ("double", json!({"number": 4}), "8"),
        ("shout", json!({"text": "hey"}), "HEY"),
        ("maybe", json!({"text": "x"}), "[\"x\"]"),
        ("add", json!({"a": 1, "b": 2}), "3"),
        ("negate", json!({"number": 1}), "-1"),
        ("one", json!({}), "one"),
        ("two", json!({}), "two"),
        ("echo", json!({"said": "yes"}), "yes"),
    ] {
        assert_eq!(call(&server, name, arguments).await, expected, "{name}");
    }
}

#[tokio::test]
async fn prompts_that_a_macro_writes_work() {
    let server = server();
    for (name, arguments, expected) in [
        ("praise", json!({"name": "Ann"}), "Praise Ann."),
        ("tell", json!({}), "tell me all"),
        ("ask", json!({"said": "why"}), "ask why"),
    ] {
        let got = ask(&server, "prompts/get", json!({"name": name, "arguments": arguments})).await;
        assert_eq!(got["messages"][0]["content"]["text"], expected, "{name}");
    }
}

#[tokio::test]
async fn resources_that_a_macro_writes_work() {
    let server = server();
    assert_eq!((kept::uri("a/b"), Served::served_uri(1)), ("kept://a/b".into(), "served://1".into()));
    for (uri, expected) in [("page://7", "page 7"), ("kept://a/b", "kept a/b"), ("served://1", "served 1")] {
        let got = ask(&server, "resources/read", json!({"uri": uri})).await;
        assert_eq!(got["contents"][0]["text"], expected, "{uri}");
    }
}
