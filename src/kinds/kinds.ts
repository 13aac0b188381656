// The table of kinds, in the order in which records are restored: those that others refer to first. They are deleted in the opposite order.
import { apiKeys } from "./api-keys/record.ts";
import { budgets } from "./budgets/record.ts";
import { gameDays } from "./game-days/record.ts";
import { gateways } from "./gateways/record.ts";
import type { GatewayParts, Kind, KindDeclaration, PartKind, RecordOf } from "./kind.ts";
import { mcpServers } from "./mcp-servers/record.ts";
import { rules } from "./rules/record.ts";
import { services } from "./services/record.ts";
import { upstreams } from "./upstreams/record.ts";
import { virtualModels } from "./virtual-models/record.ts";

export const KINDS: { readonly [K in Kind]: KindDeclaration<K> } = {
  gateways,
  upstreams,
  mcp_servers: mcpServers,
  services,
  rules,
  models: virtualModels,
  budgets,
  api_keys: apiKeys,
  game_days: gameDays,
};

export const KIND_NAMES = Object.keys(KINDS) as readonly Kind[];

/** Kinds whose records belong to a gateway. */
export const CHILD_KINDS = KIND_NAMES.filter(
  (kind): kind is Exclude<Kind, "gateways"> => KINDS[kind].parent !== "installation",
);

const PART_KINDS = CHILD_KINDS.filter((kind): kind is PartKind => KINDS[kind].parent === "gateway");

/** Collects what a gateway is compiled from. */
export async function collectParts(
  gateway: RecordOf["gateways"],
  read: <K extends PartKind>(kind: K) => Promise<readonly RecordOf[K][]>,
): Promise<GatewayParts> {
  const parts: Record<string, unknown> = { gateway };
  for (const kind of PART_KINDS) parts[kind] = await read(kind);
  return parts as unknown as GatewayParts;
}

export function isKind(name: string): name is Kind {
  return Object.hasOwn(KINDS, name);
}
