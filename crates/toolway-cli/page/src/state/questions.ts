// Which questions of servers wait for the reader, and which answers are kept for the next call?

import { computed, signal } from '@preact/signals';
import { post, words } from '../api/request';
import type { JsonText, Question } from '../api/types';
import { notify } from './notices';
import { currentId } from './servers';

export const questions = signal<Question[]>([]);

/** When each question was asked and answered, for the timeline. */
export interface AskedSpan {
    question: number;
    server: number;
    from: number;
    to: number | null;
    message: string;
}

export const askedSpans = signal<AskedSpan[]>([]);

export function endAsked(question: number, at: number): void {
    askedSpans.value = askedSpans.value.map((span) => (span.question === question ? { ...span, to: at } : span));
}

export function addQuestion(question: Question): void {
    const { id, server, since_ms: from, message } = question;
    askedSpans.value = [...askedSpans.value.filter((span) => span.question !== id), { question: id, server, from, to: null, message }].slice(-1000);
    questions.value = [...questions.value.filter((other) => other.id !== question.id), question];
}

export function removeQuestion(id: number): void {
    questions.value = questions.value.filter((question) => question.id !== id);
}

/** Questions of the shown server that belong to no call of this page. */
export const looseQuestions = computed(() =>
    questions.value.filter((question) => question.call === null && question.server === currentId.value),
);

export interface KeptAnswer {
    message: string;
    action: string;
    content: JsonText | null;
}

/** Answers by `server/tool`; they are sent along with the next call, and live as long as the tab. */
export const keptAnswers = signal<Record<string, KeptAnswer[]>>({});

export function keepAnswer(key: string, answer: KeptAnswer): void {
    const others = (keptAnswers.value[key] ?? []).filter((kept) => kept.message !== answer.message);
    keptAnswers.value = { ...keptAnswers.value, [key]: [...others, answer] };
}

export function forgetAnswers(key: string): void {
    const { [key]: _gone, ...rest } = keptAnswers.value;
    keptAnswers.value = rest;
}

export interface Answer {
    action: 'accept' | 'decline' | 'cancel';
    fields?: [string, string][];
    content?: JsonText;
}

/** Sends an answer. Returns the refusal's words, or `null` when the server took it. */
export async function answerQuestion(question: Question, answer: Answer, keepUnder: string | null): Promise<string | null> {
    try {
        const { content } = await post<{ content?: JsonText | null }>('/api/answer', { question: question.id, ...answer });
        if (keepUnder !== null) {
            keepAnswer(keepUnder, { message: question.message, action: answer.action, content: content ?? answer.content ?? null });
        }
        removeQuestion(question.id);
        return null;
    } catch (problem) {
        if (answer.action !== 'accept') notify(words(problem));
        return words(problem);
    }
}
