// What the console has to know about the server: where clients reach the data plane.
import { addOperation, type RouteTable } from "../operation.ts";

export interface ServerAddresses {
  /** Setting PUBLIC_URL. */
  readonly publicUrl: string | null;
  /** Setting BASE_DOMAIN. */
  readonly baseDomain: string | null;
  /** Port of the data plane on this node; null if this process does not serve it. */
  readonly proxyPort: () => number | null;
}

export function addServerRoutes(
  table: RouteTable,
  { publicUrl, baseDomain, proxyPort }: ServerAddresses,
): void {
  addOperation(table, {
    method: "get",
    path: "/server",
    tag: "server",
    summary: "Get the address of the data plane",
    access: { role: "viewer", limited: "shared" },
    response: { status: 200, schema: "Server", description: "The address." },
    handle: () =>
      Promise.resolve(
        Response.json({ public_url: publicUrl, proxy_port: proxyPort(), base_domain: baseDomain }),
      ),
  });
}
