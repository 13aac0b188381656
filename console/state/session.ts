// The admin token: in memory and in session storage only, so it is gone with the tab.
import { signal } from "@preact/signals";

const STORED_AS = "gatehouse.token";

export const token = signal<string | null>(sessionStorage.getItem(STORED_AS));

/** The API refused the token: sign-in is asked for over whatever is open, so that no half-filled form is lost. */
export const isExpired = signal(false);

/** Counts sign-ins, so that what was refused in between is asked for again. */
export const signIns = signal(0);

export function signIn(accepted: string): void {
  sessionStorage.setItem(STORED_AS, accepted);
  token.value = accepted;
  isExpired.value = false;
  signIns.value++;
}

export function signOut(): void {
  sessionStorage.clear();
  token.value = null;
  isExpired.value = false;
  for (const forget of forgetters) forget();
}

const forgetters: (() => void)[] = [];

/** What is kept of one person's session must not be there for the next. */
export function onSignOut(forget: () => void): void {
  forgetters.push(forget);
}

/** When the token ends, as far as it tells. The server alone decides. */
export function tokenEnd(): Date | null {
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
