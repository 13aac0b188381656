// What the programs with MCP clients do: lists everything, calls the tools of each server, and returns what a user would see.

export async function useServers(client, callTool) {
  const { tools } = await client.listTools();
  const names = tools.map(({ name }) => name);
  const prefixes = [...new Set(names.map((name) => name.split("__")[0]))];
  const sums = {};
  const progress = {};
  for (const prefix of prefixes) {
    const { structuredContent } = await callTool({ name: `${prefix}__add`, arguments: { a: 2, b: 3 } });
    sums[prefix] = structuredContent.sum;
    const onprogress = (each) => (progress[prefix] = each.progress);
    const { content } = await callTool({ name: `${prefix}__slow`, arguments: { ms: 1 } }, { onprogress });
    if (content[0].text !== "done after 1 ms") throw new Error(JSON.stringify(content));
  }
  const failed = await callTool({ name: `${prefixes[0]}__fail`, arguments: {} });
  const unknown = await callTool({ name: `${prefixes[0]}__nothing`, arguments: {} }).catch(
    (error) => error.code,
  );
  const { prompts } = await client.listPrompts();
  const prompt = await client.getPrompt({ name: prompts[0].name });
  const { resources } = await client.listResources();
  const texts = [];
  for (const { uri } of resources) texts.push((await client.readResource({ uri })).contents[0].text);
  return {
    tools: names,
    sums,
    progress,
    failed: failed.isError,
    unknown,
    prompts: prompts.map(({ name }) => name),
    prompt: prompt.messages[0].content.text,
    resources: resources.map(({ uri }) => uri),
    texts,
  };
}
