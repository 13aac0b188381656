// Services of the gateway in tests of plugins: a function per service in the place of its provider.
import type { PluginResponse } from "./contexts.ts";
import {
  ServiceCallError,
  type ServiceCallOptions,
  type ServiceRequest,
  type ServiceResponse,
} from "./services.ts";

/** What a service returns. A string is sent unchanged; any other value is sent as JSON. */
interface TestServiceResponse {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** By the name of the service. Throw a ServiceCallError for a call without a response. */
export type TestServices = Readonly<
  Record<
    string,
    (
      request: ServiceRequest,
      options: ServiceCallOptions,
    ) => TestServiceResponse | Promise<TestServiceResponse>
  >
>;

/** The calls and the held response of one request. */
export class TestedServices {
  readonly #services: TestServices;
  readonly #decisions: Promise<PluginResponse | null>[] = [];

  constructor(services: TestServices) {
    this.#services = services;
  }

  /** Those of the context of the request. */
  readonly methods = {
    callService: (service: string, request: ServiceRequest, options: ServiceCallOptions = {}) =>
      this.#call(service, request, options),
    holdResponse: (decision: Promise<PluginResponse | null>): void => {
      // The test may never wait for it.
      decision.catch(() => undefined);
      this.#decisions.push(decision);
    },
  };

  async #call(
    service: string,
    request: ServiceRequest,
    options: ServiceCallOptions,
  ): Promise<ServiceResponse> {
    const called = Object.hasOwn(this.#services, service) ? this.#services[service] : undefined;
    if (called === undefined)
      throw new ServiceCallError("unknown_service", `the gateway has no service named "${service}"`);
    const { status = 200, headers, body = "" } = await called(request, options);
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return { status, headers: new Headers({ ...headers }), text, json: jsonIn(text) };
  }

  /** Resolves to the response that replaces that of the provider, or to null. */
  async decided(): Promise<PluginResponse | null> {
    for (const decision of this.#decisions) {
      const response = await decision;
      if (response !== null) return response;
    }
    return null;
  }
}

/** Adds services that do not exist, for hooks that call none. */
export function withServices<Context extends object>(context: Context): Context & TestedServices["methods"] {
  return { ...context, ...new TestedServices({}).methods };
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
