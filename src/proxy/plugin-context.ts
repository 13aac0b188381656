// The part of a plugin context that all stages share.
import type { PluginContext } from "../sdk/index.ts";
import type { PluginCall } from "./plugin-call.ts";

const NO_ITEMS: PluginContext["mcpItems"] = [];

/**
 * Custom plugins may be plain JavaScript. Therefore everything that a plugin must not change is in `#private` fields,
 * which exist at run time, and not only marked as private in the types.
 */
export class CallContext implements PluginContext {
  readonly #call: PluginCall;

  constructor(call: PluginCall) {
    this.#call = call;
  }

  get notes(): Map<string, unknown> {
    const { exchange, link } = this.#call;
    return exchange.notesOf(link.notesKey);
  }
  get requestId(): string {
    return this.#call.exchange.requestId;
  }
  get gateway(): PluginContext["gateway"] {
    const { id = "", gateway } = this.#call.exchange.gateway ?? {};
    return { id, name: gateway?.name ?? "" };
  }
  get rule(): PluginContext["rule"] {
    const { id = "", name = null, path = "" } = this.#call.exchange.rule?.rule ?? {};
    return { id, name, path };
  }
  get apiKey(): PluginContext["apiKey"] {
    const { apiKey } = this.#call.exchange;
    return apiKey === null ? null : { id: apiKey.id, name: apiKey.name };
  }
  apiKeyLabel(name: string): string | null {
    const labels = this.#call.exchange.apiKey?.labelValues;
    return labels !== undefined && Object.hasOwn(labels, name) ? (labels[name] ?? null) : null;
  }
  get protocol(): PluginContext["protocol"] {
    return this.#call.exchange.mcp === null ? "http" : "mcp";
  }
  get tool(): PluginContext["tool"] {
    return this.#call.exchange.mcp?.content?.tool ?? null;
  }
  get mcpItems(): PluginContext["mcpItems"] {
    const { mcp, rule } = this.#call.exchange;
    const service = rule?.mcp ?? null;
    return mcp === null || service === null ? NO_ITEMS : mcp.promptsOf(service);
  }
  get method(): string {
    return this.#call.exchange.method;
  }
  get clientAddress(): string {
    const { exchange, parts } = this.#call;
    return parts.clientAddress(exchange);
  }
  count(event: string, kind = "", amount = 1): void {
    if (typeof event !== "string" || event === "" || typeof kind !== "string")
      throw new Error("count() needs a non-empty string as event and, if given, a string as kind");
    if (!Number.isFinite(amount) || amount < 0) throw new Error("count() needs an amount of at least 0");
    this.#call.run.count(event, kind, amount);
  }
  setDetail(detail: string): void {
    if (typeof detail !== "string") throw new Error("the detail must be a string");
    this.#call.run.describe(detail);
  }
  /** Earlier name of setDetail. */
  remark(detail: string): void {
    this.setDetail(detail);
  }
}
