// Starts a listener on a port from the settings. An error names the setting and the fix.
import { errorCode } from "../base/error-code.ts";
import { SettingsError, type Settings } from "./settings.ts";

export type PortSetting = "ADMIN_PORT" | "PROXY_PORT" | "OPERATIONS_PORT";

export function listen<T>(
  setting: PortSetting,
  port: number,
  settings: Settings,
  start: (port: number) => T,
): T {
  try {
    return start(port);
  } catch (error) {
    const code = errorCode(error);
    if (code === "EADDRINUSE") {
      throw new SettingsError(
        `${setting} ${port} is in use on ${settings.HOST}: stop the process that listens there, or choose another port`,
      );
    }
    if (code === "EACCES")
      throw new SettingsError(`${setting} ${port} requires privileges: choose a port above 1023`);
    throw new SettingsError(
      `HOST ${settings.HOST} cannot be bound (${String(code)}): choose an address of this machine`,
    );
  }
}
