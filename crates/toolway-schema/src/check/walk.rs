//! Our own engine: how is a value checked against a schema?

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Number, Value};

use crate::model::{Additional, Arrays, Counts, Id, Model, Node, Numbers, Objects, Texts};
use crate::terms::number;
use crate::terms::types::Types;
use crate::texts::problem::{
    CHARACTERS, ITEMS, MEMBERS, Path, Problem, miscounted, not_among, shown, shown_with_kind,
};

/// One walk over a value and a schema.
pub(crate) struct Walk<'p> {
    nodes: &'p [Node],
    aim: Aim,
    /// The verdicts of shared nodes about a value, by the value's address. Without this cache, two branches that
    /// refer to the same definition would double the work at every level of the value.
    verdicts: HashMap<(Id, usize), bool>,
    told: HashSet<(Id, usize)>,
}

/// The purpose of a walk.
enum Aim {
    /// To find out whether anything is wrong; the walk ends at the first problem.
    Verdict {
        is_wrong: bool,
    },
    Problems(Vec<Problem>),
}

impl<'p> Walk<'p> {
    pub(crate) fn new(model: &'p Model) -> Self {
        Self {
            nodes: &model.nodes,
            aim: Aim::Verdict { is_wrong: false },
            verdicts: HashMap::new(),
            told: HashSet::new(),
        }
    }

    pub(crate) fn fits(&mut self, id: Id, value: &Value) -> bool {
        let aim = std::mem::replace(&mut self.aim, Aim::Verdict { is_wrong: false });
        self.node(id, value, &Path::Root);
        matches!(std::mem::replace(&mut self.aim, aim), Aim::Verdict { is_wrong: false })
    }

    pub(crate) fn problems(&mut self, id: Id, value: &Value, path: &Path<'_>) -> Vec<Problem> {
        self.aim = Aim::Problems(Vec::new());
        self.node(id, value, path);
        match std::mem::replace(&mut self.aim, Aim::Verdict { is_wrong: false }) {
            Aim::Problems(problems) => problems,
            Aim::Verdict { .. } => Vec::new(),
        }
    }

    fn is_over(&self) -> bool {
        match &self.aim {
            Aim::Verdict { is_wrong } => *is_wrong,
            Aim::Problems(problems) => problems.len() >= MOST_PROBLEMS,
        }
    }

    fn tell(&mut self, problem: impl FnOnce() -> Problem) {
        if self.is_over() {
            return;
        }
        match &mut self.aim {
            Aim::Verdict { is_wrong } => *is_wrong = true,
            Aim::Problems(problems) => {
                let problem = problem();
                if !problems.contains(&problem) {
                    problems.push(problem);
                }
            }
        }
    }

    fn complain(&mut self, path: &Path<'_>, complaint: impl FnOnce() -> String) {
        self.tell(|| Problem::at(path, &complaint()));
    }

    fn node(&mut self, id: Id, value: &Value, path: &Path<'_>) {
        let node = &self.nodes[id];
        if self.is_over() {
            return;
        }
        if !node.is_shared {
            return self.rules(node, value, path);
        }
        let meeting = (id, std::ptr::from_ref(value).addr());
        match &mut self.aim {
            Aim::Problems(_) => {
                if self.told.insert(meeting) {
                    self.rules(node, value, path);
                }
            }
            Aim::Verdict { is_wrong } => {
                if let Some(fits) = self.verdicts.get(&meeting) {
                    *is_wrong = !fits;
                    return;
                }
                self.rules(node, value, path);
                let fits = !self.is_over();
                self.verdicts.insert(meeting, fits);
            }
        }
    }

    fn rules(&mut self, node: &Node, value: &Value, path: &Path<'_>) {
        if !self.simple(node, value, path) {
            return;
        }
        match value {
            Value::Array(items) => {
                if let Some(rules) = &node.array {
                    self.array(rules, items, path);
                }
            }
            Value::Object(members) => {
                if let Some(rules) = &node.object {
                    self.object(rules, members, path);
                }
            }
            _ => {}
        }
        for part in &node.all_of {
            self.node(*part, value, path);
        }
        for branches in &node.any_of {
            if !self.is_over() && !branches.iter().any(|branch| self.fits(*branch, value)) {
                self.no_branch(branches, value, path);
            }
        }
        if !node.one_of.is_empty() && !self.is_over() {
            match node.one_of.iter().filter(|branch| self.fits(**branch, value)).take(2).count() {
                0 => self.no_branch(&node.one_of, value, path),
                1 => {}
                _ => {
                    let branches = describe_each(self.nodes, &node.one_of);
                    self.complain(path, || {
                        format!(
                            "expected exactly one of: {branches}, got {}, which matches several",
                            shown(value)
                        )
                    });
                }
            }
        }
        if let Some(not) = node.not
            && !self.is_over()
            && self.fits(not, value)
        {
            let nodes = self.nodes;
            self.complain(path, || {
                format!("expected anything but {}, got {}", describe(nodes, not), shown(value))
            });
        }
    }

    /// Checks the rules that do not depend on inner values. Returns `false` if the inner values need not be checked.
    fn simple(&mut self, node: &Node, value: &Value, path: &Path<'_>) -> bool {
        if node.is_never {
            self.complain(path, || format!("nothing is allowed here, got {}", shown_with_kind(value)));
            return false;
        }
        if let Some(types) = node.types.filter(|types| !types.contains(Types::of(value))) {
            self.complain(path, || format!("expected {}, got {}", types.in_words(), shown_with_kind(value)));
            return false;
        }
        if let Some(options) = &node.options
            && !options.iter().any(|option| number::equal(option, value))
        {
            self.complain(path, || not_among(&options.iter().collect::<Vec<_>>(), value));
            return false;
        }
        match (value, &node.number, &node.text) {
            (Value::Number(number), Some(rules), _) => {
                for complaint in number_complaints(rules, number) {
                    self.complain(path, || format!("expected {complaint}, got {number}"));
                }
            }
            (Value::String(text), _, Some(rules)) => self.text(rules, text, value, path),
            _ => {}
        }
        !self.is_over()
    }

    fn text(&mut self, rules: &Texts, text: &str, value: &Value, path: &Path<'_>) {
        if rules.count != Counts::default() {
            self.count(rules.count, text.chars().count(), CHARACTERS, path);
        }
        if let Some(pattern) = &rules.pattern
            && !pattern.is_match(text)
        {
            let source = &pattern.source;
            self.complain(path, || format!("expected text that matches `{source}`, got {}", shown(value)));
        }
        if let Some(format) = rules.format
            && !format.fits(text)
        {
            self.complain(path, || format!("expected {}, got {}", format.noun, shown(value)));
        }
    }

    fn count(&mut self, Counts { min, max }: Counts, count: usize, unit: [&str; 2], path: &Path<'_>) {
        if let Some(min) = min.filter(|min| (count as u64) < *min) {
            self.complain(path, || miscounted("at least", min, unit, count));
        }
        if let Some(max) = max.filter(|max| (count as u64) > *max) {
            self.complain(path, || miscounted("at most", max, unit, count));
        }
    }

    fn array(&mut self, rules: &Arrays, items: &[Value], path: &Path<'_>) {
        self.count(rules.count, items.len(), ITEMS, path);
        if rules.is_unique
            && !self.is_over()
            && let Some(repeated) = number::repeated(items)
        {
            self.complain(path, || format!("expected unique items, got {} twice", shown(repeated)));
        }
        let schemas = rules.prefix.iter().copied().map(Some).chain(std::iter::repeat(rules.items));
        for ((index, item), schema) in items.iter().enumerate().zip(schemas) {
            let Some(id) = schema else { break };
            if self.is_over() {
                break;
            }
            self.node(id, item, &path.item(index));
        }
    }

    fn object(&mut self, rules: &Objects, members: &Map<String, Value>, path: &Path<'_>) {
        for name in rules.required.iter().filter(|name| !members.contains_key(*name)) {
            self.tell(|| Problem::missing(&path.member(name)));
        }
        self.count(rules.count, members.len(), MEMBERS, path);
        for (name, member) in members {
            if self.is_over() {
                return;
            }
            let inside = path.member(name);
            let mut is_known = false;
            if let Some(id) = rules.properties.get(name) {
                is_known = true;
                // Models send `null` for members that they leave out.
                if !member.is_null() || rules.required.contains(name) {
                    self.node(*id, member, &inside);
                }
            }
            for (_, id) in rules.patterns.iter().filter(|(pattern, _)| pattern.is_match(name)) {
                is_known = true;
                self.node(*id, member, &inside);
            }
            match rules.additional {
                Additional::Schema(id) if !is_known => self.node(id, member, &inside),
                Additional::Nothing if !is_known => {
                    self.tell(|| Problem::unknown(path, name, rules.properties.keys().map(String::as_str)));
                }
                _ => {}
            }
        }
    }

    /// Reports that no branch fits, with the problems of the branch that was probably meant.
    fn no_branch(&mut self, branches: &[Id], value: &Value, path: &Path<'_>) {
        if matches!(self.aim, Aim::Verdict { .. }) {
            return self.complain(path, String::new);
        }
        let distances: Vec<_> = branches.iter().map(|branch| self.distance(*branch, value)).collect();
        let least = distances.iter().min().copied().unwrap_or(FAR);
        let nearest: Vec<_> = branches
            .iter()
            .zip(&distances)
            .filter(|(_, distance)| **distance == least)
            .map(|(id, _)| *id)
            .collect();
        match nearest.as_slice() {
            [meant] if least < FAR => self.node(*meant, value, path),
            _ => {
                let nodes = self.nodes;
                let options: Option<Vec<_>> = branches.iter().map(|id| nodes[*id].options.as_ref()).collect();
                self.complain(path, || match options {
                    Some(options) => not_among(&options.into_iter().flatten().collect::<Vec<_>>(), value),
                    None => {
                        let branches = describe_each(nodes, branches);
                        format!("expected one of: {branches}, got {}", shown_with_kind(value))
                    }
                });
            }
        }
    }

    /// Estimates how far a value is from a schema. The estimate looks no deeper than the members, because deeper checks
    /// would double the work at every level.
    fn distance(&mut self, id: Id, value: &Value) -> usize {
        let node = &self.nodes[id];
        if node.is_never || node.types.is_some_and(|types| !types.contains(Types::of(value))) {
            return FAR;
        }
        let mut sum = 0;
        if let Some(options) = &node.options
            && !options.iter().any(|option| number::equal(option, value))
        {
            sum += MARK;
        }
        match value {
            Value::Object(members) => {
                if let Some(rules) = &node.object {
                    sum += rules.required.iter().filter(|name| !members.contains_key(*name)).count();
                    for (name, member) in members {
                        match (rules.properties.get(name), &rules.additional) {
                            // As in `object`, a `null` for an optional member counts as missing.
                            (Some(_), _) if member.is_null() && !rules.required.contains(name) => {}
                            (Some(id), _) if !self.fits(*id, member) => {
                                // A member with a fixed list of values tells the branches apart.
                                sum += if self.nodes[*id].options.is_some() { MARK } else { 1 };
                            }
                            (None, Additional::Nothing) => sum += 1,
                            _ => {}
                        }
                    }
                }
            }
            Value::Array(items) => {
                if let Some(id) = node.array.as_ref().and_then(|rules| rules.items) {
                    sum += items.iter().take(MARK).filter(|item| !self.fits(id, item)).count();
                }
            }
            _ => {}
        }
        for part in &node.all_of {
            sum += self.distance(*part, value);
        }
        for branches in node.branches() {
            sum += branches.iter().map(|branch| self.distance(*branch, value)).min().unwrap_or(0);
        }
        sum.min(FAR)
    }
}

fn number_complaints(rules: &Numbers, number: &Number) -> Vec<String> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let mut complaints = Vec::new();
    let bounds = [
        (&rules.minimum, "at least", [Greater, Equal]),
        (&rules.maximum, "at most", [Less, Equal]),
        (&rules.above, "more than", [Greater, Greater]),
        (&rules.below, "less than", [Less, Less]),
    ];
    for (limit, words, fine) in bounds {
        if let Some(limit) = limit
            && number::compare(number, limit).is_none_or(|order| !fine.contains(&order))
        {
            complaints.push(format!("{words} {limit}"));
        }
    }
    let missed = rules.multiples.iter().filter(|step| !number::is_multiple(number, step));
    complaints.extend(missed.map(|step| format!("a multiple of {step}")));
    complaints
}

/// Describes in a few words what a schema requires.
fn describe(nodes: &[Node], id: Id) -> String {
    let node = &nodes[id];
    if let Some(options) = &node.options {
        return options.iter().map(shown).collect::<Vec<_>>().join(", ");
    }
    if let Some(types) = node.types {
        let members = match &node.object {
            Some(object) if types == Types::OBJECT && !object.required.is_empty() => {
                format!(" with `{}`", object.required.join("`, `"))
            }
            _ => String::new(),
        };
        return format!("{}{members}", types.in_words());
    }
    let inside = node.all_of.first().or_else(|| node.any_of.first()?.first()).or_else(|| node.one_of.first());
    inside.map_or_else(|| "something else".to_owned(), |id| describe(nodes, *id))
}

fn describe_each(nodes: &[Node], ids: &[Id]) -> String {
    let mut all: Vec<_> = ids.iter().map(|id| describe(nodes, *id)).collect();
    all.dedup();
    all.join(", ")
}

/// The maximum number of problems that are reported for one value.
pub const MOST_PROBLEMS: usize = 10;

/// The distance of a branch with a different type, which was certainly not meant.
const FAR: usize = 1000;

/// The distance of a wrong tag, which weighs as much as many wrong members.
const MARK: usize = 20;
