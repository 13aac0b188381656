// The context of post_request hooks: reads and changes the status and the headers of a provider's response.
import type { HeaderFields } from "../http/header-fields.ts";
import type { ReadonlyHeaders, ResponseContext } from "../sdk/index.ts";
import { HeadersView } from "./header-views.ts";
import type { PluginCall } from "./plugin-call.ts";
import { CallContext } from "./plugin-context.ts";
import { checkHeaderName, checkHeaderValue, checkStatus } from "./plugin-values.ts";
import type { ResponseOrigin } from "./pre-response-context.ts";

export class PostRequestContext extends CallContext implements ResponseContext {
  readonly #call: PluginCall;
  readonly #response: ResponseOrigin;
  readonly #headers: HeaderFields;
  #status: number;

  /** The hook changes `headers` in place. */
  constructor(call: PluginCall, response: ResponseOrigin, status: number, headers: HeaderFields) {
    super(call);
    this.#call = call;
    this.#response = response;
    this.#status = status;
    this.#headers = headers;
  }

  get status(): number {
    return this.#status;
  }
  get provider(): string {
    return this.#response.target.provider;
  }
  get model(): string | null {
    return this.#response.model;
  }
  get headers(): ReadonlyHeaders {
    return new HeadersView(this.#headers);
  }
  setStatus(status: number): void {
    this.#status = checkStatus(status);
    this.#call.run.verdict = "changed";
  }
  setHeader(name: string, value: string): void {
    this.#headers.set(checkHeaderName(name), checkHeaderValue(value));
    this.#call.run.verdict = "changed";
  }
  removeHeader(name: string): void {
    this.#headers.delete(checkHeaderName(name));
    this.#call.run.verdict = "changed";
  }
}
