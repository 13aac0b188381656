// Fails at startup if a port is taken. Workers listen with SO_REUSEPORT, so a second service that was given the same ports by
// mistake would otherwise share them without an error.
import { listen } from "../config/listen.ts";
import { portsFor, type Role } from "../config/ports.ts";
import type { Settings } from "../config/settings.ts";

/** Throws a SettingsError if a port that the role needs is taken. */
export function rejectTakenPorts(settings: Settings, role: Role): void {
  const { HOST: hostname } = settings;
  const listenOnce = (port: number) =>
    Bun.listen({ hostname, port, socket: { data: () => undefined } }).stop(true);
  for (const [setting, port] of portsFor(settings, role)) listen(setting, port, settings, listenOnce);
}
