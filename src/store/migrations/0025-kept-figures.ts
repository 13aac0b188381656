// Webhooks of budgets are encrypted from this version on: the next step of the start encrypts those that are stored.

export function addKeptFigures(): string[] {
  return [`UPDATE configuration SET sealed_headers = 0 WHERE sealed_headers = 1`];
}
