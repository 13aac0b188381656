// Decides by checksum and rules of issue whether characters are an IBAN or a social security number.
import { isLetter } from "./characters.ts";

const COUNTRIES =
  "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 FO18 FR27 " +
  "GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 " +
  "MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24 SI19 SK24 SM27 ST25 SV28 TL23 " +
  "TN24 TR26 UA29 VA22 VG24 XK20";
const ZERO = 0x30;
const NINE = 0x39;
const LOWER_A = 0x61;
/** Two more digits fit into 32 bits. */
const MAX_UNDIVIDED = 20_000_000;

/** Lengths of IBANs by country (ISO 13616): 26 entries per first letter, 0 for an unknown country. */
const IBAN_LENGTHS = new Uint8Array(26 * 26);
for (const entry of COUNTRIES.split(" "))
  IBAN_LENGTHS[countryIndex(entry.charCodeAt(0), entry.charCodeAt(1))] = Number(entry.slice(2));

function countryIndex(first: number, second: number): number {
  return ((first | 0x20) - LOWER_A) * 26 + (second | 0x20) - LOWER_A;
}

/** Returns 0 for an unknown country. `first` is a letter, and `second` any character. */
export function ibanLength(first: number, second: number): number {
  return isLetter(second) ? (IBAN_LENGTHS[countryIndex(first, second)] ?? 0) : 0;
}

/**
 * Appends a letter or digit to a number of which the remainder is known (ISO 7064, MOD 97-10). Letters count as 10 to 35. The result may
 * still have to be divided: a division for every character would take most of the time.
 */
export function addToRemainder(remainder: number, unit: number): number {
  const longer = unit <= NINE ? remainder * 10 + unit - ZERO : remainder * 100 + (unit | 0x20) - LOWER_A + 10;
  return longer > MAX_UNDIVIDED ? longer % 97 : longer;
}

/** Numbers that the Social Security Administration never issues are none. */
export function isSsn(area: number, group: number, serial: number): boolean {
  return area > 0 && area !== 666 && area < 900 && group > 0 && serial > 0;
}
