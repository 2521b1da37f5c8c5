package gateway

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"sallyport/internal/canon"
)

// paramHeader says that an argument is also sent as a header (MCP 2026-07-28, basic/transports/streamable-http, Custom
// Headers from tool parameters).
type paramHeader struct {
	name string   // behind Mcp-Param-
	path []string // to the argument
}

// maxHeaderDepth bounds how deep properties are looked into, and maxParamHeaders how many headers there may be.
const (
	maxHeaderDepth  = 16
	maxParamHeaders = 64
)

// paramHeaders finds the x-mcp-header annotations of an input schema. An error says that one is not valid.
func paramHeaders(input canon.Value) ([]paramHeader, error) {
	var found []paramHeader
	seen := make(map[string]bool)
	var walk func(schema canon.Value, path []string) error
	walk = func(schema canon.Value, path []string) error {
		if len(path) >= maxHeaderDepth {
			return nil
		}
		for property, of := range member(schema, "properties").Members() {
			at := append(path[:len(path):len(path)], property)
			if annotation := member(of, "x-mcp-header"); annotation.Exists() {
				name, err := headerName(annotation, of)
				switch key := strings.ToLower(name); {
				case err != nil:
					return err
				case seen[key]:
					return errors.New("two properties have the same x-mcp-header")
				case len(found) >= maxParamHeaders:
					return errors.New("there are too many x-mcp-headers")
				default:
					seen[key] = true
				}
				found = append(found, paramHeader{name, at})
			}
			if err := walk(of, at); err != nil {
				return err
			}
		}
		return nil
	}
	if err := walk(input, nil); err != nil {
		return nil, err
	}
	return found, nil
}

// headerName reads an annotation of a property.
func headerName(annotation, property canon.Value) (string, error) {
	name, _ := annotation.Text()
	for _, c := range []byte(name) {
		letter := c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return "", errors.New("an x-mcp-header has a character that headers cannot have")
		}
	}
	if name == "" {
		return "", errors.New("an x-mcp-header must be a string that is not empty")
	}
	switch kind, _ := member(property, "type").Text(); kind {
	case "string", "integer", "boolean":
		return name, nil
	default:
		return "", errors.New("an x-mcp-header is for a string, an integer or a boolean")
	}
}

// headerValues are the values of the headers for these arguments. What is absent or null has none, nor has a value that
// is not of a kind that headers can have: the server's own schema refuses it.
func headerValues(headers []paramHeader, args canon.Value) map[string]string {
	var values map[string]string
	for _, h := range headers {
		value := args
		for _, key := range h.path {
			value = value.Get(key)
		}
		text, ok := headerValue(value)
		if !ok {
			continue
		}
		if values == nil {
			values = make(map[string]string)
		}
		values[h.name] = text
	}
	return values
}

func headerValue(value canon.Value) (string, bool) {
	switch value.Kind() {
	case canon.String:
		return value.Text()
	case canon.Bool:
		return string(value.Bytes()), true
	case canon.Number:
		n, ok := value.Int()
		if f, err := strconv.ParseFloat(string(value.Bytes()), 64); !ok && err == nil && f == float64(int64(f)) {
			n, ok = int64(f), true // 1.0 and 1e2 are integers too
		}
		const most = 1<<53 - 1
		return strconv.FormatInt(n, 10), ok && n >= -most && n <= most
	}
	return "", false
}

// headersAgree compares the headers that came with a request with its arguments (MCP 2026-07-28, Server Validation). Those
// that no property of the tool names are somebody else's.
func headersAgree(headers []paramHeader, args canon.Value, came map[string]string) error {
	for _, h := range headers {
		value := args
		for _, key := range h.path {
			value = value.Get(key)
		}
		text, has := headerValue(value)
		header, sent := came[strings.ToLower(h.name)]
		if value.Kind() == canon.Number {
			header = sameNumber(header)
		}
		if has != sent || has && text != header {
			return fmt.Errorf("the header Mcp-Param-%s does not agree with the arguments", h.name)
		}
	}
	return nil
}

// sameNumber is a header's number as headerValue spells it, or the text as it is if it is no integer.
func sameNumber(text string) string {
	if v, err := canon.Parse([]byte(text)); err == nil {
		if same, ok := headerValue(v); ok && v.Kind() == canon.Number {
			return same
		}
	}
	return text
}
