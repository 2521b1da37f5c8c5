// The official TypeScript SDK, version 1, which speaks the protocol up to 2025-11-25.
//
//   node typescript-v1.mjs CALLS COMMAND ARGUMENT...

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { awaitChange, commandLine, converse, oneChange, saw } from './conversation.mjs';

const { calls, server } = commandLine(process.argv.slice(2));
const { handler, change } = oneChange();

const client = new Client({ name: 'typescript-v1', version: '1' }, { listChanged: { tools: { onChanged: handler } } });
client.onerror = error => saw('trouble', { message: String(error) });
await client.connect(new StdioClientTransport(server));
await converse(calls, {
  list: () => client.listTools(),
  call: (name, args) => client.callTool({ name, arguments: args }),
});
await awaitChange(change);
await client.close();
