//! Which questions does the suite want to be asked?

use toolway::Form;
use toolway::prelude::*;
use toolway::server::{PromptEntry, PromptError, ToolEntry};
use toolway::types::{
    Choice, Choices, Content, CreateMessage, CreateMessageResult, Field, FieldKind, Fields, FormSchema, Role,
    SamplingMessage,
};

/// Every tool that asks a question.
pub(super) fn tools() -> Vec<ToolEntry> {
    tools![
        test_sampling,
        test_elicitation,
        test_elicitation_sep1034_defaults,
        test_elicitation_sep1330_enums,
        test_missing_capability,
        test_streaming_elicitation,
        test_input_required_result_elicitation,
        test_input_required_result_sampling,
        test_input_required_result_list_roots,
        test_input_required_result_request_state,
        test_input_required_result_multiple_inputs,
        test_input_required_result_multi_round,
        test_input_required_result_tampered_state,
        test_input_required_result_capabilities,
    ]
}

/// Every prompt that asks a question.
pub(super) fn prompts() -> Vec<PromptEntry> {
    prompts![test_input_required_result_prompt]
}

/// A sampling request with a short answer.
fn short(text: &str) -> CreateMessage {
    CreateMessage::new(vec![SamplingMessage::new(Role::User, Content::text(text))], 100)
}

fn said(result: &CreateMessageResult) -> String {
    result.content.as_slice().iter().filter_map(Content::as_text).collect()
}

/// Asks the model of the client.
#[tool]
async fn test_sampling(prompt: &str, ctx: Ctx) -> Result<String, ToolError> {
    let answer = ctx.sample(short(prompt)).await?;
    Ok(format!("LLM response: {}", said(&answer)))
}

#[derive(Form)]
struct Person {
    /// A name to be known by.
    username: String,
    /// Where to write to.
    email: String,
}

/// Asks the user.
#[tool]
async fn test_elicitation(message: &str, ctx: Ctx) -> Result<String, ToolError> {
    let Person { username, email } = ctx.ask(message).await?;
    Ok(format!("User response: {username}, {email}"))
}

#[derive(Form)]
enum Status {
    #[form(rename = "active")]
    Active,
    #[form(rename = "inactive")]
    Inactive,
    #[form(rename = "pending")]
    Pending,
}

#[derive(Form)]
struct Defaults {
    #[form(default = "John Doe")]
    name: String,
    #[form(default = 30)]
    age: i64,
    #[form(default = 95.5)]
    score: f64,
    #[form(default = Status::Active)]
    status: Status,
    #[form(default = true)]
    verified: bool,
}

/// Asks with everything filled in beforehand.
#[tool]
async fn test_elicitation_sep1034_defaults(ctx: Ctx) -> Result<String, ToolError> {
    let Defaults { name, age, score, status, verified } = ctx.ask("Is this right?").await?;
    let status = match status {
        Status::Active => "active",
        Status::Inactive => "inactive",
        Status::Pending => "pending",
    };
    Ok(format!("{name}, {age}, {score}, {status}, {verified}"))
}

/// Asks for every kind of choice.
#[tool]
async fn test_elicitation_sep1330_enums(ctx: Ctx) -> Result<String, ToolError> {
    // The suite answers with values of its own, so the choices must be the same values.
    let words = |stem: &str| -> Vec<String> { (1..=3).map(|number| format!("{stem}{number}")).collect() };
    let names = || ["First Option", "Second Option", "Third Option"].map(str::to_owned).to_vec();
    let titled = || -> Vec<Choice> {
        words("value").into_iter().zip(names()).map(|(value, title)| Choice::new(value, title)).collect()
    };
    let text = || Field::new(FieldKind::String);
    let several = |choices| Field::new(FieldKind::Array).with_items(choices);
    let untitled = Choices::new().with_kind(FieldKind::String).with_choices(words("option"));
    let fields = [
        ("untitledSingle", text().with_choices(words("option"))),
        ("titledSingle", text().with_one_of(titled())),
        ("legacyEnum", text().with_choices(words("opt")).with_choice_names(names())),
        ("untitledMulti", several(untitled)),
        ("titledMulti", several(Choices::new().with_any_of(titled()))),
    ];
    let fields = fields.into_iter().map(|(name, field)| (name.to_owned(), field)).collect();
    let chosen = ctx.question("choices", "Which ones?").form(FormSchema::new(Fields(fields))).await?;
    Ok(serde_json::to_string(&chosen)?)
}

/// Needs a client whose model can be asked.
#[tool]
async fn test_missing_capability(ctx: Ctx) -> Result<String, ToolError> {
    Ok(said(&ctx.sample(short("Are you there?")).await?))
}

#[derive(Form)]
struct Name {
    /// What to be called by.
    name: String,
}

/// Says something, and then asks.
#[tool]
async fn test_streaming_elicitation(ctx: Ctx) -> Result<String, ToolError> {
    ctx.progress(1, 2, "about to ask").await;
    let Name { name } = ctx.question("user_name", "What is your name?").ask().await?;
    Ok(format!("Hello, {name}!"))
}

/// Asks the user for a name.
#[tool]
async fn test_input_required_result_elicitation(ctx: Ctx) -> Result<String, ToolError> {
    let Name { name } = ctx.question("user_name", "What is your name?").ask().await?;
    Ok(format!("Hello, {name}!"))
}

/// Asks the model for a capital.
#[tool]
async fn test_input_required_result_sampling(ctx: Ctx) -> Result<String, ToolError> {
    let answer = ctx.sample(short("What is the capital of France?")).key("capital_question").await?;
    Ok(said(&answer))
}

/// Asks for the roots.
#[tool]
async fn test_input_required_result_list_roots(ctx: Ctx) -> Result<String, ToolError> {
    let roots = ctx.roots().key("client_roots").await?;
    Ok(roots.into_iter().map(|root| root.uri).collect::<Vec<_>>().join(", "))
}

#[derive(Form)]
struct Consent {
    ok: bool,
}

/// Asks, and remembers something meanwhile.
#[tool]
async fn test_input_required_result_request_state(ctx: Ctx) -> Result<String, ToolError> {
    let state = ctx.remember("state", || "state-ok".to_owned())?;
    let Consent { ok } = ctx.question("confirm", "Go on?").ask().await?;
    Ok(format!("{state}: {ok}"))
}

/// Asks the user, the model and for the roots at once.
#[tool]
async fn test_input_required_result_multiple_inputs(ctx: Ctx) -> Result<String, ToolError> {
    let name = ctx.question("user_name", "What is your name?").ask::<Name>();
    let greeting = ctx.sample(short("How does one greet?")).key("greeting");
    let roots = ctx.roots().key("client_roots");
    let (name, greeting, roots) = ctx.ask_all((name, greeting, roots)).await?;
    Ok(format!("{} {}, who works in {} folders", said(&greeting), name.name, roots.len()))
}

#[derive(Form)]
struct Colour {
    /// Any colour.
    color: String,
}

/// Asks one thing after the other.
#[tool]
async fn test_input_required_result_multi_round(ctx: Ctx) -> Result<String, ToolError> {
    let Name { name } = ctx.question("step1", "Step 1: what is your name?").ask().await?;
    let question = format!("Step 2: what is your favourite colour, {name}?");
    let Colour { color } = ctx.question("step2", question).ask().await?;
    Ok(format!("{name} likes {color}"))
}

/// Asks; what comes back must be what was given.
#[tool]
async fn test_input_required_result_tampered_state(ctx: Ctx) -> Result<String, ToolError> {
    let Consent { ok } = ctx.question("confirm", "Go on?").ask().await?;
    Ok(format!("confirmed: {ok}"))
}

/// Asks whatever the client can be asked.
#[tool]
async fn test_input_required_result_capabilities(ctx: Ctx) -> Result<String, ToolError> {
    if ctx.peer().capabilities.elicitation.is_some() {
        let Name { name } = ctx.question("user_name", "What is your name?").ask().await?;
        return Ok(format!("Hello, {name}!"));
    }
    let answer = ctx.sample(short("What is the capital of France?")).key("capital_question").await?;
    Ok(said(&answer))
}

#[derive(Form)]
struct Context {
    /// What it is about.
    context: String,
}

/// A prompt that asks.
#[prompt]
async fn test_input_required_result_prompt(ctx: Ctx) -> Result<String, PromptError> {
    let Context { context } = ctx.question("user_context", "What is it about?").ask().await?;
    Ok(format!("Think about this: {context}"))
}
