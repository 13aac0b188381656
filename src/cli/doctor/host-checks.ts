// Checks of this machine: the server secret, the limits of the process, the directories, the ports.
import { accessSync, constants, existsSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { statfsSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { z } from "zod";
import { errorCode } from "../../base/error-code.ts";
import type { PortSetting } from "../../config/listen.ts";
import { portsFor } from "../../config/ports.ts";
import { findServerSecret, shortSecretBytes } from "../../config/server-secret.ts";
import { isLoopback } from "../../config/loopback.ts";
import { SettingsError, type Settings } from "../../config/settings.ts";
import { gatehouseEnvironment, MAX_REQUESTS_VARIABLE } from "../runtime-environment.ts";
import { fail, ok, warn, type CheckResult } from "./check-result.ts";

const MIN_OPEN_FILES = 4096;
const MIN_REQUESTS = 1024;
/** A day of request records of a busy gateway. */
const MIN_FREE_MB = 1000;
const PROBE_MS = 2000;
const PROBE_BYTES = 64 * 1024;

export function checkSecret(settings: Settings): CheckResult[] {
  let secret: string | null;
  try {
    secret = findServerSecret(settings);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    const detail = "SERVER_SECRET_KEY is not set, and the generated secret in DATA_DIR cannot be read";
    return [fail("secret", detail, "make server_secret_key in DATA_DIR readable, or set SERVER_SECRET_KEY")];
  }
  const bytes = shortSecretBytes(secret);
  if (bytes !== null) {
    const detail = `SERVER_SECRET_KEY has ${bytes} bytes, fewer than 32`;
    const isRejected = !isLoopback(settings.HOST) && !settings.ALLOW_WEAK_SECRET;
    if (!isRejected) return [warn("secret", detail, "set a longer one: openssl rand -hex 32")];
    const reason = `${detail}, and HOST ${settings.HOST} is reachable from other machines`;
    return [fail("secret", reason, "set a longer one: openssl rand -hex 32, or set ALLOW_WEAK_SECRET=true")];
  }
  if (settings.SERVER_SECRET_KEY !== null) return [ok("secret", "SERVER_SECRET_KEY is set")];
  if (isLoopback(settings.HOST)) {
    const detail = secret === null ? "the first start will generate a secret" : "using the generated secret";
    return [ok("secret", detail)];
  }
  const detail = `SERVER_SECRET_KEY is not set, and HOST ${settings.HOST} is reachable from other machines`;
  return [fail("secret", detail, "set it to the output of openssl rand -hex 32")];
}

export function checkProcess(): CheckResult[] {
  const results: CheckResult[] = [];
  const { [MAX_REQUESTS_VARIABLE]: maxRequests } = gatehouseEnvironment();
  const detail = `up to ${maxRequests ?? ""} concurrent requests to providers`;
  if (Number(maxRequests) >= MIN_REQUESTS) results.push(ok("requests", detail));
  else results.push(warn("requests", detail, `raise ${MAX_REQUESTS_VARIABLE}, or unset it`));
  const files = maxOpenFiles();
  if (files === null) return results;
  const filesDetail = `up to ${files} open files and connections`;
  if (files >= MIN_OPEN_FILES) results.push(ok("files", filesDetail));
  else results.push(warn("files", filesDetail, "raise the limit: ulimit -n 65536"));
  return results;
}

/** Returns null if the operating system does not report the limit. */
function maxOpenFiles(): number | null {
  try {
    const [, soft = ""] = /^Max open files\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return soft === "unlimited" ? Infinity : Number(soft);
  } catch {
    return null;
  }
}

/** The first start creates missing directories: returns the nearest parent that exists, or the path itself. */
export function nearestDirectory(path: string): string {
  let directory = path;
  while (!existsSync(directory) && dirname(directory) !== directory) directory = dirname(directory);
  return directory;
}

export function checkDataDirectory({ DATA_DIR }: Settings): CheckResult[] {
  const directory = nearestDirectory(resolve(DATA_DIR));
  const isItself = directory === resolve(DATA_DIR);
  try {
    if (!statSync(directory).isDirectory()) {
      const detail = isItself ? "is not a directory" : `cannot be created because ${directory} is a file`;
      return [fail("data", `DATA_DIR ${DATA_DIR} ${detail}`, "remove the file, or set another DATA_DIR")];
    }
    accessSync(directory, constants.W_OK | constants.X_OK);
    if (isItself) probeDisk(directory);
    return [freeSpaceOf(directory, `DATA_DIR ${DATA_DIR} ${isItself ? "is writable" : "can be created"}`)];
  } catch (error) {
    const code = errorCode(error) ?? "";
    if (code === "ENOSPC" || code === "EDQUOT")
      return [
        fail("data", `the disk of DATA_DIR ${DATA_DIR} is full`, "free space, or set another DATA_DIR"),
      ];
    const fix = "make it writable, or set another DATA_DIR";
    return [fail("data", `DATA_DIR ${DATA_DIR} is not writable${code === "" ? "" : ` (${code})`}`, fix)];
  }
}

function freeSpaceOf(directory: string, detail: string): CheckResult {
  const { bavail, bsize } = statfsSync(directory);
  const megabytes = Math.floor((bavail * bsize) / 1_000_000);
  const shown = `${detail}, ${megabytes} MB are free`;
  return megabytes < MIN_FREE_MB
    ? warn("data", shown, "free space, or set another DATA_DIR")
    : ok("data", shown);
}

/** Writes a file and deletes it: only a write shows that a disk is full, or that a quota is used up. */
function probeDisk(directory: string): void {
  const file = join(directory, `.doctor-${process.pid}`);
  try {
    writeFileSync(file, Buffer.alloc(PROBE_BYTES), { flush: true });
  } finally {
    rmSync(file, { force: true });
  }
}

export function checkPlugins({ PLUGINS_DIR }: Settings): CheckResult[] {
  if (!existsSync(PLUGINS_DIR)) return [ok("plugins", `${PLUGINS_DIR} does not exist: no custom plugins`)];
  try {
    const { length } = readdirSync(PLUGINS_DIR).filter(
      (name) => !name.startsWith(".") && !/\.test\.[jt]s$/.test(name),
    );
    return [ok("plugins", `${PLUGINS_DIR} has ${length} custom ${length === 1 ? "plugin" : "plugins"}`)];
  } catch {
    const fix = "make it readable, or set another PLUGINS_DIR";
    return [fail("plugins", `PLUGINS_DIR ${PLUGINS_DIR} is not readable`, fix)];
  }
}

export async function checkPorts(settings: Settings): Promise<CheckResult[]> {
  const results = await Promise.all(
    [...portsFor(settings, "all")].map(([setting, port]) => checkPort(setting, port, settings)),
  );
  // Both planes of a gateway report its database.
  const all = results.flat();
  return all.filter(({ detail }, index) => all.findIndex((other) => other.detail === detail) === index);
}

async function checkPort(name: PortSetting, port: number, { HOST }: Settings): Promise<CheckResult[]> {
  if (port === 0) return [ok("ports", `${name} 0 picks a free port`)];
  try {
    Bun.listen({ hostname: HOST, port, socket: { data: () => undefined } }).stop(true);
    return [ok("ports", `${name} ${port} is free`)];
  } catch (error) {
    const code = errorCode(error);
    if (code === "EACCES")
      return [fail("ports", `${name} ${port} needs privileges`, `set ${name} to a port above 1023`)];
    if (code !== "EADDRINUSE")
      return [fail("ports", `HOST ${HOST} is not an address of this machine`, "set HOST to one that is")];
  }
  const gateway = await findGateway(HOST, port);
  if (gateway === null)
    return [fail("ports", `${name} ${port} is taken by another program`, `stop it, or set another ${name}`)];
  return [ok("ports", `${name} ${port} is used by a running gateway`), ...checkRunning(gateway)];
}

const runningSchema = z.object({
  revision: z.int().nullable(),
  store: z.object({ state: z.string(), detail: z.string().optional(), since: z.string().optional() }),
});

/** Reports the problem that a running gateway has with its database. */
function checkRunning({ store }: z.output<typeof runningSchema>): CheckResult[] {
  const { state, detail = "", since = "its start" } = store;
  if (state === "ok") return [];
  const problem = state === "read_only" ? "cannot write to its database" : "cannot use its database";
  const fix = "free space on the disk of the database, or make it writable; see the check of the store";
  return [fail("store", `the running gateway ${problem} since ${since}: ${detail}`, fix)];
}

/** Returns what a gateway on this port reports, or null if another program uses the port. */
async function findGateway(host: string, port: number): Promise<z.output<typeof runningSchema> | null> {
  const address = host.includes(":") ? `[${host}]` : host === "0.0.0.0" ? "127.0.0.1" : host;
  try {
    const signal = AbortSignal.timeout(PROBE_MS);
    const readiness: unknown = await (await fetch(`http://${address}:${port}/readyz`, { signal })).json();
    return runningSchema.safeParse(readiness).data ?? null;
  } catch {
    return null;
  }
}
