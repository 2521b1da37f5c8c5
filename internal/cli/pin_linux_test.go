package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// pinnedServer writes a server whose one tool has this description, and pins it.
func pinnedServer(p *person) (server, lock string) {
	p.t.Helper()
	server = filepath.Join(p.dir, "server.sh")
	p.write(server, `while read -r line; do
	id=$(printf '%s' "$line" | sed 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/')
	case "$line" in
	*'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}\n' "$id" ;;
	*'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t","description":"%s"}]}}\n' "$id" "$(cat says)" ;;
	*'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
	esac
done
`)
	p.write(filepath.Join(p.dir, "says"), "first")
	if out, ok := p.run("pin", "--", "sh", server); !ok {
		p.t.Fatal(out)
	}
	return server, filepath.Join(p.dir, "sallyport.lock")
}

func TestPinIsChangedByAPersonAtTheTerminal(t *testing.T) {
	p := newPerson(t)
	server, lock := pinnedServer(p)
	before := p.read(lock)
	p.write(filepath.Join(p.dir, "says"), "second")
	if out, ok := p.run("pin", "--", "sh", server); ok || !strings.Contains(out, "there is no terminal") {
		t.Errorf("without a terminal: ok %t\n%s", ok, out)
	}
	if out, ok := p.answer("no", nil, "pin", "--", "sh", server); ok || p.read(lock) != before {
		t.Errorf("with a no it is changed: ok %t\n%s", ok, out)
	}
	// --yes is not enough for what is pinned already
	out, ok := p.answer("yes", nil, "pin", "--yes", "--", "sh", server)
	if !ok || !strings.Contains(out, `+  "description": "second",`) || !strings.Contains(p.read(lock), "second") {
		t.Errorf("with a yes: ok %t\n%s", ok, out)
	}
}

// TestWhatIsPinnedIsWhatWasShown: a server that changes while the question stands, and another pin meanwhile, get nothing
// into the file that nobody saw.
func TestWhatIsPinnedIsWhatWasShown(t *testing.T) {
	p := newPerson(t)
	server, lock := pinnedServer(p)
	p.write(filepath.Join(p.dir, "says"), "second")
	out, ok := p.answer("yes", func() { p.write(filepath.Join(p.dir, "says"), "third") }, "pin", "--", "sh", server)
	if got := p.read(lock); !ok || !strings.Contains(got, "second") || strings.Contains(got, "third") {
		t.Errorf("ok %t\n%s\nit has\n%s", ok, out, got)
	}
	p.write(filepath.Join(p.dir, "says"), "fourth")
	const others = `{"version": 1, "servers": {}}`
	out, ok = p.answer("yes", func() { p.write(lock, others) }, "pin", "--", "sh", server)
	if ok || !strings.Contains(out, "changed by somebody else meanwhile; nothing was written") || p.read(lock) != others {
		t.Errorf("ok %t\n%s", ok, out)
	}
}
