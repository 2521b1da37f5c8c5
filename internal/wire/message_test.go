package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScanAccepts(t *testing.T) {
	type message struct {
		Kind                     Kind
		ID, Method, Params, Meta string
	}
	tests := map[string]struct {
		line string
		want message
	}{
		"request": {
			`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
			message{Kind: Request, ID: `1`, Method: "ping"},
		},
		"request with everything, spaced out": {
			` { "id" : "a\u0062" , "params" : {"name":"x","_meta":{"k":1.0}} , "jsonrpc" : "2.0" , "method" : "tools\/call" } `,
			message{Request, `"a\u0062"`, "tools/call", `{"name":"x","_meta":{"k":1.0}}`, `{"k":1.0}`},
		},
		"integer past 2^53": {`{"jsonrpc":"2.0","id":9007199254740993,"method":"m"}`, message{Kind: Request, ID: `9007199254740993`, Method: "m"}},
		"integer past 2^64": {`{"jsonrpc":"2.0","id":-18446744073709551617,"method":"m"}`, message{Kind: Request, ID: `-18446744073709551617`, Method: "m"}},
		"empty string id":   {`{"jsonrpc":"2.0","id":"","method":"m"}`, message{Kind: Request, ID: `""`, Method: "m"}},
		"empty method":      {`{"jsonrpc":"2.0","id":1,"method":""}`, message{Kind: Request, ID: `1`}},
		"unknown members":   {`{"jsonrpc":"2.0","id":1,"method":"m","future":1e400,"params":{"Future":2}}`, message{Kind: Request, ID: `1`, Method: "m", Params: `{"Future":2}`}},
		"lookalike in the arguments": {
			`{"jsonrpc":"2.0","id":1,"method":"m","params":{"arguments":{"NAME":1,"name":2,"_META":3}}}`,
			message{Kind: Request, ID: `1`, Method: "m", Params: `{"arguments":{"NAME":1,"name":2,"_META":3}}`},
		},
		"notification":         {`{"jsonrpc":"2.0","method":"notifications/x"}`, message{Kind: Notification, Method: "notifications/x"}},
		"escaped key":          {`{"jsonrpc":"2.0","\u0069d":1,"method":"m"}`, message{Kind: Request, ID: `1`, Method: "m"}},
		"result":               {`{"jsonrpc":"2.0","id":1,"result":{}}`, message{Kind: Response, ID: `1`}},
		"error":                {`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}`, message{Kind: Response, ID: `1`}},
		"batch, not looked at": {`[1]`, message{Kind: Batch}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m, err := Scan([]byte(tt.line))
			if err != nil {
				t.Fatalf("Scan: %v", err)
			}
			got := message{m.Kind, string(m.ID.Bytes()), m.Method, string(m.Params.Bytes()), string(m.Meta.Bytes())}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
			if got, want := string(m.Raw.Bytes()), strings.TrimSpace(tt.line); got != want {
				t.Errorf("raw is %s, want %s", got, want)
			}
		})
	}
}

func TestScanRefuses(t *testing.T) {
	deep := strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000)
	type refusal struct {
		Code int
		Kind Kind
		ID   string
	}
	invalid := func(kind Kind, id string) refusal { return refusal{CodeInvalidRequest, kind, id} }
	tests := map[string]struct {
		line string
		want refusal
	}{
		"empty":                       {``, refusal{Code: CodeParse}},
		"word":                        {`hello`, refusal{Code: CodeParse}},
		"truncated":                   {`{"jsonrpc":"2.0","id":1,"method":"m"`, refusal{Code: CodeParse}},
		"two messages":                {`{"jsonrpc":"2.0","id":1,"method":"m"} {"jsonrpc":"2.0","id":2,"method":"m"}`, refusal{Code: CodeParse}},
		"trailing comma":              {`{"jsonrpc":"2.0","id":1,"method":"m",}`, refusal{Code: CodeParse}},
		"single quotes":               {`{'jsonrpc':'2.0','id':1,'method':'m'}`, refusal{Code: CodeParse}},
		"NaN":                         {`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":NaN}}`, refusal{Code: CodeParse}},
		"byte order mark":             {"\uFEFF" + `{"jsonrpc":"2.0","id":1,"method":"m"}`, refusal{Code: CodeParse}},
		"NUL byte":                    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\x00\"}", refusal{Code: CodeParse}},
		"invalid UTF-8":               {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"a\":\"\xff\"}}", refusal{Code: CodeParse}},
		"overlong UTF-8":              {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xc0\xaf\"}", refusal{Code: CodeParse}},
		"surrogate as UTF-8":          {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xed\xa0\x80\"}", refusal{Code: CodeParse}},
		"deep and unclosed":           {strings.Repeat(`{"a":[`, 100_000), refusal{Code: CodeParse}},
		"duplicate and then no JSON":  {`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1,"a":2}`, refusal{Code: CodeParse}},
		"number":                      {`1`, invalid(Invalid, "")},
		"string":                      {`"x"`, invalid(Invalid, "")},
		"null":                        {`null`, invalid(Invalid, "")},
		"empty object":                {`{}`, invalid(Invalid, "")},
		"id alone":                    {`{"jsonrpc":"2.0","id":1}`, invalid(Invalid, `1`)},
		"null id":                     {`{"jsonrpc":"2.0","id":null,"method":"m"}`, invalid(Request, "")},
		"true id":                     {`{"jsonrpc":"2.0","id":true,"method":"m"}`, invalid(Request, "")},
		"object id":                   {`{"jsonrpc":"2.0","id":{},"method":"m"}`, invalid(Request, "")},
		"array id":                    {`{"jsonrpc":"2.0","id":[1],"method":"m"}`, invalid(Request, "")},
		"fraction id":                 {`{"jsonrpc":"2.0","id":1.5,"method":"m"}`, invalid(Request, "")},
		"whole fraction id":           {`{"jsonrpc":"2.0","id":1.0,"method":"m"}`, invalid(Request, "")},
		"exponent id":                 {`{"jsonrpc":"2.0","id":1e3,"method":"m"}`, invalid(Request, "")},
		"capital exponent id":         {`{"jsonrpc":"2.0","id":1E3,"method":"m"}`, invalid(Request, "")},
		"no jsonrpc":                  {`{"id":1,"method":"m"}`, invalid(Request, `1`)},
		"jsonrpc 1.0":                 {`{"jsonrpc":"1.0","id":1,"method":"m"}`, invalid(Request, `1`)},
		"jsonrpc a number":            {`{"jsonrpc":2.0,"id":1,"method":"m"}`, invalid(Request, `1`)},
		"no method":                   {`{"jsonrpc":"2.0","id":1,"params":{}}`, invalid(Invalid, `1`)},
		"method a number":             {`{"jsonrpc":"2.0","id":"x","method":7}`, invalid(Invalid, `"x"`)},
		"method null":                 {`{"jsonrpc":"2.0","id":"x","method":null}`, invalid(Invalid, `"x"`)},
		"params an array":             {`{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}`, invalid(Request, `1`)},
		"params null":                 {`{"jsonrpc":"2.0","id":1,"method":"m","params":null}`, invalid(Request, `1`)},
		"params a string":             {`{"jsonrpc":"2.0","id":1,"method":"m","params":"{}"}`, invalid(Request, `1`)},
		"method and result":           {`{"jsonrpc":"2.0","id":1,"method":"m","result":{}}`, invalid(Request, `1`)},
		"method and error":            {`{"jsonrpc":"2.0","id":1,"method":"m","error":{}}`, invalid(Request, `1`)},
		"result and error":            {`{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`, invalid(Response, `1`)},
		"meta a string":               {`{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":"x"}}`, refusal{CodeInvalidParams, Request, `1`}},
		"meta null":                   {`{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":null}}`, refusal{CodeInvalidParams, Request, `1`}},
		"duplicate method":            {`{"jsonrpc":"2.0","id":1,"method":"m","method":"n"}`, invalid(Invalid, `1`)},
		"duplicate escaped key":       {`{"jsonrpc":"2.0","id":1,"method":"m","\u006dethod":"n"}`, invalid(Invalid, `1`)},
		"duplicate id":                {`{"jsonrpc":"2.0","id":1,"method":"m","id":2}`, invalid(Invalid, "")},
		"duplicate params":            {`{"jsonrpc":"2.0","id":1,"method":"m","params":{},"params":{}}`, invalid(Invalid, `1`)},
		"duplicate in params":         {`{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"a","name":"b"}}`, invalid(Invalid, `1`)},
		"duplicate in the arguments":  {`{"jsonrpc":"2.0","id":1,"method":"m","params":{"arguments":{"x":[{"a":1,"a":1}]}}}`, invalid(Invalid, `1`)},
		"duplicate, id behind it":     {`{"method":"m","params":{"a":1,"id":2,"a":1},"jsonrpc":"2.0","id":"x"}`, invalid(Invalid, `"x"`)},
		"duplicate, id within first":  {`{"params":{"id":2,"a":1,"a":1},"method":"m","x":["id"],"id":"x"}`, invalid(Invalid, `"x"`)},
		"duplicate, escaped id":       {`{"method":"m","params":{"a":1,"a":1},"jsonrpc":"2.0","\u0069d":"x"}`, invalid(Invalid, `"x"`)},
		"duplicate, id and Id":        {`{"id":1,"Id":2,"method":"m","params":{"a":1,"a":1}}`, invalid(Invalid, "")},
		"duplicate, fraction id":      {`{"id":1.5,"method":"m","params":{"a":1,"a":1}}`, invalid(Invalid, "")},
		"duplicate, object id":        {`{"id":{"id":1},"method":"m","params":{"a":1,"a":1}}`, invalid(Invalid, "")},
		"duplicate, quoted braces":    {`{"method":"}\"{[","params":{"a":"\\","a":1},"id":1}`, invalid(Invalid, `1`)},
		"duplicate in a notification": {`{"jsonrpc":"2.0","method":"m","params":{"a":1,"a":1,"id":1}}`, invalid(Notification, "")},
		"duplicate in a batch":        {`[{"id":1,"method":"m","params":{"a":1,"a":1}}]`, invalid(Invalid, "")},
		"half a surrogate pair":       {`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"\ud800"}}`, invalid(Invalid, `1`)},
		"half a pair in the id":       {`{"jsonrpc":"2.0","id":"\udc00","method":"m"}`, invalid(Invalid, "")},
		"half a pair in the method":   {`{"jsonrpc":"2.0","method":"\udc00"}`, invalid(Invalid, "")},
		"integer too long":            {`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":` + strings.Repeat("7", 4301) + `}}`, invalid(Invalid, `1`)},
		"deep":                        {deep, invalid(Invalid, "")},
		"deep params":                 {`{"jsonrpc":"2.0","method":"m","params":{"a":` + deep + `},"id":1}`, invalid(Invalid, `1`)},
		"case of method":              {`{"jsonrpc":"2.0","id":1,"Method":"m"}`, invalid(Invalid, `1`)},
		"case of jsonrpc":             {`{"JSONRPC":"2.0","id":1,"method":"m"}`, invalid(Request, `1`)},
		"case of id":                  {`{"jsonrpc":"2.0","ID":1,"method":"m"}`, invalid(Invalid, "")},
		"case of id and of params":    {`{"jsonrpc":"2.0","ID":1,"method":"m","PARAMS":{}}`, invalid(Invalid, "")},
		"case of id beside id":        {`{"jsonrpc":"2.0","id":1,"iD":2,"method":"m"}`, invalid(Request, `1`)},
		"case of params":              {`{"jsonrpc":"2.0","id":1,"method":"m","PARAMS":{}}`, invalid(Request, `1`)},
		"case of params, no id":       {`{"jsonrpc":"2.0","method":"m","PARAMS":{}}`, invalid(Notification, "")},
		"case of result":              {`{"jsonrpc":"2.0","id":1,"method":"m","Result":{}}`, invalid(Request, `1`)},
		"long s in params":            {`{"jsonrpc":"2.0","id":1,"method":"m","param` + "\u017f" + `":{}}`, invalid(Request, `1`)},
		"NUL behind method":           {`{"jsonrpc":"2.0","id":1,"method":"m","method\u0000":"n"}`, invalid(Request, `1`)},
		"NULs and case":               {`{"jsonrpc":"2.0","id":1,"method":"m","Params\u0000\u0000":{}}`, invalid(Request, `1`)},
		"case of name":                {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","Name":"b"}}`, invalid(Request, `1`)},
		"case of arguments":           {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","Arguments":{}}}`, invalid(Request, `1`)},
		"case of _meta":               {`{"jsonrpc":"2.0","id":1,"method":"m","params":{"_Meta":{}}}`, invalid(Request, `1`)},
		"NUL behind name":             {`{"jsonrpc":"2.0","id":1,"method":"m","params":{"name\u0000":"b"}}`, invalid(Request, `1`)},
		"Kelvin sign in a meta key":   {`{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"progressTo` + "\u212a" + `en":1}}}`, invalid(Request, `1`)},
		"case of the version key":     {`{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolversion":"x"}}}`, invalid(Request, `1`)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m, err := Scan([]byte(tt.line))
			if err == nil {
				t.Fatalf("Scan took it as %+v", m)
			}
			got := refusal{err.Code, m.Kind, string(m.ID.Bytes())}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("refusal %v (-want +got):\n%s", err, diff)
			}
			if len(err.Message) > 200 {
				t.Errorf("the refusal is %d bytes long, want it short", len(err.Message))
			}
		})
	}
}

// Another reader that takes a key for ours is the danger, so each known key is tried in each clothing.
func TestScanRefusesEveryLookalike(t *testing.T) {
	sets := map[string][]string{
		`{"jsonrpc":"2.0","id":1,"method":"m",%s}`:                      envelopeKeys,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{%s}}`:           paramsKeys,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{%s}}}`: metaKeys,
	}
	for frame, keys := range sets {
		for _, key := range keys {
			for _, odd := range []string{strings.ToUpper(key), strings.ToUpper(key[:1]) + key[1:], key + `\u0000`, key + `\u0000\u0000`} {
				if odd == key {
					continue
				}
				line := strings.Replace(frame, "%s", `"`+odd+`":"2.0"`, 1)
				if _, err := Scan([]byte(line)); err == nil || err.Code != CodeInvalidRequest {
					t.Errorf("Scan(%s) = %v, want code %d", line, err, CodeInvalidRequest)
				}
			}
		}
	}
}

// FuzzScan holds Scan to its promises: a refusal has a code; what is accepted reads the same to another reader of JSON;
// an id that a refusal goes to is in the message.
func FuzzScan(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":1}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"\ud83d\ude00","method":"m","params":{"a":1,"a":2}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","method":"m","Params\u0000":{}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	f.Add([]byte(`{"method":"}\"","id" : "\\" ,"params":{"\ud800":{}}}`))
	f.Add([]byte(`[{"jsonrpc":"2.0","id":9007199254740993,"method":"m"}]`))
	f.Fuzz(func(t *testing.T, line []byte) {
		before := bytes.Clone(line)
		m, err := Scan(line)
		if !bytes.Equal(line, before) {
			t.Fatal("Scan changed the line")
		}
		if err != nil && err.Code != CodeParse && err.Code != CodeInvalidRequest && err.Code != CodeInvalidParams {
			t.Fatalf("refused with code %d", err.Code)
		}
		if m.Kind == Batch || !m.ID.Exists() && err != nil {
			return
		}
		var other map[string]json.RawMessage
		if jsonErr := json.Unmarshal(line, &other); jsonErr != nil {
			t.Fatalf("Scan read %q of what encoding/json refuses: %v", m.ID.Bytes(), jsonErr)
		}
		if got := bytes.TrimSpace(other["id"]); m.ID.Exists() && !bytes.Equal(got, m.ID.Bytes()) {
			t.Fatalf("id is %s, encoding/json reads %s", m.ID.Bytes(), got)
		}
		if err != nil {
			return
		}
		var method string
		if raw, ok := other["method"]; ok {
			if err := json.Unmarshal(raw, &method); err != nil {
				t.Fatalf("method %s: %v", raw, err)
			}
		}
		if method != m.Method {
			t.Fatalf("method is %q, encoding/json reads %q", m.Method, method)
		}
		if hasID := slices.Contains(slices.Collect(maps.Keys(other)), "id"); hasID != m.ID.Exists() {
			t.Fatalf("%s: has an id: %t, Scan says %t", line, hasID, m.ID.Exists())
		}
	})
}
