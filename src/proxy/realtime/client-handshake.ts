// The WebSocket handshake of a client: what it offers, and whether the gateway accepts it.
import type { ReadableFields } from "../../base/readable-fields.ts";
import { GatehouseError } from "../../base/errors.ts";
import type { OwnCredentials } from "../own-credentials.ts";

/** Browsers cannot set headers of a WebSocket. Clients of OpenAI's API therefore offer their key as a protocol. */
const KEY_PROTOCOL = "openai-insecure-api-key.";
const GATEWAY_KEY_PREFIX = "gw_";
/** 16 bytes in base64 (RFC 6455, section 4.1). */
const SOCKET_KEY = /^[A-Za-z0-9+/]{22}==$/;
const PROTOCOL = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

export class ClientHandshake {
  /** As offered, credentials included. */
  readonly #offered: readonly string[];
  readonly #key: string | null;
  readonly #version: string | null;

  constructor(headers: ReadableFields) {
    this.#key = headers.get("sec-websocket-key");
    this.#version = headers.get("sec-websocket-version");
    const offered = headers.get("sec-websocket-protocol") ?? "";
    this.#offered = offered
      .split(",")
      .map((protocol) => protocol.trim())
      .filter((protocol) => protocol !== "");
  }

  /** The API keys of this gateway that are offered as protocols. */
  get apiKeys(): string[] {
    return this.#offered
      .filter((protocol) => protocol.startsWith(KEY_PROTOCOL + GATEWAY_KEY_PREFIX))
      .map((protocol) => protocol.slice(KEY_PROTOCOL.length));
  }

  /** Throws a GatehouseError if this is not a valid handshake. */
  check(): void {
    // RFC 6455, section 4.4: the response names the supported version.
    if (this.#version !== "13")
      throw new GatehouseError("bad_request", "Sec-WebSocket-Version must be 13.", {
        headers: { "Sec-WebSocket-Version": "13", Connection: "close" },
      });
    if (this.#key === null || !SOCKET_KEY.test(this.#key))
      throw invalidHandshake("Sec-WebSocket-Key must be 16 bytes in base64.");
    if (!this.#offered.every((protocol) => PROTOCOL.test(protocol)))
      throw invalidHandshake("Sec-WebSocket-Protocol must be a list of tokens.");
  }

  /**
   * Returns the protocols to offer to a provider: without credentials of this gateway, and with the client's provider
   * credential only if `forwardsCredential`.
   */
  protocolsFor(forwardsCredential: boolean, own: OwnCredentials): string[] {
    return this.#offered.filter(
      (protocol) => !own.areIn(protocol) && (forwardsCredential || !isCredential(protocol)),
    );
  }
}

export function isCredential(protocol: string): boolean {
  return protocol.startsWith(KEY_PROTOCOL);
}

function invalidHandshake(message: string): GatehouseError {
  return new GatehouseError("bad_request", message, { headers: { Connection: "close" } });
}
