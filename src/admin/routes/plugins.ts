// The registered plugins, which a gateway can use in required_plugins.
import { z } from "zod";
import { defaultModeOf } from "../../model/plugin-stage.ts";
import type { PluginRegistry } from "../../plugins/registry.ts";
import { listResponse, pageQuery } from "../list-query.ts";
import { addOperation, type RouteTable } from "../operation.ts";

export function addPluginRoutes(table: RouteTable, registry: PluginRegistry): void {
  addOperation(table, {
    method: "get",
    path: "/plugins",
    tag: "plugins",
    summary: "List the registered plugins with their settings schemas",
    access: { role: "viewer", limited: "shared" },
    query: pageQuery,
    response: { status: 200, schema: "PluginList", description: "Built-in and custom plugins." },
    handle: ({ query }) => {
      const plugins = registry.all().map(({ definition, builtin }) => ({
        name: definition.name,
        description: definition.description,
        stages: definition.stages,
        settings_schema: z.toJSONSchema(definition.settings, { io: "input", unrepresentable: "any" }),
        default_mode: defaultModeOf(definition.name),
        builtin,
      }));
      const page = plugins.slice(query.offset, query.offset + query.limit);
      return Promise.resolve(listResponse("plugins", page, plugins.length, query));
    },
  });
}
