// The requests in progress whose responses others may wait for, by plugin entry and key.
import type { OpenedResponses } from "../../runtime/responses/response-stores.ts";
import { Flight } from "./flight.ts";

type FlightStore = Pick<OpenedResponses, "instanceId" | "generation">;

export class Flights {
  readonly #byEntry = new Map<string, Map<string, Flight>>();

  /** Returns undefined if no request with the key is in progress that was sent in this generation. */
  find({ instanceId, generation }: FlightStore, key: string): Flight | undefined {
    const known = this.#byEntry.get(instanceId)?.get(key);
    return known?.generation === generation ? known : undefined;
  }

  /** Starts one, which others find until it ends, instead of one of an earlier generation. There must be none of this generation. */
  start({ instanceId, generation }: FlightStore, key: string): Flight {
    const flights = this.#byEntry.get(instanceId) ?? new Map<string, Flight>();
    this.#byEntry.set(instanceId, flights);
    const flight = new Flight(generation, () => {
      if (flights.get(key) === flight) flights.delete(key);
      if (flights.size === 0 && this.#byEntry.get(instanceId) === flights) this.#byEntry.delete(instanceId);
    });
    flights.set(key, flight);
    return flight;
  }
}
