// POST /gateways/{id}/explain: what would become of a request, with nothing sent and nothing counted.
import { GatehouseError } from "../../base/errors.ts";
import { explainRequestSchema, type Explain } from "../../model/explanation.ts";
import { validate } from "../../model/validate.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import { addOperation, type RouteTable } from "../operation.ts";
import { requireGateway } from "../write.ts";

const EXPLAIN_EXAMPLE = {
  method: "POST",
  path: "/v1/chat/completions",
  headers: { "X-GW-API-Key": "<API_KEY>" },
  body: { messages: [{ role: "user", content: "Hello!" }] },
};

export function addExplainRoutes(table: RouteTable, current: CurrentConfiguration, explain: Explain): void {
  addOperation(table, {
    method: "post",
    path: "/gateways/{gateway_id}/explain",
    tag: "explain",
    summary: "Explain what would become of a request; no provider is called and nothing is counted",
    body: "ExplainInput",
    bodyExample: EXPLAIN_EXAMPLE,
    answer: { status: 200, schema: "Explanation", description: "What every step would say." },
    handle: async ({ params, body }) => {
      const gatewayId = params["gateway_id"] ?? "";
      const request = validate(explainRequestSchema, body);
      const explanation = await explain(gatewayId, request);
      if (explanation !== null) return Response.json(explanation);
      await requireGateway(current.store, gatewayId);
      throw new GatehouseError("not_found", "This gateway is not in force here; /readyz says why.");
    },
  });
}
