// Finds the gateway that a command is for: by id, by name, or the only one.
import { z } from "zod";
import type { AdminClient } from "./admin-client.ts";
import { UsageError } from "./command.ts";

const gatewaySchema = z.object({ id: z.string(), name: z.string() });
const gatewayListSchema = z.object({ gateways: z.array(gatewaySchema), count: z.int() });

export type GatewayRecord = z.output<typeof gatewaySchema>;

export async function findGateway(client: AdminClient, nameOrId: string | undefined): Promise<GatewayRecord> {
  if (nameOrId === undefined) {
    const { gateways, count } = await client.get("/gateways?limit=1", gatewayListSchema);
    const [only] = gateways;
    if (only === undefined)
      throw new Error("there is no gateway yet; create one with POST /api/v1/gateways or gatehouse apply");
    if (count > 1) throw new UsageError(`there are ${count} gateways; choose one with --gateway NAME|ID`);
    return only;
  }
  const encoded = encodeURIComponent(nameOrId);
  const { gateways, count } = await client.get(`/gateways?name=${encoded}`, gatewayListSchema);
  const [named] = gateways;
  if (count > 1) throw new UsageError(`${count} gateways are named "${nameOrId}"; give the id of one`);
  return named ?? client.get(`/gateways/${encoded}`, gatewaySchema);
}
