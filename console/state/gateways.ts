// The gateways there are, and the one that the person works on: most pages belong to one.
import { computed, effect, signal } from "@preact/signals";
import { get } from "../api/client.ts";
import type { Gateway, GatewayList } from "../api/types.ts";
import { revivals, revision } from "./connection.ts";
import { matchPath, place } from "./router.tsx";
import { onSignOut, signIns, token } from "./session.ts";

const REMEMBERED_AS = "gatehouse.gateway";

export const gateways = signal<readonly Gateway[] | null>(null);
export const gatewaysFault = signal<Error | null>(null);

const remembered = signal(sessionStorage.getItem(REMEMBERED_AS));

/** The gateway of the open page, else the last one worked on, else the first. */
export const currentGatewayId = computed<string | null>(() => {
  const known = gateways.value ?? [];
  const wanted = gatewayIdOf(place.value.path) ?? remembered.value;
  return known.find((gateway) => gateway.id === wanted)?.id ?? known[0]?.id ?? null;
});

export function gatewayIdOf(path: string): string | null {
  const [, collection, id] = path.split("/");
  return collection === "gateways" && id !== undefined && id !== "new" && matchPath("/", path) === null
    ? id
    : null;
}

export function nameOfGateway(id: string): string {
  return gateways.value?.find((gateway) => gateway.id === id)?.name ?? "…";
}

export async function loadGateways(): Promise<void> {
  try {
    gateways.value = (await get<GatewayList>("/gateways?limit=1000")).gateways;
    gatewaysFault.value = null;
  } catch (error) {
    gatewaysFault.value = error instanceof Error ? error : new Error(String(error));
  }
}

onSignOut(() => {
  gateways.value = null;
  remembered.value = null;
});

effect(() => {
  const id = gatewayIdOf(place.value.path);
  if (id === null) return;
  remembered.value = id;
  sessionStorage.setItem(REMEMBERED_AS, id);
});

// Loaded on sign-in, when the gateway came back, and when the revision says that someone wrote.
effect(() => {
  const heard = [revivals.value, signIns.value, revision.value];
  if (token.value !== null && heard.length > 0) void loadGateways();
});
