// Finds a section of a Linux executable (ELF, 64 bits, little-endian) by its name.

interface Section {
  /** Where the section is in memory, unless the system moves the executable when it loads it. */
  readonly address: bigint;
  readonly bytes: bigint;
}

/** Returns bytes of the file; fewer than `length` at its end. */
type ReadAt = (position: number, length: number) => Uint8Array;

// Positions in the header of the file and in the headers of sections, from the specification of ELF.
const HEADER_BYTES = 64;
const SECTION_HEADER_BYTES = 64;
const MAGIC = "\x7fELF\x02\x01";
/** The type of an executable that is always loaded at the addresses that it names. */
const FIXED_ADDRESSES = 2;

/** Returns null if the file is not such an executable, is loaded at other addresses than it names, or has no such section. */
export function findElfSection(readAt: ReadAt, name: string): Section | null {
  const header = viewOf(readAt(0, HEADER_BYTES));
  if (header.byteLength < HEADER_BYTES || textAt(header, 0, MAGIC.length) !== MAGIC) return null;
  if (header.getUint16(16, true) !== FIXED_ADDRESSES || header.getUint16(58, true) !== SECTION_HEADER_BYTES)
    return null;
  const count = header.getUint16(60, true);
  const table = viewOf(readAt(Number(header.getBigUint64(40, true)), count * SECTION_HEADER_BYTES));
  const namesAt = header.getUint16(62, true) * SECTION_HEADER_BYTES;
  if (table.byteLength < count * SECTION_HEADER_BYTES || namesAt >= table.byteLength) return null;
  const names = viewOf(
    readAt(Number(table.getBigUint64(namesAt + 24, true)), Number(table.getBigUint64(namesAt + 32, true))),
  );
  for (let at = 0; at < table.byteLength; at += SECTION_HEADER_BYTES)
    if (textAt(names, table.getUint32(at, true), name.length + 1) === `${name}\0`)
      return { address: table.getBigUint64(at + 16, true), bytes: table.getBigUint64(at + 32, true) };
  return null;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Returns fewer characters at the end. */
function textAt(view: DataView, from: number, length: number): string {
  let text = "";
  for (let at = from; at < Math.min(from + length, view.byteLength); at++)
    text += String.fromCharCode(view.getUint8(at));
  return text;
}
