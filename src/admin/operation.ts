// How a route of the Admin API is defined once: its handler, its checks and its place in the OpenAPI document.
import { createRoute, type OpenAPIHono, type RouteConfig } from "@hono/zod-openapi";
import { z } from "zod";
import { GatehouseError, validationError } from "../base/errors.ts";
import { parseJsonObject, type JsonObject } from "../base/json.ts";
import { readBody } from "../http/read-body.ts";
import { parseYamlObject } from "../base/yaml.ts";
import { check } from "../model/validate.ts";

export type Method = "get" | "post" | "put" | "patch" | "delete";

/** Who calls, and under which conditions. */
export interface Caller {
  /** The subject of the admin token. */
  readonly subject: string | null;
  readonly headers: Headers;
}

/** What a handler is given: everything already checked but the fields of the body. */
export interface Call<Query> {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  /** The JSON object of the body; an empty one where the operation takes none. */
  readonly body: JsonObject;
  readonly caller: Caller;
}

export interface Operation<Query> {
  readonly method: Method;
  /** Below /api/v1, as in `/gateways/{gateway_id}`. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly query?: z.ZodType<Query>;
  /** Name of the component schema the body follows; absent: no body is read. */
  readonly body?: string;
  readonly bodyExample?: unknown;
  /** Body and answer may be YAML as well. */
  readonly yaml?: true;
  /** The answer has an ETag: it is a record that is read (`If-None-Match`), or one that is changed (`If-Match`). */
  readonly etag?: "read" | "created" | "changed";
  readonly answer: {
    readonly status: 200 | 201 | 204;
    readonly schema?: string;
    readonly description: string;
  };
  readonly handle: (call: Call<Query>) => Promise<Response>;
}

export interface AdminEnvironment {
  readonly Variables: { readonly subject: string | null };
}

export interface RouteTable {
  readonly app: OpenAPIHono<AdminEnvironment>;
  readonly maxBodyBytes: number;
  /** Every path template with its methods, for 405 and `Allow`. */
  readonly methodsByPath: Map<string, Method[]>;
}

const noQuery = z.strictObject({});
const YAML_TYPES = /^(application|text)\/(x-)?yaml\s*(;|$)/i;
const JSON_TYPES = /^application\/(merge-patch\+)?json\s*(;|$)/i;

export function addOperation<Query>(table: RouteTable, operation: Operation<Query>): void {
  const route = createRoute(describeRoute(operation));
  table.app.openAPIRegistry.registerPath(route);
  const path = route.getRoutingPath();
  table.methodsByPath.set(path, [...(table.methodsByPath.get(path) ?? []), operation.method]);
  table.app.on(operation.method.toUpperCase(), path, async (context) => {
    refuseUnstorable(context.req.param(), context.req.queries());
    const query = check<unknown>(operation.query ?? noQuery, context.req.query());
    if (!query.ok)
      throw validationError(query.details.map((detail) => ({ ...detail, path: `?${detail.path}` })));
    const body =
      operation.body === undefined
        ? {}
        : await readObject(context.req.raw, table.maxBodyBytes, operation.yaml);
    const caller = { subject: context.get("subject"), headers: context.req.raw.headers };
    return operation.handle({ params: context.req.param(), query: query.value as Query, body, caller });
  });
}

/** U+0000 cannot be in any id or name: PostgreSQL would refuse to look for it. A parameter given twice is a mistake. */
function refuseUnstorable(
  params: Readonly<Record<string, string>>,
  queries: Readonly<Record<string, string[]>>,
): void {
  if (Object.values(params).some((value) => value.includes("\0"))) {
    throw new GatehouseError("not_found", "There is nothing under this id.");
  }
  for (const [name, values] of Object.entries(queries)) {
    const path = `?${name}`;
    if (values.length > 1) throw validationError([{ path, message: "is given twice" }]);
    if (values[0]?.includes("\0") === true)
      throw validationError([{ path, message: "must not contain U+0000" }]);
  }
}

async function readObject(request: Request, maxBytes: number, yaml = false): Promise<JsonObject> {
  const type = request.headers.get("content-type") ?? "";
  if (yaml && YAML_TYPES.test(type)) return parseYamlObject(await readBody(request, maxBytes));
  if (!JSON_TYPES.test(type)) {
    const what = yaml ? "YAML or JSON, with Content-Type: application/yaml or" : "JSON, with Content-Type:";
    throw new GatehouseError("unsupported_media_type", `Send ${what} application/json.`);
  }
  return parseJsonObject(await readBody(request, maxBytes));
}

function describeRoute<Query>(operation: Operation<Query>): RouteConfig & { path: string } {
  const { answer } = operation;
  const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? "");
  const content = (schema: string, example?: unknown, yaml?: true) => {
    const media = {
      schema: { $ref: `#/components/schemas/${schema}` },
      ...(example !== undefined && { example }),
    };
    return { "application/json": media, ...(yaml && { "application/yaml": media }) };
  };
  const params = z.object(Object.fromEntries(names.map((name) => [name, z.string()])));
  return {
    method: operation.method,
    path: `/api/v1${operation.path}`,
    tags: [operation.tag],
    summary: operation.summary,
    security: [{ admin_token: [] }],
    request: {
      ...(names.length > 0 && { params }),
      ...(operation.query instanceof z.ZodObject && { query: operation.query }),
      ...preconditionOf(operation),
      ...(operation.body !== undefined && {
        body: { required: true, content: content(operation.body, operation.bodyExample, operation.yaml) },
      }),
    },
    responses: {
      [answer.status]: {
        description: answer.description,
        ...(answer.schema !== undefined && { content: content(answer.schema) }),
        ...(operation.etag !== undefined && answer.status !== 204 && { headers: ETAG_HEADER }),
      },
      ...(operation.etag === "read" && { 304: { description: "It is still what If-None-Match names." } }),
      ...(operation.etag === "changed" && {
        412: { description: "It is no longer what If-Match names.", content: content("Error") },
      }),
      default: { description: "An error, in the one error shape.", content: content("Error") },
    },
  };
}

const ETAG_HEADER = {
  ETag: { description: "The version of the record.", schema: { type: "string" } },
} as const;

function preconditionOf<Query>({ etag }: Operation<Query>): { headers?: z.ZodObject } {
  const field = (name: string, description: string) => ({
    headers: z.object({ [name]: z.string().optional().meta({ description }) }),
  });
  if (etag === "read")
    return field("If-None-Match", "ETags that the caller has: 304 where it is one of them.");
  if (etag === "changed")
    return field(
      "If-Match",
      "The ETag that the change is meant for, or `*`: 412 where it is another by now.",
    );
  return {};
}
