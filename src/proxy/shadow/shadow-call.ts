// A call of a plugin in shadow mode at pre_request. The plugins at one position read the same copy of the request; each gets its own copy
// with its first change, and its own body when it first reads one. Most plugins do neither.
import { HeaderFields, isFieldValue, type FieldName } from "../../http/header-fields.ts";
import { OutgoingResponse } from "../../http/server/outgoing-response.ts";
import type { PluginResponse } from "../../sdk/index.ts";
import type { ShadowLink } from "../../snapshot/shadow-chain.ts";
import { PluginRun } from "../../telemetry/metrics/observed-plugin.ts";
import type { Exchange } from "../exchange.ts";
import { observedPlugin, PluginCall, type PluginParts } from "../plugin-call.ts";
import { checkPluginResponse } from "../plugin-response.ts";
import type { RequestBody } from "../request-body.ts";
import { changesSince, stateOf, type RequestState } from "../request-changes.ts";
import type { LimitFields, LimitNumbers } from "../token-limit-headers.ts";
import { copyBody, copyExchange } from "./shadow-copy.ts";

/** Of responses that are not sent. */
const NO_FIELDS = new HeaderFields();

export class ShadowCall extends PluginCall {
  /** What the plugin sets on the response is compared with what the enforced version set. Otherwise it is only checked. */
  #keepsResponse: boolean;
  /** What would be sent to the provider before the first change; null if the plugin has changed nothing. */
  #before: RequestState | null = null;
  /** The body that other plugins read, too. */
  readonly #sharedBody: RequestBody | null;
  /** Null until the plugin reads the shared one. */
  #ownBody: RequestBody | null = null;
  #errorCode: string | null = null;
  /** The response that the plugin would have sent; null if it would have sent none. */
  result: OutgoingResponse | null = null;

  /** `shared` must not be changed any more. */
  constructor(shared: Exchange, link: ShadowLink, parts: PluginParts) {
    const plugin = observedPlugin(shared, link, "pre_request", parts);
    super(shared, link, "pre_request", parts, new PluginRun(plugin));
    this.#sharedBody = shared.body;
    this.#keepsResponse = link.beside !== null;
  }

  /** The code of the error with which the plugin would have responded; null if it would not. */
  get errorCode(): string | null {
    return this.#errorCode ?? this.exchange.errorCode;
  }

  /** Returns the names of what the plugin has changed in the request. */
  changes(): string[] {
    return this.#before === null ? [] : changesSince(this.#before, stateOf(this.exchange, this.parts));
  }

  override changedExchange(): Exchange {
    if (this.#before === null) {
      this.#before = stateOf(this.exchange, this.parts);
      this.exchange = copyExchange(this.exchange);
    }
    return this.exchange;
  }

  override readableBody(): RequestBody | null {
    const { body } = this.exchange;
    if (body === null || body !== this.#sharedBody) return body;
    return (this.#ownBody ??= copyBody(body, this.link.isBuiltIn));
  }

  override setResponseHeader(name: FieldName, value: string): void {
    // A response with such a header could not be created.
    if (!isFieldValue(value)) this.#keepsResponse = true;
    if (this.#keepsResponse) this.changedExchange().ownHeaders.set(name, value);
  }

  override reportLimit(fields: LimitFields, numbers: LimitNumbers): void {
    if (!this.#keepsResponse) return;
    this.changedExchange();
    super.reportLimit(fields, numbers);
  }

  override reportTokenLimit(fields: LimitFields | null, numbers: LimitNumbers): void {
    if (!this.#keepsResponse) return;
    this.changedExchange();
    super.reportTokenLimit(fields, numbers);
  }

  override createResponse(response: PluginResponse): OutgoingResponse {
    if (this.#keepsResponse) {
      this.changedExchange();
      return super.createResponse(response);
    }
    this.#errorCode = checkPluginResponse(response, this.exchange, this.parts.maxBodyBytes);
    return new OutgoingResponse(null, { status: response.status, headers: NO_FIELDS });
  }
}
