// gatehouse rewrap: encrypts all stored secrets with the newest key of ENCRYPTION_KEY, so that older keys can be removed.
import { existsSync } from "node:fs";
import { readSettings } from "../config/settings.ts";
import { rewrapSecrets } from "../store/rewrap.ts";
import { parseArguments } from "./arguments.ts";
import { UsageError, type Command } from "./command.ts";
import { databaseUrl, findCipher } from "./store-access.ts";

export const rewrap: Command = {
  summary: "encrypt all stored secrets with the newest key of ENCRYPTION_KEY",
  help: `Usage: gatehouse rewrap [--json]

Encrypts every secret in the database, and in the history of its records, with the first key of ENCRYPTION_KEY. Opens the
database of DATABASE_URL or DATA_DIR itself; nodes may be running. Run it with the settings of the nodes, after all of them have
the new key. It can be repeated. Afterwards, remove the older keys from ENCRYPTION_KEY.

Exits with 1 if a secret is still encrypted with another key.

  --json  print {"rewrapped", "newest", "older", "plain", "unreadable", "erased"}; the numbers count stored values`,
  run: async (args) => {
    const { values } = parseArguments(args, { options: { json: { type: "boolean" } } });
    const settings = readSettings(process.env);
    const cipher = findCipher(settings);
    if (cipher === null)
      throw new UsageError(
        `there is no key: set ENCRYPTION_KEY, or set DATA_DIR ("${settings.DATA_DIR}") to the server's`,
      );
    const url = databaseUrl(settings);
    if (url.startsWith("sqlite:") && !existsSync(url.slice("sqlite://".length)))
      throw new UsageError(`there is no database at ${url}; set DATA_DIR or DATABASE_URL to the server's`);
    const { before, after, isErased } = await rewrapSecrets(url, cipher);
    const { newest, older, plain, unreadable } = after;
    const rewrapped = before.older + before.plain;
    if (values.json === true)
      console.log(JSON.stringify({ rewrapped, newest, older, plain, unreadable, erased: isErased }));
    else for (const line of describe(rewrapped, after, isErased)) console.log(line);
    return older + plain + unreadable === 0 ? 0 : 1;
  },
};

function describe(
  rewrapped: number,
  { newest, older, plain, unreadable }: Awaited<ReturnType<typeof rewrapSecrets>>["after"],
  isErased: boolean,
): string[] {
  const lines = [`rewrapped ${rewrapped} of ${newest + older + plain + unreadable} stored secrets`];
  if (older + plain > 0)
    lines.push(
      `${older + plain} were written meanwhile with an older key; restart all nodes with the newest key first in ` +
        "ENCRYPTION_KEY, then run gatehouse rewrap again",
    );
  if (unreadable > 0)
    lines.push(
      `${unreadable} cannot be decrypted; add the key that they were encrypted with to ENCRYPTION_KEY`,
    );
  if (!isErased)
    lines.push(
      "the database file may still contain the former values; run gatehouse rewrap again when it is idle",
    );
  if (lines.length === 1) lines.push("older keys can be removed from ENCRYPTION_KEY");
  return lines;
}
