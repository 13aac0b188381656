// Listening on a port of the settings: what goes wrong there is told with the setting and the mend.
import { SettingsError, type Settings } from "./settings.ts";

export type PortSetting = "ADMIN_PORT" | "PROXY_PORT";

export function listen<T>(setting: PortSetting, settings: Settings, start: (port: number) => T): T {
  const port = settings[setting];
  try {
    return start(port);
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === "EADDRINUSE") {
      throw new SettingsError(
        `${setting} ${port} is in use on ${settings.HOST}: stop what listens there or choose another`,
      );
    }
    if (code === "EACCES")
      throw new SettingsError(`${setting} ${port} needs privileges: choose one above 1023`);
    throw new SettingsError(`HOST ${settings.HOST} cannot be listened on: give an address of this machine`);
  }
}
