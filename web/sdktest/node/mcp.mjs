// Calls tools through the official MCP client, of the line that LINE names (v1:
// @modelcontextprotocol/sdk, v2: @modelcontextprotocol/client), over HTTP at URL
// or over the standard streams of COMMAND. CALLS holds [tool, arguments] pairs;
// "$ID" in them is the id in the answer of the first one. Prints the names of
// all tools and the results as one JSON object.
const { LINE, URL: url, KEY, COMMAND, CALLS, COMMAND_ENV } = process.env;

async function parts() {
  if (LINE === 'v1') {
    return {
      ...(await import('@modelcontextprotocol/sdk/client/index.js')),
      ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')),
      ...(await import('@modelcontextprotocol/sdk/client/stdio.js')),
    };
  }
  return { ...(await import('@modelcontextprotocol/client')), ...(await import('@modelcontextprotocol/client/stdio')) };
}

const { Client, StreamableHTTPClientTransport, StdioClientTransport } = await parts();

function transport() {
  if (!COMMAND) {
    return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${KEY}` } } });
  }
  const [command, ...args] = JSON.parse(COMMAND);
  return new StdioClientTransport({ command, args, env: { PATH: process.env.PATH, ...JSON.parse(COMMAND_ENV) } });
}

const client = new Client({ name: 'sdktest', version: '1.0.0' });
await client.connect(transport());
const tools = [];
for (let cursor; ;) {
  const page = await client.listTools(cursor ? { cursor } : undefined);
  tools.push(...page.tools.map((tool) => tool.name));
  cursor = page.nextCursor;
  if (!cursor) break;
}

let id = '';
const results = [];
for (const [name, args] of JSON.parse(CALLS) ?? []) {
  try {
    const result = await client.callTool({ name, arguments: JSON.parse(JSON.stringify(args).replaceAll('$ID', id)) });
    const text = result.content.map((part) => part.text).join('\n');
    id ||= text.match(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/)?.[0] ?? '';
    results.push({ text, isError: result.isError === true });
  } catch (error) {
    results.push({ text: error.message, thrown: true });
  }
}
const server = client.getServerVersion();
await client.close();
console.log(JSON.stringify({ server, tools, id, results }));
