// Checks whether a server accepts a connection: its name resolves, TCP and TLS connect. No request is sent.
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { errorCode } from "../../base/error-code.ts";
import { fail, ok, type CheckResult } from "./check-result.ts";

const CONNECT_MS = 5000;

interface Peer {
  /** The setting or field that has the address. */
  readonly setting: string;
  /** `the provider` */
  readonly server: string;
}

export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, "");
}

export async function checkConnection(name: string, url: URL, peer: Peer): Promise<CheckResult> {
  const host = hostOf(url);
  const isTls = url.protocol === "https:";
  const port = url.port === "" ? (isTls ? 443 : 80) : Number(url.port);
  // TLS sends names only (RFC 6066, section 3). The certificate is compared with the host in either case.
  const servername = isIP(host) === 0 ? { servername: host } : {};
  const startedAt = performance.now();
  try {
    await connected(
      isTls ? connectTls({ host, port, ...servername }) : connectTcp({ host, port }),
      isTls ? "secureConnect" : "connect",
    );
    const ms = Math.round(performance.now() - startedAt);
    return ok(name, `${url.origin} is reachable${isTls ? " over TLS" : ""} (${ms} ms)`);
  } catch (error) {
    const code = errorCode(error);
    const reason = code ?? (error instanceof Error ? error.message : String(error));
    return fail(name, `${url.origin} is not reachable (${reason})`, fixFor(code ?? "", peer));
  }
}

function fixFor(code: string, { setting, server }: Peer): string {
  if (/CERT|SIGNATURE|ALTNAME|SELF_SIGNED/.test(code))
    return "the certificate is not accepted; check the clock, and whether a proxy intercepts TLS";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN")
    return `check ${setting}, and that this machine can resolve names`;
  return `check ${setting}, that ${server} is running, and that no firewall blocks the connection`;
}

async function connected(socket: Socket, event: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  const timer = setTimeout(
    () => reject(Object.assign(new Error(`no connection within ${CONNECT_MS} ms`), { code: "ETIMEDOUT" })),
    CONNECT_MS,
  );
  socket.once(event, () => resolve(undefined)).once("error", reject);
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    socket.on("error", () => undefined).destroy();
  }
}
