"""Does a value match what everything.json expects? The patterns are explained there."""

import json
import re


def mismatch(expected, got, where="the answer"):
    """Why a value does not match, or None."""
    if isinstance(expected, dict) and len(expected) == 1 and next(iter(expected)).startswith("$"):
        [(pattern, operand)] = expected.items()
        return PATTERNS[pattern](operand, got, where)
    if isinstance(expected, dict):
        if expected and not isinstance(got, dict):
            return f"{where}: expected {show(expected)}, got {show(got)}"
        for name, value in expected.items():
            if isinstance(value, dict) and "$absent" in value:
                if name in got:
                    return f"{where}.{name}: expected nothing, got {show(got[name])}"
            elif name not in got:
                return f"{where}: expected a member `{name}`, got {show(got)}"
            elif (problem := mismatch(value, got[name], f"{where}.{name}")) is not None:
                return problem
        return None
    if isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        problems = (mismatch(one, other, f"{where}[{n}]") for n, (one, other) in enumerate(zip(expected, got)))
        return next((problem for problem in problems if problem is not None), None)
    # Python finds that True is 1; JSON does not.
    if expected == got and isinstance(expected, bool) == isinstance(got, bool):
        return None
    return f"{where}: expected {show(expected)}, got {show(got)}"


def require(expected, got, what="the answer"):
    problem = mismatch(expected, got, what)
    assert problem is None, problem


def holds(condition):
    def check(operand, got, where):
        try:
            good = condition(operand, got)
        except TypeError:
            good = False
        return None if good else f"{where}: expected {condition.__name__} {show(operand)}, got {show(got)}"

    return check


def containing(operand, got):
    return operand in (got if isinstance(got, str) else compact(got))


def lacking(operand, got):
    return not containing(operand, got)


def naming(operand, got):
    return isinstance(got, str) and re.search(rf"\b{re.escape(operand)}\b", got) is not None


def starting_with(operand, got):
    return isinstance(got, str) and got.startswith(operand)


def of_length(operand, got):
    return len(got) == operand


def more_than(operand, got):
    return (got if isinstance(got, int | float) else len(got)) > operand


def match_all(operand, got, where):
    return next((problem for one in operand if (problem := mismatch(one, got, where)) is not None), None)


def match_each(operand, got, where):
    if not isinstance(got, list):
        return f"{where}: expected a list, got {show(got)}"
    return mismatch([operand] * len(got), got, where)


def match_json(operand, got, where):
    try:
        return mismatch(operand, json.loads(got), f"{where} as JSON")
    except (TypeError, ValueError):
        return f"{where}: expected JSON, got {show(got)}"


PATTERNS = {
    "$all": match_all,
    "$each": match_each,
    "$json": match_json,
    "$contains": holds(containing),
    "$lacks": holds(lacking),
    "$names": holds(naming),
    "$starts": holds(starting_with),
    "$length": holds(of_length),
    "$more": holds(more_than),
}


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def show(value):
    text = compact(value)
    return text if len(text) <= 400 else f"{text[:400]}…"
