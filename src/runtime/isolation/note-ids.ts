// The notes of requests are kept in the isolate, because they may be values that no message can have. This names them, and notices
// when a request has ended.

interface Noted {
  readonly notes: object;
  /** Absent if the stage has none. */
  readonly callNotes?: object;
}

export class NoteIds {
  readonly #ids = new WeakMap<object, number>();
  readonly #watched = new WeakSet<object>();
  #released: number[] = [];
  #last = 0;
  readonly #ended = new FinalizationRegistry<number>((id) => this.#released.push(id));

  /** The maps of the request stay empty. Entries of a plugin that share them share notes in the isolate. */
  idsOf({ notes, callNotes = notes }: Noted): { readonly notes: number; readonly callNotes: number } {
    return { notes: this.#idOf(notes), callNotes: this.#idOf(callNotes) };
  }

  /** The isolate has notes for them. */
  watch({ notes, callNotes = notes }: Noted): void {
    for (const each of [notes, callNotes]) {
      const id = this.#ids.get(each);
      if (id === undefined || this.#watched.has(each)) continue;
      this.#watched.add(each);
      this.#ended.register(each, id);
    }
  }

  /** Returns the ids of requests that have ended since the last call. */
  takeReleased(): readonly number[] {
    if (this.#released.length === 0) return this.#released;
    const released = this.#released;
    this.#released = [];
    return released;
  }

  #idOf(notes: object): number {
    const known = this.#ids.get(notes);
    if (known !== undefined) return known;
    this.#ids.set(notes, ++this.#last);
    return this.#last;
  }
}
