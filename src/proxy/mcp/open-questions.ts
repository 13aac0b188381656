// The questions that servers ask during calls that this process serves: requests to the client, such as
// `elicitation/create`. The client responds to a question in a request of its own, which belongs to the call.
import { digestName } from "../../base/digest-name.ts";
import type { Exchange } from "../exchange.ts";

/**
 * Of one call, because servers may ask as often as they like. Responses to older questions belong to no call.
 */
const MAX_QUESTIONS = 256;

export class OpenQuestions {
  readonly #calls = new Map<string, Exchange>();

  of(call: Exchange): CallQuestions {
    return new CallQuestions(this.#calls, call);
  }

  /** Returns the request during which a question was asked; null if this process does not serve it. */
  callOf(response: Exchange, question: string): Exchange | null {
    return this.#calls.get(keyOf(response, question)) ?? null;
  }
}

export class CallQuestions {
  readonly #calls: Map<string, Exchange>;
  readonly #call: Exchange;
  readonly #keys: string[] = [];

  constructor(calls: Map<string, Exchange>, call: Exchange) {
    this.#calls = calls;
    this.#call = call;
  }

  /** `question` is the id that the client gets. */
  add(question: string): void {
    const key = keyOf(this.#call, question);
    this.#calls.set(key, this.#call);
    if (this.#keys.push(key) > MAX_QUESTIONS) this.#remove(this.#keys.shift());
  }

  /** The call has ended. */
  end(): void {
    for (const key of this.#keys.splice(0)) this.#remove(key);
  }

  /** A server may use an id again, in another call. */
  #remove(key = ""): void {
    if (this.#calls.get(key) === this.#call) this.#calls.delete(key);
  }
}

/** Ids of questions are unique within a session. */
function keyOf({ request }: Exchange, question: string): string {
  return digestName(`${request.headers.get("mcp-session-id") ?? ""} ${question}`);
}
