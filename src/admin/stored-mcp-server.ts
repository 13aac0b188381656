// Turns the secrets of an MCP server of a request into stored ones: a masked secret keeps its value as long as the server has the
// same URL.
import { validationError } from "../base/errors.ts";
import type { McpServer, McpServerFields } from "../model/mcp-server.ts";
import { mapSecrets } from "../model/target-secrets.ts";
import { KeptSecrets } from "./kept-secrets.ts";

/** `before` is the stored server; null for a new one. */
export function toStoredMcpServer(fields: McpServerFields, before: McpServer | null): McpServerFields {
  const kept = new KeptSecrets(before === null ? [] : [before], "field");
  const secrets = mapSecrets(fields, (value, place) =>
    kept.find(value, place, fields, before ?? undefined, `MCP server "${fields.name}"`, place.path),
  );
  if (kept.unknownMasks.length > 0) throw validationError(kept.unknownMasks);
  kept.rejectMoved();
  return { ...fields, ...secrets };
}
