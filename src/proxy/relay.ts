// Hands a provider's answer to the client: bytes as they came, or put into another wire format or through plugins.
import type { ValueOrPromise } from "../base/value-or-promise.ts";
import type { PluginChain } from "../snapshot/plugin-chain.ts";
import { readWholeBody } from "../upstream/read-whole-body.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import { verdictOf, type TargetResponse } from "./target-response.ts";
import type { Verdict } from "./attempt-report.ts";
import type { Exchange, Outcome } from "./exchange.ts";
import { finish, type FinishParts } from "./finish.ts";
import { answeredHeaders } from "./header-filter.ts";
import { StreamRelay } from "./relay-stream.ts";
import { PreResponsePlugins, runPostRequest } from "./run-plugins.ts";
import { translateBody, translateStream, translateWholeStream } from "./translate-response.ts";
import { settleUsage } from "./record-usage.ts";
import { tapResponse, usageOfBody, type UsageTap } from "../usage/usage-tap.ts";

/** What a whole answer may hold where something here must read it. */
const MAX_WHOLE_BYTES = 32 * 1024 * 1024;
const NO_BODY = new Set([204, 205, 304]);
const PLAIN_TEXT = /^[\x20-\x7E]{0,256}$/;

/** Ends the exchange exactly once, when the last byte is on its way or none will come. */
export function relay(
  exchange: Exchange,
  answer: TargetResponse,
  parts: FinishParts,
): ValueOrPromise<Response> {
  exchange.response = answer;
  const chain = exchange.gateway?.chain ?? null;
  const isUntouched = chain === null || (chain.post_request === null && chain.pre_response === null);
  // Most answers are all there and stay as they are.
  return isUntouched && answer.reader === null && answer.translator === null
    ? handOver(exchange, answer, parts)
    : relayThrough(exchange, answer, chain, parts);
}

function handOver(exchange: Exchange, answer: TargetResponse, parts: FinishParts): Response {
  const { body } = answer;
  const { status } = answer.response;
  const headers = headersFor(exchange, answer);
  settleUsage(exchange, usageOfBody(answer));
  exchange.bodies?.takeResponse(body);
  answer.report.end(verdictOf(status));
  finish(exchange, "complete", status, parts);
  return responseWith(body, status, headers);
}

async function relayThrough(
  exchange: Exchange,
  answer: TargetResponse,
  chain: PluginChain | null,
  parts: FinishParts,
): Promise<Response> {
  const headers = headersFor(exchange, answer);
  const tap = tapResponse(answer);
  try {
    const status =
      chain === null || chain.post_request === null
        ? answer.response.status
        : await runPostRequest(exchange, chain, parts, answer, headers);
    const end = (outcome: Outcome) => {
      settleUsage(exchange, tap === null ? usageOfBody(answer) : tap.result(outcome === "complete"));
      answer.report.end(verdictFor(outcome, answer.response.status));
      finish(exchange, outcome, status, parts);
    };
    const plugins =
      chain === null || chain.pre_response === null
        ? null
        : new PreResponsePlugins(exchange, chain, parts, answer, status);
    if (answer.reader !== null && isStreamed(answer, plugins)) {
      const translation = answer.translator === null ? null : translateStream(answer.translator, exchange);
      const passes = { tap, translation, plugins, bodies: exchange.bodies };
      exchange.releaseBody();
      return new Response(new ReadableStream(new StreamRelay(answer.reader, passes, end)), {
        status,
        headers,
      });
    }
    const body = await wholeBody(exchange, answer, plugins, tap);
    exchange.bodies?.takeResponse(body);
    end("complete");
    return responseWith(body, status, headers);
  } catch (error) {
    // Nothing has gone to the client yet: the fault is told as an error, and logged with it.
    settleUsage(exchange, tap === null ? usageOfBody(answer) : tap.result(false));
    answer.reader?.cancel();
    const isProvidersFault = error instanceof UpstreamError && error.kind !== "client_left";
    answer.report.end(isProvidersFault ? "failed" : "neutral");
    throw error;
  }
}

function responseWith(body: Uint8Array | string | null, status: number, headers: Headers): Response {
  return new Response(NO_BODY.has(status) ? null : asBody(body, headers), { status, headers });
}

function verdictFor(outcome: Outcome, status: number): Verdict {
  if (outcome === "complete") return verdictOf(status);
  return outcome === "client_left" ? "neutral" : "failed";
}

/** An answer is handed on as it comes, unless a plugin or a translation needs all of it first. */
function isStreamed({ isStream, translator }: TargetResponse, plugins: PreResponsePlugins | null): boolean {
  if (plugins?.needsWholeBody === true) return false;
  return isStream || translator === null;
}

async function wholeBody(
  exchange: Exchange,
  answer: TargetResponse,
  plugins: PreResponsePlugins | null,
  tap: UsageTap | null,
): Promise<Uint8Array | string | null> {
  if (!hasBody(answer)) return null;
  const bytes = answer.reader === null ? answer.body : await readWholeBody(answer.reader, MAX_WHOLE_BYTES);
  const { translator, isStream, response } = answer;
  let body: Uint8Array | string = bytes ?? new Uint8Array(0);
  if (tap !== null) body = tap.pushWhole(body);
  if (translator !== null)
    body = isStream
      ? translateWholeStream(translator, exchange, body)
      : translateBody(translator, response.status, body);
  return plugins === null ? body : plugins.run(typeof body === "string" ? Buffer.from(body) : body, true);
}

/** Bytes without a type would get one from the runtime; as a stream they stay without. */
function asBody(
  body: Uint8Array | string | null,
  headers: Headers,
): Uint8Array | string | ReadableStream | null {
  if (typeof body === "string" || body === null || headers.has("content-type")) return body;
  return new ReadableStream({
    start(controller) {
      controller.enqueue(body);
      controller.close();
    },
  });
}

function headersFor(exchange: Exchange, answer: TargetResponse): Headers {
  const { response, isStream, target, model, firstByteMs, translator, isDecoded } = answer;
  // The runtime frames the body; what the provider said of its length is true only where there is none.
  const headers = answeredHeaders(response.headers, {
    length: exchange.method === "HEAD",
    encoding: !isDecoded,
  });
  headers.append("X-Request-Id", exchange.requestId);
  headers.append("X-GW-Provider", headerText(target.provider));
  if (model !== null) headers.append("X-GW-Model", headerText(model));
  headers.append("X-GW-Attempts", exchange.attempts === 1 ? "1" : String(exchange.attempts));
  const total = tenths(performance.now() - exchange.startedAt);
  headers.append("Server-Timing", `total;dur=${total}, upstream;dur=${tenths(firstByteMs)}`);
  if (isStream) headers.set("X-Accel-Buffering", "no");
  else if (translator !== null && hasBody(answer)) headers.set("Content-Type", "application/json");
  exchange.addResponseHeaders(headers);
  return headers;
}

/** With one decimal, at a tenth of what `toFixed` costs. */
function tenths(milliseconds: number): string {
  const count = Math.round(milliseconds * 10);
  return `${Math.floor(count / 10)}.${count % 10}`;
}

function hasBody({ body, reader }: TargetResponse): boolean {
  return body !== null || reader !== null;
}

/** A name may be any text: what a header cannot hold is replaced. */
function headerText(text: string): string {
  return PLAIN_TEXT.test(text) ? text : text.replaceAll(/[^\x20-\x7E]/g, "?").slice(0, 256);
}
