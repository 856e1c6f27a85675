//! How often does a handler run until its call is answered?

use toolway_protocol::request::Request;

use super::Server;
use super::call::{Answered, Call};
use super::failure::Trouble;
use super::scope::{Arrival, Facts, Scope};

impl Server {
    /// Answers a request.
    pub(super) async fn answer(
        &self,
        request: Request,
        facts: Facts,
        arrival: Arrival,
    ) -> Result<Answered, Trouble> {
        run(Call { server: self.clone(), request, facts, arrival }).await
    }
}

/// Runs the handler behind a call.
async fn run(call: Call) -> Result<Answered, Trouble> {
    let Call { server, request, facts, arrival } = call;
    let (scope, _ending) = Scope::begin(server.clone(), facts, arrival);
    server.route(request, scope).await
}
