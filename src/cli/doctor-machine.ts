// What the doctor finds on this machine: the secret, the bounds of the process, the directories, the ports.
import { accessSync, constants, existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { findServerSecret } from "../config/server-secret.ts";
import { isLoopback, type Settings } from "../config/settings.ts";
import { fail, ok, warn, type Check } from "./doctor-check.ts";
import { MAX_REQUESTS_SETTING, selfEnvironment } from "./self.ts";

const SHORT_SECRET_BYTES = 32;
const FEW_FILES = 4096;
const FEW_REQUESTS = 1024;
const PROBE_MS = 2000;

export function checkSecret(settings: Settings): Check[] {
  const secret = findServerSecret(settings);
  if (secret !== null && Buffer.byteLength(secret) < SHORT_SECRET_BYTES)
    return [
      warn(
        "secret",
        `SERVER_SECRET_KEY is shorter than ${SHORT_SECRET_BYTES} bytes`,
        "use a longer one: openssl rand -hex 32",
      ),
    ];
  if (settings.SERVER_SECRET_KEY !== null) return [ok("secret", "SERVER_SECRET_KEY is set")];
  if (isLoopback(settings.HOST)) {
    const detail = secret === null ? "one will be made at the first start" : "the generated one is there";
    return [ok("secret", detail)];
  }
  const detail = `SERVER_SECRET_KEY is not set, and HOST ${settings.HOST} can be reached from outside`;
  return [fail("secret", detail, "set it: openssl rand -hex 32")];
}

export function checkProcess(): Check[] {
  const checks: Check[] = [];
  const { [MAX_REQUESTS_SETTING]: bound } = selfEnvironment();
  const detail = `up to ${bound ?? ""} to providers run at a time`;
  if (Number(bound) >= FEW_REQUESTS) checks.push(ok("requests", detail));
  else checks.push(warn("requests", detail, `raise ${MAX_REQUESTS_SETTING}, or unset it`));
  const files = openFiles();
  if (files !== null && files < FEW_FILES)
    checks.push(warn("files", `${files} files and connections may be open`, "raise it: ulimit -n 65536"));
  else if (files !== null) checks.push(ok("files", `${files} files and connections may be open`));
  return checks;
}

/** Null where the system does not say. */
function openFiles(): number | null {
  try {
    const [, soft = ""] = /^Max open files\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return soft === "unlimited" ? Infinity : Number(soft);
  } catch {
    return null;
  }
}

export function checkDataDirectory({ DATA_DIR }: Settings): Check[] {
  // The nearest that exists: the rest is made at the first start.
  let place = resolve(DATA_DIR);
  while (!existsSync(place) && dirname(place) !== place) place = dirname(place);
  try {
    accessSync(place, constants.W_OK | constants.X_OK);
    return [
      ok("data", place === resolve(DATA_DIR) ? `${DATA_DIR} can be written to` : `${DATA_DIR} can be made`),
    ];
  } catch {
    return [fail("data", `DATA_DIR ${DATA_DIR} cannot be written to`, "make it writable, or choose another")];
  }
}

export function checkPlugins({ PLUGINS_DIR }: Settings): Check[] {
  if (!existsSync(PLUGINS_DIR)) return [ok("plugins", `${PLUGINS_DIR} is not there: no custom plugins`)];
  try {
    const entries = readdirSync(PLUGINS_DIR).filter(
      (name) => !name.startsWith(".") && !/\.test\.[jt]s$/.test(name),
    );
    return [ok("plugins", `${PLUGINS_DIR} holds ${entries.length}`)];
  } catch {
    return [
      fail("plugins", `PLUGINS_DIR ${PLUGINS_DIR} cannot be read`, "make it readable, or choose another"),
    ];
  }
}

export async function checkPorts(settings: Settings): Promise<Check[]> {
  return Promise.all([checkPort("ADMIN_PORT", settings), checkPort("PROXY_PORT", settings)]);
}

async function checkPort(name: "ADMIN_PORT" | "PROXY_PORT", settings: Settings): Promise<Check> {
  const { HOST, [name]: port } = settings;
  if (port === 0) return ok("ports", `${name} picks a free one`);
  try {
    Bun.listen({ hostname: HOST, port, socket: { data: () => undefined } }).stop(true);
    return ok("ports", `${name} ${port} is free`);
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === "EACCES") return fail("ports", `${name} ${port} needs privileges`, "choose one above 1023");
    if (code !== "EADDRINUSE")
      return fail("ports", `HOST ${HOST} cannot be listened on`, "give an address of this machine");
  }
  if (await isGatehouse(HOST, port)) return ok("ports", `${name} ${port}: a gateway is running there`);
  return fail("ports", `${name} ${port} is taken by another program`, `stop it, or set ${name}`);
}

async function isGatehouse(host: string, port: number): Promise<boolean> {
  const address = host.includes(":") ? `[${host}]` : host === "0.0.0.0" ? "127.0.0.1" : host;
  try {
    const answer = await fetch(`http://${address}:${port}/readyz`, { signal: AbortSignal.timeout(PROBE_MS) });
    return "revision" in ((await answer.json()) as object);
  } catch {
    return false;
  }
}
