//! How is one call forwarded to an upstream server, and what is its result?
//!
//! A handler may run several times for one call: when it asks the caller a question it returns, and it runs again with
//! the answers. The state of the call at the upstream server must therefore outlive one run. With the stateless
//! revision 2026-07-28, the upstream server keeps no state itself: its request state travels to the caller and back,
//! inside the request state of this server. With an older revision, the upstream server asks while the call is open;
//! the open call is [parked](super::parked) until the caller has answered.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::sleep;
use toolway_protocol::jsonrpc::Code;
use toolway_protocol::request::Rounds;
use toolway_protocol::types::{InputRequest, Progress};
use toolway_protocol::{RawJson, Request, RpcError};

use super::failure::Failure;
use super::parked::{InFlightCall, ParkPlace, ParkSlot, ParkedCall};
use super::upstream_event::{UpstreamEvent, UpstreamQuestion, event_channel};
use super::upstreams::UpstreamRef;
use crate::client::answer::forwarded::{CallerQuestions, ForwardOutcome};
use crate::ground::random::random_hex;
use crate::server::ForwardedCall;
use crate::server::ask::{AskError, AskErrorKind};

/// How many times a request is sent again to a server that neither completes the call nor asks the caller anything.
const MAX_RESENDS: u32 = 10;

/// The wait before a request is sent again to a busy server for the first time. The wait doubles each time.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// The maximum wait before a request is sent again to a busy server.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// The state that one run of the handler leaves for the next run.
#[derive(Serialize, Deserialize)]
enum RunState {
    /// The next run sends the request again, with this request state and with these answers in addition to those of the
    /// caller.
    #[serde(rename = "s")]
    Again {
        #[serde(rename = "s", skip_serializing_if = "Option::is_none")]
        state: Option<String>,
        #[serde(rename = "g", default, skip_serializing_if = "BTreeMap::is_empty")]
        given: BTreeMap<String, RawJson>,
    },
    /// The call is parked on this server.
    #[serde(rename = "p")]
    Parked {
        #[serde(rename = "i")]
        id: String,
        #[serde(rename = "t")]
        turn: u32,
    },
}

/// A call that is forwarded to an upstream server.
pub(super) struct UpstreamCall<'c> {
    pub(super) upstream: &'c UpstreamRef,
    pub(super) downstream: ForwardedCall,
}

impl UpstreamCall<'_> {
    /// Sends the call, or continues a call that an earlier run has sent. Returns the result unchanged.
    pub(super) async fn forward(&self, request: Request) -> Result<RawJson, Failure> {
        let (note, held) = self.downstream.carried_state();
        let note = note.map(|note| note.decode::<RunState>()).transpose().map_err(|_| call_ended())?;
        let (mut flight, mut id) = match note {
            None => (self.begin(&request, None, BTreeMap::new())?, None),
            Some(RunState::Again { state, given }) => (self.begin(&request, state, given)?, None),
            Some(RunState::Parked { id, turn }) => (self.resume(&id, turn, held)?, Some(id)),
        };
        let (mut wait, mut again) = (FIRST_WAIT, 0);
        loop {
            let CallerQuestions { for_caller: open, own_answers: given, request_state: state } =
                match self.wait_for_outcome(flight, &mut id).await? {
                    ForwardOutcome::Complete(result) => return Ok(result),
                    ForwardOutcome::InputRequired(questions) => questions,
                };
            let given: BTreeMap<_, _> = given.into_iter().collect();
            if !open.is_empty() {
                return Err(self.ask_caller(state, given, open));
            }
            again += 1;
            if again > MAX_RESENDS {
                let name = self.upstream.name();
                return Err(Failure::Unavailable(format!(
                    "`{name}` is unavailable: it does not complete the call"
                )));
            }
            if given.is_empty() {
                // The server is busy. Its progress is in the request state, which is sent back.
                sleep(wait).await;
                wait = MAX_WAIT.min(wait * 2);
            }
            flight = self.send(&request, state, given);
        }
    }

    /// Sends the request, with the answers of the caller.
    fn begin(
        &self,
        request: &Request,
        state: Option<String>,
        mut given: BTreeMap<String, RawJson>,
    ) -> Result<InFlightCall, Failure> {
        for (key, answer) in self.downstream.answers().into_iter().flatten() {
            match answer {
                Ok(answer) => drop(given.insert(key.clone(), answer.clone())),
                // The failure of a question cannot be reported to the upstream server.
                Err(error) => return Err(Failure::Ask(error.clone())),
            }
        }
        Ok(self.send(request, state, given))
    }

    fn send(
        &self,
        request: &Request,
        state: Option<String>,
        given: BTreeMap<String, RawJson>,
    ) -> InFlightCall {
        let mut rounds = Rounds::default();
        rounds.request_state = state;
        rounds.input_responses = (!given.is_empty()).then(|| RawJson::from_value(&given).ok()).flatten();
        let mut request = request.clone();
        // Requests without members for answers never lead to questions.
        if let Some(own) = request.rounds_mut() {
            *own = rounds;
        }
        let (sink, events) = event_channel(&self.downstream);
        let (sink, meta) = (Arc::new(sink), self.downstream.meta());
        let told = sink.clone();
        let progress = Arc::new(move |progress: &Progress, bytes| told.progress(progress, bytes));
        let (upstream, caller) = (self.upstream.clone(), self.downstream.principal().cloned());
        InFlightCall::new(
            events,
            Box::pin(async move {
                let client = upstream.client_for(caller.as_ref()).await?;
                client.forward(&request, sink, progress, meta).await
            }),
        )
    }

    /// Waits for the outcome, and forwards messages of the server in the meantime. A question ends this run.
    async fn wait_for_outcome(
        &self,
        mut flight: InFlightCall,
        id: &mut Option<String>,
    ) -> Result<ForwardOutcome, Failure> {
        loop {
            tokio::select! {
                Some(event) = flight.events.next() => match event {
                    UpstreamEvent::Question(question) => {
                        let mut questions = vec![question];
                        while let Some(event) = flight.events.try_next() {
                            match event {
                                UpstreamEvent::Question(question) => questions.push(question),
                                event => self.forward_event(event).await,
                            }
                        }
                        let named = questions.into_iter().map(|question| (flight.next_key(), question));
                        let named = named.collect();
                        match self.park(flight, named, id) {
                            Ok(failure) => return Err(failure),
                            Err(refused) => flight = refused,
                        }
                    }
                    event => self.forward_event(event).await,
                },
                outcome = &mut flight.work => {
                    // Messages that the server sent before the result are forwarded before the result.
                    while let Some(event) = flight.events.try_next() {
                        self.forward_event(event).await;
                    }
                    return outcome.map_err(|error| Failure::new(&self.upstream.upstream, error));
                }
            }
        }
    }

    async fn forward_event(&self, event: UpstreamEvent) {
        match event {
            UpstreamEvent::Progress(progress) => self.downstream.forward_progress(progress).await,
            UpstreamEvent::Log(mut message) => {
                message.logger = self.upstream.logger(message.logger.take());
                self.downstream.forward_log(message).await;
            }
            // The call is over, so the question needs no answer.
            UpstreamEvent::Question(_) => {}
        }
    }

    /// Ends this run with the questions of the server. The next run sends the request again, with the answers.
    fn ask_caller(
        &self,
        state: Option<String>,
        given: BTreeMap<String, RawJson>,
        open: Vec<(String, InputRequest)>,
    ) -> Failure {
        // If one question cannot be asked, the call fails and none of them is asked.
        if let Some(error) =
            open.iter().find_map(|(_, question)| self.downstream.check_askable(question).err())
        {
            return Failure::Ask(error);
        }
        if self.save_state(&RunState::Again { state, given }, None).is_err() {
            let name = self.upstream.name();
            return Failure::Unavailable(format!(
                "`{name}` is unavailable here: the state of this call is too large to be kept"
            ));
        }
        for (key, question) in open {
            if let Err(error) = self.downstream.ask(key, question) {
                return Failure::Ask(error);
            }
        }
        unanswered()
    }

    /// Asks the caller, and parks the call until the answers arrive. A question that cannot be asked is refused at
    /// once. If no question can be asked, returns the call as an error, and the call continues.
    fn park(
        &self,
        mut flight: InFlightCall,
        questions: Vec<(String, UpstreamQuestion)>,
        id: &mut Option<String>,
    ) -> Result<Failure, InFlightCall> {
        let (mut pending, mut refused) = (Vec::new(), Vec::new());
        for (key, question) in questions {
            match self.downstream.check_askable(&question.request) {
                Ok(()) => pending.push((key, question)),
                Err(error) => refused.push((question, error)),
            }
        }
        let parkings = &self.upstream.upstreams.parking;
        let place = if self.downstream.stays_open() {
            Some(ParkPlace::Call(Arc::default()))
        } else {
            parkings.try_acquire().map(ParkPlace::Table)
        };
        let turn = flight.park_count + 1;
        let id = id.get_or_insert_with(random_hex::<16>);
        let note = RunState::Parked { id: id.clone(), turn };
        let left = match &place {
            _ if pending.is_empty() => Ok(()),
            Some(ParkPlace::Call(kept)) => self.save_state(&note, Some(kept.clone())),
            Some(ParkPlace::Table(_)) => self.save_state(&note, None),
            None => {
                Err(AskError::new(AskErrorKind::Busy, "too many calls wait for answers of their callers"))
            }
        };
        let mut asked = Vec::new();
        for (key, question) in pending {
            let outcome =
                left.clone().and_then(|()| self.downstream.ask(key.clone(), question.request.clone()));
            match outcome {
                Ok(()) => asked.push((key, question)),
                Err(error) => refused.push((question, error)),
            }
        }
        for (question, error) in refused {
            refuse(question, &error);
        }
        if asked.is_empty() {
            return Err(flight);
        }
        flight.park_count = turn;
        let parked = ParkedCall::new(flight, asked);
        match place {
            Some(ParkPlace::Call(kept)) => *kept.lock() = Some(parked),
            Some(ParkPlace::Table(permit)) => {
                parkings.put(id, parked, permit, self.downstream.question_timeout());
            }
            None => {}
        }
        Ok(unanswered())
    }

    /// Continues a parked call, now that its caller has answered.
    fn resume(
        &self,
        id: &str,
        turn: u32,
        held: Option<Arc<dyn Any + Send + Sync>>,
    ) -> Result<InFlightCall, Failure> {
        let kept = held.and_then(|held| held.downcast::<ParkSlot>().ok());
        let parked = match kept {
            Some(kept) => kept.lock().take(),
            None => self.upstream.upstreams.parking.take(id, turn),
        };
        let ParkedCall { flight, pending } = parked.ok_or_else(call_ended)?;
        let answers = self.downstream.answers();
        let mut unanswered = Vec::new();
        for (key, question) in pending {
            match answers.and_then(|answers| answers.get(&key)) {
                Some(Ok(answer)) => drop(question.answer.send(Ok(answer.clone()))),
                Some(Err(error)) => refuse(question, error),
                None => unanswered.push((key, question)),
            }
        }
        if unanswered.is_empty() {
            return Ok(flight);
        }
        // Questions without an answer are asked again unchanged.
        match self.park(flight, unanswered, &mut Some(id.to_owned())) {
            Ok(failure) => Err(failure),
            Err(flight) => Ok(flight),
        }
    }

    /// Stores a note for the next run.
    fn save_state(&self, note: &RunState, held: Option<Arc<dyn Any + Send + Sync>>) -> Result<(), AskError> {
        let note = RawJson::from_value(note)
            .map_err(|error| AskError::new(AskErrorKind::TooLarge, error.to_string()))?;
        self.downstream.carry_state(note, held)
    }
}

/// Returns the failure that ends this run; the next run starts with the answers.
fn unanswered() -> Failure {
    Failure::Ask(AskError::new(AskErrorKind::Unanswered, "the questions have no answers yet"))
}

/// Tells the upstream server that its question has no answer.
fn refuse(question: UpstreamQuestion, error: &AskError) {
    let error = match error.kind() {
        AskErrorKind::Unsupported | AskErrorKind::NotAllowed => {
            let mut refusal = RpcError::method_not_found(question.request.method().name());
            refusal.message = error.to_string().into();
            refusal
        }
        _ => RpcError::new(QUESTION_REFUSED, error.to_string()),
    };
    // The server may have cancelled its question.
    let _ = question.answer.send(Err(error));
}

/// The protocol's code for a refused question.
const QUESTION_REFUSED: Code = Code(-1);

fn call_ended() -> Failure {
    Failure::Ask(AskError::new(
        AskErrorKind::Ended,
        "the call that this answer belongs to has ended: it timed out, was already answered, or is on another \
         machine; call again",
    ))
}
