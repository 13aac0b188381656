// What injects one fault into one attempt.
import type { FormatName } from "../../formats/format-names.ts";
import type { CoarseDeadlines } from "../../http/coarse-deadlines.ts";
import type { Fault } from "../../model/game-day.ts";
import type { UpstreamClient } from "../upstream-client.ts";

export interface FaultyClientParts {
  readonly client: UpstreamClient;
  readonly deadlines: CoarseDeadlines;
  readonly fault: Fault;
  /** The format of the provider's responses. */
  readonly format: FormatName;
  readonly wantsStream: boolean;
  /** Aborts when the game day stops: a fault in progress ends, and the response continues. */
  readonly stopped: AbortSignal;
}
