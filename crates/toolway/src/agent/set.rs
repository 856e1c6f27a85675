//! Which tools does a model have, and how are its calls made?

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use toolway_protocol::RawJson;
use toolway_schema::Schema;
use toolway_schema::dialects::Provider;

use super::answer::ToolAnswer;
use super::call::ToolCall;
use super::failure::ToolFailure;
use super::join::join_all;
use super::name::ProviderNames;
use super::output::ToolOutput;
use super::tool::{AgentTool, RenamedTool};
use crate::closest::closest;
use crate::ground::panic;

/// A list of tools for a model: functions of this program and tools of servers. Cloning it is cheap.
///
/// No tool hides another. A tool whose name is already taken gets a new name with a number, such as `search_2`, and is
/// called by the new name. [`renamed`](ToolSet::renamed) lists the renamed tools. [`try_with`](ToolSet::try_with)
/// returns an error instead of renaming the tool.
///
/// ```
/// use serde_json::json;
/// use toolway::agent::{self, AgentTool, ToolCall, ToolSet};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let schema = || json!({"type": "object"});
/// let here = agent::native_tool("search", "Search the notes.", schema(), async |_: serde_json::Value| "a note");
/// let there = agent::native_tool("search", "Search the web.", schema(), async |_: serde_json::Value| "a page");
/// let tools = ToolSet::new().with(here).with(there);
/// let names: Vec<_> = tools.iter().map(|tool| tool.name()).collect();
/// assert_eq!(names, ["search", "search_2"]);
///
/// let answer = tools.call(ToolCall::new("1", "search_2", json!({}))).await;
/// assert_eq!(answer.result?.text(), "a page");
/// # Ok::<(), toolway::agent::ToolFailure>(()) }).unwrap();
/// ```
#[derive(Clone, Default)]
pub struct ToolSet(Arc<Inner>);

#[derive(Clone, Default)]
struct Inner {
    tools: Vec<ToolSlot>,
    /// The index of each tool, by its own name.
    index_by_name: HashMap<String, usize>,
    renamed: Vec<DuplicateName>,
    /// The number in the last new name, by the name that was taken. Lower numbers are not tried again: a server may list
    /// thousands of tools with one name.
    last_number: HashMap<String, usize>,
    names: OnceLock<ProviderNames>,
}

#[derive(Clone)]
struct ToolSlot {
    tool: Arc<dyn AgentTool>,
    /// The parsed schema, initialised at the first use.
    schema: Arc<OnceLock<Schema>>,
}

/// A tool whose name was already taken.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DuplicateName {
    /// The original name of the tool.
    pub name: String,
    /// The new name of the tool in the list. In an error of [`try_with`](ToolSet::try_with): a name that is still free.
    pub new_name: String,
}

impl fmt::Display for DuplicateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is a tool `{}` already; a free name is `{}`", self.name, self.new_name)
    }
}

impl std::error::Error for DuplicateName {}

impl ToolSet {
    /// Creates an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool. If its name is taken, the tool gets a new name.
    pub fn with(mut self, tool: impl AgentTool) -> Self {
        self.push(Arc::new(tool));
        self
    }

    /// Adds a tool, or returns an error if its name is taken.
    ///
    /// ```
    /// use toolway::agent::{self, ToolSet};
    ///
    /// let tool = || agent::native_tool("add", "Add.", serde_json::json!({"type": "object"}), async |_: serde_json::Value| "5");
    /// let tools = ToolSet::new().try_with(tool())?;
    /// assert_eq!(tools.try_with(tool()).unwrap_err().name, "add");
    /// # Ok::<(), agent::DuplicateName>(())
    /// ```
    pub fn try_with(self, tool: impl AgentTool) -> Result<Self, DuplicateName> {
        let name = tool.name();
        if self.0.index_by_name.contains_key(name) {
            return Err(DuplicateName { name: name.to_owned(), new_name: self.0.free_name(name).0 });
        }
        Ok(self.with(tool))
    }

    /// Returns the same tools with the names `prefix__name`.
    ///
    /// ```
    /// use toolway::agent::{self, ToolSet};
    ///
    /// let read = agent::native_tool("read", "Read.", serde_json::json!({"type": "object"}), async |_: serde_json::Value| "text");
    /// let tools = ToolSet::new().with(read).prefixed("files");
    /// assert!(tools.get("files__read").is_some());
    /// ```
    pub fn prefixed(&self, prefix: &str) -> Self {
        let tools = self.iter();
        tools
            .map(|tool| RenamedTool { name: format!("{prefix}__{}", tool.name()), tool: Arc::clone(tool) })
            .collect()
    }

    /// Returns the tools, in the order in which they were added.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<dyn AgentTool>> + DoubleEndedIterator + Clone {
        self.0.tools.iter().map(|entry| &entry.tool)
    }

    /// Returns the tool with this name, which may be its own name or its name for a provider.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn AgentTool>> {
        self.find(name).map(|index| &self.0.tools[index].tool)
    }

    /// Returns the number of tools.
    pub fn len(&self) -> usize {
        self.0.tools.len()
    }

    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.tools.is_empty()
    }

    /// Returns the tools that were renamed because their names were taken.
    pub fn renamed(&self) -> &[DuplicateName] {
        &self.0.renamed
    }

    /// Returns the name of a tool for a provider. If the provider allows the tool's own name, returns that. Returns
    /// `None` if the tool does not exist.
    ///
    /// ```
    /// use toolway::agent::{self, Provider, ToolSet};
    ///
    /// let read = agent::native_tool("files.read", "Read.", serde_json::json!({"type": "object"}), async |_: serde_json::Value| "text");
    /// let tools = ToolSet::new().with(read);
    /// assert_eq!(tools.name_for(Provider::Gemini, "files.read"), Some("files.read"));
    /// let name = tools.name_for(Provider::OpenAi, "files.read").unwrap();
    /// assert!(name.starts_with("files_read_"));
    /// assert_eq!(tools.get(name).unwrap().name(), "files.read");
    /// ```
    pub fn name_for(&self, provider: Provider, tool: &str) -> Option<&str> {
        let index = self.find(tool)?;
        Some(self.name_of(provider, index))
    }

    /// Makes one call. A failure is part of the answer.
    pub async fn call(&self, call: ToolCall) -> ToolAnswer {
        let result = self.try_call(&call).await.map_err(|failure| failure.of_tool(&call.name));
        call.answer(result)
    }

    /// Makes the calls concurrently, and returns the answers in the order of the calls. If a tool fails, panics or does
    /// not exist, only the answer to its own call is affected.
    ///
    /// # Cancellation
    ///
    /// Dropping the future cancels all calls that have not completed. The calls run in one task: a tool that blocks its
    /// thread delays the others.
    pub async fn call_all(&self, calls: impl IntoIterator<Item = ToolCall>) -> Vec<ToolAnswer> {
        join_all(calls.into_iter().map(|call| self.call(call))).await
    }

    async fn try_call(&self, call: &ToolCall) -> Result<ToolOutput, ToolFailure> {
        let Some(index) = self.find(&call.name) else {
            let meant = closest(&call.name, self.names().all());
            return Err(ToolFailure::unknown(&call.name, meant));
        };
        let arguments = call.arguments().map_err(ToolFailure::invalid)?;
        // Reverse the changes that were made to the schema for the provider. Arguments that need no change keep their
        // exact text, for example every digit of a number.
        let restored = self.schema_of(index).restore(arguments.as_str());
        let restored = restored.and_then(|restored| RawJson::parse(&restored).ok());
        let arguments = restored.unwrap_or_else(|| arguments.clone());
        panic::catch_panic_async(|| self.0.tools[index].tool.call(arguments))
            .await
            .unwrap_or_else(|panic| Err(ToolFailure::panicked(&call.name, panic)))
    }

    fn push(&mut self, tool: Arc<dyn AgentTool>) {
        let inner = Arc::make_mut(&mut self.0);
        let name = tool.name().to_owned();
        let tool = if inner.index_by_name.contains_key(&name) {
            let (now, number) = inner.free_name(&name);
            inner.last_number.insert(name.clone(), number);
            inner.renamed.push(DuplicateName { name, new_name: now.clone() });
            Arc::new(RenamedTool { name: now, tool })
        } else {
            tool
        };
        inner.index_by_name.insert(tool.name().to_owned(), inner.tools.len());
        inner.tools.push(ToolSlot { tool, schema: Arc::default() });
        inner.names = OnceLock::new();
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.0.index_by_name.get(name).copied().or_else(|| self.names().find(name))
    }

    /// Returns the schema of a tool. An invalid schema is treated as empty.
    pub(super) fn schema_of(&self, index: usize) -> &Schema {
        let ToolSlot { tool, schema } = &self.0.tools[index];
        schema.get_or_init(|| Schema::of(&tool.input_schema().decode().unwrap_or_default()))
    }

    /// Returns the name of a tool for a provider.
    pub(super) fn name_of(&self, provider: Provider, index: usize) -> &str {
        self.names().changed(provider, index).unwrap_or_else(|| self.0.tools[index].tool.name())
    }

    fn names(&self) -> &ProviderNames {
        self.0.names.get_or_init(|| ProviderNames::of(self.iter().map(AgentTool::name)))
    }
}

impl Inner {
    /// Returns a name that no tool has yet, `name` with a number appended, and the number.
    fn free_name(&self, name: &str) -> (String, usize) {
        let first = self.last_number.get(name).map_or(2, |last| last + 1);
        // Each tool takes at most one of these names, and there are more names than tools, so one is free.
        let mut numbered =
            (first..=first + self.tools.len()).map(|number| (format!("{name}_{number}"), number));
        numbered
            .find(|(name, _)| !self.index_by_name.contains_key(name))
            .expect("there are fewer tools than numbers")
    }
}

impl<T: AgentTool> Extend<T> for ToolSet {
    fn extend<I: IntoIterator<Item = T>>(&mut self, tools: I) {
        for tool in tools {
            self.push(Arc::new(tool));
        }
    }
}

impl<T: AgentTool> FromIterator<T> for ToolSet {
    fn from_iter<I: IntoIterator<Item = T>>(tools: I) -> Self {
        let mut set = Self::new();
        set.extend(tools);
        set
    }
}

/// Iterates over the tools, for example to add them to another list.
impl IntoIterator for ToolSet {
    type Item = Arc<dyn AgentTool>;
    type IntoIter = std::vec::IntoIter<Arc<dyn AgentTool>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter().cloned().collect::<Vec<_>>().into_iter()
    }
}

impl IntoIterator for &ToolSet {
    type Item = Arc<dyn AgentTool>;
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter().cloned().collect::<Vec<_>>().into_iter()
    }
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(AgentTool::name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::{Value, json};
    use tokio::sync::Barrier;

    use super::*;
    use crate::agent::{FailureKind, native_tool};

    /// Creates a tool that returns its arguments.
    fn echo(name: &str, schema: Value) -> impl AgentTool {
        native_tool(name, "Gives its arguments back.", schema, async |arguments: RawJson| {
            arguments.as_str().to_owned()
        })
    }

    fn open() -> Value {
        json!({"type": "object"})
    }

    #[test]
    fn no_tool_hides_another() {
        let mut tools = ToolSet::new();
        tools.extend(["a", "a_2", "a", "a", "b"].map(|name| echo(name, open())));
        let names: Vec<_> = tools.iter().map(AgentTool::name).collect();
        assert_eq!(names, ["a", "a_2", "a_3", "a_4", "b"]);
        let renamed: Vec<_> =
            tools.renamed().iter().map(|renamed| (&*renamed.name, &*renamed.new_name)).collect();
        assert_eq!(renamed, [("a", "a_3"), ("a", "a_4")]);
        let told = tools.for_anthropic().losses;
        assert_eq!(
            told[0].to_string(),
            "the tool `a_3`: `name` at `#` is lost: another tool is called `a`, so this one is called `a_3`"
        );
        let before = tools.clone();
        assert_eq!(tools.try_with(echo("a", open())).unwrap_err().new_name, "a_5");
        assert_eq!(before.len(), 5);
    }

    #[test]
    fn a_copy_is_a_list_of_its_own() {
        let one = ToolSet::new().with(echo("a", open()));
        let two = one.clone().with(echo("b", open()));
        assert_eq!((one.len(), two.len()), (1, 2));
        let mut both: ToolSet = (&one).into_iter().collect();
        both.extend(&two.prefixed("more"));
        assert_eq!(format!("{both:?}"), "{\"a\", \"more__a\", \"more__b\"}");
        assert!(!both.is_empty() && ToolSet::new().is_empty());
    }

    #[tokio::test]
    async fn tools_are_called_by_their_own_name_and_by_any_providers() {
        let names = ["files.read", "files/read", "größe", "plain"];
        let tools: ToolSet = names.map(|name| echo(name, open())).into_iter().collect();
        for name in names {
            for provider in Provider::ALL {
                let theirs = tools.name_for(provider, name).unwrap();
                assert!(provider.accepts_name(theirs));
                assert_eq!(tools.get(theirs).unwrap().name(), name);
                let answer = tools.call(ToolCall::new("1", theirs, json!({"x": 1}))).await;
                assert_eq!((&*answer.name, &*answer.result.unwrap().text()), (theirs, "{\"x\":1}"));
            }
        }
        assert_eq!(tools.name_for(Provider::OpenAi, "nobody"), None);
    }

    #[tokio::test]
    async fn calls_run_at_the_same_time_and_are_answered_in_their_order() {
        // Each call waits for all others.
        let barrier = Arc::new(Barrier::new(10));
        let meet = native_tool("meet", "Wait for the others.", open(), move |arguments: Value| {
            let barrier = Arc::clone(&barrier);
            async move {
                barrier.wait().await;
                arguments["who"].to_string()
            }
        });
        let calls = (0..10).map(|who| ToolCall::new(format!("call {who}"), "meet", json!({"who": who})));
        let answers = ToolSet::new().with(meet).call_all(calls).await;
        for (who, answer) in answers.iter().enumerate() {
            assert_eq!(answer.id, format!("call {who}"));
            assert_eq!(answer.result.as_ref().unwrap().text(), who.to_string());
        }
    }

    #[tokio::test]
    async fn a_panic_is_one_failure() {
        let early =
            native_tool("early", "", open(), |_: Value| -> std::future::Ready<String> { panic!("secret 1") });
        let late = native_tool("late", "", open(), async |_: Value| -> String { panic!("secret 2") });
        let tools = ToolSet::new().with(early).with(late).with(echo("echo", open()));
        let calls = ["early", "late", "echo"].map(|name| ToolCall::new(name, name, json!({})));
        let answers = tools.call_all(calls).await;
        for answer in &answers[..2] {
            let failure = answer.result.as_ref().unwrap_err();
            assert_eq!(failure.kind(), FailureKind::Failed);
            assert_eq!(failure.for_model(), format!("the tool `{}` failed unexpectedly", answer.name));
            assert!(format!("{failure:?}").contains("secret"), "the program can know why");
        }
        assert_eq!(answers[2].result.as_ref().unwrap().text(), "{}");
    }

    #[tokio::test]
    async fn dropping_a_call_gives_it_up() {
        struct Guard(Arc<AtomicUsize>);
        impl Drop for Guard {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        let running = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&running);
        let wait = native_tool("wait", "", open(), move |_: Value| {
            counted.fetch_add(1, Ordering::Relaxed);
            let guard = Guard(Arc::clone(&counted));
            async move {
                std::future::pending::<()>().await;
                drop(guard);
            }
        });
        let tools = ToolSet::new().with(wait);
        let mut calls =
            Box::pin(tools.call_all((0..5).map(|id| ToolCall::new(id.to_string(), "wait", json!({})))));
        let polled =
            std::future::poll_fn(|cx| std::task::Poll::Ready(calls.as_mut().poll(cx).is_ready())).await;
        assert!(!polled);
        assert_eq!(running.load(Ordering::Relaxed), 5);
        drop(calls);
        assert_eq!(running.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn arguments_become_those_that_the_tool_takes_and_stay_text_otherwise() {
        let schema = json!({
            "type": "object",
            "properties": {"id": {"type": "integer"}, "note": {"type": "string"}, "map": {"type": "object"}, "a b": {}},
            "required": ["id"],
        });
        let tools = ToolSet::new().with(echo("echo", schema));
        let odd = tools.for_anthropic().tools[0]["input_schema"]["properties"].clone();
        let odd = odd.as_object().unwrap().keys().find(|name| name.starts_with("a_b")).unwrap().clone();
        for (sent, received) in [
            (r#"{"id": 1, "note": null}"#.to_owned(), r#"{"id":1}"#),
            (r#"{"id": 1, "map": "{\"x\": 1}"}"#.to_owned(), r#"{"id":1,"map":{"x": 1}}"#),
            (format!(r#"{{"id": 1, "{odd}": 2}}"#), r#"{"id":1,"a b":2}"#),
            (
                r#"{"id": 12345678901234567890123, "note": null}"#.to_owned(),
                r#"{"id":12345678901234567890123}"#,
            ),
            // The number has more digits than a float can hold, and there are extra spaces: the text must stay
            // unchanged.
            (
                r#"{"id": 12345678901234567890123, "x":  1.10}"#.to_owned(),
                r#"{"id": 12345678901234567890123, "x":  1.10}"#,
            ),
        ] {
            let call = ToolCall::new("1", "echo", RawJson::parse(&sent).unwrap());
            assert_eq!(tools.call(call).await.result.unwrap().text(), received);
        }
    }

    #[tokio::test]
    async fn a_schema_that_cannot_be_read_stops_nobody() {
        let schema = RawJson::from((0..200).fold(json!({}), |inner, _| json!({"items": inner})));
        let odd = native_tool("odd", "", schema, async |_: Value| "fine");
        let tools = ToolSet::new().with(odd).with(echo("echo", json!("no schema")));
        for rendered in
            [tools.for_openai(), tools.for_openai_strict(), tools.for_anthropic(), tools.for_gemini()]
        {
            assert!(rendered.losses.iter().any(|loss| loss.tool == "odd"), "{rendered:?}");
            assert!(rendered.losses.iter().any(|loss| loss.tool == "echo"), "{rendered:?}");
        }
        assert_eq!(tools.call(ToolCall::new("1", "odd", json!({}))).await.result.unwrap().text(), "fine");
    }
}
