// Whether the gateway answers: asked every few seconds, so that nothing on the screen pretends to be current when it is not.
import { signal } from "@preact/signals";

export type Connection =
  | { readonly state: "ok" }
  /** No answer at all. `since` is when the last one came. */
  | { readonly state: "away"; readonly since: Date }
  /** It answers, but cannot do everything; the sentence says what. */
  | { readonly state: "impaired"; readonly sentence: string };

interface Readiness {
  readonly status: string;
  readonly revision: number | null;
  readonly store: { readonly state: string; readonly detail?: string };
  readonly counters: { readonly state: string; readonly detail?: string };
  readonly faulty_gateways?: Readonly<Record<string, string>>;
}

export const connection = signal<Connection>({ state: "ok" });

/** Counts the times it came back, so that pages load again by themselves. */
export const revivals = signal(0);

/** The revision in force, as last heard: a change means that someone wrote. */
export const revision = signal<number | null>(null);

const EVERY_MS = 4000;
const EVERY_MS_AWAY = 1000;
const PATIENCE_MS = 3000;
let lastAnswer = new Date();
let timer: ReturnType<typeof setTimeout> | undefined;

export function watchConnection(): void {
  void look();
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) void look();
  });
}

/** A call found nobody: look at once rather than when the next turn comes. */
export function noticeSilence(): void {
  if (connection.value.state === "away") return;
  connection.value = { state: "away", since: lastAnswer };
  schedule(EVERY_MS_AWAY);
}

async function look(): Promise<void> {
  clearTimeout(timer);
  try {
    const answer = await fetch("/readyz", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
    const readiness = (await answer.json()) as Readiness;
    lastAnswer = new Date();
    revision.value = readiness.revision;
    settle(judge(readiness));
  } catch {
    settle({ state: "away", since: lastAnswer });
  }
  schedule(connection.value.state === "ok" ? EVERY_MS : EVERY_MS_AWAY);
}

function schedule(milliseconds: number): void {
  clearTimeout(timer);
  timer = setTimeout(() => void look(), milliseconds);
}

function settle(next: Connection): void {
  const { state } = connection.value;
  if (next.state === "ok" && state === "ok") return;
  if (next.state === "away" && state === "away") return;
  connection.value = next;
  if (next.state === "ok") revivals.value++;
}

function judge({ status, store, counters, faulty_gateways }: Readiness): Connection {
  if (status === "starting") return impaired("The gateway is starting: no configuration is loaded yet.");
  if (status === "draining") return impaired("The gateway is shutting down.");
  if (store.state === "away") {
    return impaired(
      "The database is away. Traffic goes on as configured; nothing can be read or changed here.",
    );
  }
  if (counters.state === "away")
    return impaired("The shared counters are away: rate limits follow their on_store_failure setting.");
  if (faulty_gateways !== undefined) {
    const [reason = ""] = Object.values(faulty_gateways);
    return impaired(`A stored gateway does not compile here; its last good state is in force. ${reason}`);
  }
  return { state: "ok" };
}

function impaired(sentence: string): Connection {
  return { state: "impaired", sentence };
}
