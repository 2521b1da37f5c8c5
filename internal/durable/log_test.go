package durable_test

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/durable"
	"sallyport/internal/durable/crashfs"
)

// numbered is a format whose lines count: "1 word", "2 word", …
var numbered = durable.Format[int]{Next: nextNumber}

func nextNumber(prev *int, line []byte) (int, error) {
	number, _, _ := strings.Cut(string(line), " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		return 0, err
	}
	if prev != nil && n != *prev+1 {
		return 0, fmt.Errorf("%d after %d", n, *prev)
	}
	return n, nil
}

func word(w string) durable.Line[int] {
	return func(dst []byte, n *int) []byte {
		*n++
		return fmt.Appendf(dst, "%d %s\n", *n, w)
	}
}

// fileSystems are those on which every test of the log runs.
func fileSystems(t *testing.T) map[string]func(t *testing.T) (durable.FS, string) {
	return map[string]func(t *testing.T) (durable.FS, string){
		"memory": func(t *testing.T) (durable.FS, string) {
			fs := crashfs.New()
			fs.OwnDir("d")
			return fs, "d/log"
		},
		"disk": func(t *testing.T) (durable.FS, string) {
			return durable.OS, filepath.Join(t.TempDir(), "log")
		},
	}
}

func onBoth(t *testing.T, test func(t *testing.T, fsys durable.FS, path string)) {
	for name, open := range fileSystems(t) {
		t.Run(name, func(t *testing.T) {
			fsys, path := open(t)
			test(t, fsys, path)
		})
	}
}

func mustOpen(t *testing.T, fsys durable.FS, path string, format durable.Format[int]) *durable.Log[int] {
	t.Helper()
	l, err := durable.OpenLog(fsys, path, format)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func mustAppend(t *testing.T, l *durable.Log[int], words ...string) {
	t.Helper()
	for _, w := range words {
		if _, err := l.Append(word(w)); err != nil {
			t.Fatalf("appending %q: %v", w, err)
		}
	}
}

func content(t *testing.T, fsys durable.FS, path string) string {
	t.Helper()
	f, err := fsys.OpenRead(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return string(b)
}

// damage writes bytes into a file behind the log's back.
func damage(t *testing.T, fsys durable.FS, path string, b string, offset int64) {
	t.Helper()
	f, err := fsys.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(b), offset); err != nil {
		t.Fatal(err)
	}
}

func TestAppendGoesOnWhereTheLastOneEnded(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys durable.FS, path string) {
		l := mustOpen(t, fsys, path, numbered)
		mustAppend(t, l, "a", "b")
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l = mustOpen(t, fsys, path, numbered)
		mustAppend(t, l, "c", strings.Repeat("long", 5000), "d")
		want := "1 a\n2 b\n3 c\n4 " + strings.Repeat("long", 5000) + "\n5 d\n"
		if got := content(t, fsys, path); got != want {
			t.Errorf("content %.60q, want %.60q", got, want)
		}
		if got := l.End(); got != int64(len(want)) {
			t.Errorf("End() = %d, want %d", got, len(want))
		}
	})
}

// TestManyWritersKeepOneOrder runs 4 logs on one file, as 4 processes would, with 8 callers each.
func TestManyWritersKeepOneOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys durable.FS, path string) {
		var wg sync.WaitGroup
		for p := range 4 {
			l := mustOpen(t, fsys, path, numbered)
			for c := range 8 {
				wg.Go(func() {
					for i := range 10 {
						if _, err := l.Append(word(fmt.Sprintf("%d-%d-%d", p, c, i))); err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
		wg.Wait()
		seen, n := map[string]bool{}, 0
		for line := range strings.Lines(content(t, fsys, path)) {
			next, err := nextNumber(&n, []byte(strings.TrimSpace(line)))
			if err != nil {
				t.Fatal(err)
			}
			n = next
			seen[strings.Fields(line)[1]] = true
		}
		if n != 320 || len(seen) != 320 {
			t.Errorf("%d lines, %d different ones, want 320", n, len(seen))
		}
	})
}

func TestTornTailIsSetAsideAndNoted(t *testing.T) {
	for _, torn := range []string{"3 tor", "\x00\x00\x00", "9 whole but not next", "3 a\x00", strings.Repeat("x", 3<<20)} {
		onBoth(t, func(t *testing.T, fsys durable.FS, path string) {
			noting := numbered
			noting.Next = func(prev *int, line []byte) (int, error) {
				if strings.ContainsRune(string(line), 0) || strings.Contains(string(line), "tor") {
					return 0, errors.New("damaged")
				}
				return nextNumber(prev, line)
			}
			var note durable.Torn
			noting.Note = func(torn durable.Torn) durable.Line[int] {
				note = torn
				return word("noted")
			}
			l := mustOpen(t, fsys, path, noting)
			mustAppend(t, l, "a", "b")
			damage(t, fsys, path, torn, 8)
			mustAppend(t, l, "c")
			if diff := cmp.Diff("1 a\n2 b\n3 noted\n4 c\n", content(t, fsys, path)); diff != "" {
				t.Errorf("content (-want +got):\n%s", diff)
			}
			if note.Bytes != int64(len(torn)) {
				t.Errorf("noted %d bytes, want %d", note.Bytes, len(torn))
			}
			if got := content(t, fsys, filepath.Join(filepath.Dir(path), note.Aside)); got != torn {
				t.Errorf("set aside %.20q, want %.20q", got, torn)
			}
		})
	}
}

func TestWholeLineWithoutNewlineIsFinished(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys durable.FS, path string) {
		l := mustOpen(t, fsys, path, numbered)
		mustAppend(t, l, "a", "b")
		damage(t, fsys, path, "3 cut", 8)
		if err := l.View(nil); err != nil {
			t.Fatal(err)
		}
		mustAppend(t, l, "d")
		if diff := cmp.Diff("1 a\n2 b\n3 cut\n4 d\n", content(t, fsys, path)); diff != "" {
			t.Errorf("content (-want +got):\n%s", diff)
		}
	})
}

func TestNothingIsWrittenBehindADamagedLine(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys durable.FS, path string) {
		l := mustOpen(t, fsys, path, numbered)
		mustAppend(t, l, "a", "b")
		damage(t, fsys, path, "x b\n", 4)
		before := content(t, fsys, path)
		if _, err := l.Append(word("c")); !errors.Is(err, durable.ErrDamaged) {
			t.Errorf("Append: %v, want ErrDamaged", err)
		}
		if err := l.View(nil); !errors.Is(err, durable.ErrDamaged) {
			t.Errorf("View: %v, want ErrDamaged", err)
		}
		if got := content(t, fsys, path); got != before {
			t.Errorf("content changed to %q", got)
		}
		damage(t, fsys, path, "2 b\n", 4)
		mustAppend(t, l, "c") // mended, it goes on
	})
}

func TestReplacedOrRemovedFileIsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys durable.FS, path string) {
		l := mustOpen(t, fsys, path, numbered)
		mustAppend(t, l, "a")
		if err := fsys.Rename(path, path+".old"); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(word("b")); !errors.Is(err, durable.ErrReplaced) {
			t.Errorf("removed: %v, want ErrReplaced", err)
		}
		mustAppend(t, mustOpen(t, fsys, path, numbered), "other")
		if _, err := l.Append(word("b")); !errors.Is(err, durable.ErrReplaced) {
			t.Errorf("replaced: %v, want ErrReplaced", err)
		}
		if got := content(t, fsys, path); got != "1 other\n" {
			t.Errorf("the new file holds %q", got)
		}
	})
}

func TestCutFileIsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys durable.FS, path string) {
		l := mustOpen(t, fsys, path, numbered)
		mustAppend(t, l, "a", "b")
		f, err := fsys.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(4); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(word("c")); !errors.Is(err, durable.ErrReplaced) {
			t.Errorf("Append: %v, want ErrReplaced", err)
		}
		if err := l.View(nil); !errors.Is(err, durable.ErrReplaced) {
			t.Errorf("View: %v, want ErrReplaced", err)
		}
		damage(t, fsys, path, "2 b\n", 4)
		mustAppend(t, l, "c") // restored, it goes on
	})
}

func TestViewSeesWholeLinesOnly(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys durable.FS, path string) {
		l := mustOpen(t, fsys, path, numbered)
		mustAppend(t, l, "a")
		damage(t, fsys, path, "2", 4)
		var got string
		err := l.View(func(r io.ReaderAt, end int64) error {
			b := make([]byte, end)
			_, err := r.ReadAt(b, 0)
			got = string(b)
			return err
		})
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		// "2" is a whole next line in this format, so it was finished.
		if got != "1 a\n2\n" {
			t.Errorf("view shows %q", got)
		}
	})
}

func TestLaterLinesComeWithTheNextBatchOrClose(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys durable.FS, path string) {
		l := mustOpen(t, fsys, path, numbered)
		l.AppendLater(word("hint"))
		if got := content(t, fsys, path); got != "" {
			t.Errorf("written at once: %q", got)
		}
		mustAppend(t, l, "a")
		l.AppendLater(word("last"))
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if got, want := content(t, fsys, path), "1 hint\n2 a\n3 last\n"; got != want {
			t.Errorf("content %q, want %q", got, want)
		}
	})
}

// failing makes one kind of change fail, as often as it is told, and tells whether it did.
func failing(fs *crashfs.FS, op crashfs.Op, times int, err error) *int {
	fired := 0
	fs.FailOn(func(did crashfs.Op, _ string, _ int) error {
		if did == op && fired < times {
			fired++
			return err
		}
		return nil
	})
	return &fired
}

func TestFailedWriteIsTakenBack(t *testing.T) {
	fs := crashfs.New()
	fs.OwnDir("d")
	l := mustOpen(t, fs, "d/log", numbered)
	mustAppend(t, l, "a")
	fired := failing(fs, crashfs.Write, 1, syscall.ENOSPC)
	if _, err := l.Append(word("b")); !errors.Is(err, syscall.ENOSPC) || *fired != 1 {
		t.Fatalf("Append: %v after %d faults, want ENOSPC after 1", err, *fired)
	}
	mustAppend(t, l, "c") // there is space again
	if got, want := content(t, fs, "d/log"), "1 a\n2 c\n"; got != want {
		t.Errorf("content %q, want %q", got, want)
	}
}

func TestFailedSyncPoisonsTheLog(t *testing.T) {
	fs := crashfs.New()
	fs.OwnDir("d")
	l := mustOpen(t, fs, "d/log", numbered)
	peer := mustOpen(t, fs, "d/log", numbered)
	mustAppend(t, l, "a")
	fired := failing(fs, crashfs.Sync, 1, syscall.EIO)
	if _, err := l.Append(word("b")); !errors.Is(err, syscall.EIO) || *fired != 1 {
		t.Fatalf("Append: %v after %d faults, want EIO after 1", err, *fired)
	}
	for range 2 {
		if _, err := l.Append(word("c")); !errors.Is(err, durable.ErrBroken) {
			t.Errorf("Append after a failed sync: %v, want ErrBroken", err)
		}
	}
	if err := l.View(nil); !errors.Is(err, durable.ErrBroken) {
		t.Errorf("View after a failed sync: %v, want ErrBroken", err)
	}
	mustAppend(t, peer, "p") // nothing unacknowledged was left for the peer to build upon
	if got, want := content(t, fs, "d/log"), "1 a\n2 p\n"; got != want {
		t.Errorf("content %q, want %q", got, want)
	}
}

func TestTornTailThatCannotBeMendedIsAnError(t *testing.T) {
	for _, op := range []crashfs.Op{crashfs.Create, crashfs.Truncate, crashfs.SyncDir} {
		fs := crashfs.New()
		fs.OwnDir("d")
		l := mustOpen(t, fs, "d/log", numbered)
		mustAppend(t, l, "a")
		damage(t, fs, "d/log", "torn", 4)
		fired := failing(fs, op, 1, syscall.EIO)
		if _, err := l.Append(word("b")); !errors.Is(err, syscall.EIO) || *fired != 1 {
			t.Errorf("%s fails: Append: %v after %d faults", op, err, *fired)
		}
		mustAppend(t, l, "c")
		if got, want := content(t, fs, "d/log"), "1 a\n2 c\n"; got != want {
			t.Errorf("%s failed: content %q, want %q", op, got, want)
		}
	}
}

// TestAppendNoting has many callers note that their lines are in the file: each once, before it is told that its own is durable.
func TestAppendNoting(t *testing.T) {
	onBoth(t, func(t *testing.T, fsys durable.FS, path string) {
		l := mustOpen(t, fsys, path, numbered)
		defer l.Close()
		const callers, lines = 16, 10
		var all sync.WaitGroup
		for c := range callers {
			all.Go(func() {
				for n := range lines {
					mine := fmt.Sprintf("c%dn%d", c, n)
					noted := 0
					_, err := l.AppendNoting(word(mine), func() {
						noted++
						if text := content(t, fsys, path); !strings.Contains(text, " "+mine+"\n") {
							t.Errorf("%s is not in the file yet", mine)
						}
					})
					if err != nil || noted != 1 {
						t.Errorf("%s: noted %d times: %v", mine, noted, err)
					}
				}
			})
		}
		all.Wait()
		if n := strings.Count(content(t, fsys, path), "\n"); n != callers*lines {
			t.Errorf("%d lines, want %d", n, callers*lines)
		}
	})
}

// TestAppendNotingWhatIsNotThere notes nothing of a line that could not be written, and tells of a sync that failed.
func TestAppendNotingWhatIsNotThere(t *testing.T) {
	for op, want := range map[crashfs.Op]int{crashfs.Write: 0, crashfs.Sync: 1} {
		fs := crashfs.New()
		fs.OwnDir("d")
		l := mustOpen(t, fs, "d/log", numbered)
		failing(fs, op, 1, syscall.EIO)
		noted := 0
		if _, err := l.AppendNoting(word("a"), func() { noted++ }); !errors.Is(err, syscall.EIO) || noted != want {
			t.Errorf("%s fails: noted %d times, want %d: %v", op, noted, want, err)
		}
	}
}
