// Drawer with the form of a rule, a service, an upstream, an MCP server or a virtual model, over the page that it was opened from.
import type { JSX } from "preact";
import { Dialog } from "../components/dialog.tsx";
import { McpServerEditor } from "../pages/mcp-server.tsx";
import { ModelEditor } from "../pages/model.tsx";
import { RuleEditor } from "../pages/rule.tsx";
import { ServiceEditor } from "../pages/service.tsx";
import { UpstreamEditor } from "../pages/upstream.tsx";
import type { OpenedRecord } from "../state/route-graph.ts";
import { mayLeave } from "../state/router.tsx";
import { FormHost } from "./form-host.ts";

const EDITORS = {
  rule: RuleEditor,
  service: ServiceEditor,
  upstream: UpstreamEditor,
  "mcp-server": McpServerEditor,
  target: UpstreamEditor,
  model: ModelEditor,
} as const;

interface RecordDrawerProps {
  readonly gateway: string;
  readonly record: OpenedRecord;
  /** Called when the drawer is to be closed; `hasChanged` if the record was saved or deleted. */
  readonly onClose: (hasChanged: boolean) => void;
}

export function RecordDrawer({ gateway, record, onClose }: RecordDrawerProps): JSX.Element {
  const Editor = EDITORS[record.kind];
  const title = record.kind === "target" ? `Upstream of ${record.title}` : record.title;
  const cancel = () => void mayLeave().then((isLeaving) => isLeaving && onClose(false));
  return (
    <Dialog kind="drawer" title={title} onClose={cancel}>
      <FormHost.Provider value={{ onDone: () => onClose(true), onCancel: cancel }}>
        <Editor gateway={gateway} id={record.recordId} />
      </FormHost.Provider>
    </Dialog>
  );
}
