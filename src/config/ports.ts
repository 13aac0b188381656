// The listeners that a process has, by its role.
import type { PortSetting } from "./listen.ts";
import type { Settings } from "./settings.ts";

export type Role = "admin" | "proxy" | "all";

/** A proxy has no admin listener, so its health checks and metrics need a port of their own. */
const OPERATIONS_PORT_OF_PROXY = 8082;

/** Returns the ports to listen on; 0: any free port. */
export function portsFor(settings: Settings, role: Role): Map<PortSetting, number> {
  const ports = new Map<PortSetting, number>();
  if (role !== "proxy") ports.set("ADMIN_PORT", settings.ADMIN_PORT);
  if (role !== "admin") ports.set("PROXY_PORT", settings.PROXY_PORT);
  const operationsPort = settings.OPERATIONS_PORT ?? (role === "proxy" ? OPERATIONS_PORT_OF_PROXY : null);
  if (operationsPort !== null) ports.set("OPERATIONS_PORT", operationsPort);
  return ports;
}
