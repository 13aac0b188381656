// HTTP_PROXY, HTTPS_PROXY and NO_PROXY of the environment: where they ask for it, the runtime's own fetch sends the request
// through that proxy. It knows how to tunnel; its connections are its own.
import type { HostResolver } from "./host-resolver.ts";
import { ResponseHeaders } from "./response-headers.ts";
import type { UpstreamResponse } from "./upstream-response.ts";
import type { OutgoingRequest } from "./outgoing-request.ts";
import { UpstreamError } from "./upstream-error.ts";

const setting = (name: string) => process.env[name] ?? process.env[name.toLowerCase()] ?? "";
const proxies = { "http:": setting("HTTP_PROXY"), "https:": setting("HTTPS_PROXY") };
const exceptions = setting("NO_PROXY")
  .split(",")
  .map((each) =>
    each
      .trim()
      .replace(/^\*?\./, "")
      .toLowerCase(),
  )
  .filter((each) => each !== "");
const usesAny = proxies["http:"] !== "" || proxies["https:"] !== "";

export function usesForwardProxy(baseUrl: string): boolean {
  if (!usesAny) return false;
  const { protocol, hostname, host } = new URL(baseUrl);
  if (proxies[protocol === "https:" ? "https:" : "http:"] === "") return false;
  return !exceptions.some(
    (each) => each === "*" || hostname === each || host === each || hostname.endsWith(`.${each}`),
  );
}

export async function sendThroughForwardProxy(
  request: OutgoingRequest,
  answer: UpstreamResponse,
  resolver: HostResolver,
): Promise<void> {
  const abort = new AbortController();
  let pause = Promise.withResolvers<undefined>();
  pause.resolve(undefined);
  answer.onSent({
    pause: () => void (pause = Promise.withResolvers<undefined>()),
    resume: () => pause.resolve(undefined),
    cancel: () => {
      abort.abort();
      pause.resolve(undefined);
    },
  });
  let hasBegun = false;
  try {
    await rejectForbiddenHost(request.baseUrl, resolver);
    const { headers, method, body } = request;
    const init = { method, headers, body, redirect: "manual", decompress: false, timeout: false };
    const response = await fetch(request.baseUrl + request.path, {
      ...init,
      signal: abort.signal,
    } as BunFetchRequestInit);
    hasBegun = true;
    const answered = new ResponseHeaders();
    response.headers.forEach((value, name) => answered.add(name, value));
    const framing = response.body === null ? 0 : "until_close";
    answer.onHead({ status: response.status, headers: answered, framing, keepsAlive: false });
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      answer.onBody(chunk);
      answer.onArrived();
      await pause.promise;
    }
    answer.onEnd();
  } catch (error) {
    const isTold = error instanceof UpstreamError;
    answer.onError(isTold ? error : new UpstreamError(hasBegun ? "cut" : "unreachable", error));
  }
}

/** A name that only the proxy can resolve is the proxy's to judge. */
async function rejectForbiddenHost(baseUrl: string, resolver: HostResolver): Promise<void> {
  const hostname = new URL(baseUrl).hostname.replace(/^\[|\]$/g, "");
  await resolver.resolve(hostname).catch((error: unknown) => {
    if (error instanceof UpstreamError && error.kind === "forbidden") throw error;
  });
}
