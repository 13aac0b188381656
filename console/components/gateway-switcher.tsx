// Selects the gateway of the pages, and opens the same section of it.
import type { JSX } from "preact";
import { currentGatewayId, gatewayCount, gatewayIdIn, gatewayName } from "../state/gateways.ts";
import { navigate, route } from "../state/router.tsx";
import { GatewayCombobox } from "./gateway-combobox.tsx";

export function GatewaySwitcher(): JSX.Element | null {
  const selected = currentGatewayId.value;
  if (selected === null || gatewayCount.value === 0) return null;
  return (
    <GatewayCombobox
      id="gateway-switcher"
      label="Gateway"
      text={gatewayName(selected)}
      onSelect={openGateway}
    />
  );
}

function openGateway(id: string): void {
  const { path } = route.value;
  const section = gatewayIdIn(path) === null ? "overview" : path.split("/")[3];
  void navigate(section === undefined ? `/gateways/${id}` : `/gateways/${id}/${section}`);
}
