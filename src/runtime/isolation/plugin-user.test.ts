// PLUGIN_USER: the ids of the user, and the errors of a user that processes cannot be started as.
import { expect, test } from "bun:test";
import { SettingsError } from "../../config/settings.ts";
import { resolvePluginUser } from "./plugin-user.ts";

const USERS = ["root:x:0:0:root:/root:/bin/sh", "plugins:x:1200:1300::/:/bin/false", "broken:x:", ""].join(
  "\n",
);
const ROOT = 0;

const resolve = (name: string | null, ownUid: number | undefined = ROOT) =>
  resolvePluginUser(name, ownUid, () => USERS);

test("a user has the ids of /etc/passwd; without the setting, there is none", () => {
  expect(resolve("plugins")).toEqual({ uid: 1200, gid: 1300 });
  expect(resolve(null)).toBeNull();
  expect(resolve(null, 1000)).toBeNull();
});

test.each([
  ["missing", ROOT, 'PLUGIN_USER is "missing", which is not a user in /etc/passwd'],
  ["broken", ROOT, 'PLUGIN_USER is "broken", which is not a user in /etc/passwd'],
  // Not a user name, but the start of a line.
  ["plugins:x", ROOT, 'PLUGIN_USER is "plugins:x", which is not a user in /etc/passwd'],
  ["root", ROOT, 'PLUGIN_USER is "root", which has the user id of root; name another user'],
  ["plugins", 1000, "only root can start processes of another user, and this process has the user id 1000"],
  ["missing", 1000, "start it as root, or unset PLUGIN_USER"],
])("the user %s is an error if the gateway has the user id %d", (name, ownUid, message) => {
  expect(() => resolve(name, ownUid)).toThrow(message);
  expect(() => resolve(name, ownUid)).toThrow(SettingsError);
});
