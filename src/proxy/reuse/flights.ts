// The requests in progress whose responses others may wait for, by plugin entry and key.
import { Flight } from "./flight.ts";

export class Flights {
  readonly #byEntry = new Map<string, Map<string, Flight>>();

  /** Returns undefined if no request with the key is in progress. */
  find(instanceId: string, key: string): Flight | undefined {
    return this.#byEntry.get(instanceId)?.get(key);
  }

  /** Starts one, which others find until it ends. There must be none. */
  start(instanceId: string, key: string): Flight {
    const flights = this.#byEntry.get(instanceId) ?? new Map<string, Flight>();
    this.#byEntry.set(instanceId, flights);
    const flight = new Flight(() => {
      flights.delete(key);
      if (flights.size === 0 && this.#byEntry.get(instanceId) === flights) this.#byEntry.delete(instanceId);
    });
    flights.set(key, flight);
    return flight;
  }
}
