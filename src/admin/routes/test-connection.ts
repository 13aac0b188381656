// Tests the connection to a target, stored or not. Nothing is stored, and no token is used.
import { GatehouseError } from "../../base/errors.ts";
import { EXAMPLE_UPSTREAM } from "../../formats/example-upstream.ts";
import { connectionCheckOf } from "../../formats/provider-setup.ts";
import { connectionTestRequestSchema } from "../../model/connection-test.ts";
import { isSecretHeader } from "../../model/target-secrets.ts";
import type { Target } from "../../model/target.ts";
import { upstreamSchema, type Upstream } from "../../model/upstream.ts";
import { validate } from "../../model/validate.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import type { UpstreamPool } from "../../upstream/upstream-pool.ts";
import { ConnectionTests } from "../connection-test/connection-tests.ts";
import { addOperation, type RouteTable } from "../operation.ts";
import { toStoredTargets } from "../stored-targets.ts";
import { requireGateway, requireRecord, toValidationError } from "../write.ts";

const [EXAMPLE_TARGET] = EXAMPLE_UPSTREAM.targets;
const DEFAULT_TIMEOUTS = upstreamSchema.shape.timeouts.parse(undefined);

export function addConnectionTestRoutes(
  table: RouteTable,
  current: CurrentConfiguration,
  pool: Pick<UpstreamPool, "send">,
): void {
  const tests = new ConnectionTests(pool, table.deadlines.clock);
  addOperation(table, {
    method: "post",
    path: "/gateways/{gateway_id}/test-connection",
    tag: "upstreams",
    summary: "Test address, TLS and credential of a target. Nothing is stored, and no token is used.",
    access: { role: "operator" },
    body: "ConnectionTestInput",
    bodyExample: { target: EXAMPLE_TARGET },
    response: {
      status: 200,
      schema: "ConnectionTest",
      description:
        "The result of each check. A connection that does not work is not an error of this operation.",
    },
    handle: async ({ params, body }) => {
      const gatewayId = params["gateway_id"] ?? "";
      const { upstream_id, target_id, target: sent } = validate(connectionTestRequestSchema, body);
      const upstream =
        upstream_id === undefined
          ? null
          : await requireRecord(current.store, "upstreams", upstream_id, gatewayId);
      if (upstream === null) await requireGateway(current.store, gatewayId);
      const target =
        sent === undefined ? requireTarget(upstream, target_id ?? "") : toStoredTarget(sent, upstream);
      const compiled = compile(current, gatewayId, target);
      const secretless = withoutSecrets(target);
      const result = await tests.run({
        target: compiled,
        withoutSecrets: secretless === null ? compiled : compile(current, gatewayId, secretless),
        check: connectionCheckOf(target),
        timeouts: upstream?.timeouts ?? DEFAULT_TIMEOUTS,
      });
      return Response.json(result);
    },
  });
}

function requireTarget(upstream: Upstream | null, id: string): Target {
  const target = upstream?.targets.find((each) => each.id === id);
  if (target !== undefined) return target;
  throw new GatehouseError("not_found", `The upstream has no target "${id.slice(0, 64)}".`);
}

type SentTarget = Parameters<typeof toStoredTargets>[0][number];

/** A masked secret refers to the stored target with the same id, and is sent to the same place only, as in a write. */
function toStoredTarget(sent: SentTarget, upstream: Upstream | null): Target {
  const known = upstream?.targets.filter(({ id }) => id === sent.id) ?? [];
  const before = upstream === null ? null : { ...upstream, targets: known };
  const [target] = toStoredTargets([sent], before, () => "target");
  if (target === undefined) throw new RangeError("one target was given, and none returned");
  return target;
}

/** Returns null if the target has no secrets. */
function withoutSecrets(target: Target): Target | null {
  const headers = Object.entries(target.headers);
  const kept = headers.filter(([name]) => !isSecretHeader(name));
  if (target.credentials === null && kept.length === headers.length) return null;
  return { ...target, credentials: null, headers: Object.fromEntries(kept) };
}

function compile(current: CurrentConfiguration, gatewayId: string, target: Target) {
  try {
    return current.compileTarget(gatewayId, target);
  } catch (error) {
    throw toValidationError(error, () => "target.");
  }
}
