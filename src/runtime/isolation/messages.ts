// The messages between the gateway and an isolate: a worker thread or a process that runs the hooks of a plugin. Both directions use
// packets: a message as JSON, and byte arrays that the message refers to by index.
import type { SupportedHook } from "../../sdk/hook-table.ts";

export interface Packet {
  readonly text: string;
  readonly blobs: readonly Uint8Array[];
}

const NO_BLOBS: readonly Uint8Array[] = [];

export function packetOf(message: ToIsolate | FromIsolate, blobs: readonly Uint8Array[] = NO_BLOBS): Packet {
  return { text: JSON.stringify(message), blobs };
}

/** The hooks that an isolate can run. */
export type IsolatedHook = SupportedHook<"isolated">;

/** An error as data: structured clone would drop the name of classes that only one side has. */
export interface ErrorData {
  readonly name: string;
  readonly message: string;
  readonly stack?: string | undefined;
}

export type ToIsolate =
  /** The first message. `builtin` is the name of a built-in plugin; otherwise blob 0 is the bundled source. */
  | { readonly type: "load"; readonly builtin: string | null }
  | {
      readonly type: "create";
      readonly instance: number;
      readonly instanceId: string;
      readonly settings: unknown;
      readonly isExplaining: boolean;
    }
  | {
      readonly type: "call";
      readonly call: number;
      readonly instance: number;
      readonly hook: IsolatedHook;
      /** Calls with the same number share `context.notes`. */
      readonly notes: number;
      /** The number of `context.callNotes`. */
      readonly callNotes: number;
      readonly context: ContextData;
    }
  | {
      readonly type: "reply";
      readonly question: number;
      readonly value?: unknown;
      readonly error?: ErrorData;
    }
  | { readonly type: "release"; readonly instances: readonly number[]; readonly notes: readonly number[] }
  /** Asks for a sign of life. */
  | { readonly type: "ping" }
  /** Calls the `stop` hooks of these instances. */
  | { readonly type: "stop"; readonly instances: readonly number[] };

export type FromIsolate =
  | { readonly type: "loaded" }
  | { readonly type: "pong" }
  /** The hook has returned a promise: the isolate runs other calls meanwhile. */
  | { readonly type: "waits"; readonly call: number }
  | { readonly type: "not_loaded"; readonly error: ErrorData }
  | {
      readonly type: "created";
      readonly instance: number;
      readonly hooks: readonly string[];
      /** Whether a message of type "ready" follows. */
      readonly waits: boolean;
    }
  | { readonly type: "not_created"; readonly instance: number; readonly error: ErrorData }
  | { readonly type: "ready"; readonly instance: number; readonly error: ErrorData | null }
  | {
      readonly type: "done";
      readonly call: number;
      readonly effects: readonly Effect[];
      readonly error: ErrorData | null;
      readonly hasNotes: boolean;
      /** The response waits for a decision of the plugin. A message of type "decided" follows. */
      readonly isHeld: boolean;
    }
  | {
      readonly type: "decided";
      readonly call: number;
      /** As the argument of the effect `respond`; null if the request passes. */
      readonly response: unknown;
      /** What the plugin did after the hook had ended. */
      readonly effects: readonly Effect[];
      readonly error: ErrorData | null;
    }
  /** All `stop` hooks have ended. `errors` has the failures. */
  | { readonly type: "stopped"; readonly errors: readonly ErrorData[] }
  | Question;

/** A call of the host or of a context that only the gateway can respond to. */
export interface Question {
  readonly type: "question";
  /** 0 if no reply is needed. */
  readonly question: number;
  /** The isolate is blocked until the reply arrives. */
  readonly isBlocking: boolean;
  readonly instance: number;
  /** 0 for a call of the host. */
  readonly call: number;
  readonly method: string;
  readonly args: readonly unknown[];
}

/** A method of the context that the hook called, and its arguments. `{ blob: n }` is a byte array. */
export type Effect = readonly [method: string, ...args: unknown[]];

/** Telemetry, which also counts if the hook failed. */
export function isReport([method]: Effect): boolean {
  return method === "count" || method === "setDetail";
}

export interface BlobReference {
  readonly blob: number;
}

/** What crosses the boundary with each call. What is rarely used is asked for. */
export type ContextData = Readonly<Record<string, unknown>>;

export function toErrorData(error: unknown): ErrorData {
  if (!(error instanceof Error)) return { name: "Error", message: String(error) };
  return { name: error.name, message: error.message, stack: error.stack };
}

export function fromErrorData({ name, message, stack }: ErrorData): Error {
  const error = new Error(message);
  error.name = name;
  if (stack !== undefined) error.stack = stack;
  return error;
}
