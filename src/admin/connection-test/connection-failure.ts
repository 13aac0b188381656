// Why no response arrived, as the check that failed and a message that says how to fix it.
import { errorCode } from "../../base/error-code.ts";
import type { CheckName } from "../../model/connection-test.ts";
import { CredentialError } from "../../upstream/request-credential.ts";
import type { UpstreamError } from "../../upstream/upstream-error.ts";

interface ConnectionFailure {
  readonly check: CheckName;
  readonly message: string;
}

const TLS_CODE = /CERT|SIGNATURE|ALTNAME|SELF_SIGNED|ISSUER|SSL|TLS|EPROTO/i;
const UNKNOWN_NAME = new Set(["ENOTFOUND", "EAI_AGAIN", "EAI_NODATA", "DNS_ENOTFOUND", "ENODATA"]);

/** `host` is the host and port of the base URL; `timeouts` are those in effect. */
export function describeFailure(
  { kind, cause }: UpstreamError,
  { host, hostname }: URL,
  timeouts: { readonly connect: number; readonly first_byte: number },
): ConnectionFailure {
  switch (kind) {
    case "unreachable":
      return describeUnreachable(cause, host, hostname);
    case "forbidden":
      return address(
        `${hostname} is a link-local or metadata address, to which the gateway sends no request.`,
      );
    case "connect_timeout":
      return address(
        `${host} did not accept a connection within ${timeouts.connect} ms. Check the base URL, DNS and firewalls.`,
      );
    case "credentials": {
      const reason = cause instanceof CredentialError ? `: ${cause.message}` : "";
      return { check: "credential", message: `There is no credential to send${reason}.` };
    }
    case "first_byte_timeout":
    case "idle_timeout":
    case "total_timeout":
      return response(
        `${host} accepted the connection and did not respond within ${timeouts.first_byte} ms.`,
      );
    case "invalid":
      return response(`${host} sent bytes that are not HTTP. Check the port of the base URL.`);
    default:
      return response(
        `${host} closed the connection without a response. Check http or https in the base URL.`,
      );
  }
}

function describeUnreachable(cause: unknown, host: string, hostname: string): ConnectionFailure {
  const code = errorCode(cause) ?? "";
  if (UNKNOWN_NAME.has(code))
    return address(
      `The name ${hostname} does not resolve (${code}). Check the base URL and the DNS of the gateway.`,
    );
  if (/REFUSED/i.test(code))
    return address(`${host} refused the connection. Check host and port of the base URL.`);
  if (TLS_CODE.test(code)) return { check: "tls", message: tlsMessage(code, host, hostname) };
  const reason = code === "" ? "" : ` (${code})`;
  return address(
    `${host} could not be reached${reason}. Check the base URL, firewalls, and the forward proxy.`,
  );
}

function tlsMessage(code: string, host: string, hostname: string): string {
  if (code.includes("EXPIRED")) return `The certificate of ${host} has expired (${code}).`;
  if (code.includes("NOT_YET_VALID"))
    return `The certificate of ${host} is not valid yet (${code}). Check the clock of the gateway.`;
  if (code.includes("ALTNAME"))
    return `The certificate of ${host} is not for the name ${hostname} (${code}). Check the base URL.`;
  if (/SELF_SIGNED|ISSUER|UNABLE_TO/.test(code))
    return `The certificate of ${host} is not from a trusted authority (${code}). Set NODE_EXTRA_CA_CERTS if it is your own.`;
  return `TLS with ${host} failed (${code}). Check http or https and the port in the base URL.`;
}

const address = (message: string): ConnectionFailure => ({ check: "address", message });
const response = (message: string): ConnectionFailure => ({ check: "response", message });
