// Which gateway a command means: by id, by name, or the only one.
import type { AdminClient } from "./admin-client.ts";
import { UsageError } from "./command.ts";

export interface GatewayRecord {
  readonly id: string;
  readonly name: string;
}

interface GatewayList {
  readonly gateways: readonly GatewayRecord[];
  readonly count: number;
}

export async function findGateway(client: AdminClient, wanted: string | undefined): Promise<GatewayRecord> {
  if (wanted === undefined) {
    const { gateways, count } = await client.get<GatewayList>("/gateways?limit=1");
    const [only] = gateways;
    if (only === undefined) throw new Error("there is no gateway yet; make one with POST /api/v1/gateways");
    if (count > 1) throw new UsageError(`there are ${count} gateways; say which with --gateway NAME or ID`);
    return only;
  }
  const { gateways, count } = await client.get<GatewayList>(`/gateways?name=${encodeURIComponent(wanted)}`);
  const [named] = gateways;
  if (count > 1) throw new UsageError(`${count} gateways are called "${wanted}"; give the id of one`);
  return named ?? client.get<GatewayRecord>(`/gateways/${encodeURIComponent(wanted)}`);
}
