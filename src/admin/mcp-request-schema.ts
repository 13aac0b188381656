// What the request log says about a request to an MCP service.
import { z } from "zod";
import { MCP_OUTCOMES } from "../telemetry/requests/mcp-facts.ts";

const rpcError = z.number().nullable().meta({ description: "Code of the JSON-RPC error. Null: none." });

export const mcpRequest = z
  .object({
    method: z.string().nullable().meta({
      description:
        "The JSON-RPC method; in a batch that of the tool call, else of its first message. Null if the request has no message.",
    }),
    tool: z.string().nullable().meta({ description: "The called tool, by the name that the client uses." }),
    server: z.object({ id: z.string(), name: z.string() }).nullable().meta({
      description: "The server that the request was forwarded to. Null if it concerns all servers, or none.",
    }),
    protocol_version: z.string().nullable().meta({ description: "That of the client." }),
    outcome: z.enum(MCP_OUTCOMES).meta({
      description:
        "`tool_error`: the result has `isError`. `error`: the server responded with a JSON-RPC error. `unknown`: no server offers the " +
        "tool, prompt or resource to the client. `refused`: by the gateway or a plugin. `failed`: the server did not respond as expected.",
    }),
    error: rpcError,
    calls: z
      .array(
        z.object({
          server_id: z.string(),
          server: z.string(),
          method: z.string(),
          status: z.int().nullable(),
          fault: z.string().nullable().meta({ description: "Why there is no complete response." }),
          error: rpcError,
          start_ms: z.number().meta({ description: "Since the start of the request." }),
          ms: z.number(),
        }),
      )
      .meta({ description: "What was sent to servers. Lists that are in the cache send nothing." }),
    refusals: z
      .array(
        z.object({
          server_id: z.string(),
          server: z.string(),
          method: z.string().meta({ description: "Of the message, or that it responds to." }),
          code: z.string(),
          count: z.int(),
        }),
      )
      .meta({
        description:
          "Messages of servers, and their parts of merged lists and instructions, that a plugin refused while the rest of the request was served. The first 20 kinds.",
      }),
  })
  .nullable()
  .meta({ description: "Null unless the rule leads to MCP servers." });
