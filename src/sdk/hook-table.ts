// The table of hooks: at which stages entries may have each hook, what it may do, and what it means in each environment in which plugins
// run. A hook of `PluginHooks` without a row, and a row without an implementation in an environment that supports it, do not compile.
import type { PluginStage } from "../model/plugin-stage.ts";
import type { PluginHooks } from "./plugin.ts";

/** Members of `PluginHooks` that belong to an instance, and not to a request. */
export const LIFECYCLE_HOOKS = {
  ready: "Awaited before any hook is called, and before a starting gateway accepts requests.",
  stop: "Called when the process stops, after its requests have ended.",
} as const;

export type HookName = Exclude<keyof PluginHooks, keyof typeof LIFECYCLE_HOOKS | "readsModel">;
export type HookContext<Hook extends HookName> = Parameters<NonNullable<PluginHooks[Hook]>>[0];

/** Where plugins run: each has implementations by hook that are typed by this table. */
export type Environment = "inline" | "isolated" | "shadow" | "explain" | "harness";

interface Unsupported {
  /** Follows "because" in messages and in the reference. */
  readonly unsupported: string;
}

type FieldsOf<Context> = {
  [Name in keyof Context]: Context[Name] extends (...args: never[]) => unknown ? never : Name;
}[keyof Context];
type MethodsOf<Context> = Exclude<keyof Context, FieldsOf<Context>>;

interface HookRow<Context> {
  /** The stages of the entries that may have the hook. */
  readonly stages: readonly PluginStage[];
  /** Whether an entry may have it as its only hook. */
  readonly suffices: boolean;
  /** Whether it may return a promise. */
  readonly mayWait: boolean;
  /** Whether it may respond instead of a provider, or reject the response of one. */
  readonly mayRespond: boolean;
  /** Whether it may hold text of a response back. */
  readonly mayHoldText: boolean;
  readonly inline: typeof SUPPORTED;
  readonly isolated: IsolatedHookRow<Context> | Unsupported;
  readonly shadow: typeof SUPPORTED | Unsupported;
  readonly explain: typeof SUPPORTED | Unsupported;
  /** The method of the test harness that calls the hook. */
  readonly harness: { readonly method: string } | Unsupported;
}

/** What crosses the boundary of an isolate with a call of the hook, in addition to the fields of `PluginContext`. */
interface IsolatedHookRow<Context> {
  readonly fields: readonly FieldsOf<Context>[];
  /** The field with the bytes that the hook works on; null if there are none. */
  readonly bytes: FieldsOf<Context> | null;
  /** The methods of the context whose effects return to the gateway, apart from those of `PluginContext`. */
  readonly changes: readonly MethodsOf<Context>[];
}

const SUPPORTED = {} as const;
const ON_RESPONSE = { unsupported: "runs on the provider's response" } as const;
const IN_PROCESS = "runs in the process of the gateway only";

export const HOOKS = {
  before_body: {
    stages: ["pre_request"],
    suffices: false,
    mayWait: false,
    mayRespond: true,
    mayHoldText: false,
    inline: SUPPORTED,
    isolated: { unsupported: IN_PROCESS },
    shadow: { unsupported: "pre_request decides about the same request" },
    explain: { unsupported: "the body of an explained request is complete" },
    harness: { method: "beforeBody" },
  },
  claims: {
    stages: ["pre_request"],
    suffices: true,
    mayWait: true,
    mayRespond: true,
    mayHoldText: false,
    inline: SUPPORTED,
    isolated: { unsupported: IN_PROCESS },
    shadow: SUPPORTED,
    explain: SUPPORTED,
    harness: { method: "preRequest" },
  },
  pre_request: {
    stages: ["pre_request"],
    suffices: true,
    mayWait: true,
    mayRespond: true,
    mayHoldText: false,
    inline: SUPPORTED,
    isolated: {
      fields: ["path", "query", "headers", "bodySize", "isJson", "bodyUser", "requestedModel"],
      bytes: "bodyView",
      changes: [
        "setHeader",
        "removeHeader",
        "setPath",
        "setQuery",
        "replaceBody",
        "setResponseHeader",
        "reportLimit",
        "reportTokenLimit",
        "respond",
      ],
    },
    shadow: SUPPORTED,
    explain: SUPPORTED,
    harness: { method: "preRequest" },
  },
  final_request: {
    stages: ["pre_request"],
    suffices: true,
    mayWait: true,
    mayRespond: true,
    mayHoldText: false,
    inline: SUPPORTED,
    isolated: { unsupported: IN_PROCESS },
    shadow: { unsupported: "it decides when the request is sent" },
    explain: SUPPORTED,
    harness: { method: "finalRequest" },
  },
  post_request: {
    stages: ["post_request"],
    suffices: true,
    mayWait: true,
    mayRespond: false,
    mayHoldText: false,
    inline: SUPPORTED,
    isolated: {
      fields: ["provider", "model", "status", "headers"],
      bytes: null,
      changes: ["setStatus", "setHeader", "removeHeader"],
    },
    shadow: SUPPORTED,
    explain: ON_RESPONSE,
    harness: { method: "postRequest" },
  },
  pre_response: {
    stages: ["pre_response"],
    suffices: true,
    mayWait: true,
    mayRespond: false,
    mayHoldText: false,
    inline: SUPPORTED,
    isolated: {
      fields: ["provider", "model", "status", "isLast"],
      bytes: "chunk",
      changes: ["replaceChunk"],
    },
    shadow: SUPPORTED,
    explain: ON_RESPONSE,
    harness: { method: "preResponse" },
  },
  response_text: {
    stages: ["pre_request", "pre_response"],
    suffices: true,
    mayWait: true,
    mayRespond: true,
    mayHoldText: true,
    inline: SUPPORTED,
    isolated: {
      fields: ["provider", "model", "status", "channel", "text", "isLast", "isForced"],
      bytes: null,
      changes: ["release", "reject"],
    },
    shadow: SUPPORTED,
    explain: ON_RESPONSE,
    harness: { method: "responseText" },
  },
  post_response: {
    stages: ["post_response"],
    suffices: true,
    mayWait: true,
    mayRespond: false,
    mayHoldText: false,
    inline: SUPPORTED,
    isolated: {
      fields: ["status", "outcome", "provider", "model", "attempts", "durationMs", "firstByteMs", "usage"],
      bytes: null,
      changes: [],
    },
    shadow: SUPPORTED,
    explain: ON_RESPONSE,
    harness: { method: "postResponse" },
  },
} as const satisfies { readonly [Hook in HookName]: HookRow<HookContext<Hook>> };

type Table = typeof HOOKS;

/** The hooks that an environment runs. */
export type SupportedHook<Where extends Environment> = {
  [Hook in HookName]: Table[Hook][Where] extends Unsupported ? never : Hook;
}[HookName];

export const HOOK_NAMES = Object.keys(HOOKS) as readonly HookName[];

/** Returns why the environment does not run the hook, or null if it does. */
export function whyUnsupported(hook: HookName, where: Environment): string | null {
  const row: object = HOOKS[hook][where];
  return "unsupported" in row ? String(row.unsupported) : null;
}

/** Returns the hooks that the environment runs, in the order of the table. */
export function supportedHooks<Where extends Environment>(where: Where): readonly SupportedHook<Where>[] {
  return HOOK_NAMES.filter((hook): hook is SupportedHook<Where> => whyUnsupported(hook, where) === null);
}
