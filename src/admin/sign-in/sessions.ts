// Sessions of the console: an unguessable value in a cookie that only this origin sends, whose hash is stored.
import { randomBytes } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { GatehouseError } from "../../base/errors.ts";
import { sha256 } from "../../base/sha256.ts";
import type { SignInSettings } from "../../config/sign-in-settings.ts";
import { includesRole, type Actor, type AdminRole } from "../../model/administrator.ts";
import type { AuditEntry, AuditOrigin } from "../../store/audit.ts";
import type { IdentityStore } from "../../store/sql-identities.ts";
import type { Identity } from "../identity.ts";
import { cookieIn, setCookie } from "./cookies.ts";

const VALUE = /^[A-Za-z0-9_-]{43}$/;

export class Sessions {
  readonly #settings: SignInSettings;
  readonly #identities: IdentityStore;
  readonly #clock: Clock;
  readonly #name: string;
  readonly #isSecure: boolean;

  constructor(settings: SignInSettings, identities: IdentityStore, clock: Clock) {
    this.#settings = settings;
    this.#identities = identities;
    this.#clock = clock;
    this.#isSecure = settings.publicUrl.startsWith("https:");
    // Browsers accept the prefix only together with Secure, which a loopback address without TLS cannot have.
    this.#name = this.#isSecure ? "__Host-gatehouse_session" : "gatehouse_session";
  }

  isIn(headers: Headers): boolean {
    return cookieIn(headers, this.#name) !== null;
  }

  /** Returns the user of the session, or null if it is unknown, has expired, or the user's groups have no role any more. */
  async identityOf(request: Request): Promise<Identity | null> {
    this.#rejectOtherSites(request);
    const value = cookieIn(request.headers, this.#name) ?? "";
    if (!VALUE.test(value)) return null;
    const session = await this.#identities.findSession(sha256(value));
    const now = new Date(this.#clock.unixNow()).toISOString();
    if (session === null || session.expires_at <= now || session.issuer !== this.#settings.issuer)
      return null;
    const role = this.roleOf(session.groups);
    if (role === null) return null;
    const { actor, expires_at } = session;
    return { actor, subject: actor.name, role, gateways: null, expiresAt: expires_at };
  }

  /** Returns the highest role of these groups; null if they have none. */
  roleOf(groups: readonly string[]): AdminRole | null {
    let highest: AdminRole | null = null;
    for (const group of groups) {
      const role = this.#settings.roles.get(group);
      if (role !== undefined && (highest === null || includesRole(role, highest))) highest = role;
    }
    return highest;
  }

  /** Begins a session. Returns the cookie, and the entry in the audit log. */
  async begin(
    actor: Actor,
    groups: readonly string[],
    origin: AuditOrigin,
  ): Promise<{ readonly header: string; readonly audit: AuditEntry | null }> {
    const value = randomBytes(32).toString("base64url");
    const { sessionSeconds, issuer, roles } = this.#settings;
    const now = this.#clock.unixNow();
    const session = {
      hash: sha256(value),
      actor,
      issuer,
      groups: [...new Set(groups)].filter((group) => roles.has(group)),
      expires_at: new Date(now + sessionSeconds * 1000).toISOString(),
      created_at: new Date(now).toISOString(),
    };
    const audit = await this.#identities.insertSession(session, origin);
    return { header: this.#header(value, sessionSeconds), audit };
  }

  /** Ends the session of a request on all nodes. Does nothing without one. */
  async end(request: Request, origin: AuditOrigin): Promise<AuditEntry | null> {
    this.#rejectOtherSites(request);
    const value = cookieIn(request.headers, this.#name) ?? "";
    return VALUE.test(value) ? this.#identities.removeSession(sha256(value), origin) : null;
  }

  get clearing(): string {
    return this.#header("", 0);
  }

  #header(value: string, seconds: number): string {
    const attributes = { path: "/", sameSite: "Strict", seconds, isSecure: this.#isSecure } as const;
    return setCookie(this.#name, value, attributes);
  }

  /**
   * A browser adds the cookie by itself. SameSite=Strict keeps other sites from using it, but not other hosts of the same site, and
   * not old browsers: a write must state that it is from the console's own origin.
   */
  #rejectOtherSites({ method, headers }: Request): void {
    const site = headers.get("sec-fetch-site");
    const isRead = method === "GET" || method === "HEAD";
    const isOwn =
      site === null
        ? isRead || headers.get("origin") === this.#settings.publicUrl
        : site === "same-origin" || (isRead && site === "none");
    if (!isOwn)
      throw new GatehouseError("cross_site_request", "Another site must not use a session of the console.");
  }
}
