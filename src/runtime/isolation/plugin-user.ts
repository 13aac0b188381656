// The user that plugin processes run as (PLUGIN_USER).
import { readFileSync } from "node:fs";
import { SettingsError } from "../../config/settings.ts";

export interface PluginUser {
  readonly uid: number;
  readonly gid: number;
}

/** Returns null if the setting is not set. Throws if processes of that user cannot be started. */
export function resolvePluginUser(
  name: string | null,
  ownUid: number | undefined = process.getuid?.(),
  readUsers: () => string = () => readFileSync("/etc/passwd", "utf8"),
): PluginUser | null {
  if (name === null) return null;
  if (ownUid !== 0)
    throw new SettingsError(
      `PLUGIN_USER is "${name}", but only root can start processes of another user, and this process has the user id ${ownUid}; start it as root, or unset PLUGIN_USER`,
    );
  const fields = readUsers()
    .split("\n")
    .map((line) => line.split(":"))
    .find(([user]) => user === name);
  const [uid, gid] = [Number(fields?.[2]), Number(fields?.[3])];
  if (fields === undefined || !Number.isInteger(uid) || !Number.isInteger(gid))
    throw new SettingsError(
      `PLUGIN_USER is "${name}", which is not a user in /etc/passwd; create it, or name another`,
    );
  if (uid === 0)
    throw new SettingsError(`PLUGIN_USER is "${name}", which has the user id of root; name another user`);
  return { uid, gid };
}
