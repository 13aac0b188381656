// One request to a provider: sent at once over a connection that is idle, or over a new one.
import type { Connection } from "./connection.ts";
import { UpstreamResponse, type ResponseSource } from "./upstream-response.ts";
import { originOf, type Origin, type Waiter } from "./origin.ts";
import { headOf, type OutgoingRequest } from "./outgoing-request.ts";
import { sendThroughProxy, usesProxyFor } from "./proxy-setting.ts";
import type { UpstreamError } from "./upstream-error.ts";

export interface SendDeadlines {
  readonly connect: number;
  readonly first_byte: number;
}

/**
 * The answer, which is still to come: see its `arrival`. It can be aborted from now on. Throws a GatehouseError where the
 * request is not one that can be sent.
 */
export function send(request: OutgoingRequest, { connect, first_byte }: SendDeadlines): UpstreamResponse {
  const origin = originOf(request.baseUrl);
  const head = headOf(request, origin);
  const answer = new UpstreamResponse(connect, first_byte);
  if (usesProxyFor(request.baseUrl)) void sendThroughProxy(request, answer);
  else {
    const idle = origin.takeIdle();
    if (idle === null) origin.wait(new WaitingRequest(origin, request, head, answer));
    else idle.carry(head, request.body, request.method, answer);
  }
  return answer;
}

class WaitingRequest implements Waiter, ResponseSource {
  readonly #origin: Origin;
  readonly #request: OutgoingRequest;
  readonly #head: string;
  readonly #answer: UpstreamResponse;

  constructor(origin: Origin, request: OutgoingRequest, head: string, answer: UpstreamResponse) {
    this.#origin = origin;
    this.#request = request;
    this.#head = head;
    this.#answer = answer;
    answer.onWaiting(this);
  }

  onConnection(connection: Connection): void {
    connection.carry(this.#head, this.#request.body, this.#request.method, this.#answer);
  }

  onFault(error: UpstreamError): void {
    this.#answer.onFault(error);
  }

  abandon(): void {
    this.#origin.leave(this);
  }

  pause(): void {}
  resume(): void {}
}
