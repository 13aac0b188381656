// What an isolate is created with.
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../telemetry/log/log.ts";
import type { OpenChannel } from "./channel.ts";
import type { Packet } from "./messages.ts";

export interface IsolateOptions {
  readonly plugin: string;
  readonly gatewayId: string;
  readonly isolation: "worker" | "process";
  readonly open: OpenChannel;
  /** The first message to every thread or process. */
  readonly load: Packet;
  readonly clock: Clock;
  readonly log: Log;
  /** Started beside the first isolate of a pool: it is not restarted, and ends when it is idle. */
  readonly isExtra: boolean;
  readonly onCrash: (reason: string) => void;
  /** The isolate has ended, or reacts again. */
  readonly onChange: () => void;
  /** The isolate has no instance any more, and has ended. */
  readonly onUnused: () => void;
}
