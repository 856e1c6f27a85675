// How does the page ask the inspector's server, and what becomes of a refusal?

import { end } from '../state/page';
import type { Failure } from './types';

/** An answer that is not a success, in the server's own words. */
export class Refusal extends Error {
    readonly code: string;
    readonly hint: string | null;
    constructor(failure: Failure) {
        super(failure.message);
        this.code = failure.code;
        this.hint = failure.hint ?? null;
    }
}

const TOKEN = 'toolway-token';

export function token(): string | null {
    return sessionStorage.getItem(TOKEN);
}

/** Trades the code of the link for a token, which lives as long as the tab. */
export async function enter(code: string): Promise<void> {
    const answer = await fetch('/api/enter', { method: 'POST', body: JSON.stringify({ code }) });
    if (!answer.ok) throw await refusal(answer);
    const { token } = (await answer.json()) as { token: string };
    sessionStorage.setItem(TOKEN, token);
}

export async function get<T>(path: string): Promise<T> {
    return (await (await send(path)).json()) as T;
}

export async function post<T>(path: string, body: unknown): Promise<T> {
    return (await (await send(path, { method: 'POST', body: JSON.stringify(body) })).json()) as T;
}

/** Sends bytes that are not JSON: a cassette. */
export async function postBytes<T>(path: string, body: Blob): Promise<T> {
    return (await (await send(path, { method: 'POST', body })).json()) as T;
}

export async function send(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { Authorization: `Bearer ${token() ?? ''}` };
    const answer = await fetch(path, { ...init, headers });
    if (answer.ok) return answer;
    const problem = await refusal(answer);
    if (answer.status === 401) end('token', problem.message);
    throw problem;
}

async function refusal(answer: Response): Promise<Refusal> {
    try {
        const { error } = (await answer.json()) as { error: Failure };
        return new Refusal(error);
    } catch {
        return new Refusal({ code: 'unreachable', message: `the inspector answered with status ${answer.status}` });
    }
}

/** The words of any thrown value, for a notice. */
export function words(problem: unknown): string {
    if (problem instanceof Refusal) return problem.hint ? `${problem.message}. ${problem.hint}` : problem.message;
    if (problem instanceof TypeError) return 'the inspector does not answer; is it still running in the terminal?';
    return String(problem);
}
