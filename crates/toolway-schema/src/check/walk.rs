//! Our own engine: how is a value checked against a schema?

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Number, Value};

use crate::model::{
    Additional, ArrayRules, CountLimits, Id, Model, Node, NumberRules, ObjectRules, Pattern, TextRules,
};
use crate::terms::number;
use crate::terms::types::Types;
use crate::terms::work::{Budget, STEP};
use crate::texts::problem::{
    CHARACTERS, ITEMS, MEMBERS, Path, Problem, join_first, not_one_of, preview, preview_with_type, truncate,
    wrong_count,
};

/// One walk over a value and a schema.
pub(crate) struct Walk<'p> {
    nodes: &'p [Node],
    output: WalkOutput,
    /// The verdicts of shared nodes about a value, by the value's address. Without this cache, two branches that
    /// refer to the same definition would double the work at every level of the value.
    verdicts: HashMap<(Id, usize), bool>,
    reported: HashSet<(Id, usize)>,
    /// The distances of shared nodes from a value, as `verdicts`.
    distances: HashMap<(Id, usize), usize>,
    budget: Budget,
    /// The number of nodes that are being checked, one inside the other.
    depth: usize,
    /// The problem of a value that takes too much work. It ends the walk, whatever the walk is about.
    excess: Option<Problem>,
}

/// The purpose of a walk.
enum WalkOutput {
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
            output: WalkOutput::Verdict { is_wrong: false },
            verdicts: HashMap::new(),
            reported: HashSet::new(),
            distances: HashMap::new(),
            budget: Budget::new(),
            depth: 0,
            excess: None,
        }
    }

    /// Returns whether a value fits. A value that takes too much work does not.
    pub(crate) fn fits(&mut self, id: Id, value: &Value, path: &Path<'_>) -> bool {
        let aim = std::mem::replace(&mut self.output, WalkOutput::Verdict { is_wrong: false });
        self.node(id, value, path);
        let output = std::mem::replace(&mut self.output, aim);
        self.excess.is_none() && matches!(output, WalkOutput::Verdict { is_wrong: false })
    }

    /// Returns whether a value is known not to fit.
    pub(crate) fn excludes(&mut self, id: Id, value: &Value) -> bool {
        !self.fits(id, value, &Path::Root) && self.excess.is_none()
    }

    /// Returns the problems of a value that does not fit.
    pub(crate) fn problems(&mut self, id: Id, value: &Value, path: &Path<'_>) -> Vec<Problem> {
        self.budget = Budget::new();
        self.output = WalkOutput::Problems(Vec::new());
        self.node(id, value, path);
        let output = std::mem::replace(&mut self.output, WalkOutput::Verdict { is_wrong: false });
        match (self.excess.take(), output) {
            (None, WalkOutput::Problems(problems)) => problems,
            (excess, _) => Vec::from_iter(excess),
        }
    }

    fn is_done(&self) -> bool {
        self.excess.is_some()
            || match &self.output {
                WalkOutput::Verdict { is_wrong } => *is_wrong,
                WalkOutput::Problems(problems) => problems.len() >= MAX_PROBLEMS,
            }
    }

    /// Pays for some work. Ends the walk and returns `false` if it must not be done.
    fn spend(&mut self, work: u64, path: &Path<'_>) -> bool {
        let is_paid = self.budget.spend(work);
        if !is_paid {
            self.excess.get_or_insert_with(|| Problem::at(path, TOO_MUCH_WORK));
        }
        is_paid
    }

    fn report(&mut self, problem: impl FnOnce() -> Problem) {
        if self.is_done() {
            return;
        }
        match &mut self.output {
            WalkOutput::Verdict { is_wrong } => *is_wrong = true,
            WalkOutput::Problems(problems) => {
                let problem = problem();
                if !problems.contains(&problem) {
                    problems.push(problem);
                }
            }
        }
    }

    fn report_at(&mut self, path: &Path<'_>, complaint: impl FnOnce() -> String) {
        self.report(|| Problem::at(path, &complaint()));
    }

    fn node(&mut self, id: Id, value: &Value, path: &Path<'_>) {
        let node = &self.nodes[id];
        let work = if node.is_shared { SHARED_NODE_WORK } else { STEP };
        if self.is_done() || !self.spend(work, path) {
            return;
        }
        if self.depth == MAX_DEPTH {
            self.excess = Some(Problem::at(path, TOO_DEEP));
            return;
        }
        self.depth += 1;
        if node.is_shared {
            self.shared_node(id, node, value, path);
        } else {
            self.rules(node, value, path);
        }
        self.depth -= 1;
    }

    fn shared_node(&mut self, id: Id, node: &Node, value: &Value, path: &Path<'_>) {
        let meeting = (id, std::ptr::from_ref(value).addr());
        match &mut self.output {
            WalkOutput::Problems(_) => {
                if self.reported.insert(meeting) {
                    self.rules(node, value, path);
                }
            }
            WalkOutput::Verdict { is_wrong } => {
                if let Some(fits) = self.verdicts.get(&meeting) {
                    *is_wrong = !fits;
                    return;
                }
                self.rules(node, value, path);
                let fits = !self.is_done();
                self.verdicts.insert(meeting, fits);
            }
        }
    }

    fn rules(&mut self, node: &Node, value: &Value, path: &Path<'_>) {
        if !self.check_simple_rules(node, value, path) {
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
            if !self.is_done() && !branches.iter().any(|branch| self.fits(*branch, value, path)) {
                self.report_no_branch(branches, value, path);
            }
        }
        if !node.one_of.is_empty() && !self.is_done() {
            match node.one_of.iter().filter(|branch| self.fits(**branch, value, path)).take(2).count() {
                0 => self.report_no_branch(&node.one_of, value, path),
                1 => {}
                _ => {
                    let branches = describe_each(self.nodes, &node.one_of);
                    self.report_at(path, || {
                        format!(
                            "expected exactly one of: {branches}, got {}, which matches several",
                            preview(value)
                        )
                    });
                }
            }
        }
        if let Some(not) = node.not
            && !self.is_done()
            && self.fits(not, value, path)
        {
            let nodes = self.nodes;
            self.report_at(path, || {
                format!("expected anything but {}, got {}", describe(nodes, not), preview(value))
            });
        }
    }

    /// Checks the rules that do not depend on inner values. Returns `false` if the inner values need not be checked.
    fn check_simple_rules(&mut self, node: &Node, value: &Value, path: &Path<'_>) -> bool {
        if node.is_never {
            self.report_at(path, || format!("nothing is allowed here, got {}", preview_with_type(value)));
            return false;
        }
        if let Some(types) = node.types.filter(|types| !types.contains(Types::of(value))) {
            self.report_at(path, || {
                format!("expected {}, got {}", types.describe(), preview_with_type(value))
            });
            return false;
        }
        if let Some(options) = &node.allowed
            && self.spend(STEP * options.len() as u64, path)
            && !options.iter().any(|option| number::are_equal(option, value))
        {
            self.report_at(path, || not_one_of(&options.iter().collect::<Vec<_>>(), value));
            return false;
        }
        match (value, &node.number, &node.text) {
            (Value::Number(number), Some(rules), _) => {
                for complaint in number_complaints(rules, number) {
                    self.report_at(path, || format!("expected {complaint}, got {number}"));
                }
            }
            (Value::String(text), _, Some(rules)) => self.text(rules, text, value, path),
            _ => {}
        }
        !self.is_done()
    }

    fn text(&mut self, rules: &TextRules, text: &str, value: &Value, path: &Path<'_>) {
        let is_counted = rules.count != CountLimits::default() || rules.pattern.is_some();
        let length = if is_counted { text.chars().count() } else { 0 };
        self.count(rules.count, length, CHARACTERS, path);
        // A text that is too long need not match: `maxLength` protects the pattern.
        let is_too_long = rules.count.max.is_some_and(|max| length as u64 > max);
        if let Some(pattern) = rules.pattern.as_ref().filter(|_| !is_too_long)
            && !self.matches(pattern, text, length, path)
        {
            let source = &pattern.source;
            self.report_at(path, || format!("expected text that matches `{source}`, got {}", preview(value)));
        }
        if let Some(format) = rules.format
            && !format.fits(text)
        {
            self.report_at(path, || format!("expected {}, got {}", format.noun, preview(value)));
        }
    }

    /// Returns whether a text matches a pattern. A text that takes too much work does not.
    fn matches(&mut self, pattern: &Pattern, text: &str, length: usize, path: &Path<'_>) -> bool {
        let Some(compiled) = &pattern.compiled else { return false };
        let length = length as u64;
        if length > compiled.max_characters() {
            self.excess = Some(Problem::at(
                path,
                &format!(
                    "expected at most {} characters, because matching `{}` takes too long for a longer text, got {length}",
                    compiled.max_characters(),
                    truncate(&pattern.source)
                ),
            ));
            return false;
        }
        self.spend(compiled.work(length), path) && compiled.is_match(text)
    }

    fn count(
        &mut self,
        CountLimits { min, max }: CountLimits,
        count: usize,
        unit: [&str; 2],
        path: &Path<'_>,
    ) {
        if let Some(min) = min.filter(|min| (count as u64) < *min) {
            self.report_at(path, || wrong_count("at least", min, unit, count));
        }
        if let Some(max) = max.filter(|max| (count as u64) > *max) {
            self.report_at(path, || wrong_count("at most", max, unit, count));
        }
    }

    fn array(&mut self, rules: &ArrayRules, items: &[Value], path: &Path<'_>) {
        self.count(rules.count, items.len(), ITEMS, path);
        if rules.is_unique
            && !self.is_done()
            && let Some(repeated) = number::find_duplicate(items)
        {
            self.report_at(path, || format!("expected unique items, got {} twice", preview(repeated)));
        }
        let schemas = rules.prefix.iter().copied().map(Some).chain(std::iter::repeat(rules.items));
        for ((index, item), schema) in items.iter().enumerate().zip(schemas) {
            let Some(id) = schema else { break };
            if self.is_done() {
                break;
            }
            self.node(id, item, &path.item(index));
        }
    }

    fn object(&mut self, rules: &ObjectRules, members: &Map<String, Value>, path: &Path<'_>) {
        for name in rules.required.iter().filter(|name| !members.contains_key(*name)) {
            self.report(|| Problem::missing(&path.member(name)));
        }
        self.count(rules.count, members.len(), MEMBERS, path);
        for (name, member) in members {
            if self.is_done() {
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
            for (pattern, id) in &rules.patterns {
                if self.matches(pattern, name, name.chars().count(), &inside) {
                    is_known = true;
                    self.node(*id, member, &inside);
                }
            }
            match rules.additional {
                Additional::Schema(id) if !is_known => self.node(id, member, &inside),
                Additional::Nothing if !is_known => {
                    self.report(|| Problem::unknown(path, name, rules.properties.keys().map(String::as_str)));
                }
                _ => {}
            }
        }
    }

    /// Reports that no branch fits, with the problems of the branch that was probably meant.
    fn report_no_branch(&mut self, branches: &[Id], value: &Value, path: &Path<'_>) {
        if matches!(self.output, WalkOutput::Verdict { .. }) {
            return self.report_at(path, String::new);
        }
        let distances: Vec<_> = branches.iter().map(|branch| self.distance(*branch, value, path)).collect();
        let least = distances.iter().min().copied().unwrap_or(WRONG_TYPE_DISTANCE);
        let nearest: Vec<_> = branches
            .iter()
            .zip(&distances)
            .filter(|(_, distance)| **distance == least)
            .map(|(id, _)| *id)
            .collect();
        match nearest.as_slice() {
            [meant] if least < WRONG_TYPE_DISTANCE => self.node(*meant, value, path),
            _ => {
                let nodes = self.nodes;
                let options: Option<Vec<_>> = branches.iter().map(|id| nodes[*id].allowed.as_ref()).collect();
                self.report_at(path, || match options {
                    Some(options) => not_one_of(&options.into_iter().flatten().collect::<Vec<_>>(), value),
                    None => {
                        let branches = describe_each(nodes, branches);
                        format!("expected one of: {branches}, got {}", preview_with_type(value))
                    }
                });
            }
        }
    }

    /// Estimates how far a value is from a schema. The estimate looks no deeper than the members, because deeper checks
    /// would double the work at every level.
    fn distance(&mut self, id: Id, value: &Value, path: &Path<'_>) -> usize {
        let node = &self.nodes[id];
        if !node.is_shared {
            return self.distance_of_node(node, value, path);
        }
        let meeting = (id, std::ptr::from_ref(value).addr());
        if let Some(distance) = self.distances.get(&meeting) {
            return *distance;
        }
        let distance = self.distance_of_node(node, value, path);
        self.distances.insert(meeting, distance);
        distance
    }

    fn distance_of_node(&mut self, node: &Node, value: &Value, path: &Path<'_>) -> usize {
        if !self.spend(if node.is_shared { SHARED_NODE_WORK } else { STEP }, path) {
            return WRONG_TYPE_DISTANCE;
        }
        if node.is_never || node.types.is_some_and(|types| !types.contains(Types::of(value))) {
            return WRONG_TYPE_DISTANCE;
        }
        let mut sum = 0;
        if let Some(options) = &node.allowed
            && !options.iter().any(|option| number::are_equal(option, value))
        {
            sum += WRONG_TAG_DISTANCE;
        }
        match value {
            Value::Object(members) => {
                if let Some(rules) = &node.object {
                    sum += rules.required.iter().filter(|name| !members.contains_key(*name)).count();
                    for (name, member) in members {
                        if !self.spend(STEP, path) {
                            break;
                        }
                        match (rules.properties.get(name), &rules.additional) {
                            // As in `object`, a `null` for an optional member counts as missing.
                            (Some(_), _) if member.is_null() && !rules.required.contains(name) => {}
                            (Some(id), _) if !self.fits(*id, member, &path.member(name)) => {
                                // A member with a fixed list of values tells the branches apart.
                                sum += if self.nodes[*id].allowed.is_some() { WRONG_TAG_DISTANCE } else { 1 };
                            }
                            (None, Additional::Nothing) => sum += 1,
                            _ => {}
                        }
                    }
                }
            }
            Value::Array(items) => {
                if let Some(id) = node.array.as_ref().and_then(|rules| rules.items) {
                    sum += items
                        .iter()
                        .take(WRONG_TAG_DISTANCE)
                        .filter(|item| !self.fits(id, item, path))
                        .count();
                }
            }
            _ => {}
        }
        for part in &node.all_of {
            sum += self.distance(*part, value, path);
        }
        for branches in node.branches() {
            sum += branches.iter().map(|branch| self.distance(*branch, value, path)).min().unwrap_or(0);
        }
        sum.min(WRONG_TYPE_DISTANCE)
    }
}

fn number_complaints(rules: &NumberRules, number: &Number) -> Vec<String> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let mut complaints = Vec::new();
    let bounds = [
        (&rules.minimum, "at least", [Greater, Equal]),
        (&rules.maximum, "at most", [Less, Equal]),
        (&rules.exclusive_minimum, "more than", [Greater, Greater]),
        (&rules.exclusive_maximum, "less than", [Less, Less]),
    ];
    for (limit, words, fine) in bounds {
        if let Some(limit) = limit
            && number::compare(number, limit).is_none_or(|order| !fine.contains(&order))
        {
            complaints.push(format!("{words} {limit}"));
        }
    }
    let missed = rules.multiple_of.iter().filter(|step| !number::is_multiple(number, step));
    complaints.extend(missed.map(|step| format!("a multiple of {step}")));
    complaints
}

/// Describes in a few words what a schema requires.
fn describe(nodes: &[Node], id: Id) -> String {
    let node = &nodes[id];
    if let Some(options) = &node.allowed {
        return join_first(options, preview);
    }
    if let Some(types) = node.types {
        let members = match &node.object {
            Some(object) if types == Types::OBJECT && !object.required.is_empty() => {
                format!(" with `{}`", object.required.join("`, `"))
            }
            _ => String::new(),
        };
        return format!("{}{members}", types.describe());
    }
    let inside = node.all_of.first().or_else(|| node.any_of.first()?.first()).or_else(|| node.one_of.first());
    inside.map_or_else(|| "something else".to_owned(), |id| describe(nodes, *id))
}

fn describe_each(nodes: &[Node], ids: &[Id]) -> String {
    let mut all: Vec<_> = ids.iter().map(|id| describe(nodes, *id)).collect();
    all.dedup();
    join_first(&all, String::clone)
}

/// The maximum number of problems that are reported for one value.
pub const MAX_PROBLEMS: usize = 10;

pub(super) const TOO_MUCH_WORK: &str = "checking it takes too long: send fewer or shorter values";

const TOO_DEEP: &str = "it is nested too deeply to be checked";

/// The maximum number of nodes that are checked one inside the other. The parser limits the depth of values, and
/// `model/` how many nodes apply to one value; together they would still overflow the stack.
const MAX_DEPTH: usize = 1000;

/// The work of a shared node, whose verdict is kept in a table.
const SHARED_NODE_WORK: u64 = 256;

/// The distance of a branch with a different type, which was certainly not meant.
const WRONG_TYPE_DISTANCE: usize = 1000;

/// The distance of a wrong tag, which weighs as much as many wrong members.
const WRONG_TAG_DISTANCE: usize = 20;
