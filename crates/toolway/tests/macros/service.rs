//! What `#[service]` makes of an `impl` block, tested through a server.

use std::sync::Mutex;

use crate::support::{ask, call};
use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::{CompletionRequest, Message, user};
use toolway::types::Completion;

#[derive(Default)]
struct Notes {
    saved: Mutex<Vec<String>>,
}

#[service]
impl Notes {
    const FOLDER: &str = "general";

    /// Save a note.
    #[tool(title = "Save note", idempotent)]
    async fn save(
        &self,
        /// What to save.
        #[arg(min_length = 1)]
        title: String,
        #[arg(default = Self::FOLDER)] folder: &str,
    ) -> Result<Json<usize>, ToolError> {
        let mut saved = self.saved.lock().expect("nobody panics");
        saved.push(format!("{folder}/{title}"));
        Ok(Json(saved.len()))
    }

    /// How many there are.
    #[toolway::tool(blocking)]
    fn count(&self) -> usize {
        self.len()
    }

    #[tool]
    fn version() -> &'static str {
        "1"
    }

    #[cfg(any())]
    #[tool]
    fn absent(&self, nothing: NoSuchType) {}

    fn len(&self) -> usize {
        self.saved.lock().expect("nobody panics").len()
    }

    #[resource(uri = "notes://index")]
    async fn index(&self) -> Json<Vec<String>> {
        Json(self.saved.lock().expect("nobody panics").clone())
    }

    #[resource(uri = "notes://{id}/{section}")]
    async fn note(&self, id: usize, section: String) -> Option<String> {
        self.saved.lock().expect("nobody panics").get(id).map(|note| format!("{note}#{section}"))
    }

    /// Review a note.
    #[prompt]
    fn review(
        &self,
        #[arg(complete = ["casual", "formal"])] style: String,
        #[arg(complete = Self::titles)] title: String,
        #[arg(complete = Self::levels)] level: Option<u8>,
    ) -> Vec<Message> {
        vec![user(format!("Review {title} in a {style} style {level:?} {}", self.len()))]
    }

    async fn titles(&self, typed: &CompletionRequest, ctx: &Ctx) -> Completion {
        let _ = ctx;
        Completion::new(typed.filter(self.saved.lock().expect("nobody panics").iter()))
    }

    fn levels() -> Vec<&'static str> {
        vec!["1", "2"]
    }
}

#[tokio::test]
async fn a_service_offers_its_marked_methods_in_their_order() {
    let server = Server::new("notes", "1").service(Notes::default()).build().unwrap();
    let tools = ask(&server, "tools/list", json!({})).await["tools"].take();
    let names: Vec<_> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["save", "count", "version"]);
    assert_eq!(tools[0]["inputSchema"]["properties"]["folder"]["default"], "general");
    assert_eq!(call(&server, "save", json!({"title": "a"})).await, "1");
    assert_eq!(call(&server, "save", json!({"title": "b", "folder": "x"})).await, "2");
    assert_eq!(call(&server, "count", json!({})).await, "2");
    assert_eq!(call(&server, "version", json!({})).await, "1");
    let read = async |uri: String| {
        ask(&server, "resources/read", json!({"uri": uri})).await["contents"][0]["text"].take()
    };
    assert_eq!(read(Notes::index_uri()).await, r#"["general/a","x/b"]"#);
    assert_eq!(read(Notes::note_uri(1, "body")).await, "x/b#body");
    let params = json!({"name": "review", "arguments": {"style": "formal", "title": "a"}});
    let text = ask(&server, "prompts/get", params).await["messages"][0]["content"]["text"].take();
    assert_eq!(text, "Review a in a formal style None 2");
}

#[tokio::test]
async fn methods_complete_arguments() {
    let server = Server::new("notes", "1").service(Notes::default()).build().unwrap();
    call(&server, "save", json!({"title": "a"})).await;
    let completed = async |name: &str, value: &str| {
        let params = json!({"ref": {"type": "ref/prompt", "name": "review"}, "argument": {"name": name, "value": value}});
        ask(&server, "completion/complete", params).await["completion"]["values"].take()
    };
    assert_eq!(completed("style", "c").await, json!(["casual"]));
    assert_eq!(completed("title", "gen").await, json!(["general/a"]));
    assert_eq!(completed("level", "").await, json!(["1", "2"]));
}

#[tokio::test]
async fn the_methods_stay_methods() {
    let notes = Notes::default();
    assert_eq!(notes.save("a".to_owned(), "b").await.unwrap().0, 1);
    assert_eq!(notes.count(), 1);
}

trait Db: Send + Sync + 'static {
    type Key: serde::de::DeserializeOwned + schemars::JsonSchema + std::fmt::Display + Send;

    fn get(&self, key: &Self::Key) -> String;

    fn name(&self) -> &'static str;
}

struct Store<D, const N: usize>(D);

#[service]
impl<D, const N: usize> Store<D, N>
where
    D: Db,
{
    /// Get a value.
    #[tool]
    async fn get(&self, key: D::Key, shared: State<D>, #[arg(maximum = 9)] times: u8) -> Value {
        let _ = shared;
        json!({"value": self.0.get(&key).repeat(times.into()), "n": N})
    }

    #[resource(uri = "store://{key}")]
    fn read(&self, key: D::Key) -> String {
        self.0.get(&key)
    }

    #[prompt]
    fn ask(&self, #[arg(complete = Self::keys)] key: D::Key) -> String {
        format!("{key}{}?", self.0.get(&key))
    }

    fn keys(&self, typed: CompletionRequest) -> Vec<String> {
        typed.filter(["one", "two"].iter().take(N).chain([&self.0.name()]))
    }
}

struct Echo;

impl Db for Echo {
    type Key = String;

    fn get(&self, key: &String) -> String {
        key.clone()
    }

    fn name(&self) -> &'static str {
        "echo"
    }
}

#[tokio::test]
async fn a_service_may_be_generic() {
    let server = Server::new("t", "1").state(Echo).service(Store::<Echo, 3>(Echo)).build().unwrap();
    assert_eq!(call(&server, "get", json!({"key": "a", "times": 2})).await, r#"{"n":3,"value":"aa"}"#);
    assert_eq!(Store::<Echo, 3>::read_uri("a/b"), "store://a%2Fb");
    let params =
        json!({"ref": {"type": "ref/prompt", "name": "ask"}, "argument": {"name": "key", "value": "t"}});
    assert_eq!(ask(&server, "completion/complete", params).await["completion"]["values"], json!(["two"]));
}

struct Scales {
    place: &'static str,
}

#[service]
impl Scales {
    /// Weighs.
    #[tool]
    fn weigh(
        &self,
        #[cfg(test)] grams: u32,
        #[cfg(any())] ounces: NoSuchType,
        State(unit): State<&'static str>,
    ) -> String {
        format!("{grams} {unit} in the {}", self.place)
    }

    #[prompt]
    fn ask(&self, #[cfg(any())] what: NoSuchType, State(unit): State<&'static str>) -> String {
        format!("weigh it in the {} in {unit}", self.place)
    }

    #[resource("scales://{id}")]
    fn scale(&self, id: u8, #[cfg(any())] what: NoSuchType, State(unit): State<&'static str>) -> String {
        format!("{id} {unit} {}", self.place)
    }
}

#[tokio::test]
async fn methods_have_conditions_and_take_states_apart() {
    let server =
        Server::new("t", "1").state("g").service(Scales { place: "shop" }).build().expect("a server");
    assert_eq!(call(&server, "weigh", json!({"grams": 3})).await, "3 g in the shop");
    let prompt = ask(&server, "prompts/get", json!({"name": "ask"})).await;
    assert_eq!(prompt["messages"][0]["content"]["text"], "weigh it in the shop in g");
    let read = ask(&server, "resources/read", json!({"uri": "scales://7"})).await;
    assert_eq!(read["contents"][0]["text"], "7 g shop");
    assert_eq!(Scales::scale_uri(7), "scales://7");
}
