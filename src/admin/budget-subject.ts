// The subject that an operator names to reset or adjust what one of several subjects of a budget has spent.
import { validationError } from "../base/errors.ts";
import { boundedSubject, SHARED_SUBJECT } from "../runtime/budget-subjects.ts";
import type { CompiledBudget } from "../snapshot/compiled-budget.ts";

interface NamedKey {
  readonly id: string;
  readonly name: string;
}

/** The id of an API key, which may have been revoked, or of a token; empty for requests without either. */
const KEY_ID = /^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|jwt_.+)?$/;
/** A subject that was hashed, as `top_spenders` shows it. */
const HASHED = "sha256:";

/** Returns the subject of the account. Throws for one that no request can have, because changing it would have no effect. */
export function namedSubject(
  { record: { scope }, hasSubjects }: CompiledBudget,
  subject: string,
  keys: Iterable<NamedKey>,
): string {
  if (!hasSubjects) throw invalid("must be absent, because the budget has only one amount");
  if (subject === SHARED_SUBJECT || subject.startsWith(HASHED)) return subject;
  if (scope === "api_key") return keyIdOf(subject, keys);
  if (scope === "user") requireUser(subject);
  return boundedSubject(subject);
}

/** As in the `value` of a budget, a key is named by its id or its name. */
function keyIdOf(subject: string, keys: Iterable<NamedKey>): string {
  if (KEY_ID.test(subject)) return subject;
  const found = [...keys].filter(({ name }) => name === subject);
  const [key] = found;
  if (key === undefined)
    throw invalid("must be the id or the name of an API key of the gateway, as in top_spenders");
  if (found.length > 1) throw invalid(`must be an id, because ${found.length} API keys have this name`);
  return key.id;
}

function requireUser(subject: string): void {
  const end = subject.indexOf("/");
  const key = subject.slice(0, Math.max(0, end));
  if (end !== -1 && (key === "anonymous" || KEY_ID.test(key))) return;
  throw invalid(
    'must be the id of the API key (or "anonymous"), a slash and the id of the user, as in top_spenders; ' +
      "for a trusted X-User-ID only the slash and the id of the user",
  );
}

function invalid(message: string): Error {
  return validationError([{ path: "subject", message }]);
}
