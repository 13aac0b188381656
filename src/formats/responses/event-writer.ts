// Writes the events of one Responses stream, numbered in their order.

export class EventWriter {
  #sequenceNumber = 0;
  #output = "";

  /** JSON contains no line breaks, so an event is always one line of data. */
  write(type: string, fields: object): void {
    const data = JSON.stringify({ type, sequence_number: this.#sequenceNumber++, ...fields });
    this.#output += `event: ${type}\ndata: ${data}\n\n`;
  }

  /** Returns the text written since the last call. */
  take(): string {
    const output = this.#output;
    this.#output = "";
    return output;
  }
}
