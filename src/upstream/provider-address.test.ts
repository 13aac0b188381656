// The limit of connection attempts, which all origins of an address share.
import { expect, test } from "bun:test";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { ProviderAddress } from "./provider-address.ts";

test("origins share the limit of 512 attempts and get free ones in turn", () => {
  const address = new ProviderAddress("http://provider.example", new ManualClock());
  const dials = Array.from({ length: 512 }, () => address.beginDial());
  expect(address.mayDial()).toBe(false);
  const started: string[] = [];
  const origin = (name: string, waiting: number) => ({
    dialNext: () => {
      if (waiting === 0) return false;
      waiting--;
      started.push(name);
      address.beginDial();
      return true;
    },
  });
  for (const each of [origin("a", 3), origin("b", 1), origin("canceled", 0), origin("c", 2)])
    address.enqueue(each);
  address.dialNext();
  expect(started).toEqual([]);
  for (const dial of dials.slice(0, 8)) {
    address.endDial(dial);
    address.dialNext();
  }
  expect(started).toEqual(["a", "b", "c", "a", "c", "a"]);
});

test("while an attempt is overdue, another one starts only every 250 ms", () => {
  const clock = new ManualClock();
  const address = new ProviderAddress("http://provider.example", clock);
  address.beginDial();
  expect(address.mayDial()).toBe(true);
  clock.advance(3001);
  expect(address.mayDial()).toBe(true);
  const probe = address.beginDial();
  expect(address.mayDial()).toBe(false);
  address.endDial(probe);
  clock.advance(251);
  expect(address.mayDial()).toBe(true);
});
