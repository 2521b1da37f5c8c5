package upstream

import (
	"crypto/rand"
	"strconv"
	"strings"

	"sallyport/internal/canon"
	"sallyport/internal/wire"
)

// names makes ids and tokens that no client can have meant: JSON strings that are never the same.
type names struct {
	prefix string
	made   int
}

func newNames() names { return names{prefix: "sallyport-" + rand.Text()[:10] + "-"} }

func (n *names) next() []byte {
	n.made++
	return []byte(`"` + n.prefix + strconv.Itoa(n.made) + `"`)
}

// has reports whether key is that of a name which was made here.
func (n *names) has(key string) bool { return strings.HasPrefix(key, "s"+n.prefix) }

// cancellation tells the upstream that c is not wanted any more. A modern one names the version, like the request.
func cancellation(c *call, why error) []byte {
	line := append([]byte(`{"jsonrpc":"2.0","method":"`+methodCancelled+`","params":{"requestId":`), c.id...)
	line = canon.AppendString(append(line, `,"reason":`...), why.Error())
	if c.request.Era == wire.Modern {
		if version := c.request.Params.Get("_meta").Get(wire.MetaProtocolVersion); version.Exists() {
			line = append(line, `,"_meta":{"`+wire.MetaProtocolVersion+`":`...)
			line = append(append(line, version.Bytes()...), '}')
		}
	}
	return append(line, "}}"...)
}

// restored is m, the answer to c or something said on its behalf, under the id and the token that the request has itself.
func restored(c *call, m wire.Incoming) (wire.Incoming, error) {
	var edits []canon.Edit
	if c.renamed {
		subscribed := m.Result
		if m.Kind == wire.Response {
			edits = append(edits, canon.Edit{Old: m.ID, New: c.request.ID.Bytes()})
		} else {
			subscribed = m.Params
		}
		if id := subscriptionOf(subscribed); id.Exists() && keyOf(id) == c.key {
			edits = append(edits, canon.Edit{Old: id, New: c.request.ID.Bytes()})
		}
	}
	if c.own != nil && m.Method == methodProgress {
		edits = append(edits, canon.Edit{Old: m.Params.Get("progressToken"), New: c.own})
	}
	if len(edits) == 0 {
		return m, nil
	}
	return wire.ScanIncoming(canon.Splice(m.Line, edits...))
}

// subscriptionOf returns the id of the subscription that the params of a notification, or a result, belong to.
func subscriptionOf(v canon.Value) canon.Value {
	id := v.Get("_meta").Get(wire.MetaSubscriptionID)
	if id.Kind() != canon.String && id.Kind() != canon.Number {
		return canon.Value{}
	}
	return id
}
