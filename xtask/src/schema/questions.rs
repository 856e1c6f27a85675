//! Is a question valid in every revision that allows it?
//!
//! Questions are generated from the newest schema, which knows every kind of them. Each is written for all revisions
//! whose clients may be asked it (`era::questions::lacking`). It must be valid there and contain only members that the
//! revision knows. The newest revision has questions in a result, the others have them as requests of the server.

use std::collections::BTreeSet;

use serde_json::Value;
use toolway_protocol::capability::ClientCapabilities;
use toolway_protocol::era::questions::{missing_capabilities, write_question};
use toolway_protocol::era::stateless::{EncodedServerInfo, write_input_required};
use toolway_protocol::types::{
    Elicit, Field, FieldKind, Implementation, InputRequest, InputRequired, OrderedMap,
};
use toolway_protocol::{Era, Id, ProtocolVersion, RawJson};

use super::generate::{Generator, OptionalContent};
use super::report::{Report, line};
use super::table::member;
use super::validate::Document;
use crate::run::Result;

/// Writes every kind of question for every revision, and records failures in the revision's report. Returns the number
/// of questions.
pub(super) fn run(documents: &[Document], seed: u64, reports: &mut [Report]) -> Result<usize> {
    let newest = documents.last().ok_or("there are no revisions")?;
    let questions = make(newest, seed)?;
    let mut asked = 0;
    for (document, report) in documents.iter().zip(reports) {
        asked += QuestionCheck { document, closed: &document.closed()?, report }.run_all(&questions)?;
    }
    Ok(asked)
}

/// Generates questions of each definition from the newest schema.
fn make(newest: &Document, seed: u64) -> Result<Vec<InputRequest>> {
    let mut questions = Vec::new();
    for definition in ["ElicitRequest", "CreateMessageRequest", "ListRootsRequest"] {
        let mut generator = Generator::new(newest, definition, seed);
        for number in 0..VALUES {
            let measure = if number == 0 { OptionalContent::None } else { OptionalContent::Random };
            let mut value = generator.value(definition, measure)?;
            // Undeclared members are passed through unchanged, and would be unknown in every revision.
            remove_member(&mut value, "x-undeclared");
            questions.push(RawJson::from(value).decode().map_err(|error| error.to_string())?);
        }
    }
    Ok(questions)
}

fn remove_member(value: &mut Value, name: &str) {
    match value {
        Value::Object(members) => {
            members.remove(name);
            members.values_mut().for_each(|member| remove_member(member, name));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| remove_member(item, name)),
        _ => {}
    }
}

struct QuestionCheck<'d> {
    document: &'d Document,
    /// The same document, with undeclared members forbidden.
    closed: &'d Document,
    report: &'d mut Report,
}

impl QuestionCheck<'_> {
    fn run_all(mut self, questions: &[InputRequest]) -> Result<usize> {
        let version: ProtocolVersion =
            self.document.revision.parse().map_err(|_| "the revision is not known".to_owned())?;
        let able = RawJson::parse(FULL_CAPABILITIES).and_then(|able| able.decode::<ClientCapabilities>());
        let able = able.map_err(|error| error.to_string())?;
        let mut kinds_asked = BTreeSet::new();
        let mut asked = 0;
        for question in
            questions.iter().filter(|question| missing_capabilities(version, &able, question).is_none())
        {
            kinds_asked.extend(kinds(question));
            asked += 1;
            match version.era() {
                Era::Handshake => self.request(version, question)?,
                Era::Stateless => self.result(question)?,
            }
        }
        for (kind, first) in KINDS {
            match (version >= first, kinds_asked.contains(kind)) {
                (true, false) => self.report.fail(kind, "the question was never asked", ""),
                (false, true) => self.report.fail(kind, "the question was asked before it was known", ""),
                _ => {}
            }
        }
        Ok(asked)
    }

    fn request(&mut self, version: ProtocolVersion, question: &InputRequest) -> Result {
        let mut frame = Vec::new();
        write_question(&mut frame, version, &Id::from(1), question);
        let mut frame = serde_json::from_slice(&frame).map_err(|error| error.to_string())?;
        self.check("JSONRPCRequest", &frame)?;
        let definition = match question {
            InputRequest::Elicit(_) => "ElicitRequest",
            InputRequest::CreateMessage(_) => "CreateMessageRequest",
            InputRequest::ListRoots(_) => "ListRootsRequest",
        };
        self.check(definition, &frame)?;
        self.check("ServerRequest", &frame)?;
        // The older schemas describe requests without the JSON-RPC frame.
        if self.document.schema(definition)?["properties"].get("jsonrpc").is_none() {
            remove_frame_members(&mut frame);
        }
        for mistake in self.closed.mistakes(definition, &frame)? {
            let details = format!("{mistake}\n{}", line("written", &frame));
            self.report.fail(
                definition,
                "a question contains something that this revision does not have",
                details,
            );
        }
        Ok(())
    }

    fn result(&mut self, question: &InputRequest) -> Result {
        let questions = OrderedMap::from(vec![("question".to_owned(), question.clone())]);
        let required = InputRequired::new().with_input_requests(questions).with_request_state("sealed");
        let mut frame = Vec::new();
        write_input_required(
            &mut frame,
            &Id::from(1),
            &required,
            &EncodedServerInfo::new(&Implementation::new("xtask", "0")),
        );
        let result = serde_json::from_slice(&member(&frame, "result")?).map_err(|error| error.to_string())?;
        self.check("InputRequiredResult", &result)
    }

    fn check(&mut self, definition: &str, written: &Value) -> Result {
        for mistake in self.document.mistakes(definition, written)? {
            let details = format!("{mistake}\n{}", line("written", written));
            self.report.fail(definition, "a question is not valid", details);
        }
        Ok(())
    }
}

fn remove_frame_members(frame: &mut Value) {
    if let Value::Object(members) = frame {
        members.remove("jsonrpc");
        members.remove("id");
    }
}

/// Returns the kinds in a question, by the names of [`KINDS`].
fn kinds(question: &InputRequest) -> Vec<&'static str> {
    match question {
        InputRequest::Elicit(Elicit::Form(form)) => {
            let fields = form.requested_schema.properties.0.iter().map(|(_, field)| kind(field));
            fields.chain(["a form"]).collect()
        }
        InputRequest::Elicit(_) => vec!["a page"],
        InputRequest::CreateMessage(create) => {
            let several = create.messages.iter().any(|message| message.content.as_slice().len() > 1);
            let mut kinds = vec!["sampling"];
            kinds.extend(several.then_some("sampling with several blocks"));
            kinds.extend(create.tools.is_some().then_some("sampling with tools"));
            kinds
        }
        InputRequest::ListRoots(_) => vec!["roots"],
    }
}

fn kind(field: &Field) -> &'static str {
    match &field.kind {
        FieldKind::Boolean => "a field for yes or no",
        FieldKind::Integer => "a field for an integer",
        FieldKind::Number => "a field for a number",
        FieldKind::Array if field.items.as_ref().is_some_and(|items| items.any_of.is_some()) => {
            "a field of several named choices"
        }
        FieldKind::Array => "a field of several choices",
        _ if field.one_of.is_some() => "a field of named choices",
        _ if field.choice_names.is_some() => "a field of choices with names beside them",
        _ if field.choices.is_some() => "a field of choices",
        _ => "a field for text",
    }
}

/// Every kind of question, and the revision that introduced it.
const KINDS: [(&str, ProtocolVersion); 15] = {
    use ProtocolVersion::{V2024_11_05, V2025_06_18, V2025_11_25};
    [
        ("roots", V2024_11_05),
        ("sampling", V2024_11_05),
        ("sampling with several blocks", V2024_11_05),
        ("sampling with tools", V2025_11_25),
        ("a page", V2025_11_25),
        ("a form", V2025_06_18),
        ("a field for text", V2025_06_18),
        ("a field for a number", V2025_06_18),
        ("a field for an integer", V2025_06_18),
        ("a field for yes or no", V2025_06_18),
        ("a field of choices", V2025_06_18),
        ("a field of choices with names beside them", V2025_06_18),
        ("a field of named choices", V2025_06_18),
        ("a field of several choices", V2025_11_25),
        ("a field of several named choices", V2025_11_25),
    ]
};

/// The capabilities of a client that supports everything.
const FULL_CAPABILITIES: &str =
    r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{},"context":{}},"roots":{}}"#;

/// The number of questions generated from each definition.
const VALUES: usize = 512;
