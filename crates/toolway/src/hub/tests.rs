//! Are joined names and URIs unique and reversible, whatever the names of servers and elements are?
//!
//! `SEED=7 cargo test -p toolway hub::tests` draws other inputs; a failure prints its seed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write;

use super::{NameRules, Names, Uris};

/// A reproducible source of random numbers (xorshift64*). A test that fails prints the seed and the number of the case.
struct Random {
    state: u64,
    seed: u64,
    number: u64,
}

impl Random {
    fn of(number: u64) -> Self {
        let seed = std::env::var("SEED").map_or(1, |seed| seed.parse::<u64>().unwrap());
        // Spreads consecutive numbers over distant states. State 0 is excluded, because xorshift never leaves it.
        let state = (seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        Self { state: state.max(1), seed, number }
    }

    fn next(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from((self.next() >> 32) % limit as u64).unwrap()
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Returns a text made of a few pieces, so that many texts are similar.
    fn text(&mut self, pieces: &[&str], longest: usize) -> String {
        (0..self.below(longest + 1)).map(|_| self.pick(pieces)).collect()
    }

    fn shuffle<T>(&mut self, all: &mut [T]) {
        for index in (1..all.len()).rev() {
            all.swap(index, self.below(index + 1));
        }
    }
}

impl Drop for Random {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = writeln!(std::io::stderr(), "that was case {} with SEED={}", self.number, self.seed);
        }
    }
}

const HOSTILE: [&str; 16] =
    ["a", "b", "_", "__", "-", ".", " ", "/", "é", "\0", "\u{202e}", "server", "🦀", "A", "_a", "x-aaaaaaaa"];

/// Creates servers and elements. Some names equal the joined name of another element, or a part of it.
fn hostile(random: &mut Random, rules: &NameRules) -> BTreeMap<String, Vec<String>> {
    let mut servers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for _ in 0..=random.below(12) {
        let longest = random.pick(&[2, 4, 40]);
        let server = random.text(&HOSTILE, longest);
        let elements = (0..random.below(40)).map(|_| random.text(&HOSTILE, longest)).collect();
        servers.insert(server, elements);
    }
    let names = joined(rules, &servers);
    let made: Vec<String> = names.iter().map(|(name, ..)| name.to_owned()).collect();
    for name in made.iter().take(20) {
        // Adds a server and tools that are named like the parts of a joined name.
        let (server, element) = name.split_once(&*rules.separator).unwrap();
        servers.entry(server.to_owned()).or_default().push(element.to_owned());
        for elements in servers.values_mut() {
            elements.extend([name.clone(), element.to_owned()]);
        }
    }
    servers
}

fn joined(rules: &NameRules, servers: &BTreeMap<String, Vec<String>>) -> Names {
    let mut names = Names::new(rules.clone()).unwrap();
    for (server, elements) in servers {
        names.set(server, elements.clone());
    }
    names
}

fn rules_of(random: &mut Random) -> NameRules {
    match random.below(6) {
        0..=2 => NameRules::default(),
        3 => NameRules::default().with_punctuation("_-").with_limit(32),
        4 => NameRules::default().with_separator("_").with_punctuation("_"),
        _ => NameRules::default().with_separator("/.").with_punctuation("/.").with_limit(100),
    }
}

/// Checks that each pair has a name, each name one pair, and that each name follows the rules.
fn check(names: &Names, rules: &NameRules, servers: &BTreeMap<String, Vec<String>>) -> usize {
    let pairs: HashSet<(&str, &str)> = servers
        .iter()
        .flat_map(|(server, elements)| elements.iter().map(|element| (&**server, &**element)))
        .collect();
    let mut seen = HashMap::new();
    for (server, element) in &pairs {
        let name = names.name(server, element).unwrap();
        assert_eq!(seen.insert(name, (server, element)), None, "{name:?} is taken");
        assert_eq!(names.route(name), Some((*server, *element)), "{name:?}");
        assert!(name.len() <= rules.limit, "{name:?}");
        let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || rules.punctuation.contains(letter);
        assert!(name.chars().all(is_allowed), "{name:?}");
        let plain = format!("{server}{}{element}", rules.separator);
        let is_short = server.len() <= rules.max_tag_len() && plain.len() <= rules.limit;
        let is_plain = rules.can_be_tag(server) && !element.is_empty() && element.chars().all(is_allowed);
        assert_eq!(name == plain, is_short && is_plain, "{name:?} of {server:?} and {element:?}");
    }
    assert_eq!(names.iter().count(), pairs.len(), "and there are no other names");
    pairs.len()
}

#[test]
fn joined_names_never_collide_and_lead_back() {
    let mut pairs = 0;
    for number in 0..150 {
        let mut random = Random::of(number);
        let rules = rules_of(&mut random);
        let servers = hostile(&mut random, &rules);
        pairs += check(&joined(&rules, &servers), &rules, &servers);
    }
    assert!(pairs > 30_000, "{pairs} pairs are few");
}

#[test]
fn the_order_in_which_servers_come_and_go_does_not_matter() {
    for number in 0..60 {
        let mut random = Random::of(number);
        let rules = rules_of(&mut random);
        let servers = hostile(&mut random, &rules);
        let expected = joined(&rules, &servers);
        let mut order: Vec<_> = servers.iter().collect();
        random.shuffle(&mut order);
        let mut names = Names::new(rules.clone()).unwrap();
        let passing = random.text(&HOSTILE, 3);
        for (index, (server, elements)) in order.into_iter().enumerate() {
            let mut elements = elements.clone();
            random.shuffle(&mut elements);
            // In the meantime, other servers are added and removed, and servers change their elements.
            if index == 2 && !servers.contains_key(&passing) {
                names.set(&passing, ["a", "b"]);
            }
            names.set(server, ["before"]);
            names.set(server, elements);
        }
        if !servers.contains_key(&passing) {
            names.remove(&passing);
        }
        let listed = |names: &Names| {
            let mut all: Vec<_> = names
                .iter()
                .map(|(name, server, element)| [name, server, element].map(str::to_owned))
                .collect();
            all.sort();
            all
        };
        assert_eq!(listed(&names), listed(&expected));
        check(&names, &rules, &servers);
    }
}

#[test]
fn names_do_not_collide_when_every_hash_does() {
    // Nearly all hashes are equal: only the attempt number distinguishes names.
    let rules = NameRules::default();
    let mut names = Names::with_hash(rules.clone(), |_, attempt| u64::from(attempt / 2));
    let mut servers = BTreeMap::new();
    for index in 0..40 {
        let server = format!("a server {}", "!".repeat(index));
        let elements: Vec<_> = (0..40).map(|index| format!("tool {}", "?".repeat(index))).collect();
        names.set(&server, elements.clone());
        servers.insert(server, elements);
    }
    check(&names, &rules, &servers);
}

#[test]
fn another_server_renames_nothing_unless_it_takes_a_name() {
    let mut names = Names::default();
    names
        .set("my server", ["search", "a tool with a name that is too long to be kept in sixty-four letters"]);
    names.set("a", ["b__c"]);
    let before: Vec<String> = names.iter().map(|(name, ..)| name.to_owned()).collect();
    let tag =
        before.iter().find(|name| name.ends_with("__search")).unwrap().split("__").next().unwrap().to_owned();
    assert!(tag.starts_with("my-server-"), "{tag}");
    for server in ["a__b", "my-server", "my_server", "", "my server "] {
        names.set(server, ["c", "search"]);
    }
    assert!(before.iter().all(|name| names.route(name).is_some()));
    assert_eq!(names.route("a__b__c"), Some(("a", "b__c")));
    assert_eq!(names.route("my-server__search"), Some(("my-server", "search")));
    // A true collision: a server whose original name equals the hashed tag of another server keeps its name.
    names.set(&tag, ["search"]);
    assert_eq!(names.name(&tag, "search"), Some(&*format!("{tag}__search")));
    assert_ne!(names.name("my server", "search"), names.name(&tag, "search"));
    let other = names.name("my server", "search").unwrap().to_owned();
    assert_eq!(names.route(&other), Some(("my server", "search")));
    // The collision ends when the server with that original name is removed.
    names.remove(&tag);
    assert_eq!(names.name("my server", "search"), Some(&*format!("{tag}__search")));
}

#[test]
fn hashes_are_the_same_for_ever() {
    let names = Names::from_iter([("my server", "search"), ("a", "läuft")]);
    assert_eq!(names.name("my server", "search"), Some("my-server-6lpmcu74__search"));
    assert_eq!(names.name("a", "läuft"), Some("a__l-uft-ddueudjx"));
}

#[test]
fn rules_that_cannot_work_are_refused() {
    for rules in [
        NameRules::default().with_separator(""),
        NameRules::default().with_separator("x"),
        NameRules::default().with_separator("__").with_punctuation("-"),
        NameRules::default().with_separator("_________"),
        NameRules::default().with_punctuation("_ "),
        NameRules::default().with_punctuation("_é"),
        NameRules::default().with_limit(31),
        NameRules::default().with_limit(0),
    ] {
        assert!(Names::new(rules.clone()).is_err(), "{rules:?}");
    }
}

const URI_PIECES: [&str; 14] =
    ["a", "b", "/", "file:///", "hub://", "a/", "hub:", "https://x/", "é", "{a}", "{+b}", ":", "ui://", "x"];

#[derive(Default, Clone)]
struct Listed {
    resources: Vec<String>,
    templates: Vec<String>,
}

fn listing(random: &mut Random) -> BTreeMap<String, Listed> {
    let mut servers: BTreeMap<String, Listed> = BTreeMap::new();
    for _ in 0..=random.below(6) {
        let server = random.text(&["a", "b", "_", "/", "é"], 3);
        let resources = (0..random.below(30)).map(|_| random.text(&URI_PIECES, 4)).collect();
        let templates = (0..random.below(6)).map(|_| random.text(&URI_PIECES, 4)).collect();
        servers.insert(server, Listed { resources, templates });
    }
    servers
}

fn uris_of<'s>(servers: impl IntoIterator<Item = (&'s String, &'s Listed)>) -> Uris {
    let mut uris = Uris::default();
    for (server, listed) in servers {
        uris.set(server, listed.resources.clone(), listed.templates.clone());
    }
    uris
}

#[test]
fn uris_never_collide_and_lead_back() {
    let (mut kept, mut wrapped) = (0, 0);
    for number in 0..2_000 {
        let mut random = Random::of(number);
        let servers = listing(&mut random);
        let uris = uris_of(&servers);
        let mut seen = HashMap::new();
        for (server, listed) in &servers {
            let unlisted: Vec<_> = (0..10).map(|_| random.text(&URI_PIECES, 4)).collect();
            let all: HashSet<_> = listed.resources.iter().chain(&unlisted).collect();
            for uri in all {
                let here = uris.uri(server, uri).unwrap();
                assert_eq!(uris.route(&here), Some((&**server, &**uri)), "{here:?}");
                assert_eq!(seen.insert(here.clone(), (server, uri.clone())), None, "{here:?} is taken");
                if here == *uri { kept += 1 } else { wrapped += 1 }
            }
        }
        // The expansion of a template belongs to its server, whatever the values of the variables are.
        for (server, listed) in &servers {
            for template in &listed.templates {
                let values = random.text(&URI_PIECES, 3).replace(['{', '}'], "");
                let here = uris.template(server, template).unwrap();
                let expand = |text: &str| text.replace("{a}", "aa").replace("{+b}", &values);
                let expected = (&**server, &*expand(template));
                assert_eq!(uris.route(&expand(&here)), Some(expected), "{here:?} of {template:?}");
            }
        }
    }
    assert!(kept > 5_000 && wrapped > 5_000, "{kept} kept, {wrapped} wrapped");
}

#[test]
fn two_templates_of_two_servers_are_never_called_the_same() {
    for number in 0..500 {
        let mut random = Random::of(number);
        let servers = listing(&mut random);
        let uris = uris_of(&servers);
        let mut seen = HashMap::new();
        for (server, listed) in &servers {
            for template in listed.templates.iter().collect::<HashSet<_>>() {
                let here = uris.template(server, template).unwrap();
                assert_eq!(seen.insert(here.clone(), (server, template)), None, "{here:?} is taken");
            }
        }
    }
}

#[test]
fn uris_do_not_depend_on_the_order_in_which_servers_come() {
    for number in 0..300 {
        let mut random = Random::of(number);
        let servers = listing(&mut random);
        let mut order: Vec<_> = servers.iter().collect();
        random.shuffle(&mut order);
        let (one, mut other) = (uris_of(&servers), uris_of(order));
        if !servers.contains_key("passing") {
            other.set("passing", ["file:///a"], ["ui://{a}"]);
            other.remove("passing");
        }
        for (server, listed) in &servers {
            for uri in &listed.resources {
                assert_eq!(one.uri(server, uri), other.uri(server, uri));
            }
            for template in &listed.templates {
                assert_eq!(one.template(server, template), other.template(server, template));
            }
        }
    }
}

#[test]
fn a_server_cannot_take_what_another_has() {
    let mut uris = Uris::default();
    uris.set("bank", ["bank://accounts"], ["bank://accounts/{id}"]);
    uris.set("notes", ["notes://all"], ["notes://{id}"]);
    assert_eq!(uris.route("bank://accounts/7"), Some(("bank", "bank://accounts/7")));
    for (resources, templates) in [
        (vec!["bank://accounts/7"], vec![]),
        (vec![], vec!["bank://{+rest}"]),
        (vec![], vec!["bank://accounts/{id}/{more}"]),
    ] {
        uris.set("evil", resources, templates);
        assert_eq!(uris.route("bank://accounts/7"), None, "two claim it");
        let here = uris.template("bank", "bank://accounts/{id}").unwrap();
        assert_eq!(here, "hub://bank/bank://accounts/{id}");
        assert_eq!(uris.route("hub://bank/bank://accounts/7"), Some(("bank", "bank://accounts/7")));
        assert_eq!(uris.template("notes", "notes://{id}").as_deref(), Some("notes://{id}"), "others stay");
    }
    // A template claims no URIs if it has no scheme before its first `{`, or if it begins like `hub://`.
    uris.set("evil", [""; 0], ["{+uri}", "bank{x}", "hub://bank/{+x}", "hub:{x}"]);
    assert_eq!(uris.route("bank://accounts/7"), Some(("bank", "bank://accounts/7")));
    assert_eq!(uris.route("hub://bank/x"), Some(("bank", "x")));
    assert_eq!(uris.template("evil", "hub:{x}").as_deref(), Some("hub://evil/hub:{x}"));
    assert_eq!(uris.template("evil", "{+uri}").as_deref(), Some("hub://evil/{+uri}"));
    assert_eq!(uris.uri("nobody", "bank://accounts"), None);
}

#[test]
fn a_uri_is_found_by_the_template_it_begins_like_whatever_stands_between() {
    let mut uris = Uris::default();
    uris.set(
        "files",
        ["file:///a/b"],
        ["file:///{+path}", "file:///a/b/{c}", "file:///a/bb{c}", "file:///a/b/c{d}"],
    );
    uris.set("notes", [""; 0], ["filf://{a}", "file{a}", "fil://{a}"]);
    for uri in [
        "file:///",
        "file:///a/b",
        "file:///a/c",
        "file:///a/b/d",
        "file:///a/ba",
        "file:///zzz",
        "file:///ü",
    ] {
        assert_eq!(uris.route(uri), Some(("files", uri)), "{uri}");
    }
    for uri in ["file:", "file://", "fild:///", "", "zzz", "ü"] {
        assert_eq!(uris.route(uri), None, "{uri}");
    }
    assert_eq!(uris.route("filf://x"), Some(("notes", "filf://x")));
}

#[test]
fn a_hub_can_be_a_server_of_another_hub() {
    let mut inner = Uris::default();
    inner.set("docs", ["file:///readme"], [""; 0]);
    inner.set("notes", ["file:///readme"], [""; 0]);
    let there = inner.uri("docs", "file:///readme").unwrap();
    let mut outer = Uris::default();
    outer.set("docs", [there.clone()], [""; 0]);
    let here = outer.uri("docs", &there).unwrap();
    assert_eq!(here, "hub://docs/hub://docs/file:///readme");
    assert_eq!(outer.route(&here), Some(("docs", &*there)));
}
