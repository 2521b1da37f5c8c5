package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"

	"sallyport/internal/durable"
	"sallyport/internal/gate"
	"sallyport/internal/interlock"
	"sallyport/internal/mutation"
	"sallyport/internal/policy"
)

// runsDir is where, in the ledger's folder, the journals of plans are.
const runsDir = "runs"

func stopsOf(dir string) *interlock.Stops {
	return interlock.OpenStops(durable.OS, filepath.Join(dir, interlock.StopsDir))
}

func approvalsOf(dir string) *interlock.Approvals {
	return interlock.OpenApprovals(durable.OS, filepath.Join(dir, interlock.ApprovalsDir))
}

// operatorsDoor is a gate for an operator's word: no call goes through it.
type operatorsDoor struct {
	*gate.Gate
	close func() error
}

// openDoor opens the claims of a folder and the ledger that belongs to them, as a server does. A folder of which only hooks
// made use has no claims yet.
func openDoor(dir string, stderr io.Writer) (*operatorsDoor, error) {
	if err := durable.OS.IsOwnDir(dir); err != nil {
		return nil, withHint(fmt.Errorf("opening the ledger's folder: %w", err), "run this as the user who runs the servers")
	}
	claims, err := mutation.Open(durable.OS, dir, func() (bool, error) { return holdsMutations(dir) })
	if err != nil {
		return nil, withHint(err, "run this as the user who runs the servers, on the folder as they left it")
	}
	l, err := openLedger(dir, claims)
	if err != nil {
		return nil, errors.Join(err, claims.Close())
	}
	door := gate.New(policy.Builtin(), l, claims, slog.New(slog.NewTextHandler(stderr, nil)))
	door.Stops, door.Approvals = stopsOf(dir), approvalsOf(dir)
	return &operatorsDoor{door, func() error { return errors.Join(claims.Close(), l.Close()) }}, nil
}
