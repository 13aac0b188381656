// The limits of concurrent requests: in total, per client and per gateway, compared with a naive count.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { NOT_A_MEMBER } from "../base/dense-set.ts";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { GatehouseError } from "../base/errors.ts";
import { NO_LOG } from "../telemetry/log/log.ts";
import { InFlightLimits } from "./in-flight-limits.ts";

interface Request {
  readonly gateway: null;
  readonly address: string;
  setPosition: number;
}

const request = (address: string): Request => ({ gateway: null, address, setPosition: NOT_A_MEMBER });

function create(total: number, perClient: number, perGateway: number): InFlightLimits<Request> {
  return new InFlightLimits<Request>(
    { MAX_IN_FLIGHT: total, MAX_IN_FLIGHT_PER_CLIENT: perClient, MAX_IN_FLIGHT_PER_GATEWAY: perGateway },
    ({ address }) => address,
    NO_LOG,
    new ManualClock(),
  );
}

const isAdmitted = (limits: InFlightLimits<Request>, request: Request): boolean => {
  try {
    limits.admit(request);
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(GatehouseError);
    return false;
  }
};

test("a client is rejected exactly when it has reached its limit, whatever others do", () => {
  const step = fc.record({
    address: fc.constantFrom("10.0.0.1", "10.0.0.2", "10.0.0.3"),
    leaves: fc.boolean(),
    which: fc.nat(),
  });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.array(step, { maxLength: 200 }), (perClient, steps) => {
      const limits = create(1000, perClient, 1000);
      const inFlight: Request[] = [];
      for (const { address, leaves, which } of steps) {
        if (leaves && inFlight.length > 0) {
          const [leaving] = inFlight.splice(which % inFlight.length, 1);
          if (leaving !== undefined) limits.leave(leaving);
          continue;
        }
        const arriving = request(address);
        const expected = inFlight.filter((each) => each.address === address).length < perClient;
        expect(limits.enter()).toBe(true);
        expect(isAdmitted(limits, arriving)).toBe(expected);
        if (expected) inFlight.push(arriving);
        else limits.leave(arriving);
      }
    }),
    { numRuns: 500 },
  );
});

test("all addresses of an IPv6 /64 network are one client", () => {
  const limits = create(10, 2, 10);
  expect(isAdmitted(limits, request("2001:db8:1:2::1"))).toBe(true);
  expect(isAdmitted(limits, request("2001:db8:1:2:ffff::2"))).toBe(true);
  expect(isAdmitted(limits, request("2001:db8:1:2::3"))).toBe(false);
  expect(isAdmitted(limits, request("2001:db8:1:3::1"))).toBe(true);
});

test("the total is limited, and a request that left makes room", () => {
  const limits = create(2, 2, 2);
  const first = request("10.0.0.1");
  expect([limits.enter(), limits.enter(), limits.enter()]).toEqual([true, true, false]);
  limits.leave(first);
  expect(limits.enter()).toBe(true);
});
