// Creates what runs the final_request hooks of served requests, with the requests that others wait for.
import { finish, type FinishParts } from "../finish.ts";
import { Flights } from "./flights.ts";
import { runFinalRequest, type FinalParts, type FinalRequestPart } from "./run-final-request.ts";

type Parts = FinishParts & Omit<FinalParts, "flights" | "endLive">;

export function createFinalRequest(parts: Parts): FinalRequestPart["runFinalRequest"] {
  const finalParts: FinalParts = {
    ...parts,
    flights: new Flights(),
    endLive: (exchange, outcome, status) => finish(exchange, outcome, status, exchange.clock.now(), parts),
  };
  return (exchange, links) => runFinalRequest(exchange, links, finalParts);
}
