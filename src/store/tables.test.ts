// Tests of the conversion of rows: records that were stored before a field existed have its default.
import { expect, test } from "bun:test";
import { CredentialCipher } from "./credential-cipher.ts";
import { fromRow } from "./tables.ts";

const cipher = new CredentialCipher("a secret");
const columns = { id: "1", gateway_id: "2", created_at: "2026-01-01", updated_at: "2026-01-01" };

test("records without error_format, which older versions stored, have its default", () => {
  const body = JSON.stringify({ name: "old" });
  expect(fromRow("gateways", { ...columns, body }, cipher)).toMatchObject({ error_format: "gatehouse" });
  expect(fromRow("rules", { ...columns, body }, cipher)).toMatchObject({ error_format: null });
});

test("a stored error_format is kept", () => {
  const body = JSON.stringify({ name: "new", error_format: "auto" });
  expect(fromRow("gateways", { ...columns, body }, cipher)).toMatchObject({ error_format: "auto" });
});
