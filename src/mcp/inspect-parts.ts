// Lets plugins inspect what each server adds to a merged result apart from the parts of the others: a part that they refuse is left out, and
// does not take the others with it.
import type { JsonObject } from "../base/json.ts";
import type { OffLoop } from "../off-loop/off-loop.ts";
import type { ClientContext } from "./client-context.ts";
import { readMessage, resultText, type RpcRequest } from "./json-rpc.ts";
import { MessageRefusal } from "./message-refusal.ts";
import { parseMessage } from "./parse-message.ts";
import { META_REFUSED } from "./protocol.ts";
import type { McpServerTarget } from "./server-target.ts";

/** The result of a request: of one server, or merged of those of all. */
export interface MergedResult {
  readonly result: JsonObject;
  /** Whether plugins that work on texts have inspected what each server adds to the result. */
  readonly hasInspectedParts?: boolean;
}

export class PartInspection {
  readonly #context: ClientContext;
  readonly #request: RpcRequest;
  readonly #offLoop: OffLoop;
  readonly #refused = new Map<string, MessageRefusal>();

  private constructor(context: ClientContext, request: RpcRequest, offLoop: OffLoop) {
    this.#context = context;
    this.#request = request;
    this.#offLoop = offLoop;
  }

  /** Returns null if plugins inspect the merged result: there are none, or there is one part. */
  static begin(context: ClientContext, request: RpcRequest, offLoop: OffLoop): PartInspection | null {
    const { servers, sink } = context;
    return servers.length > 1 && sink.inspectsParts ? new PartInspection(context, request, offLoop) : null;
  }

  /** Resolves to the part as plugins have changed it, or to `part` itself; to null if they refuse it. */
  async inspect(server: McpServerTarget, part: JsonObject): Promise<JsonObject | null> {
    const { sink, observer } = this.#context;
    const { id, method } = this.#request;
    const text = resultText(id, part);
    const inspected = await sink.inspectPart(text);
    if (inspected === text) return part;
    if (!(inspected instanceof MessageRefusal)) return this.#read(inspected, server);
    this.#refused.set(server.name, inspected);
    observer.refused(server, method, inspected.code);
    return null;
  }

  async #read(text: string | Uint8Array, { tag }: McpServerTarget): Promise<JsonObject> {
    const bytes = typeof text === "string" ? Buffer.from(text) : text;
    const options = { offLoop: this.#offLoop, isUnique: false, isOwned: false, tenant: tag };
    const message = readMessage(await parseMessage(bytes, options));
    return message?.kind === "response" ? (message.result ?? {}) : {};
  }

  /** The first refusal; null if there is none. */
  get refusal(): MessageRefusal | null {
    const [first] = this.#refused.values();
    return first ?? null;
  }

  /** Names the servers whose parts are left out. */
  get meta(): JsonObject {
    if (this.#refused.size === 0) return {};
    return { [META_REFUSED]: Object.fromEntries([...this.#refused].map(([name, { code }]) => [name, code])) };
  }
}
