// Where a finished request goes: the access line and every observer, a moment after its answer was handed over.
import { writeAccessLog } from "./log/access-log.ts";
import { countRequest } from "./metrics/count-request.ts";
import type { Log } from "./log/log.ts";
import type { NumberSeries } from "./metrics/metric-family.ts";
import type { Metrics } from "./metrics/metrics.ts";
import { ObservedRoutes } from "./metrics/observed-route.ts";
import type { RequestFacts } from "./requests/request-facts.ts";
import { RequestLog } from "./requests/request-log.ts";
import type { Tracer } from "./traces/tracer.ts";
import { Traffic } from "./requests/traffic.ts";

export interface ObservationOptions {
  /** How many requests the log keeps; 0: none. */
  readonly requestLogSize: number;
  /** Null: nothing is traced. */
  readonly tracer: Tracer | null;
}

export class Observation {
  readonly routes: ObservedRoutes;
  readonly requests: RequestLog;
  readonly traffic = new Traffic();
  readonly tracer: Tracer | null;
  readonly #log: Log;
  readonly #inFlight: NumberSeries;
  #pending: RequestFacts[] = [];

  constructor(metrics: Metrics, log: Log, { requestLogSize, tracer }: ObservationOptions) {
    this.tracer = tracer;
    this.requests = new RequestLog(requestLogSize);
    this.routes = new ObservedRoutes(metrics);
    this.#log = log;
    this.#inFlight = metrics.number("gatehouse_requests_in_flight", {});
    metrics.onCollect(() => this.settle());
  }

  started(): void {
    this.#inFlight.value++;
  }

  /** Nobody who waits for an answer waits for this: all that finished in one turn of the event loop is told after it. */
  finished(facts: RequestFacts): void {
    this.#inFlight.value--;
    if (this.#pending.push(facts) === 1) setImmediate(this.settle);
  }

  /** Tells at once what is still to be told. */
  readonly settle = (): void => {
    const facts = this.#pending;
    if (facts.length === 0) return;
    this.#pending = [];
    const writesLines = this.#log.isLevelEnabled("info");
    for (const each of facts) {
      try {
        if (writesLines) writeAccessLog(this.#log, each);
        this.#tell(each);
      } catch (error) {
        // Whoever observes must not harm what is observed.
        this.#log.error({ request_id: each.requestId, err: error }, "a request could not be recorded");
      }
    }
  };

  #tell(facts: RequestFacts): void {
    countRequest(facts);
    this.requests.add(facts);
    this.traffic.add(facts);
    this.tracer?.add(facts);
  }
}
