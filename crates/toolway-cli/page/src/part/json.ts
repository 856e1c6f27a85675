// How is a JSON text laid out in lines, and which parts of a line have which colour?
//
// Works on the text alone: parsing would lose digits of large numbers and doubled members. A text that is not JSON
// stays readable, because nothing is left out.

const TOKEN = /"(?:[^"\\]|\\.)*"?|[{}[\],:]|[^\s{}[\],:"]+|\s+/gs;

/** Deeper levels are not indented further: a hostile nesting would become gigabytes of spaces. */
const DEEPEST = 40;

/** Breaks a JSON text into lines with two spaces for each level. */
export function layOut(text: string): string {
    const out: string[] = [];
    let level = 0;
    let pending = '';
    const line = () => `\n${'  '.repeat(Math.min(level, DEEPEST))}`;
    for (const [token] of text.matchAll(TOKEN)) {
        if (/^\s+$/.test(token)) continue;
        if (pending !== '') {
            const closes = token === '}' || token === ']';
            if (closes) {
                out.push(pending + token);
                pending = '';
                continue;
            }
            level += 1;
            out.push(pending, line());
            pending = '';
        }
        switch (token) {
            case '{':
            case '[':
                pending = token;
                break;
            case '}':
            case ']':
                level = Math.max(0, level - 1);
                out.push(line(), token);
                break;
            case ',':
                out.push(token, line());
                break;
            case ':':
                out.push(': ');
                break;
            default:
                out.push(token);
        }
    }
    return out.join('') + pending;
}

export type Paint = 'key' | 'string' | 'number' | 'word' | 'plain';

/** Splits one line into parts with a colour; neighbours of the same colour are one part. */
export function paint(line: string): { paint: Paint; text: string }[] {
    const parts: { paint: Paint; text: string }[] = [];
    const add = (paint: Paint, text: string) => {
        const last = parts[parts.length - 1];
        if (last?.paint === paint) last.text += text;
        else parts.push({ paint, text });
    };
    for (const match of line.matchAll(TOKEN)) {
        const token = match[0];
        if (token.startsWith('"')) {
            const rest = line.slice(match.index + token.length);
            add(/^\s*:/.test(rest) ? 'key' : 'string', token);
        } else if (/^-?\d/.test(token)) add('number', token);
        else if (/^(true|false|null)$/.test(token)) add('word', token);
        else add('plain', token);
    }
    return parts;
}
