// State of an API key: active, expired, or revoked.
import type { ApiKey } from "../api/types.ts";

export function keyState({ active, expires_at }: ApiKey): "active" | "expired" | "revoked" {
  if (!active) return "revoked";
  return expires_at !== null && new Date(expires_at) <= new Date() ? "expired" : "active";
}
