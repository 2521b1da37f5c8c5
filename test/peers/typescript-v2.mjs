// The official TypeScript client, version 2, which speaks both eras of the protocol.
//
//   node typescript-v2.mjs legacy|auto|modern CALLS COMMAND ARGUMENT...
//
// "auto" asks the server which era it speaks, "modern" insists on 2026-07-28. Both ask a first server process, which
// they then end, and speak to a second one.

import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { awaitChange, commandLine, converse, oneChange, saw } from './conversation.mjs';

const [era, ...words] = process.argv.slice(2);
const { calls, server } = commandLine(words);
const { handler, change } = oneChange();

const client = new Client(
  { name: 'typescript-v2', version: '1' },
  {
    versionNegotiation: { mode: era === 'modern' ? { pin: '2026-07-28' } : era },
    listChanged: { tools: { onChanged: handler } },
  },
);
client.onerror = error => saw('trouble', { message: String(error) });
await client.connect(new StdioClientTransport(server));
await converse(calls, {
  list: () => client.listTools(),
  call: (name, args) => client.callTool({ name, arguments: args }),
});
await awaitChange(change);
await client.close();
