// The administrator behind a request, and whether an operation is allowed to them. Every operation is checked here, by its declaration.
import { GatehouseError } from "../base/errors.ts";
import { includesRole, type Actor, type AdminRole } from "../model/administrator.ts";

export interface Identity {
  readonly actor: Actor;
  /** What a revision shows as its subject; null for a token that was signed with SERVER_SECRET_KEY without `sub`. */
  readonly subject: string | null;
  readonly role: AdminRole;
  /** The gateways that the administrator is limited to; null: all. */
  readonly gateways: readonly string[] | null;
  /** Null for a token that does not expire. */
  readonly expiresAt: string | null;
}

/** Who may call an operation. */
export interface Access {
  /** The least role that may call it. */
  readonly role: AdminRole;
  /**
   * What the operation means to an administrator who is limited to some gateways. Absent: it is rejected, unless its path has the
   * parameter `gateway_id` with one of these gateways.
   * - `filtered`: the handler restricts itself to these gateways.
   * - `shared`: it concerns no gateway.
   */
  readonly limited?: "filtered" | "shared";
}

/** Throws 403 unless the identity may call an operation with this access at this path. */
export function authorize(
  { role, limited }: Access,
  identity: Identity,
  pathParameters: Readonly<Record<string, string>>,
): void {
  if (!includesRole(identity.role, role))
    throw forbidden(`This needs the role ${role}; yours is ${identity.role}.`);
  const gatewayId = pathParameters["gateway_id"];
  if (gatewayId !== undefined) requireGatewayAccess(identity, gatewayId);
  else if (identity.gateways !== null && limited === undefined) throw concernsOthers();
}

/** Throws 403 if the identity is limited to other gateways than the one that a request is about; null: about all of them. */
export function requireOneGateway(identity: Identity, gatewayId: string | null): void {
  if (gatewayId !== null) requireGatewayAccess(identity, gatewayId);
  else if (identity.gateways !== null) throw concernsOthers();
}

/** Throws 403 if the identity is limited to other gateways. The error is the same for a gateway that does not exist. */
export function requireGatewayAccess(identity: Identity, gatewayId: string): void {
  if (mayAccessGateway(identity, gatewayId)) return;
  throw forbidden("Your access is limited to other gateways.");
}

export function mayAccessGateway({ gateways }: Identity, gatewayId: string): boolean {
  return gateways === null || gateways.includes(gatewayId);
}

function concernsOthers(): GatehouseError {
  return forbidden("This concerns all gateways, and your access is limited to some. Name one of them.");
}

export function forbidden(message: string): GatehouseError {
  return new GatehouseError("forbidden", message);
}
