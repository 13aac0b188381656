// What one plugin holds back of the text of one response. Units leave in the order in which they arrived, each when all of its text is
// released: order, ids and numbers of events stay as the provider sent them.
import { GatehouseError } from "../../base/errors.ts";
import { TurnMeter } from "../../base/own-turn.ts";
import type { ChannelKind, TextChannel } from "../../formats/text-channels.ts";
import type { ResponseText, TextHold } from "../../sdk/texts.ts";
import { HeldChannel, type QueuedUnit, type TextDecision } from "./held-channel.ts";
import type { TextUnit } from "./text-unit.ts";

/** A text that a plugin is called with. */
export interface AskedText extends ResponseText {
  /** Those of the whole body; null on a stream. */
  readonly texts: readonly ResponseText[] | null;
  readonly isLast: boolean;
  readonly isForced: boolean;
}

/** Calls the plugin. Resolves to null if the plugin released everything. Rejects if the plugin rejects the response, or fails. */
export type AskPlugin = (text: AskedText) => Promise<TextDecision | null>;

interface HoldOptions {
  readonly ask: AskPlugin;
  readonly limits: Readonly<Record<ChannelKind, TextHold>>;
  readonly now: () => number;
  /** Whether the format repeats texts. */
  readonly repeats: boolean;
  readonly isStream: boolean;
}

/** Events have more bytes than text, so the size of held events is limited as well. */
const MAX_QUEUED_BYTES = 4 * 1024 * 1024;
const MAX_CHANNELS = 4096;
/** A whole body takes a step of work for each; streams keep channels until they end. */
const MAX_WHOLE_CHANNELS = 65_536;
/** Text that is kept for the events that repeat it. Models generate far less. */
const MAX_KEPT_CHARACTERS = 32 * 1024 * 1024;

export class TextHolds {
  readonly #options: HoldOptions;
  readonly #channels = new Map<string, HeldChannel>();
  readonly #queue: QueuedUnit[] = [];
  readonly #meter = new TurnMeter();
  #queuedBytes = 0;

  constructor(options: HoldOptions) {
    this.#options = options;
  }

  /** The time of the clock at which a hold reaches its limit; Infinity if there is none. */
  get dueAt(): number {
    let dueAt = Infinity;
    for (const { heldSince, channel } of this.#channels.values())
      if (heldSince !== null) dueAt = Math.min(dueAt, heldSince + this.#options.limits[channel.kind].ms);
    return dueAt;
  }

  /** The first unit that is held; null if there is none. */
  get firstQueued(): TextUnit | null {
    return this.#queue[0]?.unit ?? null;
  }

  /** Resolves to the units that can be sent now. */
  async push(unit: TextUnit): Promise<TextUnit[]> {
    // Comments keep a connection alive: they pass while everything else is held.
    if (unit.isComment) return [unit];
    const queued = { unit, unreleased: 0 };
    this.#queue.push(queued);
    this.#queuedBytes += unit.byteLength;
    const due = await this.#take(queued);
    const texts = unit.isEvent ? null : due.map(({ channel, inspected }) => ({ channel, text: inspected }));
    for (const channel of due) await this.#ask(channel, channel.hasEnded, false, texts);
    await this.#replaceRepetitions(queued);
    if (this.#queuedBytes > MAX_QUEUED_BYTES) return this.releaseAll();
    return this.#released();
  }

  /** The response is complete: so are all channels. */
  async end(): Promise<TextUnit[]> {
    for (const channel of this.#channels.values())
      if (!channel.hasEnded) {
        channel.hasEnded = true;
        await this.#ask(channel, true, false);
      }
    return this.#released();
  }

  /** Releases what is held for too long. */
  async expire(): Promise<TextUnit[]> {
    const now = this.#options.now();
    for (const channel of this.#channels.values()) {
      const { heldSince } = channel;
      if (heldSince !== null && heldSince + this.#options.limits[channel.channel.kind].ms <= now)
        await this.#ask(channel, false, true);
    }
    return this.#released();
  }

  /** Releases everything, for a response that was cut. */
  async releaseAll(): Promise<TextUnit[]> {
    for (const channel of this.#channels.values())
      if (channel.isHolding) await this.#ask(channel, false, true);
    return this.#released();
  }

  /** Adds the texts of a unit to their channels. Returns the channels that got text or ended, in order. */
  async #take(queued: QueuedUnit): Promise<HeldChannel[]> {
    const due: HeldChannel[] = [];
    const add = (channel: HeldChannel) => {
      if (!channel.isDue) due.push(channel);
      channel.isDue = true;
    };
    for (const mark of queued.unit.marks) {
      const pause = this.#meter.add();
      if (pause !== null) await pause;
      if (mark.type === "end") {
        for (const channel of this.#channels.values()) {
          if (channel.hasEnded || !channel.key.startsWith(mark.prefix)) continue;
          channel.hasEnded = true;
          add(channel);
        }
        // An event may have thousands of ends, beside thousands of channels.
        const turn = this.#meter.add(this.#channels.size);
        if (turn !== null) await turn;
      } else if (mark.type !== "probabilities" && mark.type !== "repeat") {
        const isWhole = mark.type === "whole";
        if (mark.type === "text" && mark.slot.text === "" && this.#channels.get(mark.key)?.hasEnded === true)
          continue;
        const channel = this.#channelOf(mark.key, mark.channel, isWhole);
        channel.append(queued, "slot" in mark ? mark.slot : null);
        if (isWhole) channel.hasEnded = true;
        add(channel);
      }
    }
    for (const channel of due) channel.isDue = false;
    return due;
  }

  /** A channel that goes on after its end is a new one, which remembers the end of the text before it. */
  #channelOf(key: string, channel: TextChannel, isWhole: boolean): HeldChannel {
    const known = this.#channels.get(key);
    if (known !== undefined && !known.hasEnded) {
      known.channel = channel;
      return known;
    }
    const most = this.#options.isStream ? MAX_CHANNELS : MAX_WHOLE_CHANNELS;
    if (this.#channels.size >= most && known === undefined)
      throw new GatehouseError("upstream_bad_answer", `The response has more than ${most} texts.`);
    const isRepeated = this.#options.repeats;
    const created = new HeldChannel(key, channel, { isRepeated, isWhole, known });
    this.#channels.set(key, created);
    return created;
  }

  async #ask(
    held: HeldChannel,
    isLast: boolean,
    isForced: boolean,
    texts: AskedText["texts"] = null,
  ): Promise<void> {
    const { limits, now } = this.#options;
    const { channel } = held;
    const pause = this.#meter.add(held.text.length);
    if (pause !== null) await pause;
    const decision = await this.#decide(held, { texts, isLast, isForced });
    const isExplicit = !isLast && !isForced;
    if (decision === null) held.releaseAll();
    else held.apply(channel.isReadOnly ? { ...decision, replacement: null } : decision, isExplicit);
    if (isLast || isForced) {
      if (held.isHolding) held.releaseAll();
      return;
    }
    if (held.isHolding) {
      held.heldSince ??= now();
      if (held.text.length > limits[channel.kind].characters) await this.#ask(held, false, true);
    }
    if (held.keptLength > MAX_KEPT_CHARACTERS)
      throw new GatehouseError(
        "upstream_bad_answer",
        `The provider's stream has more than ${MAX_KEPT_CHARACTERS} characters of text.`,
      );
  }

  /** Asks under each name of a call: the plugin may reject one, or hold the text back. */
  async #decide(
    { channel, inspected: text }: HeldChannel,
    call: Pick<AskedText, "texts" | "isLast" | "isForced">,
  ): Promise<TextDecision | null> {
    const { ask } = this.#options;
    let isHeld = false;
    for (const tool of channel.otherTools ?? []) {
      const decision = await ask({ channel: { ...channel, tool, otherTools: [] }, text, ...call });
      isHeld ||= decision !== null && (decision.length < text.length || text === "");
    }
    const decision = await ask({ channel, text, ...call });
    return isHeld && !call.isLast && !call.isForced ? { length: 0, replacement: null } : decision;
  }

  /** Writes the replaced text where the format repeats it. A text that was not sent before is treated as a channel of its own. */
  async #replaceRepetitions(queued: QueuedUnit): Promise<void> {
    for (const mark of queued.unit.marks) {
      if (mark.type !== "repeat") continue;
      const { key, slot } = mark;
      const known = this.#channels.get(key);
      if (known?.hasEnded === false) {
        known.hasEnded = true;
        await this.#ask(known, true, false);
      }
      // Clients may read the call from this event alone.
      const isOtherTool = mark.channel.tool !== null && mark.channel.tool !== known?.channel.tool;
      const repeated = isOtherTool ? null : (known?.repetitionOf(slot.text) ?? null);
      if (repeated !== null) {
        slot.text = repeated;
        continue;
      }
      const channel = this.#channelOf(key, mark.channel, true);
      channel.append(queued, slot);
      channel.hasEnded = true;
      await this.#ask(channel, true, false);
    }
  }

  #released(): TextUnit[] {
    let count = 0;
    while (this.#queue[count]?.unreleased === 0) count++;
    const released = this.#queue.splice(0, count).map(({ unit }) => unit);
    for (const { byteLength } of released) this.#queuedBytes -= byteLength;
    return released;
  }
}
