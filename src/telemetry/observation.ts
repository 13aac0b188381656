// Passes each finished request to the access log, metrics, request log, its sink, traffic and traces, after its response was sent.
import { writeAccessLog } from "./log/access-log.ts";
import { countMirrored, countRequest } from "./metrics/count-request.ts";
import type { Log } from "./log/log.ts";
import type { NumberSeries } from "./metrics/metric-family.ts";
import type { Metrics } from "./metrics/metrics.ts";
import { ObservedRoutes } from "./metrics/observed-route.ts";
import type { RequestFacts } from "./requests/request-facts.ts";
import { RequestLog } from "./requests/request-log.ts";
import type { RequestSink } from "./request-sink/request-sink.ts";
import type { Tracer } from "./traces/tracer.ts";
import { Traffic } from "./requests/traffic.ts";

interface ObservationOptions {
  /** How many requests the request log keeps; 0 turns it off. */
  readonly requestLogSize: number;
  /** Null if tracing is off. */
  readonly tracer: Tracer | null;
  /** Null if records are kept in memory only. */
  readonly sink: RequestSink | null;
}

export class Observation {
  readonly routes: ObservedRoutes;
  readonly requests: RequestLog;
  /** A client that has its response may ask for its request before the next turn of the event loop. */
  readonly traffic = new Traffic(() => this.flush());
  readonly tracer: Tracer | null;
  readonly sink: RequestSink | null;
  readonly #log: Log;
  readonly #inFlight: NumberSeries;
  #pending: RequestFacts[] = [];

  constructor(metrics: Metrics, log: Log, { requestLogSize, tracer, sink }: ObservationOptions) {
    this.tracer = tracer;
    this.sink = sink;
    this.requests = new RequestLog(requestLogSize, () => this.flush());
    this.routes = new ObservedRoutes(metrics);
    this.#log = log;
    this.#inFlight = metrics.number("gatehouse_requests_in_flight", {});
    metrics.onCollect(() => this.flush());
  }

  /** Whether the bodies of gateways with `log_bodies` are captured. */
  get recordsBodies(): boolean {
    return this.requests.isOn || this.sink !== null;
  }

  started(): void {
    this.#inFlight.value++;
  }

  /** Queues the request. Recording runs once per turn of the event loop, so that it does not delay responses. */
  finished(facts: RequestFacts): void {
    this.#inFlight.value--;
    if (this.#pending.push(facts) === 1) setImmediate(this.flush);
  }

  /** As `finished`, for the copy of a request: it is no request in flight. */
  mirrored(facts: RequestFacts): void {
    if (this.#pending.push(facts) === 1) setImmediate(this.flush);
  }

  /** Records all queued requests now. */
  readonly flush = (): void => {
    const facts = this.#pending;
    if (facts.length === 0) return;
    this.#pending = [];
    const writesAccessLog = this.#log.isLevelEnabled("info");
    for (const each of facts) {
      try {
        if (writesAccessLog) writeAccessLog(this.#log, each);
        this.#record(each);
      } catch (error) {
        // An error in telemetry must not affect other requests.
        this.#log.error({ request_id: each.requestId, err: error }, "request could not be recorded");
      }
    }
  };

  #record(facts: RequestFacts): void {
    // Metrics and traffic of requests are those of clients.
    if (facts.mirrorOf !== null) countMirrored(facts);
    else {
      countRequest(facts);
      this.traffic.add(facts);
    }
    this.requests.add(facts);
    this.sink?.add(facts);
    this.tracer?.add(facts);
  }
}
