// The number of gateways, the selected one, to which most pages belong, and the names of those that pages refer to.
import { batch, computed, effect, signal } from "@preact/signals";
import { get } from "../api/client.ts";
import type { GatewayList } from "../api/types.ts";
import { activeRevision, isChecked, reconnectCount } from "./connection.ts";
import { route } from "./router.tsx";
import { me, onSignOut, signInCount } from "./session.ts";

const STORAGE_KEY = "gatehouse.gateway";
/** The API's maximum number of ids in a query. */
const MAX_IDS = 100;

/** Null until it is loaded. */
export const gatewayCount = signal<number | null>(null);

const firstGatewayId = signal<string | null>(null);
const lastGatewayId = signal(sessionStorage.getItem(STORAGE_KEY));
const names = signal<ReadonlyMap<string, string>>(new Map());

/** The gateway of the current page, else the one selected last, else the first. */
export const currentGatewayId = computed<string | null>(
  () => gatewayIdIn(route.value.path) ?? lastGatewayId.value ?? firstGatewayId.value,
);

/** Returns the gateway id in a console path, or null. */
export function gatewayIdIn(path: string): string | null {
  const [, collection, id] = path.split("/");
  return collection === "gateways" && id !== undefined && id !== "new" ? id : null;
}

/** Returns "…" until the name is loaded. */
export function gatewayName(id: string): string {
  const name = names.value.get(id);
  if (name === undefined) requestName(id);
  return name ?? "…";
}

/** Remembers names that another request has loaded. */
export function rememberGateways(gateways: readonly { readonly id: string; readonly name: string }[]): void {
  if (gateways.every(({ id, name }) => names.peek().get(id) === name)) return;
  names.value = new Map([...names.peek(), ...gateways.map(({ id, name }) => [id, name] as const)]);
}

const wanted = new Set<string>();

/** Loads the names that one rendering needs with one request. */
function requestName(id: string): void {
  if (wanted.size === 0) queueMicrotask(() => void loadNames());
  wanted.add(id);
}

async function loadNames(): Promise<void> {
  const ids = [...wanted].slice(0, MAX_IDS);
  wanted.clear();
  try {
    const found = await listByIds(ids);
    // A gateway that was deleted has no name any more; its id is shown, so that it is not requested again.
    rememberGateways(
      ids.map((id) => ({ id, name: found.find((gateway) => gateway.id === id)?.name ?? id.slice(0, 8) })),
    );
  } catch {
    // The page shows "…"; its own request reports the error.
  }
}

async function listByIds(ids: readonly string[]): Promise<GatewayList["gateways"]> {
  return (await get<GatewayList>(`/gateways?limit=${MAX_IDS}&ids=${encodeURIComponent(ids.join())}`))
    .gateways;
}

/** Loads the number of gateways and the name of the selected one. */
export async function loadGateways(): Promise<void> {
  try {
    const selected = gatewayIdIn(route.peek().path) ?? lastGatewayId.peek();
    const [{ gateways, count }, found] = await Promise.all([
      get<GatewayList>("/gateways?limit=1"),
      selected === null ? [] : listByIds([selected]),
    ]);
    batch(() => {
      // Other names may have changed too, so they are requested again when they are shown.
      names.value = new Map([...gateways, ...found].map(({ id, name }) => [id, name]));
      if (selected !== null && found.length === 0) lastGatewayId.value = null;
      firstGatewayId.value = gateways[0]?.id ?? null;
      gatewayCount.value = count;
    });
  } catch {
    // The page's own request fails as well and reports the error.
  }
}

onSignOut(() => {
  gatewayCount.value = null;
  firstGatewayId.value = null;
  lastGatewayId.value = null;
  names.value = new Map();
});

effect(() => {
  const id = gatewayIdIn(route.value.path);
  if (id === null) return;
  lastGatewayId.value = id;
  sessionStorage.setItem(STORAGE_KEY, id);
});

const isSignedIn = computed(() => me.value !== null);

// Reload on sign-in, after a reconnect, and when the configuration was changed.
effect(() => {
  const triggers = [reconnectCount.value, signInCount.value, activeRevision.value];
  if (isSignedIn.value && isChecked.value && triggers.length > 0) void loadGateways();
});
