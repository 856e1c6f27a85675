//! When are two JSON values equal, and how are two numbers compared?
//!
//! JSON has one kind of number, so 1, 1.0 and 1e0 are equal here, although `serde_json` distinguishes them. No
//! comparison uses an `f64` where that would round.

use std::cmp::Ordering;
use std::collections::HashSet;

use serde_json::{Map, Number, Value};

/// Returns the number as an integer, if it has no fraction: 5.0 is the integer 5. For a float of 2^100 or more, returns
/// `None`.
pub fn whole(number: &Number) -> Option<i128> {
    if let Some(small) = number.as_i64() {
        return Some(small.into());
    }
    if let Some(large) = number.as_u64() {
        return Some(large.into());
    }
    let float = number.as_f64()?;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and far below 2^127")]
    (float.fract() == 0.0 && float.abs() < INTEGER_LIMIT).then_some(float as i128)
}

/// Returns the value as an unsigned integer, if it has no fraction: 2.0 is the integer 2.
pub(crate) fn as_count(value: &Value) -> Option<u64> {
    value.as_number().and_then(whole).and_then(|count| u64::try_from(count).ok())
}

/// Returns whether the number has no fraction, whatever its size.
pub(crate) fn is_integer(number: &Number) -> bool {
    whole(number).is_some() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}

/// Compares two numbers.
pub(crate) fn compare(a: &Number, b: &Number) -> Option<Ordering> {
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        // A float with a fraction is below 2^53, so rounding the other number cannot change the order.
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

/// Returns whether `number` is a multiple of `step`, in decimal arithmetic: 0.3 is a multiple of 0.1.
pub(crate) fn is_multiple(number: &Number, step: &Number) -> bool {
    let (Some((digits, power)), Some((step_digits, step_power))) =
        (parse_decimal(&number.to_string()), parse_decimal(&step.to_string()))
    else {
        // A number has more digits, or a larger exponent, than any `f64`.
        return number
            .as_f64()
            .zip(step.as_f64())
            .is_none_or(|(number, step)| (number / step).fract() == 0.0);
    };
    if digits == 0 || step_digits == 0 {
        return digits == 0;
    }
    if power >= step_power {
        let mut rest = digits % step_digits;
        for _ in step_power..power {
            rest = rest * 10 % step_digits;
        }
        return rest == 0;
    }
    // If the scaled step overflows, it is greater than the number.
    let scale = 10_i128.checked_pow(step_power.abs_diff(power));
    scale.and_then(|scale| step_digits.checked_mul(scale)).is_some_and(|step| digits % step == 0)
}

/// Splits a number into digits and a power of ten.
fn parse_decimal(text: &str) -> Option<(i128, i32)> {
    let (mantissa, power) = match text.split_once(['e', 'E']) {
        Some((mantissa, power)) => (mantissa, power.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let after = after.trim_end_matches('0');
    // The limit leaves room for the factor of ten in `is_multiple`.
    let digits = format!("{before}{after}")
        .parse::<i128>()
        .ok()
        .filter(|digits| digits.unsigned_abs() < DIGITS_LIMIT)?;
    let power = power.checked_sub(i32::try_from(after.len()).ok()?)?;
    // `is_multiple` needs one loop iteration per power of ten, and the exponent comes from a peer.
    (power.unsigned_abs() <= MAX_POWER).then_some((digits, power))
}

/// Returns whether two values are equal in JSON Schema.
pub(crate) fn are_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare(a, b) == Some(Ordering::Equal),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| are_equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| are_equal(a, b)))
        }
        _ => a == b,
    }
}

/// Returns the value with one spelling of each number. Two canonical values are equal if and only if the values are
/// equal in JSON Schema, so duplicates can be found by hashing.
pub(crate) fn canonical(value: &Value) -> Value {
    match value {
        Value::Number(number) => {
            let whole = whole(number).and_then(Number::from_i128);
            Value::Number(whole.unwrap_or_else(|| number.clone()))
        }
        Value::Array(items) => items.iter().map(canonical).collect(),
        Value::Object(members) => {
            // Inserted one by one: `collect` would sort, with code for each type of map.
            let mut canonical_members = Map::new();
            canonical_members.extend(members.iter().map(|(name, member)| (name.clone(), canonical(member))));
            Value::Object(canonical_members)
        }
        other => other.clone(),
    }
}

/// Returns the first item that repeats an earlier one.
pub(crate) fn find_duplicate(items: &[Value]) -> Option<&Value> {
    if items.len() <= FEW_ITEMS {
        // Comparing all pairs needs no copies.
        let mut rest = items.iter().enumerate();
        return rest
            .find(|(index, item)| items[..*index].iter().any(|earlier| are_equal(earlier, item)))
            .map(|(_, item)| item);
    }
    let mut known = HashSet::with_capacity(items.len());
    items.iter().find(|item| !known.insert(canonical(item)))
}

/// The maximum number of items that are compared in pairs.
const FEW_ITEMS: usize = 16;

const INTEGER_LIMIT: f64 = 1_267_650_600_228_229_401_496_703_205_376.0; // 2^100

const DIGITS_LIMIT: u128 = u128::MAX / 32;

/// The largest accepted power of ten. The digits of an `f64` have no larger one: the smallest number is
/// 4.9406564584124654e-324.
const MAX_POWER: u32 = 350;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn number(text: &str) -> Number {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn numbers_compare_exactly() {
        for (a, b, expected) in [
            ("1", "1.0", Ordering::Equal),
            ("9007199254740993", "9007199254740992.0", Ordering::Greater),
            ("18446744073709551615", "18446744073709551616", Ordering::Less),
            ("-1e300", "-9223372036854775808", Ordering::Less),
            ("0.5", "1", Ordering::Less),
            ("-0.0", "0", Ordering::Equal),
        ] {
            assert_eq!(compare(&number(a), &number(b)), Some(expected), "{a} and {b}");
        }
    }

    #[test]
    fn multiples_are_counted_in_decimals() {
        for (a, step, expected) in [
            ("0.3", "0.1", true),
            ("0.35", "0.1", false),
            ("1e300", "7", false),
            ("1e300", "1e-300", true),
            ("1e-300", "1e300", false),
            ("-9", "3", true),
            ("4.02", "0.01", true),
            ("0", "1e300", true),
            ("18446744073709551615", "5", true),
            ("10", "4", false),
        ] {
            assert_eq!(is_multiple(&number(a), &number(step)), expected, "{a} by {step}");
        }
    }

    #[test]
    fn powers_that_no_float_has_are_not_counted_up_to() {
        // If another crate enables `arbitrary_precision`, a number can be any text.
        for (text, expected) in [
            ("5e-324", Some((5, -324))),
            ("1.7976931348623157e308", Some((17_976_931_348_623_157, 292))),
            ("1e2000000000", None),
            ("1e-2000000000", None),
            ("1e-2147483648", None),
        ] {
            assert_eq!(parse_decimal(text), expected, "{text}");
        }
    }

    #[test]
    fn equal_values_have_one_spelling() {
        let spelled = |json: &str| canonical(&serde_json::from_str(json).unwrap());
        assert_eq!(spelled(r#"{"a":1.0,"b":[1e1]}"#), spelled(r#"{"b":[10],"a":1}"#));
        assert_eq!(spelled("-0.0"), spelled("0"));
        assert_ne!(spelled(r#"["a,b"]"#), spelled(r#"["a","b"]"#));
        assert_ne!(spelled("1.5"), spelled("1"));
    }

    #[test]
    fn what_repeats_is_found_in_short_and_in_long_lists() {
        for length in [2, FEW_ITEMS, FEW_ITEMS + 1, 100] {
            let mut items: Vec<Value> = (0..length).map(|index| json!({"at": [index]})).collect();
            assert_eq!(find_duplicate(&items), None, "{length} items");
            let last = items.last_mut().unwrap();
            *last = json!({"at": [0.0]});
            assert_eq!(find_duplicate(&items), Some(&json!({"at": [0.0]})), "{length} items");
        }
        assert_eq!(find_duplicate(&[]), None);
    }
}
