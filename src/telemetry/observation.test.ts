// Requests are recorded after their responses were sent, and can be read before that.
import { expect, test } from "bun:test";
import { createLog } from "./log/log.ts";
import { Metrics } from "./metrics/metrics.ts";
import { Observation } from "./observation.ts";
import { requestFacts } from "./requests/request-facts.fixture.ts";

const SECOND = 1_800_000_000;

function observed(): Observation {
  const log = createLog({ level: "silent", format: "json" }, { write: () => undefined });
  const observation = new Observation(new Metrics(), log, { requestLogSize: 10, tracer: null, sink: null });
  observation.started();
  observation.finished(requestFacts({ gatewayId: "g", endedWallMs: SECOND * 1000 }));
  return observation;
}

test("a request that has ended in this turn of the event loop is in the request log and in the traffic", async () => {
  expect((await observed().requests.listRequests({ gatewayId: "g" }, 10)).count).toBe(1);
  expect(await observed().traffic.readTraffic(SECOND, SECOND, null)).toHaveLength(1);
  expect(await observed().traffic.sumByGateway(SECOND, SECOND)).toMatchObject([{ requests: 1 }]);
  expect(observed().traffic.readAll(SECOND, SECOND).get("g")).toHaveLength(1);
});
