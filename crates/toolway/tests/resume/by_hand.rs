//! A hand-written reader that uses the service directly: it reads a number of bytes of a reply and then drops it.

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::BodyExt;
use toolway::prelude::*;
use toolway::server::http::ResponseBody;

use crate::raw_http::Raw;
use crate::story::{Random, Runs, arguments, ends, events, is_answer, last_id, messages, offsets, story};

const ID: i64 = 7;
/// The number of calls that are cut repeatedly.
const ROUNDS: usize = 40;

/// Reads the first bytes of a stream; the rest is dropped with the reply.
async fn take(response: Response<ResponseBody>, bytes: usize) -> Vec<u8> {
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut body = response.into_body();
    let mut taken = Vec::new();
    while taken.len() < bytes {
        let Some(frame) = body.frame().await else { break };
        taken.extend_from_slice(frame.unwrap().data_ref().unwrap());
    }
    taken.truncate(bytes);
    taken
}

struct Tally {
    offsets: usize,
    resumes: usize,
    lost: usize,
}

/// Calls once, is cut after each of `cuts`, and then reads to the end. Returns the messages; `None` if no id arrived.
async fn call(raw: &Raw, key: &str, breaks: bool, cuts: &[usize], tally: &mut Tally) -> Option<Vec<Bytes>> {
    let mut cuts = cuts.iter().copied();
    let mut response = raw.call(ID, "story", arguments(key, breaks, true)).await;
    let mut all = Vec::new();
    let mut last = None;
    loop {
        let cut = cuts.next();
        let taken = events(&take(response, cut.unwrap_or(usize::MAX)).await);
        last = last_id(&taken).or(last);
        all.extend(messages(taken));
        if cut.is_none() || all.last().is_some_and(|message| is_answer(message)) {
            return Some(all);
        }
        let Some(last) = &last else {
            tally.lost += 1;
            return None;
        };
        tally.resumes += 1;
        response = raw.get(Some(last)).await;
    }
}

async fn cut_everywhere(version: &'static str) {
    let runs = Runs::default();
    let server = Server::new("story", "1.0.0").state(runs.clone()).tools(tools![story]).build().unwrap();
    let service = server.http();
    let mut raw = Raw::open(&service, version).await;
    let mut random = Random::new();
    let mut tally = Tally { offsets: 0, resumes: 0, lost: 0 };
    let reply = take(raw.call(ID, "story", arguments("first", false, true)).await, usize::MAX).await;
    let all: Vec<_> = messages(events(&reply)).collect();
    assert_eq!(all.len(), 60 + 20 + 1, "{version}");
    // Every event has an id.
    let first_id = ends(&reply)[0];
    for offset in offsets(reply.len(), ends(&reply), &mut random) {
        let (key, breaks) = (format!("once {offset}"), offset % 2 == 0);
        let came = call(&raw, &key, breaks, &[offset], &mut tally).await;
        assert_eq!(came.is_some(), offset >= first_id, "{version}, cut after {offset}");
        if came.is_none() {
            // The call keeps running, and its id is in use.
            raw = Raw::open(&service, version).await;
        }
        assert!(came.is_none_or(|came| came == all), "{version}, cut after {offset}");
        assert_eq!(runs.of(&key), 1, "{version}, cut after {offset}");
        tally.offsets += 1;
    }
    // Cut repeatedly, also where no whole event arrives between two cuts.
    let mut most = 0;
    for round in 0..ROUNDS {
        let (key, before) = (format!("often {round}"), tally.resumes);
        let most_bytes = [40, 200, 1_000, 6_000][round % 4];
        let mut cuts: Vec<_> = (0..1_000).map(|_| random.below(most_bytes)).collect();
        cuts[0] += first_id;
        let came = call(&raw, &key, round % 2 == 0, &cuts[..=round * 20], &mut tally).await;
        assert_eq!(came.as_ref(), Some(&all), "{version}, {key}");
        assert_eq!(runs.of(&key), 1, "{version}, {key}");
        most = most.max(tally.resumes - before);
    }
    let Tally { offsets, resumes, lost } = tally;
    println!(
        "{version} by hand: {} bytes, {offsets} offsets and {ROUNDS} calls cut often, {resumes} resumes (at most {most} a call), {lost} lost before their first id",
        reply.len()
    );
}

#[tokio::test]
async fn a_reply_of_2024_11_05_goes_on_wherever_it_is_cut() {
    cut_everywhere("2024-11-05").await;
}

#[tokio::test]
async fn a_reply_of_2025_03_26_goes_on_wherever_it_is_cut() {
    cut_everywhere("2025-03-26").await;
}

#[tokio::test]
async fn a_reply_of_2025_06_18_goes_on_wherever_it_is_cut() {
    cut_everywhere("2025-06-18").await;
}

#[tokio::test]
async fn a_reply_of_2025_11_25_goes_on_wherever_it_is_cut() {
    cut_everywhere("2025-11-25").await;
}
