// The session: an admin token, which is kept in memory and session storage only and is lost when the tab is closed, or a
// cookie of an OpenID Connect sign-in, which scripts cannot read.
import { signal } from "@preact/signals";
import type { Me } from "../api/types.ts";

const STORAGE_KEY = "gatehouse.token";
const ME_KEY = "gatehouse.me";

export const token = signal<string | null>(sessionStorage.getItem(STORAGE_KEY));

/** The administrator who is signed in; null: nobody is. It is stored with the token, so that a reload knows the role at once. */
export const me = signal<Me | null>(token.value === null ? null : readStoredMe());

/** The API rejected the token. A sign-in dialog opens over the current page, so that unsaved input is kept. */
export const isTokenRejected = signal(false);

/** Number of sign-ins. Data that failed to load with the rejected token is loaded again when it changes. */
export const signInCount = signal(0);

/** Begins a session with a token, or, without one, with the session cookie. */
export function signIn(accepted: string | null, administrator: Me): void {
  if (accepted === null) sessionStorage.removeItem(STORAGE_KEY);
  else sessionStorage.setItem(STORAGE_KEY, accepted);
  token.value = accepted;
  setMe(administrator);
  isTokenRejected.value = false;
  signInCount.value++;
}

export function setMe(administrator: Me): void {
  if (token.value !== null) sessionStorage.setItem(ME_KEY, JSON.stringify(administrator));
  me.value = administrator;
}

function readStoredMe(): Me | null {
  const stored = sessionStorage.getItem(ME_KEY);
  return stored === null ? null : (JSON.parse(stored) as Me);
}

export function signOut(): void {
  // The session cookie ends on the server. A token does not: it may be in use elsewhere.
  if (token.value === null && me.value !== null)
    void fetch("/api/auth/sign-out", { method: "POST", keepalive: true });
  sessionStorage.clear();
  token.value = null;
  me.value = null;
  isTokenRejected.value = false;
  for (const handle of signOutHandlers) handle();
}

const signOutHandlers: (() => void)[] = [];

/** Registers a handler that clears in-memory data of the session on sign-out. */
export function onSignOut(handle: () => void): void {
  signOutHandlers.push(handle);
}
