// Administrators: their roles, and how an action names the one who did it.

/** From the least to the most that a role may do. */
export const ADMIN_ROLES = ["viewer", "operator", "owner"] as const;

/** `viewer` reads; `operator` also changes everything but API keys, credentials, and administrators; `owner` does everything. */
export type AdminRole = (typeof ADMIN_ROLES)[number];

export function isAdminRole(value: unknown): value is AdminRole {
  return ADMIN_ROLES.some((role) => role === value);
}

/** Whether a role may do what `required` may do. */
export function includesRole(role: AdminRole, required: AdminRole): boolean {
  return ADMIN_ROLES.indexOf(role) >= ADMIN_ROLES.indexOf(required);
}

/**
 * `server_secret`: a token signed with SERVER_SECRET_KEY. `admin_token`: a stored token. `oidc`: a user who signed in. `gatehouse`: the
 * gateway itself.
 */
export const ACTOR_TYPES = ["server_secret", "admin_token", "oidc", "gatehouse"] as const;
type ActorType = (typeof ACTOR_TYPES)[number];

export interface Actor {
  readonly type: ActorType;
  /** The id of the stored token, or `sub` of the user; null for a token signed with SERVER_SECRET_KEY. */
  readonly id: string | null;
  /** Never empty. */
  readonly name: string;
}

export function isActor(value: unknown): value is Actor {
  if (typeof value !== "object" || value === null) return false;
  const { type, id, name } = value as Record<string, unknown>;
  return (
    ACTOR_TYPES.some((each) => each === type) &&
    (id === null || typeof id === "string") &&
    typeof name === "string"
  );
}
