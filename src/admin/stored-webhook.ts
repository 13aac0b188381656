// Turns the webhook of a request into the stored one: its mask, as responses show it, keeps the stored URL.
import { credentialRequiredError, validationError } from "../base/errors.ts";
import { looksLikeMaskedWebhook, maskWebhook } from "../model/webhook-mask.ts";

/** `stored` is that of the budget before the change; null if it has none, or if the budget is new. */
export function toStoredWebhook(sent: string | null, stored: string | null): string | null {
  if (sent === null) return null;
  if (stored !== null && sent === maskWebhook(stored)) return stored;
  if (!looksLikeMaskedWebhook(sent)) return sent;
  const path = "webhook";
  if (stored === null)
    throw validationError([
      { path, message: "is a masked value, and no webhook is stored; send the URL itself" },
    ]);
  const message = "is a mask of another address than the stored one; send the URL itself instead of its mask";
  throw credentialRequiredError([{ path, message }]);
}
