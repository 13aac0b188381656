// The responses of the model on a WebSocket: which of them the client has asked for and which are being generated, and what each used.
import { isPromise, type ValueOrPromise } from "../../base/value-or-promise.ts";
import {
  inputTokensOf,
  RealtimeConversation,
  responseIdIn,
  type ResponseInput,
  type CountedOutput,
} from "../../formats/openai/realtime-estimate.ts";
import type { EndedResponse } from "../../formats/openai/realtime-events.ts";
import type { ClientEvent, ResponseRequest } from "../../formats/openai/realtime-requests.ts";
import type { ServerMessage } from "../../formats/openai/realtime-server-messages.ts";
import { RealtimeSession } from "../../formats/openai/realtime-session.ts";
import { RealtimeTranscription, type Transcription } from "../../formats/openai/realtime-transcription.ts";
import type { ReportedTokens } from "../../formats/token-counts.ts";
import { CLOSE } from "../../http/websocket/close-codes.ts";
import type { SentMessage } from "../../http/websocket/messages.ts";
import { isOutputKnown, NO_TOKENS, type Usage } from "../../usage/usage-accumulator.ts";
import type { UsageTotals } from "../../usage/usage-totals.ts";
import type { Charge } from "../budgets/reserved-claims.ts";
import type { Exchange } from "../exchange.ts";
import { learnComplete, withHiddenOutput } from "../hidden-output.ts";
import { priceFor } from "../price-for.ts";
import type { TargetResponse } from "../target-response.ts";
import { AskedTurns, MAX_ASKED, type EventIds } from "./asked-turns.ts";
import type { ClientMessage } from "./client-message.ts";
import { recordSocketUsage } from "./record-socket-usage.ts";
import { rejectionEvent } from "./rejection-event.ts";
import { SocketReservations, type Exhausted, type SocketClaimParts } from "./socket-reservations.ts";
import type { Rejection, TurnSize } from "./turn-claims.ts";
import { Turn } from "./turn.ts";
import { usageOfTurn } from "./turn-usage.ts";

export interface SocketResponseParts extends SocketClaimParts {
  readonly usageTotals: UsageTotals;
}

/** The two sides of the socket. */
interface SocketSides {
  /** Returns false if the socket is being closed, so that the message was not sent. */
  sendToProvider(message: SentMessage): boolean;
  sendToClient(message: string): void;
  /** No further response may start. */
  onExhausted(why: Exhausted): void;
}

/** Responses that are generated at a time. More than any provider allows. */
const MAX_RUNNING = 256;
/** Ids of responses that have ended, so that none is charged twice. */
const MAX_ENDED = 256;
/** The input is estimated again when the client has sent as many characters. */
const ESTIMATED_CHARACTERS = 8192;

export class SocketResponses {
  readonly #exchange: Exchange;
  readonly #response: TargetResponse;
  readonly #parts: SocketResponseParts;
  readonly #sides: SocketSides;
  readonly #reservations: SocketReservations;
  readonly #conversation = new RealtimeConversation();
  readonly #transcription = new RealtimeTranscription();
  readonly #session = new RealtimeSession();
  readonly #asked = new AskedTurns();
  readonly #running: Turn[] = [];
  readonly #ended = new Set<string>();
  #estimatedCharacters = 0;

  constructor(exchange: Exchange, response: TargetResponse, parts: SocketResponseParts, sides: SocketSides) {
    this.#exchange = exchange;
    this.#response = response;
    this.#parts = parts;
    this.#sides = sides;
    this.#reservations = new SocketReservations(exchange, parts, this);
  }

  // For SocketReservations

  get isIdle(): boolean {
    return this.#running.length + this.#asked.size === 0;
  }

  nextSize(): TurnSize {
    const { maxOutputTokens } = this.#session;
    return sizeWith(this.#conversation.nextInput(), maxOutputTokens);
  }

  onExhausted(why: Exhausted): void {
    this.#sides.onExhausted(why);
  }

  // For the relay

  /** Sends a message of the client to the provider when what it may start is reserved, or rejects it with an error event. Never rejects. */
  handleClientMessage(message: ClientMessage): ValueOrPromise<void> {
    const { event, sent } = message;
    if (event === "invalid" && this.#reservations.areNeeded) {
      this.#reject(null, {
        code: "invalid_json",
        reason: "The event is not valid JSON, or servers could read different members in it.",
      });
      return;
    }
    if (event !== null && event !== "invalid") {
      if (event.request !== null) return this.#ask(event.request, event.text, message);
      this.#conversation.addClientEvent(event);
      this.#transcription.addClientEvent(event);
      this.#session.addClientEvent(event);
    }
    const covered = this.#coverInput();
    if (!isPromise(covered)) this.#sides.sendToProvider(sent);
    else return covered.then(() => void this.#sides.sendToProvider(sent));
  }

  /** Those that messages of the provider may have, and the ids that the client knows instead. */
  get eventIds(): readonly EventIds[] {
    return this.#asked.ids;
  }

  handleProviderMessage({ event, session, transcription, output }: ServerMessage): void {
    const ended = transcription === null ? null : this.#transcription.addServerEvent(transcription);
    if (ended !== null) this.#settleTranscription(ended);
    if (session !== null) this.#session.addServerEvent(session);
    if (output !== null) this.#addOutput(output);
    if (event === null) return;
    if (event.type === "started") this.#start(event.id, event.isOutOfBand);
    else if (event.type === "error") {
      const rejected = this.#asked.takeRejected(event.eventId);
      if (rejected !== null) this.#reservations.returned(rejected);
    } else {
      const turn = this.#end(event.id, event.isOutOfBand);
      if (turn !== null) this.#settleEnded(turn, event);
    }
  }

  /** Call when the socket has ended: what is still generated, or may be, is charged with an estimate. */
  close(): void {
    try {
      for (const turn of [...this.#running.splice(0), ...this.#asked.takeAll()])
        this.#settleReported(turn, null, false);
      const cut = this.#transcription.takeCut();
      if (cut !== null) this.#settleTranscription(cut);
    } finally {
      this.#reservations.close();
    }
  }

  #ask(
    request: ResponseRequest,
    text: ClientEvent["text"],
    { sent, sentEventId }: ClientMessage,
  ): ValueOrPromise<void> {
    const { eventId, namesLimit } = request;
    const ownInput = inputTokensOf(text);
    const input = this.#conversation.nextInput(ownInput, request.isAlone);
    const turn = new Turn(this.#exchange.clock.now(), input, request, ownInput, sentEventId ?? undefined);
    if (!this.#reservations.areNeeded) {
      this.#sendRequest(turn, sent);
      return;
    }
    if (this.#asked.size >= MAX_ASKED) {
      const reason = `The provider has not started ${MAX_ASKED} responses that were asked for before. Wait for them.`;
      this.#reject(eventId, { code: "concurrency_limit_exceeded", reason });
      return;
    }
    const maxOutputTokens = namesLimit ? request.maxOutputTokens : this.#session.maxOutputTokens;
    const size = sizeWith(input, maxOutputTokens);
    return this.#reservations.reserveFor(turn, size).then((why) => {
      if (why === null) {
        this.#sendRequest(turn, sent);
        return;
      }
      this.#reject(eventId, why);
      // What runs may use less than it has reserved.
      if (this.isIdle) this.#sides.onExhausted(why);
    });
  }

  #sendRequest(turn: Turn, sent: SentMessage): void {
    if (this.#sides.sendToProvider(sent)) this.#asked.add(turn);
    else this.#reservations.returned(turn);
  }

  #reject(eventId: string | null, why: Rejection): void {
    this.#sides.sendToClient(rejectionEvent(eventId, why));
  }

  /** What the client adds to the conversation is the input of a response that the provider may start by itself. */
  #coverInput(): ValueOrPromise<void> {
    const { characters } = this.#conversation;
    if (characters - this.#estimatedCharacters < ESTIMATED_CHARACTERS || !this.#reservations.areNeeded)
      return;
    this.#estimatedCharacters = characters;
    return this.#reservations.cover(this.nextSize());
  }

  #addOutput(output: string | CountedOutput): void {
    if (this.#running.length === 0) return;
    const id = this.#running.length === 1 ? null : responseIdIn(output);
    const turn = this.#running.find((running) => running.id === id) ?? this.#running[0];
    turn?.output.addServerMessage(output);
  }

  /** Returns the response; null if it runs already. */
  #start(id: string | null, isOutOfBand: boolean): Turn | null {
    if (id !== null && this.#running.some((running) => running.id === id)) return null;
    const asked = this.#asked.shift();
    const turn = asked ?? new Turn(0, this.#conversation.nextInput());
    // Another response may have ended since it was asked for.
    turn.input = this.#conversation.nextInput(turn.ownInput, turn.request.isAlone);
    turn.id = id;
    turn.isOutOfBand = isOutOfBand;
    turn.startedAt = this.#exchange.clock.now();
    if (asked === undefined) this.#reservations.startedByProvider(turn);
    this.#running.push(turn);
    if (this.#running.length > MAX_RUNNING) {
      const reason = "The provider generates too many responses at a time.";
      this.#sides.onExhausted({ code: "upstream_bad_answer", closeCode: CLOSE.internalError, reason });
    }
    return turn;
  }

  /** Returns the response that has ended; null if it has ended before. */
  #end(id: string | null, isOutOfBand: boolean): Turn | null {
    const isNamed = (name: string | null) => (running: Turn) => running.id === name;
    const named = id === null ? this.#running[0] : this.#running.find(isNamed(id));
    if (named === undefined && id !== null && this.#ended.has(id)) return null;
    const known = named ?? this.#running.find(isNamed(null));
    const turn = known ?? this.#start(id, isOutOfBand);
    if (turn === null) return null;
    this.#running.splice(this.#running.indexOf(turn), 1);
    const endedId = turn.id ?? id;
    if (endedId !== null) this.#ended.add(endedId);
    const [oldest] = this.#ended;
    if (this.#ended.size > MAX_ENDED && oldest !== undefined) this.#ended.delete(oldest);
    return turn;
  }

  #settleEnded(turn: Turn, { tokens, isFailed, isCanceled }: EndedResponse): void {
    // The provider charges nothing for a response that it could not generate, and the conversation is as it was.
    if (tokens === null && isFailed) {
      this.#settle(turn, null);
      return;
    }
    this.#settleReported(turn, tokens, !isCanceled);
  }

  /** `isWhole`: if the output is unknown and none was relayed, at least what was reserved is charged. */
  #settleReported(turn: Turn, tokens: ReportedTokens | null, isWhole: boolean): void {
    const usage = usageOfTurn(tokens, () => turn.output.estimateWith(turn.input));
    if (!turn.isOutOfBand) this.#conversation.responseEnded(turn.input, usage);
    if (isOutputKnown(usage)) {
      this.#settle(turn, usage);
      return;
    }
    const endedAt = this.#exchange.clock.now();
    const { model } = this.#response;
    const call = { model, sentAt: turn.startedAt, endedAt, answeredAt: null, isWhole: false };
    this.#settle(
      turn,
      withHiddenOutput(this.#exchange, call, usage, this.#parts),
      isWhole && usage.relayedTokens === 0,
    );
  }

  /** Records and charges a response that has ended; null if it used nothing that is known. */
  #settle(turn: Turn, usage: Usage | null, asReserved = false): void {
    const { model } = this.#response;
    // Otherwise a client could lower the estimates of responses without a limit.
    if (turn.maxOutputTokens === null && !this.#session.wasLimited)
      this.#parts.reservations.recordOutput(this.#exchange, usage);
    const milliseconds = this.#exchange.clock.now() - turn.startedAt;
    learnComplete(this.#exchange, model, usage, milliseconds, this.#parts);
    this.#reservations.ended(turn, this.#record(model, usage, asReserved));
  }

  /** Another model runs beside that of the socket. Without a price of its own, it costs as much. */
  #settleTranscription({ model, tokens, isEstimated }: Transcription): void {
    const isPriced = model !== null && priceFor(this.#exchange, model) !== null;
    const usage = { ...tokens, isPartial: isEstimated };
    this.#reservations.charge(this.#record(isPriced ? model : this.#response.model, usage));
  }

  /** Records what one of the models of the socket has used. Returns what its limits and budgets are charged with. */
  #record(model: string | null, usage: Usage | null, asReserved = false): Charge {
    const nanos = recordSocketUsage(this.#exchange, this.#response, model, usage, this.#parts.usageTotals);
    const isFree = this.#exchange.gameDay?.isSocketFree === true;
    const { inputTokens, outputTokens } = isFree || usage === null ? NO_TOKENS : usage;
    const isPartial = asReserved && !isFree;
    return { model: this.#response.model, nanos: nanos ?? 0, inputTokens, outputTokens, isPartial };
  }
}

function sizeWith(
  { inputTokens, maxAudioTokens: audioTokens }: ResponseInput,
  maxOutputTokens: number | null,
): TurnSize {
  return { inputTokens, audioTokens, maxOutputTokens };
}
