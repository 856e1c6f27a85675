// Does a value match what everything.json expects? The patterns are explained there. The twin of everything_match.py.

import { isDeepStrictEqual } from 'node:util';

/** A check that failed. */
export class Wrong extends Error {}

/** Why a value does not match, or undefined. */
export function mismatch(expected, got, where = 'the answer') {
  if (isObject(expected)) {
    const members = Object.entries(expected);
    if (members.length === 1 && members[0][0].startsWith('$')) {
      const [[pattern, operand]] = members;
      return PATTERNS[pattern](operand, got, where);
    }
    if (members.length > 0 && !isObject(got)) return `${where}: expected ${show(expected)}, got ${show(got)}`;
    for (const [name, value] of members) {
      const absent = isObject(value) && '$absent' in value;
      if (absent && got[name] !== undefined) return `${where}.${name}: expected nothing, got ${show(got[name])}`;
      if (absent) continue;
      if (got[name] === undefined) return `${where}: expected a member \`${name}\`, got ${show(got)}`;
      const problem = mismatch(value, got[name], `${where}.${name}`);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
  if (Array.isArray(expected) && Array.isArray(got) && expected.length === got.length) {
    for (const [n, one] of expected.entries()) {
      const problem = mismatch(one, got[n], `${where}[${n}]`);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
  return isDeepStrictEqual(expected, got) ? undefined : `${where}: expected ${show(expected)}, got ${show(got)}`;
}

export function require(expected, got, what = 'the answer') {
  const problem = mismatch(expected, got, what);
  if (problem !== undefined) throw new Wrong(problem);
}

const isObject = value => typeof value === 'object' && value !== null && !Array.isArray(value);

const holds = (name, condition) => (operand, got, where) =>
  condition(operand, got) ? undefined : `${where}: expected ${name} ${show(operand)}, got ${show(got)}`;

const contains = (operand, got) => (typeof got === 'string' ? got : JSON.stringify(got)).includes(operand);

const PATTERNS = {
  $all: (operand, got, where) => {
    for (const one of operand) {
      const problem = mismatch(one, got, where);
      if (problem !== undefined) return problem;
    }
    return undefined;
  },
  $each: (operand, got, where) =>
    Array.isArray(got) ? mismatch(got.map(() => operand), got, where) : `${where}: expected a list, got ${show(got)}`,
  $json: (operand, got, where) => {
    try {
      return mismatch(operand, JSON.parse(got), `${where} as JSON`);
    } catch {
      return `${where}: expected JSON, got ${show(got)}`;
    }
  },
  $contains: holds('containing', contains),
  $lacks: holds('lacking', (operand, got) => !contains(operand, got)),
  $names: holds('naming', (operand, got) => typeof got === 'string' && new RegExp(`\\b${operand}\\b`).test(got)),
  $starts: holds('starting with', (operand, got) => typeof got === 'string' && got.startsWith(operand)),
  $length: holds('of length', (operand, got) => got?.length === operand),
  $more: holds('more than', (operand, got) => (typeof got === 'number' ? got : got?.length) > operand),
};

export function show(value) {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= 400 ? text : `${text.slice(0, 400)}…`;
}
