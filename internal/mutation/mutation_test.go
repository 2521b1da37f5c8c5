package mutation

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/durable"
	"sallyport/internal/durable/crashfs"
)

var (
	key    = Key{Principal: "local", Tool: "write_note", ID: "req-0001"}
	record = []byte(`{"request_id":"req-0001"}`)
)

func onBoth(t *testing.T, test func(t *testing.T, fsys durable.FS, dir string)) {
	t.Run("memory", func(t *testing.T) {
		fs := crashfs.New()
		fs.OwnDir("d")
		test(t, fs, "d")
	})
	t.Run("disk", func(t *testing.T) { test(t, durable.OS, t.TempDir()) })
}

func open(t *testing.T, fsys durable.FS, dir string) *Claims {
	t.Helper()
	c, err := Open(fsys, dir, func() (bool, error) { return false, nil })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func begin(t *testing.T, c *Claims, k Key) *Claim {
	t.Helper()
	claim, err := c.Begin(context.Background(), k)
	if err != nil {
		t.Fatal(err)
	}
	return claim
}

func intend(t *testing.T, c *Claim) {
	t.Helper()
	if err := c.Intend(Intent{Attempt: NewAttempt(), Fingerprint: "f", Offset: 7, Record: record}); err != nil {
		t.Fatal(err)
	}
}

func complete(t *testing.T, c *Claim) {
	t.Helper()
	if err := c.Complete(Outcome{Word: "committed", Result: []byte(`{"odd \"result\"":1.0}`), Record: record}); err != nil {
		t.Fatal(err)
	}
}

// TestEveryStateIsFoundAgain takes a claim to each state, and looks at it in the same claims and,
// as another process would, in new ones.
func TestEveryStateIsFoundAgain(t *testing.T) {
	states := map[string]struct {
		reach func(t *testing.T, c *Claim)
		want  Entry
	}{
		"none":     {func(*testing.T, *Claim) {}, Entry{}},
		"intended": {intend, Entry{State: Intended, Fingerprint: "f", Offset: 7, Record: record}},
		"done": {func(t *testing.T, c *Claim) { intend(t, c); complete(t, c) },
			Entry{State: Done, Fingerprint: "f", Offset: 7, Record: record, Outcome: "committed", Result: []byte(`{"odd \"result\"":1.0}`)}},
		"recorded": {func(t *testing.T, c *Claim) { intend(t, c); complete(t, c); c.MarkRecorded(9) },
			Entry{State: Done, Fingerprint: "f", Offset: 7, Record: record, Outcome: "committed", Result: []byte(`{"odd \"result\"":1.0}`), Recorded: true}},
		"free": {func(t *testing.T, c *Claim) {
			intend(t, c)
			if err := c.Free(); err != nil {
				t.Fatal(err)
			}
		}, Entry{}},
		"intended again": {func(t *testing.T, c *Claim) {
			intend(t, c)
			if err := c.Free(); err != nil {
				t.Fatal(err)
			}
			intend(t, c)
		}, Entry{State: Intended, Fingerprint: "f", Offset: 7, Record: record}},
	}
	for name, state := range states {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, fsys durable.FS, dir string) {
				claims := open(t, fsys, dir)
				intend(t, begin(t, claims, Key{ID: "another"}))
				claim := begin(t, claims, key)
				state.reach(t, claim)
				attempt := claim.Attempt
				claim.Release()
				check := func(when string, claim *Claim) {
					t.Helper()
					want := state.want
					want.Attempt = attempt
					if diff := cmp.Diff(want, claim.Entry); diff != "" {
						t.Errorf("%s (-want +got):\n%s", when, diff)
					}
					claim.Release()
				}
				check("the same process", begin(t, claims, key))
				if err := claims.Close(); err != nil {
					t.Fatal(err)
				}
				check("another process", begin(t, open(t, fsys, dir), key))
			})
		})
	}
}

func TestKeysAreApart(t *testing.T) {
	keys := []Key{{"a", "b", "c", "", ""}, {"ab", "", "c", "", ""}, {"a", "bc", "", "", ""}, {"", "ab", "c", "", ""}, {"a", "b", "C", "", ""},
		{"a", "b", "c", "d", ""}, {"a", "b", "c", "", "d"}, {"a", "b", "c", "d", "e"}, {"a", "b", "c", "de", ""}}
	seen := map[keySum]Key{}
	for _, k := range keys {
		if other, ok := seen[k.sum()]; ok {
			t.Errorf("%+v and %+v are filed as one", k, other)
		}
		seen[k.sum()] = k
	}
}

// TestOneAtATime has two processes with many callers each fight for one key.
func TestOneAtATime(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys durable.FS, dir string) {
		var wg sync.WaitGroup
		var inside, ran atomic.Int32
		for range 2 {
			claims := open(t, fsys, dir)
			for range 10 {
				wg.Go(func() {
					claim, err := claims.Begin(context.Background(), key)
					if err != nil {
						t.Error(err)
						return
					}
					defer claim.Release()
					if inside.Add(1) != 1 {
						t.Error("two hold the claim at once")
					}
					defer inside.Add(-1)
					if claim.State == None {
						intend(t, claim)
						complete(t, claim)
						ran.Add(1)
					}
				})
			}
		}
		wg.Wait()
		if ran.Load() != 1 {
			t.Errorf("it was carried out %d times, want once", ran.Load())
		}
	})
}

func TestHeldElsewhereIsInFlight(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys durable.FS, dir string) {
		ours, theirs := open(t, fsys, dir), open(t, fsys, dir)
		claim := begin(t, theirs, key)
		if _, err := ours.TryBegin(context.Background(), key); !errors.Is(err, ErrInFlight) {
			t.Errorf("TryBegin: %v, want ErrInFlight", err)
		}
		start := time.Now()
		if _, err := ours.Begin(context.Background(), key); !errors.Is(err, ErrInFlight) || time.Since(start) < peerWait {
			t.Errorf("Begin: %v after %v, want ErrInFlight after %v", err, time.Since(start), peerWait)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := ours.Begin(ctx, key); !errors.Is(err, context.Canceled) {
			t.Errorf("Begin for a caller that is gone: %v", err)
		}
		claim.Release()
		begin(t, ours, key).Release()
	})
}

func TestUnsettledNamesWhatACrashLeft(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys durable.FS, dir string) {
		claims := open(t, fsys, dir)
		for i, reach := range []func(*Claim){
			func(*Claim) {},
			func(c *Claim) { intend(t, c) },
			func(c *Claim) { intend(t, c); complete(t, c) },
			func(c *Claim) { intend(t, c); complete(t, c); c.MarkRecorded(9) },
			func(c *Claim) {
				intend(t, c)
				if err := c.Free(); err != nil {
					t.Fatal(err)
				}
			},
		} {
			claim := begin(t, claims, Key{ID: fmt.Sprint(i)})
			reach(claim)
			claim.Release()
		}
		for _, c := range []*Claims{claims, open(t, fsys, dir)} {
			got, err := c.Unsettled()
			if err != nil {
				t.Fatal(err)
			}
			ids := map[string]bool{}
			for _, k := range got {
				ids[k.ID] = true
			}
			// In a new process, the hint that 3 is recorded may be lost, as in this one it was not written yet.
			delete(ids, "3")
			if diff := cmp.Diff(map[string]bool{"1": true, "2": true}, ids); diff != "" {
				t.Errorf("unsettled (-want +got):\n%s", diff)
			}
		}
	})
}

func TestMissingClaimsAreNoticed(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys durable.FS, dir string) {
		if _, err := Open(fsys, dir, func() (bool, error) { return true, nil }); !errors.Is(err, ErrLost) {
			t.Errorf("Open: %v, want ErrLost", err)
		}
		why := errors.New("why")
		if _, err := Refusing(why).Begin(context.Background(), key); !errors.Is(err, why) {
			t.Errorf("Begin on refusing claims: %v", err)
		}
		open(t, fsys, dir)
		if _, err := Open(fsys, dir, func() (bool, error) { return true, nil }); err != nil {
			t.Errorf("Open with claims there: %v", err)
		}
		f, err := fsys.Open(filepath.Join(dir, FileName))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(0); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(fsys, dir, func() (bool, error) { return true, nil }); !errors.Is(err, ErrLost) {
			t.Errorf("Open with emptied claims: %v, want ErrLost", err)
		}
	})
}

func TestClaimsRememberHowLongTheLedgerWas(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys durable.FS, dir string) {
		want := func(n int64) {
			t.Helper()
			if got := open(t, fsys, dir).LedgerEnd(); got != n {
				t.Errorf("LedgerEnd() = %d, want %d", got, n)
			}
		}
		want(0)
		claims := open(t, fsys, dir)
		want(0)
		claim := begin(t, claims, key)
		intend(t, claim)
		want(7)
		complete(t, claim)
		claim.MarkRecorded(500)
		claim.Release()
		if err := claims.Close(); err != nil {
			t.Fatal(err)
		}
		want(500)
	})
}

func TestDoubtedRecordsAreUnsettled(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys durable.FS, dir string) {
		claims := open(t, fsys, dir)
		for i, end := range []int64{100, 200} {
			claim := begin(t, claims, Key{ID: fmt.Sprint(i)})
			intend(t, claim)
			complete(t, claim)
			claim.MarkRecorded(end)
			claim.Release()
		}
		if err := claims.Close(); err != nil {
			t.Fatal(err)
		}
		claims = open(t, fsys, dir)
		claims.Doubt(150)
		keys, err := claims.Unsettled()
		if err != nil || len(keys) != 1 || keys[0].ID != "1" {
			t.Errorf("unsettled %v, %v, want the key whose record ended behind byte 150", keys, err)
		}
	})
}

func TestIntentThatIsNotDurableIsNone(t *testing.T) {
	fs := crashfs.New()
	fs.OwnDir("d")
	claims := open(t, fs, "d")
	claim := begin(t, claims, key)
	fired := 0
	fs.FailOn(func(op crashfs.Op, _ string, _ int) error {
		if op == crashfs.Write {
			fired++
			return syscall.ENOSPC
		}
		return nil
	})
	if err := claim.Intend(Intent{Attempt: "a", Fingerprint: "f", Record: record}); !errors.Is(err, syscall.ENOSPC) || fired == 0 {
		t.Errorf("Intend: %v after %d faults", err, fired)
	}
	if claim.State != None {
		t.Errorf("state %v after an intent that failed", claim.State)
	}
	fs.FailOn(nil)
	intend(t, claim)
	complete(t, claim)
}

func TestDamagedClaimsAreRefused(t *testing.T) {
	dir := t.TempDir()
	claims := open(t, durable.OS, dir)
	claim := begin(t, claims, key)
	intend(t, claim)
	complete(t, claim)
	claim.Release()
	f, err := durable.OS.Open(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	size, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("X"), size-20); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, durable.OS, dir).Begin(context.Background(), key); !errors.Is(err, durable.ErrDamaged) {
		t.Errorf("Begin over a damaged last line: %v, want ErrDamaged", err)
	}
}

func TestFindReadsWithoutClaiming(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys durable.FS, dir string) {
		if found, err := Find(fsys, dir, "req-0001"); err != nil || found != nil {
			t.Errorf("without claims: %v, %v", found, err)
		}
		claims := open(t, fsys, dir)
		claim := begin(t, claims, key)
		intend(t, claim)
		complete(t, claim)
		intend(t, begin(t, claims, Key{ID: "req-0001", Tool: "other"}))
		intend(t, begin(t, claims, Key{ID: "req-0002"}))
		found, err := Find(fsys, dir, "req-0001")
		if err != nil {
			t.Fatal(err)
		}
		if len(found) != 2 || found[0].Key != key || found[0].State != Done || found[1].Tool != "other" || found[1].State != Intended {
			t.Errorf("found %+v", found)
		}
	})
}

func TestLongIDsAndResultsComeBack(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys durable.FS, dir string) {
		long := Key{ID: strings.Repeat("\x00é😀\n", 50_000)}
		claims := open(t, fsys, dir)
		claim := begin(t, claims, long)
		intend(t, claim)
		result := []byte(`"` + strings.Repeat("r", 1<<20) + `"`)
		if err := claim.Complete(Outcome{Word: "committed", Result: result, Record: record}); err != nil {
			t.Fatal(err)
		}
		claim.Release()
		again := begin(t, open(t, fsys, dir), long)
		if got, err := again.Answer(); err != nil || string(got) != string(result) || again.Key().ID != long.ID {
			t.Error("the result or the key came back changed")
		}
	})
}
