// Service: connects rules to an upstream or to MCP servers, so that one change moves many rules to others.
import { z } from "zod";
import { idField, nameField, textField } from "./fields.ts";
import type { ChildFields } from "./record.ts";

const MAX_SERVERS = 64;

const nameFields = { name: nameField.meta({ description: "Name of the service." }) };

const sharedFields = {
  type: z.enum(["upstream", "mcp"]).default("upstream").meta({
    description: "What the rules of the service lead to: providers of models, or tools of MCP servers.",
  }),
  virtual_models: z.enum(["own", "any"]).default("own").meta({
    description:
      "Which targets of virtual models the rules of the service use: those at its own upstream, or those at any upstream of the gateway.",
  }),
  description: textField.default("").meta({ description: "Free text." }),
};

const listOf = <T extends z.ZodType<string>>(item: T) =>
  z
    .array(item)
    .max(MAX_SERVERS, `must not contain more than ${MAX_SERVERS} servers`)
    .superRefine((servers, context) => {
      for (const [index, server] of servers.entries())
        if (servers.indexOf(server) < index)
          context.addIssue({ code: "custom", path: [index], message: "is given twice" });
    })
    .default([]);

/** Rejects references that the type of the service does not use. The names of the fields differ in documents. */
function rejectOtherReferences(upstreamField: string, serversField: string) {
  return (
    service: { readonly type: "upstream" | "mcp" } & Readonly<Record<string, unknown>>,
    context: z.RefinementCtx,
  ) => {
    const reject = (path: string, message: string) =>
      context.addIssue({ code: "custom", path: [path], message });
    const upstream = service[upstreamField] ?? null;
    const servers = service[serversField];
    if (service.type === "mcp" && upstream !== null)
      reject(upstreamField, "must be null, because the type of the service is mcp");
    if (service.type === "upstream" && upstream === null) reject(upstreamField, "is required");
    if (service.type === "upstream" && Array.isArray(servers) && servers.length > 0)
      reject(serversField, "must be empty, unless the type of the service is mcp");
  };
}

export const serviceSchema = z
  .strictObject({
    ...nameFields,
    upstream_id: idField.nullable().default(null).meta({
      description: "An upstream of the same gateway. Required, unless the type is `mcp`.",
    }),
    mcp_server_ids: listOf(idField).meta({
      description: "MCP servers of the same gateway, if the type is `mcp`.",
    }),
    ...sharedFields,
  })
  .superRefine(rejectOtherReferences("upstream_id", "mcp_server_ids"))
  .meta({ id: "Service" });

/** In documents, upstreams and MCP servers have names instead of ids. */
export const documentServiceSchema = z
  .strictObject({
    ...nameFields,
    upstream: nameField.nullable().default(null).meta({
      description: "Name of an upstream of the same gateway. Required, unless the type is `mcp`.",
    }),
    mcp_servers: listOf(nameField).meta({
      description: "Names of MCP servers of the same gateway, if the type is `mcp`.",
    }),
    ...sharedFields,
  })
  .superRefine(rejectOtherReferences("upstream", "mcp_servers"));

export type ServiceFields = z.output<typeof serviceSchema>;
export type Service = ServiceFields & ChildFields;
