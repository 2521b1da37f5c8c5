package mutation

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"syscall"
	"testing"

	"sallyport/internal/durable"
	"sallyport/internal/durable/crashfs"
)

// TestOlderClaimsKeepTheirNames holds the hash of a key without the newer members to what older releases filed it under.
func TestOlderClaimsKeepTheirNames(t *testing.T) {
	sum := key.sum()
	if got, want := hex.EncodeToString(sum[:]), "c2d25b07d3588ceacb6ff90144bf8c48155ba402fc992b25ca14d4c343e196c9"; got != want {
		t.Errorf("filed under %s, want %s", got, want)
	}
}

// answers are those that are kept in the line, and those that are not.
var answers = map[string]struct {
	answer []byte
	blob   bool
}{
	"empty":        {[]byte{}, false},
	"small":        {[]byte(`{"a":"\ud800"}`), false},
	"just inline":  {bytes.Repeat([]byte("x"), mostInline), false},
	"just too big": {bytes.Repeat([]byte("y"), mostInline+1), true},
	"no text":      {[]byte("\xff\xfe"), true},
	"large":        {bytes.Repeat([]byte(`{"é":1}`), 10_000), true},
}

func TestAnswersComeBackByteForByte(t *testing.T) {
	for name, test := range answers {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, fsys durable.FS, dir string) {
				claims := open(t, fsys, dir)
				claim := begin(t, claims, key)
				intend(t, claim)
				if err := claim.Complete(Outcome{Word: "committed", Form: "whole", Result: test.answer, Record: record}); err != nil {
					t.Fatal(err)
				}
				claim.Release()
				for _, claims := range []*Claims{claims, open(t, fsys, dir)} {
					claim := begin(t, claims, key)
					got, err := claim.Answer()
					if err != nil || !bytes.Equal(got, test.answer) {
						t.Errorf("%d bytes, %v, want %d", len(got), err, len(test.answer))
					}
					if claim.Form != "whole" || (claim.Blob != "") != test.blob {
						t.Errorf("form %q, blob %q", claim.Form, claim.Blob)
					}
					claim.Release()
				}
			})
		})
	}
}

// withLargeAnswer is claims with an outcome whose answer is in a file of its own.
func withLargeAnswer(t *testing.T, disk *crashfs.FS) (claims *Claims, blob string) {
	t.Helper()
	claims = open(t, disk, "d")
	claim := begin(t, claims, key)
	intend(t, claim)
	if err := claim.Complete(Outcome{Word: "committed", Result: answers["large"].answer, Record: record}); err != nil {
		t.Fatal(err)
	}
	claim.Release()
	return claims, claim.Blob
}

func TestAnswerThatIsLost(t *testing.T) {
	for name, lose := range map[string]func(disk *crashfs.FS, path string) error{
		"removed": func(disk *crashfs.FS, path string) error { return disk.Remove(path) },
		"cut": func(disk *crashfs.FS, path string) error {
			f, err := disk.Open(path)
			if err != nil {
				return err
			}
			return f.Truncate(10)
		},
		"changed": func(disk *crashfs.FS, path string) error {
			f, err := disk.Open(path)
			if err != nil {
				return err
			}
			_, err = f.WriteAt([]byte("!"), 100)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			disk := crashfs.New()
			disk.OwnDir("d")
			claims, blob := withLargeAnswer(t, disk)
			if err := lose(disk, "d/"+BlobDir+"/"+blob); err != nil {
				t.Fatal(err)
			}
			claim := begin(t, claims, key)
			_, err := claim.Answer()
			var lost *AnswerLostError
			if !errors.As(err, &lost) || !errors.Is(err, ErrAnswerLost) || lost.SHA256 != blob {
				t.Errorf("error %v, want one that names %s", err, blob)
			}
			if claim.State != Done || claim.Outcome != "committed" {
				t.Errorf("the claim is %v %s: it is known that it was done", claim.State, claim.Outcome)
			}
			claim.Release()

			// The same answer to another mutation puts the file right.
			other := begin(t, claims, Key{ID: "other"})
			intend(t, other)
			if err := other.Complete(Outcome{Word: "committed", Result: answers["large"].answer, Record: record}); err != nil {
				t.Fatal(err)
			}
			other.Release()
			claim = begin(t, claims, key)
			if _, err := claim.Answer(); err != nil {
				t.Errorf("after the same answer was stored again: %v", err)
			}
			claim.Release()
		})
	}
}

// TestAnswerThatCannotBeKept fails the disk for the answer alone: that the mutation was done must still be known.
func TestAnswerThatCannotBeKept(t *testing.T) {
	disk := crashfs.New()
	disk.OwnDir("d")
	claims := open(t, disk, "d")
	claim := begin(t, claims, key)
	intend(t, claim)
	fired := false
	disk.FailOn(func(op crashfs.Op, name string, _ int) error {
		if op == crashfs.Write && strings.Contains(name, BlobDir) {
			fired = true
			return syscall.ENOSPC
		}
		return nil
	})
	err := claim.Complete(Outcome{Word: "committed", Result: answers["large"].answer, Record: record})
	if !errors.Is(err, ErrAnswerLost) || !errors.Is(err, syscall.ENOSPC) || !fired {
		t.Fatalf("Complete: %v, and the fault fired: %v", err, fired)
	}
	claim.Release()
	claim = begin(t, claims, key)
	if claim.State != Done || claim.Outcome != "committed" {
		t.Errorf("the claim is %v %s", claim.State, claim.Outcome)
	}
	sum := sha256.Sum256(answers["large"].answer)
	if want := hex.EncodeToString(sum[:]); claim.Blob != want {
		t.Errorf("it names the blob %q, want %q", claim.Blob, want)
	}
	if _, err := claim.Answer(); !errors.Is(err, ErrAnswerLost) {
		t.Errorf("Answer: %v", err)
	}
}

// TestAnswerIsDurableBeforeItsOutcome looks at every crash of a completion: an outcome never names an answer that is not there.
func TestAnswerIsDurableBeforeItsOutcome(t *testing.T) {
	disk := crashfs.New()
	disk.OwnDir("d")
	withLargeAnswer(t, disk)
	states, done := 0, 0
	for crash := range disk.Crashes(0) {
		states++
		claims, err := Open(crash.FS, "d", func() (bool, error) { return false, nil })
		if err != nil {
			t.Errorf("%v: %v", crash, err)
			continue
		}
		claim := begin(t, claims, key)
		if claim.State == Done {
			done++
			if _, err := claim.Answer(); err != nil {
				t.Errorf("%v: %v", crash, err)
			}
		}
		claim.Release()
		if err := claims.Sweep(); err != nil {
			t.Errorf("%v: Sweep: %v", crash, err)
		}
		if names, err := crash.FS.Names("d/" + BlobDir); err == nil {
			for _, name := range names {
				if strings.HasPrefix(name, ".tmp-") {
					t.Errorf("%v: %s was not swept up", crash, name)
				}
			}
		}
	}
	if states < 10 || done == 0 {
		t.Errorf("%d states, %d of them with an outcome: nothing was tried", states, done)
	}
}

// TestHostileBlobNames has claims name files that are none of ours.
func TestHostileBlobNames(t *testing.T) {
	dir := t.TempDir()
	b := blobs{durable.OS, dir}
	for _, name := range []string{"", "../claims.log", strings.Repeat("z", 64), "/etc/passwd", strings.Repeat("a", 63)} {
		if _, err := b.get(name); !errors.Is(err, ErrAnswerLost) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestEachSeesWhatIsInFlight(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys durable.FS, dir string) {
		claims := open(t, fsys, dir)
		held := begin(t, claims, Key{Principal: "p", Upstream: "files", Tool: "write", ID: "held", Round: "r"})
		if err := held.Intend(Intent{Attempt: "a1", Fingerprint: "f", Time: 99, Record: record}); err != nil {
			t.Fatal(err)
		}
		left := begin(t, claims, Key{Upstream: "files", Tool: "write", ID: "left"})
		intend(t, left)
		left.Release()
		got := map[string]Found{}
		if err := Each(fsys, dir, func(f Found) error { got[f.ID] = f; return nil }); err != nil {
			t.Fatal(err)
		}
		if len(got) != 2 || !got["held"].InFlight || got["left"].InFlight {
			t.Errorf("found %+v", got)
		}
		if f := got["held"]; f.Key != held.Key() || f.Time != 99 {
			t.Errorf("found %+v, want the key %+v", f, held.Key())
		}
		// Looking took nobody's lock away.
		if _, err := open(t, fsys, dir).TryBegin(t.Context(), held.Key()); !errors.Is(err, ErrInFlight) {
			t.Errorf("another process: %v", err)
		}
	})
}
