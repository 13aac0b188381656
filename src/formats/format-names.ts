// The wire formats the gateway can speak to a target. A provider is data (providers/); a format is code (wire/).
export const OPENAI_FORMAT = "openai";
export const ANTHROPIC_FORMAT = "anthropic";

export const WIRE_FORMATS = [OPENAI_FORMAT, ANTHROPIC_FORMAT] as const;
export type WireFormat = (typeof WIRE_FORMATS)[number];
