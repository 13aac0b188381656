// Relays a response as relay.ts does, and sends a copy of its request to the mirror of the virtual model once the response has begun.
import { setImmediate } from "node:timers";
import {
  isStreamed,
  OutgoingResponse,
  type BodyWriter,
  type StreamedBody,
} from "../../http/server/outgoing-response.ts";
import type { CompiledMirror } from "../../snapshot/compile-mirror.ts";
import type { Exchange } from "../exchange.ts";
import { relay } from "../relay.ts";
import type { TargetResponse } from "../target-response.ts";
import type { VirtualRoute } from "../virtual-models/virtual-route.ts";
import { copyOf, isInMirroredShare } from "./copy-of.ts";
import type { MirrorParts } from "./mirror-parts.ts";
import { isCopyable } from "./mirrorable.ts";

/** A copy that was taken and not sent yet. */
interface TakenCopy {
  /** Sends it in a later turn of the event loop. Only the first call counts. */
  begin(): void;
  /** The response has not begun. Does nothing after `begin`. */
  drop(): void;
}

export async function relayMirrored(
  exchange: Exchange,
  response: TargetResponse,
  route: VirtualRoute,
  mirror: CompiledMirror,
  parts: MirrorParts,
): Promise<OutgoingResponse> {
  const copy = takeCopy(exchange, response, route, mirror, parts);
  if (copy === null) return relay(exchange, response, parts);
  try {
    const { status, headers, body } = await relay(exchange, response, parts);
    if (isStreamed(body)) return new OutgoingResponse(new WatchedBody(body, copy), { status, headers });
    copy.begin();
    return new OutgoingResponse(body, { status, headers });
  } catch (error) {
    copy.drop();
    throw error;
  }
}

/** Returns null if the request is not copied. Otherwise its body stays in memory, and in the budget of bodies, until the copy has it. */
function takeCopy(
  exchange: Exchange,
  { upstreamResponse }: TargetResponse,
  route: VirtualRoute,
  mirror: CompiledMirror,
  parts: MirrorParts,
): TakenCopy | null {
  const { gateway, rule } = exchange;
  // A request that its target rejects is not worth a second call.
  if (gateway === null || rule === null || !upstreamResponse.ok || !isCopyable(exchange)) return null;
  if (!isInMirroredShare(exchange, route)) return null;
  const { mirrors, bodyBudget, observation, ownCredentials } = parts;
  const isFull = !mirrors.mayEnter(gateway.id);
  if (isFull || bodyBudget.isHalfUsed) {
    const observed = observation.routes.gateway(gateway, gateway.gateway.name);
    observed.countSkippedMirror(route.model.name, isFull ? "limit" : "memory");
    return null;
  }
  const copy = copyOf(exchange, route, rule, mirror, ownCredentials);
  const { incomingBody } = exchange;
  exchange.incomingBody = null;
  let isTaken = true;
  mirrors.enter(copy);
  const releaseBody = () => incomingBody?.release();
  const leave = () => {
    releaseBody();
    mirrors.leave(copy);
  };
  const send = async () => {
    try {
      const { sendCopy } = await import("./send-copy.ts");
      await sendCopy(
        { copy, mirror, name: route.model.name, requested: route.requested, releaseBody },
        parts,
      );
    } catch (error) {
      parts.log.error({ request_id: copy.requestId, err: error }, "mirrored request failed");
    } finally {
      leave();
    }
  };
  return {
    begin: () => {
      if (isTaken) setImmediate(() => mirrors.track(send()));
      isTaken = false;
    },
    drop: () => {
      if (isTaken) leave();
      isTaken = false;
    },
  };
}

/** Begins the copy with the first byte that the client gets. */
class WatchedBody implements StreamedBody {
  readonly #body: StreamedBody;
  readonly #copy: TakenCopy;

  constructor(body: StreamedBody, copy: TakenCopy) {
    this.#body = body;
    this.#copy = copy;
  }

  async writeTo(client: BodyWriter): Promise<void> {
    const write = (bytes: Uint8Array) => {
      const written = client.write(bytes);
      this.#copy.begin();
      return written;
    };
    try {
      await this.#body.writeTo({ write });
    } finally {
      this.#copy.drop();
    }
  }

  cancel(): void {
    this.#copy.drop();
    this.#body.cancel();
  }
}
