// Runs plugins in shadow mode at pre_response: on copies of the chunks of one response, without delaying it.
import { parseContentEncoding } from "../../http/content-encoding.ts";
import type { ChainLink } from "../../snapshot/chain-link.ts";
import { runsOnResponse, type ShadowLink } from "../../snapshot/shadow-chain.ts";
import type { Exchange } from "../exchange.ts";
import { PluginCall, type PluginParts } from "../plugin-call.ts";
import type { ResponseSource } from "../pre-response-context.ts";
import { PreResponsePlugins, type ResponseObserver } from "../pre-response-plugins.ts";
import type { TargetResponse } from "../target-response.ts";
import { RejectedText } from "../texts/text-rejection.ts";
import { copyExchange } from "./shadow-copy.ts";
import { comparison } from "./compare-versions.ts";
import { logError, report, SKIPPED } from "./report-shadow.ts";
import type { ShadowRequest } from "./shadow-request.ts";
import { resultOf } from "./shadow-result.ts";
import { withoutLog } from "./without-log.ts";

/** What is kept of one response until its hooks have run; a longer response is skipped. */
const MAX_PENDING_BYTES = 4 * 1024 * 1024;

/** The chunks that shadow plugins run on: those of the body of a target, or messages of an MCP server. */
export interface ShadowSource {
  /** The name of the encoding of the chunks; null if they are not encoded. */
  readonly encoding: string | null;
  /** Returns what runs one plugin on a copy of the exchange. */
  pluginOn(copy: Exchange, link: ShadowLink, parts: PluginParts): ShadowPlugin;
}

/** Runs one plugin on the chunks of one response. */
interface ShadowPlugin {
  /** The whole body is needed before the hook can run. */
  readonly needsWholeBody: boolean;
  run(chunk: Uint8Array, isLast: boolean): Promise<Uint8Array>;
}

/** The body of a response of a target. */
export function bodySource(response: TargetResponse, status: number): ShadowSource {
  const { isDecoded, upstreamResponse } = response;
  return sourceOfBody(response, status, isDecoded ? null : upstreamResponse.headers.get("content-encoding"));
}

/** `encoding` is the name of that of the body; null if it is not encoded. */
export function sourceOfBody(
  response: ResponseSource,
  status: number,
  encoding: string | null,
): ShadowSource {
  return {
    encoding,
    pluginOn(copy, link, parts) {
      const chain = { pre_response: [link], needsWholeResponse: link.needsBody };
      return new PreResponsePlugins(copy, chain, parts, response, status, null);
    },
  };
}

interface BodyParts {
  readonly exchange: Exchange;
  readonly shadow: ShadowRequest;
  readonly source: ShadowSource;
  readonly parts: PluginParts;
}

/** All shadow plugins of one response. */
export class ShadowBodies implements ResponseObserver {
  readonly #bodies: readonly ShadowBody[];
  readonly #protocol: "http" | "mcp";

  private constructor(bodies: readonly ShadowBody[], protocol: "http" | "mcp") {
    this.#bodies = bodies;
    this.#protocol = protocol;
  }

  /** Returns null if no shadow plugin runs on the response. */
  static begin(exchange: Exchange, source: ShadowSource, parts: PluginParts): ShadowBodies | null {
    const { shadow } = exchange;
    const links = exchange.gateway?.chain?.shadows?.pre_response ?? null;
    if (shadow === null || links === null) return null;
    const isMcp = exchange.mcp !== null;
    const sampled = links.filter(
      (link) => runsOnResponse({ stage: link.stage, link }, isMcp) && shadow.isSampled(link),
    );
    if (sampled.length === 0) return null;
    const bodyParts = { exchange, shadow, source, parts };
    const bodies = sampled.map((link) => new ShadowBody(link, bodyParts));
    shadow.onEnd(() => {
      for (const body of bodies) body.end();
    });
    return new ShadowBodies(bodies, isMcp ? "mcp" : "http");
  }

  /** Passes a chunk to the shadow plugins that run before an enforced plugin. */
  push(before: ChainLink | null, chunk: Uint8Array, isLast: boolean): void {
    for (const body of this.#bodies)
      if (body.link.before[this.#protocol] === before) body.push(chunk, isLast);
  }

  /** Passes on what an enforced plugin made of a chunk, to compare its next version with it. */
  pushResult(of: ChainLink, chunk: Uint8Array): void {
    for (const body of this.#bodies) if (body.link.beside === of) body.expect(chunk);
  }
}

class ShadowBody {
  readonly link: ShadowLink;
  readonly #parts: BodyParts;
  readonly #copy: Exchange;
  readonly #plugin: ShadowPlugin;
  /** The whole body is needed before the hook can run. */
  readonly #collects: boolean;
  readonly #chunks: Uint8Array[] = [];
  #pendingBytes = 0;
  #isOver = false;
  #rejection: RejectedText | null = null;
  /** What both versions of the plugin sent; null unless they are compared. */
  readonly #outputs: { readonly expected: Bun.CryptoHasher; readonly actual: Bun.CryptoHasher } | null;

  constructor(link: ShadowLink, bodyParts: BodyParts) {
    const { exchange, source, parts } = bodyParts;
    this.link = link;
    this.#parts = bodyParts;
    this.#copy = copyExchange(exchange);
    this.#plugin = source.pluginOn(this.#copy, link, withoutLog(parts));
    this.#collects = this.#plugin.needsWholeBody || source.encoding !== null;
    this.#outputs =
      link.beside === null
        ? null
        : { expected: new Bun.CryptoHasher("sha256"), actual: new Bun.CryptoHasher("sha256") };
  }

  push(chunk: Uint8Array, isLast: boolean): void {
    if (this.#isOver) return;
    const { byteLength } = chunk;
    if (this.#pendingBytes + byteLength > MAX_PENDING_BYTES || !this.#parts.shadow.hold(byteLength)) {
      this.#skip();
      return;
    }
    this.#pendingBytes += byteLength;
    // Not slice(), which is a view of a Buffer: the memory of a chunk is used again after it is sent.
    const copy = new Uint8Array(chunk);
    if (isLast) this.#isOver = true;
    if (!this.#collects) this.#enqueue(() => this.#run(copy, isLast), isLast);
    else {
      this.#chunks.push(copy);
      if (isLast) this.#enqueue(() => this.#runWhole(), true);
    }
  }

  expect(chunk: Uint8Array): void {
    this.#outputs?.expected.update(chunk);
  }

  /** Call when the request has ended, also if the last chunk has not been pushed. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#collects) this.#skip();
    else this.#enqueue(() => undefined, true);
  }

  #skip(): void {
    this.#isOver = true;
    const { exchange, parts } = this.#parts;
    report(exchange, this.link, SKIPPED, parts);
  }

  #enqueue(work: () => void | Promise<void>, isLast: boolean): void {
    const { exchange, shadow, parts } = this.#parts;
    const run = async () => {
      await work();
      if (isLast) this.#report();
    };
    shadow.enqueue({ run, fail: (error) => logError(error, exchange, this.link, parts) });
  }

  async #run(chunk: Uint8Array, isLast: boolean): Promise<void> {
    // A failure of an enforced plugin ends the response, and so does a rejected text.
    if (this.#hasEnded) return;
    try {
      const output = await this.#plugin.run(chunk, isLast);
      this.#outputs?.actual.update(output);
    } catch (error) {
      if (!(error instanceof RejectedText)) throw error;
      this.#rejection = error;
    }
    if (this.#collects) return;
    this.#parts.shadow.release(chunk.byteLength);
    this.#pendingBytes -= chunk.byteLength;
  }

  get #hasEnded(): boolean {
    return this.#rejection !== null || this.#copy.pluginRuns?.[0]?.verdict === "failed";
  }

  async #runWhole(): Promise<void> {
    const bytes = Buffer.concat(this.#chunks);
    const encoding = parseContentEncoding(this.#parts.source.encoding);
    if (encoding === "unsupported") throw new Error("the body cannot be decoded");
    const options = { maxOutputLength: MAX_PENDING_BYTES };
    await this.#run(encoding === "identity" ? bytes : encoding.decode(bytes, options), true);
  }

  #report(): void {
    const { exchange, parts } = this.#parts;
    const { link } = this;
    const { run } = new PluginCall(this.#copy, link, "pre_response", parts);
    const rejection = this.#rejection?.rejection ?? null;
    const result = resultOf(run, rejection?.code ?? null, rejection, ["the body"]);
    if (link.isSecondPart && result.outcome === "passed") return;
    const outputs = this.#outputs;
    if (outputs === null) {
      report(exchange, link, result, parts);
      return;
    }
    const isSame = outputs.expected.digest("hex") === outputs.actual.digest("hex");
    report(exchange, link, { ...result, ...comparison(result, isSame ? [] : ["the body"]) }, parts);
  }
}
