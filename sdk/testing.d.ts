// Generated from src/sdk by `npm run docs`. Do not edit.
import type { EndContext, PluginContext, PluginDefinition, PluginResponse, RequestContext, ReuseRequest, ServiceCallOptions, ServiceRequest, TextChannel, TextRejection } from "./index.js";

/** What a request is estimated to use. Every field has a default. */
export interface TestEstimate {
    readonly inputTokens?: number;
    readonly outputTokens?: number;
    readonly limitsOutput?: boolean;
}

/** What the client gets, and where it is from. */
export interface TestedFinalRequest {
    /** `provider`: the request was sent. `kept`: the response to an earlier request. `none`: `onlyKept`, and no response is kept. */
    readonly source: "provider" | "plugin" | "kept" | "none";
    readonly response: PluginResponse;
    /** The headers that the plugin has set. */
    readonly responseHeaders: Readonly<Record<string, string>>;
    /** What the plugin passed to `reuse`; null if it did not call it. */
    readonly reused: ReuseRequest | null;
}

/** A request that is about to be sent. Every field has a default. */
export interface TestFinalRequest extends TestRequest {
    /** Default: that of the path. */
    readonly operation?: string | null;
    /** Default: that of the path. */
    readonly format?: string;
    /** Default: the model of the body. */
    readonly models?: readonly (string | null)[];
    readonly formatHeaders?: Readonly<Record<string, string>>;
    /** Default: the `stream` of the body. */
    readonly wantsStream?: boolean;
    /** Default: false. */
    readonly hasTrustedUser?: boolean;
    /** What `hasSideEffects()` returns. Default: false. */
    readonly hasSideEffects?: boolean;
    /** The response of the provider if the request is sent. Default: status 200 without a body. */
    readonly provided?: PluginResponse;
}

/** A client request. Every field has a default. */
export interface TestRequest {
    readonly method?: string;
    readonly path?: string;
    readonly query?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly forwardedCredentials?: Readonly<Record<string, string>>;
    /** A string is sent unchanged; any other value is sent as JSON. */
    readonly body?: unknown;
    readonly clientAddress?: string;
    readonly apiKey?: PluginContext["apiKey"];
    /** The labels of the API key. */
    readonly labels?: Readonly<Record<string, string>>;
    /** The tool that the request calls; without it, the request is none to an MCP server. */
    readonly tool?: PluginContext["tool"];
    /** The prompts and resources that the request uses; without them and a tool, the request is none to an MCP server. */
    readonly mcpItems?: PluginContext["mcpItems"];
    /** Without it, the request has no such key. */
    readonly conversationKey?: RequestContext["conversationKey"];
    /** What `estimateTokens` of a claims hook returns. */
    readonly estimate?: TestEstimate;
    /** What services of the gateway return to `callService`, by name. */
    readonly services?: TestServices;
}

/** By the name of the service. Throw a ServiceCallError for a call without a response. */
type TestServices = Readonly<Record<string, (request: ServiceRequest, options: ServiceCallOptions) => TestServiceResponse | Promise<TestServiceResponse>>>;

/** What a service returns. A string is sent unchanged; any other value is sent as JSON. */
interface TestServiceResponse {
    readonly status?: number;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: unknown;
}

/** The request after the hook ran, and the response that the plugin gave, if any. */
export interface TestedRequest {
    readonly path: string;
    readonly query: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string | null;
    readonly response: PluginResponse | null;
    readonly responseHeaders: Readonly<Record<string, string>>;
    /** @deprecated Use `response`. */
    readonly answer: PluginResponse | null;
    /** @deprecated Use `responseHeaders`. */
    readonly answerHeaders: Readonly<Record<string, string>>;
}

/** The text that the client gets, and why the response was rejected, if it was. */
export interface TestedText {
    readonly text: string;
    readonly rejection: TextRejection | null;
}

/** The channel of a text; the default is the content of the first choice. Every field has a default. */
export interface TestText extends Partial<TextChannel> {
    readonly provider?: string;
    readonly model?: string | null;
    readonly status?: number;
    /** True: the stream is cut after the last piece, so the last call has `isForced` instead of `isLast`. */
    readonly isCut?: boolean;
}

/** A provider's response. Every field has a default. */
export interface TestResponse {
    readonly status?: number;
    readonly headers?: Readonly<Record<string, string>>;
    readonly provider?: string;
    readonly model?: string | null;
}

/** @deprecated Use `TestResponse`. */
export type TestAnswer = TestResponse;

export interface PluginTest {
    /** Events that the plugin has counted so far: `count("refused", "per_ip")` twice is `{ "refused per_ip": 2 }`. */
    readonly counted: Readonly<Record<string, number>>;
    /** Texts that the plugin has passed to `setDetail` so far. */
    readonly details: readonly string[];
    /** @deprecated Use `details`. */
    readonly remarks: readonly string[];
    /** Calls `before_body`: the body is still arriving, so the hook sees none. */
    beforeBody(request?: TestRequest): TestedRequest;
    /** Reserves the claims of the request, then calls `pre_request`, and waits for what it passes to `holdResponse`. */
    preRequest(request?: TestRequest): Promise<TestedRequest>;
    /**
     * Calls `final_request`. If the hook calls `reuse`, the response is kept, or an earlier one is used, as in the gateway; requests do not
     * wait for each other. Time is that of `Date.now()`.
     */
    finalRequest(request?: TestFinalRequest): Promise<TestedFinalRequest>;
    postRequest(response?: TestResponse): Promise<{
        status: number;
        headers: Readonly<Record<string, string>>;
    }>;
    /** Returns the chunks that the client would receive. `isLast` is true for the last chunk. */
    preResponse(chunks: readonly string[], response?: TestResponse): Promise<string[]>;
    /**
     * Calls `response_text` with the pieces of a streamed text; one piece is a text that is not streamed. `hold` of the definition limits the
     * characters that are held back, but not the time.
     */
    responseText(pieces: readonly string[], text?: TestText): Promise<TestedText>;
    /** Settles the claims of the last request with `usage`, or releases them if there was no attempt. */
    postResponse(end?: Partial<EndContext>): Promise<void>;
    /** Calls `stop`, as a stopping process does. */
    stop(): Promise<void>;
}

/** Creates the plugin as the gateway does: validates the settings, then calls create(). Throws the error of either. */
export declare function testPlugin<Settings>(definition: PluginDefinition<Settings>, settings?: Readonly<Record<string, unknown>>): PluginTest;

export {};
