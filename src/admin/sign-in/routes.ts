// Sign-in to the console with OpenID Connect, below /api/auth: its configuration for the sign-in page, start, callback, and sign-out.
import type { Context } from "hono";
import type { Clock } from "../../base/clock.ts";
import { GatehouseError } from "../../base/errors.ts";
import type { SignInSettings } from "../../config/sign-in-settings.ts";
import type { Actor } from "../../model/administrator.ts";
import type { Log } from "../../telemetry/log/log.ts";
import { storableName } from "../authenticate.ts";
import { originOf, type AdminEnvironment, type RouteTable } from "../operation.ts";
import { CALLBACK_PATH, FlowCookie, type SignInFlow } from "./flow-cookie.ts";
import { failed, OidcClient } from "./oidc-client.ts";
import { failurePage, successPage } from "./pages.ts";
import type { Sessions } from "./sessions.ts";

type Request = Context<AdminEnvironment>;

/** The sign-in page of the console needs no token to find out how users can sign in. It contains no secret. */
export function addSignInConfiguration(
  { app }: RouteTable,
  settings: SignInSettings | null,
  sessions: Sessions | null,
): void {
  const oidc = settings === null ? null : { issuer: settings.issuer, sign_in_url: "/api/auth/sign-in" };
  app.get("/api/auth/config", ({ req }) => {
    // Scripts cannot see the session cookie. Without this field, the console would have to try, and be refused without a session.
    const has_session = sessions?.isIn(req.raw.headers) ?? false;
    return Response.json({ oidc, has_session }, { headers: { "Cache-Control": "no-store" } });
  });
}

interface SignInParts {
  readonly settings: SignInSettings;
  readonly sessions: Sessions;
  readonly secret: string;
  readonly clock: Clock;
  readonly log: Log;
}

export function addSignInRoutes(table: RouteTable, parts: SignInParts): void {
  const { settings, sessions, secret, clock } = parts;
  const flowCookie = new FlowCookie(secret, settings.publicUrl.startsWith("https:"), clock);
  // From the settings, never from the Host header, which the client chooses.
  const client = new OidcClient(settings, `${settings.publicUrl}${CALLBACK_PATH}`, clock);

  table.app.get("/api/auth/sign-in", async (context) => {
    const site = context.req.header("sec-fetch-site");
    if (site === "cross-site" || site === "same-site")
      throw new GatehouseError("cross_site_request", "Another site must not start a sign-in.");
    const { flow, header } = flowCookie.create(context.req.query("return_to") ?? null);
    return asPage(context, table, parts.log, async () => {
      const headers = { Location: await client.authorizationUrl(flow), "Cache-Control": "no-store" };
      const response = new Response(null, { status: 303, headers });
      response.headers.append("Set-Cookie", header);
      return response;
    });
  });

  table.app.get(CALLBACK_PATH, async (context) => {
    const response = await asPage(context, table, parts.log, () =>
      finishSignIn(context, table, sessions, flowCookie.read(context.req.raw.headers), client),
    );
    response.headers.append("Set-Cookie", flowCookie.clearing);
    return response;
  });

  table.app.post("/api/auth/sign-out", async (context) => {
    const identity = sessions.isIn(context.req.raw.headers)
      ? await sessions.identityOf(context.req.raw)
      : null;
    context.env.identity = identity;
    table.audit.export(await sessions.end(context.req.raw, originOf(context.env)));
    const response = new Response(null, { status: 204 });
    response.headers.append("Set-Cookie", sessions.clearing);
    return response;
  });
}

async function finishSignIn(
  { req, env }: Request,
  { audit: auditLog }: RouteTable,
  sessions: Sessions,
  flow: SignInFlow | null,
  client: OidcClient,
): Promise<Response> {
  if (flow === null) throw failed("The sign-in has expired, or was started in another browser. Start again.");
  const user = await client.finish(new URL(req.url, "http://_").searchParams, flow);
  const actor: Actor = { type: "oidc", id: storableName(user.sub), name: storableName(user.name) };
  const role = sessions.roleOf(user.groups);
  if (role === null) {
    auditLog.countRefusal("sign_in_not_allowed", { ...originOf(env), actor });
    return failurePage(
      new GatehouseError("sign_in_not_allowed", `${actor.name} is in no group that has a role here.`),
      env.requestId,
    );
  }
  const { header, audit } = await sessions.begin(actor, user.groups, { ...originOf(env), actor, role });
  auditLog.export(audit);
  const response = successPage(flow.returnTo);
  response.headers.append("Set-Cookie", header);
  return response;
}

/** Turns a failure into a page: the browser has navigated here. */
async function asPage(
  { env }: Request,
  { audit }: RouteTable,
  log: Log,
  respond: () => Promise<Response>,
): Promise<Response> {
  try {
    return await respond();
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error;
    const { code, message: reason, cause: err } = error;
    log.warn({ request_id: env.requestId, code, reason, err }, "sign-in failed");
    audit.countRefusal(code, originOf(env));
    return failurePage(error, env.requestId);
  }
}
