def answer: {result: {content: [{type: "text", text: tojson}], structuredContent: .}};
def text(pattern): {type: "string", pattern: pattern};
def tool(name; arguments): {name: name, inputSchema:
  {type: "object", properties: arguments, required: (arguments | keys), additionalProperties: false}};
select(.id != null) | {jsonrpc: "2.0", id: .id} +
  if .method == "initialize" then {result: {protocolVersion: .params.protocolVersion, capabilities: {tools: {}},
    serverInfo: {name: "cluster", version: "1"}}}
  elif .method == "tools/list" then {result: {tools: [
    tool("deploy"; {service: text("^[a-z]+$"), version: text("^[0-9.]+$")}),
    tool("status"; {service: text("^[a-z]+$")})]}}
  elif .params.name == "deploy" then ({accepted: true} | answer)
  elif .params.name == "status" then ({version: $running, ready: ($running != "2.1" or env.DATABASE == "15")} | answer)
  else {error: {code: -32601, message: "no such method"}} end
