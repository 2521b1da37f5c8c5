package gate

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sallyport/internal/durable/crashfs"
	"sallyport/internal/ledger"
)

func TestOutputRulesComeAfterStoring(t *testing.T) {
	f := newFar(t)
	f.answer = func(context.Context, Call) (Result, error) {
		return Result{Body: []byte(`{"content":"more than ten bytes"}`), Form: Whole}, nil
	}
	for range 2 { // now, and when it is replayed
		_, err := f.do("short", `{"request_id":"r1"}`, rest{})
		var unavailable *UnavailableError
		if !errors.As(err, &unavailable) || !strings.Contains(err.Error(), "withheld") || !strings.Contains(err.Error(), "was carried out") {
			t.Errorf("error %v", err)
		}
	}
	f.wantEffects(1)
	f.policy = strings.Replace(f.policy, ", output: {max_bytes: 10}", "", 1)
	f.open()
	if got := f.say("short", `{"request_id":"r1"}`, rest{}); got != `{"content":"more than ten bytes"}` {
		t.Errorf("without the rule the stored answer is %s", got)
	}
	f.wantEffects(1)
}

func TestOtherMethods(t *testing.T) {
	f := newFar(t)
	for _, test := range []struct{ method, name, params, want string }{
		{"resources/read", "x:1", `{"uri":"x:1"}`, firstAnswer},
		{"resources/read", "file:///secret/key", `{"uri":"file:///secret/key"}`, "denied by keys"},
		{"tasks/cancel", "", `{"taskId":"t"}`, "denied by default"},
		{"prompts/get", "p", `{"name":"p"}`, `{"n":2, "z":1.0,"a":1e400}`},
		{"prompts/get", "p", `{"name":"p"}`, `{"n":2, "z":1.0,"a":1e400}`},
		{"prompts/get", "p", `{"name":"p","more":1}`, "denied by prompts"}, // a conflict, which is no tool's result here
	} {
		if got := f.say(test.name, test.params, rest{method: test.method}); got != test.want {
			t.Errorf("%s %s: %s, want %s", test.method, test.params, got, test.want)
		}
	}
	f.wantRecords("missing x:1 allow forwarded", "missing file:///secret/key deny not_executed keys", "missing  deny not_executed default",
		"p p allow committed", "p p allow replay", "p p allow conflict")
	text, _ := f.disk.ReadFile("d/" + ledger.FileName)
	if !bytes.Contains(text, []byte(`"method":"resources/read"`)) || !bytes.Contains(text, []byte(`"upstream":"bank"`)) {
		t.Errorf("the records name neither method nor upstream:\n%s", text)
	}
	if !f.MethodVisible(Caller{Principal: "local"}, "resources/read") || f.MethodVisible(Caller{Principal: "local"}, "tasks/cancel") {
		t.Error("MethodVisible is not what the policy says")
	}
}

func TestTenants(t *testing.T) {
	f := newFar(t)
	if got := f.say("theirs", `{}`, rest{tenant: "other"}); !strings.HasPrefix(got, "denied") {
		t.Errorf("another tenant: %s", got)
	}
	if got := f.say("theirs", `{}`, rest{tenant: "acme"}); got != firstAnswer {
		t.Errorf("the tenant: %s", got)
	}
	text, _ := f.disk.ReadFile("d/" + ledger.FileName)
	if !bytes.Contains(text, []byte(`"tenant":"acme"`)) {
		t.Errorf("the record names no tenant:\n%s", text)
	}
}

// TestNumbersOutOfRangeGoThrough: an upstream's arguments are passed on as they are, and recorded by their bytes.
func TestNumbersOutOfRangeGoThrough(t *testing.T) {
	f := newFar(t)
	if got := f.say("pay", `{"request_id":"r1","n":1e400}`, rest{}); got != firstAnswer {
		t.Error(got)
	}
	if got := f.say("pay", `{"request_id":"r1","n":1e400}`, rest{}); got != firstAnswer {
		t.Error(got)
	}
	if got := f.say("pay", `{"request_id":"r1","n":1e401}`, rest{}); got != "conflict true" {
		t.Error(got)
	}
}

// TestNoLedgerNoForwarding removes the ledger: nothing is answered, and nothing but reads is sent.
func TestNoLedgerNoForwarding(t *testing.T) {
	for tool, most := range map[string]int32{"get": 1, "send": 0, "pay": 0, "set": 0} {
		f := newFar(t)
		if err := f.disk.Remove("d/" + ledger.FileName); err != nil {
			t.Fatal(err)
		}
		r, err := f.do(tool, `{"request_id":"r1"}`, rest{})
		var unavailable *UnavailableError
		if !errors.As(err, &unavailable) || r.Body != nil || !strings.Contains(err.Error(), "nothing was done") {
			t.Errorf("%s: %s, %v", tool, r.Body, err)
		}
		f.wantEffects(most)
	}
}

// TestBatchedReads answers reads before their record is durable, and nothing else; and then loses a batch.
func TestBatchedReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFar(t)
		f.policy += "ledger: {reads: batched}\n"
		f.open()
		ledgerIsEmpty := func() bool {
			text, err := f.disk.ReadFile("d/" + ledger.FileName)
			return err == nil && len(text) == 0
		}
		f.say("get", `{}`, rest{})
		if !ledgerIsEmpty() {
			t.Error("the answer waited for the record")
		}
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		f.wantRecords("missing get allow forwarded")
		f.say("send", `{}`, rest{})
		f.wantRecords("missing get allow forwarded", "missing send allow forwarded")

		failed := false
		f.disk.FailOn(func(op crashfs.Op, name string, _ int) error {
			if op == crashfs.Sync && strings.HasSuffix(name, ledger.FileName) && !failed {
				failed = true
				return errors.New("the disk")
			}
			return nil
		})
		f.say("get", `{}`, rest{})
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		if !failed {
			t.Fatal("no sync failed")
		}
		before := f.effects.Load()
		for _, tool := range []string{"get", "send", "pay", "nowhere"} {
			if got := f.say(tool, `{"request_id":"r1"}`, rest{}); !strings.HasPrefix(got, "error: a write to the disk failed") {
				t.Errorf("%s after records were lost: %s", tool, got)
			}
		}
		f.wantEffects(before)
	})
}

func TestRefusedRequestsAreNoted(t *testing.T) {
	f := newFar(t)
	if err := f.Note("http/request", "/mcp", "", "auth", "no good token"); err != nil {
		t.Fatal(err)
	}
	f.wantRecords("missing /mcp deny not_executed auth")
	if err := f.disk.Remove("d/" + ledger.FileName); err != nil {
		t.Fatal(err)
	}
	if err := f.Note("http/request", "/mcp", "", "auth", "no good token"); err == nil {
		t.Error("a ledger that is gone took a note")
	}
}
