// A request, and the entry and the parts with which a plugin in shadow mode runs on it.
import { systemClock, type Clock } from "../../base/clock.ts";
import { HeaderFields } from "../../http/header-fields.ts";
import type { ClientRequest } from "../../http/server/client-request.ts";
import { OffLoop } from "../../off-loop/off-loop.ts";
import type { ShadowLink } from "../../snapshot/shadow-chain.ts";
import { EMPTY_SNAPSHOT } from "../../snapshot/snapshot.ts";
import { NO_LOG } from "../../telemetry/log/log.ts";
import { Metrics } from "../../telemetry/metrics/metrics.ts";
import { Observation } from "../../telemetry/observation.ts";
import { ShadowReport } from "../../telemetry/requests/shadow-report.ts";
import { Exchange } from "../exchange.ts";
import { OwnCredentials } from "../own-credentials.ts";
import type { PluginParts } from "../plugin-call.ts";
import { RequestBody } from "../request-body.ts";

const REQUEST: ClientRequest = {
  method: "POST",
  target: "/v1/chat?a=b",
  headers: HeaderFields.from({ "x-client": "1" }),
  peerAddress: "127.0.0.1",
  isDisconnected: false,
  disconnectListener: null,
  readBody: () => null,
};
export const TEXT = '{"model":"m","messages":[{"role":"user"}]}';
export const MAX_BYTES = 200;

export const PARTS: PluginParts = {
  log: NO_LOG,
  observation: new Observation(new Metrics(), NO_LOG, { requestLogSize: 0, tracer: null, sink: null }),
  maxBodyBytes: MAX_BYTES,
  ownCredentials: new OwnCredentials("secret"),
  clientAddress: () => "127.0.0.1",
  offLoop: new OffLoop(),
  callService: null,
};

export const linkOf = (name: string, beside: ShadowLink | null = null): ShadowLink => ({
  name,
  instanceId: name,
  notesKey: name,
  hooks: {},
  continuesOnError: true,
  isGuard: false,
  textHolds: null,
  isMcpOnly: false,
  isolation: "inline",
  isBuiltIn: false,
  isPreResponse: false,
  createForExplanation: null,
  stage: "pre_request",
  position: 0,
  sample: 1,
  needsBody: true,
  report: new ShadowReport(),
  before: { http: null, mcp: null },
  isSecondPart: false,
  beside,
});

export function newExchange(text = TEXT, clock: Clock = systemClock): Exchange {
  const exchange = new Exchange(REQUEST, EMPTY_SNAPSHOT, "id", clock);
  // A Buffer, as the listener reads it: slice() of it is a view.
  const bytes = Buffer.from(text);
  exchange.setBody(RequestBody.scan({ bytes, isJson: true, contentType: null, isTraced: false }));
  return exchange;
}
