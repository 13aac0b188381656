// Import and export of the configuration as a document.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { waitUntil } from "../../support/waiting.ts";
import type { GetSetupContext } from "./setup.ts";

export function testImportExport(context: GetSetupContext): void {
  test("exports one gateway or all as YAML or JSON, without secrets", async () => {
    const { ui, gatehouse } = context();
    const { page } = ui;
    await gatehouse.api("POST", "/gateways", { name: "other" });
    await ui.visit("Import and export");
    await ui.expectAccessible();
    const download = async () => {
      const [file] = await Promise.all([page.waitForEvent("download"), ui.button("Download").click()]);
      return { name: file.suggestedFilename(), text: readFileSync(await file.path(), "utf8") };
    };
    const all = await download();
    expect(all.name).toBe("gatehouse.yaml");
    expect(all.text).toContain("name: acme");
    expect(all.text).toContain("name: other");
    expect(all.text).not.toContain("a-key-0123456789");
    await page.getByRole("combobox", { name: "Gateways" }).click();
    await page.getByRole("option", { name: "acme", exact: true }).click();
    await ui.button("JSON").click();
    const one = await download();
    expect(one.name).toBe("acme.json");
    expect(JSON.parse(one.text).gateways.map(({ name }: { name: string }) => name)).toEqual(["acme"]);
    await ui.waitForToast("Exported gateway “acme”");
  });

  test("an import is checked first: errors with their paths, then what is created, changed and removed", async () => {
    const { ui, gatehouse } = context();
    const { page } = ui;
    const paste = (document: object) => ui.field("Document").fill(JSON.stringify(document, null, 2));
    expect(await ui.button("Check").isDisabled()).toBe(true);
    await ui.field("Document").fill("gateways:\n  - name: [");
    await ui.button("Check").click();
    await page.getByText("Nothing was imported.").waitFor();
    await paste({
      gateways: [{ name: "other", rules: [{ path: "no slash", methods: ["POST"], service: "s" }] }],
    });
    await ui.button("Check").click();
    await page.locator(".import-problems").getByText("gateways[0].rules[0].path").waitFor();
    await ui.expectAccessible();
    expect(await ui.button("Apply").count()).toBe(0);

    const document = (subdomain: string, path: string) => ({
      gateways: [
        {
          name: "other",
          subdomain,
          upstreams: [{ name: "imported", targets: [{ provider: "openai" }] }],
          services: [{ name: "imported", upstream: "imported" }],
          rules: [{ name: "imported", path, methods: ["POST"], service: "imported" }],
        },
      ],
    });
    await paste(document("first", "/first"));
    await ui.button("Check").click();
    await page.getByText("3 created, 1 changed, 0 removed.").waitFor();
    await ui.expectAccessible();
    // A plan for another text is not applied.
    await ui.field("Document").press("End");
    await ui.field("Document").pressSequentially(" ");
    expect(await ui.button("Apply").count()).toBe(0);
    await ui.button("Check").click();
    await ui.button("Apply").click();
    await ui.waitForToast("Imported as revision");
    const { gateways } = (await gatehouse.api("GET", "/gateways?name=other")).body;
    const rules = async () => (await gatehouse.api("GET", `/gateways/${gateways[0].id}/rules`)).body.rules;
    expect(await rules()).toMatchObject([{ path: "/first" }]);
  });

  test("a file is imported, removals are confirmed, and a change in between is reported", async () => {
    const { ui, gatehouse } = context();
    const { page } = ui;
    const text = "gateways:\n  - name: other\n    subdomain: from-a-file\n";
    await page
      .getByLabel("File")
      .setInputFiles({ name: "other.yaml", mimeType: "text/yaml", buffer: Buffer.from(text) });
    await page.getByText("From other.yaml.").waitFor();
    await page.getByLabel("Delete records that the document does not contain").check();
    await ui.button("Check").click();
    await page.getByText("0 created, 1 changed, 3 removed.").waitFor();
    const { gateways } = (await gatehouse.api("GET", "/gateways?name=other")).body;
    await gatehouse.api("PATCH", `/gateways/${gateways[0].id}`, { subdomain: "in-between" });
    await ui.button("Apply").click();
    await ui.dialog().getByText("Delete 3 records?").waitFor();
    await ui.expectAccessible();
    await ui.dialog().getByRole("button", { name: "Apply" }).click();
    await page.getByText("The configuration was changed after this check.").waitFor();
    await ui.button("Check").click();
    await ui.button("Apply").click();
    await ui.dialog().getByRole("button", { name: "Apply" }).click();
    // The message of the test before may still be shown.
    const rules = async () => (await gatehouse.api("GET", `/gateways/${gateways[0].id}/rules`)).body.rules;
    await waitUntil(async () => (await rules()).length === 0);
    await gatehouse.api("DELETE", `/gateways/${gateways[0].id}?cascade=true`);
  });
}
