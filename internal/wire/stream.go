package wire

import "time"

// Stream takes what is said to a client on behalf of one message of its, in order. Its methods are safe for concurrent
// use. They do not change the bytes that they are given, which nobody else must do either from then on.
type Stream interface {
	// Push adds a notification or a request. It does not wait for the client, and reports whether the client may get
	// it: not when it is gone, or does not read.
	Push(line []byte) bool

	// Answer adds the answer; nil says that there will be none. It is called once, after all else. It may wait for the
	// client to read. refusal says why the message was not taken in, nil if it was; answer says it too, but for a
	// notification, which gets none.
	Answer(answer []byte, refusal *Error)

	// Prime and Pause are Call.Prime and Call.Pause.
	Prime(retry time.Duration)
	Pause(retry time.Duration)
}

// pipe is the Stream of each message of a client which hears everything on one pipe.
type pipe struct{ out *outbox }

func (p pipe) Push(line []byte) bool { return p.out.push(line) }

func (p pipe) Answer(answer []byte, _ *Error) {
	if answer != nil {
		p.out.put(answer)
	}
}

func (pipe) Prime(time.Duration) {}
func (pipe) Pause(time.Duration) {}
