// The official TypeScript client, versions 1 and 2 of the SDK: lists the tools of a server, makes the calls that it is
// given, and prints what it got as one JSON object. Usage: node upstream.mjs SDK CALLS COMMAND [ARG...]
const [sdk, calls, command, ...args] = process.argv.slice(2);

async function load() {
  if (sdk === 'v1') {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
    return { Client, StdioClientTransport };
  }
  const { Client } = await import('@modelcontextprotocol/client');
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
  return { Client, StdioClientTransport };
}

const { Client, StdioClientTransport } = await load();
const client = new Client({ name: 'upstream', version: '1' });
await client.connect(new StdioClientTransport({ command, args, stderr: 'ignore', env: process.env }));
const tools = [];
let cursor;
do {
  const page = await client.listTools(cursor ? { cursor } : {});
  tools.push(...page.tools);
  cursor = page.nextCursor;
} while (cursor);
const answers = [];
for (const call of JSON.parse(calls)) {
  try {
    answers.push({ result: await client.callTool(call) });
  } catch (error) {
    answers.push({ error: { code: error.code, message: error.message } });
  }
}
await client.close();
console.log(JSON.stringify({ tools, answers }));
