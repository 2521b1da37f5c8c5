// What the clients from npm have in common: each lists the tools and makes the calls that it is given, and prints what
// it saw, one JSON object a line. What it ought to have seen is for the Go tests to say.

// The command line of every client: the calls as a JSON array of {name, arguments}, then that of the server.
export function commandLine(words) {
  const [calls, command, ...args] = words;
  return { calls: JSON.parse(calls), server: { command, args } };
}

export function saw(what, detail) {
  console.log(JSON.stringify({ saw: what, ...detail }));
}

// list resolves to {tools}; call(name, args) resolves to a result, or rejects with the server's error.
export async function converse(calls, { list, call }) {
  saw('tools', { tools: (await list()).tools });
  for (const { name, arguments: args } of calls) {
    try {
      saw('answer', { result: await call(name, args) });
    } catch (error) {
      const { code, message, data } = error;
      saw('answer', { error: { code, message, data } });
    }
  }
}

// One change of the list of tools: a handler for the client to call, and a promise of what it was called with.
export function oneChange() {
  let handler;
  const change = new Promise((resolve, reject) => {
    handler = (error, tools) => (error ? reject(error) : resolve({ tools }));
  });
  return { handler, change };
}

// Prints the changed list, which comes some time after the line that says that it is waited for.
export async function awaitChange(change) {
  saw('waiting');
  saw('tools', await change);
}
