// Defines one operation of the Admin API: its route, its request checks, and its entry in the OpenAPI document.
import { createRoute, type OpenAPIHono, type RouteConfig } from "@hono/zod-openapi";
import { z } from "zod";
import { GatehouseError, validationError } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import type { BodyLimits } from "../http/incoming-body.ts";
import type { OffLoopPart } from "../off-loop/off-loop.ts";
import { check } from "../model/validate.ts";
import type { AuditOrigin } from "../store/audit.ts";
import type { AuditLog } from "./audit-log.ts";
import { authorize, type Access, type Identity } from "./identity.ts";
import { readBody, type BodyRules } from "./read-body.ts";

type Method = "get" | "post" | "put" | "patch" | "delete";

/** The sender of an authenticated request. */
export interface Caller {
  readonly identity: Identity;
  readonly headers: Headers;
  /** Who sends the request, and from where, for the audit log. */
  readonly origin: AuditOrigin;
  readonly audit: AuditLog;
  /** For responses without end: whether the sender would still be authenticated. Never rejects. */
  readonly isAuthenticated: () => Promise<boolean>;
}

export type PathParameters = Readonly<Record<string, string>>;

/** The input of a handler. Everything is validated except the fields of the body. */
export interface Call<Query> {
  readonly params: PathParameters;
  readonly query: Query;
  /** The JSON object in the body; empty for an operation without a body. */
  readonly body: JsonObject;
  readonly caller: Caller;
}

export interface Operation<Query> extends BodyRules {
  readonly method: Method;
  /** Relative to /api/v1, for example `/gateways/{gateway_id}`. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  /** Who may call it. There is no default, so that no operation is open by mistake. */
  readonly access: Access;
  /** Absent: query parameters are rejected. */
  readonly query?: z.ZodType<Query>;
  /** Name of the component schema that describes the body. Absent: the body is not read. */
  readonly body?: string;
  readonly bodyExample?: unknown;
  /** The response has an ETag. `read` honors If-None-Match, `changed` and `configuration` honor If-Match. */
  readonly etag?: "read" | "created" | "changed" | "configuration";
  /** It needs a confirmation: a dry run responds with the plan, and a call without confirmation is 409. */
  readonly losesRecords?: true;
  readonly response: {
    readonly status: 200 | 201 | 204;
    /** Name of a component schema. */
    readonly schema?: string;
    readonly description: string;
  };
  readonly handle: (call: Call<Query>) => Promise<Response>;
}

/** What the server knows about a request besides the request itself. */
export interface RequestBindings {
  readonly requestId: string;
  readonly address: string;
  /** Set by authentication. */
  identity: Identity | null;
  isAuthenticated: () => Promise<boolean>;
}

export interface AdminEnvironment {
  readonly Bindings: RequestBindings;
}

export interface RouteTable extends BodyLimits, OffLoopPart {
  readonly app: OpenAPIHono<AdminEnvironment>;
  readonly audit: AuditLog;
}

const noQuery = z.strictObject({});

export function addOperation<Query>(table: RouteTable, operation: Operation<Query>): void {
  const route = createRoute(describeRoute(operation));
  table.app.openAPIRegistry.registerPath(route);
  table.app.on(operation.method.toUpperCase(), route.getRoutingPath(), async (context) => {
    const identity = requireIdentity(context.env);
    authorize(operation.access, identity, context.req.param());
    rejectUnusableParameters(context.req.param(), context.req.queries());
    const query = check<unknown>(operation.query ?? noQuery, context.req.query());
    if (!query.ok)
      throw validationError(query.details.map((detail) => ({ ...detail, path: `?${detail.path}` })));
    const body = operation.body === undefined ? {} : await readBody(context.req.raw, table, operation);
    const caller = {
      identity,
      headers: context.req.raw.headers,
      origin: originOf(context.env),
      audit: table.audit,
      isAuthenticated: context.env.isAuthenticated,
    };
    return operation.handle({ params: context.req.param(), query: query.value as Query, body, caller });
  });
}

export function originOf({ identity, address, requestId }: RequestBindings): AuditOrigin {
  return { actor: identity?.actor ?? null, role: identity?.role ?? null, address, request_id: requestId };
}

/** Authentication precedes every operation; without it, nothing is allowed. */
function requireIdentity({ identity }: RequestBindings): Identity {
  if (identity === null) throw new Error("an operation was reached without authentication");
  return identity;
}

/** Rejects U+0000, which no id or name contains and PostgreSQL cannot compare, and repeated query parameters. */
function rejectUnusableParameters(params: PathParameters, queries: Readonly<Record<string, string[]>>): void {
  if (Object.values(params).some((value) => value.includes("\0"))) {
    throw new GatehouseError("not_found", "No record has this id: it contains U+0000.");
  }
  for (const [name, values] of Object.entries(queries)) {
    const path = `?${name}`;
    if (values.length > 1) throw validationError([{ path, message: "must not be repeated" }]);
    if (values[0]?.includes("\0") === true)
      throw validationError([{ path, message: "must not contain U+0000" }]);
  }
}

function describeRoute<Query>(operation: Operation<Query>): RouteConfig & { path: string } {
  const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? "");
  const params = z.object(Object.fromEntries(names.map((name) => [name, z.string()])));
  return {
    method: operation.method,
    path: `/api/v1${operation.path}`,
    tags: [operation.tag],
    summary: operation.summary,
    security: [{ admin_token: [] }],
    "x-role": operation.access.role,
    request: {
      ...(names.length > 0 && { params }),
      ...(operation.query instanceof z.ZodObject && { query: operation.query }),
      ...preconditionOf(operation),
      ...(operation.body !== undefined && {
        body: {
          required: operation.isBodyOptional !== true,
          content: contentOf(operation.body, operation.bodyExample, operation.yaml),
        },
      }),
    },
    responses: describeResponses(operation),
  };
}

function describeResponses<Query>({
  response,
  etag,
  losesRecords,
}: Operation<Query>): RouteConfig["responses"] {
  return {
    [response.status]: {
      description: response.description,
      ...(response.schema !== undefined && {
        content: losesRecords ? contentOfEither(response.schema, "LossPlan") : contentOf(response.schema),
      }),
      ...(etag !== undefined && response.status !== 204 && { headers: ETAG_HEADER }),
    },
    ...(etag === "read" && { 304: { description: "The current version matches If-None-Match." } }),
    ...((etag === "changed" || etag === "configuration") && {
      412: { description: "The current version does not match If-Match.", content: contentOf("Error") },
    }),
    ...(losesRecords && {
      409: {
        description: "The call would lose something that is recorded, and is not confirmed.",
        content: contentOf("ConfirmationRequired"),
      },
    }),
    default: { description: "An error.", content: contentOf("Error") },
  };
}

function contentOf(schema: string, example?: unknown, yaml?: true) {
  const media = {
    schema: { $ref: `#/components/schemas/${schema}` },
    ...(example !== undefined && { example }),
  };
  return { "application/json": media, ...(yaml && { "application/yaml": media }) };
}

function contentOfEither(...names: readonly string[]) {
  const anyOf = names.map((name) => ({ $ref: `#/components/schemas/${name}` }));
  return { "application/json": { schema: { anyOf } } };
}

const ETAG_HEADER = {
  ETag: { description: "Version of the record.", schema: { type: "string" } },
} as const;

function preconditionOf<Query>({ etag }: Operation<Query>): { headers?: z.ZodObject } {
  const field = (name: string, description: string) => ({
    headers: z.object({ [name]: z.string().optional().meta({ description }) }),
  });
  if (etag === "read")
    return field("If-None-Match", "Known ETags. If the current one is among them, the response is 304.");
  if (etag === "changed")
    return field(
      "If-Match",
      "The ETag to change, or `*`. If the record has another ETag, the response is 412.",
    );
  if (etag === "configuration")
    return field(
      "If-Match",
      "The ETag of an export or of the newest revision. If the configuration has changed since, the response is 412.",
    );
  return {};
}
