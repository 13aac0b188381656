// Random values of the types that pii_mask finds. Each set is unique, so that a leak names the request that it came from.
import { randomBytes, randomInt } from "node:crypto";

export type Canaries = Readonly<Record<"email" | "phone" | "card" | "iban" | "secret" | "employee", string>>;

/** The pattern of `employee`, as a custom pattern of pii_mask. */
export const EMPLOYEE = { name: "employee", pattern: "\\bEMP-[0-9]{12}\\b" };

const digits = (count: number): string => Array.from({ length: count }, () => randomInt(10)).join("");

export function newCanaries(): Canaries {
  return {
    email: `canary.${randomBytes(8).toString("hex")}@example.com`,
    phone: `+4420${digits(8)}`,
    card: cardNumber(`4${digits(14)}`),
    iban: germanIban(digits(18)),
    // A shape that the redaction of logs does not recognize: only the plugin keeps it out of them.
    secret: `xoxb-${randomBytes(16).toString("hex")}`,
    employee: `EMP-${digits(12)}`,
  };
}

/** Appends the check digit of ISO/IEC 7812-1. */
function cardNumber(first: string): string {
  const sum = Array.from(first, Number)
    .reverse()
    .reduce((total, digit, index) => {
      const doubled = digit * (index % 2 === 0 ? 2 : 1);
      return total + (doubled > 9 ? doubled - 9 : doubled);
    }, 0);
  return first + String((10 - (sum % 10)) % 10);
}

/** Check digits of ISO 7064, MOD 97-10; D is 13 and E is 14. */
function germanIban(account: string): string {
  const check = 98n - (BigInt(`${account}131400`) % 97n);
  return `DE${String(check).padStart(2, "0")}${account}`;
}

/** The part of each value that nothing else contains, also if a separator or a prefix is lost. */
export function unmistakableParts({ email, phone, card, iban, secret, employee }: Canaries): string[] {
  return [email.slice(7, 23), phone.slice(1), card, iban.slice(4), secret.slice(5), employee.slice(4)];
}
