// One request to a provider: sent at once over a connection that is idle, or over a new one.
import type { Connection } from "./connection.ts";
import { IncomingAnswer, type AnswerSource } from "./incoming-answer.ts";
import { originOf, type Origin, type Waiter } from "./origin.ts";
import { headOf, type OutgoingRequest } from "./outgoing-request.ts";
import { sendThroughProxy, usesProxyFor } from "./proxy-setting.ts";
import type { UpstreamFault } from "./upstream-fault.ts";

export interface SendDeadlines {
  readonly connect: number;
  readonly first_byte: number;
}

/**
 * The answer, which is still to come: see its `arrival`. It can be aborted from now on. Throws a GatehouseError where the
 * request is not one that can be sent.
 */
export function send(request: OutgoingRequest, { connect, first_byte }: SendDeadlines): IncomingAnswer {
  const origin = originOf(request.baseUrl);
  const head = headOf(request, origin);
  const answer = new IncomingAnswer(connect, first_byte);
  if (usesProxyFor(request.baseUrl)) void sendThroughProxy(request, answer);
  else {
    const idle = origin.takeIdle();
    if (idle === null) origin.wait(new WaitingRequest(origin, request, head, answer));
    else idle.carry(head, request.body, request.method, answer);
  }
  return answer;
}

class WaitingRequest implements Waiter, AnswerSource {
  readonly #origin: Origin;
  readonly #request: OutgoingRequest;
  readonly #head: string;
  readonly #answer: IncomingAnswer;

  constructor(origin: Origin, request: OutgoingRequest, head: string, answer: IncomingAnswer) {
    this.#origin = origin;
    this.#request = request;
    this.#head = head;
    this.#answer = answer;
    answer.onWaiting(this);
  }

  onConnection(connection: Connection): void {
    connection.carry(this.#head, this.#request.body, this.#request.method, this.#answer);
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
