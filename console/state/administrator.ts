// Who is signed in and what they may do. The server decides; the console hides or disables what it would reject.
import { effect } from "@preact/signals";
import { fetchMe } from "../api/client.ts";
import { OPERATION_ROLES } from "../api/operation-roles.ts";
import type { Me } from "../api/types.ts";
import { reconnectCount } from "./connection.ts";
import { me, setMe, signIn, token } from "./session.ts";

type Role = Me["role"];
const ROLES: readonly Role[] = ["viewer", "operator", "owner"];

/** How users can sign in, from GET /api/auth/config. */
export interface SignInConfiguration {
  readonly oidc: { readonly issuer: string; readonly sign_in_url: string } | null;
  /** Whether the browser has sent a session cookie. */
  readonly has_session: boolean;
}

/** Reads how users can sign in, and begins the session of the cookie if there is one. */
export async function findSession(): Promise<SignInConfiguration> {
  const response = await fetch("/api/auth/config", { cache: "no-store" });
  const configuration = (await response.json()) as SignInConfiguration;
  if (configuration.has_session) {
    const administrator = await fetchMe(null);
    if (administrator !== null) signIn(null, administrator);
  }
  return configuration;
}

/** Returns why the administrator may not call an operation, as a sentence; null if they may. */
export function reasonAgainst(operation: string): string | null {
  const administrator = me.value;
  if (administrator === null) return null;
  const { role, gateways } = administrator;
  const needed = roleFor(operation);
  if (ROLES.indexOf(role) < ROLES.indexOf(needed))
    return `This needs the role ${needed}. Your role is ${role}.`;
  if (gateways !== null && needed !== "viewer" && !/ \/(gateways\/|iam\/api-keys)/.test(operation))
    return "This concerns all gateways, and your access is limited to some.";
  return null;
}

/** `operation` is method and path, such as `PATCH /gateways/0189…`. */
export function mayCall(operation: string): boolean {
  return reasonAgainst(operation) === null;
}

function roleFor(operation: string): Role {
  const exact = OPERATION_ROLES[operation];
  if (exact !== undefined) return exact;
  const parts = operation.split("/");
  const found = Object.keys(OPERATION_ROLES).find((pattern) => {
    const wanted = pattern.split("/");
    return (
      wanted.length === parts.length && wanted.every((part, index) => part === "*" || part === parts[index])
    );
  });
  return found === undefined ? "viewer" : (OPERATION_ROLES[found] ?? "viewer");
}

/** Operation that the form of a console path calls, such as `POST /gateways/0189…/rules` for `…/rules/new`; null if it has none. */
export function operationOfPath(to: string): string | null {
  const path = to.replace(/\?.*/, "");
  if (path === "/start") return "POST /gateways";
  if (path === "/administrators/new") return "POST /iam/admin-tokens";
  if (/^\/history\/\d+\/rollback$/.test(path))
    // Administrators who are limited to gateways can roll these back.
    return (me.value?.gateways ?? null) === null
      ? `POST ${path.replace("/history", "/revisions")}`
      : "PATCH /gateways/one";
  if (!path.endsWith("/new")) return null;
  const collection = path.slice(0, -"/new".length);
  if (collection === "/prices") return "PUT /prices";
  if (collection.endsWith("/prices")) return `PATCH ${collection.slice(0, -"/prices".length)}`;
  if (collection.endsWith("/keys")) return "POST /iam/api-keys";
  if (collection.endsWith("/plugins")) return `PATCH ${collection.slice(0, -"/plugins".length)}`;
  return `POST ${collection}`;
}

// The role of a stored session may have changed. A rejected token opens the sign-in dialog when a page loads its data.
effect(() => {
  const { value } = token;
  if (value === null || reconnectCount.value < 0) return;
  fetchMe(value).then(
    (administrator) => {
      if (administrator !== null && token.value === value) setMe(administrator);
    },
    () => undefined,
  );
});
