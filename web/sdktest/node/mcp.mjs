// Calls tools through the official MCP client, of the line that LINE names (v1:
// @modelcontextprotocol/sdk, v2: @modelcontextprotocol/client), over HTTP at URL
// or over the standard streams of COMMAND. CALLS holds [tool, arguments, more]
// with more optional: {save: NAME} puts the first id of the answer for "$NAME" in
// later arguments, {until: TEXT} repeats the call until it answers so. "$ID" is
// the first id of all. Prints the names of all tools and the results as one JSON
// object.
import { setTimeout as pause } from 'node:timers/promises';

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

const saved = {};
const fill = (value) => JSON.parse(JSON.stringify(value).replace(/\$([A-Z]+)/g, (all, name) => saved[name] ?? all));

async function call(name, args) {
  try {
    const result = await client.callTool({ name, arguments: args });
    return { text: result.content.map((part) => part.text).join('\n'), isError: result.isError === true };
  } catch (error) {
    return { text: error.message, thrown: true };
  }
}

const results = [];
for (const [name, args, more = {}] of JSON.parse(CALLS) ?? []) {
  let result = await call(name, fill(args));
  for (let tries = 0; more.until && !result.text.includes(fill(more.until)) && tries < 300; tries++) {
    await pause(200);
    result = await call(name, fill(args));
  }
  const found = result.text.match(/msg_[\w-]+|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/)?.[0];
  if (!result.thrown && found) {
    saved.ID ??= found;
    if (more.save) saved[more.save] = found;
  }
  results.push(result);
}
const server = client.getServerVersion();
await client.close();
console.log(JSON.stringify({ server, tools, id: saved.ID ?? '', saved, results }));
