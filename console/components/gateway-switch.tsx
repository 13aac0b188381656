// Switches between the overview of all gateways and that of one.
import type { JSX } from "preact";
import { currentGatewayId, gatewayName } from "../state/gateways.ts";
import { navigate } from "../state/router.tsx";
import { Button } from "./button.tsx";

export function GatewaySwitch({ gateway }: { readonly gateway: string | null }): JSX.Element {
  const selected = gateway ?? currentGatewayId.value;
  return (
    <div class="button-group" role="group" aria-label="Gateways">
      <Button isPressed={gateway === null} onClick={() => void navigate("/")}>
        All gateways
      </Button>
      {selected !== null && (
        <Button isPressed={gateway !== null} onClick={() => void navigate(`/gateways/${selected}/overview`)}>
          {gatewayName(selected)}
        </Button>
      )}
    </div>
  );
}
