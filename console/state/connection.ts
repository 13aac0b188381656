// Polls /readyz every few seconds, so that the console can warn when the data on the screen is out of date.
import { batch, signal } from "@preact/signals";

type Connection =
  | { readonly state: "ok" }
  /** No response. `since` is the time of the last one. */
  | { readonly state: "unreachable"; readonly since: Date }
  /** The gateway responds with reduced function; `message` says which. */
  | { readonly state: "degraded"; readonly message: string };

interface Readiness {
  readonly status: string;
  readonly revision: number | null;
  readonly store: { readonly state: string; readonly detail?: string };
  readonly counters: { readonly state: string; readonly detail?: string };
  readonly faulty_gateways?: Readonly<Record<string, string>>;
  readonly faulty_plugins?: Readonly<Record<string, string>>;
}

export const connection = signal<Connection>({ state: "ok" });

/** Number of times the connection was restored. Pages reload their data when it changes. */
export const reconnectCount = signal(0);

/** The active configuration revision. A new value means that the configuration was changed. */
export const activeRevision = signal<number | null>(null);

/** Whether the first check has ended. Pages wait for it: otherwise they would load their data twice, without and with a revision. */
export const isChecked = signal(false);

const CHECK_INTERVAL_MS = 4000;
const RETRY_INTERVAL_MS = 1000;
const TIMEOUT_MS = 3000;
let lastResponseAt = new Date();
let timer: ReturnType<typeof setTimeout> | undefined;

export function watchConnection(): void {
  void checkReadiness();
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) void checkReadiness();
  });
}

/** Called when an API request gets no response: shows it at once instead of after the next check. */
export function reportUnreachable(): void {
  if (connection.value.state === "unreachable") return;
  connection.value = { state: "unreachable", since: lastResponseAt };
  schedule(RETRY_INTERVAL_MS);
}

async function checkReadiness(): Promise<void> {
  clearTimeout(timer);
  try {
    const response = await fetch("/readyz", { cache: "no-store", signal: AbortSignal.timeout(TIMEOUT_MS) });
    const readiness = (await response.json()) as Readiness;
    lastResponseAt = new Date();
    batch(() => {
      activeRevision.value = readiness.revision;
      updateConnection(connectionFrom(readiness));
      isChecked.value = true;
    });
  } catch {
    updateConnection({ state: "unreachable", since: lastResponseAt });
    isChecked.value = true;
  }
  schedule(connection.value.state === "ok" ? CHECK_INTERVAL_MS : RETRY_INTERVAL_MS);
}

function schedule(milliseconds: number): void {
  clearTimeout(timer);
  timer = setTimeout(() => void checkReadiness(), milliseconds);
}

function updateConnection(next: Connection): void {
  const { state } = connection.value;
  if (next.state === "ok" && state === "ok") return;
  if (next.state === "unreachable" && state === "unreachable") return;
  connection.value = next;
  if (next.state === "ok") reconnectCount.value++;
}

function connectionFrom({ status, store, counters, faulty_gateways, faulty_plugins }: Readiness): Connection {
  if (status === "starting") return degraded("The gateway is starting. No configuration is loaded yet.");
  if (status === "draining") return degraded("The gateway is shutting down.");
  if (store.state === "away") {
    return degraded(
      "The database is unavailable. Traffic continues with the loaded configuration, but the configuration cannot be read or changed.",
    );
  }
  if (counters.state === "away")
    return degraded(
      "The shared counters are unavailable. Rate limits follow their on_store_failure setting.",
    );
  if (faulty_gateways !== undefined) {
    const [reason = ""] = Object.values(faulty_gateways);
    return degraded(
      `A stored gateway configuration is invalid. Its last valid version stays active. ${reason}`,
    );
  }
  if (faulty_plugins !== undefined) {
    const [[entry, reason] = ["", ""]] = Object.entries(faulty_plugins);
    return degraded(`A plugin crashes repeatedly and is restarted with delays. ${entry}: ${reason}`);
  }
  return { state: "ok" };
}

function degraded(message: string): Connection {
  return { state: "degraded", message };
}
