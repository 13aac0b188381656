// Checks whether the client may use the rule: whether an API key is required, and whether the key's policies allow it.
import { GatehouseError } from "../base/errors.ts";
import type { CompiledApiKey } from "../snapshot/compile.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";

export function authenticate(key: CompiledApiKey | null, rule: CompiledRule, alwaysRequired: boolean): void {
  if (key === null) {
    if (requiresKey(rule, alwaysRequired)) throw apiKeyRequired();
    return;
  }
  if (!isAllowed(key, rule))
    throw new GatehouseError("rule_not_allowed", "This API key is not valid for this rule.");
}

export function requiresKey(rule: CompiledRule, alwaysRequired: boolean): boolean {
  return alwaysRequired || rule.requireApiKey;
}

export function isAllowed(key: CompiledApiKey | null, rule: CompiledRule): boolean {
  return key === null || key.policies === null || key.policies.has(rule.id);
}

export function apiKeyRequired(): GatehouseError {
  return new GatehouseError("api_key_required", "An API key is required. Send it in X-GW-API-Key.", {
    headers: { "WWW-Authenticate": "Bearer" },
  });
}
