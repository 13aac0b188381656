// The admin token. It is kept in memory and session storage only, so it is lost when the tab is closed.
import { signal } from "@preact/signals";

const STORAGE_KEY = "gatehouse.token";

export const token = signal<string | null>(sessionStorage.getItem(STORAGE_KEY));

/** The API rejected the token. A sign-in dialog opens over the current page, so that unsaved input is kept. */
export const isTokenRejected = signal(false);

/** Number of sign-ins. Data that failed to load with the rejected token is loaded again when it changes. */
export const signInCount = signal(0);

export function signIn(accepted: string): void {
  sessionStorage.setItem(STORAGE_KEY, accepted);
  token.value = accepted;
  isTokenRejected.value = false;
  signInCount.value++;
}

export function signOut(): void {
  sessionStorage.clear();
  token.value = null;
  isTokenRejected.value = false;
  for (const handle of signOutHandlers) handle();
}

const signOutHandlers: (() => void)[] = [];

/** Registers a handler that clears in-memory data of the session on sign-out. */
export function onSignOut(handle: () => void): void {
  signOutHandlers.push(handle);
}

/** Reads the expiry time from the token, for display only: the server decides whether it is valid. */
export function tokenExpiry(): Date | null {
  const payload = token.value?.split(".")[1];
  if (payload === undefined) return null;
  try {
    const text = atob(payload.replaceAll("-", "+").replaceAll("_", "/"));
    const { exp } = JSON.parse(text) as { exp?: unknown };
    return typeof exp === "number" ? new Date(exp * 1000) : null;
  } catch {
    return null;
  }
}
