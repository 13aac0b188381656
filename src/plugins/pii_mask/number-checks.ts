// Decides by checksum and rules of issue whether digits are a card number, an IBAN, or a social security number.

/** Lengths of IBANs by country (ISO 13616). */
const IBAN_LENGTHS: ReadonlyMap<string, number> = new Map(
  (
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 FO18 FR27 " +
    "GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 " +
    "MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24 SI19 SK24 SM27 ST25 SV28 TL23 " +
    "TN24 TR26 UA29 VA22 VG24 XK20"
  )
    .split(" ")
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
);

/** The checksum of ISO/IEC 7812-1, annex B, for digits that are added from left to right. */
export class LuhnSums {
  length = 0;
  /** Every second digit counts double: the first, third and so on, or the others. */
  #firstDoubled = 0;
  #secondDoubled = 0;

  add(digit: number): void {
    const doubled = digit > 4 ? digit * 2 - 9 : digit * 2;
    const isFirst = this.length % 2 === 0;
    this.#firstDoubled += isFirst ? doubled : digit;
    this.#secondDoubled += isFirst ? digit : doubled;
    this.length++;
  }

  get isValid(): boolean {
    return (this.length % 2 === 0 ? this.#firstDoubled : this.#secondDoubled) % 10 === 0;
  }
}

/** Returns null for an unknown country. */
export function ibanLength(country: string): number | null {
  return IBAN_LENGTHS.get(country.toUpperCase()) ?? null;
}

/** ISO 7064, MOD 97-10. `iban` has letters and digits only. */
export function isIban(iban: string): boolean {
  let rest = 0;
  for (const character of iban.slice(4) + iban.slice(0, 4)) {
    const value = Number.parseInt(character, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}

/** Numbers that the Social Security Administration never issues are none. `digits` has nine digits. */
export function isSsn(digits: string): boolean {
  const area = digits.slice(0, 3);
  if (area === "000" || area === "666" || area >= "900") return false;
  return digits.slice(3, 5) !== "00" && digits.slice(5) !== "0000";
}
