// The client side of the WebSocket handshake (RFC 6455, section 4.1).
import { createHash, randomBytes } from "node:crypto";
import { InvalidResponse, type ResponseHeaders } from "../response-headers.ts";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

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

/** Throws InvalidResponse if a 101 response does not complete the handshake. */
export function checkHandshake({ key, protocols }: WebSocketHandshake, headers: ResponseHeaders): void {
  const upgrade = headers.get("upgrade")?.toLowerCase();
  const connection = headers.get("connection")?.toLowerCase().split(",") ?? [];
  const accept = createHash("sha1")
    .update(key + GUID)
    .digest("base64");
  const selected = headers.get("sec-websocket-protocol");
  if (upgrade !== "websocket" || !connection.some((option) => option.trim() === "upgrade"))
    throw new InvalidResponse("101 without an upgrade to WebSocket");
  if (headers.get("sec-websocket-accept") !== accept) throw new InvalidResponse("wrong Sec-WebSocket-Accept");
  if (selected !== null && !protocols.includes(selected))
    throw new InvalidResponse("a WebSocket protocol that was not offered");
  if (headers.get("sec-websocket-extensions") !== null)
    throw new InvalidResponse("a WebSocket extension that was not offered");
}
