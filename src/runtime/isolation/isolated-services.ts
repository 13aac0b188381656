// Calls of services by isolated plugins: the response as data, on the side of the gateway and in the isolate.
import {
  ServiceCallError,
  type RequestContext,
  type ServiceCallOptions,
  type ServiceRequest,
  type ServiceResponse,
} from "../../sdk/index.ts";
import type { IsolatedCall } from "./isolated-context.ts";
import { PlainHeaders, type HeaderEntries } from "./plain-headers.ts";

interface ServiceReply {
  readonly status: number;
  readonly headers: HeaderEntries;
  readonly text: string;
  readonly json: unknown;
}

/** An error loses its class on the way, so its reason is data. */
type ServiceOutcome =
  | { readonly response: ServiceReply }
  | { readonly reason: ServiceCallError["reason"]; readonly message: string };

type Arguments = readonly [service: string, request: ServiceRequest, options: ServiceCallOptions];

/** Calls in progress by context and by number, which the isolate assigns. */
const inProgress = new WeakMap<object, Map<number, AbortController>>();

/** In the gateway. */
export async function callServiceFor(
  context: Pick<RequestContext, "callService">,
  number: unknown,
  args: readonly unknown[],
): Promise<ServiceOutcome> {
  // The arguments are those of plugin code, and are checked by the call.
  const [service, request, options] = args as unknown as Arguments;
  const calls = inProgress.get(context) ?? new Map<number, AbortController>();
  inProgress.set(context, calls);
  const controller = new AbortController();
  calls.set(Number(number), controller);
  try {
    const calling = context.callService(service, request, { ...options, signal: controller.signal });
    const { status, headers, text, json } = await calling;
    return { response: { status, headers: [...headers.entries()], text, json } };
  } catch (error) {
    if (error instanceof ServiceCallError) return { reason: error.reason, message: error.message };
    throw error;
  } finally {
    calls.delete(Number(number));
  }
}

/** In the gateway. */
export function abortServiceCall(context: object, number: unknown): void {
  inProgress.get(context)?.get(Number(number))?.abort();
}

let lastNumber = 0;

/** In the isolate. */
export async function callServiceOfGateway(
  { askLater }: IsolatedCall,
  args: Arguments,
  signal: AbortSignal | undefined,
): Promise<ServiceResponse> {
  if (signal?.aborted === true) throw abortedError();
  const number = ++lastNumber;
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => undefined);
  const abort = () => {
    aborted.reject(abortedError());
    // The call may have ended meanwhile.
    askLater("abortServiceCall", number).catch(() => undefined);
  };
  signal?.addEventListener("abort", abort);
  try {
    const asked = askLater("callService", number, ...args);
    const outcome = (await Promise.race([asked, aborted.promise])) as ServiceOutcome;
    if ("reason" in outcome) throw new ServiceCallError(outcome.reason, outcome.message);
    return { ...outcome.response, headers: new PlainHeaders(outcome.response.headers) };
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

function abortedError(): ServiceCallError {
  return new ServiceCallError("aborted", "The call was aborted.");
}
