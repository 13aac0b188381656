// Where the server's secret comes from: the setting, or a random one kept in DATA_DIR for a loopback server.
import { randomBytes } from "node:crypto";
import { chmodSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isLoopback, SettingsError, type Settings } from "./settings.ts";

const SHORT_SECRET_BYTES = 32;

export interface ServerSecret {
  readonly value: string;
  /** What the operator should know about it, if anything. */
  readonly notice: { readonly level: "info" | "warn"; readonly sentence: string } | null;
}

export function resolveServerSecret(settings: Settings): ServerSecret {
  const given = settings.SERVER_SECRET_KEY;
  if (given !== null) {
    const short = Buffer.byteLength(given) < SHORT_SECRET_BYTES;
    const sentence = `SERVER_SECRET_KEY is shorter than ${SHORT_SECRET_BYTES} bytes and can be guessed; use a longer one`;
    return { value: given, notice: short ? { level: "warn", sentence } : null };
  }
  if (!isLoopback(settings.HOST)) {
    throw new SettingsError(
      `SERVER_SECRET_KEY is not set, and HOST ${settings.HOST} can be reached from outside: ` +
        "set it to a random text of at least 32 bytes, for example that of `openssl rand -hex 32`",
    );
  }
  const file = secretFile(settings.DATA_DIR);
  const found = readSecret(file);
  if (found !== null) return { value: found, notice: null };
  const value = keepNewSecret(settings.DATA_DIR, file);
  return {
    value,
    notice: { level: "info", sentence: `SERVER_SECRET_KEY is not set; a random one is kept in ${file}` },
  };
}

/** The secret that a server with these settings uses, if there is one yet; none is made. */
export function findServerSecret({ SERVER_SECRET_KEY, DATA_DIR }: Settings): string | null {
  return SERVER_SECRET_KEY ?? readSecret(secretFile(DATA_DIR));
}

function secretFile(directory: string): string {
  return join(directory, "server_secret_key");
}

function readSecret(file: string): string | null {
  try {
    const text = readFileSync(file, "utf8").trim();
    return text === "" ? null : text;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new SettingsError(
      `SERVER_SECRET_KEY is not set, and ${file} cannot be read: make it readable or remove it`,
    );
  }
}

/** Written aside and linked into place: two processes that start at once end up with the same secret. */
function keepNewSecret(directory: string, file: string): string {
  const draft = `${file}.${process.pid}`;
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    writeFileSync(draft, `${randomBytes(32).toString("hex")}\n`, { mode: 0o600 });
    chmodSync(draft, 0o600);
    try {
      linkSync(draft, file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    } finally {
      rmSync(draft, { force: true });
    }
  } catch {
    throw new SettingsError(`DATA_DIR ${directory} cannot be written to: make it writable or choose another`);
  }
  const kept = readSecret(file);
  if (kept === null)
    throw new SettingsError(`SERVER_SECRET_KEY is not set, and ${file} is empty: remove the file`);
  return kept;
}
