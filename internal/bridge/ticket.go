package bridge

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"sync"
	"time"

	"sallyport/internal/canon"
)

// ticket names a call that waits for its client. It is used once.
type ticket [16]byte

func newTicket() ticket {
	var t ticket
	rand.Read(t[:])
	return t
}

// newID returns an id for a request of our own, which nobody else can have thought of.
func newID() string {
	var random [12]byte
	rand.Read(random[:])
	return "bridge-" + hex.EncodeToString(random[:])
}

// seal is what tickets are sealed with. Its key lives as long as the process.
var seal = sync.OnceValue(func() cipher.AEAD {
	var key [32]byte
	rand.Read(key[:])
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the key has the right length
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // AES has the right block size
	}
	return aead
})

// spelling is how a sealed ticket is spelt. Strict has one spelling for each.
var spelling = base64.RawURLEncoding.Strict()

// state returns the requestState that brings the ticket back: until expires, and with what it is bound to only.
func (t ticket) state(expires time.Time, bound []byte) string {
	plain := binary.BigEndian.AppendUint64(t[:], uint64(expires.Unix()))
	return spelling.EncodeToString(seal().Seal(nil, nil, plain, bound))
}

// openState returns the ticket in a requestState; ok is false if it is none of ours, is bound to something else, or has
// expired.
func openState(state string, now time.Time, bound []byte) (t ticket, ok bool) {
	if len(state) > 256 {
		return ticket{}, false
	}
	sealed, err := spelling.DecodeString(state)
	if err != nil {
		return ticket{}, false
	}
	plain, err := seal().Open(nil, nil, sealed, bound)
	if err != nil || len(plain) != len(t)+8 {
		return ticket{}, false
	}
	copy(t[:], plain)
	return t, now.Unix() < int64(binary.BigEndian.Uint64(plain[len(t):]))
}

// answering are the members of params in which the retry of a call differs from the call.
var answering = oneOf("_meta", "inputResponses", "requestState")

// binding is what a ticket is bound to: who asks, and for what.
func binding(principal, method string, params canon.Value) []byte {
	asked, _ := Without(params, answering)
	h := sha256.New()
	for _, part := range []string{principal, method, digest(asked)} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return h.Sum(nil)
}

// digest tells texts apart that mean different things, and takes those for one that differ in spelling only, as far as
// they have a canonical form.
func digest(text []byte) string {
	if v, err := canon.Parse(text); err == nil {
		if d, err := v.Digest(); err == nil {
			return d
		}
	}
	sum := sha256.Sum256(text)
	return "raw " + hex.EncodeToString(sum[:])
}
