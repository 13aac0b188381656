// POST /gateways/{gateway_id}/explain: simulates a request without sending or counting anything.
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
    summary: "Explain how a request would be processed. No provider is called and nothing is counted.",
    access: { role: "viewer" },
    body: "ExplainInput",
    bodyExample: EXPLAIN_EXAMPLE,
    response: { status: 200, schema: "Explanation", description: "The result of each step." },
    handle: async ({ params, body }) => {
      const gatewayId = params["gateway_id"] ?? "";
      const request = validate(explainRequestSchema, body);
      const explanation = await explain(gatewayId, request);
      if (explanation !== null) return Response.json(explanation);
      await requireGateway(current.store, gatewayId);
      throw new GatehouseError("not_found", "This gateway is not active on this node. See /readyz.");
    },
  });
}
