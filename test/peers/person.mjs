// The official TypeScript clients before a person: makes the calls that it is given, lets the person answer what the
// server asks meanwhile, and prints what it got as one JSON object.
//
//   node person.mjs v1|v2-legacy|v2-modern PERSON CALLS COMMAND ARGUMENT...
//
// PERSON is "nobody", and the client says that it can ask nobody, or what the person declines: a text that stands in the
// question. All else is agreed to. CALLS are a JSON array of {name, arguments}.

const [sdk, person, calls, command, ...args] = process.argv.slice(2);
const asked = [];

function answer({ params }) {
  asked.push({ message: params.message, schema: params.requestedSchema });
  return params.message.includes(person) ? { action: 'decline' } : { action: 'accept', content: { approve: true } };
}

async function connected() {
  const capabilities = person === 'nobody' ? {} : { elicitation: {} };
  if (sdk === 'v1') {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
    const { ElicitRequestSchema } = await import('@modelcontextprotocol/sdk/types.js');
    const client = new Client({ name: 'person', version: '1' }, { capabilities });
    if (person !== 'nobody') client.setRequestHandler(ElicitRequestSchema, answer);
    await client.connect(new StdioClientTransport({ command, args, env: process.env }));
    return client;
  }
  const { Client } = await import('@modelcontextprotocol/client');
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
  const mode = sdk === 'v2-modern' ? { pin: '2026-07-28' } : 'legacy';
  const client = new Client({ name: 'person', version: '1' }, { capabilities, versionNegotiation: { mode } });
  if (person !== 'nobody') client.setRequestHandler('elicitation/create', answer);
  await client.connect(new StdioClientTransport({ command, args, env: process.env }));
  return client;
}

const client = await connected();
const answers = [];
for (const call of JSON.parse(calls)) {
  try {
    answers.push({ result: await client.callTool(call) });
  } catch (error) {
    answers.push({ error: { code: error.code, message: error.message, data: error.data } });
  }
}
await client.close();
console.log(JSON.stringify({ answers, asked }));
