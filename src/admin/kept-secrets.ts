// Finds the stored secret that a mask in a request refers to, and rejects masks of secrets that would be sent to another place.
import { credentialRequiredError, type ErrorDetail } from "../base/errors.ts";
import { looksMasked, maskSecret } from "../model/secret-mask.ts";
import {
  changedDestination,
  secretAt,
  secretsOf,
  type SecretDestination,
  type SecretPlace,
} from "../model/target-secrets.ts";

const UNKNOWN_MASK_MESSAGE = "is a masked value, and no stored secret matches it; send the secret itself";

export class KeptSecrets {
  /** Masks that no stored secret has. */
  readonly unknownMasks: ErrorDetail[] = [];
  readonly #required: ErrorDetail[] = [];
  readonly #stored: readonly SecretDestination[];
  readonly #noun: string;

  /** `stored` are all targets of the record before the change. `noun` is what a secret must not move between. */
  constructor(stored: readonly SecretDestination[], noun: string) {
    this.#stored = stored;
    this.#noun = noun;
  }

  /** Returns the stored secret that `sent` is a mask of, or `sent` itself. `at` is the path of the secret in the request. */
  find(
    sent: string,
    place: SecretPlace,
    target: SecretDestination,
    stored: SecretDestination | undefined,
    subject: string,
    at: string,
  ): string {
    const kept = this.#findKept(sent, place, target, stored);
    if ("reason" in kept) {
      const message = `${subject} ${kept.reason}; send the secret itself instead of its mask`;
      this.#required.push({ path: at, message });
      return sent;
    }
    if (kept.value === null && looksMasked(sent))
      this.unknownMasks.push({ path: at, message: UNKNOWN_MASK_MESSAGE });
    return kept.value ?? sent;
  }

  /** Throws if a mask is that of a secret which would be sent to another place. */
  rejectMoved(): void {
    if (this.#required.length > 0) throw credentialRequiredError(this.#required);
  }

  /**
   * Returns the stored secret that a mask refers to, or why it is not used. Its value is null if `sent` is not a mask of a stored
   * secret. All short secrets have the same mask, and an administrator may know the mask only: a secret must not move to another
   * target, header, or place.
   */
  #findKept(
    sent: string,
    place: SecretPlace,
    target: SecretDestination,
    stored: SecretDestination | undefined,
  ): { readonly value: string | null } | { readonly reason: string } {
    const value = stored === undefined ? undefined : secretAt(stored, place);
    if (stored !== undefined && value !== undefined && sent === maskSecret(value)) {
      const field = changedDestination(stored, target);
      return field === null ? { value } : { reason: `would send its stored secret to another ${field}` };
    }
    const isMaskOfOther = this.#stored.some((each) =>
      secretsOf(each).some((secret) => maskSecret(secret.value) === sent),
    );
    if (!isMaskOfOther) return { value: null };
    const field = stored === undefined ? null : changedDestination(stored, target);
    const elsewhere = field ?? `${this.#noun} of ${place.header === null ? "credentials" : "headers"}`;
    return { reason: `would send a stored secret to another ${elsewhere}` };
  }
}
