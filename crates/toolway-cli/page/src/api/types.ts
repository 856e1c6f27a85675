// What shapes do the answers of the inspector's server have?
//
// They mirror `crates/toolway-cli/src/inspect/`. A JSON value of a peer is a text (`JsonText`): the page shows it and
// sends it on as it is, so that large numbers and the order of members survive.

export type JsonText = string;

export interface Failure {
    code: string;
    message: string;
    hint?: string | null;
}

export type Tokens = Record<string, number>;

export interface Connection {
    state: 'connecting' | 'ready' | 'cut' | 'failed' | 'closed';
    since_ms: number;
    took_ms: number | null;
    error: Failure | null;
}

export interface Field {
    name: string;
    title?: string | null;
    required: boolean;
    kind: 'text' | 'integer' | 'number' | 'boolean' | 'choice' | 'list' | 'json';
    expected: string;
    description: string | null;
    choices: string[] | null;
    default: JsonText | null;
}

export interface Tool {
    name: string;
    title?: string | null;
    description?: string | null;
    annotations: {
        readOnlyHint?: boolean;
        destructiveHint?: boolean;
        idempotentHint?: boolean;
        openWorldHint?: boolean;
        title?: string;
    } | null;
    input_schema: JsonText;
    output_schema: JsonText | null;
    signature: string;
    tokens: Tokens;
    fields: Field[];
    form: boolean;
    hidden: string[];
    fits: string[];
}

/** A resource or, with `variables`, a template. */
export interface Element {
    name: string;
    title?: string | null;
    description?: string | null;
    uri: string;
    variables?: string[];
    mime_type?: string | null;
    size?: number | null;
    hidden: string[];
}

export interface PromptElement {
    name: string;
    title?: string | null;
    description?: string | null;
    arguments: { name: string; description?: string | null; required: boolean }[];
    hidden: string[];
}

export interface ServerInfo {
    name: string;
    version: string;
    title?: string | null;
    websiteUrl?: string | null;
}

export interface Server {
    id: number;
    name: string;
    target: string;
    over: 'pipe' | 'http' | 'memory' | 'recording';
    can: { cut: boolean; restart: boolean; call: boolean };
    connection: Connection;
    revision: string | null;
    era: 'stateless' | 'handshake' | null;
    wanted: string | null;
    revisions: string[];
    info: ServerInfo | null;
    instructions: string | null;
    capabilities: JsonText | null;
    tools: Tool[];
    resources: Element[];
    templates: Element[];
    prompts: PromptElement[];
    lists: Record<string, string | null>;
    tokens: Tokens;
    hidden: string[];
}

export interface State {
    program: string;
    mode: 'server' | 'hub' | 'recording';
    now_ms: number;
    servers: Server[];
    recording: { file: string; following: boolean } | null;
    event: number;
}

export interface CallSummary {
    id: number;
    server: number;
    kind: 'tool' | 'resource' | 'prompt' | 'complete';
    name: string;
    state: 'running' | 'asking' | 'ok' | 'tool_error' | 'failed' | 'cancelled';
    began_ms: number;
    took_ms: number | null;
    asked_ms: number;
    /** Since when the clock stands still. */
    asked_since_ms: number | null;
    rounds: number;
    progress: { progress: number; total?: number | null; message?: string | null } | null;
    bytes: number;
    error: Failure | null;
    timeout: {
        open: { method: string; id: string; since_ms: number }[];
        silent_streams: number[];
        last_frame_ms: number | null;
        stderr: string[];
    } | null;
    frames: [number, number | null] | null;
    both: number | null;
}

/** `role` is set for the messages of a prompt. */
export type Block = { role?: string | null } & (
    | { type: 'text'; text: string }
    | { type: 'image' | 'audio'; mime_type: string; data: string }
    | { type: 'link'; uri: string; name?: string | null }
    | { type: 'resource'; uri: string; mime_type?: string | null; text?: string | null; data?: string | null }
    | { type: 'other'; json: JsonText }
);

export interface Difference {
    path: string;
    was: JsonText | null;
    is: JsonText | null;
}

export interface Call extends CallSummary {
    arguments: JsonText | null;
    result: JsonText | null;
    blocks: Block[];
    structured: JsonText | null;
    output: { state: 'fits' | 'differs' | 'none'; problems: string[] };
    last: JsonText | null;
    diff: Difference[] | null;
}

export interface Question {
    id: number;
    /** The call that asks, if it is known. */
    call: number | null;
    /** The calls that may have asked. */
    calls: number[];
    server: number;
    revision: string;
    kind: 'form' | 'url' | 'sampling' | 'roots';
    message: string;
    fields: Field[];
    url: string | null;
    params: JsonText;
    round: number;
    since_ms: number;
}

export interface Frame {
    n: number;
    t_ms: number;
    dir: 'out' | 'in' | 'err';
    http?: {
        method?: string;
        path?: string;
        status?: number;
        headers?: Record<string, string>;
        stream?: number;
        event?: string;
        end?: 'closed' | 'broken' | 'left';
    };
    frame?: JsonText;
    raw?: string;
    bytes: number;
    folded?: boolean;
    method: string | null;
    id: string | null;
    kind: 'request' | 'result' | 'error' | 'notification' | 'batch' | 'none';
    answers: number | null;
    took_ms: number | null;
    about: string | null;
}

export interface Check {
    ok: boolean;
    arguments: JsonText | null;
    problems: string[];
    at: { line: number; column: number } | null;
}

export interface BothSide {
    revision: string;
    era: string;
    call: number;
    frames: Frame[];
}

export interface Both {
    id: number;
    state: 'running' | 'done';
    sides: BothSide[];
    error?: Failure | null;
    verdict: {
        equal: boolean;
        parts: { name: string; equal: boolean; differences: Difference[] }[];
        rounds: { left: string[]; right: string[] }[];
    } | null;
}

export interface ListDiff {
    added: string[];
    removed: string[];
    changed: { name: string; was: JsonText; is: JsonText; words: string[] }[];
}

export type CatalogDiff = Record<string, ListDiff>;

export type InspectorEvent = { n?: number; t_ms: number } & (
    | { type: 'connection'; server: number; connection: Connection; revision: string | null; era: Server['era']; info: ServerInfo | null }
    | { type: 'catalog'; server: number; diff: CatalogDiff }
    | { type: 'call'; server: number; call: CallSummary }
    | { type: 'question'; server: number; question: Question }
    | { type: 'answered'; server: number; question: number; how: string }
    | { type: 'log'; server: number; level: string; logger: string | null; data: JsonText }
    | { type: 'notification'; server: number; what: string }
    | { type: 'doctor'; server: number; step: DoctorStep }
    | { type: 'note'; server: number; text: string }
    | { type: 'both'; id: number; state: string }
    | { type: 'gap'; from: number; to: number }
);

export interface DoctorStep {
    name: string;
    status: 'ok' | 'skipped' | 'failed';
    ms?: number | null;
    detail: string[];
    fix?: string | null;
}

export interface DoctorReport {
    target: string;
    ok: boolean;
    settings?: Record<string, unknown>;
    steps: DoctorStep[];
    warnings: { about: string; message: string }[];
}

export interface Loss {
    pointer: string;
    what: string;
    why: string;
    effect: 'wider' | 'narrower' | 'annotation_only';
}

export interface Rendering {
    providers: { provider: string; name: string; definition: JsonText; tokens: number; losses: Loss[] }[];
    preamble?: Tokens | null;
}

export interface Hub {
    servers: { name: string; target: string; state: string; error?: string | null; next_try_ms?: number | null; tools: number; tokens: Tokens }[];
    names: { shown: string; server: string; name: string }[];
    collisions: { name: string; servers: string[] }[];
    tokens: Tokens;
}
