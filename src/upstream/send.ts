// One request to a provider: sent at once over a connection that is idle, or over a new one.
import type { Connection } from "./connection.ts";
import { IncomingAnswer, type AnswerSource } from "./incoming-answer.ts";
import { originOf, type Origin, type Waiter } from "./origin.ts";
import { headOf, type OutgoingRequest } from "./outgoing-request.ts";
import { sendThroughProxy, usesProxyFor } from "./proxy-setting.ts";
import { UpstreamFault } from "./upstream-fault.ts";

export interface SendDeadlines {
  readonly connect: number;
  readonly first_byte: number;
}

/** The answer, which is still to come: see its `arrival`. It can be aborted from now on. */
export function send(request: OutgoingRequest, { connect, first_byte }: SendDeadlines): IncomingAnswer {
  const answer = new IncomingAnswer(connect, first_byte);
  if (usesProxyFor(request.baseUrl)) void sendThroughProxy(request, answer);
  else sendDirectly(request, answer);
  return answer;
}

function sendDirectly(request: OutgoingRequest, answer: IncomingAnswer): void {
  const origin = originOf(request.baseUrl);
  const idle = origin.takeIdle();
  if (idle === null) origin.wait(new WaitingRequest(origin, request, answer));
  else carry(idle, origin, request, answer);
}

class WaitingRequest implements Waiter, AnswerSource {
  readonly #origin: Origin;
  readonly #request: OutgoingRequest;
  readonly #answer: IncomingAnswer;

  constructor(origin: Origin, request: OutgoingRequest, answer: IncomingAnswer) {
    this.#origin = origin;
    this.#request = request;
    this.#answer = answer;
    answer.onWaiting(this);
  }

  onConnection(connection: Connection): void {
    carry(connection, this.#origin, this.#request, this.#answer);
  }

  onFault(fault: UpstreamFault): void {
    this.#answer.onFault(fault);
  }

  abandon(): void {
    this.#origin.leave(this);
  }

  pause(): void {}
  resume(): void {}
}

function carry(
  connection: Connection,
  origin: Origin,
  request: OutgoingRequest,
  answer: IncomingAnswer,
): void {
  let head: string;
  try {
    head = headOf(request, origin);
  } catch (fault) {
    origin.onIdle(connection, null);
    answer.onFault(new UpstreamFault("unreachable", fault));
    return;
  }
  connection.carry(head, request.body, request.method, answer);
}
