// The gateways that `bench:peers` compares: how each is prepared once, and started in every round.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CHAT_PATH } from "./chat-payload.ts";
import { GATEWAY_CORE } from "./cores.ts";
import { seedBare, seedKeyed, type KEYED } from "./full-gatehouse.ts";
import { startGatehouse } from "./gatehouse.ts";
import { nginx, startNginxProxy } from "./nginx.ts";
import { type PinnedProcess } from "./pinned-process.ts";
import { agentgateway } from "./peers/agentgateway.ts";
import { bifrost } from "./peers/bifrost.ts";
import { gomodel } from "./peers/gomodel.ts";
import { litellm } from "./peers/litellm.ts";
import { preparePeer } from "./peers/peer.ts";
import { installPortkey, portkeyHeaders, startPortkey } from "./peers/portkey.ts";
import { freePort } from "../test/support/free-port.ts";

interface StartedSubject extends PinnedProcess {
  /** URL of the chat completion. */
  readonly url: string;
  /** URL of the Prometheus metrics, if it has any. */
  readonly metricsUrl?: string;
}

export interface Subject {
  readonly id: string;
  readonly title: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Another gateway: a run continues without it if it fails. */
  readonly isPeer?: boolean;
  /** `env` is added to the environment of Gatehouse, and `errorsTo` receives its standard error; other subjects ignore both. */
  start(env?: Readonly<Record<string, string>>, errorsTo?: string): Promise<StartedSubject>;
}

/** A subject, or the reason why it is skipped. */
type PreparedSubject = Subject | string;

/** Gateways that are measured if they are installed. */
const PEERS = [bifrost, litellm, agentgateway, gomodel];
export const PEER_IDS = PEERS.map(({ id }) => id);

export const PREPARE: Readonly<
  Record<string, (folder: string, providerPort: number) => Promise<PreparedSubject>>
> = {
  nginx: (folder, provider) =>
    Promise.resolve(
      nginx === null
        ? "nginx is not installed"
        : {
            id: "nginx",
            title: "nginx proxy_pass",
            headers: {},
            start: () => {
              const port = freePort();
              const child = startNginxProxy(folder, port, provider, GATEWAY_CORE);
              return Promise.resolve({ ...child, url: `http://127.0.0.1:${port}${CHAT_PATH}` });
            },
          },
    ),

  bare: async (folder, provider) => {
    const dataDir = newFolder(folder, "bare");
    await seedBare(dataDir, `http://127.0.0.1:${provider}`);
    return {
      id: "bare",
      title: "Gatehouse, bare",
      headers: {},
      start: async (env = {}, errorsTo) => {
        const gatehouse = await startGatehouse({ dataDir, env, ...(errorsTo !== undefined && { errorsTo }) });
        return { ...gatehouse, url: gatehouse.proxyUrl + CHAT_PATH };
      },
    };
  },

  full: (folder, provider) => prepareKeyed(folder, provider, "full", "Gatehouse, full"),
  keyed: (folder, provider) => prepareKeyed(folder, provider, "keyed", "Gatehouse, API key"),
  limited: (folder, provider) =>
    prepareKeyed(folder, provider, "limited", "Gatehouse, token limits and budgets"),
  cached: (folder, provider) => prepareKeyed(folder, provider, "cached", "Gatehouse, response_cache"),

  portkey: (_folder, provider) => {
    const missing = installPortkey();
    if (missing !== null) return Promise.resolve(missing);
    return Promise.resolve({
      id: "portkey",
      title: "Portkey gateway",
      isPeer: true,
      headers: portkeyHeaders(`http://127.0.0.1:${provider}`),
      start: () => {
        const port = freePort();
        const child = startPortkey(port, GATEWAY_CORE);
        return Promise.resolve({ ...child, url: `http://127.0.0.1:${port}${CHAT_PATH}` });
      },
    });
  },

  ...Object.fromEntries(
    PEERS.map((peer) => [
      peer.id,
      (folder: string, provider: number) => Promise.resolve(preparePeer(peer, folder, provider)),
    ]),
  ),
};

async function prepareKeyed(
  folder: string,
  provider: number,
  id: keyof typeof KEYED,
  title: string,
): Promise<Subject> {
  const dataDir = newFolder(folder, id);
  const key = await seedKeyed(dataDir, `http://127.0.0.1:${provider}`, id);
  const logTo = join(folder, `${id}-access.log`);
  return {
    id,
    title,
    headers: { "X-GW-API-Key": key },
    start: async (env = {}, errorsTo) => {
      writeFileSync(logTo, "");
      const gatehouse = await startGatehouse({
        dataDir,
        env,
        logTo,
        ...(errorsTo !== undefined && { errorsTo }),
      });
      const metricsUrl = `${gatehouse.adminUrl}/metrics`;
      return { ...gatehouse, url: gatehouse.proxyUrl + CHAT_PATH, metricsUrl };
    },
  };
}

function newFolder(parent: string, name: string): string {
  const folder = join(parent, name);
  mkdirSync(folder);
  return folder;
}
