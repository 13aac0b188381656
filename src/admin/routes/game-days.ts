// Game days of a gateway: only owners read and change them. Also stops one, and shows its state.
import { validationError } from "../../base/errors.ts";
import { gameDaySchema, MAX_GAME_DAY_MS, type GameDay, type GameDayFields } from "../../model/game-day.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import { readGameDayState } from "../game-day-states.ts";
import { addOperation, type RouteTable } from "../operation.ts";
import { newChild } from "../record-fields.ts";
import { childFieldSchemas } from "../record-schemas.ts";
import { addResource, changeRecord, pathOfOne } from "../resource-operations.ts";
import { childDeclaration, type Resource } from "../resource.ts";
import { requireRecord } from "../write.ts";

export const gameDays: Resource<"game_days", GameDayFields> = {
  ...childDeclaration("game_days", "game_day"),
  tag: "game days",
  singular: "game day",
  plural: "game days",
  collection: "/gateways/{gateway_id}/game-days",
  access: { read: "owner", write: "owner" },
  schemaName: "GameDay",
  schema: gameDaySchema,
  shownSchema: gameDaySchema.safeExtend(childFieldSchemas),
  example: {
    name: "a provider refuses connections",
    ends_at: "2030-01-31T10:30:00Z",
    match: { headers: { "x-game-day": "*" } },
    max_requests: 1000,
    faults: [{ type: "refuse", attempts: 1 }],
    abort_if: { error_ratio: 0.05 },
    expect: { success_ratio: 0.99, failover_ratio: 0.99 },
  },
  create: (fields, base, gatewayId) => {
    const starts_at = fields.starts_at ?? base.created_at;
    requireTimes({ ...fields, starts_at }, null);
    return { record: newChild(base, gatewayId, { ...fields, starts_at }) };
  },
  change: (before, fields, updated_at) => {
    const starts_at = fields.starts_at ?? before.starts_at;
    requireTimes({ ...fields, starts_at }, before);
    return newChild({ ...before, updated_at }, before.gateway_id, { ...fields, starts_at });
  },
  show: (gameDay) => gameDay,
};

/** Times are checked when they are set, so that a game day that is over can still be stopped or renamed. */
function requireTimes(
  fields: Pick<GameDay, "starts_at" | "ends_at" | "enabled">,
  before: GameDay | null,
): void {
  const { starts_at, ends_at, enabled } = fields;
  const endsAt = Date.parse(ends_at);
  const report = (message: string) => validationError([{ path: "ends_at", message }]);
  if (starts_at !== null && endsAt <= Date.parse(starts_at)) throw report("must be after starts_at");
  const isStarted = enabled && before?.enabled !== true;
  if (!isStarted && before?.ends_at === ends_at) return;
  if (endsAt <= Date.now()) throw report("must be in the future");
  if (endsAt > Date.now() + MAX_GAME_DAY_MS) throw report("must be at most 24 hours ahead");
}

/** `flush` writes what this process has counted, so that the state includes it. */
export function addGameDayRoutes(
  table: RouteTable,
  current: CurrentConfiguration,
  flush: (gameDayId: string) => Promise<void>,
): void {
  addResource(table, current, gameDays);
  const access = { role: "owner", limited: "filtered" } as const;
  addOperation(table, {
    tag: gameDays.tag,
    method: "get",
    path: `${pathOfOne(gameDays)}/state`,
    summary: "Get how many requests a game day affects, and its verdict",
    access: { role: "owner" },
    response: {
      status: 200,
      schema: "GameDayState",
      description: "Other nodes report what they count twice per second.",
    },
    handle: async ({ params }) => {
      const id = params["game_day_id"] ?? "";
      const record = await requireRecord(current.store, "game_days", id, params["gateway_id"] ?? "");
      await flush(id);
      return Response.json(await readGameDayState(current.store.gameDays, record, Date.now()));
    },
  });
  addOperation(table, {
    tag: gameDays.tag,
    method: "post",
    path: `${pathOfOne(gameDays)}/stop`,
    summary: "Stop a game day on all nodes",
    access,
    response: { status: 200, schema: "GameDay", description: "The record, no longer enabled." },
    handle: (call) =>
      changeRecord(current, gameDays, call, (before, updated_at) =>
        before.enabled ? { ...before, enabled: false, updated_at } : before,
      ),
  });
}
