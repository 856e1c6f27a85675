//! How does a user look into a server with a browser? `toolway inspect` drives ordinary clients and shows what they see.
//!
//! The page draws, this program decides: checks of arguments, differences, exports and costs are answers of the library. No
//! request of the page names a program, a file, a variable or a URL: servers come from the command line only.
//! `docs/design/0025-inspector.md` has the decisions.
//!
//! | file | question |
//! |---|---|
//! | `run.rs` | What does the command do at the terminal? |
//! | `inspector.rs` | Which servers, calls and questions does an inspector have? |
//! | `gate.rs` | Who may use the page? |
//! | `listen.rs` | How are connections of browsers served? |
//! | `web.rs` | How is a request read, and how does a reply look? |
//! | `socket.rs` | How long may a client take to read what it is sent? |
//! | `request_members.rs` | Which members does the body of a request have? |
//! | `routes.rs` | Which requests are there? |
//! | `page.rs` | Which files does the page have? |
//! | `server.rs` | Which servers are inspected, and what is known of each? |
//! | `live_server.rs` | How is a server connected? |
//! | `spawn.rs` | How is a task started? |
//! | `elements.rs` | How are the elements of a server described for the page? |
//! | `fields.rs` | Which fields does a form have, and which values do they mean? |
//! | `changes.rs` | What has changed in a list? |
//! | `cutter.rs` | How is a connection cut? |
//! | `event_log.rs` | Which events are kept for the page? |
//! | `frame_lines.rs` | How are recorded frames described for the page? |
//! | `call_request.rs` | Which call does the page want? |
//! | `calls.rs` | Which calls are there, and how do they go on? |
//! | `object.rs` | How is an object of JSON for the page made? |
//! | `ordered_places.rs` | How is a list put in order? |
//! | `outcome.rs` | How is the result of a call described? |
//! | `questions.rs` | What happens when a server asks the user? |
//! | `both_eras.rs` | Does a call have the same result in both eras? |
//! | `difference.rs` | Where do two JSON values differ? |
//! | `provider_tools.rs` | What does a model provider get, and how many tokens is it? |
//! | `token_count.rs` | About how many tokens is a text? |
//! | `export.rs` | How is a call written for a terminal, a test or a report? |
//! | `doctor_report.rs` | What does `doctor` find? |
//! | `hub_view.rs` | How would a hub join the servers? |
//! | `absent.rs` | What does `inspect` say if the inspector is not a part of the program? |
//! | `recording.rs` | How is a recording shown without its server? |

mod both_eras;
mod call_request;
mod calls;
mod changes;
mod cutter;
mod difference;
mod doctor_report;
mod elements;
mod event_log;
mod export;
mod fields;
mod frame_lines;
mod gate;
mod hub_view;
mod inspector;
mod listen;
mod live_server;
mod object;
mod ordered_places;
mod outcome;
mod page;
mod provider_tools;
mod questions;
mod recording;
mod request_members;
mod routes;
mod run;
mod server;
mod socket;
mod spawn;
mod token_count;
mod web;

pub(crate) use run::run;
