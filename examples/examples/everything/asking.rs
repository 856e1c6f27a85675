//! What can a server ask during a call? Forms with every kind of field, one question after the other, several at once,
//! a web page, the client's model and its roots; from tools, a prompt and a resource.

use toolway::Form;
use toolway::prelude::*;
use toolway::server::ask::UserAnswer;
use toolway::server::{PromptError, ResourceError};
use toolway::types::Content;

use crate::shared::Shared;

#[derive(Form)]
enum Membership {
    #[form(rename = "free", title = "Free of charge")]
    Free,
    #[form(rename = "pro", title = "Pro, 5 € a month")]
    Pro,
}

#[derive(Form)]
enum Topic {
    #[form(rename = "tools", title = "Tools")]
    Tools,
    #[form(rename = "resources", title = "Resources")]
    Resources,
    #[form(rename = "prompts", title = "Prompts")]
    Prompts,
}

impl Topic {
    fn word(&self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Prompts => "prompts",
        }
    }
}

/// One field of each kind.
#[derive(Form)]
struct SignUp {
    /// Your e-mail address.
    #[form(title = "E-mail", format = "email")]
    email: String,
    #[form(minimum = 18, maximum = 120)]
    age: u8,
    /// Your share of the help.
    #[form(minimum = 0, maximum = 1, default = 0.5)]
    share: f64,
    #[form(default = true)]
    newsletter: bool,
    #[form(default = Membership::Free)]
    plan: Membership,
    #[form(min_items = 1, max_items = 2)]
    topics: Vec<Topic>,
    #[form(max_length = 20)]
    nickname: Option<String>,
}

/// Sign a user up.
#[tool]
async fn sign_up(ctx: Ctx) -> Result<String, ToolError> {
    let SignUp { email, age, share, newsletter, plan, topics, nickname } =
        ctx.ask("Who are you, and what would you like?").await?;
    let plan = match plan {
        Membership::Free => "free",
        Membership::Pro => "pro",
    };
    let topics: Vec<_> = topics.iter().map(Topic::word).collect();
    let newsletter = if newsletter { "letters" } else { "no letters" };
    let nickname = nickname.unwrap_or_else(|| "nobody".to_owned());
    Ok(format!("{email}, {age}, {share}, {newsletter}, {plan}, {}, {nickname}", topics.join("+")))
}

#[derive(Form)]
struct Name {
    /// Your name.
    #[form(min_length = 1)]
    name: String,
}

#[derive(Form)]
struct Colour {
    #[form(choices = [("red", "Red as a rose"), ("green", "Green as grass")], default = "green")]
    colour: String,
}

/// Ask one thing after the other, and make a draft in between.
#[tool]
async fn wizard(shared: State<Shared>, ctx: Ctx) -> Result<String, ToolError> {
    ctx.log().with_name("wizard").info("begun", serde_json::json!({})).await;
    ctx.progress(1, 3, "a name").await;
    let Name { name } = ctx.ask("What is your name?").await?;
    ctx.progress(2, 3, "a colour").await;
    // There is one draft, however often the function runs.
    let draft: u32 = ctx.once("draft", || async { Ok::<_, ToolError>(shared.add_draft().await?) }).await?;
    let Colour { colour } = ctx.ask(format!("Which colour do you like, {name}?")).await?;
    ctx.progress(3, 3, "done").await;
    ctx.log().with_name("wizard").info("done", serde_json::json!({})).await;
    let made = shared.drafts().await? - draft;
    Ok(format!("{name} likes {colour}; drafts: {made}"))
}

/// Ask the user, the model and for the roots at once.
#[tool]
async fn survey(ctx: Ctx) -> Result<String, ToolError> {
    let name = ctx.ask::<Name>("Who are you?");
    let (name, greeting, roots) = ctx.ask_all((name, ctx.sample("How does one greet?"), ctx.roots())).await?;
    let roots: Vec<_> = roots.into_iter().map(|root| root.uri).collect();
    let greeting: String = greeting.content.as_slice().iter().filter_map(Content::as_text).collect();
    Ok(format!("{greeting} {}, who works in {}", name.name, roots.join(" and ")))
}

/// Ask the user, who may accept, decline or cancel.
#[tool]
async fn offer(ctx: Ctx) -> Result<&'static str, ToolError> {
    Ok(match ctx.ask::<Name>("May we know your name?").answer().await? {
        UserAnswer::Accepted(_) => "thank you",
        UserAnswer::Declined => "you said no",
        _ => "you said nothing",
    })
}

/// Send the user to a web page, to pay.
#[tool]
async fn pay(ctx: Ctx) -> Result<&'static str, ToolError> {
    ctx.ask_url("Please pay 3 €.", "https://example.com/pay/17").await?;
    Ok("you went to pay")
}

/// Ask the model.
#[tool]
async fn think(question: &str, ctx: Ctx) -> Result<String, ToolError> {
    let thought = ctx.sample(question).await?;
    Ok(thought.content.as_slice().iter().filter_map(Content::as_text).collect())
}

/// Say where the client works.
#[tool]
async fn folders(ctx: Ctx) -> Result<String, ToolError> {
    let names = ctx.roots().await?.into_iter().map(|root| root.name.unwrap_or(root.uri));
    Ok(names.collect::<Vec<_>>().join(", "))
}

/// Interview the user.
#[prompt]
async fn interview(ctx: Ctx) -> Result<String, PromptError> {
    let Name { name } = ctx.ask("Who is to be interviewed?").await?;
    Ok(format!("Interview {name}"))
}

/// A letter to a person that the reader names.
#[resource(uri = "everything://letter/{number}", mime = "text/plain")]
async fn letter(number: u32, ctx: Ctx) -> Result<String, ResourceError> {
    let Name { name } = ctx.ask("Whom is the letter to?").await?;
    Ok(format!("Letter {number}: dear {name}"))
}
