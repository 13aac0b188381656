// One call of a plugin's hook: the state that the runner and the context of the hook share.
import { forgetCopyOfLastText } from "../base/json-string-end.ts";
import type { PluginStage } from "../model/plugin-stage.ts";
import type { FieldName } from "../http/header-fields.ts";
import type { OutgoingResponse } from "../http/server/outgoing-response.ts";
import type { PluginResponse, ServiceCallOptions, ServiceRequest, ServiceResponse } from "../sdk/index.ts";
import type { ChainLink } from "../snapshot/chain-link.ts";
import type { Log } from "../telemetry/log/log.ts";
import { PluginRun, type ObservedPlugin } from "../telemetry/metrics/observed-plugin.ts";
import type { OffLoop } from "../off-loop/off-loop.ts";
import type { Observation } from "../telemetry/observation.ts";
import type { OwnCredentials } from "./own-credentials.ts";
import type { Exchange } from "./exchange.ts";
import { createPluginResponse } from "./plugin-response.ts";
import type { RequestBody } from "./request-body.ts";
import type { LimitFields, LimitNumbers } from "./token-limit-headers.ts";

/** Sends a request of a plugin to a service of its gateway. */
export type CallService = (
  call: PluginCall,
  service: string,
  request: ServiceRequest,
  options: ServiceCallOptions,
) => Promise<ServiceResponse>;

export interface PluginParts {
  readonly log: Log;
  readonly observation: Observation;
  readonly maxBodyBytes: number;
  readonly ownCredentials: OwnCredentials;
  readonly clientAddress: (exchange: Exchange) => string;
  readonly offLoop: OffLoop;
  /** Null in explanations, which send nothing. */
  readonly callService: CallService | null;
}

export class PluginCall {
  /** Only `changedExchange` replaces it. */
  exchange: Exchange;
  readonly link: ChainLink;
  readonly stage: PluginStage;
  readonly parts: PluginParts;
  /** The telemetry of the plugin on this request. */
  readonly run: PluginRun;
  /** Set by pre_request hooks that respond instead of a provider. */
  response: PluginResponse | null = null;
  /** The plugin may refer to the memory of the body. */
  #hasBodyView = false;

  constructor(
    exchange: Exchange,
    link: ChainLink,
    stage: PluginStage,
    parts: PluginParts,
    run = runOf(exchange, link, stage, parts),
  ) {
    this.exchange = exchange;
    this.link = link;
    this.stage = stage;
    this.parts = parts;
    this.run = run;
  }

  /** Returns the exchange for a change: in shadow mode, one that other plugins do not read. */
  changedExchange(): Exchange {
    return this.exchange;
  }

  /** Returns the body whose bytes and JSON the plugin gets. */
  readableBody(): RequestBody | null {
    return this.exchange.body;
  }

  /** Returns the memory of the body. It is not freed while the plugin may refer to it. */
  viewBody(): Uint8Array | null {
    const body = this.readableBody();
    if (body !== null && !this.#hasBodyView) {
      this.#hasBodyView = true;
      this.exchange.bodyViews++;
      // A custom plugin must not change the body in place. If it does, the changed body is sent.
      if (!this.link.isBuiltIn) forgetCopyOfLastText();
    }
    return body?.bytes ?? null;
  }

  /** The hook has ended. The plugins of Gatehouse keep no part of a body; others may. */
  endBodyView(): void {
    if (!this.#hasBodyView || !this.link.isBuiltIn) return;
    this.#hasBodyView = false;
    this.exchange.bodyViews--;
  }

  setResponseHeader(name: FieldName, value: string): void {
    this.exchange.ownHeaders.set(name, value);
  }

  /** Of several limits with one name, as of two entries of a plugin, the one with the fewest left counts: it is the next to reject a request. */
  reportLimit(fields: LimitFields, numbers: LimitNumbers): void {
    const { ownHeaders } = this.exchange;
    if (!ownHeaders.hasTighter(fields, numbers)) ownHeaders.setLimit(fields, numbers);
  }

  /** `fields` are those of a limit with a name. */
  reportTokenLimit(fields: LimitFields | null, given: LimitNumbers): void {
    const { exchange } = this;
    if (fields !== null) this.reportLimit(fields, given);
    // That of all names which has the fewest tokens left.
    if (exchange.tokenLimit === null || given.remaining < exchange.tokenLimit.remaining)
      exchange.tokenLimit = given;
  }

  /** Throws if the response is invalid. */
  createResponse(response: PluginResponse): OutgoingResponse {
    return createPluginResponse(response, this.exchange, this.parts.maxBodyBytes);
  }
}

/** A pre_response hook is called for each chunk, and before_body before pre_request, but all calls of one plugin are one run. */
export function runOf(
  exchange: Exchange,
  link: ChainLink,
  stage: PluginStage,
  parts: Pick<PluginParts, "observation">,
): PluginRun {
  const plugin = observedPlugin(exchange, link, stage, parts);
  const runs = (exchange.pluginRuns ??= []);
  for (const run of runs) if (run.isRunOf(plugin)) return run;
  const run = new PluginRun(plugin);
  runs.push(run);
  return run;
}

export function observedPlugin(
  { gateway }: Exchange,
  link: ChainLink,
  stage: PluginStage,
  { observation }: Pick<PluginParts, "observation">,
): ObservedPlugin {
  return observation.routes.plugin(link, gateway?.gateway.name ?? "", link.name, stage);
}
