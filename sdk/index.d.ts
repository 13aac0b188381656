// Generated from src/sdk by `npm run docs`. Do not edit.
/* eslint-disable @typescript-eslint/no-unused-vars -- constants that only have a type */
import { z } from "zod";
export { z };

/** Returns the definition unchanged; the type of its settings is inferred from the schema. */
export declare function definePlugin<Settings>(definition: PluginDefinition<Settings>): PluginDefinition<Settings>;

export interface PluginDefinition<Settings = unknown> {
    /** The name that `required_plugins` uses: 1 to 64 letters, digits, `.`, `_` or `-`. */
    readonly name: string;
    readonly description: string;
    readonly stages: readonly PluginStage[];
    /** Validates the `settings` of a plugin configuration. Should reject unknown fields. */
    readonly settings: z.ZodType<Settings>;
    /**
     * What the gateway buffers or splits for this plugin. `body`: the whole body (of the request at pre_request, of the
     * response at pre_response). `chunks`: the response body chunk by chunk, which is the default at pre_response. Without
     * `body`, a large upload is forwarded while it arrives, and a pre_request hook that reads it fails. `text`: the decoded text of
     * responses by channel, for the hook response_text.
     */
    readonly needs?: readonly ("body" | "chunks" | "text")[];
    /**
     * How much text of a stream response_text may hold back per kind of channel, and for how long. The default is 256 characters and 2 seconds; at
     * most 4,096 characters and 10 seconds, and 65,536 characters and 30 seconds for `tool_arguments`.
     */
    readonly hold?: TextHolds;
    /**
     * True: the request log of gateways with `log_bodies` shows the request after all pre_request hooks, and the response as it was before
     * the pre_response and response_text hooks. For plugins that mask values, so that the log never has them.
     */
    readonly hidesBodies?: boolean;
    /**
     * Which texts the plugin inspects with these settings; null if it inspects none. Requests with texts that it cannot inspect are rejected, unless
     * the rule lists them in `unguarded`. The default for plugins with `needs: ["text"]` is none of files, forms and batches, for others null.
     */
    inspects?(settings: Settings): TextInspection | null;
    /**
     * Of which responses response_text gets the text with these settings: `all`, the default, or only `mcp`, the messages of MCP servers. Then
     * responses of providers take no time for it.
     */
    responseTexts?(settings: Settings): "all" | "mcp";
    /**
     * True: `gatehouse explain` may run the pre_request hook. The hook must change nothing but the request and what the
     * host provides; during an explanation the host's counters and blocks are read-only. A hook that has other effects
     * (a call to another service, a change of a kept value) must skip them if `host.isExplaining` is true.
     */
    readonly explainable?: boolean;
    /** Creates the hooks for one configuration. The message of an error thrown here is shown to the operator. */
    create(settings: Settings, host: PluginHost): PluginHooks;
}

export type PluginStage = (typeof PLUGIN_STAGES)[number];

declare const PLUGIN_STAGES: readonly ["pre_request", "post_request", "pre_response", "post_response"];

/** Per kind of channel; 256 characters and 2,000 ms for a kind that is not listed. */
export type TextHolds = {
    readonly [Kind in ChannelKind]?: Partial<TextHold>;
};

/**
 * `tool_result`: what a tool, prompt, resource or completion of an MCP server returned, or a tool that a provider runs. `definitions`: a
 * list of the tools, prompts, resources or resource templates of MCP servers, as a JSON array.
 */
export type ChannelKind = "content" | "reasoning" | "tool_arguments" | "tool_result" | "definitions";

/** How much text of a channel a plugin may hold back, and for how long. */
export interface TextHold {
    readonly characters: number;
    readonly ms: number;
}

/** Which texts of requests a plugin that inspects texts can inspect, in addition to those of requests and responses of models and MCP servers. */
export interface TextInspection {
    /** Whether it inspects the content of text files in forms, if the form is valid UTF-8. */
    readonly files: boolean;
    /** Whether it inspects the fields of forms, and bodies that are text but no JSON. The default is false. */
    readonly forms?: boolean;
    /** Whether it inspects the requests in the JSON body that creates a batch as it inspects single requests. */
    readonly batches: boolean;
    /**
     * Whether it inspects what MCP servers send. Not set: whether it declares `needs: ["text"]`, or has a hook pre_response.
     */
    readonly mcp?: boolean;
}

export interface PluginHost {
    /** Identifies this entry of `required_plugins`. Stays the same for as long as the entry exists. */
    readonly instanceId: string;
    /** The hooks run for `gatehouse explain`: counters do not count, blocks are not stored, nothing is logged. */
    readonly isExplaining: boolean;
    /** Exact counters. All nodes that use the same Redis share them. Prefer the `claims` hook. */
    readonly counters: Counters;
    /**
     * For `before_body`: returns the state of each claim if this process knows without waiting that one does not fit, else null.
     * Reserves nothing. Use an amount of 1 for tokens.
     */
    knownRefusal(claims: readonly LimitClaim[]): ClaimDecision | null;
    /** Blocks of this entry. They are durable, and all nodes share them. */
    readonly blocks: {
        has(type: string, subject: string): boolean;
        /**
         * Returns whether the subject is blocked: false if the gateway has as many blocks of this type as it may have
         * (MAX_BLOCKS). `counterKey` is the counter that is cleared when an operator removes the block.
         */
        add(block: Block, counterKey: string): boolean;
    };
    /**
     * Runs a task in a worker thread: work of more than a few milliseconds would delay all other requests. `module` is the URL of a
     * module that exports `run(input)`. Rejects with the error of `run`, or with an OffLoopError if the task could not be completed.
     * `timeoutMs` should be below 5000: then a hook fails.
     */
    readonly runOffLoop: <Module extends TaskModule>(module: URL, input: Parameters<Module["run"]>[0], limits: TaskLimits) => Promise<Awaited<ReturnType<Module["run"]>>>;
    /** Returns the value with this name. `make` runs only the first time; configuration changes do not drop the value. */
    keep<T>(name: string, make: () => T): T;
    /**
     * Returns a memory for results of this plugin about texts, such as "nothing found" or a number of tokens, so that a text that is sent
     * again need not be processed again. It is empty at first, and every instance of a plugin has its own: nothing is remembered across gateways,
     * changed settings or changed code. `version` names what else the results depend on, such as a list that the plugin
     * loads again while it runs. Old results are dropped to make space: a gateway remembers at most 65,536.
     */
    textMemory(version?: string): TextMemory;
    /** Opens the store for responses of this entry, which `context.reuse` of the hook `final_request` uses. It outlives configurations. */
    openResponses(limits: ResponseStoreLimits): ResponseStore;
    log(level: "info" | "warn" | "error", message: string, fields?: Readonly<Record<string, unknown>>): void;
}

export interface Counters {
    /**
     * Checks all limits atomically. If every limit allows the request, it is counted in each; a rejected request is counted
     * in none. The keys of one call must differ. While Redis is unavailable, `policy` decides: count in this process (`local`), or admit
     * (`open`) or reject (`closed`) every request.
     */
    admit(limits: readonly Limit[], policy: "local" | "open" | "closed"): Decision | Promise<Decision>;
    /** Returns the decision that `admit` would return now, without counting. */
    peek(limits: readonly Limit[], policy: "local" | "open" | "closed"): Decision | Promise<Decision>;
    /**
     * Returns the rejection of these limits if this process knows without waiting that one is exhausted, else null. Counts
     * nothing.
     */
    knownRejection(limits: readonly Limit[]): Decision | null;
    /** Resets the counter of a key. */
    clear(key: string): void | Promise<void>;
}

export interface Limit {
    /** Unique per gateway, plugin entry, type, and subject. Of any length. */
    readonly key: string;
    /** Requests allowed in the window; an integer. */
    readonly limit: number;
    readonly windowMs: number;
    /** The name of the limit in explanations, for example `per_ip`. Does not affect decisions. */
    readonly type?: string;
}

export interface Decision {
    readonly admitted: boolean;
    /** Index of the first exhausted limit; -1 if the request is admitted or the source is `closed`. */
    readonly refusedBy: number;
    /** One per limit, in the same order. */
    readonly states: readonly LimitState[];
    /** `local`: Redis is unavailable, and this process decided with what it knows. `open`, `closed`: not counted. */
    readonly source: "memory" | "redis" | "local" | "open" | "closed";
}

export interface LimitState {
    /** Requests that remain in the window. If the request was admitted, it is already subtracted. */
    readonly remaining: number;
    /** Unix time in seconds, rounded up, when the oldest counted request leaves the window; now + window if there is none. */
    readonly resetAt: number;
    /** Milliseconds until this limit allows one request; 0 if it does now. */
    readonly waitMs: number;
}

/** A `key` starts with `host.instanceId` and a colon, and names what the limit is about: `…:per_ip:203.0.113.7`. */
export type LimitClaim = RequestsLimitClaim | TokensLimitClaim;

/**
 * One request of a limit in a sliding window. It is counted unless a later step rejects the request. Without
 * an `amount`, each message of an MCP batch counts as a request.
 */
export type RequestsLimitClaim = RequestsClaim;

/**
 * Requests in a sliding window. They are counted when they are reserved; `settle` keeps them, `release`
 * removes them.
 */
interface RequestsClaim extends WindowTarget, ClaimOptions {
    readonly kind: "requests";
    /** Requests allowed in any window; an integer. */
    readonly limit: number;
    readonly windowMs: number;
    /** The number of requests: 1 by default. All of them are counted, or none. */
    readonly amount?: number;
}

/** The window of a limit. */
interface WindowTarget {
    readonly kind: "requests" | "tokens";
    /** Unique over all gateways. Of any length: Redis stores a digest of 128 bits. */
    readonly key: string;
}

/** What all claims have in common. */
interface ClaimOptions {
    /** The name of the limit in explanations, for example `per_ip`. Does not affect decisions. */
    readonly type?: string;
    /** Instead of the policy of the call. */
    readonly onUnavailable?: UnavailablePolicy;
}

/** While the shared ledger is unavailable: reserve in this process (`local`), or admit (`open`) or reject (`closed`). */
export type UnavailablePolicy = "local" | "open" | "closed";

/** Tokens, or any other amount, of a limit in a sliding window. The amount is reserved, and settled when the request has ended. */
export interface TokensLimitClaim extends TokensClaim {
    /**
     * What is charged in the end: of the tokens that the provider reports, all of them (the default), or those of the input or of the
     * output. `reserved`: the reserved amount.
     */
    readonly count?: "total" | "input" | "output" | "reserved";
    /** Whether the tokens of this model are charged; null if it is not known. Without it, those of all models are. */
    readonly countsModel?: (model: string | null) => boolean;
}

/**
 * An amount in a sliding window. It is counted while it is reserved, however long that takes, and from then on as settled
 * at the time of settlement. Therefore no trailing window ever holds more than `limit` settled tokens, except for what
 * settlements exceeded their reservations.
 */
interface TokensClaim extends WindowTarget, ClaimOptions {
    readonly kind: "tokens";
    readonly limit: number;
    readonly windowMs: number;
    /** The amount to reserve: an integer from 0 to MAX_AMOUNT. */
    readonly amount: number;
}

export interface ClaimDecision {
    /** False: no claim of any plugin is reserved. */
    readonly isReserved: boolean;
    /**
     * Index of the claim of this plugin that does not fit or, if the source is `closed`, that cannot be checked. -1 if the request was
     * refused by another plugin or by a budget, or not at all.
     */
    readonly refusedBy: number;
    /** One per claim of this plugin, in the same order. */
    readonly states: readonly ClaimState[];
    readonly source: LedgerSource;
}

export interface ClaimState {
    /** Settled (in the window or period) and reserved amounts together. Includes this claim if it was reserved. */
    readonly used: number;
    /** `limit` - `used`, at least 0. */
    readonly remaining: number;
    /**
     * Unix time in seconds, rounded up: when the oldest settled amount leaves the window (now + window if there is none), or the
     * end of the period. Null for a budget whose period does not end.
     */
    readonly resetAt: number | null;
    /**
     * 0 if this claim fits. Else the shortest time in milliseconds after which it can fit, at least 1: open reservations count as
     * released, because they may be settled with less at any time. Infinity if it never fits: the amount is larger than the limit,
     * or the period does not end.
     */
    readonly waitMs: number;
    /** The ledger was not consulted: the amounts are placeholders, with nothing or everything used, and not those of this limit. */
    readonly isUnknown?: true;
}

/**
 * `local`: the shared ledger is unavailable, and this process decided with what it knows. `open`, `closed`: not reserved.
 */
type LedgerSource = "memory" | "redis" | "local" | "open" | "closed";

/** A subject whose requests are rejected until the block expires or an operator removes it. */
interface Block {
    /** The kind of subject, in the plugin's own terms: `per_ip`. */
    readonly type: string;
    readonly subject: string;
    /** Without it, the block does not expire. */
    readonly durationMs?: number | undefined;
}

/** The exports of a task module. */
interface TaskModule {
    run(input: never): unknown;
}

interface TaskLimits {
    /** From the call of `run` to its result. */
    readonly timeoutMs: number;
    /** The size of the input, for the bound of waiting tasks. */
    readonly bytes: number;
    readonly signal?: AbortSignal;
}

/** Remembers numbers for texts, as long as there is space. */
export interface TextMemory {
    /** For `openTextMemory` in a task. */
    readonly scope: TextScope;
    /**
     * Returns what was remembered for the bytes from `start` up to `end`, or the text as unknown. Hashing a text takes about 0.2 µs,
     * 0.4 µs with 2 kB and 1.3 µs with 10 kB, so a short text is not worth it.
     */
    recall(bytes: Uint8Array, start: number, end: number): number | UnknownText;
}

/** Who remembers. Numbers of different scopes are never mixed up. It can be copied to another thread. */
export interface TextScope {
    /** Scopes of the same owner share space: one that needs much of it does not make other owners forget. */
    readonly owner: string;
    /** Names everything that the numbers depend on besides the texts. */
    readonly name: string;
}

export interface UnknownText {
    /** `value`: a whole number from 0 to 2,147,483,646; others are not remembered. */
    remember(value: number): void;
}

export interface ResponseStoreLimits {
    /** Of all responses of this entry. Above it, the least recently used ones are dropped. */
    readonly maxBytes: number;
    /** Larger responses are not kept. */
    readonly maxEntryBytes: number;
}

/** Whole responses, in memory or, if REDIS_URL is set, compressed and encrypted in Redis. Open it with `host.openResponses`. */
export interface ResponseStore {
    readonly maxEntryBytes: number;
}

/** Each hook is named after its stage. A plugin has the hooks of the stages that it supports. */
export interface PluginHooks {
    /**
     * For a plugin that must load something first. No hook is called before it resolves, hooks fail if it rejects, and a
     * starting gateway waits for it before it accepts requests.
     */
    readonly ready?: Promise<unknown>;
    /**
     * Called before `pre_request` if the body is still arriving. Call `respond` to reject a request that would be rejected
     * anyway, so that its body takes no memory. The body is null here. The hook cannot wait and must change nothing, because
     * `pre_request` is called later unless it responds.
     */
    before_body?(context: BeforeBodyContext): void;
    /**
     * Returns what the request takes of the limits of this plugin, or null. A plugin of the stage pre_request has this hook instead of, or in
     * addition to, `pre_request`. At the position of the first plugin with claims, those of all plugins and budgets are reserved in one
     * step, or none. They are settled when the request has ended, and released if it was not sent to a provider.
     */
    claims?(context: ClaimContext): ClaimSet | null | Promise<ClaimSet | null>;
    /**
     * Whether `claims` depends on the model: then the gateway reads it in every body, whatever its content type, and rejects bodies that it
     * cannot read because they are compressed. Without it, and without `needs: ["body"]`, only the model of JSON may be known.
     */
    readonly readsModel?: boolean;
    pre_request?(context: RequestContext): HookResult;
    /**
     * Called when all pre_request plugins have run and the request is about to be sent. A plugin of the stage pre_request has this hook
     * instead of, or in addition to, `pre_request`.
     */
    final_request?(context: FinalRequestContext): HookResult;
    post_request?(context: ResponseContext): HookResult;
    pre_response?(context: ResponseBodyContext): HookResult;
    /**
     * Called with the text of responses, if the plugin declares `needs: ["text"]`. Entries of the stage pre_response have this hook instead
     * of, or in addition to, `pre_response`. Entries of the stage pre_request may have it too, so that one entry can mask a text in a request and
     * restore it in the response.
     */
    response_text?(context: ResponseTextContext): HookResult;
    post_response?(context: EndContext): HookResult;
    /**
     * Called when the process stops, after its requests have ended: writes what has not been written yet. The process waits for it, at most 5
     * seconds. Not called when only the settings or the code of the plugin change; see `host.keep`.
     */
    stop?(): HookResult;
}

/** before_body: the body is still arriving. */
export interface BeforeBodyContext extends RequestContext {
    /** False for requests that run no model, such as those that list models or files, or count tokens. */
    readonly runsModel: boolean;
}

/** pre_request: before a request is sent to a provider. */
export interface RequestContext extends PluginContext {
    readonly path: string;
    /** Includes the question mark; empty if there is no query. */
    readonly query: string;
    /** The headers that the client sent. */
    readonly headers: ReadonlyHeaders;
    /** The headers that will be sent to the provider: without credentials and hop-by-hop headers. */
    readonly forwardedHeaders: ReadonlyHeaders;
    /**
     * The credentials of the client that are sent to targets without a credential of their own; empty if every target of the
     * rule has one. API keys and admin tokens of the gateway are never among them.
     */
    readonly forwardedCredentials: ReadonlyHeaders;
    /** The size of the body in bytes; 0 if there is none. */
    readonly bodySize: number;
    /** A copy of the body. */
    readonly body: Uint8Array | null;
    /** The body itself, not a copy. Do not modify it; use `replaceBody`. */
    readonly bodyView: Uint8Array | null;
    /** The body as text; null if it is not valid UTF-8. */
    readonly bodyText: string | null;
    /** True if the body is valid JSON of any type. */
    readonly isJson: boolean;
    /** The `user` of a JSON body, or null. Unlike `json`, it does not parse the body. */
    readonly bodyUser: string | null;
    /**
     * Identifies the user for limits of tokens and for caches: the pair of API key and user id (`X-User-ID`, else the `user` of the body),
     * because any client can send any id; the id of the header alone if the gateway has `trust_user_header`.
     */
    readonly userKey: string;
    /**
     * A secret of the conversation of an MCP client, for this plugin only. The conversation is a session, or all
     * requests of a user without one; if the user is not known, a request. All nodes have the same secret, so that
     * equal values can have equal names in all requests. Null for requests to providers.
     */
    readonly conversationKey: string | null;
    /**
     * The `notes` of the call of an MCP client during which a server asked the question that this request
     * responds to, if the same process serves that call. Otherwise the `notes` of this request.
     */
    readonly callNotes: Map<string, unknown>;
    /** The model that the request names in its path or body; null if it names none, or if it is not known. */
    readonly requestedModel: string | null;
    /** The body if it is a JSON object. Do not modify it; use `replaceBody`. */
    readonly json: Readonly<Record<string, unknown>> | null;
    setHeader(name: string, value: string): void;
    removeHeader(name: string): void;
    setPath(path: string): void;
    setQuery(query: string): void;
    replaceBody(body: string | Uint8Array): void;
    /** Sets a header of the response to the client, whether it is from a provider, a plugin or the gateway itself. */
    setResponseHeader(name: string, value: string): void;
    /**
     * Reports the state of a limit: sets `X-RateLimit-<name>-Limit`, `-Remaining` and `-Reset`, which takes less time than `setResponseHeader`
     * for each of them. Of several limits with one name, the one with the fewest left counts.
     */
    reportLimit(state: ReportedLimit): void;
    /**
     * Reports the state of a limit of tokens in the header fields of OpenAI (`x-ratelimit-remaining-tokens` and so on); of several, the
     * one with the fewest tokens left counts. Those of the provider move to `X-GW-Provider-RateLimit-*`.
     */
    reportTokenLimit(state: TokenLimitState): void;
    /** Responds to the client now: later plugins do not run and no request is sent to a provider. */
    respond(response: PluginResponse): void;
    /**
     * Sends a request to a service of this gateway, by its name: targets, failover, virtual models and translation are those of the service.
     * No plugins run, and limits of the client do not count the call; budgets of the scopes `gateway` and `model` do, and usage has it
     * with the purpose `plugin`. At most 8 calls per request at the same time. Rejects with a ServiceCallError if there is no response.
     */
    callService(service: string, request: ServiceRequest, options?: ServiceCallOptions): Promise<ServiceResponse>;
    /**
     * Sends the request to the provider without waiting for `decision`, but holds its response until the decision is known, at most 30
     * seconds. The client gets the response that it resolves to; with null, that of the provider. A rejection is a failure of the plugin.
     */
    holdResponse(decision: Promise<PluginResponse | null>): void;
    /** @deprecated Use `setResponseHeader`. */
    setAnswerHeader(name: string, value: string): void;
    /** @deprecated Use `respond`. */
    answer(response: PluginResponse): void;
}

/** Properties and methods that are available at every stage. */
export interface PluginContext {
    readonly requestId: string;
    readonly gateway: {
        readonly id: string;
        readonly name: string;
    };
    readonly rule: {
        readonly id: string;
        readonly name: string | null;
        readonly path: string;
    };
    /** The client's gateway API key, without its secret; null if the client sent none. */
    readonly apiKey: {
        readonly id: string;
        readonly name: string;
    } | null;
    /** Returns the value of a label of that API key; null if the key has no such label, or if there is no key. */
    apiKeyLabel(name: string): string | null;
    /** `mcp` for requests to tools of MCP servers, `http` for all others. */
    readonly protocol: "http" | "mcp";
    /** The tool that an MCP request calls, by the name that the client uses; null if it calls none. Do not modify the arguments. */
    readonly tool: {
        readonly name: string;
        readonly arguments: Readonly<Record<string, unknown>>;
    } | null;
    /**
     * The prompts and resources that an MCP request uses or completes, by the name or URI that the client uses. `name` is null if servers may read
     * several in it; `arguments` if they are too large to be read. Empty for other requests. Do not modify the arguments.
     */
    readonly mcpItems: readonly McpItem[];
    readonly method: string;
    /** The address of the TCP peer, or the client address that a trusted proxy forwards. */
    readonly clientAddress: string;
    /** Values that this plugin keeps from stage to stage of one request. */
    readonly notes: Map<string, unknown>;
    /**
     * Adds one, or `amount`, to the metric `gatehouse_plugin_events_total` with this event and kind, as in `count("refused", "per_ip")`.
     * Take both from a short, fixed list: after a hundred pairs, further events of the plugin are counted as `other`.
     */
    count(event: string, kind?: string, amount?: number): void;
    /** Sets the text that the request log shows next to the plugin's verdict: what the plugin did and why. */
    setDetail(detail: string): void;
    /** @deprecated Use `setDetail`. */
    remark(detail: string): void;
}

/** A prompt or a resource in an MCP request. */
export interface McpItem {
    /** Such as `prompts/get`, `resources/read` or `completion/complete`. */
    readonly method: string;
    readonly kind: "prompt" | "resource";
    readonly name: string | null;
    readonly arguments: Readonly<Record<string, unknown>> | null;
}

export interface ReadonlyHeaders {
    get(name: string): string | null;
    has(name: string): boolean;
    /** Names are in lower case. */
    entries(): IterableIterator<[string, string]>;
}

export interface ReportedLimit {
    /** Such as `per_key`. */
    readonly name: string;
    readonly limit: number;
    readonly remaining: number;
    /** Unix time in seconds. */
    readonly resetAt: number;
}

export interface TokenLimitState extends Omit<ReportedLimit, "name"> {
    /** In seconds. `resetAt` is rounded up, and clients get no duration that is longer than the window. */
    readonly window?: number;
    /** As for `reportLimit`, such as `per_key_tokens`. Without it, only the header fields of OpenAI are set. */
    readonly name?: string;
}

export interface PluginResponse {
    readonly status: number;
    readonly headers?: Readonly<Record<string, string>>;
    /** A string or bytes are sent unchanged; any other value is sent as JSON. */
    readonly body?: unknown;
}

/** A request to a service. It runs no plugins and needs no API key. */
export interface ServiceRequest {
    /** The endpoint, which also selects the format of request and response. Default: `/v1/chat/completions`. */
    readonly path?: string;
    /** A string or bytes are sent unchanged; any other value is sent as JSON. It must not ask for a stream. */
    readonly body: unknown;
    /** Further headers for the provider. Those with credentials are not sent: targets have their own. */
    readonly headers?: Readonly<Record<string, string>>;
}

export interface ServiceCallOptions {
    /** 1 to 30,000; default 4,000. A hook that waits for the response must itself finish within 5,000 ms. */
    readonly timeoutMs?: number;
    /** Aborts the call. Calls are also aborted when the client disconnects, and when the request has ended. */
    readonly signal?: AbortSignal;
}

/** The response of a provider, in the format of the request. */
export interface ServiceResponse {
    /** Any status: an error of the provider is a response, too. */
    readonly status: number;
    readonly headers: ReadonlyHeaders;
    readonly text: string;
    /** The body as JSON; undefined if it is none. */
    readonly json: unknown;
}

/** claims: before any limit of the request is checked. The body is complete. */
export interface ClaimContext extends BeforeBodyContext {
    /** The models that the request may be sent to; null is one that the gateway does not know. */
    readonly eligibleModels: readonly (string | null)[];
    /**
     * The model that a limit per model counts the request for: the virtual model, or the requested one if a target gets it, else the one that all
     * targets get instead. Null if it is not known. Has few values: a client cannot avoid a limit by names that it invents.
     */
    readonly countedModel: string | null;
    /**
     * Why the model cannot be determined although a server may read one in the body, such as a field `model` that occurs twice; null otherwise. A limit that depends on the model
     * should reject such a request: `eligibleModels` may not contain the model that runs.
     */
    readonly modelProblem: {
        readonly code: string;
        readonly message: string;
    } | null;
    /** Returns a promise for a large body, which is parsed in a worker thread. */
    estimateTokens(): TokenEstimate | Promise<TokenEstimate>;
}

/** The size of a request before it is sent. */
export interface TokenEstimate {
    /** Estimated from the text of the body. */
    readonly inputTokens: number;
    /**
     * Tokens that the request may have in addition, which are not known before: files by their number of bytes,
     * and files and conversations that the provider has stored. At most as many as the model accepts.
     */
    readonly fileTokens?: number;
    /** Whether the request limits its output, as `max_tokens` does. */
    readonly limitsOutput: boolean;
    /**
     * Returns the output of all choices: the limit of the request or, without one, the 95th percentile of recent responses of the
     * model.
     */
    readonly outputTokens: (model: string | null) => number;
}

export interface ClaimSet {
    readonly claims: readonly LimitClaim[];
    /**
     * Called when the claims are reserved or refused. Sets headers of the response, and responds if one of its claims was refused. If it
     * does not respond then, the request continues without the claims of this plugin. Without this function, the client gets 429.
     */
    decided?(context: RequestContext, decision: ClaimDecision): void;
    /** Not null if the gateway may reserve the same limits for later requests without asking the plugin. */
    readonly repeats?: RepeatedLimits | null;
}

/**
 * The promise of a plugin that its claims depend on nothing but the gateway, its settings, the API key, the model and, if it says so, the user;
 * that their amounts are those of `tokensToReserve`; and that all it does when they are reserved is to report each limit with its name and to
 * count the events `decided`, by source, and `admitted`. The gateway may do this by itself then. It asks the plugin if a claim does not fit.
 */
export interface RepeatedLimits {
    /** The names for `reportTokenLimit`, one per claim in the same order. */
    readonly names: readonly string[];
    /** Whether one of the keys depends on `userKey`. */
    readonly dependsOnUser: boolean;
}

type HookResult = void | Promise<void>;

/** final_request: all pre_request plugins have run, and the request is about to be sent. It cannot be changed any more. */
export interface FinalRequestContext extends PluginContext, ReadableRequest {
    /** What the request asks for, such as `chat`, `messages` or `embeddings`; null if that is not known. */
    readonly operation: string | null;
    /** The name of the format of the response. */
    readonly format: string;
    /** The models that the request may be sent to; null is one that is not known. */
    readonly models: readonly (string | null)[];
    /** The forwarded headers that belong to the API of the format, such as its version. */
    readonly formatHeaders: ReadonlyHeaders;
    readonly wantsStream: boolean;
    /** A digest of the bytes of the body that no two bodies share, for remembering what was computed from it; null without a body. */
    readonly bodyDigest: string | null;
    /** Whether the user of `userKey` is known from a header that the gateway trusts. */
    readonly hasTrustedUser: boolean;
    /** Resolves to whether the provider stores something, continues a stored conversation, or runs tools. */
    hasSideEffects(): boolean | Promise<boolean>;
    /** Responds to the client now: no request is sent to a provider. */
    respond(response: PluginResponse): void;
    /**
     * Responds with a kept response if there is one; otherwise keeps the response to this request if it is complete and successful. A
     * response that was kept for a stream also serves other requests, and the other way around. Sets `Cache-Status` and `Age`.
     */
    reuse(request: ReuseRequest): void;
}

type ReadableRequest = Pick<RequestContext, "path" | "query" | "headers" | "forwardedHeaders" | "forwardedCredentials" | "bodySize" | "bodyView" | "bodyText" | "json" | "userKey" | "requestedModel" | "setResponseHeader">;

export interface ReuseRequest {
    readonly store: ResponseStore;
    /** Requests with equal keys get the same response. Must name everything that the response depends on, and who may read it. */
    readonly key: string;
    /** How long a response is kept. */
    readonly ttlMs: number;
    /** Responses that were kept longer ago are not used. Default: no limit but `ttlMs`. */
    readonly maxAgeMs?: number | undefined;
    /** False: no kept response is used. Default: true. */
    readonly reads?: boolean | undefined;
    /** False: the response is not kept. Default: true. */
    readonly keeps?: boolean | undefined;
    /** Requests with the key that arrive before the response wait for it, instead of being sent. Default: true. */
    readonly coalesces?: boolean | undefined;
    /** True: if no response is kept, the request is rejected with 504 `not_cached` instead of being sent. Default: false. */
    readonly onlyKept?: boolean | undefined;
}

/** post_request: the provider's status and headers have arrived. */
export interface ResponseContext extends PluginContext {
    readonly provider: string;
    readonly model: string | null;
    readonly status: number;
    readonly headers: ReadonlyHeaders;
    setStatus(status: number): void;
    setHeader(name: string, value: string): void;
    removeHeader(name: string): void;
}

/** pre_response: before the response body is sent to the client. Called once for a whole body, otherwise per chunk. */
export interface ResponseBodyContext extends PluginContext {
    readonly provider: string;
    readonly model: string | null;
    readonly status: number;
    readonly chunk: Uint8Array;
    readonly isLast: boolean;
    /** The chunk as text. A chunk of a stream may start or end inside a multi-byte character. */
    readonly text: string;
    replaceChunk(chunk: string | Uint8Array): void;
}

/**
 * response_text: text of a response has arrived. Called for each channel of a whole response once, with all of its text; on a stream
 * for each event with text.
 */
export interface ResponseTextContext extends PluginContext {
    readonly provider: string;
    readonly model: string | null;
    readonly status: number;
    readonly channel: TextChannel;
    /** The text that was held back so far, and the new text. */
    readonly text: string;
    /**
     * All texts of a response that is not streamed, in order; null on a stream, and in isolated plugins. The list is the same object in each
     * call for the response, so that a plugin can decide about all texts in the first one.
     */
    readonly texts: readonly ResponseText[] | null;
    /** The text of the channel is complete. What is not released now is released unchanged. */
    readonly isLast: boolean;
    /**
     * The limit of the hold is reached, or the stream was cut: what is not released now is released unchanged. Reject the response if the
     * text must not be sent without an inspection.
     */
    readonly isForced: boolean;
    /**
     * Sends `replacement`, or the text itself, for the first `length` characters of `text`, and holds the rest back: it is the beginning of
     * `text` in the next call. Without a call everything is sent unchanged. `release(0)` also holds back events that have no text yet, such
     * as the one that names a called tool. The last call counts.
     */
    release(length: number, replacement?: string): void;
    /** Ends the response: the client gets this error, or on a stream an error event of its format, and then a broken connection. */
    reject(rejection: TextRejection): void;
}

/** A text of a response that is generated piece by piece. */
export interface TextChannel {
    readonly kind: ChannelKind;
    /** The position of the choice, content block or output item that the text belongs to. */
    readonly index: number;
    /**
     * The name of the called tool; null if the text is neither its arguments nor its result, or if the name is not known. For MCP, the name of
     * the tool or prompt, or the URI of the resource, as the client uses it.
     */
    readonly tool: string | null;
    /**
     * Other names under which clients may run the call: the first and the last that the provider sent, where these are not the whole name.
     * A plugin is asked under each, and sees it as `tool`.
     */
    readonly otherTools?: readonly string[];
    /** The MCP method of the message, or that it responds to; null if this is not known, and for responses of providers. */
    readonly method: string | null;
    /** Whether the text is JSON: the arguments of all tools but those that take plain text. */
    readonly isJson: boolean;
    /** The provider signed the text, or may sign it later in the stream: a replacement is ignored. */
    readonly isReadOnly: boolean;
}

/** A text of a response that is not streamed. */
export interface ResponseText {
    readonly channel: TextChannel;
    readonly text: string;
}

/** The response that replaces a rejected one. */
export interface TextRejection {
    /** 400 to 599. The client gets it if no byte of the response was sent, which is so for every response that is not streamed. */
    readonly status: number;
    readonly code: string;
    readonly message: string;
}

/** post_response: the request has ended; nothing can be changed any more. */
export interface EndContext extends PluginContext {
    readonly status: number;
    readonly outcome: "complete" | "refused" | "failed" | "incomplete" | "client_left";
    readonly provider: string | null;
    readonly model: string | null;
    readonly attempts: number;
    readonly durationMs: number;
    readonly firstByteMs: number | null;
    /**
     * Token counts that the provider reported; null if it reported none. `isPartial`: the response ended early, and these
     * are the counts reported up to then.
     */
    readonly usage: {
        /** All input, cached input included. */
        readonly inputTokens: number;
        /** All output, reasoning included. */
        readonly outputTokens: number;
        /** Disjoint parts of the input. */
        readonly cachedInputTokens: number;
        readonly cacheWrite5mTokens: number;
        readonly cacheWrite1hTokens: number;
        readonly audioInputTokens: number;
        /** Disjoint parts of the output. */
        readonly reasoningTokens: number;
        readonly audioOutputTokens: number;
        readonly isPartial: boolean;
    } | null;
}

/** Returns the name in lower case. The long s (U+017F) and the Kelvin sign (U+212A) become the letters that they fold to. */
export declare function foldCase(name: string): string;

/** Returns the bytes with all splices applied. They must be in order and must not overlap. */
export declare function applySplices(bytes: Uint8Array, splices: readonly Splice[]): Uint8Array;

/** Bytes that replace those from `start` to `end`. */
interface Splice {
    readonly start: number;
    readonly end: number;
    readonly bytes: Uint8Array;
}

export declare class JsonDocument {
    readonly bytes: Uint8Array;
    readonly root: JsonNode;
    private constructor();
    /** Returns null if the text is not JSON, or nested too deeply. Numbers and literals are not validated. */
    static parse(bytes: Uint8Array): JsonDocument | null;
    /** As `parse`, but throws a SyntaxError for a text that is nested too deeply, or has more values than `maxValues`. */
    static parseBounded(bytes: Uint8Array, maxValues: number): JsonDocument | null;
    /** Returns the value of a string node; null of any other, and of a string with invalid escapes. */
    text(node: JsonNode | null): string | null;
    /** Returns the JSON of a node as it is written. */
    source(node: JsonNode): string;
    /** Returns a number node's value; null of any other. */
    number(node: JsonNode | null): number | null;
}

/** A value: its first byte and the byte after it. Strings include their quotes. */
export declare class JsonNode {
    readonly type: JsonNodeType;
    readonly start: number;
    end: number;
    /** The keys of an object, one per child; keys may occur twice. Empty otherwise. */
    readonly keys: string[];
    /** Where each key begins. */
    readonly keyStarts: number[];
    readonly children: JsonNode[];
    constructor(type: JsonNodeType, start: number);
    /** Returns the value of a key; of the last one if there are several, as JSON.parse does. */
    get(key: string): JsonNode | null;
    /** Returns the elements of an array; none of anything else. */
    get elements(): readonly JsonNode[];
}

type JsonNodeType = "object" | "array" | "string" | "scalar";

/** The current string, after `next` returned true. Its content is located from `start` up to `end`, quotes excluded. */
export declare class JsonStrings {
    #private;
    start: number;
    end: number;
    /** The text is not valid JSON: the string that begins at `start` does not end. */
    isInvalid: boolean;
    /** The text must not change while it is visited. It need not be valid JSON; escapes are not validated. */
    constructor(bytes: Uint8Array);
    /** Advances to the next string; false if there is none, or if it does not end. */
    next(): boolean;
    /** Skips the strings before the range. Returns whether there is a next string, and it is in the range. */
    isNextIn({ start, end }: ByteRange): boolean;
}

/** A range of a JSON text that starts and ends outside of strings. */
interface ByteRange {
    readonly start: number;
    readonly end: number;
}

/** Returns the known name with the smallest edit distance to `name`, or null if none is similar enough. */
export declare function nearestName(name: string, known: Iterable<string>): string | null;

export declare class LinearPattern {
    #private;
    /** Whether a match may contain no character. */
    readonly canBeEmpty: boolean;
    /** Throws an error that says what is wrong with the pattern. `ignoresCase`: with the flag `i`. */
    constructor(source: string, { ignoresCase }?: {
        readonly ignoresCase?: boolean;
    });
    /** Returns whether the text contains a match. */
    test(text: string): boolean;
    /** Returns the matches as `text.matchAll` does, leftmost first, without overlaps. */
    matches(text: string): PatternMatch[];
}

interface PatternMatch {
    readonly start: number;
    readonly end: number;
}

/** Whether texts in this charset are recognized as they are. */
export declare function isInspectedCharset(name: string): boolean;

/** Whether header fields name another charset. */
export declare function namesOtherCharset(fields: string): boolean;

export declare function isJsonType(type: string | null): boolean;

export declare function isMultipart(type: string | null): boolean;

export declare function isUrlEncoded(type: string | null): boolean;

/** Whether parsers may read other parts or other parameters in a part with these header fields. */
export declare function isAmbiguousPart(headers: string): boolean;

/** Returns the delimiter before each part, or null if the content type is not multipart or parsers may read another boundary in it. */
export declare function multipartDelimiter(contentType: string | null): string | null;

/**
 * Returns the IPv6 network of `prefixLength` bits, such as `2001:db8:0:1::/64`, or any other address unchanged. One customer has a whole
 * /64 and could use a new address for every request. `address` has its canonical spelling.
 */
export declare function networkOf(address: string, prefixLength: number): string;

/** Returns the seconds of a duration such as `30s`, `5m`, `1h` or `1d`; null for any other text. */
export declare function windowSeconds(text: string): number | null;

/**
 * Whether the work on a body takes so long that it is done in a worker thread: the body has many bytes, or many values if it is JSON, or a
 * form or lines that may have JSON in them.
 */
export declare function isLargeBody(bytes: Uint8Array): boolean;

/** Below it, starting a task takes longer than the work itself, unless the body has many values. */
export declare const LARGE_BODY_BYTES: number;

/** If nothing catches it, the client gets 503 with `Retry-After`, or 500 after a crash. */
export declare class OffLoopError extends GatehouseError {
    readonly reason: OffLoopFailure;
    constructor(reason: OffLoopFailure, message: string, extras?: {
        readonly cause?: unknown;
    });
}

declare class GatehouseError extends Error {
    readonly code: ErrorCode;
    readonly details: readonly ErrorDetail[] | undefined;
    readonly headers: Readonly<Record<string, string>>;
    readonly fields: ErrorFields | undefined;
    constructor(code: ErrorCode, message: string, extras?: ErrorExtras);
    get status(): number;
}

type ErrorCode = keyof typeof ERRORS;

declare const ERRORS: Record<string, {
    status: number;
    meaning: string;
}>;

/** One problem in a request. `path` is the field, for example `targets[0].weight`. */
interface ErrorDetail {
    readonly path: string;
    readonly message: string;
    /** The position in a YAML document, where it is known. Both count from 1. */
    readonly line?: number;
    readonly column?: number;
}

type ErrorFields = Readonly<Record<string, ErrorField | Readonly<Record<string, ErrorField>>>>;

type ErrorField = string | number | null;

interface ErrorExtras {
    /** Further fields of the body. */
    readonly fields?: ErrorFields;
    readonly details?: readonly ErrorDetail[];
    readonly headers?: Readonly<Record<string, string>>;
    readonly cause?: unknown;
}

type OffLoopFailure = "overloaded" | "timed_out" | "crashed" | "aborted" | "closed";

/** Returns the holds of a plugin with all defaults. Throws if one is too large. */
export declare function completeHolds(holds?: TextHolds): Readonly<Record<ChannelKind, TextHold>>;

export declare class ServiceCallError extends Error {
    readonly name = "ServiceCallError";
    readonly reason: ServiceCallProblem;
    constructor(reason: ServiceCallProblem, message: string, cause?: unknown);
}

/**
 * Why a call has no response. `unknown_service`: the gateway has no such service, or it leads to MCP servers. `invalid`: the request
 * cannot be sent. `budget`: a budget of the gateway has not enough left. `timeout`, `aborted`. `limit`: too many calls at the same
 * time. `unavailable`: no target responded. `explaining`: an explanation calls no service.
 */
export type ServiceCallProblem = "unknown_service" | "invalid" | "budget" | "timeout" | "aborted" | "limit" | "unavailable" | "explaining";

export declare function readBodyTexts(body: Uint8Array, contentType: string | null): BodyTexts;

/** The texts of a body, and its strings that are no texts. `RequestTexts` are those of JSON. */
export interface BodyTexts {
    readonly texts: readonly RequestText[];
    readonly identifiers: readonly RequestIdentifier[];
    /** The field by which the request continues a conversation that its provider keeps; null if it does not. */
    readonly keptConversation: string | null;
    /** What in the body may be text and cannot be read, to be named in an error message; null if there is nothing. */
    readonly unreadable: string | null;
    /** Returns the body with the texts at these positions, and the names of these fields, replaced. */
    replace(replacements: ReadonlyMap<number, string>, keys?: ReadonlyMap<string, string>): Uint8Array;
}

export interface RequestText {
    readonly role: TextRole;
    readonly kind: "text" | "tool_arguments" | "tool_result" | "document";
    /** The position of the message; -1 outside of messages. */
    readonly message: number;
    /** The name of the tool that was called or returned the text; null if there is none, or if it is not known. */
    readonly tool: string | null;
    /** The key of the text in lower case, or of the list that has it; empty if there is none. */
    readonly field: string;
    readonly text: string;
    /** Whether the text may itself be JSON: the arguments of a call in formats that send them as a string, and files that start as JSON does. */
    readonly isJson: boolean;
    /** Whether it is the text of a file in base64, or of a data URL. */
    readonly isFile: boolean;
    /** Signed or encrypted reasoning: the provider rejects it if it changes. */
    readonly isReadOnly: boolean;
}

/** `other`: texts outside of the conversation, such as tool definitions. */
export type TextRole = "system" | "developer" | "user" | "assistant" | "tool" | "other";

/**
 * A string that a request needs as it is: an id, the name of a tool, a URL, a level, or the name of a field. Equal ones are listed
 * once.
 */
export interface RequestIdentifier {
    readonly kind: "identifier" | "url" | "key";
    /** The key of the string in lower case; empty for the name of a field. */
    readonly field: string;
    readonly text: string;
}

/** The response of a guard to a request whose texts it cannot read. */
export declare function unreadableResponse(plugin: string, unreadable: string): PluginResponse;

/** Returns the role that a type implies; null if it implies none. */
export declare function roleOfType(type: string): TextRole | null;

export declare class RequestTexts {
    #private;
    /** Those outside of the conversation first, so that the order of the others does not change when the conversation goes on. */
    readonly texts: readonly RequestText[];
    /** The strings that are no texts. Only the names of fields can be replaced. */
    readonly identifiers: readonly RequestIdentifier[];
    /** What in the body cannot be read as text although it is; null if there is nothing. */
    readonly unreadable: string | null;
    /** What in the body contradicts itself so often that it is not read; null if there is nothing. It is `unreadable` as well. */
    readonly ambiguous: string | null;
    private constructor();
    /** Returns null if the body is no JSON. */
    static read(body: Uint8Array): RequestTexts | null;
    /** The field by which the request continues a conversation that its provider keeps; null if it does not. */
    get keptConversation(): string | null;
    /** The results of tools. One with only an image has no blocks. */
    get results(): readonly ToolResult[];
    /** Returns the body with each block of the results at these positions replaced by the text. */
    replaceResults(positions: readonly number[], text: string): Uint8Array;
    /** The tools of the results that have no text, such as those with only an image; null if a tool is not known. */
    get resultsWithoutText(): readonly (string | null)[];
    /** Returns the body with the texts at these positions, and the names of these fields, replaced; all other bytes stay. */
    replace(replacements: ReadonlyMap<number, string>, keys?: ReadonlyMap<string, string>): Uint8Array;
}

/** The result of a tool that a request contains. */
export interface ToolResult {
    /** The names of the tool: none if it is not known, more than one if the request contradicts itself. */
    readonly tools: ReadonlySet<string>;
    /** In their order. */
    readonly blocks: readonly ResultBlock[];
}

/** A part of a result: a text, or a JSON value as it is written. */
export interface ResultBlock {
    /** The source of a JSON value, else the text. */
    readonly text: string;
    readonly isJson: boolean;
}

/** For tasks: returns the memory of this thread for the `scope` of a memory that the host of the plugin returned. */
export declare function openTextMemory(scope: TextScope): TextMemory;

/**
 * Returns what a request takes of a limit at most or, if it does not limit its output, probably: then its
 * output counts as at most a quarter of the limit. So do its files, which alone never make a request too large
 * for the limit. At least one token unless the request has no output that counts: nothing would fit into a
 * limit that is exhausted, and the size of a request may be unknown.
 */
export declare function tokensToReserve(limit: number, count: "total" | "input" | "output", inputTokens: number, outputTokens: number, limitsOutput: boolean, fileTokens?: number): number;

/** @deprecated Use `ResponseContext`. */
export type AnswerContext = ResponseContext;

/** @deprecated Use `ResponseBodyContext`. */
export type BodyContext = ResponseBodyContext;

/** @deprecated Use `PluginResponse`. */
export type PluginAnswer = PluginResponse;

export {};
