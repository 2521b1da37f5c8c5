package gateway

import (
	"testing"

	"sallyport/internal/gate"
	"sallyport/internal/wire"
)

// A result that is not the end of its call either asks for something, and nothing else, or goes on by itself as far as anybody
// can tell: then it is not to be waited for with a verification.
func TestWhatAResultIsToTheGate(t *testing.T) {
	for text, want := range map[string]struct{ open, task, failed bool }{
		`{"content":[]}`:                                                       {},
		`{"content":[],"resultType":"complete"}`:                               {},
		`{"content":[],"isError":true}`:                                        {failed: true},
		`{"resultType":"input_required","requestState":"s"}`:                   {open: true},
		`{"resultType":"input_required","inputRequests":{}}`:                   {open: true},
		`{"resultType":"task","taskId":"t"}`:                                   {open: true, task: true},
		`{"resultType":"later"}`:                                               {open: true, task: true},
		`{"resultType":7}`:                                                     {open: true, task: true},
		`{"task":{"taskId":"t"}}`:                                              {open: true, task: true},
		`{"task":{"name":"t"}}`:                                                {},
		`{"inputRequests":{}}`:                                                 {open: true, task: true},
		`{"resultType":"complete","inputRequests":{}}`:                         {open: true, task: true},
		`{"resultType":"complete","resultType":"input_required"}`:              {open: true, task: true},
		`{"resultType":"input_required","resultType":"complete"}`:              {open: true, task: true},
		`{"resultType":"complete","ResultType":"input_required"}`:              {open: true, task: true},
		`{"resultType":"input_required","taskId":"t","inputRequests":{}}`:      {open: true, task: true},
		`{"resultType":"input_required","task":{"taskId":"t"}}`:                {open: true, task: true},
		`{"resultType":"input_required","Task":{"taskId":"t"},"isError":true}`: {open: true, task: true, failed: true},
	} {
		in, err := wire.ScanIncoming([]byte(`{"jsonrpc":"2.0","id":1,"result":` + text + `}`))
		if err != nil {
			t.Fatal(err)
		}
		got := resultOf(in)
		if got.Open != want.open || got.Task != want.task || got.Failed != want.failed || !same(got.Body, in.Result.Bytes()) {
			t.Errorf("%s: open %v, task %v, failed %v; want %+v", text, got.Open, got.Task, got.Failed, want)
		}
	}
}

// What is answered from what is stored says of its verification what the gate says now, in the form of whoever asks now.
func TestAnAnswerFromWhatIsStored(t *testing.T) {
	const stored, forged = `{"content":[ ],"_meta":{"a":1.0}}`, `{"content":[],"_meta":{"sallyport/verified":true}}`
	for name, tt := range map[string]struct {
		era    wire.Era
		result gate.Result
		want   string
	}{
		"legacy":                {wire.Legacy, gate.Result{Form: gate.Whole, Body: []byte(stored)}, `"result":` + stored},
		"legacy, held":          {wire.Legacy, gate.Result{Form: gate.Whole, Body: []byte(stored), Checks: gate.Held}, `"result":{"content":[ ],"_meta":{"sallyport/verified":true,"a":1.0}}`},
		"modern":                {wire.Modern, gate.Result{Form: gate.Whole, Body: []byte(stored)}, `"result":{"resultType":"complete","content":[ ],"_meta":{"a":1.0}}`},
		"modern, differed":      {wire.Modern, gate.Result{Form: gate.Whole, Body: []byte(stored), Checks: gate.Differed}, `"result":{"resultType":"complete","content":[ ],"_meta":{"sallyport/verified":false,"a":1.0}}`},
		"modern, of its own":    {wire.Modern, gate.Result{Form: gate.Whole, Body: []byte(`{"resultType":"x"}`), Checks: gate.Held}, `"result":{"_meta":{"sallyport/verified":true},"resultType":"x"}`},
		"forged":                {wire.Legacy, gate.Result{Form: gate.Whole, Body: []byte(forged)}, `"result":{"content":[],"_meta":{}}`},
		"forged, and it is not": {wire.Modern, gate.Result{Form: gate.Whole, Body: []byte(forged), Checks: gate.Differed}, `"result":{"resultType":"complete","content":[],"_meta":{"sallyport/verified":false}}`},
		"an error":              {wire.Legacy, gate.Result{Form: gate.Fault, Body: []byte(`{"code":1,"_meta":{}}`), Checks: gate.Differed}, `"error":{"code":1,"_meta":{}}`},
	} {
		t.Run(name, func(t *testing.T) {
			m, refusal := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`))
			if refusal != nil {
				t.Fatal(refusal)
			}
			got, err := (&Server{}).reply(&wire.Call{Message: m, Era: tt.era}, wire.Incoming{}, tt.result)
			if want := `{"jsonrpc":"2.0","id":1,` + tt.want + `}`; err != nil || string(got.Line) != want {
				t.Errorf("got %s, %v; want %s", got.Line, err, want)
			}
		})
	}
}
