// MCP server: a Streamable HTTP endpoint whose tools, prompts, and resources services of type `mcp` offer.
import { z } from "zod";
import { findPathProblem } from "../http/request-target.ts";
import { credentialsSchema } from "./credentials.ts";
import { headersField } from "./fields.ts";
import type { ChildFields } from "./record.ts";
import { remoteUrlProblem, urlField } from "./remote-url.ts";
import { isSecretHeader } from "./target-secrets.ts";
import { toolPatternsField } from "./tool-pattern.ts";

const PIN_MODES = ["off", "warn", "hold"] as const;

/** Lower case, because the name is part of a header name, which is case-insensitive. */
const serverNameField = z
  .string()
  .regex(
    /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/,
    "must have 1 to 63 characters a-z, 0-9, and -, and neither start nor end with -",
  );

/**
 * A prefix without `__` that does not end in `_`: the first `__` of `prefix__name` is then always the end of the prefix,
 * whatever the name is.
 */
const prefixField = z
  .string()
  .max(63, "must not be longer than 63 characters")
  .regex(
    /^[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*$/,
    "must contain only letters, digits, -, and single _ between them",
  );

function serverUrlProblem(text: string): string | null {
  const problem = remoteUrlProblem(text, "https://mcp.example.com/mcp");
  if (problem !== null) return problem;
  const { pathname, searchParams } = new URL(text);
  if (findPathProblem(pathname) !== null)
    return "must not contain dot segments or backslashes, also not encoded";
  // The URL is shown in responses and logs, unlike headers and credentials.
  for (const name of searchParams.keys())
    if (isSecretHeader(name))
      return `must not contain the credential "${name.slice(0, 40)}"; use credentials or headers`;
  return null;
}

/** Header fields that the gateway sets itself on each request. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  "accept",
  "connection",
  "content-length",
  "content-type",
  "last-event-id",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

const serverHeadersField = headersField.superRefine((headers, context) => {
  for (const name of Object.keys(headers)) {
    const lower = name.toLowerCase();
    if (OWN_HEADERS.has(lower) || lower.startsWith("mcp-"))
      context.addIssue({ code: "custom", path: [name], message: "is set by the gateway; leave it out" });
  }
});

const toolsSchema = z
  .strictObject({
    allow: toolPatternsField.nullable().default(null).meta({
      description: "Patterns of the tools that are offered; `*` matches any characters. Null: all tools.",
    }),
    deny: toolPatternsField.default([]).meta({
      description: "Patterns of tools that are not offered, also if `allow` matches them.",
    }),
  })
  .meta({ id: "McpTools", description: "The names are those that the server uses, without the prefix." });

const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;

const mcpTimeoutsSchema = z
  .strictObject({
    connect: z.int().min(1).max(MINUTE_MS).default(5000),
    list: z.int().min(1).max(MINUTE_MS).default(5000).meta({
      description:
        "For a list of tools, prompts, or resources. A server that takes longer is left out of it.",
    }),
    call: z.int().min(1).max(DAY_MS).default(120_000).meta({
      description:
        "For any other request. A call that reports progress may take longer: this is the longest silence.",
    }),
  })
  .meta({ id: "McpTimeouts", description: "In milliseconds." });

export const mcpServerSchema = z
  .strictObject({
    name: serverNameField.meta({ description: "Name of the server, unique in its gateway." }),
    url: urlField(serverUrlProblem).meta({ description: "Its Streamable HTTP endpoint." }),
    headers: serverHeadersField.default({}).meta({
      description:
        "Additional request headers. Values of headers that carry a credential by their name (`Authorization`, " +
        "`X-Api-Key`, `…-Token`) are encrypted and shown masked, like `credentials`.",
    }),
    credentials: credentialsSchema.nullable().default(null).meta({
      description:
        "Sent with each request. A credential of a client that the gateway accepted is never sent.",
    }),
    forward_authorization: z.boolean().default(false).meta({
      description:
        "A client may send a credential of the server in `X-MCP-<name>-Authorization`. It replaces the header `Authorization`.",
    }),
    tools: toolsSchema.prefault({}).meta({ description: "Which tools are offered." }),
    prefix: prefixField.nullable().default(null).meta({
      description:
        "Tools and prompts are named `prefix__name` where a service has several servers. Null: the name of the server.",
    }),
    pin: z.enum(PIN_MODES).default("warn").meta({
      description:
        "What happens if the definition of a tool changes: nothing, it is reported, or the tool is withheld until it is approved. With `hold`, new tools are withheld, too.",
    }),
    timeouts: mcpTimeoutsSchema.prefault({}),
    enabled: z.boolean().default(true).meta({ description: "False: the server gets no requests." }),
  })
  .meta({ id: "McpServer" });

export type McpServerFields = z.output<typeof mcpServerSchema>;
export type McpServer = McpServerFields & ChildFields;
