package streamable

import (
	"encoding/base64"
	"strings"

	"sallyport/internal/wire"
)

// modern reports whether a message is of the modern era: its body decides, and only where that says nothing its header.
// A version that nobody knows is a modern one.
func (v *visit) modern(in wire.Input) bool {
	if named := in.Meta.Get(wire.MetaProtocolVersion); named.Exists() {
		version, ok := named.Text()
		return !ok || wire.EraNamed(version) != wire.Legacy
	}
	if in.Kind == wire.Request && in.Method == methodInitialize {
		return false
	}
	version := v.r.Header.Get(fieldVersion)
	return version != "" && wire.EraNamed(version) != wire.Legacy
}

// checkHeader holds the header of a modern message against its body, and returns the values of Mcp-Param-*, decoded
// (MCP 2026-07-28, streamable HTTP, Server Validation). Somebody on the way may have decided by the header alone.
func (v *visit) checkHeader(m wire.Message) (params map[string]string, refusal *wire.Error) {
	request := m.Kind == wire.Request
	version, refusal := v.field(fieldVersion, request)
	if refusal != nil {
		return nil, refusal
	}
	named, ok := m.Meta.Get(wire.MetaProtocolVersion).Text()
	switch {
	case !ok && version != "" && wire.EraNamed(version) == 0:
		return nil, wire.Unsupported(version)
	case !ok && request:
		return nil, nil // whether something is there and what is wrong with it is said by who reads the body
	case ok && version != "" && named != version:
		return nil, mismatch(fieldVersion)
	case ok && wire.EraNamed(named) == 0:
		return nil, nil // likewise
	}
	if m.Kind != wire.Request && m.Kind != wire.Notification {
		return nil, nil
	}
	method, refusal := v.field(fieldMethod, request)
	if refusal != nil {
		return nil, refusal
	}
	if method != m.Method && (request || method != "") {
		return nil, mismatch(fieldMethod)
	}
	if refusal := v.checkName(m); refusal != nil {
		return nil, refusal
	}
	return v.paramHeaders()
}

// checkName holds Mcp-Name against what the params name.
func (v *visit) checkName(m wire.Message) *wire.Error {
	key := namedBy(m.Method)
	if key == "" || m.Kind != wire.Request {
		return nil
	}
	name, refusal := v.field(fieldName, key != "taskId")
	if refusal != nil {
		return refusal
	}
	if name == "" && len(v.r.Header.Values(fieldName)) == 0 {
		return nil
	}
	name, ok := decodeField(name)
	if inBody, isText := m.Params.Get(key).Text(); !ok || !isText || name != inBody {
		return mismatch(fieldName)
	}
	return nil
}

// field returns the value of a header field that may be there only once.
func (v *visit) field(name string, required bool) (value string, refusal *wire.Error) {
	switch values := v.r.Header.Values(name); {
	case len(values) == 0 && required:
		return "", &wire.Error{Code: wire.CodeHeaderMismatch, Message: "missing header: " + name}
	case len(values) == 0:
		return "", nil
	case len(values) > 1:
		return "", &wire.Error{Code: wire.CodeHeaderMismatch, Message: "more than one header: " + name}
	case values[0] != "" && !isPlain(values[0]):
		return "", &wire.Error{Code: wire.CodeHeaderMismatch, Message: "a header has bytes in it that it must not: " + name}
	default:
		return values[0], nil
	}
}

func mismatch(name string) *wire.Error {
	return &wire.Error{Code: wire.CodeHeaderMismatch, Message: "a header says something else than the body: " + name}
}

// paramHeaders returns the values of Mcp-Param-*, nil if there are none.
func (v *visit) paramHeaders() (map[string]string, *wire.Error) {
	var params map[string]string
	for name := range v.r.Header {
		rest, ok := strings.CutPrefix(name, fieldParam)
		if !ok {
			continue
		}
		value, refusal := v.field(name, false)
		if refusal != nil {
			return nil, refusal
		}
		if value, ok = decodeField(value); !ok {
			return nil, &wire.Error{Code: wire.CodeHeaderMismatch, Message: "a header is not encoded as it says: " + name}
		}
		if params == nil {
			params = make(map[string]string)
		}
		params[strings.ToLower(rest)] = value
	}
	return params, nil
}

// decodeField is the reverse of encodeField.
func decodeField(value string) (string, bool) {
	inner, ok := strings.CutPrefix(value, encodedPrefix)
	if !ok || !strings.HasSuffix(inner, encodedSuffix) {
		return value, true
	}
	decoded, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSuffix(inner, encodedSuffix))
	return string(decoded), err == nil
}
