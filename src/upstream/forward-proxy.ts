// Sends requests through the forward proxy of HTTP_PROXY, HTTPS_PROXY, and NO_PROXY. These use Bun's fetch, which
// implements proxy tunnels. Each request has its own connection.
import type { ConnectionOwner } from "./connection.ts";
import type { HostResolver } from "./host-resolver.ts";
import type { OutgoingRequest } from "./outgoing-request.ts";
import type { ProviderAddress } from "./provider-address.ts";
import { HeaderFields } from "../http/header-fields.ts";
import { Tunnel } from "./tunnel.ts";
import { UpstreamError } from "./upstream-error.ts";
import type { UpstreamResponse } from "./upstream-response.ts";

// Read once: fetch reads the same variables of the process.
const variable = (name: string) => process.env[name] ?? process.env[name.toLowerCase()] ?? "";
const proxies = { "http:": variable("HTTP_PROXY"), "https:": variable("HTTPS_PROXY") };
const exceptions = variable("NO_PROXY")
  .split(",")
  .map((each) =>
    each
      .trim()
      .replace(/^\*?\./, "")
      .toLowerCase(),
  )
  .filter((each) => each !== "");
const hasProxy = proxies["http:"] !== "" || proxies["https:"] !== "";

export function usesForwardProxy(baseUrl: string): boolean {
  if (!hasProxy) return false;
  const { hostname, host } = new URL(baseUrl);
  if (proxyFor(baseUrl) === "") return false;
  return !exceptions.some(
    (each) => each === "*" || hostname === each || host === each || hostname.endsWith(`.${each}`),
  );
}

function proxyFor(baseUrl: string): string {
  return proxies[new URL(baseUrl).protocol === "https:" ? "https:" : "http:"];
}

/** Sends a WebSocket handshake. fetch cannot, so it uses a tunnel for both schemes (RFC 6455, section 4.1). */
export async function sendThroughTunnel(
  request: OutgoingRequest,
  headers: string,
  response: UpstreamResponse,
  owner: ConnectionOwner & { readonly address: ProviderAddress },
  resolver: HostResolver,
): Promise<void> {
  const { address } = owner;
  const host = address.hostname.includes(":") ? `[${address.hostname}]` : address.hostname;
  try {
    const proxy = new URL(proxyFor(request.baseUrl));
    const tunnel = new Tunnel(proxy, `${host}:${address.port}`);
    response.onWaiting({
      pause: () => undefined,
      resume: () => undefined,
      cancel: () => tunnel.close(),
      holdsBody: true,
    });
    await rejectForbiddenHost(request.baseUrl, resolver);
    const connection = await tunnel.open(proxy, address, owner);
    if (response.hasFailed) connection.close();
    else connection.send(headers, request, response);
  } catch (error) {
    response.onError(error instanceof UpstreamError ? error : new UpstreamError("unreachable", error));
  }
}

export async function sendThroughForwardProxy(
  request: OutgoingRequest,
  response: UpstreamResponse,
  resolver: HostResolver,
): Promise<void> {
  const abort = new AbortController();
  let pause = Promise.withResolvers<undefined>();
  pause.resolve(undefined);
  response.onSent({
    pause: () => void (pause = Promise.withResolvers<undefined>()),
    resume: () => pause.resolve(undefined),
    cancel: () => {
      abort.abort();
      pause.resolve(undefined);
    },
    holdsBody: true,
  });
  let hasHeaders = false;
  try {
    await rejectForbiddenHost(request.baseUrl, resolver);
    const fetched = await fetchThroughProxy(request, abort.signal);
    hasHeaders = true;
    const headers = new HeaderFields();
    fetched.headers.forEach((value, name) => headers.add(name, value));
    const body: AsyncIterable<Uint8Array> | null = fetched.body;
    const framing = body === null ? 0 : "until_close";
    response.onHeaders({ status: fetched.status, headers, framing, isKeepAlive: false });
    if (body !== null) {
      for await (const chunk of body) {
        response.onBody(chunk);
        response.onBodyBatch();
        await pause.promise;
      }
    }
    response.onEnd();
  } catch (error) {
    const isUpstreamError = error instanceof UpstreamError;
    response.onError(isUpstreamError ? error : new UpstreamError(hasHeaders ? "cut" : "unreachable", error));
  }
}

function fetchThroughProxy(request: OutgoingRequest, signal: AbortSignal): Promise<Response> {
  const { baseUrl, path, method, headers, body } = request;
  // The connections that fetch keeps would be shared by all gateways and credentials.
  const options = { redirect: "manual", decompress: false, timeout: false, keepalive: false } as const;
  return fetch(baseUrl + path, { ...options, method, headers, body, signal });
}

/** Rejects forbidden addresses. A host name that only the proxy can resolve must be checked by the proxy. */
async function rejectForbiddenHost(baseUrl: string, resolver: HostResolver): Promise<void> {
  const hostname = new URL(baseUrl).hostname.replace(/^\[|\]$/g, "");
  await resolver.resolve(hostname).catch((error: unknown) => {
    if (error instanceof UpstreamError && error.kind === "forbidden") throw error;
  });
}
