// Runs WORKERS processes that share the listeners: starts them, replaces the ones that crash, hands signals on.
import type { Subprocess } from "bun";
import { BoundedCache } from "../base/bounded-cache.ts";
import type { Settings } from "../config/settings.ts";
import type { Listening } from "../main.ts";
import type { Log } from "../telemetry/log/log.ts";
import { selfCommand } from "./self.ts";
import type { WorkerMessage } from "./worker-link.ts";
import { awaitSignal, type ReceivedSignal } from "./run-until-signal.ts";

/** That many crashes in that time, and starting yet another one mends nothing. */
const MAX_CRASHES = 10;
const CRASH_WINDOW_MS = 10_000;
/** The exit code of a refusal that a new start would only repeat: bad settings, an address in use. */
const REFUSED = 2;
/** Questions are answered within a second: older ones need not be known. */
const MAX_ASKERS = 1000;

/** Which worker this process is, counted from 1; null in a process that serves alone. */
export function workerNumber(): number | null {
  const number = Number(process.env["GATEHOUSE_WORKER"]);
  return Number.isInteger(number) && number > 0 && process.send !== undefined ? number : null;
}

/** Resolves to the exit code, once every worker has ended. */
export async function supervise(settings: Settings, words: readonly string[], log: Log): Promise<number> {
  const signal = awaitSignal();
  const workers = new Workers(settings, words, log);
  void signal.then((received) => workers.stop(received));
  return workers.run();
}

class Workers {
  readonly #settings: Settings;
  readonly #words: readonly string[];
  readonly #log: Log;
  readonly #running = new Map<number, Subprocess>();
  /** Known once the first worker listens: port 0 is picked by it, and taken over by the others. */
  #listening: Listening | null = null;
  #crashes: readonly number[] = [];
  /** Who asked which question of the others. */
  readonly #askers = new BoundedCache<string, number>(MAX_ASKERS);
  readonly #ended = Promise.withResolvers<number>();
  #exitCode: number | null = null;

  constructor(settings: Settings, words: readonly string[], log: Log) {
    this.#settings = settings;
    this.#words = words;
    this.#log = log;
  }

  run(): Promise<number> {
    this.#start(1);
    return this.#ended.promise;
  }

  stop({ name, again }: ReceivedSignal): void {
    this.#endWith(0, name);
    void again.then(() => this.#signalAll(name));
  }

  #start(number: number): void {
    const { adminPort = null, proxyPort = null } = this.#listening ?? {};
    const worker = Bun.spawn(selfCommand("serve", ...this.#words), {
      env: {
        ...process.env,
        GATEHOUSE_WORKER: String(number),
        ...(adminPort !== null && { ADMIN_PORT: String(adminPort) }),
        ...(proxyPort !== null && { PROXY_PORT: String(proxyPort) }),
      },
      stdio: ["ignore", "inherit", "inherit"],
      ipc: (message) => this.#heard(number, message as WorkerMessage),
      onExit: (_, code, signal) => this.#left(number, code, signal),
    });
    this.#running.set(number, worker);
  }

  #heard(number: number, message: WorkerMessage): void {
    if (message.kind === "listening") this.#listens(number, message.listening);
    else if (message.kind === "reply") {
      const asker = this.#askers.get(message.id);
      if (asker !== undefined) this.#pass(message, asker);
    } else {
      if (message.kind === "ask") this.#askers.set(message.id, number);
      for (const other of this.#running.keys()) if (other !== number) this.#pass(message, other);
    }
  }

  #pass(message: WorkerMessage, to: number): void {
    const worker = this.#running.get(to);
    // One that is on its way out hears nothing any more.
    if (worker?.exitCode === null && !worker.killed) worker.send(message);
  }

  /** The first one to listen has made the secret, the database and the ports; now the others can have them. */
  #listens(number: number, listening: Listening): void {
    this.#log.debug({ worker: number }, "a worker listens");
    if (this.#listening !== null || this.#exitCode !== null) return;
    this.#listening = listening;
    for (let other = 1; other <= this.#settings.WORKERS; other++)
      if (!this.#running.has(other)) this.#start(other);
  }

  #left(number: number, code: number | null, signal: NodeJS.Signals | number | null): void {
    this.#running.delete(number);
    if (this.#exitCode === null) this.#replace(number, code, signal);
    if (this.#exitCode !== null && this.#running.size === 0) this.#ended.resolve(this.#exitCode);
  }

  #replace(number: number, code: number | null, signal: NodeJS.Signals | number | null): void {
    if (code === REFUSED) {
      // It has said why.
      this.#endWith(REFUSED, "SIGTERM");
      return;
    }
    const now = performance.now();
    this.#crashes = [...this.#crashes.filter((at) => now - at < CRASH_WINDOW_MS), now];
    if (this.#crashes.length < MAX_CRASHES) {
      this.#log.error({ worker: number, code, signal }, "a worker ended; another one takes its place");
      this.#start(number);
      return;
    }
    this.#log.fatal(
      { worker: number, code, signal },
      `workers ended ${MAX_CRASHES} times within ${CRASH_WINDOW_MS / 1000} seconds: stopping; what they printed says why`,
    );
    this.#endWith(1, "SIGTERM");
  }

  #endWith(exitCode: number, signal: NodeJS.Signals): void {
    this.#exitCode ??= exitCode;
    this.#signalAll(signal);
  }

  #signalAll(signal: NodeJS.Signals): void {
    for (const worker of this.#running.values()) worker.kill(signal);
  }
}
