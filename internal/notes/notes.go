// Package notes is sallyport's own tools: write_note has an effect that is easy to see and to
// count, read_ledger observes it, erase_note takes it back, and rm_rf is there to be refused.
//
// A note is a file notes/<sha256 of the request_id>.json that holds the canonical arguments of
// the write_note that made it. It appears whole or not at all, and is never changed; when it is erased a
// tombstone takes its place. The notes of a principal other than "local" have the SHA-256 of its name and
// a hyphen before that. Each principal sees its own notes, and no others.
package notes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sort"
	"strings"
	"sync"

	"sallyport/internal/canon"
	"sallyport/internal/durable"
)

// DirName is the name of the notes' folder in the ledger's folder.
const DirName = "notes"

const suffix = ".json"

// Notes are the notes of one folder, which several processes may share.
type Notes struct {
	fsys durable.FS
	dir  string
	// BeforePublish, if not nil, runs when the data of a note, or of a tombstone, is durable and its name is not there yet.
	BeforePublish func() error

	mu      sync.Mutex
	durable map[string][sha256.Size]byte // guarded by mu; by principal: what was seen when the names were last synced
}

// Open opens the notes below dir, and makes their folder if need be.
func Open(fsys durable.FS, dir string) (*Notes, error) {
	n := &Notes{fsys: fsys, dir: filepath.Join(dir, DirName)}
	if err := fsys.OwnDir(n.dir); err != nil {
		return nil, fmt.Errorf("opening the notes' folder: %w", err)
	}
	return n, nil
}

// Sweep removes what dead processes left half written. It disturbs nobody who lives, so it can
// run while notes are written.
func (n *Notes) Sweep() error {
	if err := durable.Sweep(n.fsys, n.dir); err != nil {
		return fmt.Errorf("sweeping the notes' folder: %w", err)
	}
	return nil
}

// note is a committed note, or the tombstone of one.
type note struct {
	id, text string
	erased   bool
	digest   string // of a tombstone: of the arguments that wrote the note, "" if there was none
}

// local is the principal on stdio, whose notes were there before there were others.
const local = "local"

// prefix is how the names of a principal's files begin.
func prefix(principal string) string {
	if principal == local {
		return ""
	}
	return hash(principal) + "-"
}

func fileName(principal, id string) string { return prefix(principal) + hash(id) + suffix }

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// isAnothers reports whether a file has the name of a note of somebody else than the principal.
func isAnothers(principal, name string) bool {
	before, after, others := strings.Cut(strings.TrimSuffix(name, suffix), "-")
	if !others {
		before, after = "", before
	} else if !isHash(before) {
		return false
	}
	return isHash(after) && prefix(principal) != name[:len(name)-len(after)-len(suffix)]
}

func isHash(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == 2*sha256.Size
}

// publish makes payload, the canonical arguments, the principal's note of id. The folder is looked at each
// time: nothing must land where somebody made its name lead to.
func (n *Notes) publish(principal, id string, payload []byte) error {
	if err := n.fsys.IsOwnDir(n.dir); err != nil {
		return fmt.Errorf("looking at the notes' folder: %w", err)
	}
	return durable.Publish(n.fsys, n.dir, fileName(principal, id), payload, n.BeforePublish)
}

// payload reads the principal's note of id and makes sure that it is durable: whoever published it may have
// died before its name was synced.
func (n *Notes) payload(principal, id string) (payload []byte, found bool, err error) {
	payload, err = n.readFile(fileName(principal, id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return payload, true, n.fsys.SyncDir(n.dir)
}

// all reads a principal's committed notes, sorted by request_id, without those that are erased. A file that is
// no note of ours is an error: what is observed is all there is.
func (n *Notes) all(ctx context.Context, principal string) ([]note, error) {
	names, err := n.fsys.Names(n.dir)
	if err != nil {
		return nil, err
	}
	var notes []note
	seen := sha256.New()
	for _, name := range names {
		if !strings.HasSuffix(name, suffix) || isAnothers(principal, name) {
			continue // a temporary file, or none of this principal's business
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		payload, err := n.readFile(name)
		if err != nil {
			return nil, err
		}
		note, err := parse(payload)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if fileName(principal, note.id) != name {
			return nil, fmt.Errorf("%s holds another request_id's note", name)
		}
		fmt.Fprintf(seen, "%s %t\n", name, note.erased)
		if !note.erased {
			notes = append(notes, note)
		}
	}
	if err := n.settle(principal, [sha256.Size]byte(seen.Sum(nil))); err != nil {
		return nil, err
	}
	sort.Slice(notes, func(i, j int) bool { return notes[i].id < notes[j].id })
	return notes, nil
}

// settle makes what was seen of a principal's notes durable, unless it was seen before: whoever published them may have died
// before their names were synced, and what somebody observed must not vanish with the machine.
func (n *Notes) settle(principal string, seen [sha256.Size]byte) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.durable[principal] == seen {
		return nil
	}
	if err := n.fsys.SyncDir(n.dir); err != nil {
		return err
	}
	if n.durable == nil {
		n.durable = map[string][sha256.Size]byte{}
	}
	n.durable[principal] = seen
	return nil
}

// Payload reads the principal's note of id below dir, or the tombstone in its place, for show; fs.ErrNotExist
// where there is neither.
func Payload(fsys durable.FS, dir, principal, id string) ([]byte, error) {
	n := &Notes{fsys: fsys, dir: filepath.Join(dir, DirName)}
	return n.readFile(fileName(principal, id))
}

func (n *Notes) readFile(name string) ([]byte, error) {
	f, err := n.fsys.OpenRead(filepath.Join(n.dir, name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	data := make([]byte, size)
	if size > 0 {
		if _, err := f.ReadAt(data, 0); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
	}
	return data, nil
}

// parse reads a note, or a tombstone.
func parse(payload []byte) (note, error) {
	v, err := canon.Parse(payload)
	if err != nil {
		return note{}, fmt.Errorf("damaged note: %w", err)
	}
	id, okID := v.Get("request_id").Text()
	if erased, _ := v.Get("erased").Bool(); erased && okID {
		digest, isText := v.Get("args_digest").Text()
		if v.Get("args_digest").Exists() && (!isText || !isHash(digest)) {
			return note{}, errors.New("damaged tombstone: args_digest is no digest")
		}
		return note{id: id, erased: true, digest: digest}, nil
	}
	text, okText := v.Get("text").Text()
	if !okID || !okText {
		return note{}, errors.New("damaged note: request_id or text is missing")
	}
	return note{id: id, text: text}, nil
}
