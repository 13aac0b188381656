// Reads the large messages of one WebSocket in worker threads, which also encode the frames for the other side. Meanwhile they count in
// MAX_BUFFERED_BYTES.
import type { CountedOutput } from "../../formats/openai/realtime-estimate.ts";
import type { ServerMessage } from "../../formats/openai/realtime-server-messages.ts";
import type { BodyBudget } from "../../http/body-budget.ts";
import type { EncodedFrame, LargeMessage } from "../../http/websocket/messages.ts";
import { LARGE_BODY_TIMEOUT_MS } from "../../off-loop/large-body.ts";
import { isMovable } from "../../off-loop/movable.ts";
import type { OffLoopPart, TaskModule, TaskOptions } from "../../off-loop/off-loop.ts";
import type { EventIds } from "./asked-turns.ts";
import type { ClientMessage } from "./client-message.ts";
import { toFrame } from "./message-bytes.ts";
import type * as readClientTask from "./read-client-message-task.ts";
import type * as readProviderTask from "./read-provider-message-task.ts";

const READ_CLIENT = new URL("./read-client-message-task.ts", import.meta.url);
const READ_PROVIDER = new URL("./read-provider-message-task.ts", import.meta.url);

export interface LargeMessageParts extends OffLoopPart {
  readonly bodyBudget: BodyBudget;
}

interface ReadClientMessage extends ClientMessage {
  readonly models: readClientTask.NamedModels;
}

interface ReadProviderMessage {
  readonly message: ServerMessage<CountedOutput>;
  readonly sent: EncodedFrame;
}

export class LargeMessages {
  readonly #parts: LargeMessageParts;
  readonly #tenant: string;
  /** Created with the first message. */
  #aborter: AbortController | null = null;

  /** `tenant` is the id of the gateway. */
  constructor(tenant: string, parts: LargeMessageParts) {
    this.#tenant = tenant;
    this.#parts = parts;
  }

  /** Rejects with a GatehouseError if there is no room or no thread for the message. */
  async fromClient(received: LargeMessage): Promise<ReadClientMessage> {
    const { bytes, isText } = received;
    const read = await this.#run<typeof readClientTask>(READ_CLIENT, bytes, { bytes, isText });
    return { ...read, sent: toFrame(read) };
  }

  /** Rejects as `fromClient`. `ids` are those that the message may have. */
  async fromProvider(received: LargeMessage, ids: readonly EventIds[]): Promise<ReadProviderMessage> {
    const { bytes, isText } = received;
    const read = await this.#run<typeof readProviderTask>(READ_PROVIDER, bytes, { bytes, isText, ids });
    return { message: read.message, sent: toFrame(read) };
  }

  /** Call when the socket has ended. */
  close(): void {
    this.#aborter?.abort();
  }

  async #run<Module extends TaskModule>(
    task: URL,
    bytes: Uint8Array,
    input: Parameters<Module["run"]>[0],
  ): Promise<Awaited<ReturnType<Module["run"]>>> {
    const { bodyBudget, offLoop } = this.#parts;
    const size = bytes.byteLength;
    const { signal } = (this.#aborter ??= new AbortController());
    const options: TaskOptions = {
      bytes: size,
      timeoutMs: LARGE_BODY_TIMEOUT_MS,
      tenant: this.#tenant,
      signal,
      ...(isMovable(bytes) && { moved: bytes }),
    };
    bodyBudget.takeSmall(size);
    try {
      return await offLoop.run<Module>(task, input, options);
    } finally {
      bodyBudget.release(size);
    }
  }
}
