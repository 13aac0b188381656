// What all contexts inside an isolate share: reads come from the data of the call, or are asked of the gateway; changes are recorded
// and applied by the gateway when the hook has ended.
import type { PluginContext, PluginResponse } from "../../sdk/index.ts";
import type { ContextData, Effect } from "./messages.ts";

/** Asks the gateway about the request, and waits for the reply. */
export type AskContext = (method: string, ...args: readonly unknown[]) => unknown;

/** A running call of a hook. */
export interface IsolatedCall {
  readonly data: ContextData;
  readonly bytes: Uint8Array | null;
  readonly ask: AskContext;
  /** Like `ask`, without blocking. */
  readonly askLater: (method: string, ...args: readonly unknown[]) => Promise<unknown>;
  readonly notes: () => Map<string, unknown>;
  readonly callNotes: () => Map<string, unknown>;
  /** What the gateway has not been sent yet. */
  readonly effects: Effect[];
  readonly blobs: Uint8Array[];
  /** Decisions that the response waits for. */
  readonly decisions: Promise<PluginResponse | null>[];
  hasEnded: boolean;
}

/** The fields of a context that cross the boundary with a call. */
export type Data<Context> = {
  readonly [
    Name in keyof Context as Context[Name] extends (...args: never[]) => unknown ? never : Name
  ]: Context[Name];
};

/** Records a change, which the gateway applies later. */
export function record(call: IsolatedCall, method: string, ...args: readonly unknown[]): void {
  call.effects.push([method, ...args]);
}

/** Returns a string unchanged, and a reference for bytes. */
export function bytesArgument(call: IsolatedCall, value: string | Uint8Array): unknown {
  return value instanceof Uint8Array ? { blob: addBlob(call, value) } : value;
}

/** Returns the response with a reference for a body of bytes. */
export function responseArgument(call: IsolatedCall, { body, ...response }: PluginResponse): unknown {
  return body instanceof Uint8Array ? { ...response, bodyBlob: addBlob(call, body) } : { ...response, body };
}

/** Copies the bytes, because the plugin may change them later. */
function addBlob({ blobs }: IsolatedCall, bytes: Uint8Array): number {
  return blobs.push(new Uint8Array(bytes)) - 1;
}

export class BaseContext implements PluginContext {
  readonly #call: IsolatedCall;
  readonly #data: Data<PluginContext>;
  readonly #labels = new Map<string, string | null>();
  #tool: PluginContext["tool"] | undefined;

  constructor(call: IsolatedCall) {
    this.#call = call;
    this.#data = call.data as unknown as Data<PluginContext>;
  }
  get requestId() {
    return this.#data.requestId;
  }
  get gateway() {
    return this.#data.gateway;
  }
  get rule() {
    return this.#data.rule;
  }
  get apiKey() {
    return this.#data.apiKey;
  }
  get protocol() {
    return this.#data.protocol;
  }
  get tool() {
    return (this.#tool ??= withArguments(this.#data.tool, this.#call.ask));
  }
  get mcpItems() {
    return this.#data.mcpItems;
  }
  get method() {
    return this.#data.method;
  }
  get clientAddress() {
    return this.#data.clientAddress;
  }
  get notes(): Map<string, unknown> {
    return this.#call.notes();
  }
  apiKeyLabel(name: string): string | null {
    const known = this.#labels.get(name);
    if (known !== undefined) return known;
    const label = this.#call.ask("apiKeyLabel", name) as string | null;
    this.#labels.set(name, label);
    return label;
  }
  count(event: string, kind = "", amount = 1): void {
    record(this.#call, "count", event, kind, amount);
  }
  setDetail(detail: string): void {
    record(this.#call, "setDetail", detail);
  }
  remark(detail: string): void {
    this.setDetail(detail);
  }
}

type Tool = NonNullable<PluginContext["tool"]>;

/** Large arguments do not cross the boundary with the call: they are asked for when the plugin reads them. */
function withArguments(tool: Pick<Tool, "name"> | Tool | null, ask: AskContext): PluginContext["tool"] {
  if (tool === null || "arguments" in tool) return tool;
  let asked: Tool["arguments"] | undefined;
  return {
    name: tool.name,
    get arguments() {
      return (asked ??= ask("toolArguments") as Tool["arguments"]);
    },
  };
}
