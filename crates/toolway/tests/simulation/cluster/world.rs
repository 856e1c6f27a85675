//! What happens in a run of a cluster?

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use toolway::store::{MemoryStore, Operation, Step, Store};

use super::checker::check;
use super::history::{Event, History};
use super::load::{Call, Visitor};
use super::nodes::{Cluster, SESSION_IDLE};
use super::store::{SharedStore, StoreFaults};
use crate::harness::take_panic;
use crate::random::Random;

/// Runs one seed. Returns its history and the rules that it breaks.
pub(crate) fn run(seed: u64) -> (History, Vec<String>) {
    in_paused_time(async move |history| simulate(seed, &history).await)
}

/// Runs a world in paused time.
pub(crate) fn in_paused_time(world: impl AsyncFnOnce(History)) -> (History, Vec<String>) {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let history = History::new();
        if timeout(PATIENCE, world(history.clone())).await.is_err() {
            history.add(Event::Broken("it hangs".to_owned()));
        }
        if take_panic() {
            history.add(Event::Broken("something panicked that should not".to_owned()));
        }
        let broken = check(&history.events());
        (history, broken)
    })
}

async fn simulate(seed: u64, history: &History) {
    let mut random = Random::new(seed);
    let is_losing = random.chance(15);
    let faults = StoreFaults {
        failed_visits: random.pick(&[0, 0, 2, 8]),
        bad_messages: random.pick(&[0, 30, 100]),
        delay: random.pick(&[0, 3, 60]),
        planned: None,
        has_replica: is_losing,
    };
    let store = SharedStore::new(history, random.below(u64::MAX), faults);
    let cluster = Cluster::new(history, &store, NODES);
    let finds = Arc::default();
    let mut visitors: Vec<_> = (0..usize::try_from(random.between(1, 2)).unwrap())
        .map(|number| Visitor::new(number, &cluster, &finds, &mut random))
        .collect();
    let mut listeners = JoinSet::new();
    let mut lives = JoinSet::new();
    let nemesis = tokio::spawn(disturb(cluster.clone(), is_losing, random.split()));
    for visitor in &mut visitors {
        if !visitor.open(&mut random).await {
            // Its sessions are refused, which is judged where it happened.
            continue;
        }
        for _ in 0..random.pick(&[0, 1, 1, 2]) {
            listeners.spawn(visitor.clone().listen(random.split()));
        }
        let (visitor, mut random) = (visitor.clone(), random.split());
        lives.spawn(async move {
            let (own, others) = (random.split(), visitor.clone());
            let working = visitor.clone().work(own);
            let deleting = async {
                if random.chance(20) {
                    sleep(random.millis(500, 8000)).await;
                    others.delete(&mut random).await;
                }
            };
            tokio::join!(biased; working, deleting);
        });
    }
    while lives.join_next().await.is_some() {}
    nemesis.await.unwrap();
    store.calm();
    visitors.iter().for_each(Visitor::calm);
    history.add(Event::Calm);
    sleep(SETTLED).await;
    for visitor in visitors.iter().filter(|visitor| !visitor.browser.session.is_empty()) {
        conclude(visitor, &cluster, &mut random).await;
    }
    listeners.shutdown().await;
    drop(visitors);
    check_nothing_is_left(cluster, history).await;
}

/// Lets nodes and the store fail.
async fn disturb(cluster: Cluster, is_losing: bool, mut random: Random) {
    let mut tasks = JoinSet::new();
    for _ in 0..random.between(0, 3) {
        let (cluster, mut random) = (cluster.clone(), random.split());
        tasks.spawn(async move {
            sleep(random.millis(0, 9000)).await;
            match random.below(5) {
                0 | 1 => {
                    let Some(node) = cluster.choose(&mut random) else { return };
                    cluster.kill(&node);
                    sleep(random.millis(0, 3000)).await;
                    cluster.start(random.millis(0, 3000));
                }
                2 => {
                    let Some(node) = cluster.choose(&mut random) else { return };
                    node.life.freeze();
                    sleep(random.pick(&[500, 5000, 12_000, 25_000].map(Duration::from_millis))).await;
                    node.life.thaw();
                }
                3 => {
                    cluster.start(random.millis(0, 3000));
                    let Some(node) = cluster.choose(&mut random) else { return };
                    cluster.stop(node).await;
                }
                _ => {
                    cluster.store.set_away(true);
                    sleep(random.millis(300, 8000)).await;
                    cluster.store.set_away(false);
                }
            }
        });
    }
    if is_losing {
        sleep(random.millis(0, 8000)).await;
        cluster.store.lag();
        sleep(random.millis(1, 900)).await;
        cluster.store.lose_tail();
    }
    while tasks.join_next().await.is_some() {}
}

/// Checks that a session works at each node, because nothing goes wrong any more.
async fn conclude(visitor: &Visitor, cluster: &Cluster, random: &mut Random) {
    for node in cluster.nodes() {
        visitor.ping(node, random).await;
    }
    if !visitor.is_deleted() {
        let call = Call { steps: 2, pause: 300, ..Call::plain(format!("{}-last", visitor.number), "work") };
        visitor.clone().make(call, random.split()).await;
        let call = Call::plain(format!("{}-announce-last", visitor.number), "announce");
        visitor.clone().make(call, random.split()).await;
        sleep(TOLD).await;
        visitor.trespass(random).await;
        if random.chance(50) {
            visitor.delete(random).await;
        }
    }
    for node in cluster.nodes() {
        visitor.ping(node, random).await;
    }
}

/// Stops all nodes, and checks that nothing is left when all lives have passed.
pub(crate) async fn check_nothing_is_left(cluster: Cluster, history: &History) {
    let broken = |text: String| history.add(Event::Broken(text));
    for node in cluster.nodes() {
        cluster.stop(node).await;
    }
    // What a dead node still tries fails, and is given up.
    sleep(SESSION_IDLE * 5).await;
    let store = cluster.store.primary();
    drop(cluster);
    sleep(Duration::from_millis(1)).await;
    let tasks = Handle::current().metrics().num_alive_tasks();
    if tasks > 0 {
        broken(format!("C-10: {tasks} tasks are left"));
    }
    sleep(LONGEST_LIFE).await;
    leftovers(&store).await.into_iter().for_each(broken);
}

/// Returns what is left in a store, as a broken rule.
pub(crate) async fn leftovers(store: &MemoryStore) -> Option<String> {
    // Each call removes a few expired entries.
    for _ in 0..100 {
        store.run("", &Step::new().then(Operation::Entries("".into()))).await.unwrap();
    }
    let left = format!("{store:?}");
    let is_empty = left.contains("values: 0, maps: 0, logs: 0,");
    (!is_empty).then(|| format!("C-10: the store still has entries: {left}"))
}

/// How many nodes there are at first.
pub(crate) const NODES: usize = 3;
/// No run takes longer, on its own clock, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(6 * 3600);
/// What is on its way when things stop going wrong has arrived after this time.
const SETTLED: Duration = Duration::from_secs(30);
/// Nothing lives longer in the store: the log of changes is kept for an hour.
pub(crate) const LONGEST_LIFE: Duration = Duration::from_secs(2 * 60 * 60);
/// Within this time a change has been told.
const TOLD: Duration = Duration::from_secs(17);
