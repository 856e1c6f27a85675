//! What happens when a tool asks a question?

use serde_json::{Value, json};
use toolway::client::Answer;

use super::{Sdk, same};
use crate::check::{Checked, Report};
use crate::talk::{MODEL_SAYS, ROOTS, Talk};

pub(super) async fn play(sdk: Sdk, talk: &Talk, report: &mut Report) {
    let forms = sdk.asks_during_calls().and_then(|()| talk.since("2025-06-18", "forms"));
    let pages = sdk.asks_during_calls().and_then(|()| talk.since("2025-11-25", "web pages"));
    let ask_form = async |answer: Answer| -> Checked<Value> {
        talk.will_answer(answer);
        Ok(serde_json::from_str(&talk.text("ask_form", json!({})).await?)?)
    };
    report
        .check("ask", "a form: what was filled in, and the defaults", async {
            forms.clone()?;
            let result = ask_form(Answer::accept(json!({"name": "Ada", "count": 7}))).await?;
            same(&result["action"], "accept")?;
            same(&result["content"], &json!({"name": "Ada", "size": "small", "count": 7}))?;
            let asked = talk.asked();
            let question = asked.first().ok_or("nobody was asked")?;
            same(question.message(), "Who?")?;
            same(&question.form().map(|form| form.properties.0.len()), &Some(3))
        })
        .await;
    for (what, answer, action) in
        [("a form: no", Answer::decline(), "decline"), ("a form: closed", Answer::cancel(), "cancel")]
    {
        report
            .check("ask", what, async {
                forms.clone()?;
                same(&ask_form(answer).await?["action"], action)
            })
            .await;
    }
    report
        .check("ask", "a web page", async {
            pages.clone()?;
            talk.asked();
            talk.will_answer(Answer::consent());
            let url = "https://example.com/pay?a=1&b=2";
            let result: Value = serde_json::from_str(&talk.text("ask_url", json!({"url": url})).await?)?;
            same(&result["action"], "accept")?;
            same(&talk.asked().first().and_then(|question| question.url()), &Some(url))
        })
        .await;
    report
        .check("ask", "the model", async {
            sdk.asks_during_calls()?;
            same(&talk.text("ask_model", json!({"prompt": "six times nine"})).await?, MODEL_SAYS)?;
            let asked = talk.asked_model();
            let ask = asked.first().ok_or("the model was not asked")?;
            same(&ask.max_tokens, &77)?;
            same(&ask.system_prompt.as_deref(), &Some("Be brief."))
        })
        .await;
    report
        .check("ask", "the roots", async {
            sdk.remembers_its_client()?;
            let folders: Vec<String> = serde_json::from_str(&talk.text("folders", json!({})).await?)?;
            same(&folders, &ROOTS.map(|(uri, _)| uri))
        })
        .await;
}
