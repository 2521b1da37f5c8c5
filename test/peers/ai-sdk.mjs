// The MCP client of the AI SDK, which has a protocol layer of its own and speaks both eras of the protocol.
//
//   node ai-sdk.mjs legacy|auto CALLS COMMAND ARGUMENT...
//
// "auto" asks the server which era it speaks.

import { createMCPClient } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport as StdioTransport } from '@ai-sdk/mcp/mcp-stdio';
import { commandLine, converse, saw } from './conversation.mjs';

const [era, ...words] = process.argv.slice(2);
const { calls, server } = commandLine(words);

const client = await createMCPClient({
  transport: new StdioTransport(server),
  protocolVersionDiscovery: era === 'auto',
  onUncaughtError: error => saw('trouble', { message: String(error) }),
});
await converse(calls, {
  list: () => client.listTools(),
  call: (name, args) => client.callTool({ name, arguments: args }),
});
await client.close();
