// The one way to the Admin API: the token goes along, faults come back as errors in the API's own words.
import { noticeSilence } from "../state/connection.ts";
import { isExpired, token } from "../state/session.ts";

export interface Detail {
  readonly path: string;
  readonly message: string;
}

/** The error shape; an answer that is not ours may lack any of it. */
interface ErrorParts {
  readonly error?: string;
  readonly code?: string;
  readonly details?: readonly Detail[];
}

/** The API said no. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: readonly Detail[];

  constructor(status: number, body: ErrorParts) {
    super(body.error ?? `The gateway answered ${status}.`);
    this.name = "ApiError";
    this.status = status;
    this.code = body.code ?? "unknown";
    this.details = body.details ?? [];
  }
}

/** Nobody answered. */
export class SilenceError extends Error {
  constructor(isWrite: boolean) {
    super(
      isWrite
        ? "The gateway did not answer, so whether this was done is not known. Look again once it is back."
        : "The gateway does not answer.",
    );
    this.name = "SilenceError";
  }
}

export interface CallOptions {
  readonly body?: unknown;
  /** The state that a change is meant for: the API refuses it when someone else was faster. */
  readonly etag?: string | null | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

export interface Answer<T> {
  readonly data: T;
  readonly etag: string | null;
}

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** An answer of the API that is not an error, unread. */
export async function request(method: Method, path: string, options: CallOptions = {}): Promise<Response> {
  const { body, etag, headers, signal } = options;
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
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
    });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    noticeSilence();
    throw new SilenceError(method !== "GET");
  }
  if (response.ok) return response;
  if (response.status === 401) isExpired.value = true;
  throw new ApiError(response.status, (await response.json().catch(() => ({}))) as ErrorParts);
}

export async function call<T>(method: Method, path: string, options?: CallOptions): Promise<Answer<T>> {
  const response = await request(method, path, options);
  const text = await response.text();
  return { data: (text === "" ? null : JSON.parse(text)) as T, etag: response.headers.get("etag") };
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await call<T>("GET", path, { signal })).data;
}

/** Whether the API accepts a token, before it becomes the session's. */
export async function isAccepted(candidate: string): Promise<boolean> {
  const answer = await fetch("/api/v1/gateways?limit=1", {
    cache: "no-store",
    headers: { Authorization: `Bearer ${candidate}` },
  });
  return answer.status !== 401;
}

export function query(parameters: Readonly<Record<string, string | number | null | undefined>>): string {
  const set = Object.entries(parameters).filter(
    ([, value]) => value !== undefined && value !== null && value !== "",
  );
  return set.length === 0
    ? ""
    : `?${new URLSearchParams(set.map(([name, value]) => [name, String(value)])).toString()}`;
}
