// Workers share their ports, and so would two services that were given the same ones by mistake. Looked at before the start.
import { listen } from "../config/listen.ts";
import type { Settings } from "../config/settings.ts";
import type { Role } from "../main.ts";

export function refuseTakenPorts(settings: Settings, role: Role): void {
  const { HOST: hostname } = settings;
  const listenOnce = (port: number) =>
    Bun.listen({ hostname, port, socket: { data: () => undefined } }).stop(true);
  if (role !== "proxy") listen("ADMIN_PORT", settings, listenOnce);
  if (role !== "admin") listen("PROXY_PORT", settings, listenOnce);
}
