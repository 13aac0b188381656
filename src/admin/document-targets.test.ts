// withTargetIds: which stored target a target of a document gets its id from.
import { expect, test } from "bun:test";
import { targetRecord } from "../../test/contract/store-records.ts";
import { maskSecret } from "../model/secret-mask.ts";
import { mapSecrets } from "../model/target-secrets.ts";
import type { Target } from "../model/target.ts";
import { withTargetIds } from "./document-targets.ts";

const withKey = (id: string, header_value: string, fields: Partial<Target> = {}) =>
  targetRecord({ id, credentials: { header_name: "Authorization", header_value }, ...fields });
const [FIRST, SECOND] = ["sk-first-0123456789", "sk-second-012345abcd"];
const stored = [
  withKey("a", FIRST),
  withKey("b", SECOND),
  targetRecord({ id: "c", base_url: "https://c.example" }),
];

/** A target as a document contains it: without its id. */
function wanted(target: Target, fields: Partial<Target> = {}) {
  const { id, ...rest } = { ...target, ...fields };
  expect(id).toBeString();
  return rest;
}
const masked = (target: Target, mask?: string) => {
  const { credentials } = mapSecrets(target, (value) => mask ?? maskSecret(value));
  return wanted(target, { credentials });
};
const idsOf = (targets: Parameters<typeof withTargetIds>[0]) =>
  withTargetIds(targets, stored).map(({ id }) => id);

test("matches equal targets in any order, by credential or by mask", () => {
  const [a, b, c] = stored as [Target, Target, Target];
  expect(idsOf([wanted(a), wanted(b), wanted(c)])).toEqual(["a", "b", "c"]);
  expect(idsOf([masked(b), wanted(c), masked(a)])).toEqual(["b", "c", "a"]);
  expect(idsOf([wanted(b), masked(a)])).toEqual(["b", "a"]);
});

test("prefers equal targets over similar ones, and uses each stored target once", () => {
  const [a, b, c] = stored as [Target, Target, Target];
  // The first target has changed and must not get the id of the second, which has not.
  expect(idsOf([wanted(b, { weight: 9 }), wanted(a)])).toEqual(["b", "a"]);
  expect(idsOf([wanted(c, { models: ["m"] })])).toEqual(["c"]);
  expect(idsOf([wanted(c, { base_url: "https://other.example" })])).toEqual(["a"]);
  expect(idsOf([wanted(a, { provider: "mistral" })])).toEqual([undefined]);
  expect(idsOf([wanted(a), wanted(a), wanted(a), wanted(a)])).toEqual(["a", "b", "c", undefined]);
});

test("HIDDEN in place of a mask refers to the stored credential", () => {
  const [a, b] = stored as [Target, Target, Target];
  const [first, second] = withTargetIds([masked(a, "***"), masked(b, "***")], stored);
  expect(first?.credentials).toMatchObject({ header_value: maskSecret(FIRST) });
  expect(second?.credentials).toMatchObject({ header_value: maskSecret(SECOND) });
});
