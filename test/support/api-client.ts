// A client of a rule for a whole API, with requests for stored objects.
import { expect } from "bun:test";
import type { RunningGatehouse } from "./gatehouse-process.ts";
import { seedRoute, type SeededRoute } from "./proxy-fixtures.ts";

/** Allows a rule everything. */
export const EVERYTHING = { operations: ["files", "batches", "fine_tuning", "responses", "other"] };

export type Json = Record<string, any>; // eslint-disable-line @typescript-eslint/no-explicit-any -- tests read arbitrary JSON

/** Calls the API below a prefix, with an API key or without one. */
export class ApiClient {
  constructor(
    readonly gateway: string,
    readonly prefix: string,
    readonly key: string | null = null,
  ) {}

  async call(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    const isJson = body !== undefined && !(body instanceof FormData);
    return fetch(this.gateway + this.prefix + path, {
      method,
      headers: {
        ...(this.key !== null && { authorization: `Bearer ${this.key}` }),
        ...(isJson && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && {
        body: isJson ? (typeof body === "string" ? body : JSON.stringify(body)) : body,
      }),
    });
  }

  async json(method: string, path: string, body?: unknown): Promise<Json> {
    const response = await this.call(method, path, body);
    return { status: response.status, ...((await response.json()) as Json) };
  }

  async upload(content = "a file"): Promise<string> {
    const form = new FormData();
    form.set("purpose", "batch");
    form.set("file", new File([content], "input.jsonl"));
    const file = await this.json("POST", "/v1/files", form);
    expect(file["status"]).toBe("processed");
    return String(file["id"]);
  }
}

interface SeededApi {
  readonly route: SeededRoute;
  readonly prefix: string;
  readonly client: ApiClient;
}

/** Creates a rule for a whole API. */
export async function seedApi(
  gatehouse: RunningGatehouse,
  targets: readonly Record<string, unknown>[],
  { rule = {} }: { rule?: object } = {},
): Promise<SeededApi> {
  const prefix = `/api-${crypto.randomUUID()}`;
  const route = await seedRoute(gatehouse, {
    upstream: { targets },
    rule: { path: `${prefix}/*`, methods: ["*"], ...rule },
  });
  return { route, prefix, client: new ApiClient(gatehouse.proxyUrl, prefix) };
}
