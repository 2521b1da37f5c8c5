//go:build !race

package plan

// raceEnabled: everything takes ten times as long.
const raceEnabled = false
