// Admin API client. Adds the token to each request and turns error responses into `ApiError` with the API's message.
import { reportUnreachable } from "../state/connection.ts";
import { isTokenRejected, token } from "../state/session.ts";
import type { LossPlan, Me } from "./types.ts";

export interface ErrorDetail {
  readonly path: string;
  readonly message: string;
}

/** The API's error format. All fields are optional because a proxy in between may send a different body. */
interface ErrorBody {
  readonly error?: string;
  readonly code?: string;
  readonly details?: readonly ErrorDetail[];
  readonly losses?: LossPlan["losses"];
  readonly confirm?: string;
}

/** An error response of the API. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: readonly ErrorDetail[];
  /** The losses of the call, if it needs a confirmation. */
  readonly plan: LossPlan | null;

  constructor(status: number, body: ErrorBody) {
    super(body.error ?? `The gateway responded with status ${status}.`);
    this.name = "ApiError";
    this.status = status;
    this.code = body.code ?? "unknown";
    this.details = body.details ?? [];
    const { losses, confirm } = body;
    this.plan = losses === undefined || confirm === undefined ? null : { losses, confirm };
  }
}

/** No response was received. */
export class ConnectionError extends Error {
  constructor(isWrite: boolean) {
    super(
      isWrite
        ? "The gateway did not respond. The change may or may not have been saved; check once the gateway is back."
        : "The gateway does not respond.",
    );
    this.name = "ConnectionError";
  }
}

interface CallOptions {
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is, with the Content-Type in `headers`. */
  readonly text?: string;
  /** Sent as If-Match: the API rejects the change if the record was changed since it was read. */
  readonly etag?: string | null | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

export interface ApiResponse<T> {
  readonly data: T;
  readonly etag: string | null;
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** Sends a request and returns a successful response with its body unread. Throws ApiError or ConnectionError. */
export async function request(method: Method, path: string, options: CallOptions = {}): Promise<Response> {
  const { body, text, etag, headers, signal } = options;
  let response: Response;
  try {
    response = await fetch(`/api/v1${path}`, {
      method,
      cache: "no-store",
      headers: {
        ...(token.value !== null && { Authorization: `Bearer ${token.value}` }),
        ...(body !== undefined && { "Content-Type": "application/json" }),
        ...(etag !== undefined && etag !== null && { "If-Match": etag }),
        ...headers,
      },
      ...(text !== undefined ? { body: text } : body !== undefined && { body: JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
    });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    reportUnreachable();
    throw new ConnectionError(method !== "GET");
  }
  if (response.ok) return response;
  if (response.status === 401) isTokenRejected.value = true;
  throw new ApiError(response.status, (await response.json().catch(() => ({}))) as ErrorBody);
}

export async function call<T>(method: Method, path: string, options?: CallOptions): Promise<ApiResponse<T>> {
  const response = await request(method, path, options);
  const text = await response.text();
  return { data: (text === "" ? null : JSON.parse(text)) as T, etag: response.headers.get("etag") };
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await call<T>("GET", path, { signal })).data;
}

/** Returns the administrator of a token, or without one of the session cookie; null if the API does not accept it. */
export async function fetchMe(candidate: string | null): Promise<Me | null> {
  const response = await fetch("/api/v1/iam/me", {
    cache: "no-store",
    headers: candidate === null ? {} : { Authorization: `Bearer ${candidate}` },
  });
  if (response.status === 401) return null;
  if (!response.ok)
    throw new ApiError(response.status, (await response.json().catch(() => ({}))) as ErrorBody);
  return (await response.json()) as Me;
}

/** Returns a thrown value as an Error. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** Builds `?name=value&…` from the parameters that are set; empty if none is. */
export function toQueryString(
  parameters: Readonly<Record<string, string | number | null | undefined>>,
): string {
  const set = Object.entries(parameters).filter(
    ([, value]) => value !== undefined && value !== null && value !== "",
  );
  return set.length === 0
    ? ""
    : `?${new URLSearchParams(set.map(([name, value]) => [name, String(value)])).toString()}`;
}
