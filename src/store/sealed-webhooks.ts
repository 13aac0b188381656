// The webhook of a budget in its row: encrypted, because its path is a secret, and bound to the budget.
import type { Budget } from "../model/budget.ts";
import type { CredentialCipher } from "./credential-cipher.ts";
import { SEALED, type StoredSecretMapper } from "./sealed-targets.ts";

type HookedRecord = Pick<Budget, "id" | "webhook">;

export function sealWebhook<T extends HookedRecord>(budget: T, cipher: CredentialCipher): T {
  return mapWebhook(budget, (webhook) => SEALED + cipher.encrypt(webhook, bindingOf(budget)));
}

/** Decrypts a webhook. One that an older version has stored in plain text stays as it is. */
export function openWebhook<T extends HookedRecord>(budget: T, cipher: CredentialCipher): T {
  return mapWebhook(budget, (webhook) =>
    webhook.startsWith(SEALED) ? cipher.decrypt(webhook.slice(SEALED.length), bindingOf(budget)) : webhook,
  );
}

/** Returns a stored budget with `reseal` applied to its webhook. The result of `reseal` is encrypted. */
export function resealWebhook<T extends HookedRecord>(budget: T, reseal: StoredSecretMapper): T {
  return mapWebhook(budget, (webhook) => {
    const isSealed = webhook.startsWith(SEALED);
    return SEALED + reseal(isSealed ? webhook.slice(SEALED.length) : webhook, bindingOf(budget), isSealed);
  });
}

function mapWebhook<T extends HookedRecord>(budget: T, map: (webhook: string) => string): T {
  return budget.webhook === null ? budget : { ...budget, webhook: map(budget.webhook) };
}

function bindingOf({ id }: HookedRecord): string {
  return `budgets/${id}/webhook`;
}
