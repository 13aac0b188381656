// API keys created in this tab, by id. The API returns a key only once and the playground needs it again. In memory only.
import { signal } from "@preact/signals";
import { onSignOut } from "./session.ts";

export const knownKeys = signal<ReadonlyMap<string, string>>(new Map());

export function rememberKey(id: string, key: string): void {
  knownKeys.value = new Map([...knownKeys.value, [id, key]]);
}

onSignOut(() => (knownKeys.value = new Map()));
