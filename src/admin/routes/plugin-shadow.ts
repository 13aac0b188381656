// Plugins in shadow mode: what an entry of required_plugins would have done, and its promotion to enforce mode.
import { z } from "zod";
import { GatehouseError } from "../../base/errors.ts";
import type { Gateway } from "../../model/gateway.ts";
import { PLUGIN_MODES, PLUGIN_STAGES } from "../../model/plugin-stage.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import type { ShadowSource } from "../../runtime/shadow-source.ts";
import type { PluginRegistry } from "../../plugins/registry.ts";
import { SHADOW_OUTCOMES } from "../../telemetry/requests/shadow-report.ts";
import { addOperation, type RouteTable } from "../operation.ts";
import { timeSchema } from "../record-schemas.ts";
import { changeRecord } from "../resource-operations.ts";
import { requireGateway } from "../write.ts";
import { gateways } from "./gateways.ts";

const count = z.int().min(0);

const reportSchema = z.object({
  problem: z.string().nullable().meta({
    description:
      "Why the next version cannot run with the settings of the entry, or which hooks of the entry do not run in shadow mode. Null otherwise.",
  }),
  since: timeSchema.nullable().meta({ description: "Time of the first result. Null: there is none." }),
  counts: z.object({
    ran: count.meta({ description: "Requests on which the plugin ran." }),
    passed: count,
    changed: count.meta({ description: "It would have changed the request or the response." }),
    responded: count.meta({ description: "It would have responded instead of a provider." }),
    failed: count,
    timed_out: count,
    skipped: count.meta({
      description: "It did not run: a limit of shadow mode was reached, or the body was not in memory.",
    }),
    agreed: count.meta({ description: "Of the next version: requests with the same result." }),
    disagreed: count,
  }),
  statuses: z.record(z.string(), count).meta({
    description: "How often the plugin would have responded with each status.",
  }),
  samples: z
    .array(
      z.object({
        request_id: z.string(),
        time: timeSchema,
        outcome: z.enum(SHADOW_OUTCOMES),
        status: z.int().nullable(),
        detail: z.string().nullable().meta({ description: "What would have happened. Secrets are removed." }),
        agrees: z.boolean().nullable(),
        ms: z.number(),
      }),
    )
    .meta({
      description: "The last 100 requests on which the plugin would have had an effect; newest first.",
    }),
});

export const pluginShadowSchema = z.object({
  name: z.string(),
  stage: z.enum(PLUGIN_STAGES),
  position: count.meta({ description: "Position of the entry in `required_plugins`, from 0." }),
  mode: z.enum(PLUGIN_MODES),
  sample: z.number(),
  ...reportSchema.shape,
  next: reportSchema.nullable().meta({
    description: "The next version of the plugin (`NAME@next.ts` in PLUGINS_DIR). Null if there is none.",
  }),
});

const PATH = "/gateways/{gateway_id}/plugins/{entry}";

export function addPluginShadowRoutes(
  table: RouteTable,
  current: CurrentConfiguration,
  registry: PluginRegistry,
  source: ShadowSource,
): void {
  addOperation(table, {
    method: "get",
    path: `${PATH}/shadow`,
    tag: "plugins",
    summary: "Get what a plugin in shadow mode would have done",
    access: { role: "viewer" },
    response: {
      status: 200,
      schema: "PluginShadow",
      description:
        "As counted by this node since it started. `entry` is the name of the plugin or the position of the entry in `required_plugins`.",
    },
    handle: async ({ params }) => {
      const gateway = await requireGateway(current.store, params["gateway_id"] ?? "");
      const position = positionOf(gateway, params["entry"] ?? "");
      const { id, name, stage, mode, sample } = entryAt(gateway, position);
      const report = await source.read(gateway.id, id, "shadow");
      const hasNext = registry.getNext(name) !== undefined && mode === "enforce";
      const next = hasNext ? await source.read(gateway.id, id, "next") : null;
      return Response.json({ name, stage, position, mode, sample, ...report, next });
    },
  });
  addOperation(table, {
    method: "post",
    path: `${PATH}/promote`,
    tag: "plugins",
    summary: "Let a plugin in shadow mode take effect",
    access: { role: "operator" },
    response: { status: 200, schema: "Gateway", description: "The changed gateway." },
    etag: "changed",
    handle: ({ params, caller }) =>
      changeRecord(current, gateways, { params, caller }, (before, updated_at) => {
        const position = positionOf(before, params["entry"] ?? "");
        if (entryAt(before, position).mode === "enforce")
          throw new GatehouseError(
            "not_in_shadow_mode",
            `The plugin ${entryAt(before, position).name} is not in shadow mode.`,
          );
        const required_plugins = before.required_plugins.map((entry, index) =>
          index === position ? { ...entry, mode: "enforce" as const } : entry,
        );
        return { ...before, required_plugins, updated_at };
      }),
  });
}

function entryAt({ required_plugins }: Gateway, position: number): Gateway["required_plugins"][number] {
  const entry = required_plugins[position];
  if (entry === undefined) throw new Error(`there is no plugin at position ${position}`);
  return entry;
}

/** A name selects its only entry, or its only entry in shadow mode. */
function positionOf({ required_plugins }: Gateway, entry: string): number {
  const named = [...required_plugins.keys()].filter((index) => required_plugins[index]?.name === entry);
  const shadows = named.filter((index) => required_plugins[index]?.mode === "shadow");
  const [found] = named.length === 1 ? named : shadows;
  if (found !== undefined && (named.length === 1 || shadows.length === 1)) return found;
  if (named.length > 0)
    throw new GatehouseError(
      "bad_request",
      `The gateway has several entries of the plugin ${entry}. Give the position of one in required_plugins: ${named.join(" or ")}.`,
    );
  const position = /^\d{1,2}$/.test(entry) ? Number(entry) : -1;
  if (required_plugins[position] !== undefined) return position;
  throw new GatehouseError("not_found", `The gateway has no plugin "${entry.slice(0, 64)}".`);
}
