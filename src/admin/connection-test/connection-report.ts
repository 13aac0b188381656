// The report of a connection test: one result per check, from the responses of the provider or the error.
import type { ConnectionCheck } from "../../formats/provider-setup.ts";
import type { CheckName, CheckResult, ConnectionTest } from "../../model/connection-test.ts";
import type { CompiledTarget } from "../../snapshot/compile-upstream.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";
import { describeFailure } from "./connection-failure.ts";

export interface Received {
  readonly status: number;
  /** What the provider says in an error response. */
  readonly message: string;
  readonly location: string | null;
}

interface Outcome {
  readonly target: CompiledTarget;
  readonly check: ConnectionCheck;
  readonly timeouts: { readonly connect: number; readonly first_byte: number };
  readonly received: Received | UpstreamError;
  /** The outcome of the same request without the secrets of the target; null if it was not sent. */
  readonly compared: Received | UpstreamError | null;
  readonly duration: number;
}

const ORDER: readonly CheckName[] = ["address", "tls", "response", "credential"];

export function reportOf(outcome: Outcome): ConnectionTest {
  const { target, check, received, duration } = outcome;
  const url = new URL(target.baseUrl + check.path);
  const checks =
    received instanceof UpstreamError
      ? checksOfFailure(received, url, outcome)
      : checksOfResponse(received, url, outcome);
  const status = received instanceof UpstreamError ? null : received.status;
  const ok = checks.every(({ result }) => result !== "failed");
  return { ok, url: url.href, status, duration_ms: duration, checks };
}

function checksOfFailure(error: UpstreamError, url: URL, { timeouts }: Outcome): CheckResult[] {
  const failure = describeFailure(error, url, timeouts);
  const failed = ORDER.indexOf(failure.check);
  return ORDER.map((check, index): CheckResult => {
    if (check === failure.check) return { check, result: "failed", message: failure.message };
    // Without a credential, nothing was sent.
    const isBefore = index < failed && failure.check !== "credential";
    if (!isBefore) return notChecked(check, `Not checked: ${NAMES[failure.check]} failed.`);
    return check === "tls" ? tlsCheck(url) : { check, result: "passed", message: addressMessage(url) };
  });
}

const NAMES: Readonly<Record<CheckName, string>> = {
  address: "the connection",
  tls: "TLS",
  response: "the response",
  credential: "the credential",
};

function checksOfResponse(received: Received, url: URL, outcome: Outcome): CheckResult[] {
  const response = responseCheck(received, url, outcome.check);
  const credential =
    response.result === "failed"
      ? notChecked("credential", `Not checked: ${NAMES.response} failed.`)
      : credentialCheck(received, outcome);
  return [
    { check: "address", result: "passed", message: addressMessage(url) },
    tlsCheck(url),
    response,
    credential,
  ];
}

function addressMessage({ host }: URL): string {
  return `${host} accepted the connection.`;
}

function tlsCheck({ protocol, host }: URL): CheckResult {
  return protocol === "https:"
    ? { check: "tls", result: "passed", message: `The certificate of ${host} is valid.` }
    : notChecked("tls", "Not checked: the base URL has http, so the connection is not encrypted.");
}

function responseCheck(
  { status, message, location }: Received,
  url: URL,
  check: ConnectionCheck,
): CheckResult {
  const failed = (text: string): CheckResult => ({ check: "response", result: "failed", message: text });
  const returned = `GET ${url.pathname} returned ${status}`;
  if (status >= 500) return failed(`${returned}${quoted(message)}.`);
  if (status >= 300 && status < 400)
    return failed(
      `${returned}, a redirect${destinationOf(location, url)}. Redirects are not followed; set the base URL.`,
    );
  if (status === 404 && check.proof === "credential")
    return failed(`${returned}${quoted(message)}. Check the path of the base URL.`);
  return { check: "response", result: "passed", message: `${returned}.` };
}

function destinationOf(location: string | null, base: URL): string {
  if (location === null || !URL.canParse(location, base.href)) return "";
  return ` to ${new URL(location, base).origin}`.slice(0, 200);
}

function quoted(message: string): string {
  return message === "" ? "" : `: “${message}”`;
}

function credentialCheck({ status, message }: Received, { target, check, compared }: Outcome): CheckResult {
  const result = (kind: CheckResult["result"], text: string): CheckResult => ({
    check: "credential",
    result: kind,
    message: text,
  });
  const said = `status ${status}${quoted(message)}`;
  const isRejected =
    status === 401 ||
    (check.proof !== "nothing" && status === 403) ||
    (check.proof === "credential" && status === 400);
  if (!target.hasCredential)
    return notChecked(
      "credential",
      `Not checked: the target has no credential; that of the client is forwarded${isRejected ? `. Without one, the provider returned ${said}` : ""}.`,
    );
  if (isRejected) return result("failed", `The provider rejected the credential with ${said}.`);
  const token = TOKEN_TYPES.has(target.credentialType ?? "") ? "The token server issued a token. " : "";
  if (check.proof === "nothing")
    return notChecked(
      "credential",
      `${token}Credential not checked: the provider has no free request for it.`,
    );
  if (status >= 300)
    return notChecked("credential", `${token}Credential not checked: the provider returned ${said}.`);
  if (check.proof === "credential") return result("passed", "The provider accepted the credential.");
  if (compared !== null && !(compared instanceof UpstreamError) && [401, 403].includes(compared.status))
    return result("passed", "The provider accepted the credential, and rejects requests without it.");
  return notChecked(
    "credential",
    `${token}Credential not checked: the server sends this response without one too.`,
  );
}

const TOKEN_TYPES: ReadonlySet<string> = new Set([
  "gcp_service_account",
  "azure_client",
  "oauth_client_credentials",
]);

function notChecked(check: CheckName, message: string): CheckResult {
  return { check, result: "not_checked", message };
}
