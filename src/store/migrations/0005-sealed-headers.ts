// Whether the values of secret headers are encrypted in all rows. Older versions stored them in plain text.

export function addSealedHeaders(): string[] {
  return [`ALTER TABLE configuration ADD COLUMN sealed_headers INTEGER NOT NULL DEFAULT 0`];
}
