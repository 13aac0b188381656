// Routing: the current path below /console, which is kept in the address bar so that every page has a link.
import { signal } from "@preact/signals";
import type { ComponentChildren, JSX, TargetedMouseEvent } from "preact";

const BASE = "/console";

interface Route {
  /** Such as `/gateways/0189…/rules`; the start page is `/`. */
  readonly path: string;
  readonly search: URLSearchParams;
}

export const route = signal<Route>(readRoute());

/** Resolves to false to stay on the page, for example because a form has unsaved changes. */
let leaveGuard: (() => Promise<boolean>) | null = null;

/**
 * Position of the shown page in the browser's history, which tells Back from Forward. Every entry holds its own in
 * history.state, so that it survives a reload.
 */
let position = positionOf(history.state) ?? 0;
history.replaceState({ position }, "");

/** Called when the browser is back on the page that it has left too early. */
let whenReturned: (() => void) | null = null;
let isAsking = false;

addEventListener("popstate", () => {
  let next = positionOf(history.state);
  if (next === null) {
    // The browser has added an entry, for example for another fragment.
    next = position + 1;
    history.replaceState({ position: next }, "");
  }
  const steps = next - position;
  if (steps !== 0 && leaveGuard !== null && readRoute().path !== route.peek().path) {
    void askToLeave(steps);
    return;
  }
  position = next;
  route.value = readRoute();
  if (steps === 0) whenReturned?.();
});

/** The browser has left the page before anyone could be asked: returns to it, and leaves it again if the user agrees. */
async function askToLeave(steps: number): Promise<void> {
  const returned = new Promise<void>((resolve) => (whenReturned = resolve));
  history.go(-steps);
  await returned;
  if (isAsking) return;
  isAsking = true;
  const isLeaving = await mayLeave();
  isAsking = false;
  if (!isLeaving) return;
  leaveGuard = null;
  history.go(steps);
}

function positionOf(state: unknown): number | null {
  if (typeof state !== "object" || state === null || !("position" in state)) return null;
  return typeof state.position === "number" ? state.position : null;
}

function readRoute(): Route {
  const path = location.pathname.startsWith(BASE) ? location.pathname.slice(BASE.length) : "";
  return {
    path: path === "" ? "/" : path.replace(/(?<=.)\/$/, ""),
    search: new URLSearchParams(location.search),
  };
}

function toHref(path: string): string {
  return path === "/" ? BASE : BASE + path;
}

/** Asks if the page has unsaved changes. Resolves to false to stay on it. */
export async function mayLeave(): Promise<boolean> {
  return leaveGuard === null || (await leaveGuard());
}

export async function navigate(path: string): Promise<void> {
  if (!(await mayLeave())) return;
  leaveGuard = null;
  history.pushState({ position: ++position }, "", toHref(path));
  route.value = readRoute();
  scrollTo(0, 0);
}

/** Replaces the current history entry, so that the browser's back button skips it. */
export function redirect(path: string): void {
  history.replaceState({ position }, "", toHref(path));
  route.value = readRoute();
}

/** Changes query parameters of the current page without a new history entry. `null` removes a parameter. */
export function replaceSearch(search: Readonly<Record<string, string | null>>): void {
  const next = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(search)) {
    if (value === null || value === "") next.delete(name);
    else next.set(name, value);
  }
  const text = next.toString();
  history.replaceState({ position }, "", location.pathname + (text === "" ? "" : `?${text}`));
  route.value = readRoute();
}

/** Sets the check that `navigate` runs before it leaves the page. */
export function setLeaveGuard(guard: (() => Promise<boolean>) | null): void {
  leaveGuard = guard;
}

type RouteParameters = Readonly<Record<string, string>>;

/** Props of every page. */
export interface RoutedPageProps {
  readonly parameters: RouteParameters;
}

/** Matches a path with a pattern such as `/gateways/:gateway/rules`. Returns its parameters, or null if it does not match. */
export function matchPath(pattern: string, path: string): RouteParameters | null {
  const [patternParts, pathParts] = [pattern.split("/"), path.split("/")];
  if (patternParts.length !== pathParts.length) return null;
  const parameters: Record<string, string> = {};
  for (const [index, part] of patternParts.entries()) {
    const value = pathParts[index] ?? "";
    if (part.startsWith(":")) parameters[part.slice(1)] = decodeURIComponent(value);
    else if (part !== value) return null;
  }
  return parameters;
}

interface LinkProps {
  readonly to: string;
  readonly class?: string | undefined;
  readonly children: ComponentChildren;
  readonly current?: boolean;
  readonly label?: string | undefined;
}

/** A link within the console. It is a real anchor, so that modifier keys and middle click open a new tab. */
export function Link({ to, class: className, children, current = false, label }: LinkProps): JSX.Element {
  const follow = (event: TargetedMouseEvent<HTMLAnchorElement>) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    void navigate(to);
  };
  return (
    <a
      href={toHref(to)}
      class={className}
      onClick={follow}
      aria-current={current ? "page" : undefined}
      aria-label={label}
    >
      {children}
    </a>
  );
}
