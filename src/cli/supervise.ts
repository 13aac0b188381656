// Runs WORKERS processes that share the listening ports: starts them, replaces those that crash, and forwards signals and
// messages.
import type { Subprocess } from "bun";
import { BoundedCache } from "../base/bounded-cache.ts";
import type { Settings } from "../config/settings.ts";
import type { Listening } from "../main.ts";
import type { Log } from "../telemetry/log/log.ts";
import { awaitSignal, type ReceivedSignal } from "./run-until-signal.ts";
import { gatehouseCommand } from "./runtime-environment.ts";
import type { WorkerMessage } from "./worker-channel.ts";

/** Stop restarting workers after MAX_CRASHES within CRASH_WINDOW_MS: another restart would not help. */
const MAX_CRASHES = 10;
const CRASH_WINDOW_MS = 10_000;
/** Exit code for errors that a restart would only repeat, such as wrong settings or a taken port. */
const USAGE_EXIT_CODE = 2;
/** Queries between workers time out after a second, so older ones can be forgotten. */
const MAX_PENDING_QUERIES = 1000;

/** Returns the number of this worker, counted from 1; null in a process without a supervisor. */
export function workerNumber(): number | null {
  const number = Number(process.env["GATEHOUSE_WORKER"]);
  return Number.isInteger(number) && number > 0 && process.send !== undefined ? number : null;
}

/** Resolves to the exit code once every worker has exited. */
export async function supervise(settings: Settings, args: readonly string[], log: Log): Promise<number> {
  const signal = awaitSignal();
  const supervisor = new Supervisor(settings, args, log);
  void signal.then((received) => supervisor.stop(received));
  return supervisor.run();
}

class Supervisor {
  readonly #settings: Settings;
  readonly #args: readonly string[];
  readonly #log: Log;
  readonly #running = new Map<number, Subprocess>();
  /** Set once the first worker listens. That worker picks the port if the setting is 0; the others reuse it. */
  #listening: Listening | null = null;
  #crashTimes: readonly number[] = [];
  /** The worker that sent each pending query, by query id. */
  readonly #querySenders = new BoundedCache<string, number>(MAX_PENDING_QUERIES);
  readonly #ended = Promise.withResolvers<number>();
  #exitCode: number | null = null;

  constructor(settings: Settings, args: readonly string[], log: Log) {
    this.#settings = settings;
    this.#args = args;
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
    const worker = Bun.spawn(gatehouseCommand("serve", ...this.#args), {
      env: {
        ...process.env,
        GATEHOUSE_WORKER: String(number),
        ...(adminPort !== null && { ADMIN_PORT: String(adminPort) }),
        ...(proxyPort !== null && { PROXY_PORT: String(proxyPort) }),
      },
      stdio: ["ignore", "inherit", "inherit"],
      ipc: (message: WorkerMessage) => this.#onMessage(number, message),
      onExit: (_, code, signal) => this.#onExit(number, code, signal),
    });
    this.#running.set(number, worker);
  }

  #onMessage(number: number, message: WorkerMessage): void {
    if (message.kind === "listening") this.#onListening(number, message.listening);
    else if (message.kind === "reply") {
      const sender = this.#querySenders.get(message.id);
      if (sender !== undefined) this.#send(message, sender);
    } else {
      if (message.kind === "query") this.#querySenders.set(message.id, number);
      for (const other of this.#running.keys()) if (other !== number) this.#send(message, other);
    }
  }

  #send(message: WorkerMessage, to: number): void {
    const worker = this.#running.get(to);
    // An exiting worker can no longer receive messages.
    if (worker?.exitCode === null && !worker.killed) worker.send(message);
  }

  /** Starts the other workers: the first one has created the secret, the database, and the ports that they share. */
  #onListening(number: number, listening: Listening): void {
    this.#log.debug({ worker: number }, "worker listening");
    if (this.#listening !== null || this.#exitCode !== null) return;
    this.#listening = listening;
    for (let other = 1; other <= this.#settings.WORKERS; other++)
      if (!this.#running.has(other)) this.#start(other);
  }

  #onExit(number: number, code: number | null, signal: NodeJS.Signals | number | null): void {
    this.#running.delete(number);
    if (this.#exitCode === null) this.#replace(number, code, signal);
    if (this.#exitCode !== null && this.#running.size === 0) this.#ended.resolve(this.#exitCode);
  }

  #replace(number: number, code: number | null, signal: NodeJS.Signals | number | null): void {
    if (code === USAGE_EXIT_CODE) {
      // The worker has printed the error.
      this.#endWith(USAGE_EXIT_CODE, "SIGTERM");
      return;
    }
    const now = performance.now();
    this.#crashTimes = [...this.#crashTimes.filter((at) => now - at < CRASH_WINDOW_MS), now];
    if (this.#crashTimes.length < MAX_CRASHES) {
      this.#log.error({ worker: number, code, signal }, "worker exited; starting a replacement");
      this.#start(number);
      return;
    }
    this.#log.fatal(
      { worker: number, code, signal, exits: MAX_CRASHES, seconds: CRASH_WINDOW_MS / 1000 },
      "workers exited too often; stopping, see the output above for the reason",
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
