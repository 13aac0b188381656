// Which page is open: the path below /console, kept in the address bar so that every page can be linked to.
import { signal } from "@preact/signals";
import type { ComponentChildren, JSX, TargetedMouseEvent } from "preact";

const BASE = "/console";

export interface Place {
  /** As in `/gateways/0189…/rules`; the start is `/`. */
  readonly path: string;
  readonly search: URLSearchParams;
}

export const place = signal<Place>(readPlace());

/** Asked before a page is left by a link; a form that would be lost says no. */
let mayLeave: (() => Promise<boolean>) | null = null;

addEventListener("popstate", () => (place.value = readPlace()));

function readPlace(): Place {
  const path = location.pathname.startsWith(BASE) ? location.pathname.slice(BASE.length) : "";
  return {
    path: path === "" ? "/" : path.replace(/(?<=.)\/$/, ""),
    search: new URLSearchParams(location.search),
  };
}

export function hrefOf(path: string): string {
  return path === "/" ? BASE : BASE + path;
}

export async function go(path: string): Promise<void> {
  if (mayLeave !== null && !(await mayLeave())) return;
  mayLeave = null;
  history.pushState(null, "", hrefOf(path));
  place.value = readPlace();
  scrollTo(0, 0);
}

/** Somewhere else instead: the way back does not lead through here again. */
export function redirect(path: string): void {
  history.replaceState(null, "", hrefOf(path));
  place.value = readPlace();
}

/** Another view of the same page: no new entry in the browser's history, and nothing to ask. */
export function replaceSearch(search: Readonly<Record<string, string | null>>): void {
  const next = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(search)) {
    if (value === null || value === "") next.delete(name);
    else next.set(name, value);
  }
  const text = next.toString();
  history.replaceState(null, "", location.pathname + (text === "" ? "" : `?${text}`));
  place.value = readPlace();
}

export function guardLeaving(ask: (() => Promise<boolean>) | null): void {
  mayLeave = ask;
}

export type Parameters = Readonly<Record<string, string>>;

/** What every page is given. */
export interface PageParameters {
  readonly parameters: Parameters;
}

/** The parameters of `/gateways/:gateway/rules` in a path, or null where it does not fit. */
export function matchPath(pattern: string, path: string): Parameters | null {
  const [wanted, found] = [pattern.split("/"), path.split("/")];
  if (wanted.length !== found.length) return null;
  const parameters: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const given = found[index] ?? "";
    if (part.startsWith(":")) parameters[part.slice(1)] = decodeURIComponent(given);
    else if (part !== given) return null;
  }
  return parameters;
}

export interface LinkProps {
  readonly to: string;
  readonly class?: string | undefined;
  readonly children: ComponentChildren;
  readonly current?: boolean;
  readonly label?: string | undefined;
}

/** A link within the console: a real one, so that it opens in a new tab where that is asked for. */
export function Link({ to, class: className, children, current = false, label }: LinkProps): JSX.Element {
  const follow = (event: TargetedMouseEvent<HTMLAnchorElement>) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    void go(to);
  };
  return (
    <a
      href={hrefOf(to)}
      class={className}
      onClick={follow}
      aria-current={current ? "page" : undefined}
      aria-label={label}
    >
      {children}
    </a>
  );
}
