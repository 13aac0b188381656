// Recognizes images, audio, video and PDF by their first bytes.

/** One character per byte. */
const MEDIA_STARTS: readonly RegExp[] = [
  // PNG, JPEG, GIF, TIFF, BMP, icons, JPEG 2000 and JPEG XL
  /^\x89PNG\r\n\x1a\n/,
  /^\xff\xd8\xff/,
  /^GIF8[79]a/,
  /^(?:II\*\0|MM\0\*)/,
  /^BM[^]{4}\0{4}/,
  /^\0\0\x01\0/,
  /^\0\0\0\x0c(?:jP {2}|JXL )\r\n/,
  // WAV, WebP, AVI and AIFF
  /^RIFF[^]{4}(?:WAVE|WEBP|AVI )/,
  /^FORM[^]{4}AIF[FC]/,
  // MP3, AAC, Ogg, FLAC and AMR
  /^ID3[\x02-\x04]/,
  /^\xff[\xf0-\xf3\xf8-\xfb]/,
  /^OggS\0/,
  /^fLaC\0/,
  /^#!AMR/,
  // MP4, MOV, HEIC and AVIF, WebM, MPEG and FLV
  /^\0[^]{3}ftyp/,
  /^\x1a\x45\xdf\xa3/,
  /^\0\0\x01[\xb3\xba]/,
  /^FLV\x01/,
  /^%PDF-/,
];
const LONGEST = 16;

export function startsAsMedia(bytes: Uint8Array): boolean {
  const start = Buffer.from(bytes.subarray(0, LONGEST)).toString("latin1");
  return MEDIA_STARTS.some((pattern) => pattern.test(start));
}
