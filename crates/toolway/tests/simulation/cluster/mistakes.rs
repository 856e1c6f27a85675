//! Does the checker find mistakes?

use std::time::Duration;

use toolway::store::{MemoryStore, Operation, Step, Store, Version};

use super::checker::check;
use super::history::{Conclusion, End, Event, Fate, Heard, Over, Purpose, StoreFault};
use super::nodes::done;
use super::world::{LONGEST_LIFE, in_paused_time, leftovers};

type Events = Vec<(u64, Event)>;

const KEY: &str = "a-work";

fn sent(exchange: usize, node: usize, purpose: Purpose) -> Event {
    Event::Sent { exchange, session: 1, node, purpose }
}

fn head(exchange: usize, status: u16) -> Event {
    Event::Head { exchange, status, has_retry_after: status == 503 }
}

fn stored(stream: usize, first: u64, entries: &[u64], ends: bool) -> Event {
    Event::Stored { session: 1, stream, first, entries: entries.to_vec(), ends }
}

/// The content of an event has its number as its hash.
fn got(exchange: usize, stream: usize, number: u64, heard: Heard) -> Event {
    Event::Got { exchange, id: Some((stream, number)), hash: number, heard }
}

fn progress(step: u64) -> Heard {
    Heard::Progress { key: KEY.to_owned(), step }
}

fn end(end: End) -> Heard {
    Heard::End { key: KEY.to_owned(), end }
}

fn result() -> Heard {
    end(End::Result(done(KEY)))
}

fn call() -> Purpose {
    Purpose::Call { key: KEY.to_owned(), is_copy: false }
}

fn resume(after: u64) -> Purpose {
    Purpose::Resume { stream: 5, after, key: Some(KEY.to_owned()) }
}

fn ran(node: usize) -> Event {
    Event::Ran { key: KEY.to_owned(), node }
}

fn concluded(conclusion: Conclusion) -> Event {
    Event::Concluded { key: KEY.to_owned(), session: 1, conclusion }
}

fn node(node: usize, fate: Fate) -> Event {
    Event::Node { node, fate }
}

fn fault(fault: StoreFault) -> Event {
    Event::Fault { node: 0, fault }
}

/// A call whose stream is resumed at another node, a change that is told, and a session that is ended.
fn sound() -> Events {
    vec![
        (10, sent(0, 0, call())),
        (11, ran(0)),
        (12, stored(5, 1, &[1, 2], false)),
        (13, head(0, 200)),
        (14, got(0, 5, 1, Heard::Primer)),
        (15, got(0, 5, 2, progress(1))),
        (20, sent(1, 1, resume(2))),
        (21, head(1, 200)),
        (30, stored(5, 3, &[3], true)),
        (31, Event::Left { key: KEY.to_owned(), node: 0 }),
        (32, Event::HandedOver { key: KEY.to_owned() }),
        (33, got(1, 5, 3, result())),
        (34, Event::Over { exchange: 1, over: Over::Complete }),
        (35, concluded(Conclusion::Answered)),
        (40, sent(2, 2, Purpose::Listen)),
        (41, head(2, 200)),
        (42, stored(6, 1, &[1], false)),
        (43, got(2, 6, 1, Heard::Primer)),
        (50, Event::Calm),
        (60, Event::Announced { node: 0 }),
        (61, stored(6, 2, &[2], false)),
        (62, got(2, 6, 2, Heard::Changed)),
        (70, sent(5, 0, Purpose::Stateless)),
        (71, head(5, 200)),
        (40_000, sent(3, 0, Purpose::Delete)),
        (40_001, Event::Erased { session: 1 }),
        (40_002, head(3, 202)),
        (40_050, Event::Over { exchange: 2, over: Over::Complete }),
        (40_100, sent(4, 2, Purpose::Ping)),
        (40_101, head(4, 404)),
        (90_000, node(0, Fate::Stopping)),
        (90_001, node(0, Fate::Stopped)),
    ]
}

/// Returns the rules that the sound history breaks with other events.
fn broken_with(events: impl IntoIterator<Item = (u64, Event)>) -> Vec<String> {
    broken_without(|_| false, events)
}

/// Returns the rules that the sound history breaks without some events, and with others.
fn broken_without(
    is_gone: impl Fn(&Event) -> bool,
    events: impl IntoIterator<Item = (u64, Event)>,
) -> Vec<String> {
    let mut all = sound();
    all.retain(|(_, event)| !is_gone(event));
    all.extend(events);
    all.sort_by_key(|(millis, _)| *millis);
    check(&all)
}

fn is_end(event: &Event) -> bool {
    matches!(event, Event::Got { heard: Heard::End { .. }, .. } | Event::HandedOver { .. })
}

fn is_change(event: &Event) -> bool {
    matches!(event, Event::Got { heard: Heard::Changed, .. })
}

fn is_left(event: &Event) -> bool {
    matches!(event, Event::Left { .. })
}

fn is_delete(event: &Event) -> bool {
    matches!(event, Event::Erased { .. } | Event::Head { exchange: 3, .. })
}

/// Checks that exactly this rule is broken.
#[track_caller]
fn finds(rule: &str, broken: Vec<String>) {
    let is_found = !broken.is_empty() && broken.iter().all(|text| text.starts_with(&format!("{rule}:")));
    assert!(is_found, "{rule}: {broken:?}");
}

#[test]
fn a_sound_history_breaks_no_rule() {
    assert_eq!(check(&sound()), Vec::<String>::new());
}

#[test]
fn a_second_end_is_found() {
    finds("C-1", broken_with([(34, stored(5, 4, &[4], false))]));
    let other = Event::Got { exchange: 0, id: None, hash: 77, heard: result() };
    finds("C-1", broken_with([(34, other)]));
    for conclusion in [Conclusion::Hung, Conclusion::NoAnswer, Conclusion::Forgotten(400)] {
        finds("C-1", broken_with([(36, concluded(conclusion))]));
    }
}

#[test]
fn a_second_run_is_found() {
    finds("C-2", broken_with([(25, ran(1)), (26, Event::Left { key: KEY.to_owned(), node: 1 })]));
    // After the reply a request with this id is another one.
    let later = [(36, ran(1)), (37, Event::Left { key: KEY.to_owned(), node: 1 })];
    assert_eq!(broken_with(later), Vec::<String>::new());
}

#[test]
fn a_number_with_two_contents_is_found() {
    finds("C-3", broken_with([(25, stored(5, 2, &[99], false))]));
    let again = Event::Got { exchange: 6, id: Some((5, 3)), hash: 99, heard: Heard::Other };
    finds("C-3", broken_with([(36, sent(6, 0, resume(2))), (37, head(6, 200)), (38, again)]));
}

#[test]
fn an_event_that_is_not_stored_is_found() {
    finds("C-4", broken_without(|event| matches!(event, Event::Stored { first: 3, .. }), []));
}

#[test]
fn a_gap_and_a_repetition_are_found() {
    let again = [(36, sent(6, 0, resume(1))), (37, head(6, 200)), (38, got(6, 5, 3, result()))];
    finds("C-5", broken_with(again));
    finds("C-5", broken_with([(16, got(0, 5, 2, progress(1)))]));
    finds("C-5", broken_with([(36, sent(6, 0, resume(2))), (37, head(6, 400))]));
    let wrong = |event: &Event| matches!(event, Event::Got { exchange: 0, id: Some((_, 2)), .. });
    finds("C-5", broken_without(wrong, [(15, got(0, 5, 2, progress(2)))]));
}

#[test]
fn a_reader_that_was_replaced_and_reads_on_is_found() {
    finds("C-6", broken_with([(33, got(0, 5, 3, result()))]));
    // What was stored before is on its way.
    let before = |event: &Event| matches!(event, Event::Stored { first: 3, .. });
    let early = [(19, stored(5, 3, &[3], true)), (33, got(0, 5, 3, result()))];
    assert_eq!(broken_without(before, early), Vec::<String>::new());
}

#[test]
fn a_change_that_is_told_twice_or_never_is_found() {
    finds("C-7", broken_without(is_change, []));
    let is_calm = |event: &Event| matches!(event, Event::Calm);
    let early = [(45, Event::Announced { node: 0 }), (20_000, Event::Calm)];
    assert_eq!(broken_without(is_calm, early.clone()), Vec::<String>::new());
    let untold = |event: &Event| is_calm(event) || is_change(event) || is_delete(event) || is_gone(event);
    finds("C-7", broken_without(untold, early));
    finds("C-7", broken_with([(63, stored(6, 3, &[3], false)), (64, got(2, 6, 3, Heard::Changed))]));
}

#[test]
fn what_belongs_to_another_is_found() {
    finds("C-8", broken_with([(80, sent(6, 0, Purpose::Trespass)), (81, head(6, 200))]));
    let other = end(End::Result(done("b-work")));
    finds("C-8", broken_without(is_end, [(33, got(1, 5, 3, other))]));
}

#[test]
fn life_after_a_delete_is_found() {
    finds("C-9", broken_with([(40_200, sent(6, 1, Purpose::Ping)), (40_201, head(6, 200))]));
    finds("C-9", broken_with([(40_200, stored(6, 3, &[3], false))]));
    finds("C-9", broken_with([(80, sent(6, 1, Purpose::Ping)), (81, head(6, 404))]));
    finds("C-12", broken_without(is_left, []));
    finds("C-12", broken_without(|event| matches!(event, Event::Over { exchange: 2, .. }), []));
    assert_eq!(
        broken_without(|event| is_left(event) || is_delete(event) || is_gone(event), []),
        Vec::<String>::new()
    );
}

fn is_gone(event: &Event) -> bool {
    matches!(event, Event::Head { status: 404, .. })
}

#[test]
fn a_late_or_needless_loss_is_found() {
    let lost = |at| [(16, node(0, Fate::Killed)), (at, got(1, 5, 3, end(End::Lost)))];
    assert_eq!(broken_without(is_end, lost(15_000)), Vec::<String>::new());
    finds("C-11", broken_without(is_end, lost(15_100)));
    finds("C-11", broken_without(is_end, lost(33).into_iter().skip(1)));
    let cancel = [(22, sent(6, 1, Purpose::Cancel(KEY.to_owned()))), (23, head(6, 202))];
    let vain = [(16, node(0, Fate::Killed)), (34, concluded(Conclusion::NoAnswer))];
    finds("C-1", broken_without(is_left, vain.into_iter().chain(cancel)));
}

#[test]
fn an_order_that_does_not_arrive_is_found() {
    let left = |at| (at, Event::Left { key: KEY.to_owned(), node: 0 });
    for purpose in [Purpose::Cancel(KEY.to_owned()), Purpose::Answer(KEY.to_owned())] {
        let order = |at| [(22, sent(6, 1, purpose.clone())), (23, head(6, 202)), left(at)];
        assert_eq!(broken_without(is_left, order(15_000)), Vec::<String>::new());
        finds("C-12", broken_without(is_left, order(17_000)));
    }
}

#[test]
fn a_store_that_is_away_and_is_noticed_is_found() {
    let refused = |status, has_retry_after| {
        [(80, sent(6, 1, Purpose::Ping)), (81, Event::Head { exchange: 6, status, has_retry_after })]
    };
    let away = [(79, fault(StoreFault::Away)), (20_000, fault(StoreFault::Back))];
    finds("C-14", broken_with(refused(503, true)));
    finds("C-14", broken_with(refused(503, false).into_iter().chain(away.clone())));
    finds("C-14", broken_with(refused(200, false).into_iter().chain(away.clone())));
    assert_eq!(broken_with(refused(503, true).into_iter().chain(away.clone())), Vec::<String>::new());
    let ended = [(10_000, Event::Over { exchange: 2, over: Over::Complete })];
    finds("C-14", broken_with(ended.into_iter().chain(away)));
    let stateless = |event: &Event| matches!(event, Event::Head { exchange: 5, .. });
    finds("C-14", broken_without(stateless, [(71, head(5, 404))]));
}

#[test]
fn what_is_left_in_the_store_is_found() {
    for (ttl, is_found) in [(LONGEST_LIFE / 2, false), (LONGEST_LIFE * 2, true)] {
        let (_, broken) = in_paused_time(async move |history| {
            let store = MemoryStore::new();
            let put = Operation::Put { key: "k".into(), value: "v".into(), version: Version(1), ttl };
            store.run("s/1", &Step::new().then(put)).await.unwrap();
            tokio::time::sleep(LONGEST_LIFE + Duration::from_secs(1)).await;
            leftovers(&store).await.into_iter().for_each(|text| history.add(Event::Broken(text)));
        });
        assert_eq!(broken.iter().any(|text| text.starts_with("C-10")), is_found, "{broken:?}");
    }
}
