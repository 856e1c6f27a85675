//! Our own engine: how is a value checked against a schema?

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Number, Value};

use crate::model::{
    Additional, ArrayRules, CountLimits, Id, Model, Node, NumberRules, ObjectRules, TextRules,
};
use crate::terms::number;
use crate::terms::types::Types;
use crate::texts::problem::{
    CHARACTERS, ITEMS, MEMBERS, Path, Problem, not_one_of, preview, preview_with_type, wrong_count,
};

/// One walk over a value and a schema.
pub(crate) struct Walk<'p> {
    nodes: &'p [Node],
    output: WalkOutput,
    /// The verdicts of shared nodes about a value, by the value's address. Without this cache, two branches that
    /// refer to the same definition would double the work at every level of the value.
    verdicts: HashMap<(Id, usize), bool>,
    reported: HashSet<(Id, usize)>,
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
        }
    }

    pub(crate) fn fits(&mut self, id: Id, value: &Value) -> bool {
        let aim = std::mem::replace(&mut self.output, WalkOutput::Verdict { is_wrong: false });
        self.node(id, value, &Path::Root);
        matches!(std::mem::replace(&mut self.output, aim), WalkOutput::Verdict { is_wrong: false })
    }

    pub(crate) fn problems(&mut self, id: Id, value: &Value, path: &Path<'_>) -> Vec<Problem> {
        self.output = WalkOutput::Problems(Vec::new());
        self.node(id, value, path);
        match std::mem::replace(&mut self.output, WalkOutput::Verdict { is_wrong: false }) {
            WalkOutput::Problems(problems) => problems,
            WalkOutput::Verdict { .. } => Vec::new(),
        }
    }

    fn is_done(&self) -> bool {
        match &self.output {
            WalkOutput::Verdict { is_wrong } => *is_wrong,
            WalkOutput::Problems(problems) => problems.len() >= MAX_PROBLEMS,
        }
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
        if self.is_done() {
            return;
        }
        if !node.is_shared {
            return self.rules(node, value, path);
        }
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
            if !self.is_done() && !branches.iter().any(|branch| self.fits(*branch, value)) {
                self.report_no_branch(branches, value, path);
            }
        }
        if !node.one_of.is_empty() && !self.is_done() {
            match node.one_of.iter().filter(|branch| self.fits(**branch, value)).take(2).count() {
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
            && self.fits(not, value)
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
        if rules.count != CountLimits::default() {
            self.count(rules.count, text.chars().count(), CHARACTERS, path);
        }
        if let Some(pattern) = &rules.pattern
            && !pattern.is_match(text)
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
            for (_, id) in rules.patterns.iter().filter(|(pattern, _)| pattern.is_match(name)) {
                is_known = true;
                self.node(*id, member, &inside);
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
        let distances: Vec<_> = branches.iter().map(|branch| self.distance(*branch, value)).collect();
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
    fn distance(&mut self, id: Id, value: &Value) -> usize {
        let node = &self.nodes[id];
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
                        match (rules.properties.get(name), &rules.additional) {
                            // As in `object`, a `null` for an optional member counts as missing.
                            (Some(_), _) if member.is_null() && !rules.required.contains(name) => {}
                            (Some(id), _) if !self.fits(*id, member) => {
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
                    sum += items.iter().take(WRONG_TAG_DISTANCE).filter(|item| !self.fits(id, item)).count();
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
        return options.iter().map(preview).collect::<Vec<_>>().join(", ");
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
    all.join(", ")
}

/// The maximum number of problems that are reported for one value.
pub const MAX_PROBLEMS: usize = 10;

/// The distance of a branch with a different type, which was certainly not meant.
const WRONG_TYPE_DISTANCE: usize = 1000;

/// The distance of a wrong tag, which weighs as much as many wrong members.
const WRONG_TAG_DISTANCE: usize = 20;
