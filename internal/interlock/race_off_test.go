//go:build !race

package interlock

// raceEnabled: everything takes ten times as long.
const raceEnabled = false
