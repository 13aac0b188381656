// All gateways, and the selected one, to which most pages belong.
import { computed, effect, signal } from "@preact/signals";
import { get, toError } from "../api/client.ts";
import type { Gateway, GatewayList } from "../api/types.ts";
import { reconnectCount, activeRevision } from "./connection.ts";
import { route } from "./router.tsx";
import { me, onSignOut, signInCount } from "./session.ts";

const STORAGE_KEY = "gatehouse.gateway";

export const gateways = signal<readonly Gateway[] | null>(null);
export const gatewaysError = signal<Error | null>(null);

const lastGatewayId = signal(sessionStorage.getItem(STORAGE_KEY));

/** The gateway of the current page, else the one selected last, else the first. */
export const currentGatewayId = computed<string | null>(() => {
  const known = gateways.value ?? [];
  const wanted = gatewayIdIn(route.value.path) ?? lastGatewayId.value;
  return known.find((gateway) => gateway.id === wanted)?.id ?? known[0]?.id ?? null;
});

/** Returns the gateway id in a console path, or null. */
export function gatewayIdIn(path: string): string | null {
  const [, collection, id] = path.split("/");
  return collection === "gateways" && id !== undefined && id !== "new" ? id : null;
}

export function gatewayName(id: string): string {
  return gateways.value?.find((gateway) => gateway.id === id)?.name ?? "…";
}

export async function loadGateways(): Promise<void> {
  try {
    gateways.value = (await get<GatewayList>("/gateways?limit=1000")).gateways;
    gatewaysError.value = null;
  } catch (error) {
    gatewaysError.value = toError(error);
  }
}

onSignOut(() => {
  gateways.value = null;
  lastGatewayId.value = null;
});

effect(() => {
  const id = gatewayIdIn(route.value.path);
  if (id === null) return;
  lastGatewayId.value = id;
  sessionStorage.setItem(STORAGE_KEY, id);
});

/** Changes with the sign-in only, not whenever `me` is loaded again. */
const isSignedIn = computed(() => me.value !== null);

// Reload on sign-in, after a reconnect, and when the configuration was changed.
effect(() => {
  const triggers = [reconnectCount.value, signInCount.value, activeRevision.value];
  if (isSignedIn.value && triggers.length > 0) void loadGateways();
});
