// Calls of services by isolated plugins: the response as data, on the side of the gateway and in the isolate.
import { ServiceCallError, type ServiceResponse } from "../../sdk/index.ts";
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

/** In the gateway. */
export async function sendServiceResponse(calling: Promise<ServiceResponse>): Promise<ServiceOutcome> {
  try {
    const { status, headers, text, json } = await calling;
    return { response: { status, headers: [...headers.entries()], text, json } };
  } catch (error) {
    if (error instanceof ServiceCallError) return { reason: error.reason, message: error.message };
    throw error;
  }
}

/** In the isolate. An abort ends the waiting there; the gateway ends the call at its timeout. */
export async function receiveServiceResponse(
  asked: Promise<unknown>,
  signal: AbortSignal | undefined,
): Promise<ServiceResponse> {
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(new ServiceCallError("aborted", "The call was aborted."));
  if (signal?.aborted === true) abort();
  signal?.addEventListener("abort", abort);
  aborted.promise.catch(() => undefined);
  try {
    const outcome = (await Promise.race([asked, aborted.promise])) as ServiceOutcome;
    if ("reason" in outcome) throw new ServiceCallError(outcome.reason, outcome.message);
    return { ...outcome.response, headers: new PlainHeaders(outcome.response.headers) };
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}
