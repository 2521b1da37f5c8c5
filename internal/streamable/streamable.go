// Package streamable carries MCP over streamable HTTP, in both eras: Handler is the server's side, Client the client's.
// It knows headers, streams and sessions; what the messages mean is for a wire.Handler, or the gateway, to know.
package streamable
