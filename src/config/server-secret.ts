// Provides the server secret: SERVER_SECRET_KEY, or on a loopback HOST a generated secret stored in DATA_DIR.
import { randomBytes } from "node:crypto";
import { chmodSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorCode } from "../base/error-code.ts";
import { isLoopback } from "./loopback.ts";
import { SettingsError, type Settings } from "./settings.ts";

const MIN_SECRET_BYTES = 32;

interface ServerSecret {
  readonly value: string;
  /** To be logged at startup. */
  readonly notice: {
    readonly level: "info" | "warn";
    readonly message: string;
    readonly fields: Readonly<Record<string, unknown>>;
  } | null;
}

/** Returns the length in bytes of a secret that could be guessed; null if it is long enough or not set. */
export function shortSecretBytes(secret: string | null): number | null {
  const bytes = secret === null ? Infinity : Buffer.byteLength(secret);
  return bytes < MIN_SECRET_BYTES ? bytes : null;
}

/**
 * Throws if other machines reach the listeners and SERVER_SECRET_KEY is absent, or short without
 * ALLOW_WEAK_SECRET.
 */
export function requireServerSecret(settings: Settings): void {
  const { SERVER_SECRET_KEY: given, HOST, ALLOW_WEAK_SECRET } = settings;
  if (isLoopback(HOST)) return;
  const random = `a random value of at least ${MIN_SECRET_BYTES} bytes, for example the output of \`openssl rand -hex 32\``;
  if (given === null)
    throw new SettingsError(
      `SERVER_SECRET_KEY is not set, and HOST ${HOST} is reachable from other machines: set it to ${random}`,
    );
  const bytes = shortSecretBytes(given);
  if (bytes !== null && !ALLOW_WEAK_SECRET)
    throw new SettingsError(
      `SERVER_SECRET_KEY is ${bytes} bytes long and could be guessed, and HOST ${HOST} is reachable from other machines: ` +
        `set it to ${random}, or set ALLOW_WEAK_SECRET=true`,
    );
}

export function resolveServerSecret(settings: Settings): ServerSecret {
  requireServerSecret(settings);
  const given = settings.SERVER_SECRET_KEY;
  if (given !== null) {
    const bytes = shortSecretBytes(given);
    const message = `SERVER_SECRET_KEY is shorter than ${MIN_SECRET_BYTES} bytes and could be guessed; use a longer one`;
    return { value: given, notice: bytes === null ? null : { level: "warn", message, fields: { bytes } } };
  }
  const file = secretFile(settings.DATA_DIR);
  const found = readSecret(file);
  if (found !== null) return { value: found, notice: null };
  const value = storeNewSecret(settings.DATA_DIR, file);
  const message = "SERVER_SECRET_KEY is not set; generated a secret and stored it in a file";
  return { value, notice: { level: "info", message, fields: { file } } };
}

/** Returns the secret of a server with these settings, or null if none exists yet. Does not generate one. */
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
    if (errorCode(error) === "ENOENT") return null;
    throw new SettingsError(
      `SERVER_SECRET_KEY is not set, and ${file} is not readable: make it readable, or remove it`,
    );
  }
}

/** Writes to a temporary file and links it, so that processes that start at the same time use the same secret. */
function storeNewSecret(directory: string, file: string): string {
  const draft = `${file}.${process.pid}`;
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    writeFileSync(draft, `${randomBytes(32).toString("hex")}\n`, { mode: 0o600 });
    chmodSync(draft, 0o600);
    try {
      linkSync(draft, file);
    } catch (error) {
      if (errorCode(error) !== "EEXIST") throw error;
    } finally {
      rmSync(draft, { force: true });
    }
  } catch {
    throw new SettingsError(
      `DATA_DIR ${directory} is not writable: make it writable, or choose another directory`,
    );
  }
  const stored = readSecret(file);
  if (stored === null)
    throw new SettingsError(`SERVER_SECRET_KEY is not set, and ${file} is empty: remove the file`);
  return stored;
}
