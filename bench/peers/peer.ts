// A gateway that is compared with Gatehouse if it is installed: how to find it, configure it and start it.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { CHAT_PATH } from "../chat-payload.ts";
import { GATEWAY_CORE } from "../cores.ts";
import { startPinned } from "../pinned-process.ts";
import type { Subject } from "../subjects.ts";
import { freePort } from "../../test/support/free-port.ts";

interface PeerOptions {
  /** Folder for its configuration and data. */
  readonly folder: string;
  readonly port: number;
  /** Without path: `http://127.0.0.1:PORT`. */
  readonly providerUrl: string;
}

interface PeerCommand {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface Peer {
  readonly id: string;
  readonly title: string;
  /** Name of the program, searched for in PATH. */
  readonly program: string;
  /** A command that installs it. */
  readonly install: string;
  /** Path of chat completions, if it is not the one of OpenAI. */
  readonly path?: string;
  /** Writes the configuration; returns how to start the program. */
  configure(options: PeerOptions): PeerCommand;
}

/** The credential that peers send to the benchmark's provider, which does not check it. */
export const PROVIDER_KEY = "sk-bench-0123456789";
export const MODEL = "gpt-4o-mini";

/** Returns the subject, or the reason why it is skipped. */
export function preparePeer(peer: Peer, parent: string, providerPort: number): Subject | string {
  const program = Bun.which(peer.program);
  if (program === null) return `${peer.program} is not installed: ${peer.install}`;
  const folder = join(parent, peer.id);
  mkdirSync(folder);
  return {
    id: peer.id,
    title: peer.title,
    headers: {},
    isPeer: true,
    start: () => {
      const port = freePort();
      const command = peer.configure({ folder, port, providerUrl: `http://127.0.0.1:${providerPort}` });
      const child = startPinned([program, ...command.args], {
        cores: GATEWAY_CORE,
        cwd: folder,
        ...(command.env !== undefined && { env: command.env }),
      });
      return Promise.resolve({ ...child, url: `http://127.0.0.1:${port}${peer.path ?? CHAT_PATH}` });
    },
  };
}
