package mutation

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"unicode/utf8"

	"sallyport/internal/durable"
)

// BlobDir is the name of the folder, beside the claims, that holds answers too large for a line: one file each, named by
// the SHA-256 of what is in it. It is made when it is first needed.
const BlobDir = "blobs"

// mostInline is how large an answer may be that stands in the claims' own line, in bytes.
const mostInline = 64 << 10

// ErrAnswerLost says that an outcome is known and its answer is not kept, or is damaged.
var ErrAnswerLost = errors.New("the stored answer is missing or damaged")

// needsBlob reports whether an answer is kept in a file of its own: it is large, or no text that a line could hold.
func needsBlob(answer []byte) bool { return len(answer) > mostInline || !utf8.Valid(answer) }

// blobs are the answers in a folder.
type blobs struct {
	fsys durable.FS
	dir  string
}

// put makes an answer durable and returns its name, also with an error. An answer that is there already is looked at, and
// one that is damaged takes its place again.
func (b blobs) put(answer []byte) (name string, err error) {
	sum := sha256.Sum256(answer)
	name = hex.EncodeToString(sum[:])
	if err := b.fsys.OwnDir(b.dir); err != nil {
		return name, lostAnswer(name, err)
	}
	for range 2 {
		err = durable.Publish(b.fsys, b.dir, name, answer, nil)
		if !errors.Is(err, durable.ErrExists) {
			break
		}
		if _, err = b.get(name); err == nil {
			err = b.fsys.SyncDir(b.dir) // whoever published it may have died before
			break
		}
		if err = b.fsys.Remove(filepath.Join(b.dir, name)); err != nil {
			break
		}
	}
	if err != nil {
		return name, lostAnswer(name, err)
	}
	return name, nil
}

// get reads an answer and holds it against its name.
func (b blobs) get(name string) ([]byte, error) {
	if _, err := hex.DecodeString(name); err != nil || len(name) != 2*sha256.Size {
		return nil, lostAnswer("", errors.New("its name in the claims is none"))
	}
	if err := b.fsys.IsOwnDir(b.dir); err != nil {
		return nil, lostAnswer(name, err)
	}
	f, err := b.fsys.OpenRead(filepath.Join(b.dir, name))
	if err != nil {
		return nil, lostAnswer(name, err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, lostAnswer(name, err)
	}
	answer := make([]byte, size)
	if size > 0 {
		if _, err := f.ReadAt(answer, 0); err != nil {
			return nil, lostAnswer(name, err)
		}
	}
	if sum := sha256.Sum256(answer); hex.EncodeToString(sum[:]) != name {
		return nil, lostAnswer(name, errors.New("it is not what its name says"))
	}
	return answer, nil
}

// AnswerLostError is an ErrAnswerLost that says which answer it is.
type AnswerLostError struct {
	SHA256 string
	Err    error
}

func (e *AnswerLostError) Error() string {
	return fmt.Sprintf("%v: %s: %v", ErrAnswerLost, e.SHA256, e.Err)
}

// Unwrap returns ErrAnswerLost and the cause.
func (e *AnswerLostError) Unwrap() []error { return []error{ErrAnswerLost, e.Err} }

func lostAnswer(name string, err error) error { return &AnswerLostError{SHA256: name, Err: err} }

// Sweep removes answers that dead processes left half written. It disturbs nobody who lives.
func (c *Claims) Sweep() error {
	if c.refusal != nil {
		return nil
	}
	if err := c.blobs.fsys.IsOwnDir(c.blobs.dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("looking at the stored answers: %w", err)
	}
	if err := durable.Sweep(c.blobs.fsys, c.blobs.dir); err != nil {
		return fmt.Errorf("sweeping the stored answers: %w", err)
	}
	return nil
}
