//! What follows from the operations of a step: must it be confirmed, and does a refused repeat mean anything?

use toolway_store::{Append, Condition, Operation, Outcome, Step};

/// Returns whether losing a step after it was done would break a promise: values, entries, deletions and ends. What is
/// only renewed can be renewed again, and entries of a log are written again by their writer.
pub(crate) fn must_be_confirmed(step: &Step) -> bool {
    step.operations.iter().any(|operation| {
        matches!(
            operation,
            Operation::Put { .. }
                | Operation::Delete(_)
                | Operation::Enter { .. }
                | Operation::Leave { .. }
                | Operation::Clear(_)
                | Operation::Append(Append { ends: true, .. })
        )
    })
}

/// Returns whether a repeated step may have been refused only because it was done the first time.
pub(crate) fn is_ambiguous(step: &Step, outcome: &Outcome) -> bool {
    let Outcome::Refused { condition, holder } = outcome else { return false };
    let Some(condition) = step.conditions.get(*condition) else { return false };
    step.operations.iter().any(|operation| match (condition, operation) {
        (
            Condition::Exists(key) | Condition::Absent(key) | Condition::HasVersion(key, _),
            Operation::Put { key: changed, .. } | Operation::Delete(changed),
        ) => key == changed,
        (Condition::Free { map, key, .. }, Operation::Enter { map: changed, key: entered, value, .. }) => {
            map == changed && key == entered && holder.as_ref() == Some(value)
        }
        (
            Condition::ReadBy { log, .. },
            Operation::SetReader { log: changed, .. } | Operation::DeleteLog(changed),
        ) => log == changed,
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use toolway_store::Version;

    use super::*;

    fn put(key: &'static str) -> Operation {
        Operation::Put {
            key: key.into(),
            value: Bytes::new(),
            version: Version(1),
            ttl: Duration::from_secs(1),
        }
    }

    #[test]
    fn a_repeat_that_meets_its_own_value_is_ambiguous() {
        let refused = Outcome::Refused { condition: 0, holder: None };
        let step = Step::new().when(Condition::Absent("a".into())).then(put("a"));
        assert!(is_ambiguous(&step, &refused));
        let step = Step::new().when(Condition::Exists("a".into())).then(put("b"));
        assert!(!is_ambiguous(&step, &refused));
        assert!(!is_ambiguous(&step, &Outcome::Done(Vec::new())));
    }

    #[test]
    fn an_entry_of_another_holder_is_not_ambiguous() {
        let step = Step::new()
            .when(Condition::Free { map: "m".into(), key: "k".into(), value: "old".into() })
            .then(Operation::Enter {
                map: "m".into(),
                key: "k".into(),
                value: "new".into(),
                ttl: Duration::from_secs(1),
            });
        let refused = |holder: &'static str| Outcome::Refused { condition: 0, holder: Some(holder.into()) };
        assert!(is_ambiguous(&step, &refused("new")));
        assert!(!is_ambiguous(&step, &refused("other")));
    }
}
