// The client side of the WebSocket handshake (RFC 6455, section 4.1).
import { randomBytes } from "node:crypto";
import type { HeaderFields } from "../../http/header-fields.ts";
import { InvalidMessage } from "../../http/invalid-message.ts";
import { acceptKeyFor } from "../../http/websocket/accept-key.ts";

/** A handshake with a provider. */
export interface WebSocketHandshake {
  /** The value of Sec-WebSocket-Key. */
  readonly key: string;
  /** The protocols to offer. */
  readonly protocols: readonly string[];
}

export function newHandshake(protocols: readonly string[]): WebSocketHandshake {
  return { key: randomBytes(16).toString("base64"), protocols };
}

/** Returns the header fields of the handshake, each with its line end. */
export function serializeHandshake({ key, protocols }: WebSocketHandshake): string {
  const offered = protocols.length === 0 ? "" : `Sec-WebSocket-Protocol: ${protocols.join(", ")}\r\n`;
  return (
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
    `Sec-WebSocket-Key: ${key}\r\n${offered}`
  );
}

/** Throws InvalidMessage if a 101 response does not complete the handshake. */
export function checkHandshake({ key, protocols }: WebSocketHandshake, headers: HeaderFields): void {
  const upgrade = headers.get("upgrade")?.toLowerCase();
  const connection = headers.get("connection")?.toLowerCase().split(",") ?? [];
  const selected = headers.get("sec-websocket-protocol");
  if (upgrade !== "websocket" || !connection.some((option) => option.trim() === "upgrade"))
    throw new InvalidMessage("101 without an upgrade to WebSocket");
  if (headers.get("sec-websocket-accept") !== acceptKeyFor(key))
    throw new InvalidMessage("wrong Sec-WebSocket-Accept");
  if (selected !== null && !protocols.includes(selected))
    throw new InvalidMessage("a WebSocket protocol that was not offered");
  if (headers.get("sec-websocket-extensions") !== null)
    throw new InvalidMessage("a WebSocket extension that was not offered");
}
