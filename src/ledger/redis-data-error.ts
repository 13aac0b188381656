// Errors of the scripts of the ledger that concern the keys of one gateway: another program, or an operator, has written other data to them.

/** A script also fails if the server cannot run it now. That concerns all gateways. */
const OF_SERVER =
  /\b(?:EPOCH|OOM|READONLY|MISCONF|LOADING|BUSY|NOREPLICAS|CLUSTERDOWN|MASTERDOWN|MOVED|ASK|TRYAGAIN|CROSSSLOT|NOAUTH|NOPERM|ACL)\b/;
const OF_SCRIPT = /\bWRONGTYPE\b|\buser_script\b/;

/** The types of keys by a part of their names. */
const TYPES: readonly (readonly [part: string, type: string])[] = [
  ["}:leases", "zset"],
  ["}:open:", "hash"],
  ["}:epoch", "hash"],
  ["}:budget:", "hash"],
  ["}:sliding:", "list"],
];

/** Keys of a gateway in Redis whose data the scripts cannot use. */
export interface UnusableKeys {
  readonly gatewayId: string;
  /** Empty if none of the keys that were looked at has another type than it should have. */
  readonly keys: readonly string[];
  readonly error: Error;
}

export function isDataError({ message }: Error): boolean {
  return OF_SCRIPT.test(message) && !OF_SERVER.test(message);
}

/** Whether a key that has this type is one that no script can use. */
export function isUnusable(key: string, type: string): boolean {
  const expected = TYPES.find(([part]) => key.includes(part))?.[1];
  return expected !== undefined && type !== expected && type !== "none";
}
